"""Checks of the messages of a Messages request; the rules A1 to A26 and those of version 2026-10-21."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from tests.referees.anthropic_settings import EXTRA
from tests.referees.anthropic_tables import CLEAR_AT, COMPACT, EFFORT_CHANGE, EFFORT_ENTRY, INLINE_TOOLS, TOOL_CHANGE
from tests.referees.refusal import Refusal, refuse_unless

USER_BLOCKS = {
    "text",
    "image",
    "document",
    "search_result",
    "tool_result",
    "container_upload",
    "tool_reference",
    "browser_state",
}
ASSISTANT_BLOCKS = {
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "server_tool_use",
    "mcp_tool_use",
    "mcp_tool_result",
    "compaction",
    "fallback",
    "container_upload",
    "mcp_tool_listing",
    "advisor_tool_result",
    "document",
    "image",
    "tool_addition",
    "tool_removal",
}
SERVER_RESULT = re.compile(r"^(\w+)_tool_result$")


def get_blocks(content: Any) -> list[Any]:
    """Return content as a list of blocks; a string is one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def check_messages(
    body: Mapping[str, Any], name: str, model: Mapping[str, Any], betas: Collection[str] | None, version: str
) -> None:
    """Raise a Refusal for messages that the API refuses."""
    messages = body.get("messages")
    refuse_unless(isinstance(messages, list) and messages, "messages: at least one message is required")
    assert isinstance(messages, list)
    declared = {str(tool.get("name")) for tool in body.get("tools") or ()}
    for at, message in enumerate(messages):
        role = message.get("role")
        if role == "system":
            _check_system(at, messages, name, model, betas, declared)
            between = (body.get("thinking") or {}).get("type") == "between_tools" and message.get("output_config")
            words = f"messages.{at}.output_config: effort cannot change under thinking.type between_tools"
            refuse_unless(not between, words)
        elif role == "user":
            _check_user(at, message, version)
        elif role == "assistant":
            _check_assistant(at, message, at == len(messages) - 1, version, betas)
        else:
            raise Refusal(f"messages.{at}.role: Input should be 'user' or 'assistant'")
    _check_pairs(messages)
    _check_end(body, messages, model)


def _check_system(
    at: int, messages: list[Any], name: str, model: Mapping[str, Any], betas: Collection[str] | None, declared: set[str]
) -> None:
    message = messages[at]
    where = f"messages.{at}"
    if model["system"] == "no":
        raise Refusal(f"{where}: role 'system' is not supported on this model")
    before = messages[at - 1]["role"] if at else ""
    refuse_unless(before in ("user", "system"), f"{where}: a system message must follow a user message")
    for each in message:
        refuse_unless(each in ("role", "content", "clear_at", "output_config"), f"{where}.{each}: {EXTRA}")
    if "clear_at" in message:
        _need(f"{where}.clear_at", CLEAR_AT, betas)
    config = message.get("output_config")
    if config is not None:
        _need(f"{where}.output_config", EFFORT_CHANGE, betas)
        refuse_unless(name in EFFORT_ENTRY, f"{where}.output_config: not supported on {name}")
        refuse_unless(set(config) <= {"effort"}, f"{where}.output_config: {EXTRA}")
    blocks = get_blocks(message.get("content"))
    refuse_unless(blocks or config, f"{where}: a system message needs content or output_config")
    for number, block in enumerate(blocks):
        _check_system_block(f"{where}.content.{number}", block, model, betas, declared)


def _check_system_block(
    where: str, block: Mapping[str, Any], model: Mapping[str, Any], betas: Collection[str] | None, declared: set[str]
) -> None:
    kind = block.get("type")
    if kind == "text":
        return _check_text(block, where)
    refuse_unless(
        kind in ("tool_addition", "tool_removal"), f"{where}: Input tag '{kind}' found using 'type' is not expected"
    )
    refuse_unless(model["system"] == "yes", f"{where}: tool changes are not supported on this model")
    _need(where, TOOL_CHANGE, betas, INLINE_TOOLS)
    tool = block.get("tool") or {}
    if tool.get("type") == "tool_definition":
        refuse_unless(kind == "tool_addition", f"{where}.tool: a removal takes a reference only")
        _need(f"{where}.tool", INLINE_TOOLS, betas)
        definition = tool.get("definition") or {}
        refuse_unless(
            definition.get("name") and "input_schema" in definition, f"{where}.tool.definition: Field required"
        )
        declared.add(str(definition["name"]))
    elif tool.get("type") == "tool_reference":
        refuse_unless(tool.get("name") in declared, f"{where}.tool: references unknown tool '{tool.get('name')}'")
    return None


def _need(where: str, beta: str, betas: Collection[str] | None, other: str = "") -> None:
    refuse_unless(betas is None or beta in betas or other in betas, f"{where}: {EXTRA}")


def _check_text(block: Mapping[str, Any], where: str) -> None:
    text = block.get("text")
    refuse_unless(isinstance(text, str), f"{where}.text.text: Field required")
    refuse_unless(text, "messages: text content blocks must be non-empty")
    refuse_unless(str(text).strip(), "messages: text content blocks must contain non-whitespace text")


def _check_user(at: int, message: Mapping[str, Any], version: str) -> None:
    refuse_unless(set(message) <= {"role", "content"}, f"messages.{at}: {EXTRA}")
    blocks = get_blocks(message.get("content"))
    words = f"messages.{at}: all messages must have non-empty content except for the optional final assistant message"
    refuse_unless(blocks, words)
    for number, block in enumerate(blocks):
        where = f"messages.{at}.content.{number}"
        kind = block.get("type")
        words = f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
        refuse_unless(kind in USER_BLOCKS, words)
        if kind == "text":
            _check_text(block, where)
            cited = version == "2026-10-21" and block.get("citations")
            refuse_unless(not cited, f"{where}.text.citations: citations are not allowed in user messages")
        elif kind == "tool_result":
            _check_result(block, where)


def _check_result(block: Mapping[str, Any], where: str) -> None:
    content = block.get("content")
    shaped = content is None or isinstance(content, str | list)
    refuse_unless(shaped, f"{where}.tool_result.content: Input should be a valid string or list")
    for each in content if isinstance(content, list) else ():
        kind = each.get("type")
        known = ("text", "image", "document", "search_result", "tool_reference", "browser_state")
        refuse_unless(kind in known, f"{where}.tool_result.content: Input tag '{kind}' is not expected")
        plain = not block.get("is_error") or kind == "text"
        refuse_unless(plain, f"{where}.tool_result: all content must be type `text` if `is_error` is true")
        if kind == "text":
            _check_text(each, where)


def _check_assistant(
    at: int, message: Mapping[str, Any], is_last: bool, version: str, betas: Collection[str] | None
) -> None:
    refuse_unless(set(message) <= {"role", "content"}, f"messages.{at}: {EXTRA}")
    blocks = get_blocks(message.get("content"))
    words = f"messages.{at}: all messages must have non-empty content except for the optional final assistant message"
    refuse_unless(blocks or is_last, words)
    for number, block in enumerate(blocks):
        where = f"messages.{at}.content.{number}"
        kind = str(block.get("type"))
        known = kind in ASSISTANT_BLOCKS or SERVER_RESULT.match(kind)
        refuse_unless(known, f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags")
        refuse_unless(
            kind != "document" or version != "2026-10-21",
            f"{where}: document blocks are not allowed in assistant messages",
        )
        if kind == "text":
            _check_text(block, where)
        elif kind == "tool_use":
            _check_use(block, where)
        elif kind == "compaction":
            _need(where, COMPACT[0], betas, COMPACT[1])
        elif kind == "thinking":
            refuse_unless("signature" in block, f"{where}.thinking.signature: Field required")
            refuse_unless("thinking" in block, f"{where}.thinking.thinking: Field required")


def _check_use(block: Mapping[str, Any], where: str) -> None:
    pattern = re.fullmatch(r"[a-zA-Z0-9_-]+", str(block.get("id", "")))
    refuse_unless(pattern, f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    refuse_unless(block.get("name"), f"{where}.tool_use.name: String should have at least 1 character")
    refuse_unless(
        isinstance(block.get("input"), Mapping), f"{where}.tool_use.input: Input should be a valid dictionary"
    )


def _merge(messages: list[Any]) -> list[tuple[int, str, list[Any]]]:
    """Return runs of messages of one role, as the API joins them."""
    runs: list[tuple[int, str, list[Any]]] = []
    for at, message in enumerate(messages):
        blocks = get_blocks(message.get("content"))
        if runs and runs[-1][1] == message["role"]:
            runs[-1][2].extend(blocks)
        else:
            runs.append((at, message["role"], list(blocks)))
    return runs


def _check_pairs(messages: list[Any]) -> None:
    runs = _merge(messages)
    used: set[str] = set()
    for place, (at, role, blocks) in enumerate(runs):
        before = runs[place - 1] if place else None
        calls = _get_uses(before[2]) if before and before[1] == "assistant" else []
        if role == "user":
            _check_results(at, blocks, calls)
        if role == "assistant":
            for number, block in enumerate(blocks):
                if block.get("type") == "tool_use":
                    refuse_unless(
                        block["id"] not in used, f"messages.{at}.content.{number}: `tool_use` ids must be unique"
                    )
                    used.add(block["id"])
            _check_server_pairs(at, blocks, runs[place + 1 :])
        if role != "user" and calls:
            raise Refusal(_word_missing(before[0] if before else at, calls))
    if runs[-1][1] == "assistant" and (calls := _get_uses(runs[-1][2])):
        raise Refusal(_word_missing(runs[-1][0], calls))


def _get_uses(blocks: list[Any]) -> list[str]:
    return [block["id"] for block in blocks if block.get("type") == "tool_use"]


def _word_missing(at: int, calls: list[str]) -> str:
    return (
        f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(calls)}. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def _check_results(at: int, blocks: list[Any], calls: list[str]) -> None:
    answered: list[str] = []
    for number, block in enumerate(blocks):
        if block.get("type") != "tool_result":
            continue
        where, found = f"messages.{at}.content.{number}", str(block.get("tool_use_id"))
        if found not in calls:
            raise Refusal(
                f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {found}. Each `tool_result` "
                "block must have a corresponding `tool_use` block in the previous message."
            )
        words = (
            f"{where}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {found}"
        )
        refuse_unless(found not in answered, words)
        answered.append(found)
    missing = [each for each in calls if each not in answered]
    refuse_unless(not missing, _word_missing(at - 1, missing))
    leading = [block.get("type") == "tool_result" for block in blocks[: len(answered)]]
    refuse_unless(all(leading), _word_missing(at - 1, calls))


def _check_server_pairs(at: int, blocks: list[Any], after: list[tuple[int, str, list[Any]]]) -> None:
    open_calls: set[str] = set()
    for number, block in enumerate(blocks):
        kind = str(block.get("type"))
        if kind in ("server_tool_use", "mcp_tool_use"):
            open_calls.add(str(block.get("id")))
        elif SERVER_RESULT.match(kind):
            found = str(block.get("tool_use_id"))
            if found not in open_calls:
                raise Refusal(
                    f"messages.{at}.content.{number}: unexpected `tool_use_id` found in `{kind}` blocks: {found}. "
                    f"Each `{kind}` block must have a corresponding `server_tool_use` block before it."
                )
            open_calls.discard(found)
    follow = after[0][2] if after else []
    speaks = any(block.get("type") != "tool_result" for block in follow)
    words = f"messages.{at}: `server_tool_use` ids without a result block, and content follows: {sorted(open_calls)}"
    refuse_unless(not (open_calls and speaks), words)


def _check_end(body: Mapping[str, Any], messages: list[Any], model: Mapping[str, Any]) -> None:
    thinking = (body.get("thinking") or {}).get("type")
    turns = [(at, message) for at, message in enumerate(messages) if message["role"] == "assistant"]
    last = messages[-1]
    if last["role"] == "assistant":
        blocks = get_blocks(last.get("content"))
        paused = any(block.get("type") in ("server_tool_use", "mcp_tool_use", "compaction") for block in blocks)
        if not paused:
            words = (
                "This model does not support assistant message prefill. The conversation must end with a user message."
            )
            refuse_unless(model["prefill"], words)
            form = (body.get("output_config") or {}).get("format")
            refuse_unless(not form, "Prefill is not supported with output_config.format.")
            text = blocks[-1].get("text", "") if blocks else ""
            words = "messages: final assistant content cannot end with trailing whitespace"
            refuse_unless(text == text.rstrip(), words)
            off = thinking == "disabled" or (thinking is None and model["default"] == "off")
            thinks = off and any(block.get("type") == "thinking" for block in blocks)
            at = len(messages) - 1
            words = (
                f"messages.{at}.content.0: When thinking is disabled, an `assistant` message in the final "
                "position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your request."
            )
            refuse_unless(not thinks, words)
    if thinking == "enabled" and "adaptive" not in model["kinds"] and turns:
        _check_loop(turns[-1], messages)


def _check_loop(turn: tuple[int, Mapping[str, Any]], messages: list[Any]) -> None:
    """Refuse a tool loop under budget thinking whose last assistant turn does not begin with thinking (A15)."""
    at, message = turn
    blocks = get_blocks(message.get("content"))
    loops = any(block.get("type") == "tool_use" for block in blocks)
    start = blocks[0].get("type") if blocks else ""
    # Within one loop only the first assistant message after the user's words must begin with thinking.
    first = at
    for place in range(at, -1, -1):
        role, content = messages[place]["role"], get_blocks(messages[place].get("content"))
        if role == "user" and not any(block.get("type") == "tool_result" for block in content):
            break
        if role == "assistant":
            first = place
    start = get_blocks(messages[first].get("content"))[0].get("type")
    if loops and start not in ("thinking", "redacted_thinking"):
        raise Refusal(
            f"messages.{first}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{start}`. "
            "When `thinking` is enabled, a final `assistant` message must start with a thinking block."
        )
