"""Rules of Anthropic's Messages API.

The API joins adjacent messages of one role before it checks the pairing (A14), so these rules are
about turns. A body does not show whether thinking was altered or moved (A16, A18) or a signature is
genuine (A17): only a server with memory can check that. A25 is no longer a rule of the native API.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.wire.rules.anthropic_betas import find_beta_violations
from antiphon.wire.rules.anthropic_cache import find_anthropic_cache_violations
from antiphon.wire.rules.anthropic_options import find_anthropic_option_violations
from antiphon.wire.rules.anthropic_schema import find_anthropic_schema_violations
from antiphon.wire.rules.anthropic_server_tools import find_server_tool_violations, is_paused_turn
from antiphon.wire.rules.anthropic_shape import find_anthropic_shape_violations
from antiphon.wire.rules.anthropic_system_messages import find_system_message_violations
from antiphon.wire.rules.json_access import get_type_tag, is_json_array, is_json_dict
from antiphon.wire.rules.subject import CheckSubject
from antiphon.wire.rules.violation import Violation

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_THINKING_TYPES = ("thinking", "redacted_thinking")
_CONTENT_TYPES = ("text", "image", "document")
_FORBIDDEN_IN_RESULT = frozenset(
    [
        "tool_use",
        "tool_result",
        "server_tool_use",
        "thinking",
        "redacted_thinking",
        "input_text",
        "input_image",
        "input_file",
        "output_text",
        "image_url",
        "input_audio",
        "file",
    ]
)


@dataclass(frozen=True, slots=True)
class AnthropicBlock:
    """A content block and its location. String content counts as one text block."""

    message: int
    path: str
    type: str
    data: dict[str, object]


@dataclass(slots=True)
class AnthropicTurn:
    """Adjacent messages of one role, as the API joins them."""

    role: str
    blocks: list[AnthropicBlock] = field(default_factory=lambda: list[AnthropicBlock]())

    def ids(self, type_: str, key: str) -> dict[str, AnthropicBlock]:
        """Return the first block of `type_` for every id under `key`."""
        found: dict[str, AnthropicBlock] = {}
        for block in self.blocks:
            if block.type == type_ and isinstance(block.data.get(key), str):
                found.setdefault(as_string(block.data[key]), block)
        return found


def violations(body: object, model: str, subject: CheckSubject) -> Iterator[Violation]:
    """Yield the violations that the Messages API would report for `body`."""
    request = as_object(body)
    turns = _group_turns(request)
    blocks = [block for turn in turns for block in turn.blocks]
    yield from find_anthropic_shape_violations(body, has_model=bool(model))
    yield from find_system_message_violations(request, subject)
    yield from _check_empty_messages(request)
    for block in blocks:
        yield from _check_block(block)
    yield from _check_blank_messages(request)
    for turn in turns:
        yield from _check_unique_ids(turn.blocks)
    yield from _check_server_pairs(turns)
    for before, turn in zip([None, *turns], turns, strict=False):
        yield from _check_orphans(before, turn)
    for turn, after in zip(turns, [*turns[1:], None], strict=False):
        yield from _check_unanswered(turn, after)
    yield from _check_ending(request, turns, subject)
    yield from _check_thinking(request, turns, subject)
    yield from _check_tools(request)
    yield from _check_system(request)
    yield from find_anthropic_cache_violations(request, subject)
    yield from find_anthropic_option_violations(request, subject)
    yield from find_anthropic_schema_violations(request, subject)
    yield from find_server_tool_violations(request, turns, subject)
    yield from find_beta_violations(request, subject)


def _group_turns(request: dict[str, object]) -> list[AnthropicTurn]:
    # System messages do not separate a call from its result.
    turns: list[AnthropicTurn] = []
    for index, message in enumerate(as_array(request.get("messages"))):
        role = as_string(as_object(message).get("role"))
        if role not in ("user", "assistant"):
            continue
        if not turns or turns[-1].role != role:
            turns.append(AnthropicTurn(role))
        turns[-1].blocks.extend(_iter_blocks(index, as_object(message).get("content")))
    return turns


def _iter_blocks(message: int, content: object) -> Iterator[AnthropicBlock]:
    path = f"messages.{message}.content"
    if isinstance(content, str) and content:
        yield AnthropicBlock(message, path, "text", {"text": content})
    for index, block in enumerate(as_array(content)):
        yield AnthropicBlock(message, f"{path}.{index}", get_type_tag(block), as_object(block))


def _check_empty_messages(request: dict[str, object]) -> Iterator[Violation]:
    """Yield violations of A10: messages without content."""
    messages = as_array(request.get("messages"))
    for index, message in enumerate(messages):
        last = index == len(messages) - 1 and as_object(message).get("role") == "assistant"
        # A message that only changes the effort has no content.
        says_nothing = as_object(message).get("role") == "system" and is_json_dict(
            as_object(message).get("output_config")
        )
        if not last and not says_nothing and as_object(message).get("content") in ("", []):
            path = f"messages.{index}"
            text = f"{path}: all messages must have non-empty content except for the optional final assistant message"
            yield Violation("A10", text, path)


def _check_block(block: AnthropicBlock) -> Iterator[Violation]:
    match block.type:
        case "text":
            yield from _check_empty_text(block.data, block.path, "messages")
        case "tool_use":
            yield from _check_call(block)
        case "tool_result":
            yield from _check_result(block)
        case "thinking" if "signature" not in block.data:
            path = f"{block.path}.thinking.signature"
            yield Violation("A17", f"{path}: Field required", path)
        case "thinking" if block.data["signature"] == "":
            yield Violation("A17", f"{block.path}: Invalid `signature` in `thinking` block", block.path)
        case _:
            pass


def _check_empty_text(data: dict[str, object], path: str, where: str) -> Iterator[Violation]:
    """Yield violations of A9: empty text blocks."""
    if data.get("text") == "":
        yield Violation("A9", f"{where}: text content blocks must be non-empty", path)


def _check_blank_content(content: Sequence[object], path: str, where: str) -> Iterator[Violation]:
    # A9. Models write white space between thinking and calls; the API accepts it beside other content.
    texts = [as_string(as_object(block).get("text")) if get_type_tag(block) == "text" else "x" for block in content]
    if texts and all(text.isspace() for text in texts):
        yield Violation("A9", f"{where}: text content blocks must contain non-whitespace text", path)


def _check_blank_messages(request: dict[str, object]) -> Iterator[Violation]:
    for index, message in enumerate(as_array(request.get("messages"))):
        content = as_object(message).get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else as_array(content)
        yield from _check_blank_content(blocks, f"messages.{index}.content", "messages")


def _check_call(block: AnthropicBlock) -> Iterator[Violation]:
    path = f"{block.path}.tool_use"
    yield from _check_id(block.data.get("id"), f"{path}.id")
    if "input" in block.data and not is_json_dict(block.data["input"]):
        yield Violation("A7", f"{path}.input: Input should be a valid dictionary", f"{path}.input")
    yield from _check_name(block.data.get("name"), f"{path}.name", 200)


def _check_name(name: object, path: str, most: int) -> Iterator[Violation]:
    """Yield violations of A8: illegal tool names."""
    if name == "":
        yield Violation("A8", f"{path}: String should have at least 1 character", path)
    elif isinstance(name, str) and not (len(name) <= most and _ID.fullmatch(name)):
        yield Violation("A8", f"{path}: String should match pattern '^[a-zA-Z0-9_-]{{1,{most}}}$'", path)


def _check_id(value: object, path: str) -> Iterator[Violation]:
    """Yield violations of A6: illegal call ids."""
    if isinstance(value, str) and not _ID.fullmatch(value):
        yield Violation("A6", f"{path}: String should match pattern '^[a-zA-Z0-9_-]+$'", path)


def _check_result(block: AnthropicBlock) -> Iterator[Violation]:
    path = f"{block.path}.tool_result"
    content = block.data.get("content")
    yield from _check_id(block.data.get("tool_use_id"), f"{path}.tool_use_id")
    if content is not None and not (isinstance(content, str) or is_json_array(content)):
        yield Violation("A26", f"{path}.content: Input should be a valid list", f"{path}.content")
    types = [get_type_tag(part) for part in as_array(content)]
    if block.data.get("is_error") is True and any(type_ != "text" for type_ in types):
        yield Violation("A21", f"{path}: all content must be type `text` if `is_error` is true", path)
    for index, type_ in enumerate(types):
        # A26, only for blocks known to belong elsewhere: the API keeps adding new ones (`tool_reference`).
        if type_ in _FORBIDDEN_IN_RESULT:
            where = f"{path}.content.{index}"
            text = (
                f"{where}: Input tag '{type_}' found using 'type' does not match any of the expected tags: "
                "'document', 'image', 'search_result', 'text', 'tool_reference'"
            )
            yield Violation("A26", text, where)


def _check_unique_ids(blocks: list[AnthropicBlock]) -> Iterator[Violation]:
    """Yield violations of A4 within one turn. Recordings show that later turns may reuse an id."""
    seen: set[str] = set()
    for block in blocks:
        call_id = block.data.get("id")
        if block.type != "tool_use" or not isinstance(call_id, str):
            continue
        if call_id in seen:
            yield Violation("A4", f"{block.path}: `tool_use` ids must be unique", block.path)
        seen.add(call_id)


def _check_server_pairs(turns: list[AnthropicTurn]) -> Iterator[Violation]:
    # A22. The call may be in an earlier turn: code that calls client tools gets its result turns later. Recordings
    # show that a server's call without its result is accepted.
    seen: set[str] = set()
    for block in chain.from_iterable(turn.blocks for turn in turns if turn.role == "assistant"):
        if block.type in ("server_tool_use", "mcp_tool_use"):
            seen.add(as_string(block.data.get("id")))
        call_id = block.data.get("tool_use_id")
        if block.type.endswith("_tool_result") and isinstance(call_id, str) and call_id not in seen:
            call = "mcp_tool_use" if block.type == "mcp_tool_result" else "server_tool_use"
            text = (
                f"{block.path}: unexpected `tool_use_id` found in `{block.type}` blocks: {call_id}. "
                f"Each `{block.type}` block must have a corresponding `{call}` block before it."
            )
            yield Violation("A22", text, block.path)


def _check_orphans(before: AnthropicTurn | None, turn: AnthropicTurn) -> Iterator[Violation]:
    """Yield violations of A2 and A5: results without a call, and second results."""
    if turn.role != "user":
        return
    calls = before.ids("tool_use", "id") if before else {}
    seen: set[str] = set()
    for block in turn.blocks:
        call_id = block.data.get("tool_use_id")
        if block.type != "tool_result" or not isinstance(call_id, str):
            continue
        if call_id not in calls:
            text = (
                f"{block.path}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
            yield Violation("A2", text, block.path)
        elif call_id in seen:
            text = (
                f"{block.path}: each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {call_id}"
            )
            yield Violation("A5", text, block.path)
        seen.add(call_id)


def _check_unanswered(turn: AnthropicTurn, after: AnthropicTurn | None) -> Iterator[Violation]:
    """Yield violations of A1 and A3: calls without results, or with results after other content."""
    if turn.role != "assistant":
        return
    results = after.ids("tool_result", "tool_use_id") if after else {}
    behind = _find_late_results(after) if after else set[str]()
    calls = turn.ids("tool_use", "id")
    missing = [call_id for call_id in calls if call_id not in results]
    late = [call_id for call_id in calls if call_id in behind]
    for code, ids in (("A1", missing), ("A3", late)):
        if ids:
            path = f"messages.{calls[ids[0]].message}"
            text = (
                f"{path}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(ids)}. "
                "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
            )
            yield Violation(code, text, path)


def _find_late_results(turn: AnthropicTurn) -> set[str]:
    behind: set[str] = set()
    content_seen = False
    for block in turn.blocks:
        content_seen = content_seen or block.type in _CONTENT_TYPES
        if content_seen and block.type == "tool_result":
            behind.add(as_string(block.data.get("tool_use_id")))
    return behind


def _check_ending(request: dict[str, object], turns: list[AnthropicTurn], subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of A11 and A12: an illegal final assistant message."""
    messages = as_array(request.get("messages"))
    if not messages or as_object(messages[-1]).get("role") != "assistant" or not subject.facts.name:
        return
    blocks = turns[-1].blocks
    # A paused turn of a server tool is continued by sending it back unchanged; that is no prefill.
    if is_paused_turn(blocks) or request.get("fallback_credit_token") is not None:
        return
    if subject.facts.prefill is False:
        yield Violation(
            "A12",
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        )
    elif blocks and as_string(blocks[-1].data.get("text"))[-1:].isspace():
        text = "messages: final assistant content cannot end with trailing whitespace"
        yield Violation("A11", text, "messages")


def _check_thinking(
    request: dict[str, object], turns: list[AnthropicTurn], subject: CheckSubject
) -> Iterator[Violation]:
    # Recordings show that none of this applies to models with adaptive thinking; some have it by default.
    mode = get_type_tag(request.get("thinking"))
    adaptive = "adaptive" in subject.facts.thinking.kinds
    if mode == "enabled":
        if get_type_tag(request.get("tool_choice")) in ("any", "tool"):
            yield Violation("A20", "Thinking may not be enabled when tool_choice forces tool use.")
        if not adaptive:
            yield from _check_loop_start(turns)
    elif mode in ("", "disabled") and not adaptive:
        yield from _check_final_thinking(request, turns)


def _check_loop_start(turns: list[AnthropicTurn]) -> Iterator[Violation]:
    # A15. A model thinks once at the start of a loop of calls, so one such turn suffices.
    last = len(turns) - 1
    loop: list[AnthropicTurn] = []
    for index in range(last, 0, -2):
        if turns[index].role != "user" or not turns[index].ids("tool_result", "tool_use_id"):
            break
        loop.append(turns[index - 1])
    starts = [turn.blocks[0] for turn in loop if turn.blocks]
    if (
        not starts
        or starts[0].type not in ("tool_use", "text")
        or any(block.type in _THINKING_TYPES for block in starts)
    ):
        return
    path = f"{starts[0].path}.type" if starts[0].path[-1].isdigit() else f"{starts[0].path}.0.type"
    text = (
        f"{path}: Expected `thinking` or `redacted_thinking`, but found `{starts[0].type}`. "
        "When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the "
        "lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous "
        "turns. To avoid this requirement, disable `thinking`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
    )
    yield Violation("A15", text, path)


def _check_final_thinking(request: dict[str, object], turns: list[AnthropicTurn]) -> Iterator[Violation]:
    """Yield violations of A19: thinking in the final message while thinking is disabled."""
    messages = as_array(request.get("messages"))
    if not messages or as_object(messages[-1]).get("role") != "assistant":
        return
    for block in turns[-1].blocks:
        if block.type in _THINKING_TYPES:
            text = (
                f"{block.path}: When thinking is disabled, an `assistant` message in the final position cannot contain "
                f"`{block.type}`. To use thinking blocks, enable `thinking` in your request."
            )
            yield Violation("A19", text, block.path)


def _check_tools(request: dict[str, object]) -> Iterator[Violation]:
    """Yield violations of A8 and A23: illegal names and schemas of tools."""
    for index, tool in enumerate(as_array(request.get("tools"))):
        if get_type_tag(tool) in ("", "custom"):
            yield from _check_name(as_object(tool).get("name"), f"tools.{index}.custom.name", 128)
        schema = as_object(as_object(tool).get("input_schema"))
        if get_type_tag(tool) in ("", "custom") and not schema.keys().isdisjoint(("oneOf", "allOf", "anyOf")):
            path = f"tools.{index}.custom.input_schema"
            text = f"{path}: input_schema does not support oneOf, allOf, or anyOf at the top level"
            yield Violation("A23", text, path)


def _check_system(request: dict[str, object]) -> Iterator[Violation]:
    for index, block in enumerate(as_array(request.get("system"))):
        yield from _check_empty_text(as_object(block), f"system.{index}", "system")
    yield from _check_blank_content(as_array(request.get("system")), "system", "system")
