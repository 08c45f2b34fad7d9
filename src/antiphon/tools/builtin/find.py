"""Tools that find files: list a directory, match names, and search text."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby, islice
from typing import Any

from antiphon.conversation import ToolResult
from antiphon.tools import secret_files
from antiphon.tools.builtin import grep_process as searching
from antiphon.tools.builtin.grep_process import iter_text_lines, matches_glob, truncate_line
from antiphon.tools.builtin.search_results import (
    LineMatch,
    get_path_prefix,
    list_entry_paths,
    make_listing_result,
    make_match_result,
)
from antiphon.tools.file_sandbox import SKIPPED_DIRECTORIES, DirEntry, SandboxPath, SandboxRoots
from antiphon.tools.path_arguments import has_other_names, is_package_directory
from antiphon.tools.path_resolution import split_path
from antiphon.tools.process_runner import ProcessResult, find_program, make_scrubbed_environment, run_process
from antiphon.tools.secret_files import SECRET_DIRECTORIES, SECRET_FILES, looks_like_secret
from antiphon.tools.tool import Tool, ToolFailure, as_tool

_TIMEOUT_SECONDS = 20.0
_MAX_PATTERN_LENGTH = 10_000
#: Further entries are not checked when listing unsearched files.
_MAX_UNSEARCHED_SCAN = 20_000

#: Patterns with the same meaning in ripgrep, which then need not open other files.
_RIPGREP_COMPATIBLE_GLOB = re.compile(r"(?:[\w.*?-]+/)*(?:[\w.?-]+|[\w.?-]*\*[\w.?-]+)")

#: The program gets its directory by descriptor, so that it starts there even if the path has changed.
_LAUNCH_SCRIPT = "import os, sys; os.fchdir(int(sys.argv[1])); os.execv(sys.argv[2], sys.argv[2:])"


def search_tools(roots: SandboxRoots, *, wary: bool = False) -> list[Tool]:
    """Return `list_files`, `glob_files` and `grep_files` for these directories; `wary` as in `file_tools`."""

    def list_files(path: str = ".", depth: int = 1) -> ToolResult:
        """List what is in a directory, hidden files included; directories end in /.

        Args:
            path: The directory, relative to the working directory.
            depth: How many levels to go down; .git, node_modules, .venv and caches are not gone into.
        """
        if depth < 1:
            raise ToolFailure("`depth` is at least 1")
        with roots.locate(path) as place:
            return make_listing_result(place, place.walk(depth), "the directory is empty", "list a directory inside")

    def glob_files(pattern: str, path: str = ".") -> ToolResult:
        """Find files by a pattern of their names. .git, node_modules, .venv and caches are left out.

        Args:
            pattern: `*.py` finds files at any depth, `src/**/test_*.{py,txt}` those below `src`.
            path: The directory to search and to which the pattern is relative.
        """
        if not pattern.strip("/. ") or len(pattern) > 1_000:
            raise ToolFailure("the pattern is one such as `*.py` or `src/**/*.txt`")
        with roots.locate(path) as place:
            found, nothing = _iter_matching(place, pattern), f"no file matches `{pattern}`"
            return make_listing_result(place, found, nothing, "use a narrower pattern")

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
        if not pattern or len(pattern) > _MAX_PATTERN_LENGTH:
            raise ToolFailure("the pattern is a regular expression of at most 10,000 characters, and not empty")
        if not 1 <= max_matches <= 5_000:
            raise ToolFailure("`max_matches` is between 1 and 5,000")
        with roots.locate(path) as place:
            # A file given by name has been approved; a secret found on the way is not read.
            is_tree = place.kind != "file"
            wanted = {
                "pattern": pattern,
                "ignore_case": ignore_case,
                "glob": glob,
                "most": max_matches,
                "skips_secrets": is_tree,
                "skips_hidden": is_tree and wary,
                "skips_linked": is_tree and not is_package_directory(split_path(place.real)),
            }
            matches = await _search_with_ripgrep(roots, place, wanted)
            if matches is None:
                matches = await _search_with_python(place, wanted)
            nothing = f"no line matches `{pattern}`" + (f" in files like `{glob}`" if glob else "")
            nothing += "; files that look like secrets are not searched" if is_tree else ""
            unsearched = await asyncio.to_thread(_list_unsearched, place, wanted) if is_tree and matches else []
            return make_match_result(get_path_prefix(place), matches, max_matches, nothing, unsearched)

    def list_names(path: str = ".", depth: int = 1) -> list[str]:
        with roots.locate(path) as place:
            return list_entry_paths(place, place.walk(max(1, depth)))

    def list_paths(pattern: str, path: str = ".") -> list[str]:
        with roots.locate(path) as place:
            return list_entry_paths(place, _iter_matching(place, pattern))

    async def list_rows(**given: Any) -> list[dict[str, Any]]:
        found = await grep_files(**given)
        if found.semantic is None or found.semantic.summary.endswith("there are more"):
            raise ToolFailure(f"more than {given['max_matches']} lines match; a larger `max_matches` finds them all")
        return found.semantic.data["rows"]

    looking: dict[str, Any] = {"read_only": True, "timeout": 60.0, "locate": roots.target}
    return [
        as_tool(list_files, **looking, data=list_names),
        as_tool(glob_files, **looking, data=list_paths),
        as_tool(grep_files, **looking, is_cooperative=True, asks_about=roots.asks_about(wary), data=list_rows),
    ]


def _iter_matching(place: SandboxPath, pattern: str) -> Iterator[DirEntry]:
    return (entry for entry in place.walk() if entry.kind != "directory" and matches_glob(entry.parts, pattern))


def _list_unsearched(place: SandboxPath, wanted: dict[str, Any]) -> list[str]:
    """Return the files that were not searched because they look like secrets."""
    files = (entry.parts for entry in islice(place.walk(), _MAX_UNSEARCHED_SCAN) if entry.kind == "file")
    wished = (parts for parts in files if not wanted["glob"] or matches_glob(parts, wanted["glob"]))
    above = split_path(place.real)
    found: list[str] = []
    for parts in wished:
        is_skipped = _is_skipped(above, parts, wanted)
        if not is_skipped and wanted["skips_linked"]:
            with suppress(OSError):
                is_skipped = has_other_names(os.lstat(os.path.join(place.real, *parts)), parts)
        if is_skipped:
            found.append("/".join(parts))
    return found


def _is_skipped(above: Sequence[str], parts: Sequence[str], wanted: dict[str, Any]) -> bool:
    """Return whether a file below the directory `above` is not searched."""
    is_hidden = wanted["skips_hidden"] and parts[-1].startswith(".")
    return is_hidden or (wanted["skips_secrets"] and looks_like_secret([*above, *parts]))


async def _search_with_python(place: SandboxPath, wanted: dict[str, Any]) -> list[LineMatch]:
    if place.kind == "file":
        directory, only = os.path.split(place.name)
        return await _run_grep_process({**wanted, "where": place.directory or directory, "only": only, "unwalked": ()})
    with place.descriptor() as where:
        return await _run_grep_process(
            {
                **wanted,
                "where": where,
                "only": None,
                "unwalked": sorted(SKIPPED_DIRECTORIES | SECRET_DIRECTORIES),
                "above": split_path(place.real),
                "secret_files": secret_files.__file__,
            }
        )


async def _run_grep_process(settings: dict[str, Any]) -> list[LineMatch]:
    where = settings["where"]
    command = [sys.executable, "-I", "-S", "-X", "utf8", searching.__file__, json.dumps(settings)]
    finished = await _run_search(command, [where] if isinstance(where, int) else [])
    if finished.code:
        last = (finished.errors.strip() or "it was ended").splitlines()[-1]
        raise ToolFailure(f"the search failed: {last}")
    return [(name, number, text) for name, number, text in map(json.loads, finished.output.splitlines())]


async def _run_search(command: list[str], descriptors: list[int]) -> ProcessResult:
    try:
        finished = await run_process(
            command,
            environment=make_scrubbed_environment(),
            timeout=_TIMEOUT_SECONDS,
            first=8 << 20,
            descriptors=descriptors,
        )
    except OSError as error:
        raise ToolFailure(f"the search could not be started: {error.strerror}") from None
    if finished.timed_out:
        raise ToolFailure(
            f"the search was ended after {_TIMEOUT_SECONDS:g} seconds; use a simpler pattern, or"
            f" search a smaller directory"
        )
    return finished


async def _search_with_ripgrep(
    roots: SandboxRoots, place: SandboxPath, wanted: dict[str, Any]
) -> list[LineMatch] | None:
    """Search with ripgrep; return `None` if it is missing or rejects the pattern."""
    found = find_program("rg")
    if found is None or place.directory is None or "\0" in f"{wanted['pattern']}{wanted['glob']}":
        return None
    options = ["--no-config", "--no-ignore", "--hidden", "--no-follow", "--sort=path", "--color=never", "--no-messages"]
    # Ask for line numbers only, and read the lines ourselves: ripgrep's files may be swapped while it runs.
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
    if wanted["glob"] and _RIPGREP_COMPATIBLE_GLOB.fullmatch(wanted["glob"]):
        options.append(f"--glob={wanted['glob']}")
    options += [f"--glob=!**/{name}/" for name in sorted(SKIPPED_DIRECTORIES)]
    if place.kind != "file":
        options += [f"--iglob=!**/{name}/" for name in sorted(SECRET_DIRECTORIES)]
        options += [f"--iglob=!{name}" for name in SECRET_FILES]
    options += [f"--max-count={wanted['most'] + 1}", f"--regexp={wanted['pattern']}"]
    if place.kind == "file":
        finished = await _start_ripgrep(found, options, f"./{place.name}", place.directory)
    else:
        with place.descriptor() as where:
            assert isinstance(where, int)
            finished = await _start_ripgrep(found, options, "./", where)
    if finished.code not in (0, 1) and not finished.dropped:
        return None
    above = split_path(place.real)
    places = (
        (name, number)
        for name, number in _parse_locations(finished.output, wanted["glob"])
        if not _is_skipped(above, name.split("/"), wanted)
    )
    return list(islice(_read_matches(roots, place, places, wanted["skips_linked"]), wanted["most"] + 1))


async def _start_ripgrep(found: str, options: list[str], target: str, where: int) -> ProcessResult:
    command = [sys.executable, "-I", "-S", "-c", _LAUNCH_SCRIPT, str(where), found, *options, "--", target]
    return await _run_search(command, [where])


def _parse_locations(output: str, glob: str | None) -> Iterator[tuple[str, int]]:
    for line in output.split("\n"):
        name, found, rest = line.partition("\0")
        number = rest.partition(":")[0]
        name = name.removeprefix("./")
        if found and number.isdecimal() and (not glob or matches_glob(name.split("/"), glob)):
            yield name, int(number)


def _read_matches(
    roots: SandboxRoots, place: SandboxPath, places: Iterator[tuple[str, int]], skips_linked: bool
) -> Iterator[LineMatch]:
    directory = place.real if place.kind == "directory" else place.real.rpartition("/")[0]
    for name, group in groupby(places, key=lambda found: found[0]):
        numbers = {number for _, number in group}
        try:
            with roots.locate(f"{directory}/{name}") as file, file.open() as stream:
                if skips_linked and has_other_names(os.fstat(stream.fileno()), name.split("/")):
                    continue
                for number, line in iter_text_lines(stream):
                    if number in numbers:
                        yield name, number, truncate_line(line)
                    if number >= max(numbers):
                        break
        except ToolFailure:
            continue
