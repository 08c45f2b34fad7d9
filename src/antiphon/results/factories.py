"""Factories for results of the well-known kinds, whose data every display understands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from antiphon.errors import ContentError
from antiphon.results.result import Display, Location, Result

_LANGUAGES = {
    ".py": "python", ".js": "javascript", ".ts": "typescript", ".rs": "rust", ".go": "go", ".c": "c", ".h": "c",
    ".cpp": "cpp", ".java": "java", ".rb": "ruby", ".sh": "bash", ".json": "json", ".toml": "toml", ".yaml": "yaml",
    ".yml": "yaml", ".md": "markdown", ".html": "html", ".css": "css", ".sql": "sql", ".xml": "xml", ".vibe": "vibe",
}  # fmt: skip


def text(content: str, *, markdown: bool = False, summary: str = "", **display: Any) -> Result:
    """Return a result with plain text or Markdown."""
    kind = "text/markdown" if markdown else "text/plain"
    return Result("text", {"content": content}, summary, kind, Display(**display))


def diff(path: str, original: str | None, modified: str, *, summary: str = "", **display: Any) -> Result:
    """Return a result with a file before and after a change; `original` is `None` for a new file."""
    data: dict[str, Any] = {"path": path, "modified": modified, "isNew": original is None}
    if original is not None:
        data["original"] = original
    added, removed = count_changed_lines(original or "", modified)
    summary = summary or (
        f"new file, {_format_count(added, 'line')}" if original is None else f"+{added} -{removed} lines"
    )
    hints: dict[str, Any] = {"language": guess_language(path), **display}
    return Result("diff", data, summary, "", Display(**hints), path, (Location(path),))


def file_content(path: str, content: str, *, size: int | None = None, summary: str = "", **display: Any) -> Result:
    """Return a result with the content of a file, or a part of it."""
    data = {"path": path, "content": content, "size": len(content.encode()) if size is None else size}
    from mimetypes import guess_type

    guessed = guess_type(path)[0] or "text/plain"
    hints: dict[str, Any] = {"language": guess_language(path), **display}
    summary = summary or f"{path}, {_format_count(_count_lines(content), 'line')}"
    return Result("file_content", data, summary, guessed, Display(**hints), path, (Location(path),))


def file_list(
    path: str, entries: Iterable[Mapping[str, Any]], *, truncated: bool = False, summary: str = "", **display: Any
) -> Result:
    """Return a result with the entries of a directory.

    An entry has a `name`, a `type` (file, directory, symlink) and optionally `size` and `modified`.
    """
    listed = [dict(entry) for entry in entries]
    for entry in listed:
        if entry.get("type") not in ("file", "directory", "symlink") or not isinstance(entry.get("name"), str):
            raise ContentError(f"an entry has a `name` and a `type` of file, directory or symlink, not {entry!r:.80}")
    data = {"path": path, "entries": listed} | ({"truncated": True} if truncated else {})
    return Result(
        "file_list", data, summary or _format_count(len(listed), "entry", "entries"), "", Display(**display), path
    )


def table(
    rows: Iterable[Mapping[str, Any]],
    columns: Sequence[str | Mapping[str, Any]] | None = None,
    *,
    summary: str = "",
    **display: Any,
) -> Result:
    """Return a result with rows. A column is a key, or an object of `key`, `label`, `type` and `align`."""
    kept = [dict(row) for row in rows]
    named = columns if columns is not None else list(dict.fromkeys(key for row in kept[:100] for key in row))
    defined = [{"key": column} if isinstance(column, str) else dict(column) for column in named]
    data = {"columns": defined, "rows": kept}
    return Result("table", data, summary or _format_count(len(kept), "row"), "", Display(**display))


def image(
    *, base64: str = "", url: str = "", mime_type: str = "image/png", alt: str = "", summary: str = "", **display: Any
) -> Result:
    """Return a result with an image, given as base64 data or as a URL."""
    if bool(base64) == bool(url):
        raise ContentError("an image has either `base64` data or a `url`")
    data = {"base64": base64} if base64 else {"url": url}
    return Result(
        "image", data | ({"alt": alt} if alt else {}), summary or alt or "image", mime_type, Display(**display)
    )


def structured(data: Any, *, summary: str = "", **display: Any) -> Result:
    """Return a result with arbitrary data."""
    return Result("structured", data, summary, "application/json", Display(**display))


def terminal(
    command: str, output: str, *, exit_code: int | None = None, summary: str = "", dropped: int = 0, **display: Any
) -> Result:
    """Return a result with the output and exit code of a command."""
    data: dict[str, Any] = {"command": command, "output": output}
    if exit_code is not None:
        data["exitCode"] = exit_code
    if dropped:
        data["dropped"] = dropped
    ended = "" if exit_code is None else f"exit {exit_code}, "
    summary = summary or f"{ended}{_format_count(_count_lines(output), 'line')}"
    return Result("terminal", data, summary, "text/plain", Display(**display), command)


def error(message: str, *, details: Any = None, summary: str = "", **display: Any) -> Result:
    """Return a result that reports a failure."""
    data = {"message": message} | ({"details": details} if details is not None else {})
    return Result("error", data, summary or message.partition("\n")[0][:120], "", Display(**display))


def question(text: str, *, options: Sequence[str] = (), answer: str | None = None, **display: Any) -> Result:
    """Return a result with a question to a person, and the answer if there is one."""
    data: dict[str, Any] = {"question": text} | ({"options": list(options)} if options else {})
    if answer is not None:
        data["answer"] = answer
    return Result("question", data, text.partition("\n")[0][:120], "", Display(**display))


def guess_language(path: str) -> str:
    """Return the language of a file by its extension, as highlighters name it, or an empty string."""
    name = path.rpartition("/")[2].lower()
    return _LANGUAGES.get("." + name.rpartition(".")[2], "") if "." in name else {"makefile": "make"}.get(name, "")


def count_changed_lines(original: str, modified: str) -> tuple[int, int]:
    """Return the numbers of added and removed lines."""
    old, new = original.splitlines(), modified.splitlines()
    if not old or not new:
        return len(new), len(old)
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    # Comparing takes quadratic time, so larger blocks count as replaced entirely.
    if len(old) * len(new) > 4_000_000:
        return len(new), len(old)
    from difflib import SequenceMatcher

    added = removed = 0
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            added, removed = added + j2 - j1, removed + i2 - i1
    return added, removed


def _count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _format_count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
