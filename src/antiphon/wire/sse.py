"""Server-sent events from bytes that arrive in any pieces."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name, if it has one, and its data lines joined."""

    name: str
    data: str


class EventParser:
    """Splits a byte stream into events as the HTML standard says: lines end in LF, CR or CRLF, a blank line ends an
    event. Written here because the decoders must work on bytes without a connection, which the client's own does not.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[str] = []
        self._start = True

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that these bytes complete."""
        buffer = self._rest + chunk
        if self._start and len(buffer) >= 3:
            buffer, self._start = buffer.removeprefix(b"\xef\xbb\xbf"), False
        lines = buffer.split(b"\n") if b"\r" not in buffer else _lines(buffer)
        self._rest = lines.pop()
        return [event for line in lines if (event := self._line(line)) is not None]

    def end(self) -> list[Event]:
        """The event left unfinished at the end of the stream, which lenient servers do not close with a blank line."""
        tail = self.feed(b"\n\n")
        self._rest = b""
        return tail

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


def _lines(buffer: bytes) -> list[bytes]:
    # A CR at the very end may be the first half of a CRLF: it waits for the next chunk.
    held = b"\r" if buffer.endswith(b"\r") else b""
    body = buffer.removesuffix(b"\r") if held else buffer
    lines = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    lines[-1] += held
    return lines
