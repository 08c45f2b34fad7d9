"""Parsers for git's output: a status, a diff and a log as results for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from antiphon.results import Display, Result, table
from antiphon.tools.dual_result import format_count
from antiphon.tools.secret_files import looks_like_secret

_BRANCH_LINE = re.compile(
    r"(?:(?:No commits yet|Initial commit) on )?(?P<name>\S+?)(?:\.\.\.\S+)?(?: \[(?P<away>[^\]]*)\])?"
)
_AHEAD_BEHIND = re.compile(r"(ahead|behind) (\d+)")
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_CHANGE_LINE = re.compile(rf'(?P<marks>..) (?:(?:{_QUOTED}|[^\s"]\S*) -> )?(?P<path>{_QUOTED}|.*)')
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_CONFLICTS = ("DD", "AU", "UD", "UA", "DU", "AA", "UU")

#: The format of `git log`: one commit per line, with separators that no name or subject can contain.
LOG_FORMAT = "%h%x00%ad%x00%an%x00%s"
_LOG_COLUMNS = ({"key": "hash"}, {"key": "date", "type": "date"}, {"key": "author"}, {"key": "subject"})


#: The start of a file in a diff, and the headers that name it.
_FILE_START = re.compile(r"^(?=diff --)", re.MULTILINE)
_FILE_HEADERS = ("diff --git ", "diff --cc ", "diff --combined ", "--- a/", "+++ b/", "rename from ", "rename to ")


def parse_status(text: str, cut: bool) -> Result:
    """Parse the output of `git status --short --branch`; `cut` says that its end is missing."""
    data: dict[str, Any] = {"branch": "", "ahead": 0, "behind": 0, "staged": [], "modified": [], "untracked": []}
    for line in _complete_lines(text, cut):
        if line.startswith("## "):
            data |= _parse_branch(line[3:])
        elif found := _CHANGE_LINE.fullmatch(line):
            for group in _classify_change(found["marks"]):
                data.setdefault(group, []).append(_unquote_path(found["path"]))
    if cut:
        data["truncated"] = True
    # Files in conflict count as modified, too.
    groups = {"staged": "staged", "modified": "modified", "conflicted": "in conflict", "untracked": "untracked"}
    summary = ", ".join(f"{len(data[group]):,} {words}" for group, words in groups.items() if data.get(group))
    return Result("git.status", data, summary or "clean", display=Display("tree", collapsed=not summary))


def _parse_branch(text: str) -> dict[str, Any]:
    """Return the branch and its distance from its upstream; nothing for a detached head."""
    if text == "HEAD (no branch)":
        return {}
    found = _BRANCH_LINE.fullmatch(text)
    if found is None:
        return {"branch": text}
    away = _AHEAD_BEHIND.findall(found["away"] or "")
    return {"branch": found["name"]} | {which: int(number) for which, number in away}


def _classify_change(marks: str) -> list[str]:
    """Return the groups for the two status letters of a file: of the index and of the working tree."""
    if marks in _CONFLICTS:
        return ["modified", "conflicted"]
    if marks == "??":
        return ["untracked"]
    return [group for group, mark in zip(("staged", "modified"), marks, strict=True) if mark not in " !"]


def _unquote_path(path: str) -> str:
    """Return a path without the quotes that git puts around special characters."""
    if not (len(path) > 1 and path.startswith('"') and path.endswith('"')):
        return path

    def unescape(found: re.Match[bytes]) -> bytes:
        code = found[1]
        return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _ESCAPES.get(code, code)

    return _ESCAPE.sub(unescape, path[1:-1].encode()).decode("utf-8", "replace")


def parse_diff(text: str, cut: bool, nothing: str) -> Result:
    """Parse the output of `git diff`; `nothing` is the summary of an empty one."""
    if not text:
        return Result("git.diff", {"content": ""}, nothing, "text/x-diff", Display("diff", "diff", collapsed=True))
    files, added, removed = _count_changes(text)
    summary = f"+{added} -{removed} lines in {format_count(files, 'file')}" + (", and more" if cut else "")
    data = {"content": text} | ({"truncated": True} if cut else {})
    return Result("git.diff", data, summary, "text/x-diff", Display("diff", "diff"))


def strip_secret_files(text: str) -> tuple[str, list[str]]:
    """Return a diff without the files that look like secrets, and the names of those files."""
    kept: list[str] = []
    names: list[str] = []
    for piece in _FILE_START.split(text):
        secret = next((name for name in _iter_file_names(piece) if looks_like_secret(name.split("/"))), "")
        if secret:
            names.append(secret)
        else:
            kept.append(piece)
    return "".join(kept).rstrip(), names


def _iter_file_names(piece: str) -> Iterator[str]:
    """Yield the names of the file that a piece of a diff is about, from its headers before the first hunk."""
    for line in piece.split("\n@@", 1)[0].splitlines():
        for start in filter(line.startswith, _FILE_HEADERS):
            name = line.removeprefix(start)
            # `a/x b/x`: the second half names the file, also one of which there is no other header.
            half = name[len(name) // 2 + 1 :].strip('"').removeprefix("b/") if start == _FILE_HEADERS[0] else ""
            yield from filter(None, (half, name.strip('"\t')))


def _count_changes(text: str) -> tuple[int, int, int]:
    """Return the numbers of files, added lines and removed lines."""
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


def parse_commits(text: str, cut: bool) -> list[dict[str, str]]:
    """Parse the output of `git log` in `LOG_FORMAT`."""
    fields = (line.split("\0") for line in _complete_lines(text, cut))
    return [dict(zip(("hash", "date", "author", "subject"), each, strict=True)) for each in fields if len(each) == 4]


def make_log_result(found: list[dict[str, str]], nothing: str) -> Result:
    """Return commits as a table; `nothing` is the summary of none."""
    return table(found, _LOG_COLUMNS, summary=format_count(len(found), "commit") if found else nothing)


def _complete_lines(text: str, cut: bool) -> list[str]:
    lines = [line for line in text.split("\n") if line]
    return lines[:-1] if cut else lines
