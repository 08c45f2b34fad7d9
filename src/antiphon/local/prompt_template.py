"""Conversion of a Chat Completions request into one for the runtime, including tools and typed
answers.

Small models do badly with the tools of their own template. They do well if each answer is one JSON
object, a call or an answer, restricted by a grammar. It also helps to show examples with other
tools and to give results as text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from antiphon._base.json import dump_json, load_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.errors import MalformedJSONError
from antiphon.local.grammar import build_grammar, build_source_grammar
from antiphon.local.groundedness import find_unseen_file, get_last_request
from antiphon.local.optional_fields import has_nullable_parts, require_nullable_fields
from antiphon.local.tool_choice import choose_tool_offer, find_forced_tool
from antiphon.wire.schema import SCHEMA_INSTRUCTION

#: Default maximum length of an answer.
DEFAULT_MAX_OUTPUT = 2048
#: Maximum length of a request that is repeated after the results of its calls.
_MAX_REPEATED_REQUEST = 500
_SAMPLING_FIELDS = ("temperature", "top_p", "stop", "parallel_tool_calls")
#: Request fields that we set; all others are passed to the runtime unchanged.
_HANDLED_FIELDS = {
    *_SAMPLING_FIELDS,
    "messages",
    "tools",
    "tool_choice",
    "response_format",
    "max_tokens",
    "stream",
    "stream_options",
}
#: The request field that restricts texts and numbers of a typed answer to those in the request.
VALUES_FROM_TEXT = "values_from_text"
_HANDLED_FIELDS.add(VALUES_FROM_TEXT)

_TOOL_RULES = (
    "You are a helpful assistant with tools. Reply with one JSON object.\n"
    'To use a tool: {"tool": name, "arguments": {...}}\n'
    'To answer: {"answer": text}\n'
    "Use a tool for what only a tool can see or do, and never guess that. Answer what everybody knows, and what is only"
    " to be written, without a tool. When you have a tool's result, answer with what it says."
)
_EXAMPLES = (
    (
        "user",
        "Tools:\nwater_plant(plant: text, liters: number): Water a plant.\nmoon_phase(date: text): The phase of the"
        " moon on a day.\n\nRequest: Give my fern half a liter, please.",
    ),
    ("assistant", '{"tool": "water_plant", "arguments": {"plant": "fern", "liters": 0.5}}'),
    (
        "user",
        "Result of water_plant: ok, soil moisture 40 %\n\nThe request was: Give my fern half a liter, please.",
    ),
    ("assistant", '{"answer": "I gave the fern 0.5 liters of water. The soil moisture is now 40 %."}'),
    ("user", "Request: Who painted the Mona Lisa?"),
    ("assistant", '{"answer": "Leonardo da Vinci painted the Mona Lisa."}'),
    ("user", "Request: How many days has a week?"),
    ("assistant", '{"answer": "A week has seven days."}'),
    ("user", "Request: Write one line about snow."),
    ("assistant", '{"answer": "Snow falls softly, and the whole street holds its breath."}'),
    (
        "user",
        "Tools:\nopen_door(door: text): Open a door.\ncount_birds(place: text): How many birds are at a place"
        " now.\n\nRequest: How many birds are at the pond?",
    ),
    ("assistant", '{"tool": "count_birds", "arguments": {"place": "pond"}}'),
    ("user", "Result of count_birds: 23\n\nThe request was: How many birds are at the pond?"),
    ("assistant", '{"answer": "There are 23 birds at the pond."}'),
    (
        "user",
        "Tools:\nopen_drawer(drawer: text): What lies in a drawer.\nfind_thing(word: text): The drawers that hold a"
        " thing.\n\nRequest: Where are my keys?",
    ),
    ("assistant", '{"tool": "find_thing", "arguments": {"word": "keys"}}'),
    ("user", "Result of find_thing: hall: keys, gloves\nkitchen: spare keys\n\nThe request was: Where are my keys?"),
    ("assistant", '{"answer": "Your keys are in the drawer in the hall. There are spare keys in the kitchen."}'),
)


#: Answer to a question about a file that no tool can read: a small model would invent something.
_UNSEEN_FILE_ANSWER = (
    "I cannot see {0}: there is no tool that reads files. Give me one (`--tools read`, or `tools=read_only_tools()`),"
    " or send the file along (`--attach {0}`)."
)
#: Used only if something may be null: otherwise it makes a small model omit existing values.
_NULL_INSTRUCTION = "Write null for what the text does not say. Never invent a value."
_NULLABLE_TEXT, _NULLABLE_INTEGER = ({"anyOf": [{"type": kind}, {"type": "null"}]} for kind in ("string", "integer"))
_NULL_EXAMPLE: tuple[dict[str, Any], Any] = (
    {
        "properties": {
            "name": {"type": "string"},
            "phone": _NULLABLE_TEXT,
            "city": _NULLABLE_TEXT,
            "age": _NULLABLE_INTEGER,
        },
        "required": ["name", "phone", "city", "age"],
        "type": "object",
    },
    {"name": "Mara Lind", "phone": None, "city": "Turin", "age": None},
)
_NULL_EXAMPLE_TEXT = "Extract the data from this text: Mara Lind moved to Turin in spring and likes it there."


@dataclass(frozen=True, slots=True)
class LocalPrompt:
    """The request for the runtime, and how to interpret its answer.

    The form `text` is a plain answer, and `json` says whether it must be JSON. `choice` is a call or an
    answer as one object, `call` the bare arguments of the tool `name`. `native` is whatever the model's
    own template produces. `opening` is the shared beginning of conversations, whose KV cache is worth
    storing. `schema` is that of a typed answer with optional fields to restore. An answer that
    `is_claim` of what no tool was asked about is rejected, and the model is asked `again`, for a call.
    """

    request: dict[str, Any]
    form: Literal["text", "choice", "call", "native"]
    json: bool = False
    name: str = ""
    opening: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    schema: dict[str, Any] | None = None
    again: dict[str, Any] | None = None
    is_claim: Callable[[str], bool] | None = None


def build_prompt(body: dict[str, Any], native_tools: bool) -> LocalPrompt:
    """Return the request for the runtime. `native_tools` is for models that are good at their template's
    tools.
    """
    made = _build_prompt(body, native_tools)
    schema = _get_answer_schema(body)
    return replace(made, schema=schema) if has_nullable_parts(require_nullable_fields(schema)) else made


def _get_answer_schema(body: dict[str, Any]) -> dict[str, Any]:
    return as_object(as_object(as_object(body.get("response_format")).get("json_schema")).get("schema"))


def _build_prompt(body: dict[str, Any], native_tools: bool) -> LocalPrompt:
    tools = [as_object(as_object(tool).get("function")) for tool in as_array(body.get("tools"))]
    messages = [as_object(message) for message in as_array(body["messages"])]
    schema = require_nullable_fields(_get_answer_schema(body))
    forced = find_forced_tool(body.get("tool_choice"), tools)
    was_called = any(message.get("tool_calls") for message in messages)
    offered = choose_tool_offer(body.get("tool_choice"), messages, tools)
    if native_tools and (tools or was_called) and not schema:
        request = _build_native_request(body, messages, tools, forced, offered.may_answer)
        again = _build_native_request(body, messages, tools, forced, False) if offered.instead else None
        return LocalPrompt(request, "native", again=again, is_claim=offered.is_claim)
    if not tools and not was_called:
        return _build_plain_prompt(body, messages, schema)
    if forced and len(tools) == 1 and not was_called:
        arguments = as_object(forced.get("parameters")) or _make_object_schema({})
        request = _build_request(body, _insert_schema(messages, arguments), arguments)
        return LocalPrompt(request, "call", json=True, name=as_string(forced["name"]))
    told = _build_emulated_messages(messages, tools)
    return LocalPrompt(
        _build_request(body, told, _build_choice_schema(offered.tools, schema, offered.may_answer)),
        "choice",
        json=True,
        opening=_merge_roles(_build_head(messages, tools)),
        again=_build_request(body, told, _build_choice_schema(offered.instead, schema, False))
        if offered.instead
        else None,
        is_claim=offered.is_claim,
    )


def _build_request(
    body: dict[str, Any], messages: list[dict[str, Any]], schema: dict[str, Any] | None, source: str | None = None
) -> dict[str, Any]:
    request = {key: value for key, value in body.items() if key not in _HANDLED_FIELDS}
    # Greedy decoding unless the request sets a temperature.
    request |= {"temperature": 0.0, "max_tokens": body.get("max_tokens") or DEFAULT_MAX_OUTPUT}
    request |= {key: body[key] for key in _SAMPLING_FIELDS if key in body}
    request |= {"messages": messages, "stream": True, "return_progress": True}
    request["stream_options"] = {"include_usage": True}
    if schema:
        # A stop sequence would cut the JSON around the text that it is meant for.
        held = build_grammar(schema) if source is None else build_source_grammar(schema, source)
        request = {key: value for key, value in request.items() if key != "stop"} | {"grammar": held}
    return request


def _build_plain_prompt(body: dict[str, Any], messages: list[dict[str, Any]], schema: dict[str, Any]) -> LocalPrompt:
    if not schema:
        request = _build_request(body, messages, None)
        unseen = find_unseen_file(messages)
        return LocalPrompt(
            request | {"grammar": f"%llguidance {{}}\nstart: {dump_json(_UNSEEN_FILE_ANSWER.format(unseen))}"}
            if unseen
            else request,
            "text",
        )
    source = get_last_request(messages) if body.get(VALUES_FROM_TEXT) else None
    return LocalPrompt(_build_request(body, _insert_schema(messages, schema), schema, source), "text", json=True)


def _build_native_request(
    body: dict[str, Any],
    messages: list[dict[str, Any]],
    tools: list[dict[str, Any]],
    forced: dict[str, Any] | None,
    may_answer: bool,
) -> dict[str, Any]:
    declared = [{"type": "function", "function": tool} for tool in ([forced] if forced else tools)]
    if not declared:
        return _build_request(body, messages, None)
    choice = body.get("tool_choice") or "auto" if may_answer else "required"
    return _build_request(body, messages, None) | {"tools": declared, "tool_choice": choice}


def _insert_schema(messages: list[dict[str, Any]], schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages with the schema before the user's last one, so that the text is next to the
    answer.
    """
    place = max((n for n, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    if place < 0:
        return messages
    request, _ = _split_schema(_extract_text(messages[place].get("content")))
    told = [
        *messages[:place],
        {**messages[place], "content": _format_typed_request(schema, request)},
        *messages[place + 1 :],
    ]
    if not has_nullable_parts(schema):
        return told
    (known, answer), first = _NULL_EXAMPLE, sum(message.get("role") in ("system", "developer") for message in told[:1])
    example = [
        {"role": "user", "content": _format_typed_request(known, _NULL_EXAMPLE_TEXT)},
        {"role": "assistant", "content": _format_json(answer)},
    ]
    return [*told[:first], *example, *told[first:]]


def _format_typed_request(schema: dict[str, Any], request: str) -> str:
    rule = f"\n{_NULL_INSTRUCTION}" if has_nullable_parts(schema) else ""
    return f"{SCHEMA_INSTRUCTION}{_format_json(schema)}{rule}\n\n{request}"


def _split_schema(text: str) -> tuple[str, object]:
    """Return what a user says, and the schema at its end, if there is one."""
    request, mark, schema = text.rpartition(f"\n\n{SCHEMA_INSTRUCTION}")
    try:
        return (request, load_json(schema)) if mark else (text, None)
    except MalformedJSONError:
        return text, None


# Tools without the template's help


def _build_choice_schema(tools: list[dict[str, Any]], answer: dict[str, Any], may_answer: bool) -> dict[str, Any]:
    """Return the schema of a reply: a call of one of the tools, or an answer."""
    definitions: dict[str, Any] = {}
    options = [_build_call_schema(tool, definitions) for tool in tools]
    if may_answer:
        options.append(
            _make_object_schema({"answer": _lift_definitions(answer, definitions, "answer") or {"type": "string"}})
        )
    return {"anyOf": options} | ({"$defs": definitions} if definitions else {})


def _build_call_schema(tool: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    name = as_string(tool.get("name"))
    arguments = _lift_definitions(_drop_nullable_arguments(as_object(tool.get("parameters"))), definitions, name)
    return _make_object_schema({"tool": {"const": name}, "arguments": arguments or _make_object_schema({})})


def _drop_nullable_arguments(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a tool in which optional ones cannot be null: they are omitted instead."""
    needed = as_array(parameters.get("required"))
    fields = {
        name: value if name in needed else _drop_null_option(as_object(value))
        for name, value in as_object(parameters.get("properties")).items()
    }
    return {**parameters, "properties": fields} if fields else parameters


def _drop_null_option(schema: dict[str, Any]) -> dict[str, Any]:
    options = [option for option in as_array(schema.get("anyOf")) if as_object(option).get("type") != "null"]
    return {**schema, "anyOf": options} if options else schema


def _make_object_schema(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _lift_definitions(schema: dict[str, Any], definitions: dict[str, Any], owner: str) -> dict[str, Any]:
    """Return the schema with its definitions moved to the root, under names prefixed by the owner."""
    own = as_object(schema.get("$defs"))
    if not own:
        return schema
    text = dump_json({key: value for key, value in schema.items() if key != "$defs"} | {"$defs": own})
    for name in own:
        text = text.replace(f'"#/$defs/{name}"', f'"#/$defs/{owner}.{name}"')
    renamed = load_json(text)
    definitions.update({f"{owner}.{name}": value for name, value in renamed.pop("$defs").items()})
    return renamed


def _build_emulated_messages(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the conversation as text, after constant rules and examples that are processed once."""
    names: dict[str, str] = {}
    request, said = "", list[tuple[str, str]]()
    for message, following in zip(messages, [*messages[1:], {}], strict=True):
        said += _describe_message(message, names)
        if message.get("role") == "user":
            request = _split_schema(_extract_text(message.get("content")))[0]
        elif (
            message.get("role") == "tool" and following.get("role") != "tool" and len(request) <= _MAX_REPEATED_REQUEST
        ):
            # After a long result, a small model has forgotten the request.
            said.append(("user", f"The request was: {request}"))
    return _merge_roles([*_build_head(messages, tools), *said])


def _build_head(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the messages that are the same for all conversations with these tools."""
    system = "\n\n".join(as_string(m.get("content")) for m in messages if m.get("role") in ("system", "developer"))
    listed = "\n".join(map(format_signature, tools))
    opening = "\n\n".join(text for text in (system, f"Tools:\n{listed}" if listed else "") if text)
    return [("system", _TOOL_RULES), *_EXAMPLES, *([("user", opening)] if opening else [])]


def _describe_message(message: dict[str, Any], names: dict[str, str]) -> list[tuple[str, str]]:
    """Return a message as role and text. `names` maps call ids to tools."""
    content = _extract_text(message.get("content"))
    match message.get("role"):
        case "user":
            request, schema = _split_schema(content)
            rule = f"\n{_NULL_INSTRUCTION}" if has_nullable_parts(schema) else ""
            told = f"The answer is JSON that fits this schema: {_format_json(schema)}{rule}\n\n" if schema else ""
            return [("user", f"{told}Request: {request}")]
        case "tool":
            name = names.get(as_string(message.get("tool_call_id")), "the tool")
            return [("user", f"Result of {name}: {content}")]
        case "assistant":
            lines = [_format_json({"answer": content})] if content.strip() else []
            for call in map(as_object, as_array(message.get("tool_calls"))):
                function = as_object(call.get("function"))
                name = names[as_string(call.get("id"))] = as_string(function.get("name"))
                lines.append(_format_json({"tool": name, "arguments": _parse_arguments(function.get("arguments"))}))
            return [("assistant", "\n".join(lines))] if lines else []
        case _:
            return []


def _extract_text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n\n".join(as_string(as_object(part).get("text")) for part in as_array(content))


def _parse_arguments(text: object) -> object:
    try:
        return load_json(as_string(text) or "{}")
    except MalformedJSONError:
        return text


def _merge_roles(said: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return messages with alternating roles: many templates reject two of the same role in a row."""
    messages: list[dict[str, Any]] = []
    for role, text in said:
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += f"\n\n{text}"
        else:
            messages.append({"role": role, "content": text})
    return messages


def _format_json(value: object) -> str:
    """Return JSON in the layout that the grammar makes the model write."""
    import json

    return json.dumps(value, ensure_ascii=False)


# Tools in words

_TYPE_NAMES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
}


def format_signature(tool: dict[str, Any]) -> str:
    """Return a tool in one line: its arguments and its description."""
    parameters = as_object(tool.get("parameters"))
    needed = as_array(parameters.get("required"))
    fields = [
        f"{name}{'' if name in needed else '?'}: {describe_schema_type(schema, parameters)}"
        for name, schema in as_object(parameters.get("properties")).items()
    ]
    said = " ".join(as_string(tool.get("description")).split())
    return f"{tool.get('name')}({', '.join(fields)})" + (f": {said}" if said else "")


def describe_schema_type(schema: object, root: dict[str, Any], depth: int = 4) -> str:
    """Return the values of a schema in words."""
    data = as_object(schema)
    if name := as_string(data.get("$ref")).removeprefix("#/$defs/"):
        return describe_schema_type(as_object(root.get("$defs")).get(name), root, depth - 1) if depth else "object"
    options = as_array(data.get("enum")) or ([data["const"]] if "const" in data else [])
    if options:
        word = " | ".join(map(dump_json, options))
    elif choices := as_array(data.get("anyOf")) or as_array(data.get("oneOf")):
        word = " | ".join(
            dict.fromkeys(describe_schema_type(choice, root, depth - 1) if depth else "value" for choice in choices)
        )
    elif data.get("type") == "array":
        word = f"list of {describe_schema_type(data.get('items'), root, depth - 1) if depth else 'values'}"
    elif fields := as_object(data.get("properties")):
        inner = (
            ", ".join(f"{key}: {describe_schema_type(value, root, depth - 1)}" for key, value in fields.items())
            if depth
            else "..."
        )
        word = f"{{{inner}}}"
    else:
        word = _TYPE_NAMES.get(str(data.get("type")), "value")
    said = " ".join(as_string(data.get("description")).split())
    return f"{word} ({said})" if said else word
