"""Documented refusals of the Messages API, each with its words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.referees import anthropic_server
from tests.referees.anthropic_server import AnthropicServer
from tests.referees.bodies import EMPTY, HI, OPEN, SCHEMA, closed, post
from tests.referees.refusal import Refusal

TOOL = {"name": "w", "input_schema": EMPTY}
SONNET, OPUS, FABLE, HAIKU = "claude-sonnet-5-5", "claude-opus-5-5", "claude-fable-5-2", "claude-haiku-5-5"


def use(identity: str = "toolu_1", name: str = "w", **more: Any) -> dict[str, Any]:
    """Return a tool_use block."""
    return {"type": "tool_use", "id": identity, "name": name, "input": {}, **more}


def result(identity: str = "toolu_1", **more: Any) -> dict[str, Any]:
    """Return a tool_result block."""
    return {"type": "tool_result", "tool_use_id": identity, "content": "x", **more}


def turn(role: str, *blocks: Any) -> dict[str, Any]:
    """Return a message."""
    return {"role": role, "content": list(blocks)}


def form(schema: Any) -> dict[str, Any]:
    """Return an output_config with a schema."""
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


TEXT = {"type": "text", "text": "x"}
MARK = {"cache_control": {"type": "ephemeral"}}
LONG_MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
ADDITION = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "w"}}
INLINE = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": TOOL}}
MANY = {f"p{number}": {"type": "string"} for number in range(25)}
LOOP = {
    "$defs": {
        "T": {
            "type": "object",
            "properties": {"t": {"$ref": "#/$defs/T"}},
            "required": ["t"],
            "additionalProperties": False,
        }
    },
    "type": "object",
    "properties": {"t": {"$ref": "#/$defs/T"}},
    "required": ["t"],
    "additionalProperties": False,
}


CLAUDE: list[tuple[str, dict[str, Any], str]] = [
    (SONNET, {"temperature": 1.0}, "`temperature` is not supported"),
    ("claude-sonnet-4-5", {"top_p": 0.9}, "`top_p` is not supported"),
    (SONNET, {"max_tokens": 128_001}, "128001 > 128000"),
    ("claude-sonnet-4-5", {"max_tokens": 64_001}, "64001 > 64000"),
    (SONNET, {"tools": [TOOL], "tool_choice": {"type": "any"}}, 'tool_choice: type "any" is not supported'),
    (
        OPUS,
        {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "w"}},
        'tool_choice: type "tool" is not supported',
    ),
    (FABLE, {"tools": [TOOL], "tool_choice": {"type": "any"}}, "tool_choice"),
    (HAIKU, {"tool_choice": {"type": "auto"}}, "while providing tools"),
    (HAIKU, {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "v"}}, "not found in provided tools"),
    (SONNET, {"thinking": {"type": "disabled"}}, "thinking.type.disabled"),
    (SONNET, {"thinking": {"type": "enabled", "budget_tokens": 1024}}, "thinking.type.enabled"),
    (OPUS, {"thinking": {"type": "between_tools"}}, "thinking.type.between_tools"),
    (FABLE, {"thinking": {"type": "disabled"}}, "thinking.type.disabled"),
    (HAIKU, {"thinking": {"type": "disabled"}, "output_config": {"effort": "max"}}, "not allowed with effort"),
    (SONNET, {"thinking": {"type": "between_tools"}, "output_config": {"effort": "xhigh"}}, "not allowed with effort"),
    ("claude-sonnet-4-5", {"thinking": {"type": "adaptive"}}, "thinking.type.adaptive"),
    ("claude-sonnet-4-5", {"output_config": {"effort": "low"}}, "output_config.effort"),
    ("claude-opus-4-6", {"output_config": {"effort": "xhigh"}}, "output_config.effort"),
    ("claude-sonnet-4-5", {"thinking": {"type": "enabled", "budget_tokens": 10}}, "greater than or equal to 1024"),
    ("claude-sonnet-4-5", {"thinking": {"type": "enabled", "budget_tokens": 2000}}, "must be greater than"),
    (
        "claude-sonnet-4-5",
        {
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "max_tokens": 4000,
            "tools": [TOOL],
            "tool_choice": {"type": "any"},
        },
        "Thinking may not be enabled when tool_choice forces tool use",
    ),
    (
        "claude-sonnet-4-5",
        {
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "max_tokens": 4000,
            "tools": [TOOL],
            "messages": [HI, turn("assistant", use()), turn("user", result())],
        },
        "Expected `thinking` or `redacted_thinking`",
    ),
    (SONNET, {"messages": [HI, turn("assistant", TEXT)]}, "does not support assistant message prefill"),
    ("claude-sonnet-4-5", {"messages": [HI, {"role": "assistant", "content": "A "}]}, "trailing whitespace"),
    (SONNET, {"messages": []}, "at least one message"),
    (SONNET, {"messages": [{"role": "user", "content": ""}]}, "must be non-empty"),
    (SONNET, {"messages": [{"role": "user", "content": " \n"}]}, "non-whitespace"),
    (SONNET, {"messages": [{"role": "user", "content": []}]}, "non-empty content"),
    (
        SONNET,
        {"messages": [HI, turn("assistant", use()), HI]},
        "without `tool_result` blocks immediately after: toolu_1",
    ),
    (SONNET, {"messages": [turn("user", result())]}, "unexpected `tool_use_id`"),
    (SONNET, {"messages": [HI, turn("assistant", use()), turn("user", TEXT, result())]}, "immediately after"),
    (SONNET, {"messages": [HI, turn("assistant", use(), use()), turn("user", result())]}, "must be unique"),
    (SONNET, {"messages": [HI, turn("assistant", use()), turn("user", result(), result())]}, "single result"),
    (
        SONNET,
        {"messages": [HI, turn("assistant", use("a b")), turn("user", result("a b"))]},
        "String should match pattern",
    ),
    (SONNET, {"messages": [HI, turn("assistant", use(input="{}")), turn("user", result())]}, "valid dictionary"),
    (SONNET, {"messages": [HI, turn("assistant", use(name="")), turn("user", result())]}, "at least 1 character"),
    (
        SONNET,
        {
            "messages": [
                HI,
                turn("assistant", use()),
                turn(
                    "user",
                    result(
                        is_error=True,
                        content=[{"type": "image", "source": {"type": "url", "url": "https://a.example/a.png"}}],
                    ),
                ),
            ]
        },
        "must be type `text`",
    ),
    (
        SONNET,
        {"messages": [HI, turn("assistant", {"type": "thinking", "thinking": "x"}), HI]},
        "signature: Field required",
    ),
    (
        SONNET,
        {"messages": [HI, turn("assistant", {"type": "thinking", "thinking": "", "signature": "eA=="}, TEXT), HI]},
        "Invalid `signature`",
    ),
    (
        SONNET,
        {
            "messages": [
                HI,
                turn("assistant", {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_9", "content": []}),
                HI,
            ]
        },
        "corresponding `server_tool_use` block before it",
    ),
    (
        SONNET,
        {"messages": [turn("user", {**TEXT, "citations": [{"type": "char_location"}]})]},
        "citations are not allowed",
    ),
    (
        SONNET,
        {
            "messages": [
                HI,
                turn(
                    "assistant",
                    TEXT,
                    {"type": "document", "source": {"type": "text", "data": "x", "media_type": "text/plain"}},
                ),
                HI,
            ]
        },
        "document blocks are not allowed",
    ),
    ("claude-sonnet-4-5", {"messages": [HI, {"role": "system", "content": "x"}]}, "role 'system' is not supported"),
    (SONNET, {"messages": [{"role": "system", "content": "x"}, HI]}, "must follow a user message"),
    (
        SONNET,
        {"messages": [HI, {"role": "system", "content": "x", "clear_at": "next_user_message"}]},
        "clear_at: Extra inputs",
    ),
    (
        SONNET,
        {"messages": [HI, {"role": "system", "content": [], "output_config": {"effort": "low"}}]},
        "output_config: Extra inputs",
    ),
    (SONNET, {"tools": [TOOL], "messages": [HI, turn("system", ADDITION)]}, "Extra inputs are not permitted"),
    (
        SONNET,
        {"tools": [{**TOOL, "input_schema": {"anyOf": [], "type": "object"}}]},
        "does not support oneOf, allOf, or anyOf",
    ),
    (SONNET, {"tools": [TOOL, TOOL]}, "names must be unique"),
    (
        SONNET,
        {"tools": [{"type": "computer_20251124", "name": "computer", "display_width_px": 9, "display_height_px": 9}]},
        "computer_toolset_20260801",
    ),
    (
        SONNET,
        {"tools": [{**TOOL, **MARK}], "messages": [turn("user", *[{**TEXT, **MARK}] * 4)]},
        "maximum of 4 blocks with cache_control",
    ),
    (SONNET, {"messages": [turn("user", {**TEXT, **MARK}, {**TEXT, **LONG_MARK})]}, "must not come after"),
    (SONNET, {"tools": [{**TOOL, "defer_loading": True, **MARK}]}, "not allowed with defer_loading"),
    (SONNET, form(OPEN), "'additionalProperties' must be explicitly set to false"),
    (SONNET, form(closed(a={"type": "integer", "minimum": 0})), "property 'minimum' is not supported"),
    (SONNET, form(closed(a={"type": "string", "maxLength": 3})), "property 'maxLength' is not supported"),
    (
        SONNET,
        form(closed(a={"type": "array", "items": {"type": "string"}, "minItems": 2})),
        "'minItems' values other than 0 or 1",
    ),
    (SONNET, form(closed(a={"oneOf": [{"type": "string"}]})), "property 'oneOf' is not supported"),
    (SONNET, form(LOOP), "Circular reference"),
    (SONNET, form({**closed(**MANY), "required": []}), "25 optional parameters"),
    (
        SONNET,
        form(closed(**{f"u{n}": {"anyOf": [{"type": "string"}, {"type": "null"}]} for n in range(17)})),
        "17 parameters with union",
    ),
    (
        SONNET,
        {"tools": [{"name": f"t{n}", "input_schema": SCHEMA, "strict": True} for n in range(21)]},
        "21 strict tools",
    ),
    (SONNET, {"tools": [{"name": "t", "input_schema": OPEN, "strict": True}]}, "additionalProperties"),
    (SONNET, {"container": "container_1"}, "needs the code execution tool"),
    (
        SONNET,
        {"tools": [{"type": "code_execution_20260521", "name": "code_execution"}], "container": {"id": "x"}},
        "id as a string",
    ),
    (SONNET, {"mcp_servers": []}, "mcp_servers: Extra inputs are not permitted"),
    (SONNET, {"context_management": {"edits": []}}, "context_management: Extra inputs"),
    (SONNET, {"compaction": {"type": "summarize"}}, "compaction: Extra inputs"),
    (SONNET, {"unknown_field": 1}, "unknown_field: Extra inputs are not permitted"),
    (SONNET, {"messages": [turn("user", {**TEXT, "zork": 1})]}, "zork: Extra inputs are not permitted"),
    (SONNET, {"metadata": {"user": "x"}}, "Extra inputs are not permitted (SDK types)"),
    (SONNET, {"max_tokens": 0, "stream": True}, "0 is not allowed with stream"),
]


@pytest.fixture(scope="module")
def claude() -> Iterator[AnthropicServer]:
    with AnthropicServer() as server:
        yield server


def ask_claude(server: AnthropicServer, body: Any, betas: str = "", version: str = "2026-10-21") -> tuple[int, str]:
    """Post a body to the Messages API; return the status and the words."""
    headers = {"x-api-key": "k", "anthropic-version": version, **({"anthropic-beta": betas} if betas else {})}
    status, answer = post(f"{server.root}/v1/messages", body, headers)
    return status, answer["error"]["message"] if status != 200 else ""


@pytest.mark.parametrize(("model", "change", "words"), CLAUDE)
def test_claude_refuses(claude: AnthropicServer, model: str, change: dict[str, Any], words: str) -> None:
    status, said = ask_claude(claude, {"model": model, "max_tokens": 900, "messages": [HI], **change})
    assert status == 400
    assert words in said


def test_claude_knows_no_other_models(claude: AnthropicServer) -> None:
    body = {"model": "claude-sonnet-4-0", "max_tokens": 9, "messages": [HI]}
    assert ask_claude(claude, body) == (404, "model: claude-sonnet-4-0")


BETAS: list[tuple[str, dict[str, Any]]] = [
    ("mid-conversation-tool-changes-2026-07-01", {"tools": [TOOL], "messages": [HI, turn("system", ADDITION)]}),
    ("inline-tools-2026-09-15", {"messages": [HI, turn("system", INLINE)]}),
    (
        "mid-conversation-system-clear-at-2026-08-21",
        {"messages": [HI, {"role": "system", "content": "x", "clear_at": "next_user_message"}]},
    ),
    (
        "mid-conversation-output-config-2026-07-01",
        {"messages": [HI, {"role": "system", "content": [], "output_config": {"effort": "low"}}]},
    ),
    ("compact-2026-09-04", {"compaction": {"type": "summarize"}}),
    ("context-management-2025-06-27", {"context_management": {"edits": []}}),
    ("task-budgets-2026-03-13", {"output_config": {"task_budget": {"type": "tokens", "total": 20_000}}}),
]


@pytest.mark.parametrize(("beta", "change"), BETAS)
def test_claude_accepts_beta_fields_with_their_header(
    claude: AnthropicServer, beta: str, change: dict[str, Any]
) -> None:
    body = {"model": SONNET, "max_tokens": 900, "messages": [HI], **change}
    assert ask_claude(claude, body)[0] == 400
    assert ask_claude(claude, body, beta) == (200, "")


ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    (SONNET, {"thinking": {"type": "between_tools"}, "output_config": {"effort": "high"}}),
    (SONNET, {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "max"}}),
    (HAIKU, {"thinking": {"type": "disabled"}}),
    (HAIKU, {"tools": [TOOL], "tool_choice": {"type": "any"}}),
    (SONNET, {"messages": [HI, {"role": "system", "content": "Be brief."}]}),
    (SONNET, {"tools": [TOOL], "tool_choice": {"type": "none"}}),
    (SONNET, form(SCHEMA)),
    ("claude-sonnet-4-5", {"messages": [HI, {"role": "assistant", "content": "A"}]}),
    ("claude-sonnet-5", {"messages": [HI, {"role": "system", "content": "x"}]}),
    (SONNET, {"messages": [HI, HI]}),
]


@pytest.mark.parametrize(("model", "change"), ACCEPTED)
def test_claude_accepts(claude: AnthropicServer, model: str, change: dict[str, Any]) -> None:
    assert ask_claude(claude, {"model": model, "max_tokens": 900, "messages": [HI], **change}) == (200, "")


def test_claude_refuses_a_change_of_effort_between_tools(claude: AnthropicServer) -> None:
    entry = {"role": "system", "content": [], "output_config": {"effort": "low"}}
    body = {"model": SONNET, "max_tokens": 900, "messages": [HI, entry], "thinking": {"type": "between_tools"}}
    status, said = ask_claude(claude, body, "mid-conversation-output-config-2026-07-01")
    assert (status, "between_tools" in said) == (400, True)


def test_claude_takes_sampling_in_the_older_version_on_older_models() -> None:
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [HI], "temperature": 0.2}
    with pytest.raises(Refusal, match="SDK types"):  # The newer SDK has no such field any more.
        anthropic_server.check_types(body)
    assert anthropic_server.check_request(body, set(), "2023-06-01")[0] == "claude-sonnet-4-5"
