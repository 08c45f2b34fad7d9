"""A reader of streamed Markdown, as the page is one."""

from __future__ import annotations

from typing import Any

from antiphon.views.markdown import MarkdownStream


class StreamReader:
    """Puts together what a stream gives, and counts how much that was."""

    def __init__(self) -> None:
        self._closed: list[Any] = []
        self._open: list[Any] = []
        self.sent = 0

    def take(self, growth: dict[str, Any]) -> None:
        """Add what became of one piece."""
        self.sent += len(str(growth))
        if growth["open"] is not None:
            self._closed = [*([] if growth.get("isAnew") else self._closed), *growth["closed"]]
            self._open = growth["open"]

    @property
    def blocks(self) -> list[Any]:
        """The blocks that are seen now."""
        return [*self._closed, *self._open]


def read_streamed(text: str, size: int) -> StreamReader:
    """Return what a reader has of a text that came in pieces of a size."""
    stream, reader = MarkdownStream(), StreamReader()
    for place in range(0, len(text), size):
        reader.take(stream.feed(text[place : place + size]).to_json())
    return reader
