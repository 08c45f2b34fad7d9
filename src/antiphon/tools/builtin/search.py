"""Finding files: what is in a directory, which names match, and which lines."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import groupby, islice
from typing import Any

from antiphon.conversation import ToolResult
from antiphon.tools.builtin import searching
from antiphon.tools.builtin.findings import Match, listing, matched, paths_of, prefix_of
from antiphon.tools.builtin.searching import glob_fits, shortened, text_lines
from antiphon.tools.processes import Finished, program, run, scrubbed
from antiphon.tools.sandbox import UNWALKED, Place, Roots
from antiphon.tools.secrets import SECRET_DIRECTORIES, SECRET_FILES
from antiphon.tools.tool import Tool, ToolFailure, as_tool

_TIME_LIMIT = 20.0
_LONGEST_PATTERN = 10_000
#: Further entries are not looked at to tell what was not searched.
_MOST_LOOKED_AT = 20_000

#: Patterns that mean the same to ripgrep, which need not open the other files then.
_SAME_GLOB = re.compile(r"(?:[\w.*?-]+/)*(?:[\w.?-]+|[\w.?-]*\*[\w.?-]+)")

#: A program takes its directory by descriptor, so that it starts where we looked, whatever the path means by then.
_STARTER = "import os, sys; os.fchdir(int(sys.argv[1])); os.execv(sys.argv[2], sys.argv[2:])"


def search_tools(roots: Roots, *, wary: bool = False) -> list[Tool]:
    """`list_files`, `glob_files` and `grep_files` for these directories; `wary` as in `file_tools`."""
    unread = (*SECRET_FILES, ".*") if wary else SECRET_FILES

    def list_files(path: str = ".", depth: int = 1) -> ToolResult:
        """List what is in a directory, hidden files included; directories end in /.

        Args:
            path: The directory, relative to the working directory.
            depth: How many levels to go down; .git, node_modules, .venv and caches are not gone into.
        """
        if depth < 1:
            raise ToolFailure("`depth` is at least 1")
        with roots.locate(path) as place:
            return listing(place, place.walk(depth), "the directory is empty", "list a directory inside")

    def glob_files(pattern: str, path: str = ".") -> ToolResult:
        """Find files by a pattern of their names. .git, node_modules, .venv and caches are left out.

        Args:
            pattern: `*.py` finds files at any depth, `src/**/test_*.{py,txt}` those below `src`.
            path: The directory to search and to which the pattern is relative.
        """
        if not pattern.strip("/. ") or len(pattern) > 1_000:
            raise ToolFailure("the pattern is one such as `*.py` or `src/**/*.txt`")
        with roots.locate(path) as place:
            found = (entry for entry in place.walk() if entry.kind != "directory" and glob_fits(entry.parts, pattern))
            return listing(place, found, f"no file matches `{pattern}`", "use a narrower pattern")

    async def grep_files(
        pattern: str, path: str = ".", glob: str | None = None, ignore_case: bool = False, max_matches: int = 200
    ) -> ToolResult:
        """Search the text of files, line by line, with a regular expression. Matches are shown as file:line:text.

        Binary files, .git, node_modules, .venv, caches and files that look like secrets are left out.

        Args:
            pattern: The regular expression.
            path: The directory to search, or one file.
            glob: Only files whose path matches this, such as `*.py` or `src/**/*.txt`.
            ignore_case: Whether large and small letters are the same.
            max_matches: How many lines to show at most.
        """
        if not pattern or len(pattern) > _LONGEST_PATTERN:
            raise ToolFailure("the pattern is a regular expression of at most 10,000 characters, and not empty")
        if not 1 <= max_matches <= 5_000:
            raise ToolFailure("`max_matches` is between 1 and 5,000")
        with roots.locate(path) as place:
            # A file that is named was asked about; one that is only met is not read.
            skipped = () if place.kind == "file" else unread
            wanted = {
                "pattern": pattern,
                "ignore_case": ignore_case,
                "glob": glob,
                "most": max_matches,
                "unread": skipped,
            }
            matches = await _ripgrep(roots, place, wanted)
            if matches is None:
                matches = await _search(place, wanted)
            nothing = f"no line matches `{pattern}`" + (f" in files like `{glob}`" if glob else "")
            nothing += "; files that look like secrets are not searched" if skipped else ""
            unsearched = await asyncio.to_thread(_unsearched, place, wanted) if skipped and matches else []
            return matched(prefix_of(place), matches, max_matches, nothing, unsearched)

    def names(path: str = ".", depth: int = 1) -> list[str]:
        with roots.locate(path) as place:
            return paths_of(place, place.walk(max(1, depth)))

    def paths(pattern: str, path: str = ".") -> list[str]:
        with roots.locate(path) as place:
            found = (entry for entry in place.walk() if entry.kind != "directory" and glob_fits(entry.parts, pattern))
            return paths_of(place, found)

    async def rows(**given: Any) -> list[dict[str, Any]]:
        found = await grep_files(**given)
        if found.semantic is None or found.semantic.summary.endswith("there are more"):
            raise ToolFailure(f"more than {given['max_matches']} lines match; a larger `max_matches` finds them all")
        return found.semantic.data["rows"]

    looking: dict[str, Any] = {"read_only": True, "timeout": 60.0, "locate": roots.target}
    return [
        as_tool(list_files, **looking, data=names),
        as_tool(glob_files, **looking, data=paths),
        as_tool(grep_files, **looking, asks_about=roots.asks_about(wary), data=rows),
    ]


def _unsearched(place: Place, wanted: dict[str, Any]) -> list[str]:
    """The files that would have been searched if they did not look like secrets."""
    files = (entry.parts for entry in islice(place.walk(), _MOST_LOOKED_AT) if entry.kind == "file")
    wished = (parts for parts in files if not wanted["glob"] or glob_fits(parts, wanted["glob"]))
    return ["/".join(parts) for parts in wished if _is_unread([part.casefold() for part in parts], wanted["unread"])]


def _is_unread(names: list[str], unread: Sequence[str]) -> bool:
    return not SECRET_DIRECTORIES.isdisjoint(names[:-1]) or any(fnmatchcase(names[-1], each) for each in unread)


async def _search(place: Place, wanted: dict[str, Any]) -> list[Match]:
    """Search with Python's own expressions."""
    if place.kind == "file":
        directory, only = os.path.split(place.name)
        return await _searched({**wanted, "where": place.directory or directory, "only": only, "unwalked": ()})
    with place.descriptor() as where:
        return await _searched(
            {**wanted, "where": where, "only": None, "unwalked": sorted(UNWALKED | SECRET_DIRECTORIES)}
        )


async def _searched(settings: dict[str, Any]) -> list[Match]:
    where = settings["where"]
    command = [sys.executable, "-I", "-S", "-X", "utf8", searching.__file__, json.dumps(settings)]
    finished = await _run(command, [where] if isinstance(where, int) else [])
    if finished.code:
        last = (finished.errors.strip() or "it was ended").splitlines()[-1]
        raise ToolFailure(f"the search failed: {last}")
    return [(name, number, text) for name, number, text in map(json.loads, finished.output.splitlines())]


async def _run(command: list[str], descriptors: list[int]) -> Finished:
    try:
        finished = await run(
            command, environment=scrubbed(), timeout=_TIME_LIMIT, first=8 << 20, descriptors=descriptors
        )
    except OSError as error:
        raise ToolFailure(f"the search could not be started: {error.strerror}") from None
    if finished.timed_out:
        raise ToolFailure(
            f"the search was ended after {_TIME_LIMIT:g} seconds; use a simpler pattern, or search a smaller directory"
        )
    return finished


async def _ripgrep(roots: Roots, place: Place, wanted: dict[str, Any]) -> list[Match] | None:
    """Search with ripgrep; `None` if there is none or it does not take the pattern."""
    found = program("rg")
    if found is None or place.directory is None or "\0" in f"{wanted['pattern']}{wanted['glob']}":
        return None
    options = ["--no-config", "--no-ignore", "--hidden", "--no-follow", "--sort=path", "--color=never", "--no-messages"]
    # Only places are asked for. The lines are read by us: what ripgrep opens may be swapped while it runs.
    options += [
        "--with-filename",
        "--no-heading",
        "--crlf",
        "--line-number",
        "--null",
        "--max-columns=1",
        "--max-filesize=64M",
    ]
    options += ["--ignore-case"] if wanted["ignore_case"] else ["--case-sensitive"]
    if wanted["glob"] and _SAME_GLOB.fullmatch(wanted["glob"]):
        options.append(f"--glob={wanted['glob']}")
    options += [f"--glob=!**/{name}/" for name in sorted(UNWALKED)]
    if place.kind != "file":
        options += [f"--iglob=!**/{name}/" for name in sorted(SECRET_DIRECTORIES)]
        options += [f"--iglob=!{name}" for name in wanted["unread"]]
    options += [f"--max-count={wanted['most'] + 1}", f"--regexp={wanted['pattern']}"]
    if place.kind == "file":
        finished = await _started(found, options, f"./{place.name}", place.directory)
    else:
        with place.descriptor() as where:
            assert isinstance(where, int)
            finished = await _started(found, options, "./", where)
    if finished.code not in (0, 1) and not finished.dropped:
        return None
    places = _places(finished.output, wanted["glob"])
    return list(islice(_read(roots, place, places), wanted["most"] + 1))


async def _started(found: str, options: list[str], target: str, where: int) -> Finished:
    command = [sys.executable, "-I", "-S", "-c", _STARTER, str(where), found, *options, "--", target]
    return await _run(command, [where])


def _places(output: str, glob: str | None) -> Iterator[tuple[str, int]]:
    for line in output.split("\n"):
        name, found, rest = line.partition("\0")
        number = rest.partition(":")[0]
        name = name.removeprefix("./")
        if found and number.isdecimal() and (not glob or glob_fits(name.split("/"), glob)):
            yield name, int(number)


def _read(roots: Roots, place: Place, places: Iterator[tuple[str, int]]) -> Iterator[Match]:
    directory = place.real if place.kind == "directory" else place.real.rpartition("/")[0]
    for name, group in groupby(places, key=lambda found: found[0]):
        numbers = {number for _, number in group}
        try:
            with roots.locate(f"{directory}/{name}") as file, file.open() as stream:
                for number, line in text_lines(stream):
                    if number in numbers:
                        yield name, number, shortened(line)
                    if number >= max(numbers):
                        break
        except ToolFailure:
            continue
