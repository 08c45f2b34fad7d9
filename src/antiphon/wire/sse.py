"""Parser of server-sent events from bytes in any chunks."""

from __future__ import annotations

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: its name, if it has one, and its data lines joined."""

    name: str
    data: str


class SseParser:
    """Incremental parser of an event stream according to the HTML standard.

    Lines end in LF, CR or CRLF, and a blank line ends an event. The decoders need a parser that works
    on bytes without a connection, which that of the HTTP client does not. It scans every byte once.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        # A CR ends its line at once; a following LF belongs to it, also in the next chunk.
        self._after_cr = False
        self._start = True
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that these bytes complete."""
        if self._after_cr and chunk:
            chunk, self._after_cr = chunk.removeprefix(b"\n"), False
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, end, more = chunk.partition(b"\n")
        self._rest.extend(first)
        if not end:
            return []
        lines = [bytes(self._rest), *more.split(b"\n")]
        self._rest[:] = lines.pop()
        if self._start:
            lines[0], self._start = lines[0].removeprefix(_BOM), False
        return [event for line in lines if (event := self._line(line)) is not None]

    def end(self) -> list[ServerSentEvent]:
        """Return the unfinished event at the end of the stream. Lenient servers do not close it with a
        blank line.
        """
        self._after_cr = False
        return self.feed(b"\n\n")

    def _line(self, raw: bytes) -> ServerSentEvent | None:
        line = raw.decode("utf-8", "replace")
        if not line:
            event = ServerSentEvent(self._name, "\n".join(self._data)) if self._data else None
            self._name, self._data = "", []
            return event
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        return None
