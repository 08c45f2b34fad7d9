"""A history file as data: JSON or JSON lines, with the history possibly wrapped in other objects."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

from antiphon._base.json import dump_json, load_json, sanitize_unicode
from antiphon._base.json_access import as_object
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
    lines: bool = False
    steps: tuple[str | int, ...] = ()
    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def body(self) -> Any:
        """The value that holds the history."""
        return _get_at(self.data, self.steps)

    def inner(self) -> list[HistoryDocument]:
        """Return the documents that may be wrapped in this one, most likely first."""
        if len(self.steps) >= _MAX_DEPTH:
            return []
        body = self.body
        if isinstance(body, str):
            findings = [*self.findings, *_find_repeated_fields(body)]
            return [replace(self, steps=(*self.steps, ""), findings=findings)] if _is_json_text(body) else []
        return [replace(self, steps=(*self.steps, key)) for key in _WRAPPER_FIELDS if as_object(body).get(key)]

    def rows(self) -> list[HistoryDocument]:
        """Return one document for each entry of a list, or each line of a file."""
        body = self.body
        if not isinstance(body, list) or not all(map(as_object, cast(list[Any], body))):
            return []
        count = len(cast(list[Any], body))
        # Issues of the whole text are reported once.
        return [replace(self, steps=(*self.steps, n), findings=self.findings if not n else []) for n in range(count)]

    def replace_body(self, body: Any) -> bytes:
        """Return the file with another history in its place, formatted as before."""
        return self.replace_bodies([(self, body)])

    def replace_bodies(self, bodies: Iterable[tuple[HistoryDocument, Any]]) -> bytes:
        """Return the file with other histories in place of these."""
        data = self.data
        for document, body in bodies:
            data = _replace_at(data, document.steps, body)
        end = b"\n" if self.text.endswith(b"\n") else b""
        if self.lines:
            return "\n".join(map(dump_json, cast(list[Any], data))).encode() + end
        indent = 2 if b"\n" in self.text.strip() else None
        return json.dumps(data, ensure_ascii=False, indent=indent).encode() + end


def parse_document(text: bytes, what: str) -> HistoryDocument:
    """Parse a file's text. Raise MalformedJSONError if it is neither JSON nor JSON lines."""
    if _SUSPECT_ESCAPE.search(text):
        findings = _find_unsendable(text)
    else:
        findings: list[Finding] = []
    try:
        return HistoryDocument(
            text, _clean_texts(load_json(text, what)), findings=[*findings, *_find_repeated_fields(text)]
        )
    except MalformedJSONError as error:
        rows = [(number, row) for number, row in enumerate(text.splitlines(), 1) if row.strip()]
        values: list[Any] = []
        for number, row in rows:
            try:
                values.append(_clean_texts(load_json(row, f"line {number}")))
                findings += _find_repeated_fields(row, f"line {number}")
            except MalformedJSONError as broken:
                if not values:
                    raise error from None
                findings.append(Finding("unreadable", f"line {number}", str(broken), "the line is dropped"))
        if len(rows) < 2 or not any(map(as_object, values)):
            raise
        return HistoryDocument(text, values, lines=True, findings=findings)


def _get_at(data: Any, steps: tuple[str | int, ...]) -> Any:
    for step in steps:
        data = data[step] if step != "" else load_json(data)
    return data


def _replace_at(data: Any, steps: tuple[str | int, ...], body: Any) -> Any:
    if not steps:
        return body
    step, rest = steps[0], steps[1:]
    if step == "":
        return dump_json(_replace_at(load_json(data), rest, body))
    if isinstance(step, int):
        return [*data[:step], _replace_at(data[step], rest, body), *data[step + 1 :]]
    return {**data, step: _replace_at(data[step], rest, body)}


def _is_json_text(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        load_json(text)
    except MalformedJSONError:
        return False
    return True


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
