"""Reading, writing and editing files, confined to directories."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import BinaryIO

from antiphon.conversation import ToolResult
from antiphon.results import Location, Result, file_content
from antiphon.tools.builtin.changes import before_writing, old_text, overwritten, replaced
from antiphon.tools.builtin.findings import meant
from antiphon.tools.builtin.search import search_tools
from antiphon.tools.builtin.texts import Cut, binary_kind, count_lines, edited, lines_from
from antiphon.tools.faces import counted, shown
from antiphon.tools.sandbox import Missing, Place, Roots, named
from antiphon.tools.tool import Tool, ToolFailure, as_tool

_MOST_SHOWN = 38_000
_LARGEST_EDIT = 20_000_000


def file_tools(roots: Iterable[str | os.PathLike[str]] | Roots = (".",), *, wary: bool = False) -> list[Tool]:
    """The tools for files in these directories: read, write, edit, list, glob and grep.

    To read a file that looks like a secret needs approval, and such files are not searched. Tools that are `wary` take
    every hidden file for one.
    """
    confined = roots if isinstance(roots, Roots) else Roots(roots)
    return [_reader(confined, wary), *search_tools(confined, wary=wary), _writer(confined), _editor(confined)]


def _reader(roots: Roots, wary: bool) -> Tool:
    def read_file(path: str, start_line: int = 1, end_line: int | None = None) -> ToolResult:
        """Read a text file, or some of its lines. A first line in brackets says so if there is more.

        Args:
            path: The file, relative to the working directory.
            start_line: The first line to read; lines are counted from 1.
            end_line: The last line to read; the end of the file if it is left out.
        """
        if start_line < 1 or (end_line is not None and end_line < start_line):
            raise ToolFailure("lines are counted from 1, and `end_line` is not before `start_line`")
        with _found(roots, path) as place, place.open() as stream:
            _check_text(stream, path)
            size = os.fstat(stream.fileno()).st_size
            cut = lines_from(stream, start_line, end_line, _MOST_SHOWN)
            return shown(_described(cut, path, start_line), _content(place.shown, cut, start_line, size))

    def exact_text(path: str, start_line: int = 1, end_line: int | None = None) -> str:
        with roots.locate(path) as place, place.open() as stream:
            data = stream.read()
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise ToolFailure(f"{named(path)} is not UTF-8: byte {error.start}") from None
        whole = start_line == 1 and end_line is None
        return text if whole else "".join(text.splitlines(keepends=True)[max(0, start_line - 1) : end_line])

    return as_tool(read_file, read_only=True, asks_about=roots.asks_about(wary), locate=roots.target, data=exact_text)


@contextmanager
def _found(roots: Roots, path: str) -> Generator[Place]:
    """The place of a file; where there is none, what may be meant is said."""
    try:
        with roots.locate(path) as place:
            yield place
    except Missing as missing:
        raise ToolFailure(f"{missing}{meant(roots, path)}") from None


def _check_text(stream: BinaryIO, path: str) -> None:
    start = stream.read(8192)
    if kind := binary_kind(start):
        size = os.fstat(stream.fileno()).st_size
        raise ToolFailure(f"{named(path)} is no text that could be shown: {kind}, {size:,} bytes")
    stream.seek(0)


def _described(cut: Cut, path: str, start_line: int) -> str:
    if not cut.lines:
        if start_line > 1:
            raise ToolFailure(f"{named(path)} has only {cut.last:,} lines")
        return "[the file is empty]"
    notes: list[str] = []
    if start_line > 1 or cut.more:
        notes.append(f"lines {start_line} to {cut.last}")
    if cut.more:
        notes.append(f"more from start_line={cut.last + 1}")
    if cut.shortened:
        notes.append(f"line {cut.last} is too long to be shown whole")
    if cut.crlf:
        notes.append("lines end in CRLF")
    if cut.undecodable:
        notes.append("not all of it is UTF-8: what is not is shown as �")
    return (f"[{'; '.join(notes)}]\n" if notes else "") + cut.lines


def _content(path: str, cut: Cut, start_line: int, size: int) -> Result:
    """The lines as people see them; where they begin is the result's location."""
    if start_line > 1 or cut.more:
        summary = f"{path}, lines {start_line:,} to {cut.last:,}"
    else:
        summary = f"{path}, {counted(cut.last, 'line') if cut.lines else 'empty'}"
    result = file_content(path, cut.lines, size=size, summary=summary)
    return replace(result, locations=(Location(path, start_line),))


def _writer(roots: Roots) -> Tool:
    def write_file(path: str, content: str) -> ToolResult:
        """Write a file as a whole, in place of what was there. Directories that are missing are made.

        Args:
            path: The file, relative to the working directory.
            content: All of its new text.
        """
        data = _encoded(content)
        with roots.locate(path, writing=True) as place:
            old = old_text(place)
            place.replace(data)
            done = "Wrote" if old else "Created"
            text = f"{done} {place.shown}: {counted(count_lines(data), 'line')}, {len(data):,} bytes"
            return shown(text, overwritten(place.shown, old, data))

    before = partial(before_writing, roots)
    return as_tool(write_file, destructive=True, concurrent=False, locate=roots.target, before=before)


def _editor(roots: Roots) -> Tool:
    def edit_file(path: str, old: str, new: str, replace_all: bool = False) -> ToolResult:
        """Replace a piece of a file's text by another. The piece must be in it exactly once, and match exactly.

        Args:
            path: The file, relative to the working directory.
            old: The text to replace, with white space and enough around it to make it unique.
            new: The text to put there.
            replace_all: Replace it wherever it is, however often.
        """
        with _found(roots, path) as found, found.open() as stream:
            seen = os.fstat(stream.fileno())
            if seen.st_size > _LARGEST_EDIT:
                raise ToolFailure(f"{named(path)} is too large to be edited: {seen.st_size:,} bytes")
            _check_text(stream, path)
            before = stream.read()
        piece = _encoded(old), _encoded(new)
        after, places = edited(before, *piece, replace_all, named(path))
        with roots.locate(path, writing=True) as place:
            place.replace(after, seen)
            where = ", ".join(str(line) for line in places[:10]) + (", …" if len(places) > 10 else "")
            how = f", line {where}" if len(places) == 1 else f": {len(places)} replacements, in lines {where}"
            return shown(f"Edited {place.shown}{how}", replaced(place.shown, before, after, piece, places))

    return as_tool(edit_file, destructive=True, concurrent=False, locate=roots.target)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolFailure(
            f"character {error.start} of the text is half of a surrogate pair: no file can hold it"
        ) from None
