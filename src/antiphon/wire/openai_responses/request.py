"""A conversation as a request to OpenAI's Responses API.

A request is stateless unless `extra` says otherwise: it sets `store` to false and asks for encrypted reasoning. Any
`store` or `include` in `extra` takes the place of ours, `None` leaves the field out (so `read` tells of a request that
had none), and `previous_response_id` or `conversation` leave `store` to the provider.
"""

from __future__ import annotations

from typing import Any

from antiphon._json import dumps, loads
from antiphon._shape import string
from antiphon.conversation import Conversation, Head, Turn
from antiphon.errors import OptionError
from antiphon.wire import body
from antiphon.wire.hosted_tools import check_hosted, deferred_names, fill_secrets, included
from antiphon.wire.images import shown
from antiphon.wire.naming import own_name
from antiphon.wire.openai_responses import items
from antiphon.wire.openai_responses.terms import Terms, continues, terms_for
from antiphon.wire.options import Options, Target, cache_fields, check_forced_choice, fit_options, sampling
from antiphon.wire.prompt import Prompt, prefix_fields
from antiphon.wire.request import Request

_NOTHING = body.Segment("user", dumps({"type": "input_text", "text": body.NOTHING}).encode())


def path(target: Target, stream: bool) -> str:  # noqa: ARG001
    """Where requests go, below the base URL."""
    return "/responses"


def encode(conversation: Conversation, target: Target, options: Options) -> Request:
    """Return the request."""
    options = fit_options(target, options)
    check_hosted(conversation.tools, target)
    head = items.head_of(conversation, target, options)
    fields: dict[str, Any] = {"model": target.model}
    _answering(fields, target, options)
    if head.effort is not None:
        fields["reasoning"] = {"effort": head.effort}
    if head.form:
        fields["text"] = {"format": items.form_data(head.form, target)}
    tools = _tools(conversation, head, target)
    declared = tools or options.extra.get("tools")
    if declared and (choice := _choice(conversation, head, target, options)):
        fields["tool_choice"] = choice
    if declared and options.parallel_tool_calls is not None:
        fields["parallel_tool_calls"] = options.parallel_tool_calls
    if options.background:
        # The API keeps what it makes in the background.
        fields["store"] = True
    elif not continues(options.extra):
        fields["store"] = False
    if target.facts.thinking.default != "never":
        fields["include"] = ["reasoning.encrypted_content"]
    if more := included(conversation.tools):
        fields["include"] = [*fields.get("include", []), *more]
    fields |= cache_fields(options)
    fields |= options.extra
    fields = {k: v for k, v in fields.items() if v is not None or k not in ("store", "include")}
    raw: dict[str, str] = {}
    lists: dict[str, body.Pieces] = {}
    if head.system:
        raw["instructions"] = dumps(head.system)
    if tools:
        raw["tools"] = f"[{fill_secrets(tools, conversation.tools)}]"
    # A stored prompt or response may be all there is to ask about.
    found = _input(conversation, terms_for(conversation, target, fields))
    if conversation.turns:
        lists["input"] = found.pieces
    prompt = Prompt({"tools": tools, "instructions": head.system, **prefix_fields(fields, target)}, found)
    return Request(body.assemble(fields, lists, **raw), prompt=prompt)


def history(conversation: Conversation, target: Target) -> dict[str, Any]:
    """The conversation in this API's shape, as data."""
    head = items.head_of(conversation, target, Options())
    data: dict[str, Any] = {"instructions": head.system} if head.system else {}
    tools = _tools(conversation, head, target)
    if tools:
        data["tools"] = loads(f"[{tools}]")
    found = _input(conversation, terms_for(conversation, target, {"store": False}))
    return data | {"input": body.parsed(found.pieces)}


def _tools(conversation: Conversation, head: Head, target: Target) -> str:
    deferred = deferred_names(head.tools, target)
    return body.tools_json(conversation, head.tools, target.key, lambda tool: items.tool_json(tool, target, deferred))


def _input(conversation: Conversation, terms: Terms) -> body.Messages:
    def encode(turn: Turn) -> list[body.Segment]:
        return items.segments(shown(turn, terms.target), terms)

    return body.messages(conversation, terms.key, encode, items.message, nothing=_NOTHING)


def _answering(fields: dict[str, Any], target: Target, options: Options) -> None:
    """How to answer, as far as it is not about tools."""
    if options.stop:
        raise OptionError("the Responses API has no stop sequences; leave `stop` out, or use the Chat API")
    if isinstance(options.reasoning, int):
        raise OptionError("the Responses API takes no number of reasoning tokens; give `reasoning` a word like 'low'")
    fields |= sampling(target, options)
    if options.max_tokens is not None:
        fields["max_output_tokens"] = options.max_tokens
    if options.background:
        fields["background"] = True
    elif options.stream:
        fields["stream"] = True


def _choice(conversation: Conversation, head: Head, target: Target, options: Options) -> str | dict[str, Any] | None:
    """Return the choice of a tool; tools that were removed stay declared and are left out of what is allowed."""
    if options.tool_choice not in (None, "auto", "none"):
        check_forced_choice(target, options)
    gone = {tool.name for tool in head.tools} - {tool.name for tool in conversation.tools}
    mode = options.tool_choice or "auto"
    if gone and mode in ("auto", "required"):
        names = [tool.name for tool in conversation.tools if not tool.is_provider_defined]
        allowed = [{"type": "function", "name": name} for name in names]
        return {"type": "allowed_tools", "mode": mode, "tools": allowed} if allowed else "none"
    return _named_choice(options.tool_choice, conversation, target) if options.tool_choice else None


def _named_choice(asked: str, conversation: Conversation, target: Target) -> str | dict[str, Any]:
    if asked in ("auto", "none", "required"):
        return asked
    ours = (tool.native for tool in conversation.tools if tool.name == asked and tool.native)
    data = next((native.data for native in ours if items.is_ours(native, target)), dict[str, Any]())
    kind = "custom" if data.get("type") == "custom" else "function"
    return {"type": kind, "name": own_name(asked, string(data.get("name")), items.NAME)}
