"""Search results for models and people: directory entries, and lines of files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from antiphon._base.did_you_mean import suggest_name
from antiphon.conversation import ToolResult
from antiphon.results import file_list, table
from antiphon.tools.dual_result import format_count, make_dual_result
from antiphon.tools.file_sandbox import DirEntry, SandboxPath, SandboxRoots, quote_path
from antiphon.tools.tool import ToolFailure

_MAX_LISTED = 1_000
_MAX_COUNTED = 100_000
_MAX_NAMED = 5
#: Further entries are not considered as suggestions.
_MAX_SUGGESTION_CANDIDATES = 5_000
_KIND_SUFFIXES = {"directory": "/", "link": " (link)", "other": " (no regular file)", "file": ""}
#: Pipes, sockets and devices have no type of their own in listings.
_RESULT_TYPES = {"directory": "directory", "link": "symlink", "other": "file", "file": "file"}
_COLUMNS = ({"key": "file"}, {"key": "line", "type": "number", "align": "right"}, {"key": "text"})

#: (path, line number, text)
LineMatch = tuple[str, int, str]


def get_path_prefix(place: SandboxPath) -> str:
    """Return the prefix of paths found at a location: the directory, or the parent of a file."""
    where = place.shown if place.kind == "directory" else place.shown.rpartition("/")[0]
    return "" if where in ("", ".") else f"{where.rstrip('/')}/"


def list_entry_paths(place: SandboxPath, found: Iterator[DirEntry]) -> list[str]:
    """Return the paths of all entries, relative to the working directory."""
    prefix = get_path_prefix(place)
    return [prefix + "/".join(entry.parts) for entry in found]


def suggest_paths(roots: SandboxRoots, path: str) -> str:
    """Return a hint with files of the same or a similar name, for a path that does not exist."""
    name = path.rstrip("/").rpartition("/")[2].casefold()
    with suppress(ToolFailure), roots.locate(".") as top:
        files = [entry for entry in islice(top.walk(), _MAX_SUGGESTION_CANDIDATES) if entry.kind == "file"]
        same = [entry for entry in files if name in (leaf := entry.parts[-1].casefold(), leaf.partition(".")[0])]
        found = list_entry_paths(top, iter(same[:_MAX_NAMED]))
        if near := None if found else suggest_name(path, list_entry_paths(top, iter(files))):
            found = [near]
        return f"; did you mean {' or '.join(map(quote_path, found))}?" if found else ""
    return ""


def make_listing_result(place: SandboxPath, found: Iterator[DirEntry], nothing: str, advice: str) -> ToolResult:
    """Return the first entries, with a note on omitted ones. `nothing` is the text for no entries."""
    entries = list(islice(found, _MAX_LISTED))
    more = sum(1 for _ in islice(found, _MAX_COUNTED))
    prefix = get_path_prefix(place)
    lines = [prefix + "/".join(entry.parts) + _KIND_SUFFIXES[entry.kind] for entry in entries]
    summary = format_count(len(entries), "entry", "entries") if entries else nothing
    if more:
        total = f"{len(entries) + more:,}" if more < _MAX_COUNTED else f"more than {_MAX_COUNTED:,}"
        summary = f"{len(entries):,} of {total} entries"
        lines.append(f"[{_MAX_LISTED:,} of {total} shown; {advice}]")
    result = file_list(place.shown, _add_sizes(place, entries), truncated=bool(more), summary=summary)
    return make_dual_result("\n".join(lines) or f"[{nothing}]", result)


def _add_sizes(place: SandboxPath, entries: Iterable[DirEntry]) -> list[dict[str, Any]]:
    """Return entries as result data, with names relative to the location.

    Sizes are read only for entries directly in the directory: further down, a swapped link could lead
    outside.
    """
    listed: list[dict[str, Any]] = []
    with place.descriptor() as directory:
        for entry in entries:
            item: dict[str, Any] = {"name": "/".join(entry.parts), "type": _RESULT_TYPES[entry.kind]}
            if entry.kind == "file" and len(entry.parts) == 1:
                with suppress(OSError):
                    name, inside = entry.parts[0], None if isinstance(directory, str) else directory
                    path = os.path.join(directory, name) if isinstance(directory, str) else name
                    item["size"] = os.stat(path, dir_fd=inside, follow_symlinks=False).st_size
            listed.append(item)
    return listed


def make_match_result(
    prefix: str, matches: list[LineMatch], most: int, nothing: str, unsearched: Sequence[str] = ()
) -> ToolResult:
    """Return matching lines as file:line:text and as a table.

    One match more than `most` means that there are more.
    """
    rows = [{"file": prefix + name, "line": number, "text": text} for name, number, text in matches[:most]]
    lines = [f"{row['file']}:{row['line']}:{row['text']}" for row in rows]
    summary = format_count(len(rows), "match", "matches") if rows else nothing
    if len(matches) > most:
        summary = f"the first {most:,} matches; there are more"
        lines.append(f"[{summary}]")
    if unsearched:
        named = ", ".join(prefix + name for name in unsearched[:_MAX_NAMED])
        more = f" and {len(unsearched) - _MAX_NAMED:,} more" if len(unsearched) > _MAX_NAMED else ""
        lines.append(f"[not searched, because they may hold secrets: {named}{more}]")
    result = table(rows, _COLUMNS, summary=summary, field_types={"file": "path", "line": "number"})
    return make_dual_result("\n".join(lines) or nothing, result)
