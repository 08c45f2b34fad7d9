"""Mends for bodies of the Responses API."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from antiphon._shape import arr, obj, string
from antiphon.wire.openai_responses.terms import continues, kind_of

_LEGAL = re.compile(r"[A-Za-z0-9_-]+")
_PREFIXES = {"function_call": "fc", "message": "msg", "reasoning": "rs", "web_search_call": "ws"}


def _items(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [obj(item) for item in arr(body.get("input"))]


def _keep(body: dict[str, Any], wanted: Callable[[dict[str, Any]], bool]) -> bool:
    before = arr(body.get("input"))
    body["input"] = [item for item in before if wanted(obj(item))] if isinstance(body.get("input"), list) else before
    return len(arr(body["input"])) < len(before)


def _drop_reasoning(body: dict[str, Any]) -> bool:
    """R5."""
    return _keep(body, lambda item: kind_of(item) != "reasoning")


def _drop_ids(body: dict[str, Any]) -> bool:
    """R6 and R7: nothing but the server's memory needs the id of an item. Reasoning is nothing without it."""
    changed = False
    for item in _items(body):
        id = item.get("id")
        wrong = isinstance(id, str) and not (_LEGAL.fullmatch(id) and id.startswith(_PREFIXES.get(kind_of(item), "")))
        if wrong and kind_of(item) not in ("reasoning", "item_reference"):
            del item["id"]
            changed = True
    kept = _keep(body, lambda item: not _has_wrong_id(item))
    return kept or changed


def _has_wrong_id(item: dict[str, Any]) -> bool:
    id, kind = item.get("id"), kind_of(item)
    if not isinstance(id, str) or kind not in ("reasoning", "item_reference"):
        return False
    return not (_LEGAL.fullmatch(id) and id.startswith(_PREFIXES.get(kind, "")))


def _drop_repeated(body: dict[str, Any]) -> bool:
    """R9: the same item again is dropped, another of the same id loses it."""
    seen: dict[str, dict[str, Any]] = {}
    changed = False
    kept: list[Any] = []
    for item in arr(body.get("input")):
        data = obj(item)
        id = string(data.get("id"))
        if id and id in seen:
            changed = True
            if data == seen[id] or kind_of(data) in ("reasoning", "item_reference"):
                continue
            item = {key: value for key, value in data.items() if key != "id"}
        elif id:
            seen[id] = data
        kept.append(item)
    body["input"] = kept if changed else body.get("input")
    return changed


def _drop_bare(body: dict[str, Any]) -> bool:
    """R11."""
    if continues(body):
        return False
    return _keep(body, lambda item: not _is_bare(item))


def _is_bare(item: dict[str, Any]) -> bool:
    kind = kind_of(item)
    return kind == "item_reference" or (
        kind == "reasoning" and bool(item.get("id")) and not item.get("encrypted_content")
    )


def _mend_fields(body: dict[str, Any]) -> bool:
    """R14: fields and tools as the older API has them."""
    changed = False
    if "input" in body and body.get("messages") is not None:
        del body["messages"]
        changed = True
    if (old := body.pop("response_format", None)) is not None:
        wanted = obj(old)
        form = {"type": wanted.get("type"), **obj(wanted.get("json_schema"))}
        body["text"] = {"format": form} | obj(body.get("text"))
        changed = True
    for tool in map(obj, arr(body.get("tools"))):
        function = obj(tool.get("function"))
        if tool.get("type") == "function" and function and not isinstance(tool.get("name"), str):
            del tool["function"]
            tool.update(function)
            changed = True
    return changed


def late_results(body: dict[str, Any]) -> list[tuple[str, str]]:
    """Return where a result stands behind words of the user that came after its call, and the id of the call."""
    found: list[tuple[str, str]] = []
    waiting: set[str] = set()
    spoken_over: set[str] = set()
    for number, item in enumerate(_items(body)):
        kind, id = kind_of(item), string(item.get("call_id"))
        if kind == "function_call":
            waiting.add(id)
        elif kind == "message" and item.get("role") == "user":
            spoken_over |= waiting
        elif kind == "function_call_output":
            found += [(f"item {number}", id)] if id in spoken_over else []
            waiting.discard(id)
            spoken_over.discard(id)
    return found


def with_items(body: Any) -> tuple[Any, list[str]]:
    """The body, and where it had messages of Chat Completions with calls or results, which are items here."""
    key = "input" if "input" in obj(body) else ""
    before = arr(obj(body).get("input")) if key else arr(body)
    parts = [_items_of(item) for item in before]
    places = [f"item {n}" for n, (item, made) in enumerate(zip(before, parts, strict=True)) if made != [item]]
    if not places:
        return body, []
    items = [item for made in parts for item in made]
    return ({**body, key: items} if key else items), places


def _items_of(message: Any) -> list[Any]:
    """A message of Chat Completions as items: what was said, and each call or result by itself."""
    data = obj(message)
    if data.get("role") == "tool" and "tool_call_id" in data:
        output = data.get("content")
        return [
            {
                "type": "function_call_output",
                "call_id": data["tool_call_id"],
                "output": "" if output is None else output,
            }
        ]
    if "tool_calls" not in data:
        return [message]
    said = {key: value for key, value in data.items() if key != "tool_calls"}
    calls = [(call, obj(call.get("function"))) for call in map(obj, arr(data["tool_calls"]))]
    return [
        *([said] if said.get("content") else []),
        *({"type": "function_call", "call_id": call.get("id"), **function} for call, function in calls),
    ]


def _mend_shape(body: dict[str, Any]) -> bool:
    """R0: what is no tool."""
    tools = body.get("tools")
    if tools is None:
        return False
    kept = [tool for tool in arr(tools) if obj(tool)]
    body["tools"] = kept
    return kept != tools


MENDS = {
    "R0": (_mend_shape, "what is no tool is dropped"),
    "R5": (_drop_reasoning, "the reasoning is dropped"),
    "R6": (_drop_ids, "the id is left out"),
    "R7": (_drop_ids, "the id is left out"),
    "R9": (_drop_repeated, "the second one is dropped, or loses its id"),
    "R11": (_drop_bare, "the item is dropped"),
    "R14": (_mend_fields, "it is written as this API has it"),
}
