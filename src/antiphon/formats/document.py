"""A file as data: JSON or JSON lines, and the history in it, which may be wrapped in other things."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

from antiphon._json import clean, dumps, loads
from antiphon._shape import obj
from antiphon.errors import MalformedJSONError
from antiphon.formats.finding import Finding

#: Under what names logs, stores and frameworks keep a history.
_WRAPPERS = (
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
_SUSPECT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")


@dataclass(frozen=True, slots=True)
class Document:
    """The data of a file. `steps` lead from all of it to the history; a step of "" opens a text that is JSON itself."""

    text: bytes
    data: Any
    lines: bool = False
    steps: tuple[str | int, ...] = ()
    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def body(self) -> Any:
        """What the history is in."""
        return _followed(self.data, self.steps)

    def inner(self) -> list[Document]:
        """The documents that may be wrapped in this one, the likeliest first."""
        if len(self.steps) >= _MAX_DEPTH:
            return []
        body = self.body
        if isinstance(body, str):
            findings = [*self.findings, *_repeated(body)]
            return [replace(self, steps=(*self.steps, ""), findings=findings)] if _is_json(body) else []
        return [replace(self, steps=(*self.steps, key)) for key in _WRAPPERS if obj(body).get(key)]

    def rows(self) -> list[Document]:
        """The documents that a list of them, or a file with one on each line, may be made of."""
        body = self.body
        if not isinstance(body, list) or not all(map(obj, cast(list[Any], body))):
            return []
        count = len(cast(list[Any], body))
        # What was found in the text as a whole is told once.
        return [replace(self, steps=(*self.steps, n), findings=self.findings if not n else []) for n in range(count)]

    def with_body(self, body: Any) -> bytes:
        """The file with another history in its place, as readable as it was."""
        return self.with_bodies([(self, body)])

    def with_bodies(self, bodies: Iterable[tuple[Document, Any]]) -> bytes:
        """The file with other histories in the places of these."""
        data = self.data
        for document, body in bodies:
            data = _replaced(data, document.steps, body)
        end = b"\n" if self.text.endswith(b"\n") else b""
        if self.lines:
            return "\n".join(map(dumps, cast(list[Any], data))).encode() + end
        indent = 2 if b"\n" in self.text.strip() else None
        return json.dumps(data, ensure_ascii=False, indent=indent).encode() + end


def parse(text: bytes, what: str) -> Document:
    """A file's text as data; a MalformedJSONError where it is neither JSON nor JSON lines."""
    if _SUSPECT.search(text):
        findings = _unsendable(text)
    else:
        findings: list[Finding] = []
    try:
        return Document(text, _cleaned(loads(text, what)), findings=[*findings, *_repeated(text)])
    except MalformedJSONError as error:
        rows = [(number, row) for number, row in enumerate(text.splitlines(), 1) if row.strip()]
        values: list[Any] = []
        for number, row in rows:
            try:
                values.append(_cleaned(loads(row, f"line {number}")))
                findings += _repeated(row, f"line {number}")
            except MalformedJSONError as broken:
                if not values:
                    raise error from None
                findings.append(Finding("unreadable", f"line {number}", str(broken), "the line is dropped"))
        if len(rows) < 2 or not any(map(obj, values)):
            raise
        return Document(text, values, lines=True, findings=findings)


def _followed(data: Any, steps: tuple[str | int, ...]) -> Any:
    for step in steps:
        data = data[step] if step != "" else loads(data)
    return data


def _replaced(data: Any, steps: tuple[str | int, ...], body: Any) -> Any:
    if not steps:
        return body
    step, rest = steps[0], steps[1:]
    if step == "":
        return dumps(_replaced(loads(data), rest, body))
    if isinstance(step, int):
        return [*data[:step], _replaced(data[step], rest, body), *data[step + 1 :]]
    return {**data, step: _replaced(data[step], rest, body)}


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        loads(text)
    except MalformedJSONError:
        return False
    return True


def _unsendable(text: bytes) -> list[Finding]:
    """The places of characters that cannot travel: half of a surrogate pair, and NUL."""
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
    found = [place for n, value in enumerate(values) for place in _places(value, f"line {n + 1}" if named else "")]
    what = "a character that no provider takes (half of a surrogate pair, or NUL)"
    return [Finding("bad-text", place, what, "it becomes U+FFFD") for place in found]


def _repeated(text: bytes | str, path: str = "") -> list[Finding]:
    """Return where a field stands twice in an object: of its values only the last is read."""
    names: dict[int, list[str]] = {}
    objects: list[dict[str, Any]] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            names[id(made)] = [name for name, count in counts.items() if count > 1]
            # Held, so that no other object gets its id.
            objects.append(made)
        return made

    try:
        value = json.loads(text if isinstance(text, str) else text.decode("utf-8-sig"), object_pairs_hook=note)
    except (ValueError, RecursionError):
        return []
    found = [(place, name) for place, each in _objects(value, path) for name in names.get(id(each), [])]
    action = "the last one is kept; compare it with the others"
    return [Finding("repeated-field", place, f"the field {name!r} stands there twice", action) for place, name in found]


def _objects(value: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects at any depth, with where they are."""
    if isinstance(value, list):
        for index, item in enumerate(cast(list[Any], value)):
            yield from _objects(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        inside = cast(dict[str, Any], value)
        yield path, inside
        for key, item in inside.items():
            yield from _objects(item, f"{path}.{key}" if path else key)


def _places(value: Any, path: str) -> list[str]:
    if isinstance(value, str):
        return [path] if _UNSENDABLE.search(value) else []
    if isinstance(value, list):
        items = cast(list[Any], value)
        return [place for index, item in enumerate(items) for place in _places(item, f"{path}[{index}]")]
    found: list[str] = []
    for key, item in obj(value).items():
        found += [path] if _UNSENDABLE.search(key) else []
        found += _places(item, f"{path}.{key}" if path else key)
    return found


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in cast(list[Any], value)]
    return {clean(key): _cleaned(item) for key, item in obj(value).items()} or value
