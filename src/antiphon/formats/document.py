"""A history file as data: JSON or JSON lines, with the history possibly wrapped in other objects."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

from antiphon._base.json import dump_json, load_json, sanitize_unicode
from antiphon._base.json_access import as_array, as_object
from antiphon.errors import MalformedJSONError
from antiphon.formats.issue import Finding

#: Fields under which logs, stores and frameworks keep a history.
_WRAPPER_FIELDS = (
    *("body", "request", "request_body", "requestBody", "json", "payload", "data", "params", "kwargs", "options"),
    *("state", "values", "history", "conversation", "session", "thread", "chat", "channel_values", "result"),
    *(
        "messages",
        "all_messages",
        "new_messages",
        "message_history",
        "messageHistory",
        "message_log",
        "initialMessages",
    ),
)
_MAX_DEPTH = 5
_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")
_SUSPECT_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")


@dataclass(frozen=True, slots=True)
class HistoryDocument:
    """The data of a file. `steps` lead from its root to the history; a step of "" parses a JSON string."""

    text: bytes
    data: Any
    #: The value that holds the history.
    body: Any
    lines: bool = False
    steps: tuple[str | int, ...] = ()
    findings: list[Finding] = field(default_factory=list[Finding])

    def inner(self) -> list[HistoryDocument]:
        """Return the documents that may be wrapped in this one, most likely first."""
        if len(self.steps) >= _MAX_DEPTH:
            return []
        body = self.body
        if isinstance(body, str):
            if body.lstrip()[:1] not in ("{", "["):
                return []
            try:
                value = load_json(body)
            except MalformedJSONError:
                return []
            findings = [*self.findings, *_find_repeated_fields(body)]
            return [replace(self, body=value, steps=(*self.steps, ""), findings=findings)]
        inside = as_object(body)
        return [replace(self, body=inside[key], steps=(*self.steps, key)) for key in _WRAPPER_FIELDS if inside.get(key)]

    def rows(self) -> list[HistoryDocument]:
        """Return one document for each entry of a list, or each line of a file."""
        items = as_array(self.body)
        if not all(map(as_object, items)):
            return []
        # Issues of the whole text are reported once.
        return [
            replace(self, body=item, steps=(*self.steps, n), findings=[] if n else self.findings)
            for n, item in enumerate(items)
        ]

    def replace_body(self, body: Any) -> bytes:
        """Return the file with another history in its place, formatted as before."""
        return self._format(_replace_at(self.data, self.steps, body))

    def replace_rows(self, bodies: Iterable[tuple[HistoryDocument, Any]]) -> bytes:
        """Return the file with other histories in the rows of these documents."""
        data = [*as_array(self.data)]
        for document, body in bodies:
            row = cast(int, document.steps[0])
            data[row] = _replace_at(data[row], document.steps[1:], body)
        return self._format(data)

    def _format(self, data: Any) -> bytes:
        end = b"\n" if self.text.endswith(b"\n") else b""
        if self.lines:
            return "\n".join(map(dump_json, cast(list[Any], data))).encode() + end
        indent = 2 if b"\n" in self.text.strip() else None
        return json.dumps(data, ensure_ascii=False, indent=indent).encode() + end


def parse_document(text: bytes, what: str) -> HistoryDocument:
    """Parse a file's text. Raise MalformedJSONError if it is neither JSON nor JSON lines."""
    # Only escapes can produce characters that cannot be sent: decoding UTF-8 yields none.
    is_suspect = bool(_SUSPECT_ESCAPE.search(text))
    findings = _find_unsendable(text) if is_suspect else []
    clean: Callable[[Any], Any] = _clean_texts if is_suspect else lambda value: value
    try:
        data = clean(load_json(text, what))
        return HistoryDocument(text, data, data, findings=[*findings, *_find_repeated_fields(text)])
    except MalformedJSONError as error:
        rows = [(number, row) for number, row in enumerate(text.splitlines(), 1) if row.strip()]
        values: list[Any] = []
        for number, row in rows:
            try:
                values.append(clean(load_json(row, f"line {number}")))
                findings += _find_repeated_fields(row, f"line {number}")
            except MalformedJSONError as broken:
                if not values:
                    raise error from None
                findings.append(Finding("unreadable", f"line {number}", str(broken), "the line is dropped"))
        if len(rows) < 2 or not any(map(as_object, values)):
            raise
        return HistoryDocument(text, values, values, lines=True, findings=findings)


def _replace_at(data: Any, steps: tuple[str | int, ...], body: Any) -> Any:
    if not steps:
        return body
    step, rest = steps[0], steps[1:]
    if step == "":
        return dump_json(_replace_at(load_json(data), rest, body))
    if isinstance(step, int):
        return [*data[:step], _replace_at(data[step], rest, body), *data[step + 1 :]]
    return {**data, step: _replace_at(data[step], rest, body)}


def _find_unsendable(text: bytes) -> list[Finding]:
    """Return issues for characters that no provider accepts: unpaired surrogates and NUL."""
    values: list[Any] = []
    try:
        values = [json.loads(text)]
    except (ValueError, RecursionError):
        for row in text.splitlines():
            try:
                values.append(json.loads(row))
            except (ValueError, RecursionError):
                continue
    named = len(values) > 1
    found = [
        place
        for n, value in enumerate(values)
        for place in _find_unsendable_paths(value, f"line {n + 1}" if named else "")
    ]
    what = "a character that no provider takes (half of a surrogate pair, or NUL)"
    return [Finding("bad-text", place, what, "it becomes U+FFFD") for place in found]


def _find_repeated_fields(text: bytes | str, path: str = "") -> list[Finding]:
    """Return issues for fields that occur twice in an object: only the last value is read."""
    names: dict[int, list[str]] = {}
    objects: list[dict[str, Any]] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            names[id(made)] = [name for name, count in counts.items() if count > 1]
            # Kept alive, so that no other object gets its id.
            objects.append(made)
        return made

    try:
        value = json.loads(text if isinstance(text, str) else text.decode("utf-8-sig"), object_pairs_hook=note)
    except (ValueError, RecursionError):
        return []
    if not objects:
        return []
    found = [(place, name) for place, each in _iter_objects(value, path) for name in names.get(id(each), [])]
    action = "the last one is kept; compare it with the others"
    return [Finding("repeated-field", place, f"the field {name!r} stands there twice", action) for place, name in found]


def _iter_objects(value: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects at any depth with their paths."""
    if isinstance(value, list):
        for index, item in enumerate(cast(list[Any], value)):
            yield from _iter_objects(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        inside = cast(dict[str, Any], value)
        yield path, inside
        for key, item in inside.items():
            yield from _iter_objects(item, f"{path}.{key}" if path else key)


def _find_unsendable_paths(value: Any, path: str) -> list[str]:
    if isinstance(value, str):
        return [path] if _UNSENDABLE.search(value) else []
    if isinstance(value, list):
        items = cast(list[Any], value)
        return [place for index, item in enumerate(items) for place in _find_unsendable_paths(item, f"{path}[{index}]")]
    found: list[str] = []
    for key, item in as_object(value).items():
        found += [path] if _UNSENDABLE.search(key) else []
        found += _find_unsendable_paths(item, f"{path}.{key}" if path else key)
    return found


def _clean_texts(value: Any) -> Any:
    if isinstance(value, str):
        return sanitize_unicode(value)
    if isinstance(value, list):
        return [_clean_texts(item) for item in cast(list[Any], value)]
    return {sanitize_unicode(key): _clean_texts(item) for key, item in as_object(value).items()} or value
