"""Fixes for bodies of the Responses API."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import RepairAction
from antiphon.formats.fixes import HistoryFixer
from antiphon.wire.openai_responses.item_rules import continues_stored, get_item_type

_LEGAL_ID = re.compile(r"[A-Za-z0-9_-]+")
_ID_PREFIXES = {"function_call": "fc", "message": "msg", "reasoning": "rs", "web_search_call": "ws"}


def _get_items(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [as_object(item) for item in as_array(body.get("input"))]


def _filter_items(body: dict[str, Any], wanted: Callable[[dict[str, Any]], bool]) -> bool:
    before = as_array(body.get("input"))
    body["input"] = (
        [item for item in before if wanted(as_object(item))] if isinstance(body.get("input"), list) else before
    )
    return len(as_array(body["input"])) < len(before)


def _drop_reasoning(body: dict[str, Any]) -> bool:
    """Fix R5: drop reasoning items."""
    return _filter_items(body, lambda item: get_item_type(item) != "reasoning")


def _drop_invalid_ids(body: dict[str, Any]) -> bool:
    """Fix R6 and R7: drop invalid ids, which only stored items need. Reasoning is useless without its id."""
    changed = False
    for item in _get_items(body):
        id = item.get("id")
        wrong = isinstance(id, str) and not (
            _LEGAL_ID.fullmatch(id) and id.startswith(_ID_PREFIXES.get(get_item_type(item), ""))
        )
        if wrong and get_item_type(item) not in ("reasoning", "item_reference"):
            del item["id"]
            changed = True
    kept = _filter_items(body, lambda item: not _has_invalid_required_id(item))
    return kept or changed


def _has_invalid_required_id(item: dict[str, Any]) -> bool:
    id, kind = item.get("id"), get_item_type(item)
    if not isinstance(id, str) or kind not in ("reasoning", "item_reference"):
        return False
    return not (_LEGAL_ID.fullmatch(id) and id.startswith(_ID_PREFIXES.get(kind, "")))


def _drop_repeated_items(body: dict[str, Any]) -> bool:
    """Fix R9: drop a repeated item; a different item with the same id loses the id."""
    seen: dict[str, dict[str, Any]] = {}
    changed = False
    kept: list[Any] = []
    for item in as_array(body.get("input")):
        data = as_object(item)
        id = as_string(data.get("id"))
        if id and id in seen:
            changed = True
            if data == seen[id] or get_item_type(data) in ("reasoning", "item_reference"):
                continue
            item = {key: value for key, value in data.items() if key != "id"}
        elif id:
            seen[id] = data
        kept.append(item)
    body["input"] = kept if changed else body.get("input")
    return changed


def _drop_bare_items(body: dict[str, Any]) -> bool:
    """Fix R11: drop items that carry only an id."""
    if continues_stored(body):
        return False
    return _filter_items(body, lambda item: not _is_bare_item(item))


def _is_bare_item(item: dict[str, Any]) -> bool:
    kind = get_item_type(item)
    return kind == "item_reference" or (
        kind == "reasoning" and bool(item.get("id")) and not item.get("encrypted_content")
    )


def _fix_fields(body: dict[str, Any]) -> bool:
    """Fix R14: fields and tools in the form of Chat Completions."""
    changed = False
    if "input" in body and body.get("messages") is not None:
        del body["messages"]
        changed = True
    if (old := body.pop("response_format", None)) is not None:
        wanted = as_object(old)
        form = {"type": wanted.get("type"), **as_object(wanted.get("json_schema"))}
        body["text"] = {"format": form} | as_object(body.get("text"))
        changed = True
    for tool in map(as_object, as_array(body.get("tools"))):
        function = as_object(tool.get("function"))
        if tool.get("type") == "function" and function and not isinstance(tool.get("name"), str):
            del tool["function"]
            tool.update(function)
            changed = True
    return changed


def _find_late_results(body: dict[str, Any]) -> list[tuple[str, str]]:
    """Return where a result follows a user message that came after its call, with the call's id."""
    found: list[tuple[str, str]] = []
    waiting: set[str] = set()
    spoken_over: set[str] = set()
    for number, item in enumerate(_get_items(body)):
        kind, id = get_item_type(item), as_string(item.get("call_id"))
        if kind == "function_call":
            waiting.add(id)
        elif kind == "message" and item.get("role") == "user":
            spoken_over |= waiting
        elif kind == "function_call_output":
            found += [(f"item {number}", id)] if id in spoken_over else []
            waiting.discard(id)
            spoken_over.discard(id)
    return found


def _convert_chat_messages(body: Any) -> tuple[Any, list[RepairAction]]:
    """Return the body with messages of Chat Completions converted to items, and the changes."""
    key = "input" if "input" in as_object(body) else ""
    before = as_array(as_object(body).get("input")) if key else as_array(body)
    parts = [_convert_message(item) for item in before]
    places = [f"item {n}" for n, (item, made) in enumerate(zip(before, parts, strict=True)) if made != [item]]
    if not places:
        return body, []
    items = [item for made in parts for item in made]
    found = "a message of Chat Completions, with calls or a result"
    changes = [RepairAction("bad-item", where, found, "it becomes items of this API") for where in places]
    return ({**body, key: items} if key else items), changes


def _convert_message(message: Any) -> list[Any]:
    """Return a message of Chat Completions as items: its content, and each call or result."""
    data = as_object(message)
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
    calls = [(call, as_object(call.get("function"))) for call in map(as_object, as_array(data["tool_calls"]))]
    return [
        *([said] if said.get("content") else []),
        *({"type": "function_call", "call_id": call.get("id"), **function} for call, function in calls),
    ]


def _fix_shape(body: dict[str, Any]) -> bool:
    """Fix R0: drop tools that are no objects."""
    tools = body.get("tools")
    if tools is None:
        return False
    kept = [tool for tool in as_array(tools) if as_object(tool)]
    body["tools"] = kept
    return kept != tools


def _iter_names(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, tool in enumerate(map(as_object, as_array(body.get("tools")))):
        if tool.get("type") == "function":
            yield f"tool {index}", tool
    for index, item in enumerate(map(as_object, as_array(body.get("input")))):
        if item.get("type") == "function_call":
            yield f"item {index}", item
    if as_object(body.get("tool_choice")).get("type") == "function":
        yield "tool_choice", as_object(body.get("tool_choice"))


_FIXES = {
    "R0": (_fix_shape, "what is no tool is dropped"),
    "R5": (_drop_reasoning, "the reasoning is dropped"),
    "R6": (_drop_invalid_ids, "the id is left out"),
    "R7": (_drop_invalid_ids, "the id is left out"),
    "R9": (_drop_repeated_items, "the second one is dropped, or loses its id"),
    "R11": (_drop_bare_items, "the item is dropped"),
    "R14": (_fix_fields, "it is written as this API has it"),
}

FIXER = HistoryFixer(
    fixes=_FIXES,
    legal_name=re.compile(r"[A-Za-z0-9_-]{1,64}"),
    iter_names=_iter_names,
    convert=_convert_chat_messages,
    find_late_results=_find_late_results,
)
"""The fixes for histories of this API."""
