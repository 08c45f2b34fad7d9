"""The stream that Google sends where nobody asked for events: one JSON array of responses, written as they come."""

from __future__ import annotations

import re

_MARK = re.compile(rb'["\\{}\[\]]')
_IN_TEXT = re.compile(rb'["\\]')


class ArrayParser:
    """Cuts the bytes, which may end anywhere, into the objects of the array. Every byte is looked at once."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._at = 0
        self._depth = 0
        self._in_text = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The objects that these bytes complete."""
        self._buffer += chunk
        found: list[bytes] = []
        while mark := (_IN_TEXT if self._in_text else _MARK).search(self._buffer, self._at):
            if mark[0] == b"\\" and mark.end() == len(self._buffer):
                # What it escapes is still to come.
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
                self._drop_before(self._at - 1)
            # The array itself is no object: only what is inside of an object is deep.
            self._depth += mark == b"{" or self._depth > 0
        elif self._depth:
            self._depth -= 1
            if not self._depth:
                found.append(bytes(self._buffer[: self._at]))
                self._drop_before(self._at)

    def _drop_before(self, place: int) -> None:
        del self._buffer[:place]
        self._at -= place
