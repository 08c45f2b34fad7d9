"""Encoder of requests to OpenAI's Responses API.

A request is stateless unless `extra` says otherwise: it sets `store` to false and asks for
encrypted reasoning. A `store` or `include` in `extra` replaces ours, and None omits the field,
which is how `read_history` marks a request that had none. `previous_response_id` or `conversation`
leave `store` to the provider.
"""

from __future__ import annotations

from typing import Any

from antiphon._base.json import encode_json, load_json
from antiphon.conversation import Conversation, RequestHead, ToolSpec, Turn
from antiphon.errors import OptionError
from antiphon.wire import body
from antiphon.wire.hosted_tools import check_hosted_tools, find_deferred_tools, insert_mcp_tokens
from antiphon.wire.media import replace_unsupported_media
from antiphon.wire.names_and_ids import choose_tool_name
from antiphon.wire.openai_responses import items
from antiphon.wire.openai_responses.hosted_tools import build_include
from antiphon.wire.openai_responses.item_rules import ItemRules, build_item_rules, continues_stored
from antiphon.wire.options import (
    Options,
    Target,
    adapt_options,
    build_cache_fields,
    build_sampling_fields,
    check_forced_tool,
)
from antiphon.wire.prompt import Prompt, extract_prefix_fields
from antiphon.wire.request import EncodedRequest

_UNSHOWABLE_SEGMENT = body.MessageSegment(
    "user", encode_json({"type": "input_text", "text": body.UNSHOWABLE_TEXT}).encode()
)


def path(target: Target, stream: bool) -> str:  # noqa: ARG001
    """Return the path of the request URL, below the base URL."""
    return "/responses"


def encode(conversation: Conversation, target: Target, options: Options) -> EncodedRequest:
    """Return the request: its body and the prompt that it holds."""
    options = adapt_options(target, options)
    heads = conversation.request_heads or conversation.heads
    specs = heads.tools
    secrets = check_hosted_tools(specs, target)
    head = items.build_head(heads, target, options)
    fields: dict[str, Any] = {"model": target.model}
    _set_answer_fields(fields, target, options)
    if head.effort is not None:
        fields["reasoning"] = {"effort": head.effort}
    if head.form:
        fields["text"] = {"format": items.encode_answer_format(head.form, target)}
    tools = _encode_tools(conversation, head, target)
    declared = tools or options.extra.get("tools")
    if declared and (choice := _choose_tool_choice(specs, head, target, options)):
        fields["tool_choice"] = choice
    if declared and options.parallel_tool_calls is not None:
        fields["parallel_tool_calls"] = options.parallel_tool_calls
    if options.background:
        # The API keeps what it makes in the background.
        fields["store"] = True
    elif not continues_stored(options.extra):
        fields["store"] = False
    if target.facts.thinking.default != "never":
        fields["include"] = ["reasoning.encrypted_content"]
    if more := build_include(specs):
        fields["include"] = [*fields.get("include", []), *more]
    fields |= build_cache_fields(options)
    fields |= options.extra
    fields = {k: v for k, v in fields.items() if v is not None or k not in ("store", "include")}
    raw: dict[str, str] = {}
    lists: dict[str, body.BodyChunks] = {}
    if head.system:
        raw["instructions"] = encode_json(head.system)
    if tools:
        raw["tools"] = f"[{insert_mcp_tokens(tools, specs)}]"
    # The input may be empty if the request refers to a stored prompt or response.
    found = _encode_input(conversation, build_item_rules(conversation, target, fields))
    if conversation.turns:
        lists["input"] = found.pieces
    prompt = Prompt({"tools": tools, "instructions": head.system, **extract_prefix_fields(fields, target)}, found)
    return EncodedRequest(body.assemble_body(fields, lists, **raw), prompt=prompt, secrets=secrets)


def history(conversation: Conversation, target: Target) -> dict[str, Any]:
    """Return the conversation in this API's shape, as JSON data."""
    head = items.build_head(conversation.heads, target, Options())
    data: dict[str, Any] = {"instructions": head.system} if head.system else {}
    tools = _encode_tools(conversation, head, target)
    if tools:
        data["tools"] = load_json(f"[{tools}]")
    found = _encode_input(conversation, build_item_rules(conversation, target, {"store": False}))
    return data | {"input": body.parse_chunks(found.pieces)}


def _encode_tools(conversation: Conversation, head: RequestHead, target: Target) -> str:
    deferred = find_deferred_tools(head.tools, target)
    return body.encode_tools(
        conversation, head.tools, target.key, lambda tool: items.encode_responses_tool(tool, target, deferred)
    )


def _encode_input(conversation: Conversation, terms: ItemRules) -> body.EncodedMessages:
    def encode(turn: Turn) -> list[body.MessageSegment]:
        return items.encode_turn_items(replace_unsupported_media(turn, terms.target), terms)

    return body.encode_messages(conversation, terms.key, encode, items.encode_item, nothing=_UNSHOWABLE_SEGMENT)


def _set_answer_fields(fields: dict[str, Any], target: Target, options: Options) -> None:
    """Set the fields for sampling, length and streaming. Raise OptionError for unsupported options."""
    if options.stop:
        raise OptionError("the Responses API has no stop sequences; leave `stop` out, or use the Chat API")
    if isinstance(options.reasoning, int):
        raise OptionError("the Responses API takes no number of reasoning tokens; give `reasoning` a word like 'low'")
    fields |= build_sampling_fields(target, options)
    if options.max_tokens is not None:
        fields["max_output_tokens"] = options.max_tokens
    if options.background:
        fields["background"] = True
    elif options.stream:
        fields["stream"] = True


def _choose_tool_choice(
    specs: tuple[ToolSpec, ...], head: RequestHead, target: Target, options: Options
) -> str | dict[str, Any] | None:
    """Return the `tool_choice` field. Removed tools stay declared but are excluded from the allowed ones."""
    if options.tool_choice not in (None, "auto", "none"):
        check_forced_tool(target, options)
    gone = {tool.name for tool in head.tools} - {tool.name for tool in specs}
    mode = options.tool_choice or "auto"
    if gone and mode in ("auto", "required"):
        names = [tool.name for tool in specs if not tool.is_provider_defined]
        allowed = [{"type": "function", "name": name} for name in names]
        return {"type": "allowed_tools", "mode": mode, "tools": allowed} if allowed else "none"
    return _encode_tool_choice(options.tool_choice, specs, target) if options.tool_choice else None


def _encode_tool_choice(asked: str, specs: tuple[ToolSpec, ...], target: Target) -> str | dict[str, Any]:
    if asked in ("auto", "none", "required"):
        return asked
    ours = (tool.native for tool in specs if tool.name == asked and tool.native)
    data = next((native.data for native in ours if items.is_responses_payload(native, target)), dict[str, Any]())
    kind = "custom" if data.get("type") == "custom" else "function"
    return {"type": kind, "name": choose_tool_name(asked, data.get("name"), items.RESPONSES_TOOL_NAME)}
