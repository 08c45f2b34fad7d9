"""Scripts as JSON files: a list of texts, answers and failures, or such lists by a text of the request."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, cast

from antiphon._base.json import load_json
from antiphon.conversation.serialization import read_file_bytes
from antiphon.errors import AntiphonError, FormatError
from antiphon.fakes.script import Answer, Call, Cite, Fail, ServerCall, Step

_TEXTS = ("text", "reasoning", "stop", "stop_word", "refusal", "container", "tool", "url", "title", "quote", "message")
_FIELD_TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    **dict.fromkeys((*_TEXTS, "name", "id"), (str, "a text")),
    **dict.fromkeys(("stop_details", "input", "arguments"), (dict, "an object")),
    **dict.fromkeys(("as_form", "malformed", "same_index"), (bool, "true or false")),
    **dict.fromkeys(("delay", "retry_after"), ((int, float), "a number of seconds")),
    **dict.fromkeys(("citations", "sources"), (list, 'a list of objects such as {"url": "https://example.org"}')),
    "server_calls": (list, 'a list of objects such as {"tool": "web_search", "input": {}}'),
    "calls": (list, 'a list of objects such as {"name": "weather", "arguments": {}}'),
    "blocks": (list, "a list of objects"),
    "usage": (list, "two numbers, [input, output]"),
    "hops": (int, "a number of replies"),
    "cut_after": (int, "a number of events"),
    "fail": (int, "an HTTP status"),
    "result": (object, "anything"),
}
#: A file has no functions, so it cannot hold an answer.
_ANSWER_FIELDS = tuple(each.name for each in dataclasses.fields(Answer) if each.name not in ("hold", "hold_after"))
_SERVER_CALL_FIELDS = tuple(each.name for each in dataclasses.fields(ServerCall))
_CITE_FIELDS = tuple(each.name for each in dataclasses.fields(Cite))
_FAIL_FIELDS = ("fail", "message", "retry_after")
_CALL_FIELDS = ("name", "arguments", "id")


def load_script(path: str | Path) -> list[Step] | dict[str, list[Step]]:
    """Load the steps of a script file: a list, or an object with lists by a text that occurs in the
    requests.

    A step is a text, an object with the fields of `Answer` (`calls` as objects with `name` and `arguments`),
    or a failure such as `{"fail": 429, "retry_after": 2}`. Raise a FormatError that says what is wrong and
    where.
    """
    try:
        content = load_json(read_file_bytes(path), f"the script {path}")
    except AntiphonError as error:
        raise FormatError(str(error)) from None
    if isinstance(content, dict):
        parts = cast(dict[str, Any], content)
        return {text: _parse_steps(part, f"`{text}` in {path}") for text, part in parts.items()}
    return _parse_steps(content, str(path))


def _parse_steps(content: object, where: str) -> list[Step]:
    if not isinstance(content, list):
        raise FormatError(f"{where} is a list of steps, not {_describe_type(content)}")
    return [_parse_step(step, f"step {number} of {where}") for number, step in enumerate(cast(list[Any], content), 1)]


def _parse_step(step: object, where: str) -> Step:
    if isinstance(step, str):
        return step
    try:
        given = _require_object(step, where, "a text or an object")
        if "fail" in given:
            given = _check_fields(given, _FAIL_FIELDS, where)
            return Fail(given.pop("fail"), **given)
        given = _check_fields(given, _ANSWER_FIELDS, where)
        given["calls"] = [_parse_call(one, f"call {n} of {where}") for n, one in enumerate(given.get("calls", []), 1)]
        given["server_calls"] = [
            _parse_server_call(one, f"server call {n} of {where}")
            for n, one in enumerate(given.get("server_calls", []), 1)
        ]
        given["citations"] = _parse_cites(given.get("citations", []), f"citations of {where}")
        given["blocks"] = [
            _require_object(one, f"block {n} of {where}") for n, one in enumerate(given.get("blocks", []), 1)
        ]
        if "usage" in given:
            used = given["usage"] = tuple(given["usage"])
            if len(used) != 2 or not all(isinstance(count, int) for count in used):
                raise FormatError(f"{where}: `usage` is {_FIELD_TYPES['usage'][1]}, not {list(used)!r}")
        return Answer(**given)
    except FormatError:
        raise
    except AntiphonError as error:
        raise FormatError(f"{where}: {error}") from None


def _parse_call(value: object, where: str) -> Call:
    given = _check_fields(_require_object(value, where), _CALL_FIELDS, where)
    if not given.get("name"):
        raise FormatError(f"{where} has no `name`")
    return Call(**given)


def _parse_server_call(value: object, where: str) -> ServerCall:
    given = _check_fields(_require_object(value, where), _SERVER_CALL_FIELDS, where)
    if not given.get("tool"):
        raise FormatError(f"{where} has no `tool`")
    sources = _parse_cites(given.pop("sources", []), where)
    return ServerCall(**given, sources=sources)


def _parse_cites(values: list[Any], where: str) -> list[Cite]:
    given = [_check_fields(_require_object(value, where), _CITE_FIELDS, where) for value in values]
    if not all(each.get("url") for each in given):
        raise FormatError(f"{where}: a source has no `url`")
    return [Cite(**each) for each in given]


def _require_object(value: object, where: str, wanted: str = "an object") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{where} is {wanted}, not {_describe_type(value)}")
    return cast(dict[str, Any], value)


def _check_fields(given: dict[str, Any], known: tuple[str, ...], where: str) -> dict[str, Any]:
    for name, content in given.items():
        if name not in known:
            raise FormatError(f"{where} has an unknown field {name!r}; it may have {', '.join(known)}")
        kind, words = _FIELD_TYPES[name]
        if not isinstance(content, kind) or (isinstance(content, bool) and kind not in (bool, object)):
            raise FormatError(f"{where}: `{name}` is {words}, not {_describe_type(content)}")
    return dict(given)


def _describe_type(value: object) -> str:
    names: dict[type, str] = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")
