"""Diffs of written files for people: before and after, if both are text and small enough to store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from antiphon.results import Location, Result, diff
from antiphon.tools.builtin.text_files import count_lines, detect_binary_kind
from antiphon.tools.dual_result import format_count
from antiphon.tools.file_sandbox import PathNotFound, SandboxPath, SandboxRoots
from antiphon.tools.tool import Before, ToolFailure

#: Larger texts are not stored with the result, because a conversation keeps each of them.
MAX_DIFF_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class PreviousContent:
    """The content of a file before it was overwritten. `text` is `None` if it is not stored; `why` says why."""

    text: str | None
    why: str = ""


def read_previous_content(place: SandboxPath) -> PreviousContent | None:
    """Return the current content; `None` if there is no file. An unreadable file is no error."""
    if place.status is None:
        return None
    with suppress(OSError, ToolFailure), place.open() as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > MAX_DIFF_BYTES:
            return PreviousContent(None, f"{size:,} bytes")
        data = stream.read(MAX_DIFF_BYTES)
        kind = detect_binary_kind(data[:8192])
        return PreviousContent(None, kind) if kind else PreviousContent(_decode_lossy(data))
    return PreviousContent(None, "it cannot be read")


def preview_overwrite(roots: SandboxRoots, given: Mapping[str, Any]) -> Before | None:
    """Return the current content at the `path` to be written. Secrets and binary files are only mentioned."""
    path = given.get("path")
    if not isinstance(path, str):
        return None
    try:
        with roots.locate(path) as place:
            old = read_previous_content(place)
    except PathNotFound:
        return Before("content", "", "a new file")
    except ToolFailure:
        # The tool will report the failure itself.
        return None
    if roots.is_secret_path(path):
        old = PreviousContent(None, "it looks like a secret")
    if old is None or old.text is None:
        return Before("content", "", f"what is there now is not shown: {old.why if old else 'it is gone'}")
    return Before("content", old.text, "in place of what is there")


def make_write_result(path: str, old: PreviousContent | None, new: bytes) -> Result:
    """Return the result of writing a whole file."""
    made = diff(path, old.text if old else None, _decode_lossy(new))
    if old is None or old.text is not None:
        return made
    data = {"path": path, "modified": _decode_lossy(new), "isNew": False}
    lines = format_count(count_lines(new), "line")
    return replace(made, data=data, summary=f"now {lines}; the old content is not shown: {old.why}")


def make_edit_result(path: str, before: bytes, after: bytes, piece: tuple[bytes, bytes], lines: list[int]) -> Result:
    """Return the result of an edit in these lines. For a large file it shows only the replaced text."""
    at = (Location(path, lines[0]),)
    if max(len(before), len(after)) <= MAX_DIFF_BYTES:
        return replace(diff(path, _decode_lossy(before), _decode_lossy(after)), locations=at)
    places = format_count(len(lines), "place")
    summary = f"replaced in {places}; only the text replaced is shown, as the file is large"
    old, new = (_decode_lossy(text[:MAX_DIFF_BYTES]) for text in piece)
    return replace(diff(path, old, new, summary=summary), locations=at)


def _decode_lossy(data: bytes) -> str:
    return data.decode("utf-8", "replace")
