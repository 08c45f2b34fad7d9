"""Texts as bytes of files: lines out of them, exact edits in them, and what is no text at all."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import BinaryIO

from antiphon.tools.tool import ToolFailure

_LONGEST_LINE = 1 << 16
_SIGNATURES = {
    b"\x89PNG\r\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a ZIP archive or office document",
    b"\x1f\x8b": "gzip data",
    b"\x7fELF": "a program",
    b"SQLite format 3\0": "an SQLite database",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}


@dataclass(frozen=True, slots=True)
class Cut:
    """Some lines of a file. `last` is the number of the last one, and `more` says that others follow."""

    lines: str
    last: int
    more: bool
    shortened: bool
    crlf: bool
    undecodable: bool


def binary_kind(start: bytes) -> str | None:
    """What a file is by its first bytes; `None` for text."""
    for signature, kind in _SIGNATURES.items():
        if start.startswith(signature):
            return kind
    return "binary data" if b"\0" in start else None


def lines_from(stream: BinaryIO, start: int, end: int | None, most: int) -> Cut:
    """Lines from `start` to `end`, as many as fit into `most` characters; the file is read no further than that."""
    number = _skip(stream, start - 1)
    if number < start - 1:
        return Cut("", number, False, False, False, False)
    data = b""
    shortened = more = False
    while (end is None or number < end) and not more:
        # There are no fewer bytes than characters, so what fits by bytes fits.
        line = stream.readline(most - len(data) + 1)
        if not line:
            break
        more = len(data) + len(line) > most
        if not more or not data:
            data += line[:most]
            number += 1
            shortened = more
    if shortened:
        _skip(stream, 1)
    return _decoded(data, number, bool(stream.read(1)) or (more and not shortened), shortened)


def _skip(stream: BinaryIO, count: int) -> int:
    """Pass over lines, however long; how many there were."""
    passed = 0
    within = False
    while passed < count and (piece := stream.readline(_LONGEST_LINE)):
        within = not piece.endswith(b"\n")
        passed += not within
    return passed + (within and passed < count)


def _decoded(data: bytes, last: int, more: bool, shortened: bool) -> Cut:
    data = data.removeprefix(codecs.BOM_UTF8)
    undecodable = False
    try:
        text = _decode(data, "strict", not shortened)
    except UnicodeDecodeError:
        text = _decode(data, "replace", not shortened)
        undecodable = True
    return Cut(text.replace("\r\n", "\n"), last, more, shortened, "\r\n" in text, undecodable)


def _decode(data: bytes, errors: str, whole: bool) -> str:
    """A text that is not whole may end in the middle of a character, which is left out."""
    return codecs.getincrementaldecoder("utf-8")(errors).decode(data, whole)


def count_lines(data: bytes) -> int:
    """How many lines there are; a last one without its end counts."""
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


def edited(data: bytes, old: bytes, new: bytes, everywhere: bool, name: str) -> tuple[bytes, list[int]]:
    """The text with `old` replaced by `new`, and the lines where it was. Line ends are those of the file."""
    if not old:
        raise ToolFailure("`old` is empty; to write a whole file use `write_file`")
    if old == new:
        raise ToolFailure("`old` and `new` are the same; nothing would change")
    for ends in _line_ends(data):
        wanted = _with_ends(old, ends)
        places = _places(data, wanted, overlapping=not everywhere)
        if places:
            break
    else:
        raise ToolFailure(f"`old` is not in {name}{_near(data, old)}")
    lines = _lines_of(data, places)
    if len(places) > 1 and not everywhere:
        shown = ", ".join(str(line) for line in lines[:10]) + (", …" if len(places) > 10 else "")
        raise ToolFailure(
            f"`old` is in {name} {len(places)} times, in lines {shown}; "
            "give more of the text around the one you mean, or set `replace_all`"
        )
    return data.replace(wanted, _with_ends(new, ends)), lines


def _line_ends(data: bytes) -> tuple[bytes, ...]:
    """The ends of lines to try, the more frequent first."""
    crlf = data.count(b"\r\n")
    if not crlf:
        return (b"\n",)
    return (b"\r\n", b"\n") if crlf * 2 >= data.count(b"\n") else (b"\n", b"\r\n")


def _with_ends(text: bytes, ends: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\n", ends)


def _places(data: bytes, wanted: bytes, overlapping: bool) -> list[int]:
    places: list[int] = []
    place = data.find(wanted)
    while place >= 0:
        places.append(place)
        place = data.find(wanted, place + (1 if overlapping else len(wanted)))
    return places


def _lines_of(data: bytes, places: list[int]) -> list[int]:
    lines: list[int] = []
    line, counted = 1, 0
    for place in places:
        line += data.count(b"\n", counted, place)
        counted = place
        lines.append(line)
    return lines


def _near(data: bytes, old: bytes) -> str:
    """A hint if only the white space differs."""
    wanted = [line.split() for line in old.split(b"\n") if line.strip()]
    if not wanted:
        return ""
    lines = [(number, line.split()) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    for index in range(len(lines) - len(wanted) + 1):
        if all(lines[index + step][1] == words for step, words in enumerate(wanted)):
            return (
                f", but line {lines[index][0]} differs from it only in white space; read the file and copy it exactly"
            )
    return "; read the file and copy the text exactly"
