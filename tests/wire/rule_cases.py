"""For every rule a body that breaks it, with the provider's answer, and a twin that does not."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """`code` and `message` are what the broken body must give; `param` is looked at where it is given."""

    name: str
    api: str
    code: str
    message: str
    broken: Body
    sound: Body
    param: str | None = None
    error_code: str = ""
    model: str | None = None
    provider: str | None = None
    headers: dict[str, str] | None = None
    #: The headers of the sound twin, where those are what is broken.
    sound_headers: dict[str, str] | None = None


CASES: list[Case] = []


def case(
    name: str, api: str, code: str, message: str, sound: Body, breaking: Callable[[Body], object], **more: Any
) -> None:
    """Add a case whose broken body is the sound one after `breaking` has changed it."""
    broken = deepcopy(sound)
    breaking(broken)
    CASES.append(Case(name, api, code, message, broken, sound, **more))


def put(value: Any, *path: Any) -> Callable[[Body], object]:
    """A change that sets the field at `path`."""

    def change(body: Any) -> None:
        for step in path[:-1]:
            body = body[step]
        body[path[-1]] = value

    return change


def drop(*path: Any) -> Callable[[Body], object]:
    """A change that removes the field or the entry at `path`."""

    def change(body: Any) -> None:
        for step in path[:-1]:
            body = body[step]
        del body[path[-1]]

    return change


def add(value: Any, *path: Any) -> Callable[[Body], object]:
    """A change that appends to the list at `path`."""

    def change(body: Any) -> None:
        for step in path:
            body = body[step]
        body.append(value)

    return change


def both(*changes: Callable[[Body], object]) -> Callable[[Body], object]:
    """One change after the other."""
    return lambda body: [change(body) for change in changes]


# Anthropic


def text(words: str = "Hello") -> Body:
    return {"type": "text", "text": words}


def call(id_: str = "toolu_1") -> Body:
    return {"type": "tool_use", "id": id_, "name": "add", "input": {"a": 1}}


def result(id_: str = "toolu_1", **more: Any) -> Body:
    return {"type": "tool_result", "tool_use_id": id_, "content": "2", **more}


def thought() -> Body:
    return {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


def user(*blocks: Body) -> Body:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Body) -> Body:
    return {"role": "assistant", "content": list(blocks)}


def claude(*messages: Body, model: str = "claude-sonnet-4-5", **more: Any) -> Body:
    return {"model": model, "max_tokens": 2000, "messages": list(messages), **more}


def anthropic(name: str, code: str, message: str, sound: Body, breaking: Callable[[Body], object], **more: Any) -> None:
    case(name, "anthropic", code, message, sound, breaking, **more)


LOOP = claude(user(text()), assistant(call()), user(result()))
PARALLEL = claude(user(text()), assistant(call(), call("toolu_2")), user(result(), result("toolu_2")))
UNANSWERED = (
    "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: {}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
ORPHAN = (
    "{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. "
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
)
MESSAGES = "messages"

anthropic("no messages", "A0", "messages: Field required", LOOP, drop(MESSAGES), param="messages")
anthropic("messages no list", "A0", "messages: Input should be a valid list", LOOP, put({}, MESSAGES))
anthropic("messages empty", "A0", "messages: at least one message is required", LOOP, put([], MESSAGES))
anthropic("no model", "A0", "model: Field required", LOOP, drop("model"))
anthropic("no max_tokens", "A0", "max_tokens: Field required", LOOP, drop("max_tokens"))
anthropic(
    "unknown role",
    "A0",
    "messages.0.role: Input should be 'user' or 'assistant'",
    LOOP,
    put("tool", MESSAGES, 0, "role"),
    param="messages.0.role",
)
anthropic(
    "no id", "A0", "messages.1.content.0.tool_use.id: Field required", LOOP, drop(MESSAGES, 1, "content", 0, "id")
)
anthropic(
    "a call in the user's name",
    "A0",
    "messages.0.content.0: `tool_use` blocks can only be in `assistant` messages",
    claude(user(text())),
    put(call(), MESSAGES, 0, "content", 0),
)
anthropic(
    "a call without its result",
    "A1",
    UNANSWERED.format("toolu_1"),
    LOOP,
    put([text()], MESSAGES, 2, "content"),
    param="messages.1",
)
anthropic("results for some calls", "A1", UNANSWERED.format("toolu_2"), PARALLEL, drop(MESSAGES, 2, "content", 1))
anthropic("no results at all", "A1", UNANSWERED.format("toolu_1, toolu_2"), PARALLEL, drop(MESSAGES, 2))
anthropic(
    "a result without its call",
    "A2",
    ORPHAN.format("messages.2.content.1", "toolu_9"),
    LOOP,
    add(result("toolu_9"), MESSAGES, 2, "content"),
    param="messages.2.content.1",
)
anthropic(
    "a result at the head",
    "A2",
    ORPHAN.format("messages.0.content.0", "toolu_1"),
    claude(user(text())),
    put([result()], MESSAGES, 0, "content"),
)
anthropic(
    "text before the result",
    "A3",
    UNANSWERED.format("toolu_1"),
    claude(user(text()), assistant(call()), user(result(), text())),
    put([text(), result()], MESSAGES, 2, "content"),
)
anthropic(
    "a message before the result",
    "A3",
    UNANSWERED.format("toolu_1"),
    LOOP,
    lambda body: body[MESSAGES].insert(2, user(text())),
)
anthropic(
    "one id twice in a turn",
    "A4",
    "messages.1.content.1: `tool_use` ids must be unique",
    LOOP,
    add(call(), MESSAGES, 1, "content"),
    param="messages.1.content.1",
)
anthropic(
    "two results for a call",
    "A5",
    "messages.2.content.1: each tool_use must have a single result. "
    "Found multiple `tool_result` blocks with id: toolu_1",
    LOOP,
    add(result(), MESSAGES, 2, "content"),
    param="messages.2.content.1",
)
anthropic(
    "bad characters in an id",
    "A6",
    "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    LOOP,
    both(
        put("functions.add:0", MESSAGES, 1, "content", 0, "id"),
        put("functions.add:0", MESSAGES, 2, "content", 0, "tool_use_id"),
    ),
    param="messages.1.content.0.tool_use.id",
)
anthropic(
    "arguments as a string",
    "A7",
    "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    LOOP,
    put("{}", MESSAGES, 1, "content", 0, "input"),
)
anthropic(
    "no name",
    "A8",
    "messages.1.content.0.tool_use.name: String should have at least 1 character",
    LOOP,
    put("", MESSAGES, 1, "content", 0, "name"),
)
anthropic(
    "a call with an illegal name",
    "A8",
    "messages.1.content.0.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'",
    LOOP,
    put("mcp.server/tool", MESSAGES, 1, "content", 0, "name"),
)
anthropic(
    "a tool with a long name",
    "A8",
    "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    claude(user(text()), tools=[{"name": "f" * 128, "input_schema": {"type": "object"}}]),
    put("f" * 129, "tools", 0, "name"),
)
anthropic(
    "thinking with an empty signature",
    "A17",
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    claude(user(text()), assistant(thought(), call()), user(result())),
    put("", MESSAGES, 1, "content", 0, "signature"),
)
anthropic(
    "empty text",
    "A9",
    "messages: text content blocks must be non-empty",
    LOOP,
    put("", MESSAGES, 0, "content", 0, "text"),
)
anthropic(
    "blank text",
    "A9",
    "messages: text content blocks must contain non-whitespace text",
    LOOP,
    put(" \n", MESSAGES, 0, "content", 0, "text"),
)
anthropic(
    "a blank string",
    "A9",
    "messages: text content blocks must contain non-whitespace text",
    LOOP,
    put(" \n", MESSAGES, 0, "content"),
)
anthropic(
    "blank texts alone",
    "A9",
    "messages: text content blocks must contain non-whitespace text",
    claude(user(text(), text(" "))),
    put("\t", MESSAGES, 0, "content", 0, "text"),
)
anthropic(
    "a blank system text",
    "A9",
    "system: text content blocks must contain non-whitespace text",
    claude(user(text()), system=[text(" "), text()]),
    drop("system", 1),
)
anthropic(
    "an empty message",
    "A10",
    "messages.1: all messages must have non-empty content except for the optional final assistant message",
    claude(user(text()), assistant(text()), user(text())),
    put([], MESSAGES, 1, "content"),
    param="messages.1",
)
anthropic(
    "a prefill ending in a blank",
    "A11",
    "messages: final assistant content cannot end with trailing whitespace",
    claude(user(text()), assistant(text("The answer is"))),
    put("The answer is ", MESSAGES, 1, "content", 0, "text"),
)
PREFILL = "This model does not support assistant message prefill. The conversation must end with a user message."
for newer in ("claude-opus-4-6", "claude-opus-4-8", "claude-sonnet-5", "claude-fable-5"):
    anthropic(
        f"a prefill for {newer}",
        "A12",
        PREFILL,
        claude(user(text()), assistant(text()), user(text()), model=newer),
        drop(MESSAGES, 2),
    )
anthropic(
    "a prefill for a model that took it until now",
    "A12",
    PREFILL,
    claude(user(text()), assistant(text())),
    put("claude-sonnet-4-6", "model"),
)
anthropic(
    "a system message for an older model",
    "A13",
    'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, '
    'not "system" as an input message role.',
    claude(user(text()), {"role": "system", "content": "Be brief."}, model="claude-opus-4-8"),
    put("claude-sonnet-4-5-20250929", "model"),
)
ENABLED = {"type": "enabled", "budget_tokens": 1024}
anthropic(
    "thinking left out of the current loop",
    "A15",
    "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is "
    "enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` "
    "and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this "
    "requirement, disable `thinking`. Please consult our documentation at "
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
    claude(user(text()), assistant(thought(), call()), user(result()), thinking=ENABLED),
    drop(MESSAGES, 1, "content", 0),
    param="messages.1.content.0.type",
)
anthropic(
    "thinking without a signature",
    "A17",
    "messages.1.content.0.thinking.signature: Field required",
    claude(user(text()), assistant(thought(), call()), user(result()), thinking=ENABLED),
    drop(MESSAGES, 1, "content", 0, "signature"),
)
anthropic(
    "thinking at the end though it is off",
    "A19",
    "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain "
    "`thinking`. To use thinking blocks, enable `thinking` in your request.",
    claude(user(text()), assistant(thought(), text()), thinking=ENABLED),
    drop("thinking"),
)
TOOL = {"name": "add", "input_schema": {"type": "object", "properties": {}}}
anthropic(
    "thinking with a forced call",
    "A20",
    "Thinking may not be enabled when tool_choice forces tool use.",
    claude(user(text()), thinking=ENABLED, tools=[TOOL], tool_choice={"type": "auto"}),
    put("any", "tool_choice", "type"),
)
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
anthropic(
    "an image in an error",
    "A21",
    "messages.2.content.0.tool_result: all content must be type `text` if `is_error` is true",
    claude(user(text()), assistant(call()), user(result(content=[IMAGE], is_error=False))),
    put(True, MESSAGES, 2, "content", 0, "is_error"),
)
ADVICE = {"type": "advisor_tool_result", "tool_use_id": "srvtoolu_1", "content": {"type": "advisor_result"}}
anthropic(
    "a server's result without its call",
    "A22",
    "messages.1.content.0: unexpected `tool_use_id` found in `advisor_tool_result` blocks: srvtoolu_1. "
    "Each `advisor_tool_result` block must have a corresponding `server_tool_use` block before it.",
    claude(
        user(text()),
        assistant({"type": "server_tool_use", "id": "srvtoolu_1", "name": "advisor", "input": {}}, ADVICE, text()),
        user(text()),
    ),
    drop(MESSAGES, 1, "content", 0),
)
anthropic(
    "a choice at the root of a schema",
    "A23",
    "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
    claude(user(text()), tools=[TOOL]),
    put([{}], "tools", 0, "input_schema", "anyOf"),
)
MARKED = {**text(), "cache_control": {"type": "ephemeral"}}
anthropic(
    "five cache markers",
    "A24",
    "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    claude(user(MARKED, MARKED, text()), system=[MARKED], tools=[{**TOOL, "cache_control": {"type": "ephemeral"}}]),
    put({"type": "ephemeral"}, MESSAGES, 0, "content", 2, "cache_control"),
)
anthropic(
    "a result that is an object",
    "A26",
    "messages.2.content.0.tool_result.content: Input should be a valid list",
    LOOP,
    put({"sum": 2}, MESSAGES, 2, "content", 0, "content"),
)
anthropic(
    "another provider's image in a result",
    "A26",
    "messages.2.content.0.tool_result.content.0: Input tag 'image_url' found using 'type' does not match any of the "
    "expected tags: 'document', 'image', 'search_result', 'text', 'tool_reference'",
    claude(user(text()), assistant(call()), user(result(content=[IMAGE]))),
    put("image_url", MESSAGES, 2, "content", 0, "content", 0, "type"),
)


# OpenAI Chat Completions


def chat_call(id_: str = "call_1") -> Body:
    return {"id": id_, "type": "function", "function": {"name": "add", "arguments": "{}"}}


def chat(*messages: Body, **more: Any) -> Body:
    return {"model": "gpt-4o", "messages": list(messages), **more}


def openai_chat(
    name: str, code: str, message: str, sound: Body, breaking: Callable[[Body], object], **more: Any
) -> None:
    case(name, "openai-chat", code, message, sound, breaking, **more)


ASK = {"role": "user", "content": "Hello"}
CALLS = {"role": "assistant", "content": None, "tool_calls": [chat_call(), chat_call("call_2")]}
ANSWERS = [{"role": "tool", "tool_call_id": id_, "content": "2"} for id_ in ("call_1", "call_2")]
CHAT_LOOP = chat(ASK, CALLS, *ANSWERS)
CHAT_UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: {}"
)
openai_chat(
    "no messages",
    "O0",
    "Missing required parameter: 'messages'.",
    CHAT_LOOP,
    drop(MESSAGES),
    param="messages",
    error_code="missing_required_parameter",
)
openai_chat(
    "messages no list",
    "O0",
    "Invalid type for 'messages': expected an array of objects, but got an object instead.",
    CHAT_LOOP,
    put({}, MESSAGES),
    error_code="invalid_type",
)
openai_chat(
    "unknown role",
    "O0",
    "Invalid value: 'model'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
    CHAT_LOOP,
    put("model", MESSAGES, 0, "role"),
    error_code="invalid_value",
)
openai_chat(
    "an answer to nothing",
    "O1",
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    chat(ASK, {**CALLS, "tool_calls": [chat_call()]}, ANSWERS[0]),
    put({"role": "assistant", "content": "Hm."}, MESSAGES, 1),
    param="messages.[2].role",
)
openai_chat(
    "an answer to another call",
    "O1",
    "Invalid parameter: 'tool_call_id' of 'call_9' not found in 'tool_calls' of previous message.",
    CHAT_LOOP,
    add({"role": "tool", "tool_call_id": "call_9", "content": ""}, MESSAGES),
    param="messages.[4].tool_call_id",
)
openai_chat(
    "an unanswered call before the user speaks",
    "O2",
    CHAT_UNANSWERED.format("call_2"),
    chat(ASK, CALLS, *ANSWERS, ASK),
    drop(MESSAGES, 3),
    param="messages.[3].role",
)
openai_chat(
    "unanswered calls at the end",
    "O2",
    CHAT_UNANSWERED.format("call_1, call_2"),
    CHAT_LOOP,
    lambda body: body[MESSAGES].__delitem__(slice(2, None)),
    param="messages",
)
openai_chat(
    "a user message between two answers",
    "O3",
    CHAT_UNANSWERED.format("call_2"),
    chat(ASK, CALLS, *ANSWERS, ASK),
    lambda body: body[MESSAGES].insert(3, body[MESSAGES].pop()),
    param="messages.[3].role",
)
openai_chat(
    "an empty list of calls",
    "O4",
    "Invalid 'messages[1].tool_calls': empty array. "
    "Expected an array with minimum length 1, but got an empty array instead.",
    chat(ASK, {"role": "assistant", "content": "Hm."}, ASK),
    put([], MESSAGES, 1, "tool_calls"),
    error_code="empty_array",
)
LONG_ID = "c" * 43
openai_chat(
    "a long id",
    "O5",
    "Invalid 'messages[1].tool_calls[0].id': string too long. "
    "Expected a string with maximum length 40, but got a string with length 43 instead.",
    CHAT_LOOP,
    both(put(LONG_ID, MESSAGES, 1, "tool_calls", 0, "id"), put(LONG_ID, MESSAGES, 2, "tool_call_id")),
    param="messages[1].tool_calls[0].id",
    error_code="string_above_max_length",
)
openai_chat(
    "an id that is not nine letters and digits",
    "O14",
    "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
    chat(ASK, {**CALLS, "tool_calls": [chat_call("abcdef123")]}, {**ANSWERS[0], "tool_call_id": "abcdef123"}),
    both(put("call_1", MESSAGES, 1, "tool_calls", 0, "id"), put("call_1", MESSAGES, 2, "tool_call_id")),
    provider="mistral",
)
NAME = (MESSAGES, 1, "tool_calls", 0, "function", "name")
openai_chat(
    "no name",
    "O6",
    "Invalid 'messages[1].tool_calls[0].function.name': empty string. "
    "Expected a string with minimum length 1, but got an empty string instead.",
    CHAT_LOOP,
    put("", *NAME),
    error_code="empty_string",
)
openai_chat(
    "a name with a dot",
    "O6",
    "Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern. "
    "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    CHAT_LOOP,
    put("math.add", *NAME),
    error_code="invalid_value",
)
openai_chat(
    "an answer without text",
    "O7",
    "Invalid value for 'content': expected a string, got null.",
    CHAT_LOOP,
    put(None, MESSAGES, 2, "content"),
    param="messages.[2].content",
)
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
openai_chat(
    "a choice without tools",
    "O8",
    "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
    chat(ASK, tools=[FUNCTION], tool_choice="auto"),
    drop("tools"),
    param="tool_choice",
)
openai_chat(
    "parallel calls without tools",
    "O8",
    "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
    chat(ASK, tools=[FUNCTION], parallel_tool_calls=False),
    drop("tools"),
)
PICTURE = [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]
openai_chat(
    "an image in an answer",
    "O9",
    "Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', "
    "but this message with role 'tool' contains an image URL.",
    chat(ASK, CALLS, *ANSWERS, {"role": "user", "content": PICTURE}),
    put(PICTURE, MESSAGES, 2, "content"),
)
STRICT = {
    "type": "object",
    "properties": {"p": {"type": "object", "properties": {}, "additionalProperties": False}, "x": {"type": "string"}},
    "required": ["p", "x"],
    "additionalProperties": False,
}
STRICT_TOOLS = chat(ASK, tools=[{"type": "function", "function": {"name": "f", "strict": True, "parameters": STRICT}}])
PARAMETERS = ("tools", 0, "function", "parameters")
for what, fault, change in (
    (
        "an open object",
        "In context=('properties', 'p'), 'additionalProperties' is required to be supplied and to be false.",
        drop(*PARAMETERS, "properties", "p", "additionalProperties"),
    ),
    (
        "an optional property",
        "In context=(), 'required' is required to be supplied and to be an array including every key in properties. "
        "Missing 'x'.",
        drop(*PARAMETERS, "required", 1),
    ),
    (
        "a required property that is not there",
        "In context=(), 'required' must be an array that includes every key in `properties`. "
        "Extra required key 'recipe' supplied.",
        add("recipe", *PARAMETERS, "required"),
    ),
):
    openai_chat(
        f"{what} in strict mode",
        "O10",
        f"Invalid schema for function 'f': {fault}",
        STRICT_TOOLS,
        change,
        param="tools[0].parameters",
        error_code="invalid_function_parameters",
    )
openai_chat(
    "an open object in a strict response format",
    "O10",
    "Invalid schema for response_format 'r': In context=(), "
    "'additionalProperties' is required to be supplied and to be false.",
    chat(
        ASK,
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "r", "strict": True, "schema": deepcopy(STRICT)},
        },
    ),
    put(True, "response_format", "json_schema", "schema", "additionalProperties"),
    param="response_format",
)
openai_chat(
    "no message",
    "O11",
    "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    CHAT_LOOP,
    put([], MESSAGES),
    param="messages",
    error_code="empty_array",
)
openai_chat(
    "required is null",
    "O12",
    "Invalid schema for function 'f': None is not of type 'array'.",
    chat(ASK, tools=[FUNCTION]),
    put(None, *PARAMETERS, "required"),
)
openai_chat(
    "arguments as an object",
    "O12",
    "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but got an object instead.",
    CHAT_LOOP,
    put({}, MESSAGES, 1, "tool_calls", 0, "function", "arguments"),
)
openai_chat(
    "too many tools",
    "O13",
    "Invalid 'tools': array too long. Expected an array with maximum length 128, "
    "but got an array with length 129 instead.",
    chat(ASK, tools=[FUNCTION] * 128),
    add(FUNCTION, "tools"),
    error_code="array_above_max_length",
)


# OpenAI Responses


def item_call(id_: str = "call_1", **more: Any) -> Body:
    return {"type": "function_call", "call_id": id_, "name": "add", "arguments": "{}", **more}


def item_output(id_: str = "call_1", **more: Any) -> Body:
    return {"type": "function_call_output", "call_id": id_, "output": "2", **more}


def respond(*items: Body, **more: Any) -> Body:
    return {"model": "gpt-5", "input": list(items), **more}


def openai_responses(
    name: str, code: str, message: str, sound: Body, breaking: Callable[[Body], object], **more: Any
) -> None:
    case(name, "openai-responses", code, message, sound, breaking, **more)


REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
SAID = {"role": "assistant", "type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Hm."}]}
ITEMS = respond(ASK, item_call(id="fc_1"), item_output())
THOUGHT_ITEMS = respond(ASK, REASONING, SAID, ASK)

openai_responses("no input", "R0", "Missing required parameter: 'input'.", ITEMS, drop("input"), param="input")
openai_responses(
    "input an object",
    "R0",
    "Invalid type for 'input': expected one of a string or array of input items, but got an object instead.",
    ITEMS,
    put({}, "input"),
    error_code="invalid_type",
)
openai_responses(
    "a call without its output",
    "R1",
    "No tool output found for function call call_1.",
    ITEMS,
    drop("input", 2),
    param="input",
)
CUSTOM = {"type": "custom_tool_call", "call_id": "call_1", "name": "shell", "input": "ls"}
openai_responses(
    "a custom call without its output",
    "R17",
    "No tool output found for custom tool call call_1.",
    respond(ASK, CUSTOM, {"type": "custom_tool_call_output", "call_id": "call_1", "output": ""}),
    drop("input", 2),
)
openai_responses(
    "an output without its call",
    "R2",
    "No tool call found for function call output with call_id call_1.",
    ITEMS,
    drop("input", 1),
    param="input",
)
openai_responses(
    "an output that continues nothing",
    "R2",
    "No tool call found for function call output with call_id call_1.",
    respond(item_output(), previous_response_id="resp_1"),
    put(None, "previous_response_id"),
)
openai_responses(
    "a message between a call and its output",
    "R16",
    "No tool output found for tool call call_1.",
    respond(ASK, SAID, item_call(), item_output()),
    put([ASK, item_call(), SAID, item_output()], "input"),
    provider="deepseek",
)
openai_responses(
    "a call with an illegal name",
    "R18",
    "Invalid 'input[1].name': string does not match pattern. Expected a string that matches the pattern "
    "'^[a-zA-Z0-9_-]+$'.",
    ITEMS,
    put("mcp.server/tool", "input", 1, "name"),
)
openai_responses(
    "a function without a name",
    "R18",
    "Invalid 'tools[0].name': empty string. Expected a string with minimum length 1, but got an empty string instead.",
    respond(ASK, tools=[{"type": "function", "name": "f", "parameters": {}}]),
    put("", "tools", 0, "name"),
)
openai_responses(
    "a function with a long name",
    "R18",
    "Invalid 'tools[0].name': string too long. Expected a string with maximum length 128, but got a string with length "
    "129 instead.",
    respond(ASK, tools=[{"type": "function", "name": "f", "parameters": {}}]),
    put("f" * 129, "tools", 0, "name"),
)
ALONE = "Item 'rs_1' of type 'reasoning' was provided without its required following item."
openai_responses("reasoning alone", "R3", ALONE, THOUGHT_ITEMS, drop("input", 2), param="input")
openai_responses(
    "reasoning before rewritten text",
    "R3",
    ALONE,
    THOUGHT_ITEMS,
    put({"role": "assistant", "content": "Other words"}, "input", 2),
)
SAME_ORIGIN = "0c71d6d85ab1ff8c"
SWAPPED = respond(ASK, {**REASONING, "id": f"rs_{SAME_ORIGIN}01"}, {**SAID, "id": f"msg_{SAME_ORIGIN}02"}, ASK)
openai_responses(
    "a message before its reasoning",
    "R4",
    f"Item 'msg_{SAME_ORIGIN}02' was provided without its required 'reasoning' item: 'rs_{SAME_ORIGIN}01'.",
    SWAPPED,
    lambda body: body["input"].insert(1, body["input"].pop(2)),
)
openai_responses(
    "reasoning for a model that does not reason",
    "R5",
    "Reasoning input items can only be provided to a reasoning or computer use model.",
    THOUGHT_ITEMS,
    put("gpt-4o", "model"),
)
openai_responses(
    "a call's id as the item's",
    "R6",
    "Invalid 'input[1].id': 'call_1'. Expected an ID that begins with 'fc'.",
    ITEMS,
    put("call_1", "input", 1, "id"),
    param="input[1].id",
    error_code="invalid_value",
)
openai_responses(
    "an empty item id",
    "R7",
    "Invalid 'input[1].id': ''. Expected an ID that contains letters, numbers, underscores, or dashes, "
    "but this value contained additional characters.",
    ITEMS,
    put("", "input", 1, "id"),
)
openai_responses(
    "an empty call id",
    "R8",
    "Invalid 'input[2].call_id': empty string. "
    "Expected a string with minimum length 1, but got an empty string instead.",
    respond(ASK, item_call(), item_output(), item_output()),
    put("", "input", 2, "call_id"),
    error_code="empty_string",
)
openai_responses(
    "a long call id",
    "R8",
    "Invalid 'input[1].call_id': string too long. "
    "Expected a string with maximum length 64, but got a string with length 116 instead.",
    ITEMS,
    both(put("c" * 116, "input", 1, "call_id"), put("c" * 116, "input", 2, "call_id")),
    error_code="string_above_max_length",
)
openai_responses(
    "an item twice",
    "R9",
    "Duplicate item found with id fc_1",
    respond(ASK, item_call(id="fc_1"), item_output(), item_call("call_2", id="fc_2"), item_output("call_2")),
    put("fc_1", "input", 3, "id"),
)
openai_responses(
    "the assistant's text as input",
    "R10",
    "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
    respond(ASK, SAID, ASK),
    put("input_text", "input", 1, "content", 0, "type"),
    param="input[1].content[0]",
)
openai_responses(
    "reasoning that was not stored",
    "R11",
    "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. "
    "Try again with `store` set to true, or remove this item from your input.",
    respond(ASK, REASONING, SAID, ASK, store=False),
    drop("input", 1, "encrypted_content"),
)
openai_responses(
    "a call inside a message",
    "R14",
    "Invalid value: 'function_call'. Supported values are: 'input_text', 'input_image', 'output_text', 'refusal', "
    "'input_file', 'computer_screenshot', and 'summary_text'.",
    respond(ASK, SAID, ASK),
    put("function_call", "input", 1, "content", 0, "type"),
)
openai_responses(
    "arguments as an object",
    "R14",
    "Invalid type for 'input[1].arguments': expected a string, but got an object instead.",
    ITEMS,
    put({}, "input", 1, "arguments"),
)
openai_responses(
    "an output that is an object",
    "R14",
    "Invalid type for 'input[2].output': expected one of an array of objects or string, but got an object instead.",
    ITEMS,
    put({}, "input", 2, "output"),
)
openai_responses(
    "a tool in the wrapping of chat",
    "R14",
    "Missing required parameter: 'tools[0].name'.",
    respond(ASK, tools=[{"type": "function", **FUNCTION["function"]}]),
    put(FUNCTION, "tools", 0),
)
openai_responses(
    "the response format of chat",
    "R14",
    "Unsupported parameter: 'response_format'. In the Responses API, this parameter has moved to 'text.format'. "
    "Try again with the new parameter. See the API documentation for more information: "
    "https://platform.openai.com/docs/api-reference/responses/create.",
    respond(ASK, text={"format": {"type": "json_object"}}),
    put({"type": "json_object"}, "response_format"),
)


# Gemini


def said(*parts: Body, role: str = "user") -> Body:
    return {"role": role, "parts": list(parts)}


def gemini_call(signature: str | None = "c2ln", name: str = "add") -> Body:
    part: Body = {"functionCall": {"name": name, "args": {}}}
    return part if signature is None else {**part, "thoughtSignature": signature}


def gemini_response(response: Any = None) -> Body:
    return {"functionResponse": {"name": "add", "response": {"result": 2} if response is None else response}}


def generate(*contents: Body, **more: Any) -> Body:
    return {"contents": list(contents), **more}


def gemini(name: str, code: str, message: str, sound: Body, breaking: Callable[[Body], object], **more: Any) -> None:
    case(name, "gemini", code, message, sound, breaking, **{"model": "gemini-3-flash-preview", **more})


WORDS = {"text": "Hello"}
STEP = generate(said(WORDS), said(gemini_call(), role="model"), said(gemini_response()))
SNAKE = generate(
    said(WORDS),
    said({"function_call": {"name": "add", "args": {}}, "thought_signature": "c2ln"}, role="model"),
    said({"function_response": {"name": "add", "response": {"result": 2}}}),
)
UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)
CONTENTS = "contents"
gemini("no contents", "G0", "* GenerateContentRequest.contents: contents is not specified", STEP, drop(CONTENTS))
gemini(
    "no parts",
    "G0",
    "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.",
    STEP,
    put([], CONTENTS, 0, "parts"),
)
gemini("a call too many", "G1", UNEQUAL, STEP, add(gemini_call(None), CONTENTS, 1, "parts"), param="contents[2]")
gemini("a response too many", "G1", UNEQUAL, STEP, add(gemini_response(), CONTENTS, 2, "parts"))
gemini(
    "a response too many in snake_case", "G1", UNEQUAL, SNAKE, add(SNAKE[CONTENTS][2]["parts"][0], CONTENTS, 2, "parts")
)
gemini("no response", "G1", UNEQUAL, STEP, put([WORDS], CONTENTS, 2, "parts"))
gemini(
    "a call at the start",
    "G2",
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    STEP,
    drop(CONTENTS, 0),
)
POSITION = "Please ensure that function response turn comes immediately after a function call turn."
gemini("a response at the start", "G3", POSITION, generate(said(WORDS)), put([gemini_response()], CONTENTS, 0, "parts"))
gemini(
    "a response without the cache that had the call",
    "G3",
    POSITION,
    generate(said(gemini_response()), cachedContent="cachedContents/1"),
    drop("cachedContent"),
)
gemini("a response after text", "G3", POSITION, STEP, put([WORDS], CONTENTS, 1, "parts"))
gemini(
    "words between call and response",
    "G3",
    POSITION,
    generate(*STEP[CONTENTS], said(WORDS)),
    lambda body: body[CONTENTS].insert(2, body[CONTENTS].pop()),
)
UNSIGNED = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
    "and missing thought_signature may lead to degraded model performance. Additional data, function call "
    "`default_api:add` , position {}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for "
    "more details."
)
gemini("no signature", "G4", UNSIGNED.format(2), STEP, drop(CONTENTS, 1, "parts", 0, "thoughtSignature"))
gemini(
    "no signature in snake_case", "G4", UNSIGNED.format(2), SNAKE, drop(CONTENTS, 1, "parts", 0, "thought_signature")
)
gemini(
    "no signature in a later step",
    "G4",
    UNSIGNED.format(4),
    generate(*STEP[CONTENTS], *STEP[CONTENTS][1:]),
    drop(CONTENTS, 3, "parts", 0, "thoughtSignature"),
)
gemini(
    "the signature on the second of two calls",
    "G4",
    UNSIGNED.format(2),
    generate(
        said(WORDS),
        said(gemini_call(), gemini_call(None), role="model"),
        said(gemini_response(), gemini_response()),
    ),
    lambda body: body[CONTENTS][1]["parts"].reverse(),
)
for dummy in ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go"):
    gemini(
        f"no signature instead of {dummy}",
        "G4",
        UNSIGNED.format(2),
        generate(said(WORDS), said(gemini_call(dummy), role="model"), said(gemini_response())),
        drop(CONTENTS, 1, "parts", 0, "thoughtSignature"),
    )
gemini(
    "a signature that is not base64",
    "G7",
    "Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed",
    STEP,
    put("not base64!", CONTENTS, 1, "parts", 0, "thoughtSignature"),
)
gemini("another role", "G8", "Please use a valid role: user, model.", STEP, put("assistant", CONTENTS, 0, "role"))
gemini(
    "a list as a response",
    "G9",
    "Invalid JSON payload received. Unknown name \"response\" at 'contents[2].parts[0].function_response': "
    "Proto field is not repeating, cannot start list.",
    STEP,
    put([1], CONTENTS, 2, "parts", 0, "functionResponse", "response"),
)
gemini(
    "a string as a response",
    "G9",
    "Invalid value at 'contents[2].parts[0].function_response.response' (type.googleapis.com/google.protobuf.Struct), "
    '"2"',
    STEP,
    put("2", CONTENTS, 2, "parts", 0, "functionResponse", "response"),
)
gemini(
    "the model at the end",
    "G10",
    "Please ensure that multiturn requests ends with a user role or a function response.",
    STEP,
    add(said(WORDS, role="model"), CONTENTS),
)


def declared(parameters: Body, **more: Any) -> Body:
    return generate(said(WORDS), tools=[{"functionDeclarations": [{"name": "f", "parameters": parameters}]}], **more)


def nested() -> Body:
    list_of = {"type": "ARRAY", "items": {"type": "OBJECT", "properties": {"c": {"type": "STRING"}}}}
    return {"type": "OBJECT", "properties": {"a": {"type": "STRING"}, "b": list_of}}


SCHEMA = ("tools", 0, "functionDeclarations", 0, "parameters")
UNKNOWN = "Invalid JSON payload received. Unknown name \"{}\" at 'tools[0].function_declarations[0].parameters{}': {}"
gemini(
    "additionalProperties",
    "G11",
    UNKNOWN.format("additionalProperties", ".properties[1].value.items", "Cannot find field."),
    declared(nested()),
    put(False, *SCHEMA, "properties", "b", "items", "additionalProperties"),
)
gemini(
    "a list of types",
    "G11",
    UNKNOWN.format("type", ".properties[0].value", "Proto field is not repeating, cannot start list."),
    declared(nested()),
    put(["STRING", "NULL"], *SCHEMA, "properties", "a", "type"),
)
EMPTY = "* GenerateContentRequest.tools[0].function_declarations[0].parameters{}: should be non-empty for OBJECT type"
gemini(
    "an empty object inside",
    "G12",
    EMPTY.format(".properties[b].items.properties"),
    declared(nested()),
    put({}, *SCHEMA, "properties", "b", "items", "properties"),
    model="gemini-2.5-flash",
)
gemini(
    "JSON mode with functions",
    "G13",
    "Function calling with a response mime type: 'application/json' is unsupported",
    declared(nested(), generationConfig={"responseMimeType": "text/plain"}),
    put("application/json", "generationConfig", "responseMimeType"),
    model="gemini-2.5-flash",
)
gemini(
    "a bad function name",
    "G14",
    "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name. Must start with a letter "
    "or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), "
    "with a maximum length of 64.",
    declared(nested()),
    put("2 plus", "tools", 0, "functionDeclarations", 0, "name"),
)
gemini(
    "a response without a name",
    "G14",
    "* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.",
    STEP,
    drop(CONTENTS, 2, "parts", 0, "functionResponse", "name"),
)
gemini(
    "arguments as a string",
    "G14",
    "Invalid value at 'contents[1].parts[0].function_call.args' (type.googleapis.com/google.protobuf.Struct), \"{}\"",
    STEP,
    put("{}", CONTENTS, 1, "parts", 0, "functionCall", "args"),
)


# Google's Interactions API

INPUT = "input"
ASKED = {"type": "user_input", "content": [{"type": "text", "text": "Hello"}]}


def step_call(id_: str = "c1", name: str = "add") -> Body:
    return {"type": "function_call", "id": id_, "name": name, "arguments": {}}


def step_result(id_: str = "c1") -> Body:
    return {"type": "function_result", "call_id": id_, "name": "add", "result": "3"}


def interact(*steps: Body, **more: Any) -> Body:
    return {"model": "gemini-3.5-flash", "store": False, INPUT: list(steps), **more}


def interactions(name: str, code: str, message: str, sound: Body, breaking: Callable[[Body], object]) -> None:
    case(name, "google-interactions", code, message, sound, breaking)


STEPS = interact(ASKED, step_call(), step_result())
ADDING = interact(ASKED, tools=[{"type": "function", "name": "add"}])
CHOSEN = ADDING | {"generation_config": {"tool_choice": {"allowed_tools": {"mode": "any", "tools": ["add"]}}}}

interactions(
    "arguments as a text",
    "I0",
    "Invalid value at 'input[1].arguments', \"{}\"",
    STEPS,
    put("{}", INPUT, 1, "arguments"),
)
interactions(
    "content as a text", "I0", "Invalid value at 'input[0].content', \"hi\"", STEPS, put("hi", INPUT, 0, "content")
)
interactions("no model", "I1", "Missing required field: 'model' or 'agent'.", STEPS, drop("model"))
interactions("no input", "I2", "Missing required field: 'input'.", interact(ASKED), drop(INPUT))
interactions(
    "an unknown step", "I3", "Invalid value at 'input[0].type', \"message\"", STEPS, put("message", INPUT, 0, "type")
)
interactions(
    "an unknown block",
    "I3",
    "Invalid value at 'input[0].content[0].type', \"input_text\"",
    STEPS,
    put("input_text", INPUT, 0, "content", 0, "type"),
)
interactions(
    "an unknown tool", "I3", "Invalid value at 'tools[0].type', \"custom\"", ADDING, put("custom", "tools", 0, "type")
)
interactions(
    "an unknown choice",
    "I3",
    "Invalid value at 'generation_config.tool_choice', \"required\"",
    CHOSEN,
    put("required", "generation_config", "tool_choice"),
)
interactions(
    "a call without an id",
    "I4",
    "Missing required field: 'input[1].id'.",
    interact(ASKED, step_call(), step_result()),
    drop(INPUT, 1, "id"),
)
interactions(
    "a text block without a text",
    "I4",
    "Missing required field: 'input[0].content[0].text'.",
    STEPS,
    drop(INPUT, 0, "content", 0, "text"),
)
interactions("an orphan result", "I5", "No function call found for call_id 'c1'.", STEPS, drop(INPUT, 1))
interactions("a call without a result", "I6", "No function result found for function call 'c1'.", STEPS, drop(INPUT, 2))
interactions(
    "a call that is talked over",
    "I6",
    "No function result found for function call 'c1'.",
    interact(ASKED, step_call(), step_result(), ASKED),
    put(ASKED, INPUT, 2),
)
interactions(
    "an illegal name of a step",
    "I7",
    "* input[1].name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z,"
    " 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
    STEPS,
    put("2 plus", INPUT, 1, "name"),
)
interactions(
    "background without storage",
    "I8",
    "'background' requires 'store' to be true.",
    interact(ASKED, background=True) | {"store": True},
    put(False, "store"),
)
interactions(
    "a choice of no tool",
    "I9",
    "Allowed tool 'sub' is not declared in 'tools'.",
    CHOSEN,
    put(["sub"], "generation_config", "tool_choice", "allowed_tools", "tools"),
)
