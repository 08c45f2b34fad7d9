"""What was found, for models and for people: entries of directories, and lines of files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from antiphon._suggestions import nearest
from antiphon.conversation import ToolResult
from antiphon.results import file_list, table
from antiphon.tools.faces import counted, shown
from antiphon.tools.sandbox import Entry, Place, Roots, named
from antiphon.tools.tool import ToolFailure

_MOST_LISTED = 1_000
_MOST_COUNTED = 100_000
_MOST_NAMED = 5
#: Further entries are not looked at for a name that may have been meant.
_MOST_LOOKED_AT = 5_000
_MARKS = {"directory": "/", "link": " (link)", "other": " (no regular file)", "file": ""}
#: Pipes, sockets and devices have no type of their own in listings.
_TYPES = {"directory": "directory", "link": "symlink", "other": "file", "file": "file"}
_COLUMNS = ({"key": "file"}, {"key": "line", "type": "number", "align": "right"}, {"key": "text"})

#: (path, line number, text)
Match = tuple[str, int, str]


def prefix_of(place: Place) -> str:
    """What stands before the names of what is found at a place, or beside it if it is a file."""
    where = place.shown if place.kind == "directory" else place.shown.rpartition("/")[0]
    return "" if where in ("", ".") else f"{where.rstrip('/')}/"


def paths_of(place: Place, found: Iterator[Entry]) -> list[str]:
    """All of the entries, as they are called from where the tools work."""
    prefix = prefix_of(place)
    return [prefix + "/".join(entry.parts) for entry in found]


def meant(roots: Roots, path: str) -> str:
    """What to say of a path at which there is nothing: the files of that name elsewhere, or of nearly that name."""
    name = path.rstrip("/").rpartition("/")[2].casefold()
    with suppress(ToolFailure), roots.locate(".") as top:
        files = [entry for entry in islice(top.walk(), _MOST_LOOKED_AT) if entry.kind == "file"]
        same = [entry for entry in files if name in (leaf := entry.parts[-1].casefold(), leaf.partition(".")[0])]
        found = paths_of(top, iter(same[:_MOST_NAMED]))
        if near := None if found else nearest(path, paths_of(top, iter(files))):
            found = [near]
        return f"; did you mean {' or '.join(map(named, found))}?" if found else ""
    return ""


def listing(place: Place, found: Iterator[Entry], nothing: str, advice: str) -> ToolResult:
    """The first of the entries, in words that say what is left out. `nothing` is what is said of none."""
    entries = list(islice(found, _MOST_LISTED))
    more = sum(1 for _ in islice(found, _MOST_COUNTED))
    prefix = prefix_of(place)
    lines = [prefix + "/".join(entry.parts) + _MARKS[entry.kind] for entry in entries]
    summary = counted(len(entries), "entry", "entries") if entries else nothing
    if more:
        total = f"{len(entries) + more:,}" if more < _MOST_COUNTED else f"more than {_MOST_COUNTED:,}"
        summary = f"{len(entries):,} of {total} entries"
        lines.append(f"[{_MOST_LISTED:,} of {total} shown; {advice}]")
    result = file_list(place.shown, _sized(place, entries), truncated=bool(more), summary=summary)
    return shown("\n".join(lines) or f"[{nothing}]", result)


def _sized(place: Place, entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Entries as results have them. Names are relative to the place.

    Sizes are looked up right in the directory only: further down, a link swapped in would lead out of it.
    """
    listed: list[dict[str, Any]] = []
    with place.descriptor() as directory:
        for entry in entries:
            item: dict[str, Any] = {"name": "/".join(entry.parts), "type": _TYPES[entry.kind]}
            if entry.kind == "file" and len(entry.parts) == 1:
                with suppress(OSError):
                    item["size"] = _size(directory, entry.parts[0])
            listed.append(item)
    return listed


def _size(directory: int | str, name: str) -> int:
    if isinstance(directory, str):
        return os.stat(os.path.join(directory, name), follow_symlinks=False).st_size
    return os.stat(name, dir_fd=directory, follow_symlinks=False).st_size


def matched(prefix: str, matches: list[Match], most: int, nothing: str, unsearched: Sequence[str] = ()) -> ToolResult:
    """Lines that match, as file:line:text and as a table. One match more than `most` says that there are more."""
    rows = [{"file": prefix + name, "line": number, "text": text} for name, number, text in matches[:most]]
    lines = [f"{row['file']}:{row['line']}:{row['text']}" for row in rows]
    summary = counted(len(rows), "match", "matches") if rows else nothing
    if len(matches) > most:
        summary = f"the first {most:,} matches; there are more"
        lines.append(f"[{summary}]")
    if unsearched:
        named = ", ".join(prefix + name for name in unsearched[:_MOST_NAMED])
        more = f" and {len(unsearched) - _MOST_NAMED:,} more" if len(unsearched) > _MOST_NAMED else ""
        lines.append(f"[not searched, because they may hold secrets: {named}{more}]")
    result = table(rows, _COLUMNS, summary=summary, field_types={"file": "path", "line": "number"})
    return shown("\n".join(lines) or nothing, result)
