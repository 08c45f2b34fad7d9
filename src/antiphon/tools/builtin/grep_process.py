"""A regular expression search of files, run as a subprocess.

A pattern can take forever, and only a process can be stopped in the middle of one. It is run by its file name
with only the standard library: `python -I -S grep_process.py '{"pattern": ...}'`. It prints one JSON array
per match: the file's path, the line's number, its text.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, BinaryIO

_MAX_MEMORY = 2 << 30
_MAX_FILE_BYTES = 64 << 20
_MAX_LINE_LENGTH = 300
_SAFE_OPEN_FLAGS = sum(
    getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY")
)


def matches_glob(parts: Sequence[str], pattern: str) -> bool:
    """Return whether a path's parts match a pattern: `*.py` at any depth, `src/**/test_*.py` from the start."""
    return any(_matches_pattern(parts, alternative) for alternative in _expand_braces(pattern))


def _matches_pattern(parts: Sequence[str], pattern: str) -> bool:
    wanted = [step for step in pattern.split("/") if step not in ("", ".")]
    if len(wanted) == 1 and not pattern.startswith("/"):
        wanted = ["**", *wanted]
    # The numbers of path parts that the pattern steps so far can have consumed.
    reached = {0}
    for step in wanted:
        if step == "**":
            reached = set(range(min(reached), len(parts) + 1)) if reached else set[int]()
        else:
            reached = {used + 1 for used in reached if used < len(parts) and fnmatchcase(parts[used], step)}
    return len(parts) in reached


def _expand_braces(pattern: str, most: int = 64) -> list[str]:
    """Return the patterns that `{a,b}` expands to."""
    pending, done = [pattern], list[str]()
    while pending:
        current = pending.pop()
        braces = re.search(r"\{([^{}]*)\}", current)
        if braces is None or len(pending) + len(done) >= most:
            done.append(current)
        else:
            before, after = current[: braces.start()], current[braces.end() :]
            pending += [before + choice + after for choice in braces[1].split(",")]
    return done


def truncate_line(line: str) -> str:
    """Return a line without its end, truncated for display."""
    line = line.rstrip("\r\n")
    return line if len(line) <= _MAX_LINE_LENGTH else f"{line[:_MAX_LINE_LENGTH]}…"


def iter_text_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers; none if it is binary or too large."""
    start = stream.read(8192)
    if b"\0" in start or os.fstat(stream.fileno()).st_size > _MAX_FILE_BYTES:
        return
    stream.seek(0)
    for number, line in enumerate(stream, 1):
        yield number, line.decode("utf-8", "replace").rstrip("\r\n")


def _iter_files(
    where: int | str, only: str | None, unwalked: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], BinaryIO]]:
    if only is not None:
        if stream := _open_regular_file(only, where):
            yield (only,), stream
    elif isinstance(where, str):
        for top, directories, names in os.walk(where):
            directories[:] = sorted(set(directories) - set(unwalked))
            parts = _split_parts(os.path.relpath(top, where))
            for name in sorted(names):
                if not os.path.islink(path := os.path.join(top, name)) and (stream := _open_regular_file(path, "")):
                    yield (*parts, name), stream
    else:
        for top, directories, names, held in os.fwalk(".", dir_fd=where):
            directories[:] = sorted(set(directories) - set(unwalked))
            for name in sorted(names):
                if stream := _open_regular_file(name, held):
                    yield (*_split_parts(top), name), stream


def _split_parts(path: str) -> tuple[str, ...]:
    return tuple(step for step in path.replace(os.sep, "/").split("/") if step != ".")


def _open_regular_file(name: str, where: int | str) -> BinaryIO | None:
    try:
        if isinstance(where, str):
            descriptor = os.open(os.path.join(where, name), os.O_RDONLY | _SAFE_OPEN_FLAGS)
        else:
            descriptor = os.open(name, os.O_RDONLY | _SAFE_OPEN_FLAGS, dir_fd=where)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    return None


def _load_secret_check(settings: dict[str, Any]) -> Callable[[Sequence[str]], bool]:
    """Return `looks_like_secret` of a module that imports only the standard library."""
    spec = importlib.util.spec_from_file_location("secret_files", settings["secret_files"])
    assert spec is not None, "the name ends in .py"
    assert spec.loader is not None, "and so it has a loader"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.looks_like_secret


def search_files(settings: dict[str, Any]) -> Iterator[tuple[str, int, str]]:
    """Yield the matches in order of path and line; one more than requested means that there are more."""
    try:
        expression = re.compile(settings["pattern"], re.IGNORECASE if settings["ignore_case"] else 0)
    except (re.error, OverflowError, RecursionError) as error:
        sys.exit(f"the pattern is no regular expression: {error}")
    left = settings["most"] + 1
    is_secret = _load_secret_check(settings) if settings["skips_secrets"] else None
    for parts, stream in _iter_files(settings["where"], settings["only"], settings["unwalked"]):
        with stream:
            if settings["glob"] and not matches_glob(parts, settings["glob"]):
                continue
            if is_secret is not None and is_secret([*settings["above"], *parts]):
                continue
            if settings["skips_linked"] and os.fstat(stream.fileno()).st_nlink > 1:
                continue
            if settings["skips_hidden"] and parts[-1].startswith("."):
                continue
            for number, line in iter_text_lines(stream):
                if expression.search(line):
                    yield "/".join(parts), number, truncate_line(line)
                    left -= 1
                    if not left:
                        return


def _main() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    except (ImportError, ValueError, OSError):
        pass
    try:
        for match in search_files(json.loads(sys.argv[1])):
            print(json.dumps(match))
    except RecursionError:
        sys.exit("the directories are nested too deeply; search a smaller one")
    except MemoryError:
        sys.exit("the pattern needs too much memory; use a simpler one")


if __name__ == "__main__":
    _main()
