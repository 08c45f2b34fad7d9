"""Text of files as bytes: excerpts of lines, exact edits, and detection of binary files."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import BinaryIO

from antiphon.tools.tool import ToolFailure

_MAX_READLINE = 1 << 16
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
class FileExcerpt:
    """Some lines of a file. `last` is the number of the last one, and `more` says that others follow."""

    lines: str
    last: int
    more: bool
    shortened: bool
    crlf: bool
    undecodable: bool


def detect_binary_kind(start: bytes) -> str | None:
    """Return the kind of a binary file by its first bytes; `None` for text."""
    for signature, kind in _SIGNATURES.items():
        if start.startswith(signature):
            return kind
    return "binary data" if b"\0" in start else None


def read_lines(stream: BinaryIO, start: int, end: int | None, most: int) -> FileExcerpt:
    """Return lines from `start` to `end`, as many as fit into `most` characters, reading no further than
    needed.
    """
    number = _skip_lines(stream, start - 1)
    if number < start - 1:
        return FileExcerpt("", number, False, False, False, False)
    data = b""
    shortened = more = False
    while (end is None or number < end) and not more:
        # A text has at least as many bytes as characters, so a limit in bytes is safe.
        line = stream.readline(most - len(data) + 1)
        if not line:
            break
        more = len(data) + len(line) > most
        if not more or not data:
            data += line[:most]
            number += 1
            shortened = more
    if shortened:
        _skip_lines(stream, 1)
    return _make_excerpt(data, number, bool(stream.read(1)) or (more and not shortened), shortened)


def _skip_lines(stream: BinaryIO, count: int) -> int:
    """Skip lines, however long. Return how many there were."""
    passed = 0
    within = False
    while passed < count and (piece := stream.readline(_MAX_READLINE)):
        within = not piece.endswith(b"\n")
        passed += not within
    return passed + (within and passed < count)


def _make_excerpt(data: bytes, last: int, more: bool, shortened: bool) -> FileExcerpt:
    data = data.removeprefix(codecs.BOM_UTF8)
    undecodable, make_decoder = False, codecs.getincrementaldecoder("utf-8")
    # An incomplete last character of a shortened line is dropped.
    try:
        text = make_decoder("strict").decode(data, not shortened)
    except UnicodeDecodeError:
        text, undecodable = make_decoder("replace").decode(data, not shortened), True
    return FileExcerpt(text.replace("\r\n", "\n"), last, more, shortened, "\r\n" in text, undecodable)


def count_lines(data: bytes) -> int:
    """Return the number of lines, including a last one without a line end."""
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


def replace_text(data: bytes, old: bytes, new: bytes, everywhere: bool, name: str) -> tuple[bytes, list[int]]:
    """Return the text with `old` replaced by `new`, and the affected lines. Line ends are those of the file."""
    if not old:
        raise ToolFailure("`old` is empty; to write a whole file use `write_file`")
    if old == new:
        raise ToolFailure("`old` and `new` are the same; nothing would change")
    # The more frequent line ends come first.
    crlf = data.count(b"\r\n")
    both = (b"\r\n", b"\n") if crlf * 2 >= data.count(b"\n") else (b"\n", b"\r\n")
    for ends in both if crlf else (b"\n",):
        wanted = _convert_line_ends(old, ends)
        places = _find_offsets(data, wanted, overlapping=not everywhere)
        if places:
            break
    else:
        raise ToolFailure(f"`old` is not in {name}{_make_whitespace_hint(data, old)}")
    lines = _offsets_to_lines(data, places)
    if len(places) > 1 and not everywhere:
        shown = ", ".join(str(line) for line in lines[:10]) + (", …" if len(places) > 10 else "")
        raise ToolFailure(
            f"`old` is in {name} {len(places)} times, in lines {shown}; "
            "give more of the text around the one you mean, or set `replace_all`"
        )
    return data.replace(wanted, _convert_line_ends(new, ends)), lines


def _convert_line_ends(text: bytes, ends: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\n", ends)


def _find_offsets(data: bytes, wanted: bytes, overlapping: bool) -> list[int]:
    places: list[int] = []
    place = data.find(wanted)
    while place >= 0:
        places.append(place)
        place = data.find(wanted, place + (1 if overlapping else len(wanted)))
    return places


def _offsets_to_lines(data: bytes, places: list[int]) -> list[int]:
    lines: list[int] = []
    line, counted = 1, 0
    for place in places:
        line += data.count(b"\n", counted, place)
        counted = place
        lines.append(line)
    return lines


def _make_whitespace_hint(data: bytes, old: bytes) -> str:
    """Return a hint for the error message; it says so if only white space differs."""
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
