"""Parser of the stream that Google sends without SSE: one JSON array of responses, written
incrementally.
"""

from __future__ import annotations

import re

_DELIMITER = re.compile(rb'["\\{}\[\]]')
_STRING_DELIMITER = re.compile(rb'["\\]')


class JsonArrayParser:
    """Incremental parser that splits bytes into the objects of a JSON array. It scans every byte once."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._at = 0
        self._depth = 0
        self._in_text = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the objects that these bytes complete."""
        self._buffer += chunk
        found: list[bytes] = []
        while mark := (_STRING_DELIMITER if self._in_text else _DELIMITER).search(self._buffer, self._at):
            if mark[0] == b"\\" and mark.end() == len(self._buffer):
                # The escaped byte has not arrived yet.
                self._at = mark.start()
                return found
            self._at = mark.end()
            self._step(mark[0], found)
        self._at = len(self._buffer)
        return found

    def _step(self, mark: bytes, found: list[bytes]) -> None:
        if mark == b"\\":
            self._at += 1
        elif mark == b'"':
            self._in_text = not self._in_text
        elif mark in b"{[":
            if mark == b"{" and not self._depth:
                self._discard_before(self._at - 1)
            # The array itself does not count: depth begins with the first object.
            self._depth += mark == b"{" or self._depth > 0
        elif self._depth:
            self._depth -= 1
            if not self._depth:
                found.append(bytes(self._buffer[: self._at]))
                self._discard_before(self._at)

    def _discard_before(self, place: int) -> None:
        del self._buffer[:place]
        self._at -= place
