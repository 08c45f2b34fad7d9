"""The rules of Anthropic's Messages API.

The API joins neighbouring messages of one role before it looks at the pairing (A14), so the rules here are about
turns. Not decidable from a body, hence left to a server with memory: A16 and A18 (thinking altered or moved to
another conversation) and whether a signature is genuine (A17). A25 is no rule of the native API any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from antiphon._shape import arr, obj, string
from antiphon.wire.rules.anthropic_betas import beta_violations
from antiphon.wire.rules.anthropic_cache import cache_violations
from antiphon.wire.rules.anthropic_entries import entry_violations
from antiphon.wire.rules.anthropic_options import option_violations
from antiphon.wire.rules.anthropic_schema import schema_violations
from antiphon.wire.rules.anthropic_server import pauses, server_violations
from antiphon.wire.rules.anthropic_shape import shape_violations
from antiphon.wire.rules.reading import is_array, is_object, kind
from antiphon.wire.rules.subject import Subject
from antiphon.wire.rules.violation import Violation

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_THINKING = ("thinking", "redacted_thinking")
_ORDINARY = ("text", "image", "document")
_FOREIGN_IN_RESULT = frozenset(
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
class Block:
    """A content block and where it stands. String content is one text block."""

    message: int
    path: str
    type: str
    data: dict[str, object]


@dataclass(slots=True)
class Turn:
    """Neighbouring messages of one role, as the API joins them."""

    role: str
    blocks: list[Block] = field(default_factory=lambda: list[Block]())

    def ids(self, type_: str, key: str) -> dict[str, Block]:
        """The first block of `type_` for every id found under `key`."""
        found: dict[str, Block] = {}
        for block in self.blocks:
            if block.type == type_ and isinstance(block.data.get(key), str):
                found.setdefault(string(block.data[key]), block)
        return found


def violations(body: object, model: str, subject: Subject) -> Iterator[Violation]:
    """Yield what the Messages API would reject in `body`."""
    request = obj(body)
    turns = _turns(request)
    blocks = [block for turn in turns for block in turn.blocks]
    yield from shape_violations(body, has_model=bool(model))
    yield from entry_violations(request, subject)
    yield from _empty_messages(request)
    for block in blocks:
        yield from _block(block)
    yield from _blank_messages(request)
    for turn in turns:
        yield from _unique_ids(turn.blocks)
    yield from _server_pairs(turns)
    for before, turn in zip([None, *turns], turns, strict=False):
        yield from _orphans(before, turn)
    for turn, after in zip(turns, [*turns[1:], None], strict=False):
        yield from _unanswered(turn, after)
    yield from _ending(request, turns, subject)
    yield from _thinking(request, turns, subject)
    yield from _tools(request)
    yield from _system(request)
    yield from cache_violations(request, subject)
    yield from option_violations(request, subject)
    yield from schema_violations(request, subject)
    yield from server_violations(request, turns, subject)
    yield from beta_violations(request, subject)


def _turns(request: dict[str, object]) -> list[Turn]:
    # Messages with the role system say nothing about calls, so they do not part a call from its result.
    turns: list[Turn] = []
    for index, message in enumerate(arr(request.get("messages"))):
        role = string(obj(message).get("role"))
        if role not in ("user", "assistant"):
            continue
        if not turns or turns[-1].role != role:
            turns.append(Turn(role))
        turns[-1].blocks.extend(_blocks(index, obj(message).get("content")))
    return turns


def _blocks(message: int, content: object) -> Iterator[Block]:
    path = f"messages.{message}.content"
    if isinstance(content, str) and content:
        yield Block(message, path, "text", {"text": content})
    for index, block in enumerate(arr(content)):
        yield Block(message, f"{path}.{index}", kind(block), obj(block))


def _empty_messages(request: dict[str, object]) -> Iterator[Violation]:
    """A10."""
    messages = arr(request.get("messages"))
    for index, message in enumerate(messages):
        last = index == len(messages) - 1 and obj(message).get("role") == "assistant"
        # A message that only changes the effort says nothing.
        says_nothing = obj(message).get("role") == "system" and is_object(obj(message).get("output_config"))
        if not last and not says_nothing and obj(message).get("content") in ("", []):
            path = f"messages.{index}"
            text = f"{path}: all messages must have non-empty content except for the optional final assistant message"
            yield Violation("A10", text, path)


def _block(block: Block) -> Iterator[Violation]:
    match block.type:
        case "text":
            yield from _empty_text(block.data, block.path, "messages")
        case "tool_use":
            yield from _call(block)
        case "tool_result":
            yield from _result(block)
        case "thinking" if "signature" not in block.data:
            path = f"{block.path}.thinking.signature"
            yield Violation("A17", f"{path}: Field required", path)
        case "thinking" if block.data["signature"] == "":
            yield Violation("A17", f"{block.path}: Invalid `signature` in `thinking` block", block.path)
        case _:
            pass


def _empty_text(data: dict[str, object], path: str, where: str) -> Iterator[Violation]:
    """A9."""
    if data.get("text") == "":
        yield Violation("A9", f"{where}: text content blocks must be non-empty", path)


def _blank(content: Sequence[object], path: str, where: str) -> Iterator[Violation]:
    # A9. Models write white space between thinking and calls, and it is taken back beside any other content.
    texts = [string(obj(block).get("text")) if kind(block) == "text" else "x" for block in content]
    if texts and all(text.isspace() for text in texts):
        yield Violation("A9", f"{where}: text content blocks must contain non-whitespace text", path)


def _blank_messages(request: dict[str, object]) -> Iterator[Violation]:
    for index, message in enumerate(arr(request.get("messages"))):
        content = obj(message).get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else arr(content)
        yield from _blank(blocks, f"messages.{index}.content", "messages")


def _call(block: Block) -> Iterator[Violation]:
    path = f"{block.path}.tool_use"
    yield from _id(block.data.get("id"), f"{path}.id")
    if "input" in block.data and not is_object(block.data["input"]):
        yield Violation("A7", f"{path}.input: Input should be a valid dictionary", f"{path}.input")
    yield from _name(block.data.get("name"), f"{path}.name", 200)


def _name(name: object, path: str, most: int) -> Iterator[Violation]:
    """A8."""
    if name == "":
        yield Violation("A8", f"{path}: String should have at least 1 character", path)
    elif isinstance(name, str) and not (len(name) <= most and _ID.fullmatch(name)):
        yield Violation("A8", f"{path}: String should match pattern '^[a-zA-Z0-9_-]{{1,{most}}}$'", path)


def _id(value: object, path: str) -> Iterator[Violation]:
    """A6."""
    if isinstance(value, str) and not _ID.fullmatch(value):
        yield Violation("A6", f"{path}: String should match pattern '^[a-zA-Z0-9_-]+$'", path)


def _result(block: Block) -> Iterator[Violation]:
    path = f"{block.path}.tool_result"
    content = block.data.get("content")
    yield from _id(block.data.get("tool_use_id"), f"{path}.tool_use_id")
    if content is not None and not (isinstance(content, str) or is_array(content)):
        yield Violation("A26", f"{path}.content: Input should be a valid list", f"{path}.content")
    types = [kind(part) for part in arr(content)]
    if block.data.get("is_error") is True and any(type_ != "text" for type_ in types):
        yield Violation("A21", f"{path}: all content must be type `text` if `is_error` is true", path)
    for index, type_ in enumerate(types):
        # A26, told only of blocks known to belong elsewhere: the API keeps learning new ones (`tool_reference`).
        if type_ in _FOREIGN_IN_RESULT:
            where = f"{path}.content.{index}"
            text = (
                f"{where}: Input tag '{type_}' found using 'type' does not match any of the expected tags: "
                "'document', 'image', 'search_result', 'text', 'tool_reference'"
            )
            yield Violation("A26", text, where)


def _unique_ids(blocks: list[Block]) -> Iterator[Violation]:
    """A4, of the blocks of one turn: recordings show that later turns may use an id again."""
    seen: set[str] = set()
    for block in blocks:
        call_id = block.data.get("id")
        if block.type != "tool_use" or not isinstance(call_id, str):
            continue
        if call_id in seen:
            yield Violation("A4", f"{block.path}: `tool_use` ids must be unique", block.path)
        seen.add(call_id)


def _server_pairs(turns: list[Turn]) -> Iterator[Violation]:
    # A22. The call may stand in an earlier turn: code that calls client tools gets its result turns later. Recordings
    # show that a server's call without its result is accepted.
    seen: set[str] = set()
    for block in chain.from_iterable(turn.blocks for turn in turns if turn.role == "assistant"):
        if block.type in ("server_tool_use", "mcp_tool_use"):
            seen.add(string(block.data.get("id")))
        call_id = block.data.get("tool_use_id")
        if block.type.endswith("_tool_result") and isinstance(call_id, str) and call_id not in seen:
            call = "mcp_tool_use" if block.type == "mcp_tool_result" else "server_tool_use"
            text = (
                f"{block.path}: unexpected `tool_use_id` found in `{block.type}` blocks: {call_id}. "
                f"Each `{block.type}` block must have a corresponding `{call}` block before it."
            )
            yield Violation("A22", text, block.path)


def _orphans(before: Turn | None, turn: Turn) -> Iterator[Violation]:
    """A2 and A5."""
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


def _unanswered(turn: Turn, after: Turn | None) -> Iterator[Violation]:
    """A1, and A3 where the results are there but behind other content."""
    if turn.role != "assistant":
        return
    results = after.ids("tool_result", "tool_use_id") if after else {}
    behind = _results_behind_content(after) if after else set[str]()
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


def _results_behind_content(turn: Turn) -> set[str]:
    behind: set[str] = set()
    content_seen = False
    for block in turn.blocks:
        content_seen = content_seen or block.type in _ORDINARY
        if content_seen and block.type == "tool_result":
            behind.add(string(block.data.get("tool_use_id")))
    return behind


def _ending(request: dict[str, object], turns: list[Turn], subject: Subject) -> Iterator[Violation]:
    """A11 and A12: what may stand at the end in the assistant's name."""
    messages = arr(request.get("messages"))
    if not messages or obj(messages[-1]).get("role") != "assistant" or not subject.facts.name:
        return
    blocks = turns[-1].blocks
    # A paused turn of a server's tool is continued by sending it back as it is; that is no prefill.
    if pauses(blocks) or request.get("fallback_credit_token") is not None:
        return
    if subject.facts.prefill is False:
        yield Violation(
            "A12",
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        )
    elif blocks and string(blocks[-1].data.get("text"))[-1:].isspace():
        text = "messages: final assistant content cannot end with trailing whitespace"
        yield Violation("A11", text, "messages")


def _thinking(request: dict[str, object], turns: list[Turn], subject: Subject) -> Iterator[Violation]:
    # Recordings show that none of this holds for models with adaptive thinking; some have it by default.
    mode = kind(request.get("thinking"))
    adaptive = "adaptive" in subject.facts.thinking.kinds
    if mode == "enabled":
        if kind(request.get("tool_choice")) in ("any", "tool"):
            yield Violation("A20", "Thinking may not be enabled when tool_choice forces tool use.")
        if not adaptive:
            yield from _loop_starts_with_thinking(turns)
    elif mode in ("", "disabled") and not adaptive:
        yield from _thinking_at_the_end(request, turns)


def _loop_starts_with_thinking(turns: list[Turn]) -> Iterator[Violation]:
    # A15. A model thinks at the start of a loop of calls and not again before each call, so one such turn suffices.
    last = len(turns) - 1
    loop: list[Turn] = []
    for index in range(last, 0, -2):
        if turns[index].role != "user" or not turns[index].ids("tool_result", "tool_use_id"):
            break
        loop.append(turns[index - 1])
    starts = [turn.blocks[0] for turn in loop if turn.blocks]
    if not starts or starts[0].type not in ("tool_use", "text") or any(block.type in _THINKING for block in starts):
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


def _thinking_at_the_end(request: dict[str, object], turns: list[Turn]) -> Iterator[Violation]:
    """A19."""
    messages = arr(request.get("messages"))
    if not messages or obj(messages[-1]).get("role") != "assistant":
        return
    for block in turns[-1].blocks:
        if block.type in _THINKING:
            text = (
                f"{block.path}: When thinking is disabled, an `assistant` message in the final position cannot contain "
                f"`{block.type}`. To use thinking blocks, enable `thinking` in your request."
            )
            yield Violation("A19", text, block.path)


def _tools(request: dict[str, object]) -> Iterator[Violation]:
    """A8 and A23."""
    for index, tool in enumerate(arr(request.get("tools"))):
        if kind(tool) in ("", "custom"):
            yield from _name(obj(tool).get("name"), f"tools.{index}.custom.name", 128)
        schema = obj(obj(tool).get("input_schema"))
        if kind(tool) in ("", "custom") and not schema.keys().isdisjoint(("oneOf", "allOf", "anyOf")):
            path = f"tools.{index}.custom.input_schema"
            text = f"{path}: input_schema does not support oneOf, allOf, or anyOf at the top level"
            yield Violation("A23", text, path)


def _system(request: dict[str, object]) -> Iterator[Violation]:
    for index, block in enumerate(arr(request.get("system"))):
        yield from _empty_text(obj(block), f"system.{index}", "system")
    yield from _blank(arr(request.get("system")), "system", "system")
