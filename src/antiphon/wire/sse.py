"""Server-sent events from bytes that arrive in any pieces."""

from __future__ import annotations

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name, if it has one, and its data lines joined."""

    name: str
    data: str


class EventParser:
    """Splits a byte stream into events as the HTML standard says: lines end in LF, CR or CRLF, a blank line ends an
    event. Written here because the decoders must work on bytes without a connection, which the client's own does not.

    Every byte is looked at once, however the stream is cut into pieces.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        # A CR ends its line at once; an LF that follows belongs to it, also in the next piece.
        self._after_cr = False
        self._start = True
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that these bytes complete."""
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

    def end(self) -> list[Event]:
        """The event left unfinished at the end of the stream, which lenient servers do not close with a blank line."""
        self._after_cr = False
        return self.feed(b"\n\n")

    def _line(self, raw: bytes) -> Event | None:
        line = raw.decode("utf-8", "replace")
        if not line:
            event = Event(self._name, "\n".join(self._data)) if self._data else None
            self._name, self._data = "", []
            return event
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        return None
