"""Mends for bodies of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, cast

from antiphon._json import dumps
from antiphon._shape import arr, obj, string

_THINKING = ("thinking", "redacted_thinking")
_TEXTS = ("input_text", "output_text", "text", "thinking")
_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_HOME = {"tool_use": "assistant", "tool_result": "user"}
_IN_RESULTS = ("text", "image", "document", "search_result", "tool_reference")
CONTINUE = "Continue."


def _messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [obj(message) for message in arr(body.get("messages"))]


def _blocks(body: dict[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    for message in _messages(body):
        yield from (obj(block) for block in arr(message.get("content")) if obj(block).get("type") == kind)


def _keep(messages: list[dict[str, Any]], wanted: Callable[[dict[str, Any]], bool]) -> bool:
    """Leave only the wanted blocks; a message in which nothing is left says so, for it parts two others."""
    changed = False
    for message in messages:
        blocks = arr(message.get("content"))
        kept = [block for block in blocks if wanted(obj(block))]
        if len(kept) < len(blocks):
            changed = True
            message["content"] = kept or [{"type": "text", "text": "(nothing was said)"}]
    return changed


def _drop_unsigned(body: dict[str, Any]) -> bool:
    """A17."""
    signed = {"thinking": "signature", "redacted_thinking": "data"}
    return _keep(_messages(body), lambda block: not (key := signed.get(block.get("type", ""))) or bool(block.get(key)))


def _drop_last_thinking(body: dict[str, Any]) -> bool:
    """A19."""
    last: list[dict[str, Any]] = []
    for message in reversed(_messages(body)):
        if message.get("role") != "assistant":
            break
        last.append(message)
    return _keep(last, lambda block: block.get("type") not in _THINKING)


def _stop_thinking(body: dict[str, Any]) -> bool:
    """A15 and A20: the API itself advises it."""
    return body.pop("thinking", None) is not None


def _strip_end(body: dict[str, Any]) -> bool:
    """A11."""
    last = _messages(body)[-1]
    if isinstance(last.get("content"), str):
        last["content"] = last["content"].rstrip() or "(nothing was said)"
        return True
    block = obj(arr(last.get("content"))[-1])
    block["text"] = string(block.get("text")).rstrip() or "(nothing was said)"
    return True


def _ask_to_go_on(body: dict[str, Any]) -> bool:
    """A12."""
    body["messages"].append({"role": "user", "content": CONTINUE})
    return True


def _move_system(body: dict[str, Any]) -> bool:
    """A13: system messages at the start are the system text; later ones become the user's."""
    messages = arr(body["messages"])
    count = next((n for n, each in enumerate(messages) if obj(each).get("role") != "system"), len(messages))
    said = [{"type": "text", "text": text} for each in messages[:count] for text in _texts(obj(each).get("content"))]
    if not said:
        return _say_as_user(body)
    before = body.get("system")
    listed = [{"type": "text", "text": before}] if isinstance(before, str) and before else arr(before)
    body["system"] = [*listed, *said]
    body["messages"] = messages[count:]
    return True


def begins_with_system(body: dict[str, Any]) -> bool:
    """Whether the first message is one of the system's."""
    return any(message.get("role") == "system" for message in _messages(body)[:1])


def _say_as_user(body: dict[str, Any]) -> bool:
    """A13, where there is no place for a system text."""
    found = [message for message in _messages(body) if message.get("role") == "system"]
    for message in found:
        message["role"] = "user"
    return bool(found)


def _texts(content: Any) -> list[str]:
    texts = [content] if isinstance(content, str) else [string(obj(block).get("text")) for block in arr(content)]
    return [text for text in texts if text.strip()]


def _mend_results(body: dict[str, Any]) -> bool:
    """A21 and A26: a result holds text and media, an error only text."""
    changed = False
    for block in _blocks(body, "tool_result"):
        content: Any = block.get("content")
        pieces = arr(content)
        if content is not None and not isinstance(content, str | list):
            block["content"] = dumps(content)
            changed = True
        failed = block.get("is_error") is True
        inner = [_in_result(obj(piece), failed) if obj(piece) else piece for piece in pieces]
        if inner != pieces:
            block["content"] = inner
            changed = True
    return changed


def _in_result(piece: dict[str, Any], failed: bool) -> dict[str, Any]:
    kind = string(piece.get("type"))
    if not kind or kind == "text" or (kind in _IN_RESULTS and not failed):
        return piece
    text = string(piece.get("text")) if kind in _TEXTS else "" if kind in _IN_RESULTS else dumps(piece)
    return {"type": "text", "text": text or f"[{kind}]"}


def _drop_server_results(body: dict[str, Any]) -> bool:
    """A22."""
    seen: set[str] = set()

    def wanted(block: dict[str, Any]) -> bool:
        if block.get("type") in _SERVER_CALLS:
            seen.add(string(block.get("id")))
        alone = string(block.get("type")).endswith("_tool_result") and block.get("tool_use_id") not in seen
        return not alone

    return _keep([message for message in _messages(body) if message.get("role") == "assistant"], wanted)


def _flatten_schemas(body: dict[str, Any]) -> bool:
    """A23: the properties of all alternatives are offered, none is required."""
    changed = False
    for tool in map(obj, arr(body.get("tools"))):
        schema = obj(tool.get("input_schema"))
        for word in ("anyOf", "oneOf", "allOf"):
            if word in schema:
                changed = True
                for variant in arr(schema.pop(word)):
                    schema["properties"] = obj(obj(variant).get("properties")) | obj(schema.get("properties"))
    return changed


def _marked(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What bears a mark for the cache, in the order of the prompt."""
    for block in map(obj, (*arr(body.get("tools")), *arr(body.get("system")))):
        if block.get("cache_control") is not None:
            yield block
    for message in _messages(body):
        for block in map(obj, arr(message.get("content"))):
            inner = [obj(piece) for piece in arr(block.get("content"))] if block.get("type") == "tool_result" else []
            yield from (each for each in (*inner, block) if each.get("cache_control") is not None)


def _drop_marks(body: dict[str, Any]) -> bool:
    """A24: the last marks cover the most."""
    marked = list(_marked(body))
    for block in marked[:-4]:
        del block["cache_control"]
    return len(marked) > 4


def _drop_empty_system(body: dict[str, Any]) -> bool:
    """A9, as far as it is about the system text."""
    system = arr(body.get("system"))
    kept = [block for block in system if string(obj(block).get("text")).strip() or "text" not in obj(block)]
    if len(kept) == len(system):
        return False
    body["system"] = kept
    if not kept:
        del body["system"]
    return True


def _mend_shape(body: dict[str, Any]) -> bool:
    """A0: blocks in messages of the wrong role, and tools that cannot be declared."""
    changed = False
    messages: list[Any] = []
    for message in arr(body.get("messages")):
        parts = _by_role(obj(message))
        changed = changed or len(parts) > 1 or (bool(parts) and parts[0] != message)
        messages += parts or [message]
    if changed:
        body["messages"] = messages
    return _mend_tools(body) or changed


def _by_role(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The message in pieces, so that each block is in a message of a role it may be in."""
    role = message.get("role")
    pieces: list[dict[str, Any]] = []
    for block in arr(message.get("content")):
        home = _HOME.get(string(obj(block).get("type")), role)
        if not pieces or pieces[-1]["role"] != home:
            pieces.append({**message, "role": home, "content": []})
        cast(list[Any], pieces[-1]["content"]).append(block)
    return pieces


def _mend_tools(body: dict[str, Any]) -> bool:
    if "tools" not in body:
        return False
    before = body["tools"]
    tools: list[Any] = []
    for tool in map(obj, arr(before)):
        own = tool.get("type") in (None, "custom")
        if not tool or (own and not string(tool.get("name"))):
            continue
        if own and obj(tool.get("input_schema")).get("type") != "object":
            tool = tool | {"input_schema": obj(tool.get("input_schema")) | {"type": "object"}}
        tools.append(tool)
    if tools == before:
        return False
    body["tools"] = tools
    return True


def _drop_server_calls(body: dict[str, Any]) -> bool:
    """A39: nobody can give the result any more."""
    messages = _messages(body)
    answered = {
        string(block.get("tool_use_id")) for message in messages for block in map(obj, arr(message.get("content")))
    }

    def wanted(block: dict[str, Any]) -> bool:
        return block.get("type") not in _SERVER_CALLS or string(block.get("id")) in answered

    # At the very end it waits, and so it does beside a call of the client: the API goes on from there.
    past = [
        message
        for message, after in pairwise(messages)
        if message.get("role") == "assistant"
        and not any(obj(block).get("type") == "tool_result" for block in arr(after.get("content")))
    ]
    return _keep(past, wanted)


def split_calls(body: dict[str, Any]) -> list[str]:
    """Return where the model speaks again before its calls are answered. The API joins the messages, others do not."""
    messages = _messages(body)
    return [
        f"message {index}"
        for index, (before, message) in enumerate(pairwise(messages), 1)
        if before.get("role") == message.get("role") == "assistant"
        and any(obj(block).get("type") == "tool_use" for block in arr(before.get("content")))
    ]


def split_results(body: dict[str, Any]) -> list[tuple[str, int]]:
    """Where the results of one turn are in more than one message, and in how many. The API joins them, others that
    speak it do not, and models learn from it to call one tool at a time."""
    found: list[tuple[str, int]] = []
    start, count = 0, 0
    for index, message in enumerate([*_messages(body), {}]):
        if message.get("role") != "user":
            found += [(f"message {start}", count)] if count > 1 else []
            count = 0
        elif any(obj(block).get("type") == "tool_result" for block in arr(message.get("content"))):
            start = start if count else index
            count += 1
    return found


def restore_marks(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Put the marks for the cache, which reading leaves out, back on the blocks that bore them."""
    marks = {dumps(_bare(block)): block["cache_control"] for block in _marked({"messages": old.get("messages")})}
    if not marks:
        return
    for message in _messages(new):
        for block in map(obj, arr(message.get("content"))):
            for each in (block, *map(obj, arr(block.get("content")))):
                if (mark := marks.get(dumps(_bare(each)))) is not None:
                    each["cache_control"] = mark


def _bare(block: dict[str, Any]) -> dict[str, Any]:
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    if isinstance(bare.get("content"), list):
        bare["content"] = [_bare(obj(piece)) if obj(piece) else piece for piece in arr(bare["content"])]
    return dict(sorted(bare.items()))


BARE = {"A13": (_say_as_user, "it becomes the user's: a list of messages has no place for a system text")}
MENDS = {
    "A0": (_mend_shape, "blocks go into messages of their own role, tools without a name or schema are put right"),
    "A9": (_drop_empty_system, "it is dropped"),
    "A11": (_strip_end, "the white space is removed"),
    "A12": (_ask_to_go_on, f"the user says {CONTINUE!r} behind it"),
    "A13": (_move_system, "it goes to the top-level `system`, or becomes the user's if it stands later"),
    "A15": (_stop_thinking, "`thinking` is left out of the request"),
    "A17": (_drop_unsigned, "the thinking is dropped: without its signature nobody takes it"),
    "A19": (_drop_last_thinking, "it is dropped"),
    "A20": (_stop_thinking, "`thinking` is left out of the request"),
    "A21": (_mend_results, "what is no text becomes a line of text"),
    "A22": (_drop_server_results, "it is dropped"),
    "A23": (_flatten_schemas, "the properties of all alternatives are offered, none is required"),
    "A24": (_drop_marks, "the last four marks stay"),
    "A26": (_mend_results, "it becomes text"),
    "A39": (_drop_server_calls, "it is dropped: nobody can give its result any more"),
}
