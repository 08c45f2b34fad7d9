"""`python -m antiphon`."""

import os
import sys
from contextlib import suppress

# `python -m` looks for modules in the current directory first: a file there could take the place of a library.
with suppress(OSError):
    if not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]

from antiphon.cli import main

main()
