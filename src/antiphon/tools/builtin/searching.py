"""Searching the text of files with a regular expression, as a program of its own.

A pattern can take forever, and only a process can be ended in the middle of one. It is run by its file's name with
nothing but the standard library: `python -I -S searching.py '{"pattern": ...}'`. It prints one JSON array per match:
the file's path, the line's number, its text.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, BinaryIO

_MOST_MEMORY = 2 << 30
_LARGEST = 64 << 20
_LONGEST = 300
_SAFELY = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY"))


def glob_fits(parts: Sequence[str], pattern: str) -> bool:
    """Whether a path's parts match a pattern: `*.py` at any depth, `src/**/test_*.py` from the start."""
    return any(_fits(parts, alternative) for alternative in _alternatives(pattern))


def _fits(parts: Sequence[str], pattern: str) -> bool:
    wanted = [step for step in pattern.split("/") if step not in ("", ".")]
    if len(wanted) == 1 and not pattern.startswith("/"):
        wanted = ["**", *wanted]
    # For each piece of the pattern, how many of the parts it and those before it can have used up.
    reached = {0}
    for step in wanted:
        if step == "**":
            reached = set(range(min(reached), len(parts) + 1)) if reached else set[int]()
        else:
            reached = {used + 1 for used in reached if used < len(parts) and fnmatchcase(parts[used], step)}
    return len(parts) in reached


def _alternatives(pattern: str, most: int = 64) -> list[str]:
    """The patterns that `{a,b}` stands for."""
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


def shortened(line: str) -> str:
    """A line as it is shown."""
    line = line.rstrip("\r\n")
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def text_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers; none if it is no text or too large."""
    start = stream.read(8192)
    if b"\0" in start or os.fstat(stream.fileno()).st_size > _LARGEST:
        return
    stream.seek(0)
    for number, line in enumerate(stream, 1):
        yield number, line.decode("utf-8", "replace").rstrip("\r\n")


def _files(where: int | str, only: str | None, unwalked: Sequence[str]) -> Iterator[tuple[tuple[str, ...], BinaryIO]]:
    if only is not None:
        if stream := _open(only, where):
            yield (only,), stream
    elif isinstance(where, str):
        for top, directories, names in os.walk(where):
            directories[:] = sorted(set(directories) - set(unwalked))
            parts = _parts(os.path.relpath(top, where))
            for name in sorted(names):
                if not os.path.islink(path := os.path.join(top, name)) and (stream := _open(path, "")):
                    yield (*parts, name), stream
    else:
        for top, directories, names, held in os.fwalk(".", dir_fd=where):
            directories[:] = sorted(set(directories) - set(unwalked))
            for name in sorted(names):
                if stream := _open(name, held):
                    yield (*_parts(top), name), stream


def _parts(path: str) -> tuple[str, ...]:
    return tuple(step for step in path.replace(os.sep, "/").split("/") if step != ".")


def _open(name: str, where: int | str) -> BinaryIO | None:
    try:
        if isinstance(where, str):
            descriptor = os.open(os.path.join(where, name), os.O_RDONLY | _SAFELY)
        else:
            descriptor = os.open(name, os.O_RDONLY | _SAFELY, dir_fd=where)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    return None


def search(settings: dict[str, Any]) -> Iterator[tuple[str, int, str]]:
    """The matches, in order of path and line; one more than wanted says that there are more."""
    try:
        expression = re.compile(settings["pattern"], re.IGNORECASE if settings["ignore_case"] else 0)
    except (re.error, OverflowError, RecursionError) as error:
        sys.exit(f"the pattern is no regular expression: {error}")
    left = settings["most"] + 1
    for parts, stream in _files(settings["where"], settings["only"], settings["unwalked"]):
        with stream:
            if settings["glob"] and not glob_fits(parts, settings["glob"]):
                continue
            if any(fnmatchcase(parts[-1].casefold(), name) for name in settings["unread"]):
                continue
            for number, line in text_lines(stream):
                if expression.search(line):
                    yield "/".join(parts), number, shortened(line)
                    left -= 1
                    if not left:
                        return


def _main() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    except (ImportError, ValueError, OSError):
        pass
    try:
        for match in search(json.loads(sys.argv[1])):
            print(json.dumps(match))
    except RecursionError:
        sys.exit("the directories are nested too deeply; search a smaller one")
    except MemoryError:
        sys.exit("the pattern needs too much memory; use a simpler one")


if __name__ == "__main__":
    _main()
