"""The rules of Gemini's generateContent.

Bodies come in camelCase and in snake_case, and a single object may stand where a list is meant; Google's parser takes
both, as its own examples do. Neighbouring contents of one role count as one turn. Whether a thought signature is
genuine (the other half of G7) needs a server with memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from antiphon._shape import obj, string
from antiphon.wire.rules.gemini_options import option_violations
from antiphon.wire.rules.gemini_schema import schema_violations
from antiphon.wire.rules.reading import get, is_array, is_object, literal, several
from antiphon.wire.rules.subject import Subject
from antiphon.wire.rules.violation import Violation

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_STRUCT = "type.googleapis.com/google.protobuf.Struct"
_RESPONSES_UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)


@dataclass(frozen=True, slots=True)
class Part:
    """A part, where it stands, and the call or response it is."""

    path: str
    data: dict[str, object]
    call: dict[str, object] | None
    response: dict[str, object] | None


@dataclass(frozen=True, slots=True)
class Content:
    """One entry of `contents`. A role that is missing means the user."""

    index: int
    role: str
    parts: list[Part]

    @property
    def responds(self) -> bool:
        return any(part.response is not None for part in self.parts)

    @property
    def ordinary(self) -> bool:
        return not self.parts or any(part.response is None for part in self.parts)


@dataclass(slots=True)
class Turn:
    """Neighbouring contents of one role."""

    contents: list[Content] = field(default_factory=lambda: list[Content]())

    @property
    def calls(self) -> int:
        return sum(part.call is not None for content in self.contents for part in content.parts)

    @property
    def responses(self) -> int:
        return sum(part.response is not None for content in self.contents for part in content.parts)

    @property
    def path(self) -> str:
        return f"contents[{self.contents[0].index}]"


def violations(body: object, model: str, subject: Subject) -> Iterator[Violation]:  # noqa: ARG001
    """Yield what generateContent would reject in `body`."""
    if not is_object(body):
        yield Violation("G0", 'Invalid JSON payload received. Unknown name "": Root element must be a message.')
        return
    request = obj(body)
    contents = [_content(index, entry) for index, entry in enumerate(several(get(request, "contents")))]
    cached = bool(get(request, "cachedContent", "cached_content"))
    yield from _shape(request)
    for content in contents:
        yield from _role(content)
        for part in content.parts:
            yield from _part(part)
    yield from _order(_turns(contents), cached=cached)
    yield from _end(contents)
    if subject.facts.signed_calls:
        yield from _signatures(contents)
    yield from _tools(request, subject)
    yield from option_violations(request, subject)


def _content(index: int, entry: object) -> Content:
    data = obj(entry)
    role = data.get("role")
    parts = [_read_part(f"contents[{index}].parts[{n}]", part) for n, part in enumerate(several(data.get("parts")))]
    return Content(index, string(role).lower() or "user", parts)


def _read_part(path: str, part: object) -> Part:
    data = obj(part)
    call = get(data, "functionCall", "function_call")
    response = get(data, "functionResponse", "function_response")
    return Part(path, data, None if call is None else obj(call), None if response is None else obj(response))


def _turns(contents: list[Content]) -> list[Turn]:
    turns: list[Turn] = []
    before = ""
    for content in contents:
        side = "model" if content.role == "model" else "user"
        if side != before:
            turns.append(Turn())
        turns[-1].contents.append(content)
        before = side
    return turns


def _shape(request: dict[str, object]) -> Iterator[Violation]:
    """G0."""
    contents = get(request, "contents")
    if contents is None or contents == []:
        text = "* GenerateContentRequest.contents: contents is not specified"
        yield Violation("G0", text, "GenerateContentRequest.contents")
    elif not (is_object(contents) or is_array(contents)):
        yield _not_a_message("contents", contents)
    for index, entry in enumerate(several(contents)):
        path = f"contents[{index}]"
        if not is_object(entry):
            yield _not_a_message(path, entry)
            continue
        parts = obj(entry).get("parts")
        if not several(parts):
            where = f"GenerateContentRequest.{path}.parts"
            yield Violation("G0", f"* {where}: contents.parts must not be empty.", where)
        for number, part in enumerate(several(parts)):
            if not is_object(part):
                yield _not_a_message(f"{path}.parts[{number}]", part)
            elif not part:
                where = f"GenerateContentRequest.{path}.parts[{number}].data"
                text = f"* {where}: required oneof field 'data' must have one initialized field"
                yield Violation("G0", text, where)


def _not_a_message(path: str, value: object) -> Violation:
    type_ = "Part" if ".parts" in path else "Content"
    full = f"type.googleapis.com/google.ai.generativelanguage.v1beta.{type_}"
    return Violation("G0", f"Invalid value at '{path}' ({full}), {literal(value)}", path)


def _role(content: Content) -> Iterator[Violation]:
    # G8. Google's own examples write USER too, and once gave results the role function.
    if content.role not in ("user", "model", "function"):
        yield Violation("G8", "Please use a valid role: user, model.", f"contents[{content.index}].role")


def _part(part: Part) -> Iterator[Violation]:
    if part.call is not None:
        yield from _named(part.call, f"{part.path}.function_call")
        yield from _struct("G14", part.call, "args", f"{part.path}.function_call")
    if part.response is not None:
        yield from _named(part.response, f"{part.path}.function_response")
        yield from _struct("G9", part.response, "response", f"{part.path}.function_response")
    signature = get(part.data, "thoughtSignature", "thought_signature")
    if isinstance(signature, str) and not _is_base64(signature):
        path = f"{part.path}.thought_signature"
        yield Violation("G7", f"Invalid value at '{path}' (TYPE_BYTES), Base64 decoding failed", path)


def _is_base64(text: str) -> bool:
    """Both alphabets, with or without padding; recordings use the one for URLs. G6's stand-ins pass as they are."""
    return bool(_BASE64.fullmatch(text)) and len(text.rstrip("=")) % 4 != 1


def _named(data: dict[str, object], path: str) -> Iterator[Violation]:
    """G14."""
    if not string(data.get("name")):
        where = f"GenerateContentRequest.{path}.name"
        yield Violation("G14", f"* {where}: Name cannot be empty.", where)


def _struct(code: str, data: dict[str, object], key: str, path: str) -> Iterator[Violation]:
    value = data.get(key)
    if is_array(value):
        text = (
            f"Invalid JSON payload received. Unknown name \"{key}\" at '{path}': "
            "Proto field is not repeating, cannot start list."
        )
        yield Violation(code, text, path)
    elif value is not None and not is_object(value):
        yield Violation(code, f"Invalid value at '{path}.{key}' ({_STRUCT}), {literal(value)}", f"{path}.{key}")


def _order(turns: list[Turn], *, cached: bool) -> Iterator[Violation]:
    """G1, G2 and G3. With cached content the conversation may have begun in the cache."""
    for position, turn in enumerate(turns):
        model = turn.contents[0].role == "model"
        first = position == 0
        if model and first and turn.calls and not cached:
            text = "Please ensure that function call turn comes immediately after a user turn or after a"
            yield Violation("G2", f"{text} function response turn.", turn.path)
        if model or (first and cached):
            continue
        calls = 0 if first else turns[position - 1].calls
        if turn.responses and (not calls or _displaced(turn)):
            text = "Please ensure that function response turn comes immediately after a function call turn."
            yield Violation("G3", text, turn.path)
        elif calls != turn.responses:
            yield Violation("G1", _RESPONSES_UNEQUAL, turn.path)


def _displaced(turn: Turn) -> bool:
    """Whether another content of the user stands between the calls and a response."""
    plain = False
    for content in turn.contents:
        if content.responds and plain:
            return True
        plain = plain or not content.responds
    return False


def _end(contents: list[Content]) -> Iterator[Violation]:
    """G10."""
    if not contents or contents[-1].role != "model":
        return
    if len(contents) == 1:
        text = "Please ensure that single turn requests end with a user role or the role field is empty."
    else:
        text = "Please ensure that multiturn requests ends with a user role or a function response."
    yield Violation("G10", text, f"contents[{contents[-1].index}].role")


def _signatures(contents: list[Content]) -> Iterator[Violation]:
    # G4 in the scope of G5: from the last ordinary content of the user on, the first call of every step.
    asked = [content.index for content in contents if content.role != "model" and content.ordinary]
    for turn in _turns(contents[asked[-1] + 1 if asked else 0 :]):
        calls = (
            (content.index, part)
            for content in turn.contents
            if content.role == "model"
            for part in content.parts
            if part.call is not None
        )
        index, part = next(calls, (0, None))
        if part is None or part.call is None or get(part.data, "thoughtSignature", "thought_signature"):
            continue
        text = (
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
            "correctly, and missing thought_signature may lead to degraded model performance. Additional data, "
            f"function call `default_api:{string(part.call.get('name'))}` , position {index + 1}. Please refer to "
            "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
        )
        yield Violation("G4", text, part.path)


def _tools(request: dict[str, object], subject: Subject) -> Iterator[Violation]:
    declared = False
    for index, tool in enumerate(several(get(request, "tools"))):
        functions = several(get(obj(tool), "functionDeclarations", "function_declarations"))
        declared = declared or bool(functions)
        for number, function in enumerate(functions):
            path = f"tools[{index}].function_declarations[{number}]"
            yield from _function(obj(function), path, subject)
    config = obj(get(request, "generationConfig", "generation_config"))
    schema = get(config, "responseSchema", "response_schema")
    yield from schema_violations(schema, "generation_config.response_schema", subject)
    mime = get(config, "responseMimeType", "response_mime_type")
    if declared and mime == "application/json" and subject.facts.schema_with_tools is False:
        text = "Function calling with a response mime type: 'application/json' is unsupported"
        yield Violation("G13", text)


def _function(function: dict[str, object], path: str, subject: Subject) -> Iterator[Violation]:
    if not _NAME.fullmatch(string(function.get("name"))):
        where = f"GenerateContentRequest.{path}.name"
        text = (
            f"* {where}: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric "
            "(a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
        )
        yield Violation("G14", text, where)
    for key in ("parameters", "response"):
        yield from schema_violations(function.get(key), f"{path}.{key}", subject)
