"""What git prints, read: a status, a diff and a log as results that people can look at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from antiphon.results import Display, Result, table
from antiphon.tools.faces import counted
from antiphon.tools.secrets import looks_secret

_BRANCH = re.compile(
    r"(?:(?:No commits yet|Initial commit) on )?(?P<name>\S+?)(?:\.\.\.\S+)?(?: \[(?P<away>[^\]]*)\])?"
)
_AWAY = re.compile(r"(ahead|behind) (\d+)")
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_CHANGE = re.compile(rf'(?P<marks>..) (?:(?:{_QUOTED}|[^\s"]\S*) -> )?(?P<path>{_QUOTED}|.*)')
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_CONFLICTS = ("DD", "AU", "UD", "UA", "DU", "AA", "UU")

#: What `git log` is asked for: fields that no name and no subject can imitate, a commit in each line.
LOG_FORMAT = "%h%x00%ad%x00%an%x00%s"
_LOG_COLUMNS = ({"key": "hash"}, {"key": "date", "type": "date"}, {"key": "author"}, {"key": "subject"})


#: Where in a diff a file begins, and the headers that name it.
_FILE = re.compile(r"^(?=diff --)", re.MULTILINE)
_HEADERS = ("diff --git ", "diff --cc ", "diff --combined ", "--- a/", "+++ b/", "rename from ", "rename to ")


def status(text: str, cut: bool) -> Result:
    """The output of `git status --short --branch`; `cut` says that its end is missing."""
    data: dict[str, Any] = {"branch": "", "ahead": 0, "behind": 0, "staged": [], "modified": [], "untracked": []}
    for line in _whole_lines(text, cut):
        if line.startswith("## "):
            data |= _branch(line[3:])
        elif found := _CHANGE.fullmatch(line):
            for group in _groups(found["marks"]):
                data.setdefault(group, []).append(_unquoted(found["path"]))
    if cut:
        data["truncated"] = True
    summary = _counts(data)
    return Result("git.status", data, summary or "clean", display=Display("tree", collapsed=not summary))


def _counts(data: dict[str, Any]) -> str:
    """How many files there are of each group. Files in conflict are among the modified ones, too."""
    groups = {"staged": "staged", "modified": "modified", "conflicted": "in conflict", "untracked": "untracked"}
    return ", ".join(f"{len(data[group]):,} {words}" for group, words in groups.items() if data.get(group))


def _branch(text: str) -> dict[str, Any]:
    """The branch and how far it is from the one it follows. A detached head is on none."""
    if text == "HEAD (no branch)":
        return {}
    found = _BRANCH.fullmatch(text)
    if found is None:
        return {"branch": text}
    away = _AWAY.findall(found["away"] or "")
    return {"branch": found["name"]} | {which: int(number) for which, number in away}


def _groups(marks: str) -> list[str]:
    """What two letters say of a file: in the index, and in the directory."""
    if marks in _CONFLICTS:
        return ["modified", "conflicted"]
    if marks == "??":
        return ["untracked"]
    return [group for group, mark in zip(("staged", "modified"), marks, strict=True) if mark not in " !"]


def _unquoted(path: str) -> str:
    """A path without the quotes git puts around one with blanks or control characters in it."""
    if not (len(path) > 1 and path.startswith('"') and path.endswith('"')):
        return path
    return _ESCAPE.sub(lambda found: _unescaped(found[1]), path[1:-1].encode()).decode("utf-8", "replace")


def _unescaped(code: bytes) -> bytes:
    return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _ESCAPES.get(code, code)


def changes(text: str, cut: bool, nothing: str) -> Result:
    """The output of `git diff`; `nothing` is what is said of an empty one."""
    if not text:
        return Result("git.diff", {"content": ""}, nothing, "text/x-diff", Display("diff", "diff", collapsed=True))
    files, added, removed = _changed(text)
    summary = f"+{added} -{removed} lines in {counted(files, 'file')}" + (", and more" if cut else "")
    data = {"content": text} | ({"truncated": True} if cut else {})
    return Result("git.diff", data, summary, "text/x-diff", Display("diff", "diff"))


def without_secrets(text: str) -> tuple[str, list[str]]:
    """A diff without the files that look like secrets, and the names of these."""
    kept: list[str] = []
    names: list[str] = []
    for piece in _FILE.split(text):
        secret = next((name for name in _names(piece) if looks_secret(name.split("/"))), "")
        if secret:
            names.append(secret)
        else:
            kept.append(piece)
    return "".join(kept).rstrip(), names


def _names(piece: str) -> Iterator[str]:
    """The names of the file that a piece of a diff is about: in each of its headers, before the first hunk."""
    for line in piece.split("\n@@", 1)[0].splitlines():
        for start in filter(line.startswith, _HEADERS):
            name = line.removeprefix(start)
            # `a/x b/x`: the second half names the file, also one of which there is no other header.
            half = name[len(name) // 2 + 1 :].strip('"').removeprefix("b/") if start == _HEADERS[0] else ""
            yield from filter(None, (half, name.strip('"\t')))


def _changed(text: str) -> tuple[int, int, int]:
    """How many files, lines added and lines removed. Before its first hunk a file has only headers."""
    files = added = removed = 0
    in_hunk = False
    for line in text.split("\n"):
        if line.startswith("diff --"):
            files += 1
            in_hunk = False
        elif line.startswith("@@"):
            in_hunk = True
        elif in_hunk:
            added += line.startswith("+")
            removed += line.startswith("-")
    return files, added, removed


def commits(text: str, cut: bool) -> list[dict[str, str]]:
    """The output of `git log` in `LOG_FORMAT`."""
    fields = (line.split("\0") for line in _whole_lines(text, cut))
    return [dict(zip(("hash", "date", "author", "subject"), each, strict=True)) for each in fields if len(each) == 4]


def log(found: list[dict[str, str]], nothing: str) -> Result:
    """Commits as a table; `nothing` is what is said of none."""
    return table(found, _LOG_COLUMNS, summary=counted(len(found), "commit") if found else nothing)


def _whole_lines(text: str, cut: bool) -> list[str]:
    lines = [line for line in text.split("\n") if line]
    return lines[:-1] if cut else lines
