"""Changes of files as people see them: before and after, where both are text and small enough to be kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from antiphon.results import Location, Result, diff
from antiphon.tools.builtin.texts import binary_kind, count_lines
from antiphon.tools.faces import counted
from antiphon.tools.sandbox import Missing, Place, Roots
from antiphon.tools.tool import Before, ToolFailure

#: Larger texts are not kept beside the result: a conversation holds on to every one of them.
LARGEST_KEPT = 1_000_000


@dataclass(frozen=True, slots=True)
class Old:
    """What a file held before it was overwritten. `text` is `None` where it is not kept, and `why` says why not."""

    text: str | None
    why: str = ""


def old_text(place: Place) -> Old | None:
    """What is there; `None` if nothing is. A file that can be written and not read is no obstacle."""
    if place.status is None:
        return None
    with suppress(OSError, ToolFailure), place.open() as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > LARGEST_KEPT:
            return Old(None, f"{size:,} bytes")
        data = stream.read(LARGEST_KEPT)
        kind = binary_kind(data[:8192])
        return Old(None, kind) if kind else Old(_decoded(data))
    return Old(None, "it cannot be read")


def before_writing(roots: Roots, given: Mapping[str, Any]) -> Before | None:
    """What is at the `path` that is to be written; of a secret, as of what is no text, only that it is there."""
    path = given.get("path")
    if not isinstance(path, str):
        return None
    try:
        with roots.locate(path) as place:
            old = old_text(place)
    except Missing:
        return Before("content", "", "a new file")
    except ToolFailure:
        # It will say so itself.
        return None
    if roots.is_secret(path):
        old = Old(None, "it looks like a secret")
    if old is None or old.text is None:
        return Before("content", "", f"what is there now is not shown: {old.why if old else 'it is gone'}")
    return Before("content", old.text, "in place of what is there")


def overwritten(path: str, old: Old | None, new: bytes) -> Result:
    """A file written as a whole."""
    made = diff(path, old.text if old else None, _decoded(new))
    if old is None or old.text is not None:
        return made
    data = {"path": path, "modified": _decoded(new), "isNew": False}
    lines = counted(count_lines(new), "line")
    return replace(made, data=data, summary=f"now {lines}; the old content is not shown: {old.why}")


def replaced(path: str, before: bytes, after: bytes, piece: tuple[bytes, bytes], lines: list[int]) -> Result:
    """A file edited in these lines. Of a large file only the piece of text that was replaced is shown."""
    at = (Location(path, lines[0]),)
    if max(len(before), len(after)) <= LARGEST_KEPT:
        return replace(diff(path, _decoded(before), _decoded(after)), locations=at)
    places = counted(len(lines), "place")
    summary = f"replaced in {places}; only the text replaced is shown, as the file is large"
    old, new = (_decoded(text[:LARGEST_KEPT]) for text in piece)
    return replace(diff(path, old, new, summary=summary), locations=at)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")
