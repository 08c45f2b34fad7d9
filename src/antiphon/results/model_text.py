"""The text of a result for models: short, but complete enough to act on. Display hints are omitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_string, filter_objects
from antiphon.results.nested import DataPath, format_path, has_only_results, iter_nested_results, replace_nested_results
from antiphon.results.result import Result

#: The model sees at most this many rows of a table and entries of a directory.
MAX_ROWS = 50
MAX_ENTRIES = 200
#: For files with more lines than this, only the summary of a diff is shown.
MAX_DIFF_LINES = 20_000


def to_model_text(result: Result) -> str:
    """Return the text of a result for the model, including nested results. Images are only named.

    The `wire` package sends the images themselves.
    """
    found = list(iter_nested_results(result.data))
    if not found:
        return _format_own_data(result)
    rest = replace(result, data=replace_nested_results(result.data, lambda each: each.placeholder_text))
    own = result.summary if has_only_results(result.data) else _format_own_data(rest)
    return "\n\n".join(part for part in (own, *(_add_label(path, to_model_text(each)) for path, each in found)) if part)


def _add_label(path: DataPath, text: str) -> str:
    # Numbers of a list add nothing that the order does not show.
    if all(isinstance(key, int) for key in path):
        return text
    return f"{format_path(path)}:\n{text}" if "\n" in text else f"{format_path(path)}: {text}"


def _format_own_data(result: Result) -> str:
    data: Any = result.data
    make, is_whole = _FORMATTERS.get(result.kind, (None, None))
    # Data without the fields of its kind is shown as JSON, because the formatter would omit parts of it.
    if make and is_whole and isinstance(data, dict) and is_whole(cast(dict[str, Any], data)):
        return make(cast(dict[str, Any], data), result)
    data = cast(object, data)
    body = data if isinstance(data, str) else "" if data is None else dump_json(data)
    return "\n".join(part for part in (result.summary, body) if part)


def collect_images(result: Result) -> list[tuple[str, str, str]]:
    """Return the images of a result and its nested results, as base64 data, media type and URL."""
    own = _extract_image(result)
    return [own] if own else [image for _, each in iter_nested_results(result.data) for image in collect_images(each)]


def _extract_image(result: Result) -> tuple[str, str, str] | None:
    given: object = result.data
    if result.kind != "image" or not isinstance(given, dict):
        return None
    data = cast(dict[str, Any], given)
    return _get_text(data, "base64"), result.mime_type or "image/png", _get_text(data, "url")


def _get_text(data: dict[str, Any], key: str) -> str:
    return as_string(data.get(key))


def _format_text(data: dict[str, Any], result: Result) -> str:
    return _get_text(data, "content") or result.summary


def _format_diff(data: dict[str, Any], result: Result) -> str:
    """Format a diff as hunks instead of two complete files."""
    path, old, new = _get_text(data, "path"), _get_text(data, "original"), _get_text(data, "modified")
    if data.get("isNew") or not old:
        return f"{path}: {result.summary}"
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > MAX_DIFF_LINES:
        return f"{path}: {result.summary}"
    from difflib import unified_diff

    hunks = "\n".join(list(unified_diff(before, after, lineterm="", n=2))[2:])
    return f"{path}: {result.summary}\n{hunks}" if hunks else f"{path}: unchanged"


def _format_file_content(data: dict[str, Any], _: Result) -> str:
    return f"{_get_text(data, 'path')}\n{_get_text(data, 'content')}"


def _format_file_list(data: dict[str, Any], result: Result) -> str:
    entries = filter_objects(data.get("entries"))
    names = [_format_entry(entry) for entry in entries[:MAX_ENTRIES]]
    more = [f"… and {len(entries) - MAX_ENTRIES:,} more"] if len(entries) > MAX_ENTRIES else []
    more += ["(the listing is not complete)"] if data.get("truncated") else []
    return "\n".join([f"{_get_text(data, 'path')}: {result.summary}", *names, *more])


def _format_entry(entry: dict[str, Any]) -> str:
    size = entry.get("size")
    sign = {"directory": "/", "symlink": "@"}.get(_get_text(entry, "type"), "")
    return f"{_get_text(entry, 'name')}{sign}" + (f"  {size:,} bytes" if isinstance(size, int) else "")


def _format_table(data: dict[str, Any], result: Result) -> str:
    """Format the first rows of a table and the number of omitted rows."""
    keys = [_get_text(column, "key") for column in filter_objects(data.get("columns"))]
    rows = filter_objects(data.get("rows"))
    lines = [" | ".join(keys), *(" | ".join(_format_cell(row.get(key)) for key in keys) for row in rows[:MAX_ROWS])]
    if len(rows) > MAX_ROWS:
        lines.append(f"… {len(rows) - MAX_ROWS:,} more of {len(rows):,} rows")
    return "\n".join([result.summary, *lines] if result.summary else lines)


def _format_cell(value: object) -> str:
    text = "" if value is None else value if isinstance(value, str) else dump_json(value)
    return text.replace("\n", " ")[:200]


def _format_image(data: dict[str, Any], result: Result) -> str:
    return f"[image: {_get_text(data, 'alt') or result.summary or _get_text(data, 'url') or result.mime_type}]"


def _format_terminal(data: dict[str, Any], _: Result) -> str:
    code, output = data.get("exitCode"), _get_text(data, "output").rstrip("\n")
    dropped = data.get("dropped")
    notes = [f"[{dropped:,} characters dropped]"] if isinstance(dropped, int) else []
    notes += [f"[exit code {code}]"] if code not in (None, 0) else []
    return "\n".join(part for part in (output, *notes) if part) or "(no output)"


def _format_error(data: dict[str, Any], _: Result) -> str:
    details = data.get("details")
    body = "" if details is None else details if isinstance(details, str) else dump_json(details)
    return "\n".join(part for part in (_get_text(data, "message"), body) if part)


def _format_question(data: dict[str, Any], result: Result) -> str:
    return _get_text(data, "answer") or f"Asked: {_get_text(data, 'question') or result.summary}"


def _make_text_check(*names: str) -> Callable[[dict[str, Any]], bool]:
    """Return a predicate for data that has text under one of these names."""
    return lambda data: any(isinstance(data.get(name), str) for name in names)


def _has_object_list(data: dict[str, Any], name: str, key: str = "") -> bool:
    """Return whether `name` holds a list of objects that all have text under `key`."""
    found = filter_objects(data.get(name))
    given: object = data.get(name)
    is_all = isinstance(given, list) and len(found) == len(cast(list[object], given))
    return is_all and all(isinstance(each.get(key), str) for each in found if key)


_FORMATTERS: dict[str, tuple[Callable[[dict[str, Any], Result], str], Callable[[dict[str, Any]], bool]]] = {
    "text": (_format_text, _make_text_check("content")),
    "diff": (_format_diff, _make_text_check("modified")),
    "file_content": (_format_file_content, _make_text_check("content")),
    "file_list": (_format_file_list, lambda data: _has_object_list(data, "entries", "name")),
    "table": (_format_table, lambda data: _has_object_list(data, "columns", "key") and _has_object_list(data, "rows")),
    "image": (_format_image, _make_text_check("base64", "url")),
    "terminal": (_format_terminal, _make_text_check("output")),
    "error": (_format_error, _make_text_check("message")),
    "question": (_format_question, _make_text_check("question", "answer")),
}
