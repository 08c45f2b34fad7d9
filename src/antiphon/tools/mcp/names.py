"""Names of tools that every provider accepts."""

from __future__ import annotations

import re
from collections.abc import Collection

from antiphon.conversation import shorten_call_id


def make_legal_name(wanted: str, taken: Collection[str]) -> str:
    """Return a name that every provider accepts and that is not taken, as close to the wanted one as
    possible.
    """
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", wanted)
    if not re.match(r"[A-Za-z_]", plain):
        plain = f"_{plain}"
    if len(plain) <= 64 and plain not in taken:
        return plain
    mark = shorten_call_id(wanted)
    while f"{plain[:54]}_{mark}" in taken:
        mark = shorten_call_id(mark)
    return f"{plain[:54]}_{mark}"
