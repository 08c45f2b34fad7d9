"""Tools that read, write and edit files, confined to root directories."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import BinaryIO

from antiphon.conversation import ToolResult
from antiphon.results import Location, file_content
from antiphon.tools.builtin.file_diffs import (
    make_edit_result,
    make_write_result,
    preview_overwrite,
    read_previous_content,
)
from antiphon.tools.builtin.find import search_tools
from antiphon.tools.builtin.search_results import suggest_paths
from antiphon.tools.builtin.text_files import FileExcerpt, count_lines, detect_binary_kind, read_lines, replace_text
from antiphon.tools.dual_result import format_count, make_dual_result
from antiphon.tools.file_changes import recorded_change
from antiphon.tools.file_sandbox import PathNotFound, SandboxPath, SandboxRoots, quote_path
from antiphon.tools.tool import Tool, ToolFailure, as_tool

_MAX_SHOWN = 38_000
_MAX_EDIT_BYTES = 20_000_000


def file_tools(roots: Iterable[str | os.PathLike[str]] | SandboxRoots = (".",), *, wary: bool = False) -> list[Tool]:
    """Return the file tools for these directories: read, write, edit, list, glob and grep.

    Reading a file that looks like a secret needs approval, and such files are not searched. With `wary`,
    every hidden file counts as a secret.
    """
    confined = roots if isinstance(roots, SandboxRoots) else SandboxRoots(roots)
    return [
        _make_read_tool(confined, wary),
        *search_tools(confined, wary=wary),
        _make_write_tool(confined),
        _make_edit_tool(confined),
    ]


def _make_read_tool(roots: SandboxRoots, wary: bool) -> Tool:
    def read_file(path: str, start_line: int = 1, end_line: int | None = None) -> ToolResult:
        """Read a text file, or some of its lines. A first line in brackets says so if there is more.

        Args:
            path: The file, relative to the working directory.
            start_line: The first line to read; lines are counted from 1.
            end_line: The last line to read; the end of the file if it is left out.
        """
        if start_line < 1 or (end_line is not None and end_line < start_line):
            raise ToolFailure("lines are counted from 1, and `end_line` is not before `start_line`")
        with _open_existing(roots, path) as place, place.open() as stream:
            _check_text(stream, path)
            size = os.fstat(stream.fileno()).st_size
            cut = read_lines(stream, start_line, end_line, _MAX_SHOWN)
            text = _format_excerpt(cut, path, start_line)
            summary = f"{place.shown}, {format_count(cut.last, 'line') if cut.lines else 'empty'}"
            if start_line > 1 or cut.more:
                summary = f"{place.shown}, lines {start_line:,} to {cut.last:,}"
            result = file_content(place.shown, cut.lines, size=size, summary=summary)
            return make_dual_result(text, replace(result, locations=(Location(place.shown, start_line),)))

    def read_exact_text(path: str, start_line: int = 1, end_line: int | None = None) -> str:
        with roots.locate(path) as place, place.open() as stream:
            data = stream.read()
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise ToolFailure(f"{quote_path(path)} is not UTF-8: byte {error.start}") from None
        whole = start_line == 1 and end_line is None
        return text if whole else "".join(text.splitlines(keepends=True)[max(0, start_line - 1) : end_line])

    return as_tool(
        read_file, read_only=True, asks_about=roots.asks_about(wary), locate=roots.target, data=read_exact_text
    )


@contextmanager
def _open_existing(roots: SandboxRoots, path: str) -> Generator[SandboxPath]:
    """Yield the location of a file. If there is none, raise a ToolFailure that suggests similar paths."""
    try:
        with roots.locate(path) as place:
            yield place
    except PathNotFound as missing:
        raise ToolFailure(f"{missing}{suggest_paths(roots, path)}") from None


def _check_text(stream: BinaryIO, path: str) -> None:
    start = stream.read(8192)
    if kind := detect_binary_kind(start):
        size = os.fstat(stream.fileno()).st_size
        raise ToolFailure(f"{quote_path(path)} is no text that could be shown: {kind}, {size:,} bytes")
    stream.seek(0)


def _format_excerpt(cut: FileExcerpt, path: str, start_line: int) -> str:
    if not cut.lines:
        if start_line > 1:
            raise ToolFailure(f"{quote_path(path)} has only {cut.last:,} lines")
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


def _make_write_tool(roots: SandboxRoots) -> Tool:
    def write_file(path: str, content: str) -> ToolResult:
        """Write a file as a whole, in place of what was there. Directories that are missing are made.

        Args:
            path: The file, relative to the working directory.
            content: All of its new text.
        """
        data = _encode_text(content)
        with recorded_change(roots, path), roots.locate(path, writing=True) as place:
            old = read_previous_content(place)
            place.replace(data)
            done = "Wrote" if old else "Created"
            text = f"{done} {place.shown}: {format_count(count_lines(data), 'line')}, {len(data):,} bytes"
            return make_dual_result(text, make_write_result(place.shown, old, data))

    before = partial(preview_overwrite, roots)
    return as_tool(write_file, destructive=True, concurrent=False, is_undoable=True, locate=roots.target, before=before)


def _make_edit_tool(roots: SandboxRoots) -> Tool:
    def edit_file(path: str, old: str, new: str, replace_all: bool = False) -> ToolResult:
        """Replace a piece of a file's text by another. The piece must be in it exactly once, and match exactly.

        Args:
            path: The file, relative to the working directory.
            old: The text to replace, with white space and enough around it to make it unique.
            new: The text to put there.
            replace_all: Replace it wherever it is, however often.
        """
        with _open_existing(roots, path) as found, found.open() as stream:
            seen = os.fstat(stream.fileno())
            if seen.st_size > _MAX_EDIT_BYTES:
                raise ToolFailure(f"{quote_path(path)} is too large to be edited: {seen.st_size:,} bytes")
            _check_text(stream, path)
            before = stream.read()
        piece = _encode_text(old), _encode_text(new)
        after, places = replace_text(before, *piece, replace_all, quote_path(path))
        with recorded_change(roots, path), roots.locate(path, writing=True) as place:
            place.replace(after, seen)
            where = ", ".join(str(line) for line in places[:10]) + (", …" if len(places) > 10 else "")
            how = f", line {where}" if len(places) == 1 else f": {len(places)} replacements, in lines {where}"
            return make_dual_result(
                f"Edited {place.shown}{how}", make_edit_result(place.shown, before, after, piece, places)
            )

    return as_tool(edit_file, destructive=True, concurrent=False, is_undoable=True, locate=roots.target)


def _encode_text(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolFailure(
            f"character {error.start} of the text is half of a surrogate pair: no file can hold it"
        ) from None
