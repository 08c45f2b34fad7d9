"""The model's face of a result: short text made from the kind, complete enough to act on. Hints cost no tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from antiphon._json import dumps
from antiphon._shape import objects, string
from antiphon.results.nested import Path, inside, is_all_results, label, replaced
from antiphon.results.result import Result

#: How many rows of a table and entries of a directory the model is shown.
ROWS = 50
ENTRIES = 200
#: Diffs of files larger than this, in lines, are not computed but described.
DIFF_LINES = 20_000


def face(result: Result) -> str:
    """What the model reads, results inside it included. Images are left to the wires: here they are only named."""
    found = list(inside(result.data))
    if not found:
        return _face(result)
    rest = replace(result, data=replaced(result.data, lambda each: each.brief))
    own = result.summary if is_all_results(result.data) else _face(rest)
    return "\n\n".join(part for part in (own, *(_labelled(path, face(each)) for path, each in found)) if part)


def _labelled(path: Path, text: str) -> str:
    # The places of a plain list say nothing that their order does not.
    if all(isinstance(key, int) for key in path):
        return text
    return f"{label(path)}:\n{text}" if "\n" in text else f"{label(path)}: {text}"


def _face(result: Result) -> str:
    data: Any = result.data
    make, is_whole = _FACES.get(result.kind, (None, None))
    # What has other parts than its kind is told by is shown as it is: the model would be told half of it.
    if make and is_whole and isinstance(data, dict) and is_whole(cast(dict[str, Any], data)):
        return make(cast(dict[str, Any], data), result)
    data = cast(object, data)
    body = data if isinstance(data, str) else "" if data is None else dumps(data)
    return "\n".join(part for part in (result.summary, body) if part)


def images_of(result: Result) -> list[tuple[str, str, str]]:
    """The images of a result and of those inside it, as base64 data, media type and URL."""
    own = _image_of(result)
    return [own] if own else [image for _, each in inside(result.data) for image in images_of(each)]


def _image_of(result: Result) -> tuple[str, str, str] | None:
    given: object = result.data
    if result.kind != "image" or not isinstance(given, dict):
        return None
    data = cast(dict[str, Any], given)
    return _text(data, "base64"), result.mime_type or "image/png", _text(data, "url")


def _text(data: dict[str, Any], key: str) -> str:
    return string(data.get(key))


def _plain_text(data: dict[str, Any], result: Result) -> str:
    return _text(data, "content") or result.summary


def _diff(data: dict[str, Any], result: Result) -> str:
    """Hunks, not two whole files."""
    path, old, new = _text(data, "path"), _text(data, "original"), _text(data, "modified")
    if data.get("isNew") or not old:
        return f"{path}: {result.summary}"
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > DIFF_LINES:
        return f"{path}: {result.summary}"
    from difflib import unified_diff

    hunks = "\n".join(list(unified_diff(before, after, lineterm="", n=2))[2:])
    return f"{path}: {result.summary}\n{hunks}" if hunks else f"{path}: unchanged"


def _file_content(data: dict[str, Any], _: Result) -> str:
    return f"{_text(data, 'path')}\n{_text(data, 'content')}"


def _file_list(data: dict[str, Any], result: Result) -> str:
    entries = objects(data.get("entries"))
    names = [_entry(entry) for entry in entries[:ENTRIES]]
    more = [f"… and {len(entries) - ENTRIES:,} more"] if len(entries) > ENTRIES else []
    more += ["(the listing is not complete)"] if data.get("truncated") else []
    return "\n".join([f"{_text(data, 'path')}: {result.summary}", *names, *more])


def _entry(entry: dict[str, Any]) -> str:
    size = entry.get("size")
    sign = {"directory": "/", "symlink": "@"}.get(_text(entry, "type"), "")
    return f"{_text(entry, 'name')}{sign}" + (f"  {size:,} bytes" if isinstance(size, int) else "")


def _table(data: dict[str, Any], result: Result) -> str:
    """The head and a count."""
    keys = [_text(column, "key") for column in objects(data.get("columns"))]
    rows = objects(data.get("rows"))
    lines = [" | ".join(keys), *(" | ".join(_cell(row.get(key)) for key in keys) for row in rows[:ROWS])]
    if len(rows) > ROWS:
        lines.append(f"… {len(rows) - ROWS:,} more of {len(rows):,} rows")
    return "\n".join([result.summary, *lines] if result.summary else lines)


def _cell(value: object) -> str:
    text = "" if value is None else value if isinstance(value, str) else dumps(value)
    return text.replace("\n", " ")[:200]


def _image(data: dict[str, Any], result: Result) -> str:
    return f"[image: {_text(data, 'alt') or result.summary or _text(data, 'url') or result.mime_type}]"


def _terminal(data: dict[str, Any], _: Result) -> str:
    code, output = data.get("exitCode"), _text(data, "output").rstrip("\n")
    dropped = data.get("dropped")
    notes = [f"[{dropped:,} characters dropped]"] if isinstance(dropped, int) else []
    notes += [f"[exit code {code}]"] if code not in (None, 0) else []
    return "\n".join(part for part in (output, *notes) if part) or "(no output)"


def _error(data: dict[str, Any], _: Result) -> str:
    details = data.get("details")
    body = "" if details is None else details if isinstance(details, str) else dumps(details)
    return "\n".join(part for part in (_text(data, "message"), body) if part)


def _question(data: dict[str, Any], result: Result) -> str:
    return _text(data, "answer") or f"Asked: {_text(data, 'question') or result.summary}"


def _has(*names: str) -> Callable[[dict[str, Any]], bool]:
    """Data with text by one of these names."""
    return lambda data: any(isinstance(data.get(name), str) for name in names)


def _lists(data: dict[str, Any], name: str, key: str = "") -> bool:
    """Whether there is a list by this name, of objects alone, each with text by the key."""
    found = objects(data.get(name))
    given: object = data.get(name)
    is_all = isinstance(given, list) and len(found) == len(cast(list[object], given))
    return is_all and all(isinstance(each.get(key), str) for each in found if key)


_FACES: dict[str, tuple[Callable[[dict[str, Any], Result], str], Callable[[dict[str, Any]], bool]]] = {
    "text": (_plain_text, _has("content")),
    "diff": (_diff, _has("modified")),
    "file_content": (_file_content, _has("content")),
    "file_list": (_file_list, lambda data: _lists(data, "entries", "name")),
    "table": (_table, lambda data: _lists(data, "columns", "key") and _lists(data, "rows")),
    "image": (_image, _has("base64", "url")),
    "terminal": (_terminal, _has("output")),
    "error": (_error, _has("message")),
    "question": (_question, _has("question", "answer")),
}
