"""Fixes for bodies of Anthropic's Messages API."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, cast

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.formats.fixes import CONTINUE_TEXT, HistoryFixer
from antiphon.wire.anthropic import SPEC
from antiphon.wire.rules import Violation, check

_THINKING_TYPES = ("thinking", "redacted_thinking")
_TEXT_TYPES = ("input_text", "output_text", "text", "thinking")
_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_ROLE_OF_BLOCK = {"tool_use": "assistant", "tool_result": "user"}
_ALLOWED_IN_RESULT = ("text", "image", "document", "search_result", "tool_reference")


def _get_messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [as_object(message) for message in as_array(body.get("messages"))]


def _iter_blocks(body: dict[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    for message in _get_messages(body):
        yield from (
            as_object(block) for block in as_array(message.get("content")) if as_object(block).get("type") == kind
        )


def _filter_blocks(messages: list[dict[str, Any]], wanted: Callable[[dict[str, Any]], bool]) -> bool:
    """Keep only the wanted blocks. An emptied message gets a filler text, because it separates two others."""
    changed = False
    for message in messages:
        blocks = as_array(message.get("content"))
        kept = [block for block in blocks if wanted(as_object(block))]
        if len(kept) < len(blocks):
            changed = True
            message["content"] = kept or [{"type": "text", "text": "(nothing was said)"}]
    return changed


def _drop_unsigned_thinking(body: dict[str, Any]) -> bool:
    """Fix A17: drop thinking without a signature."""
    signed = {"thinking": "signature", "redacted_thinking": "data"}
    return _filter_blocks(
        _get_messages(body), lambda block: not (key := signed.get(as_string(block.get("type")))) or bool(block.get(key))
    )


def _drop_final_thinking(body: dict[str, Any]) -> bool:
    """Fix A19: drop thinking from the final assistant message."""
    last: list[dict[str, Any]] = []
    for message in reversed(_get_messages(body)):
        if message.get("role") != "assistant":
            break
        last.append(message)
    return _filter_blocks(last, lambda block: block.get("type") not in _THINKING_TYPES)


def _disable_thinking(body: dict[str, Any]) -> bool:
    """Fix A15 and A20: turn thinking off, as the API advises."""
    return body.pop("thinking", None) is not None


def _strip_trailing_space(body: dict[str, Any]) -> bool:
    """Fix A11: strip white space at the end of the final assistant message."""
    last = _get_messages(body)[-1]
    if isinstance(last.get("content"), str):
        last["content"] = last["content"].rstrip() or "(nothing was said)"
        return True
    block = as_object(as_array(last.get("content"))[-1])
    block["text"] = as_string(block.get("text")).rstrip() or "(nothing was said)"
    return True


def _append_continue(body: dict[str, Any]) -> bool:
    """Fix A12: append a user message that asks to continue."""
    body["messages"].append({"role": "user", "content": CONTINUE_TEXT})
    return True


def _move_system_messages(body: dict[str, Any]) -> bool:
    """Fix A13: leading system messages become the system text, later ones user messages."""
    messages = as_array(body["messages"])
    count = next((n for n, each in enumerate(messages) if as_object(each).get("role") != "system"), len(messages))
    said = [
        {"type": "text", "text": text}
        for each in messages[:count]
        for text in _extract_texts(as_object(each).get("content"))
    ]
    if not said:
        return _convert_system_to_user(body)
    before = body.get("system")
    listed = [{"type": "text", "text": before}] if isinstance(before, str) and before else as_array(before)
    body["system"] = [*listed, *said]
    body["messages"] = messages[count:]
    return True


def _convert_system_to_user(body: dict[str, Any]) -> bool:
    """Fix A13 if the body has no place for a system text."""
    found = [message for message in _get_messages(body) if message.get("role") == "system"]
    for message in found:
        message["role"] = "user"
    return bool(found)


def _extract_texts(content: Any) -> list[str]:
    texts = (
        [content]
        if isinstance(content, str)
        else [as_string(as_object(block).get("text")) for block in as_array(content)]
    )
    return [text for text in texts if text.strip()]


def _fix_results(body: dict[str, Any]) -> bool:
    """Fix A21 and A26: a result holds text and media, an error only text."""
    changed = False
    for block in _iter_blocks(body, "tool_result"):
        content: Any = block.get("content")
        pieces = as_array(content)
        if content is not None and not isinstance(content, str | list):
            block["content"] = dump_json(content)
            changed = True
        failed = block.get("is_error") is True
        inner = [_fix_result_block(as_object(piece), failed) if as_object(piece) else piece for piece in pieces]
        if inner != pieces:
            block["content"] = inner
            changed = True
    return changed


def _fix_result_block(piece: dict[str, Any], failed: bool) -> dict[str, Any]:
    kind = as_string(piece.get("type"))
    if not kind or kind == "text" or (kind in _ALLOWED_IN_RESULT and not failed):
        return piece
    text = (
        as_string(piece.get("text")) if kind in _TEXT_TYPES else "" if kind in _ALLOWED_IN_RESULT else dump_json(piece)
    )
    return {"type": "text", "text": text or f"[{kind}]"}


def _drop_orphan_server_results(body: dict[str, Any]) -> bool:
    """Fix A22: drop results of server tools without their call."""
    seen: set[str] = set()

    def wanted(block: dict[str, Any]) -> bool:
        if block.get("type") in _SERVER_CALLS:
            seen.add(as_string(block.get("id")))
        alone = as_string(block.get("type")).endswith("_tool_result") and block.get("tool_use_id") not in seen
        return not alone

    return _filter_blocks([message for message in _get_messages(body) if message.get("role") == "assistant"], wanted)


def _flatten_schemas(body: dict[str, Any]) -> bool:
    """Fix A23: declare the properties of all alternatives, none of them required."""
    changed = False
    for tool in map(as_object, as_array(body.get("tools"))):
        schema = as_object(tool.get("input_schema"))
        for word in ("anyOf", "oneOf", "allOf"):
            if word in schema:
                changed = True
                for variant in as_array(schema.pop(word)):
                    schema["properties"] = as_object(as_object(variant).get("properties")) | as_object(
                        schema.get("properties")
                    )
    return changed


def _iter_marked_blocks(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the blocks with a cache mark, in the order of the prompt."""
    for block in map(as_object, (*as_array(body.get("tools")), *as_array(body.get("system")))):
        if block.get("cache_control") is not None:
            yield block
    for message in _get_messages(body):
        for block in map(as_object, as_array(message.get("content"))):
            inner = (
                [as_object(piece) for piece in as_array(block.get("content"))]
                if block.get("type") == "tool_result"
                else []
            )
            yield from (each for each in (*inner, block) if each.get("cache_control") is not None)


def _drop_extra_marks(body: dict[str, Any]) -> bool:
    """Fix A24: keep the last marks, which cover the most."""
    marked = list(_iter_marked_blocks(body))
    for block in marked[:-4]:
        del block["cache_control"]
    return len(marked) > 4


def _drop_empty_system(body: dict[str, Any]) -> bool:
    """Fix A9 for the system text."""
    system = as_array(body.get("system"))
    kept = [
        block for block in system if as_string(as_object(block).get("text")).strip() or "text" not in as_object(block)
    ]
    if len(kept) == len(system):
        return False
    body["system"] = kept
    if not kept:
        del body["system"]
    return True


def _fix_shape(body: dict[str, Any]) -> bool:
    """Fix A0: blocks in messages of the wrong role, and tools that cannot be declared."""
    changed = False
    messages: list[Any] = []
    for message in as_array(body.get("messages")):
        parts = _split_by_role(as_object(message))
        changed = changed or len(parts) > 1 or (bool(parts) and parts[0] != message)
        messages += parts or [message]
    if changed:
        body["messages"] = messages
    return _fix_tools(body) or changed


def _split_by_role(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the message split so that each block is in a message of an allowed role."""
    role = message.get("role")
    pieces: list[dict[str, Any]] = []
    for block in as_array(message.get("content")):
        home = _ROLE_OF_BLOCK.get(as_string(as_object(block).get("type")), role)
        if not pieces or pieces[-1]["role"] != home:
            pieces.append({**message, "role": home, "content": []})
        cast(list[Any], pieces[-1]["content"]).append(block)
    return pieces


def _fix_tools(body: dict[str, Any]) -> bool:
    if "tools" not in body:
        return False
    before = body["tools"]
    tools: list[Any] = []
    for tool in map(as_object, as_array(before)):
        own = tool.get("type") in (None, "custom")
        if not tool or (own and not as_string(tool.get("name"))):
            continue
        if own and as_object(tool.get("input_schema")).get("type") != "object":
            tool = tool | {"input_schema": as_object(tool.get("input_schema")) | {"type": "object"}}
        tools.append(tool)
    if tools == before:
        return False
    body["tools"] = tools
    return True


def _drop_unanswered_server_calls(body: dict[str, Any]) -> bool:
    """Fix A39: drop server calls that can no longer get a result."""
    messages = _get_messages(body)
    answered = {
        as_string(block.get("tool_use_id"))
        for message in messages
        for block in map(as_object, as_array(message.get("content")))
    }

    def wanted(block: dict[str, Any]) -> bool:
        return block.get("type") not in _SERVER_CALLS or as_string(block.get("id")) in answered

    # At the very end, and beside a client's call, it is only pending: the API continues from there.
    past = [
        message
        for message, after in pairwise(messages)
        if message.get("role") == "assistant"
        and not any(as_object(block).get("type") == "tool_result" for block in as_array(after.get("content")))
    ]
    return _filter_blocks(past, wanted)


def _find_split_calls(body: dict[str, Any]) -> list[str]:
    """Return where the model speaks again before its calls are answered. The API joins such messages."""
    messages = _get_messages(body)
    return [
        f"message {index}"
        for index, (before, message) in enumerate(pairwise(messages), 1)
        if before.get("role") == message.get("role") == "assistant"
        and any(as_object(block).get("type") == "tool_use" for block in as_array(before.get("content")))
    ]


def _find_split_results(body: dict[str, Any]) -> list[tuple[str, int]]:
    """Return where the results of one turn are in several messages, and in how many.

    The API joins them, but compatible servers do not, and models learn from it to call one tool at a
    time.
    """
    found: list[tuple[str, int]] = []
    start, count = 0, 0
    for index, message in enumerate([*_get_messages(body), {}]):
        if message.get("role") != "user":
            found += [(f"message {start}", count)] if count > 1 else []
            count = 0
        elif any(as_object(block).get("type") == "tool_result" for block in as_array(message.get("content"))):
            start = start if count else index
            count += 1
    return found


def _restore_cache_marks(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Put the cache marks, which reading drops, back on their blocks."""
    marks = {
        dump_json(_strip_mark(block)): block["cache_control"]
        for block in _iter_marked_blocks({"messages": old.get("messages")})
    }
    if not marks:
        return
    for message in _get_messages(new):
        for block in map(as_object, as_array(message.get("content"))):
            for each in (block, *map(as_object, as_array(block.get("content")))):
                if (mark := marks.get(dump_json(_strip_mark(each)))) is not None:
                    each["cache_control"] = mark


def _strip_mark(block: dict[str, Any]) -> dict[str, Any]:
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    if isinstance(bare.get("content"), list):
        bare["content"] = [
            _strip_mark(as_object(piece)) if as_object(piece) else piece for piece in as_array(bare["content"])
        ]
    return dict(sorted(bare.items()))


def _iter_names(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, tool in enumerate(map(as_object, as_array(body.get("tools")))):
        if "input_schema" in tool:
            yield f"tool {index}", tool
    for index, message in enumerate(map(as_object, as_array(body.get("messages")))):
        for block in map(as_object, as_array(message.get("content"))):
            if block.get("type") == "tool_use":
                yield f"message {index}", block
    yield "tool_choice", as_object(body.get("tool_choice"))


def _complete_request(body: dict[str, Any]) -> dict[str, Any]:
    return {"max_tokens": 1} | ({} if "max_tokens" in body else {"thinking": {"type": "adaptive"}})


def _check_strictly(body: dict[str, Any], provider: str | None) -> list[Violation]:
    """Return violations of A13: only the newest models take system messages."""
    if not any(message.get("role") == "system" for message in _get_messages(body)[:1]):
        return []
    request = {"model": "unknown"} | _complete_request(body) | body
    return [each for each in check(request, SPEC.name, "claude-opus-4-5", provider=provider) if each.code == "A13"]


_LIST_FIXES = {
    "A13": (_convert_system_to_user, "it becomes the user's: a list of messages has no place for a system text")
}
_FIXES = {
    "A0": (_fix_shape, "blocks go into messages of their own role, tools without a name or schema are put right"),
    "A9": (_drop_empty_system, "it is dropped"),
    "A11": (_strip_trailing_space, "the white space is removed"),
    "A12": (_append_continue, f"the user says {CONTINUE_TEXT!r} behind it"),
    "A13": (_move_system_messages, "it goes to the top-level `system`, or becomes the user's if it stands later"),
    "A15": (_disable_thinking, "`thinking` is left out of the request"),
    "A17": (_drop_unsigned_thinking, "the thinking is dropped: without its signature nobody takes it"),
    "A19": (_drop_final_thinking, "it is dropped"),
    "A20": (_disable_thinking, "`thinking` is left out of the request"),
    "A21": (_fix_results, "what is no text becomes a line of text"),
    "A22": (_drop_orphan_server_results, "it is dropped"),
    "A23": (_flatten_schemas, "the properties of all alternatives are offered, none is required"),
    "A24": (_drop_extra_marks, "the last four marks stay"),
    "A26": (_fix_results, "it becomes text"),
    "A39": (_drop_unanswered_server_calls, "it is dropped: nobody can give its result any more"),
}

FIXER = HistoryFixer(
    fixes=_FIXES,
    list_fixes=_LIST_FIXES,
    legal_name=re.compile(r"[A-Za-z0-9_-]{1,128}"),
    iter_names=_iter_names,
    find_split_results=_find_split_results,
    find_split_calls=_find_split_calls,
    complete=_complete_request,
    check_strictly=_check_strictly,
    restore_marks=_restore_cache_marks,
)
"""The fixes for histories of this API."""
