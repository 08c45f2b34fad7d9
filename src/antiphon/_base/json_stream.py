"""JSON that arrives in pieces: each character is read once, and nothing is parsed again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, Protocol

from antiphon._base.json import decode_json
from antiphon.errors import MalformedJSONError

_BLANKS = re.compile(r"[ \t\n\r]*")
_PLAIN_RUN = re.compile(r'[^"\\\x00-\x1f]*')
_SCALAR_RUN = re.compile(r"[-+.0-9A-Za-z]*")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class JsonListener(Protocol):
    """Receives the parts of a JSON value in their order."""

    def open_container(self, kind: Literal["{", "["]) -> None:
        """An object or an array begins."""
        ...

    def close_container(self) -> None:
        """The innermost object or array ends."""
        ...

    def take_key(self, key: str) -> None:
        """The name of the next field is complete."""
        ...

    def open_text(self) -> None:
        """A text begins."""
        ...

    def add_text(self, piece: str) -> None:
        """A text grows."""
        ...

    def close_text(self) -> None:
        """A text is complete."""
        ...

    def take_scalar(self, value: Any, token: str) -> None:
        """A number, a boolean or null is complete."""
        ...


class JsonStream:
    """Parses one strict JSON value that arrives in pieces of any size. What follows the value is ignored."""

    def __init__(self, listener: JsonListener) -> None:
        self._listener = listener
        self._state: Callable[[str, int], int] = self._read_value
        #: The closing brackets of the open containers.
        self._closers: list[str] = []
        #: The pieces of the current key or scalar.
        self._pieces: list[str] = []
        self._is_key = False
        self._digits = ""
        #: The first half of a character that is written as two escapes.
        self._high = 0
        self.is_done = False

    def feed(self, text: str) -> None:
        """Parse the next piece. Raise a MalformedJSONError where it is no JSON."""
        place = 0
        while place < len(text) and not self.is_done:
            place = self._state(text, place)

    def finish(self) -> None:
        """End the text. A number without anything around it ends only here."""
        if not self._closers and self._state == self._read_scalar:
            self._end_scalar()

    # Values

    def _read_value(self, text: str, place: int) -> int:
        place = _skip_blanks(text, place)
        if place == len(text):
            return place
        match text[place]:
            case "{":
                self._open("{", "}", self._read_first_key)
            case "[":
                self._open("[", "]", self._read_first_item)
            case '"':
                self._listener.open_text()
                self._is_key, self._state = False, self._read_text
            case found if found in "-0123456789tfn":
                self._pieces, self._state = [], self._read_scalar
                return place
            case found:
                raise MalformedJSONError(f"{found!r} begins no JSON value")
        return place + 1

    def _read_first_item(self, text: str, place: int) -> int:
        place = _skip_blanks(text, place)
        if text[place : place + 1] == "]":
            self._close()
            return place + 1
        if place < len(text):
            self._state = self._read_value
        return place

    def _open(self, kind: Literal["{", "["], closer: str, state: Callable[[str, int], int]) -> None:
        self._closers.append(closer)
        self._listener.open_container(kind)
        self._state = state

    def _close(self) -> None:
        self._closers.pop()
        self._listener.close_container()
        self._end_value()

    def _end_value(self) -> None:
        if self._closers:
            self._state = self._read_next
        else:
            self.is_done = True

    def _read_next(self, text: str, place: int) -> int:
        place = _skip_blanks(text, place)
        if place == len(text):
            return place
        if text[place] == self._closers[-1]:
            self._close()
        elif text[place] == ",":
            self._state = self._read_key if self._closers[-1] == "}" else self._read_value
        else:
            raise MalformedJSONError(f"{text[place]!r} follows a JSON value")
        return place + 1

    def _read_scalar(self, text: str, place: int) -> int:
        found = _SCALAR_RUN.match(text, place)
        end = found.end() if found else place
        self._pieces.append(text[place:end])
        if end < len(text):
            self._end_scalar()
        return end

    def _end_scalar(self) -> None:
        token = "".join(self._pieces)
        try:
            value = decode_json(token)
        except (ValueError, RecursionError):
            raise MalformedJSONError(f"{token[:40]!r} is no JSON value") from None
        self._listener.take_scalar(value, token)
        self._end_value()

    # Fields and texts

    def _read_first_key(self, text: str, place: int) -> int:
        place = _skip_blanks(text, place)
        if text[place : place + 1] == "}":
            self._close()
            return place + 1
        return self._read_key(text, place)

    def _read_key(self, text: str, place: int) -> int:
        place = _skip_blanks(text, place)
        if place == len(text):
            return place
        if text[place] != '"':
            raise MalformedJSONError(f"{text[place]!r} begins no field")
        self._pieces, self._is_key, self._state = [], True, self._read_text
        return place + 1

    def _read_colon(self, text: str, place: int) -> int:
        place = _skip_blanks(text, place)
        if place == len(text):
            return place
        if text[place] != ":":
            raise MalformedJSONError(f"{text[place]!r} follows the name of a field")
        self._state = self._read_value
        return place + 1

    def _read_text(self, text: str, place: int) -> int:
        found = _PLAIN_RUN.match(text, place)
        end = found.end() if found else place
        if end > place:
            self._add(text[place:end])
        if end == len(text):
            return end
        if text[end] == '"':
            self._end_text()
        elif text[end] == "\\":
            self._state = self._read_escape
        else:
            raise MalformedJSONError("a text contains a control character")
        return end + 1

    def _read_escape(self, text: str, place: int) -> int:
        if text[place] == "u":
            self._digits, self._state = "", self._read_code
        elif (found := _ESCAPES.get(text[place])) is not None:
            self._add(found)
            self._state = self._read_text
        else:
            raise MalformedJSONError(f"\\{text[place]} is no escape")
        return place + 1

    def _read_code(self, text: str, place: int) -> int:
        end = place + 4 - len(self._digits)
        self._digits += text[place:end]
        if len(self._digits) < 4:
            return len(text)
        if not _HEX.fullmatch(self._digits):
            raise MalformedJSONError(f"\\u{self._digits} is no escape")
        self._add_code(int(self._digits, 16))
        self._state = self._read_text
        return end

    def _add_code(self, code: int) -> None:
        if 0xD800 <= code < 0xDC00:
            self._flush_high()
            self._high = code
        elif 0xDC00 <= code < 0xE000 and self._high:
            high, self._high = self._high, 0
            self._add(chr(0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00)))
        else:
            self._add("\ufffd" if 0xDC00 <= code < 0xE000 else chr(code))

    def _add(self, piece: str) -> None:
        self._flush_high()
        if self._is_key:
            self._pieces.append(piece)
        else:
            self._listener.add_text(piece)

    def _flush_high(self) -> None:
        """Add the replacement of half a character whose other half did not follow."""
        if self._high:
            self._high = 0
            self._add("\ufffd")

    def _end_text(self) -> None:
        self._flush_high()
        if self._is_key:
            self._listener.take_key("".join(self._pieces))
            self._state = self._read_colon
        else:
            self._listener.close_text()
            self._end_value()


def _skip_blanks(text: str, place: int) -> int:
    found = _BLANKS.match(text, place)
    return found.end() if found else place
