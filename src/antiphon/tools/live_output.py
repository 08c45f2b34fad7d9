"""The output of a running tool, for those who watch it: it is not part of the result."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

#: Called with each piece of output, in the thread of the tool.
OutputListener = Callable[[str], object]
_listener: ContextVar[OutputListener | None] = ContextVar("antiphon_output_listener", default=None)


def get_output_listener() -> OutputListener | None:
    """Return who watches the output of the current tool call, or None."""
    return _listener.get()


@contextmanager
def hear_output(listener: OutputListener) -> Generator[None]:
    """Call the listener with the output of tools in runs that start inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
