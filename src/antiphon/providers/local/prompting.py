"""A request of the Chat Completions API as the runtime is asked it, tools and typed answers included.

Small models do badly with the tools of their own template. They do well when each answer is one JSON object, either a
call or an answer, held to a grammar; when they have seen that done with other tools; and when results come as text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from antiphon._json import dumps, loads
from antiphon._shape import arr, obj, string
from antiphon.errors import MalformedJSONError
from antiphon.providers.local.backing import last_request, unseen_file
from antiphon.providers.local.copying import copying_grammar
from antiphon.providers.local.nulls import has_nulls, with_nulls
from antiphon.providers.local.offering import forced_tool, offer
from antiphon.providers.local.schemas import grammar
from antiphon.wire.schema import INSTRUCTION

#: How long an answer may get where nobody says.
MAX_TOKENS = 2048
#: The longest request that is repeated behind the results of its calls.
_REPEATED = 500
_SAMPLING = ("temperature", "top_p", "stop", "parallel_tool_calls")
#: Fields of a request that are ours to set; whatever else stands in it goes to the runtime as it is.
_OURS = {*_SAMPLING, "messages", "tools", "tool_choice", "response_format", "max_tokens", "stream", "stream_options"}
#: The field of a request by which texts and numbers of a typed answer are held to what the request says.
FROM_TEXT = "values_from_text"
_OURS.add(FROM_TEXT)

_RULES = (
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


#: What is answered where a file is asked about that nothing here can see: a small model would make something up.
_UNSEEN = (
    "I cannot see {0}: there is no tool that reads files. Give me one (`--tools read`, or `tools=read_only_tools()`),"
    " or send the file along (`--attach {0}`)."
)
#: Only where something may be null: elsewhere it makes a small model leave out what is there.
_EMPTY = "Write null for what the text does not say. Never invent a value."
_MAYBE_TEXT, _MAYBE_WHOLE = ({"anyOf": [{"type": kind}, {"type": "null"}]} for kind in ("string", "integer"))
_WITH_NULLS: tuple[dict[str, Any], Any] = (
    {
        "properties": {"name": {"type": "string"}, "phone": _MAYBE_TEXT, "city": _MAYBE_TEXT, "age": _MAYBE_WHOLE},
        "required": ["name", "phone", "city", "age"],
        "type": "object",
    },
    {"name": "Mara Lind", "phone": None, "city": "Turin", "age": None},
)
_WITH_NULLS_TEXT = "Extract the data from this text: Mara Lind moved to Turin in spring and likes it there."


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the runtime is asked, and how its answer is to be read.

    `text` is the answer as it is (`json` says whether it must be JSON), `choice` a call or an answer as one object,
    `call` the bare arguments of the tool `name`, `native` whatever the model's own template makes of it. `opening` is
    how the conversation begins that others begin with too: what was read of it is worth keeping.

    `schema` is that of a typed answer in which something may be empty, and its nulls are to be read.

    An answer that `is_claim` of what no tool was asked about is not taken: it is asked `again`, for a call.
    """

    request: dict[str, Any]
    form: Literal["text", "choice", "call", "native"]
    json: bool = False
    name: str = ""
    opening: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    schema: dict[str, Any] | None = None
    again: dict[str, Any] | None = None
    is_claim: Callable[[str], bool] | None = None


def prompt(body: dict[str, Any], native_tools: bool) -> Prompt:
    """The request for the runtime; `native_tools` is for models that are good at the tools of their template."""
    made = _prompt(body, native_tools)
    schema = _schema(body)
    return replace(made, schema=schema) if has_nulls(with_nulls(schema)) else made


def _schema(body: dict[str, Any]) -> dict[str, Any]:
    return obj(obj(obj(body.get("response_format")).get("json_schema")).get("schema"))


def _prompt(body: dict[str, Any], native_tools: bool) -> Prompt:
    tools = [obj(obj(tool).get("function")) for tool in arr(body.get("tools"))]
    messages = [obj(message) for message in arr(body["messages"])]
    schema = with_nulls(_schema(body))
    forced = forced_tool(body.get("tool_choice"), tools)
    was_called = any(message.get("tool_calls") for message in messages)
    offered = offer(body.get("tool_choice"), messages, tools)
    if native_tools and (tools or was_called) and not schema:
        request = _native(body, messages, tools, forced, offered.may_answer)
        again = _native(body, messages, tools, forced, False) if offered.instead else None
        return Prompt(request, "native", again=again, is_claim=offered.is_claim)
    if not tools and not was_called:
        return _plain(body, messages, schema)
    if forced and len(tools) == 1 and not was_called:
        arguments = obj(forced.get("parameters")) or _object({})
        request = _request(body, _with_schema(messages, arguments), arguments)
        return Prompt(request, "call", json=True, name=string(forced["name"]))
    told = _emulated(messages, tools)
    return Prompt(
        _request(body, told, _choice(offered.tools, schema, offered.may_answer)),
        "choice",
        json=True,
        opening=_opening(messages, tools),
        again=_request(body, told, _choice(offered.instead, schema, False)) if offered.instead else None,
        is_claim=offered.is_claim,
    )


def _request(
    body: dict[str, Any], messages: list[dict[str, Any]], schema: dict[str, Any] | None, source: str | None = None
) -> dict[str, Any]:
    request = {key: value for key, value in body.items() if key not in _OURS}
    # The best guess, not a lucky one, where nobody asks for luck.
    request |= {"temperature": 0.0, "max_tokens": body.get("max_tokens") or MAX_TOKENS}
    request |= {key: body[key] for key in _SAMPLING if key in body}
    request |= {"messages": messages, "stream": True, "return_progress": True}
    request["stream_options"] = {"include_usage": True}
    if schema:
        # A stop text would break off the JSON around what it is meant for.
        held = grammar(schema) if source is None else copying_grammar(schema, source)
        request = {key: value for key, value in request.items() if key != "stop"} | {"grammar": held}
    return request


def _plain(body: dict[str, Any], messages: list[dict[str, Any]], schema: dict[str, Any]) -> Prompt:
    if not schema:
        request = _request(body, messages, None)
        unseen = unseen_file(messages)
        return Prompt(
            request | {"grammar": f"%llguidance {{}}\nstart: {dumps(_UNSEEN.format(unseen))}"} if unseen else request,
            "text",
        )
    source = last_request(messages) if body.get(FROM_TEXT) else None
    return Prompt(_request(body, _with_schema(messages, schema), schema, source), "text", json=True)


def _native(
    body: dict[str, Any],
    messages: list[dict[str, Any]],
    tools: list[dict[str, Any]],
    forced: dict[str, Any] | None,
    may_answer: bool,
) -> dict[str, Any]:
    declared = [{"type": "function", "function": tool} for tool in ([forced] if forced else tools)]
    if not declared:
        return _request(body, messages, None)
    choice = body.get("tool_choice") or "auto" if may_answer else "required"
    return _request(body, messages, None) | {"tools": declared, "tool_choice": choice}


def _with_schema(messages: list[dict[str, Any]], schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages with the schema before the last of the user's: what is to be read stands next to the answer."""
    place = max((n for n, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    if place < 0:
        return messages
    request, _ = _parted(_words(messages[place].get("content")))
    told = [*messages[:place], {**messages[place], "content": _typed(schema, request)}, *messages[place + 1 :]]
    if not has_nulls(schema):
        return told
    (known, answer), first = _WITH_NULLS, sum(message.get("role") in ("system", "developer") for message in told[:1])
    example = [
        {"role": "user", "content": _typed(known, _WITH_NULLS_TEXT)},
        {"role": "assistant", "content": _spaced(answer)},
    ]
    return [*told[:first], *example, *told[first:]]


def _typed(schema: dict[str, Any], request: str) -> str:
    rule = f"\n{_EMPTY}" if has_nulls(schema) else ""
    return f"{INSTRUCTION}{_spaced(schema)}{rule}\n\n{request}"


def _parted(text: str) -> tuple[str, object]:
    """What a user says, and the schema that the answer is to fit, if that was told at the end."""
    request, mark, schema = text.rpartition(f"\n\n{INSTRUCTION}")
    try:
        return (request, loads(schema)) if mark else (text, None)
    except MalformedJSONError:
        return text, None


# Tools without the template's help


def _choice(tools: list[dict[str, Any]], answer: dict[str, Any], may_answer: bool) -> dict[str, Any]:
    """The schema of a reply: a call of one of the tools, or an answer."""
    definitions: dict[str, Any] = {}
    options = [_call_schema(tool, definitions) for tool in tools]
    if may_answer:
        options.append(_object({"answer": _lifted(answer, definitions, "answer") or {"type": "string"}}))
    return {"anyOf": options} | ({"$defs": definitions} if definitions else {})


def _call_schema(tool: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    name = string(tool.get("name"))
    arguments = _lifted(_without_nulls(obj(tool.get("parameters"))), definitions, name)
    return _object({"tool": {"const": name}, "arguments": arguments or _object({})})


def _without_nulls(parameters: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a tool, where what may be null and may be left out is left out: nobody need say `null`."""
    needed = arr(parameters.get("required"))
    fields = {
        name: value if name in needed else _given(obj(value))
        for name, value in obj(parameters.get("properties")).items()
    }
    return {**parameters, "properties": fields} if fields else parameters


def _given(schema: dict[str, Any]) -> dict[str, Any]:
    options = [option for option in arr(schema.get("anyOf")) if obj(option).get("type") != "null"]
    return {**schema, "anyOf": options} if options else schema


def _object(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _lifted(schema: dict[str, Any], definitions: dict[str, Any], owner: str) -> dict[str, Any]:
    """The schema with its definitions moved to those of the whole, under names that are the owner's alone."""
    own = obj(schema.get("$defs"))
    if not own:
        return schema
    text = dumps({key: value for key, value in schema.items() if key != "$defs"} | {"$defs": own})
    for name in own:
        text = text.replace(f'"#/$defs/{name}"', f'"#/$defs/{owner}.{name}"')
    renamed = loads(text)
    definitions.update({f"{owner}.{name}": value for name, value in renamed.pop("$defs").items()})
    return renamed


def _emulated(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The conversation in words, behind rules and examples that are always the same, so that they are read once."""
    names: dict[str, str] = {}
    request, said = "", list[tuple[str, str]]()
    for message, following in zip(messages, [*messages[1:], {}], strict=True):
        said += _lines(message, names)
        if message.get("role") == "user":
            request = _parted(_words(message.get("content")))[0]
        elif message.get("role") == "tool" and following.get("role") != "tool" and len(request) <= _REPEATED:
            # Behind a long result, a small model has forgotten what it was for.
            said.append(("user", f"The request was: {request}"))
    return _merged([*_head(messages, tools), *said])


def _opening(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The part of it that is the same for all conversations with these tools."""
    return _merged(_head(messages, tools))


def _head(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> list[tuple[str, str]]:
    system = "\n\n".join(string(m.get("content")) for m in messages if m.get("role") in ("system", "developer"))
    listed = "\n".join(map(signature, tools))
    opening = "\n\n".join(text for text in (system, f"Tools:\n{listed}" if listed else "") if text)
    return [("system", _RULES), *_EXAMPLES, *([("user", opening)] if opening else [])]


def _lines(message: dict[str, Any], names: dict[str, str]) -> list[tuple[str, str]]:
    """A message as what is said by whom; `names` keeps which call has which tool."""
    content = _words(message.get("content"))
    match message.get("role"):
        case "user":
            request, schema = _parted(content)
            rule = f"\n{_EMPTY}" if has_nulls(schema) else ""
            told = f"The answer is JSON that fits this schema: {_spaced(schema)}{rule}\n\n" if schema else ""
            return [("user", f"{told}Request: {request}")]
        case "tool":
            name = names.get(string(message.get("tool_call_id")), "the tool")
            return [("user", f"Result of {name}: {content}")]
        case "assistant":
            lines = [_spaced({"answer": content})] if content.strip() else []
            for call in map(obj, arr(message.get("tool_calls"))):
                function = obj(call.get("function"))
                name = names[string(call.get("id"))] = string(function.get("name"))
                lines.append(_spaced({"tool": name, "arguments": _arguments(function.get("arguments"))}))
            return [("assistant", "\n".join(lines))] if lines else []
        case _:
            return []


def _words(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n\n".join(string(obj(part).get("text")) for part in arr(content))


def _arguments(text: object) -> object:
    try:
        return loads(string(text) or "{}")
    except MalformedJSONError:
        return text


def _merged(said: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Messages in turns: many templates refuse two of the same role in a row."""
    messages: list[dict[str, Any]] = []
    for role, text in said:
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += f"\n\n{text}"
        else:
            messages.append({"role": role, "content": text})
    return messages


def _spaced(value: object) -> str:
    """JSON laid out as the grammar makes the model write it."""
    import json

    return json.dumps(value, ensure_ascii=False)


# Tools in words

_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}


def signature(tool: dict[str, Any]) -> str:
    """A tool in a line: what it is called with, and what it does."""
    parameters = obj(tool.get("parameters"))
    needed = arr(parameters.get("required"))
    fields = [
        f"{name}{'' if name in needed else '?'}: {kind(schema, parameters)}"
        for name, schema in obj(parameters.get("properties")).items()
    ]
    said = " ".join(string(tool.get("description")).split())
    return f"{tool.get('name')}({', '.join(fields)})" + (f": {said}" if said else "")


def kind(schema: object, root: dict[str, Any], depth: int = 4) -> str:
    """The values of a schema in words."""
    data = obj(schema)
    if name := string(data.get("$ref")).removeprefix("#/$defs/"):
        return kind(obj(root.get("$defs")).get(name), root, depth - 1) if depth else "object"
    options = arr(data.get("enum")) or ([data["const"]] if "const" in data else [])
    if options:
        word = " | ".join(map(dumps, options))
    elif choices := arr(data.get("anyOf")) or arr(data.get("oneOf")):
        word = " | ".join(dict.fromkeys(kind(choice, root, depth - 1) if depth else "value" for choice in choices))
    elif data.get("type") == "array":
        word = f"list of {kind(data.get('items'), root, depth - 1) if depth else 'values'}"
    elif fields := obj(data.get("properties")):
        inner = ", ".join(f"{key}: {kind(value, root, depth - 1)}" for key, value in fields.items()) if depth else "..."
        word = f"{{{inner}}}"
    else:
        word = _WORDS.get(str(data.get("type")), "value")
    said = " ".join(string(data.get("description")).split())
    return f"{word} ({said})" if said else word
