"""Download and load local models, with a spinner."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

from antiphon._base.escape import escape_unprintable_line
from antiphon._base.terminal import hide_typed_input
from antiphon.cli.output import is_terminal

#: The spinner is another process, because the runtime blocks all threads of this one while it loads.
#: It ends when its input is closed, however our process ends.
_SPINNER_PROGRAM = """
import select, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
text, frames, began = sys.argv[1], sys.argv[2], time.monotonic()
while True:
    seconds = time.monotonic() - began
    sys.stdout.write(f"\\r\\x1b[2m{frames[int(seconds * 10) % len(frames)]} {text} · {seconds:.0f}s\\x1b[0m\\x1b[K")
    sys.stdout.flush()
    if select.select([sys.stdin], [], [], 0.1)[0]:
        break
sys.stdout.write("\\r\\x1b[K")
"""
_LOCAL_MODULE = "antiphon.local.model"
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def prepare_model(model: Any) -> None:
    """Download and load a model if it is local and not loaded yet."""
    if _LOCAL_MODULE not in sys.modules:
        # There is no local model, so importing what they need would be in vain.
        return
    from antiphon.local.model import LocalModel

    if not isinstance(model, LocalModel) or model.is_loaded:
        return
    model.fetch()
    with hide_typed_input(), show_spinner(f"loading {model.name}"):
        model.load()


def require_runtime(model: Any) -> None:
    """Raise an error before the first question if the runtime of a local model is not installed."""
    if _LOCAL_MODULE not in sys.modules:
        return
    from antiphon.local.engine import load_runtime
    from antiphon.local.model import LocalModel

    # Loading takes a while, so a broken installation is reported at the first question.
    if isinstance(model, LocalModel) and find_spec("xllamacpp") is None:
        load_runtime()


@contextmanager
def show_spinner(text: str) -> Generator[None]:
    """Show a spinner with a text on standard error, if that is a suitable terminal."""
    encoding = (getattr(sys.stderr, "encoding", "") or "").lower()
    if not is_terminal(sys.stderr) or not encoding.startswith("utf") or sys.platform == "win32":
        yield
        return
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _SPINNER_PROGRAM, escape_unprintable_line(text), _FRAMES]
    process: subprocess.Popen[bytes] | None = None
    with suppress(OSError):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=sys.stderr.fileno())
    try:
        yield
    finally:
        if process is not None and process.stdin is not None:
            process.stdin.close()
            process.wait()
