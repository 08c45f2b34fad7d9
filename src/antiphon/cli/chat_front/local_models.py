"""A model of this machine is got ready: fetched if somebody agrees, and loaded while a line moves."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

from antiphon._base.escape import escape_unprintable_line
from antiphon._base.terminal import hide_typed_input
from antiphon.cli.chat_front.output import is_terminal

#: The runtime lets no other thread of this process go on while it loads: what moves meanwhile is another process.
#: It ends with ours, however that ends, because then its input does.
_MOVING = """
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
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def prepare_model(model: Any) -> None:
    """Fetch and load a model, if it is one of this machine and that was not done yet."""
    from antiphon.local.model import LocalModel

    if not isinstance(model, LocalModel) or model.is_loaded:
        return
    model.fetch()
    with hide_typed_input(), show_spinner(f"loading {model.name}"):
        model.load()


def check_runtime(model: Any) -> None:
    """An error, where nothing here can run a model of this machine: nobody should type a question first."""
    from antiphon.local.engine import load_runtime
    from antiphon.local.model import LocalModel

    # To load it takes a while; what is there, but broken, is told when it is asked.
    if isinstance(model, LocalModel) and find_spec("xllamacpp") is None:
        load_runtime()


@contextmanager
def show_spinner(text: str) -> Generator[None]:
    """A line that says so on standard error, where that is a terminal that can."""
    encoding = (getattr(sys.stderr, "encoding", "") or "").lower()
    if not is_terminal(sys.stderr) or not encoding.startswith("utf") or sys.platform == "win32":
        yield
        return
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _MOVING, escape_unprintable_line(text), _FRAMES]
    process: subprocess.Popen[bytes] | None = None
    with suppress(OSError):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=sys.stderr.fileno())
    try:
        yield
    finally:
        if process is not None and process.stdin is not None:
            process.stdin.close()
            process.wait()
