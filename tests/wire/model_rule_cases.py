"""For every rule that follows from facts about a model: a body that breaks it, the server's words, and a sound twin."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tests.wire.rule_cases import (
    ASK,
    CASES,
    ENABLED,
    FUNCTION,
    MESSAGES,
    TOOL,
    WORDS,
    Body,
    add,
    anthropic,
    assistant,
    both,
    call,
    chat,
    claude,
    declared,
    drop,
    gemini,
    generate,
    nested,
    openai_chat,
    openai_responses,
    put,
    respond,
    result,
    said,
    text,
    user,
)

__all__ = ["CASES"]

NEWEST = "claude-sonnet-5-5"
SINCE = {"anthropic-version": "2026-10-21"}
ADAPTIVE = {"type": "adaptive"}


def beta(*names: str) -> dict[str, str]:
    return {"Anthropic-Version": "2026-10-21", "Anthropic-Beta": ", ".join(names)}


def newest(*messages: Body, **more: Any) -> Body:
    return claude(*(messages or (user(text()),)), **{"model": NEWEST, **more})


# A27 to A30: options

FORCED = "tool_choice: type '{}' is not supported by this model. Use 'auto' or 'none'."
for model in ("claude-fable-5-2", "claude-fable-5-1", "claude-mythos-5-1", "claude-opus-5-5", NEWEST):
    anthropic(
        f"a forced call of {model}",
        "A27",
        FORCED.format("any"),
        newest(model=model, tools=[TOOL], tool_choice={"type": "auto"}),
        put("any", "tool_choice", "type"),
        param="tool_choice",
    )
anthropic(
    "a forced tool for a model that took it until now",
    "A27",
    FORCED.format("tool"),
    newest(model="claude-haiku-5-5", tools=[TOOL], tool_choice={"type": "tool", "name": "add"}),
    put(NEWEST, "model"),
)
USE_ADAPTIVE = ' Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
for model, kind, words in (
    ("claude-fable-5-2", "disabled", '"thinking.type.disabled" is not supported for this model.'),
    ("claude-opus-5-5", "between_tools", '"thinking.type.between_tools" is not supported for this model.'),
    (NEWEST, "disabled", '"thinking.type.disabled" is not supported for this model.'),
    ("claude-haiku-5-5", "enabled", '"thinking.type.enabled" is not supported for this model.' + USE_ADAPTIVE),
    ("claude-opus-5", "enabled", '"thinking.type.enabled" is not supported for this model.' + USE_ADAPTIVE),
    ("claude-opus-4-8", "enabled", '"thinking.type.enabled" is not supported for this model.' + USE_ADAPTIVE),
):
    anthropic(
        f"{kind} thinking of {model}",
        "A28",
        words,
        newest(model=model, thinking={"type": "adaptive", "budget_tokens": 1024}),
        put(kind, "thinking", "type"),
        param="thinking",
    )
anthropic(
    "adaptive thinking of an older model",
    "A28",
    "adaptive thinking is not supported on this model",
    claude(user(text()), thinking=ENABLED),
    put("adaptive", "thinking", "type"),
)
anthropic(
    "thinking of a kind that nobody has",
    "A28",
    "thinking: Input tag 'deep' found using 'type' does not match any of the expected tags: 'adaptive', "
    "'between_tools', 'disabled', 'enabled'",
    newest(thinking=ADAPTIVE),
    put("deep", "thinking", "type"),
)
anthropic(
    "effort that the model does not have",
    "A29",
    "This model does not support effort level 'xhigh'. Supported levels: low, medium, high, max.",
    newest(model="claude-opus-4-6", output_config={"effort": "max"}),
    put("xhigh", "output_config", "effort"),
    param="output_config.effort",
)
anthropic(
    "effort of a model without",
    "A29",
    "This model does not support the effort parameter.",
    newest(model="claude-opus-4-5", output_config={"effort": "low"}),
    put("claude-haiku-4-5", "model"),
)
for model, kind in ((NEWEST, "between_tools"), ("claude-haiku-5-5", "disabled"), ("claude-opus-5", "disabled")):
    anthropic(
        f"the highest effort of {model} with {kind}",
        "A29",
        f"output_config.effort: 'max' is not supported with \"thinking.type.{kind}\". The highest level is 'high'.",
        newest(model=model, thinking={"type": kind}, output_config={"effort": "high"}),
        put("max", "output_config", "effort"),
    )
for name, value in (("temperature", 1), ("top_p", 1), ("top_k", 40)):
    anthropic(
        f"{name} at a version that has none",
        "A30",
        f"`{name}` is deprecated for this model.",
        newest(model="some-model"),
        put(value, name),
        param=name,
        headers=SINCE,
    )
anthropic(
    "temperature of a newer model",
    "A30",
    "`temperature` is deprecated for this model.",
    newest(model="claude-opus-4-8"),
    put(0.5, "temperature"),
)

# A31, A32 and A43: schemas

CLOSED = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1}},
    "required": ["n", "tags"],
    "additionalProperties": False,
}
FORM = ("output_config", "format", "schema")


def formed(schema: Body = CLOSED, **more: Any) -> Body:
    return newest(output_config={"format": {"type": "json_schema", "schema": deepcopy(schema)}}, **more)


def strict(schema: Body = CLOSED) -> Body:
    return {"name": "f", "strict": True, "input_schema": deepcopy(schema)}


PLACE = "output_config.format.schema: "
for what, words, change in (
    (
        "a bound",
        "For 'integer' type, property 'minimum' is not supported",
        put(0, *FORM, "properties", "n", "minimum"),
    ),
    (
        "two bounds",
        "For 'integer' type, properties 'maximum', 'minimum' are not supported",
        put({"type": "integer", "minimum": 0, "maximum": 9}, *FORM, "properties", "n"),
    ),
    (
        "two items at least",
        "For 'array' type, property 'minItems' is not supported",
        put(2, *FORM, "properties", "tags", "minItems"),
    ),
    (
        "an unknown format",
        "For 'string' type, format 'regex' is not supported",
        put({"type": "string", "format": "regex"}, *FORM, "properties", "tags", "items"),
    ),
    (
        "an open object",
        "For 'object' type, 'additionalProperties' must be explicitly set to false",
        drop(*FORM, "additionalProperties"),
    ),
    (
        "an open object inside",
        "For 'object' type, 'additionalProperties' must be explicitly set to false",
        put({"type": "object", "properties": {}}, *FORM, "properties", "tags", "items"),
    ),
    (
        "recursion",
        "Circular reference detected in schema definitions",
        both(
            put({"node": {"type": "array", "items": {"$ref": "#/$defs/node"}}}, *FORM, "$defs"),
            put({"$ref": "#/$defs/node"}, *FORM, "properties", "tags"),
        ),
    ),
    (
        "a reference to the root",
        "Circular reference detected in schema definitions",
        put({"$ref": "#"}, *FORM, "properties", "n"),
    ),
):
    anthropic(f"{what} in a form", "A31", PLACE + words, formed(), change, param="output_config.format.schema")
anthropic(
    "a pattern of properties in a strict tool",
    "A31",
    "tools.0.custom: For 'object' type, property 'patternProperties' is not supported",
    newest(tools=[strict()]),
    put({}, "tools", 0, "input_schema", "patternProperties"),
    param="tools.0.custom",
)
OPTIONAL = {
    "type": "object",
    "properties": {f"p{n}": {"type": "string"} for n in range(24)},
    "required": [],
    "additionalProperties": False,
}
anthropic(
    "too many optional properties",
    "A32",
    "Schemas contains too many optional parameters (25), which would make grammar compilation inefficient. Reduce the "
    "number of optional parameters in your tool schemas (limit: 24).",
    newest(tools=[strict(OPTIONAL), strict()]),
    drop("tools", 1, "input_schema", "required", 0),
)
anthropic(
    "too many strict tools",
    "A32",
    "Schema is too complex for compilation. Try reducing the number of tools or simplifying tool schemas. "
    "Strict tools: 21 (limit: 20).",
    newest(tools=[strict()] * 20),
    add(strict(), "tools"),
)
UNIONS = {
    "type": "object",
    "properties": {f"p{n}": {"type": ["string", "null"]} for n in range(16)},
    "required": [f"p{n}" for n in range(16)],
    "additionalProperties": False,
}
anthropic(
    "too many unions",
    "A32",
    "Schema is too complex for compilation. Try reducing the number of tools or simplifying tool schemas. "
    "Parameters with union types: 17 (limit: 16).",
    formed(UNIONS, tools=[strict()]),
    put({"anyOf": [{"type": "string"}, {"type": "null"}]}, "tools", 0, "input_schema", "properties", "n"),
)
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
anthropic(
    "a form beside a document to cite",
    "A43",
    "output_config.format: structured output is not supported with citations",
    formed() | {MESSAGES: [user(dict(DOCUMENT), text())]},
    put({"enabled": True}, MESSAGES, 0, "content", 0, "citations"),
)

# A33 to A35: entries

DEFERRED = {**TOOL, "defer_loading": True}


def system(*blocks: Body, **more: Any) -> Body:
    return {"role": "system", "content": list(blocks), **more}


def addition(name: str = "add", type_: str = "tool_addition") -> Body:
    return {"type": type_, "tool": {"type": "tool_reference", "name": name}}


def inline(type_: str = "tool_addition") -> Body:
    return {"type": type_, "tool": {"type": "tool_definition", "definition": {**TOOL, "name": "late"}}}


WITH_TOOL = newest(user(text()), system(addition()), tools=[DEFERRED])
anthropic(
    "an added tool that nobody declared",
    "A33",
    "messages.1.content.0: `tool_addition` references unknown tool 'other'",
    WITH_TOOL,
    put("other", MESSAGES, 1, "content", 0, "tool", "name"),
)
anthropic(
    "a tool removed before it is defined",
    "A33",
    "messages.1.content.0: `tool_removal` references unknown tool 'late'",
    newest(user(text()), system(inline()), system(addition("late", "tool_removal"))),
    lambda body: body[MESSAGES].insert(1, body[MESSAGES].pop()),
)
anthropic(
    "a tool added in the user's name",
    "A33",
    "messages.1.content.0: `tool_addition` blocks can only be in `system` messages",
    WITH_TOOL,
    put("user", MESSAGES, 1, "role"),
)
anthropic(
    "a tool added to a model that does not know of it",
    "A33",
    "messages.1.content.0: `tool_addition` blocks are not supported by this model",
    WITH_TOOL,
    put("claude-sonnet-5", "model"),
)
anthropic(
    "a definition that is removed",
    "A33",
    "messages.1.content.0: `tool_definition` is not supported here. Use a `tool_reference`.",
    newest(user(text()), system(inline())),
    put("tool_removal", MESSAGES, 1, "content", 0, "type"),
)
anthropic(
    "a reminder in the user's name",
    "A34",
    "messages.1.clear_at: Extra inputs are not permitted",
    newest(user(text()), system(text(), clear_at="next_user_message")),
    put("user", MESSAGES, 1, "role"),
)
anthropic(
    "a reminder for some time",
    "A34",
    "messages.1.clear_at: Input should be 'next_user_message'",
    newest(user(text()), system(text(), clear_at="next_user_message")),
    put("tomorrow", MESSAGES, 1, "clear_at"),
)
EFFORT = newest(user(text()), system(output_config={"effort": "low"}), thinking=ADAPTIVE)
anthropic(
    "changed effort between tools",
    "A35",
    'messages.1.output_config: effort cannot change within a conversation with "thinking.type.between_tools"',
    EFFORT,
    put("between_tools", "thinking", "type"),
)
anthropic(
    "changed effort of a model that does not know of it",
    "A35",
    "messages.1.output_config: Extra inputs are not permitted",
    EFFORT,
    put("claude-fable-5", "model"),
)
anthropic(
    "changed effort that the model does not have",
    "A29",
    "This model does not support effort level 'huge'. Supported levels: low, medium, high, xhigh, max.",
    EFFORT,
    put("huge", MESSAGES, 1, "output_config", "effort"),
    param="messages.1.output_config.effort",
)

# A36 to A39: roles, containers, calls of the server

anthropic(
    "a document in the assistant's name",
    "A36",
    "messages.1.content.0: `document` blocks are not permitted in `assistant` messages",
    newest(user(text()), assistant(text()), user(text())),
    put(DOCUMENT, MESSAGES, 1, "content", 0),
    headers=SINCE,
)
anthropic(
    "citations of the user",
    "A37",
    "messages.0.content.0.text.citations: citations are only permitted in `assistant` messages",
    newest(user({**text(), "citations": []})),
    put([{"type": "char_location"}], MESSAGES, 0, "content", 0, "citations"),
    headers=SINCE,
)
CODE = {"type": "code_execution_20260521", "name": "code_execution"}
anthropic(
    "a container without code",
    "A38",
    "container: a container requires the code execution tool",
    newest(tools=[CODE], container="container_1"),
    put([TOOL], "tools"),
)
anthropic(
    "a container as an object",
    "A38",
    "container: Input should be a valid string",
    newest(tools=[CODE], container={"id": "container_1", "skills": []}),
    drop("container", "skills"),
)
PROGRAMMATIC = {**call(), "caller": {"type": "code_execution_20260521", "tool_id": "srvtoolu_1"}}
anthropic(
    "a call out of code without its container",
    "A38",
    "container_id is required when there are pending tool uses generated by code execution with tools.",
    newest(user(text()), assistant(PROGRAMMATIC), user(result()), tools=[CODE, TOOL], container="container_1"),
    drop("container"),
)
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
anthropic(
    "words behind a server's call that has no result",
    "A39",
    "messages.1: `web_search` tool use with id `srvtoolu_1` was found without a corresponding "
    "`web_search_tool_result` block",
    newest(user(text()), assistant(SEARCH, FOUND), user(text())),
    drop(MESSAGES, 1, "content", 1),
)
anthropic(
    "words behind a paused turn",
    "A39",
    "messages.1: `web_search` tool use with id `srvtoolu_1` was found without a corresponding "
    "`web_search_tool_result` block",
    newest(user(text()), assistant(SEARCH)),
    add(user(text("Please go on.")), MESSAGES),
)

# A40: betas

EXTRA = "{}: Extra inputs are not permitted"
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
for name, path, sound in (
    ("thinking-binding-controls-2026-08-01", "thinking.adaptive.block_binding", newest(thinking=DROP)),
    (
        "thinking-display-updates-2026-08-18",
        "thinking.adaptive.display",
        newest(model="claude-fable-5-1", thinking={"type": "adaptive", "display": "updates"}),
    ),
    ("mid-conversation-output-config-2026-07-01", "messages.1.output_config", EFFORT),
    ("mid-conversation-tool-changes-2026-07-01", "messages.1.content.0", WITH_TOOL),
    ("inline-tools-2026-09-15", "messages.1.content.0", newest(user(text()), system(inline()))),
    (
        "mid-conversation-system-clear-at-2026-08-21",
        "messages.1.clear_at",
        newest(user(text()), system(text(), clear_at="next_user_message")),
    ),
    ("compact-2026-09-04", "compaction", newest(compaction={"type": "summarize"})),
    (
        "compact-2026-01-12",
        "context_management.edits.0",
        newest(context_management={"edits": [{"type": "compact_20260112"}]}),
    ),
    ("message-threads-2026-08-12", "thread", newest(thread={"type": "create"})),
    ("mcp-client-2026-09-15", "mcp_servers", newest(mcp_servers=[{"type": "url", "url": "https://example.org"}])),
    ("server-side-fallback-2026-07-01", "fallbacks", newest(fallbacks="default")),
    (
        "task-budgets-2026-03-13",
        "output_config.task_budget",
        newest(output_config={"task_budget": {"type": "tokens", "total": 20000}}),
    ),
):
    anthropic(
        f"no {name}",
        "A40",
        EXTRA.format(path),
        sound,
        lambda body: body,
        param=path,
        headers=SINCE,
        sound_headers=beta("some-other-2026-01-01", name),
    )
anthropic(
    "a binding of thinking that is not adaptive",
    "A40",
    EXTRA.format("thinking.between_tools.block_binding"),
    newest(thinking=DROP),
    put("between_tools", "thinking", "type"),
)

# A41: marks

HOUR, MINUTES = {"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}
MARKS = newest(user({**text(), "cache_control": MINUTES}), system=[{**text(), "cache_control": HOUR}])
anthropic(
    "a longer mark behind a shorter one",
    "A41",
    "messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
    "cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
    MARKS,
    both(put(HOUR, MESSAGES, 0, "content", 0, "cache_control"), put(MINUTES, "system", 0, "cache_control")),
)
anthropic(
    "a mark for a day",
    "A41",
    "system.0.cache_control.ttl: Input should be '5m' or '1h'",
    MARKS,
    put("24h", "system", 0, "cache_control", "ttl"),
)
anthropic(
    "a mark on a deferred tool",
    "A41",
    "tools.0: Tool 'add' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot "
    "use prompt caching.",
    newest(tools=[DEFERRED]),
    put(MINUTES, "tools", 0, "cache_control"),
)
anthropic(
    "a mark on a reminder",
    "A41",
    "messages.1.content.0.cache_control: cache_control is not supported in a message with `clear_at`",
    newest(user(text()), system(text(), clear_at="next_user_message")),
    put(MINUTES, MESSAGES, 1, "content", 0, "cache_control"),
)
anthropic(
    "four marks and the moving one",
    "A24",
    "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    newest(user(*[{**text(), "cache_control": MINUTES}] * 4)),
    put(MINUTES, "cache_control"),
)

# A44 to A47

WARMING = newest(max_tokens=0, tools=[TOOL], tool_choice={"type": "auto"}, model="claude-haiku-5-5")
for name, change in (
    ("stream", put(True, "stream")),
    ("output_config.format", put({"format": {"type": "json_schema", "schema": CLOSED}}, "output_config")),
    ("tool_choice", put("any", "tool_choice", "type")),
):
    anthropic(
        f"filling the cache with {name}",
        "A44",
        f"max_tokens: 0 is not supported together with `{name}`",
        WARMING,
        change,
    )
anthropic(
    "more output than the model has",
    "A45",
    "max_tokens: 128001 > 128000, which is the maximum allowed number of output tokens for claude-sonnet-5-5",
    newest(max_tokens=128000),
    put(128001, "max_tokens"),
)
for budget, words in (
    (1023, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"),
    (None, "thinking.enabled.budget_tokens: Field required"),
    (2000, "`max_tokens` must be greater than `thinking.budget_tokens`."),
):
    anthropic(
        f"a budget of {budget}",
        "A46",
        words,
        claude(user(text()), thinking=ENABLED),
        put(budget, "thinking", "budget_tokens"),
    )
anthropic(
    "an id of another API to compare with",
    "A47",
    "diagnostics.previous_message_id: String should match pattern '^msg_'",
    newest(diagnostics={"previous_message_id": "msg_1"}),
    put("resp_1", "diagnostics", "previous_message_id"),
)

# OpenAI


def reasons(**more: Any) -> Body:
    return chat(ASK, **{"model": "gpt-6-sol", **more})


for model, effort in (("gpt-6-sol", "low"), ("gpt-5.6-terra", "medium"), ("gpt-5.4-mini", "high")):
    openai_chat(
        f"functions while {model} reasons",
        "O15",
        f"Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use function "
        "tools, use /v1/responses or set reasoning_effort to 'none'.",
        reasons(model=model, tools=[FUNCTION], reasoning_effort="none"),
        put(effort, "reasoning_effort"),
        param="reasoning_effort",
    )
openai_chat(
    "functions with the effort that is the default",
    "O15",
    "Function tools with reasoning_effort are not supported for gpt-6-sol in /v1/chat/completions. To use function "
    "tools, use /v1/responses or set reasoning_effort to 'none'.",
    reasons(tools=[FUNCTION], reasoning_effort="none"),
    drop("reasoning_effort"),
)
openai_chat(
    "functions of a model that always reasons",
    "O15",
    "Function tools with reasoning_effort are not supported for gpt-6.1-sol in /v1/chat/completions. To use function "
    "tools, use /v1/responses or set reasoning_effort to 'none'.",
    reasons(model="gpt-6.1-sol"),
    put([FUNCTION], "tools"),
)
openai_chat(
    "the old limit of output",
    "O16",
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    reasons(max_completion_tokens=9),
    put(9, "max_tokens"),
    error_code="unsupported_parameter",
)
openai_chat(
    "an effort that the model does not have",
    "O17",
    "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'none', "
    "'low', 'medium', 'high', and 'xhigh'.",
    reasons(reasoning_effort="low"),
    put("minimal", "reasoning_effort"),
    error_code="unsupported_value",
)
openai_chat(
    "an effort that only Responses has",
    "O17",
    "Unsupported value: 'reasoning_effort' does not support 'max' with this model. Supported values are: 'low', "
    "'medium', 'high', and 'xhigh'.",
    reasons(model="gpt-6-astra", reasoning_effort="xhigh"),
    put("max", "reasoning_effort"),
)
openai_chat(
    "effort of a model that does not reason",
    "O17",
    "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
    chat(ASK),
    put("low", "reasoning_effort"),
)
openai_chat(
    "temperature while the model reasons",
    "O18",
    "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
    reasons(temperature=0.2, reasoning_effort="none"),
    put("low", "reasoning_effort"),
    param="temperature",
)
openai_chat(
    "probabilities while the model reasons",
    "O18",
    "Unsupported parameter: 'logprobs' is not supported with this model.",
    reasons(logprobs=True, reasoning_effort="none"),
    drop("reasoning_effort"),
)
openai_chat(
    "a forced call while the model thinks",
    "O19",
    "Thinking mode does not support this tool_choice",
    chat(ASK, model="deepseek-v4-flash", tools=[FUNCTION], tool_choice="required", thinking={"type": "disabled"}),
    drop("thinking"),
    provider="deepseek",
)
openai_chat(
    "a forced call of a model that has none",
    "O19",
    "tool_choice 'required' is not supported by this model",
    chat(ASK, model="kimi-k3", tools=[FUNCTION], tool_choice="auto"),
    put("required", "tool_choice"),
    provider="moonshot",
)
openai_chat(
    "a cache for half a day",
    "O20",
    "Invalid value: '12h'. Supported values are: '30m'.",
    reasons(prompt_cache_options={"ttl": "30m"}),
    put("12h", "prompt_cache_options", "ttl"),
)
TOGETHER = "Invalid request: 'prompt_cache_retention' and 'prompt_cache_options' cannot be used together."
openai_chat(
    "the old and the new options of the cache",
    "O20",
    TOGETHER,
    reasons(prompt_cache_options={"ttl": "30m"}),
    put("24h", "prompt_cache_retention"),
)
openai_chat(
    "a schema where there is JSON alone",
    "O21",
    "This response_format type is unavailable now",
    chat(ASK, model="deepseek-v4-flash", response_format={"type": "json_object"}),
    put({"type": "json_schema", "json_schema": {"name": "r", "schema": {}}}, "response_format"),
    provider="deepseek",
)
LEVELS: Body = {"type": "string"}
for _ in range(10):
    LEVELS = {"type": "object", "properties": {"a": LEVELS}, "required": ["a"], "additionalProperties": False}
STRICT_FORM = {
    "format": {
        "type": "json_schema",
        "name": "r",
        "strict": True,
        "schema": CLOSED | {"properties": {}, "required": []},
    }
}
for what, fault, schema in (
    (
        "a word that is not known",
        "In context=('properties', 'a'), 'minLength' is not permitted.",
        {**LEVELS, "properties": {"a": {"type": "string", "minLength": 1}}},
    ),
    (
        "a format that is not known",
        "In context=('properties', 'a'), 'uri' is not a valid format.",
        {**LEVELS, "properties": {"a": {"type": "string", "format": "uri"}}},
    ),
    ("eleven levels", "11 levels of nesting exceeds limit of 10.", {**LEVELS, "properties": {"a": LEVELS}}),
):
    openai_responses(
        f"{what} in a strict function",
        "R22",
        f"Invalid schema for function 'f': {fault}",
        respond(ASK, tools=[{"type": "function", "name": "f", "strict": True, "parameters": LEVELS}]),
        put(schema, "tools", 0, "parameters"),
        param="tools[0].parameters",
        error_code="invalid_function_parameters",
    )
openai_responses(
    "an open object in a strict form",
    "R22",
    "Invalid schema for response_format 'r': In context=(), 'additionalProperties' is required to be supplied and to "
    "be false.",
    respond(ASK, text=STRICT_FORM),
    drop("text", "format", "schema", "additionalProperties"),
    error_code="invalid_json_schema",
)


def asks(*items: Body, **more: Any) -> Body:
    return respond(*(items or (ASK,)), **{"model": "gpt-6.1-sol", **more})


for effort in ("none", "minimal"):
    openai_responses(
        f"effort {effort} of a model that always reasons",
        "R19",
        f"Unsupported value: 'reasoning.effort' does not support '{effort}' with this model. Supported values are: "
        "'low', 'medium', 'high', 'xhigh', and 'max'.",
        asks(reasoning={"effort": "low"}),
        put(effort, "reasoning", "effort"),
        param="reasoning.effort",
        error_code="unsupported_value",
    )
openai_responses(
    "temperature of a model that always reasons",
    "R20",
    "Unsupported parameter: 'temperature' is not supported with this model.",
    asks(model="gpt-6-sol", temperature=1, reasoning={"effort": "none"}),
    put("low", "reasoning", "effort"),
)
UPDATE = {"type": "configuration_update", "reasoning": {"effort": "low"}}
openai_responses(
    "two updates in a row",
    "R21",
    "Consecutive 'configuration_update' items are not supported.",
    asks(ASK, UPDATE, ASK, UPDATE),
    drop("input", 2),
)
openai_responses(
    "an update in the mode pro",
    "R21",
    "The 'configuration_update' item type is not supported with pro or tournament models.",
    asks(ASK, UPDATE, reasoning={"mode": "standard"}),
    put("pro", "reasoning", "mode"),
    param="input[1].type",
)
openai_responses(
    "an update of a model that does not know of it",
    "R21",
    "The 'configuration_update' item type is not supported with this model.",
    asks(ASK, UPDATE),
    put("gpt-5-mini", "model"),
    error_code="unsupported_value",
)
openai_responses(
    "the choice of a tool that is not there",
    "R23",
    "Tool choice 'g' not found in 'tools' parameter.",
    asks(tools=[{"type": "function", "name": "f", "parameters": {}}], tool_choice={"type": "function", "name": "f"}),
    put("g", "tool_choice", "name"),
)
openai_responses(
    "an answer in the background that is not stored",
    "R24",
    "Background responses are only supported when 'store' is true.",
    asks(background=True, store=True),
    put(False, "store"),
)
openai_responses(
    "an id of another API to compare with",
    "R25",
    "Invalid 'prompt_cache_options.comparison_response_id': 'msg_1'. Expected an ID that begins with 'resp'.",
    asks(prompt_cache_options={"ttl": "12h", "comparison_response_id": "resp_1"}),
    put("msg_1", "prompt_cache_options", "comparison_response_id"),
)
ADDED = {
    "type": "additional_tools",
    "role": "developer",
    "tools": [{"type": "function", "name": "f", "parameters": {}}],
}
openai_responses(
    "tools added to a model that does not know of it",
    "R26",
    "The 'additional_tools' item type is not supported with this model.",
    asks(ASK, ADDED),
    put("gpt-5-mini", "model"),
)
openai_responses(
    "a forced call while the model thinks",
    "R27",
    "Thinking mode does not support this tool_choice",
    asks(model="deepseek-v4-flash", tool_choice="required", thinking={"type": "disabled"}),
    drop("thinking"),
    provider="deepseek",
)

# Gemini


def thinks(model: str, config: Body) -> Body:
    return generate(said(WORDS), model=model, generationConfig={"thinkingConfig": config})


CONFIG = ("generationConfig", "thinkingConfig")
gemini(
    "a level and a budget",
    "G15",
    "You can only set only one of thinking budget and thinking level.",
    thinks("gemini-3.6-flash", {"thinkingLevel": "low"}),
    put(128, *CONFIG, "thinkingBudget"),
)
for model in ("gemini-3.8-flash", "gemini-4-argon", "gemini-3.1-pro-preview"):
    gemini(
        f"the least level of {model}",
        "G16",
        "Thinking level MINIMAL is not supported for this model.",
        thinks(model, {"thinkingLevel": "LOW"}),
        put("minimal", *CONFIG, "thinkingLevel"),
        model=model,
    )
gemini(
    "a level of a model with budgets",
    "G16",
    "Thinking level is not supported for this model.",
    thinks("gemini-2.5-flash", {}),
    put("low", *CONFIG, "thinking_level"),
    model="gemini-2.5-flash",
)
gemini(
    "a budget of a model with levels",
    "G17",
    "Thinking budget is not supported for this model.",
    thinks("gemini-4-argon", {}),
    put(1024, *CONFIG, "thinkingBudget"),
    model="gemini-4-argon",
)
gemini(
    "no thinking where there always is",
    "G17",
    "Budget 0 is invalid. This model only works in thinking mode.",
    thinks("gemini-2.5-pro", {"thinkingBudget": -1}),
    put(0, *CONFIG, "thinkingBudget"),
    model="gemini-2.5-pro",
)
gemini(
    "a budget that is too large",
    "G17",
    "The thinking budget 24577 is invalid. Please choose a value between 0 and 24576.",
    thinks("gemini-2.5-flash", {"thinkingBudget": 0}),
    put(24577, *CONFIG, "thinkingBudget"),
    model="gemini-2.5-flash",
)
JSON_SCHEMA = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0}}}
NO_FIELD = "Invalid JSON payload received. Unknown name \"{}\" at '{}': Cannot find field."
gemini(
    "a constant in a form",
    "G18",
    NO_FIELD.format("const", "generation_config.response_json_schema.properties[a]"),
    generate(said(WORDS), generationConfig={"responseJsonSchema": deepcopy(JSON_SCHEMA)}),
    put(1, "generationConfig", "responseJsonSchema", "properties", "a", "const"),
)
gemini(
    "an open bound of a function",
    "G18",
    NO_FIELD.format("exclusiveMinimum", "tools[0].function_declarations[0].parameters_json_schema.properties[a]"),
    generate(
        said(WORDS),
        tools=[{"functionDeclarations": [{"name": "f", "parametersJsonSchema": deepcopy(JSON_SCHEMA)}]}],
    ),
    put(0, "tools", 0, "functionDeclarations", 0, "parametersJsonSchema", "properties", "a", "exclusiveMinimum"),
)
gemini(
    "tools beside a cache that has them",
    "G19",
    "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.\n\n"
    "Proposed fix: move those values to CachedContent from GenerateContent request.",
    declared(nested()),
    put("cachedContents/1", "cachedContent"),
)
