"""A model of this machine is got ready: fetched if somebody agrees, and loaded while a line moves."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from antiphon._printable import printable_line
from antiphon.cli.talk.printing import is_terminal
from antiphon.errors import ConfigurationError
from antiphon.render.echo import unseen

if TYPE_CHECKING:
    from antiphon.providers.local.model import LocalModel

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


def get_ready(model: Any) -> None:
    """Fetch and load a model, if it is one of this machine and that was not done yet."""
    from antiphon.providers.local.model import LocalModel

    if not isinstance(model, LocalModel) or model.is_loaded:
        return
    _ask_to_fetch(model)
    with unseen():
        model.fetch()
        with moving(f"loading {model.name}"):
            model.load()


def check_runtime(model: Any) -> None:
    """An error, where nothing here can run a model of this machine: nobody should type a question first."""
    from antiphon.providers.local.engine import load_runtime
    from antiphon.providers.local.model import LocalModel

    # To load it takes a while; what is there, but broken, is told when it is asked.
    if isinstance(model, LocalModel) and find_spec("xllamacpp") is None:
        load_runtime()


def _ask_to_fetch(model: LocalModel) -> None:
    """Ask whether weights that are not here are to be fetched; where nobody can be asked, they are not."""
    from antiphon.providers.local import weights
    from antiphon.providers.local.engine import load_runtime
    from antiphon.providers.local.files import is_tier
    from antiphon.providers.local.manifest import DEFAULT, find, size

    name = model.target.model
    if not is_tier(name) or weights.status(name).path is not None:
        return
    wanted = find(name)
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        # Whoever lacks the runtime, too, is told that first.
        load_runtime()
        raise ConfigurationError(
            f"local/{name} ({size(wanted.bytes)}) is not on this machine, and without a terminal nobody can be asked"
            f" whether to fetch it: run `antiphon models pull {name}`, once; or give the key of a provider:"
            " `antiphon keys set anthropic`"
        )
    click.echo(f"{printable_line(wanted.title)} is not on this machine yet.", err=True)
    if click.confirm(f"Fetch it, once, {size(wanted.bytes)} from {wanted.origin}?", default=True, err=True):
        return
    small = find(DEFAULT)
    smaller = f"; `-m local/{small.name}` is smaller ({size(small.bytes)})" if wanted.bytes > small.bytes else ""
    raise ConfigurationError(f"local/{name} was not fetched{smaller}; `-m` names another model, `antiphon setup` helps")


@contextmanager
def moving(text: str) -> Generator[None]:
    """A line that says so on standard error, where that is a terminal that can."""
    encoding = (getattr(sys.stderr, "encoding", "") or "").lower()
    if not is_terminal(sys.stderr) or not encoding.startswith("utf") or sys.platform == "win32":
        yield
        return
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _MOVING, printable_line(text), _FRAMES]
    process: subprocess.Popen[bytes] | None = None
    with suppress(OSError):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=sys.stderr.fileno())
    try:
        yield
    finally:
        if process is not None and process.stdin is not None:
            process.stdin.close()
            process.wait()
