"""Rules of Gemini's generateContent.

Bodies come in camelCase and snake_case, and a single object may replace a list: Google's parser
accepts both, and its examples use them. Adjacent contents of one role count as one turn. Only a
server with memory can check whether a thought signature is genuine (the other half of G7).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from antiphon._base.json_access import as_object, as_string
from antiphon.wire.rules.gemini_options import find_gemini_option_violations
from antiphon.wire.rules.gemini_schema import find_gemini_schema_violations
from antiphon.wire.rules.json_access import as_repeated, format_literal, get_first_field, is_json_array, is_json_dict
from antiphon.wire.rules.subject import CheckSubject
from antiphon.wire.rules.violation import Violation

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_STRUCT = "type.googleapis.com/google.protobuf.Struct"
_RESPONSES_UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)


@dataclass(frozen=True, slots=True)
class GeminiPart:
    """A part, its path, and the call or response that it holds."""

    path: str
    data: dict[str, object]
    call: dict[str, object] | None
    response: dict[str, object] | None


@dataclass(frozen=True, slots=True)
class GeminiContent:
    """One entry of `contents`. A missing role means the user."""

    index: int
    role: str
    parts: list[GeminiPart]

    @property
    def has_responses(self) -> bool:
        return any(part.response is not None for part in self.parts)

    @property
    def has_ordinary_parts(self) -> bool:
        return not self.parts or any(part.response is None for part in self.parts)


@dataclass(slots=True)
class GeminiTurn:
    """Adjacent contents of one role."""

    contents: list[GeminiContent] = field(default_factory=lambda: list[GeminiContent]())

    @property
    def calls(self) -> int:
        return sum(part.call is not None for content in self.contents for part in content.parts)

    @property
    def responses(self) -> int:
        return sum(part.response is not None for content in self.contents for part in content.parts)

    @property
    def path(self) -> str:
        return f"contents[{self.contents[0].index}]"


def violations(body: object, model: str, subject: CheckSubject) -> Iterator[Violation]:  # noqa: ARG001
    """Yield the violations that generateContent would report for `body`."""
    if not is_json_dict(body):
        yield Violation("G0", 'Invalid JSON payload received. Unknown name "": Root element must be a message.')
        return
    request = as_object(body)
    contents = [
        _read_content(index, entry) for index, entry in enumerate(as_repeated(get_first_field(request, "contents")))
    ]
    cached = bool(get_first_field(request, "cachedContent", "cached_content"))
    yield from _check_shape(request)
    for content in contents:
        yield from _check_role(content)
        for part in content.parts:
            yield from _check_part(part)
    yield from _check_order(_group_turns(contents), cached=cached)
    yield from _check_end(contents)
    if subject.facts.signed_calls:
        yield from _check_signatures(contents)
    yield from _check_tools(request, subject)
    yield from find_gemini_option_violations(request, subject)


def _read_content(index: int, entry: object) -> GeminiContent:
    data = as_object(entry)
    role = data.get("role")
    parts = [_read_part(f"contents[{index}].parts[{n}]", part) for n, part in enumerate(as_repeated(data.get("parts")))]
    return GeminiContent(index, as_string(role).lower() or "user", parts)


def _read_part(path: str, part: object) -> GeminiPart:
    data = as_object(part)
    call = get_first_field(data, "functionCall", "function_call")
    response = get_first_field(data, "functionResponse", "function_response")
    return GeminiPart(
        path, data, None if call is None else as_object(call), None if response is None else as_object(response)
    )


def _group_turns(contents: list[GeminiContent]) -> list[GeminiTurn]:
    turns: list[GeminiTurn] = []
    before = ""
    for content in contents:
        side = "model" if content.role == "model" else "user"
        if side != before:
            turns.append(GeminiTurn())
        turns[-1].contents.append(content)
        before = side
    return turns


def _check_shape(request: dict[str, object]) -> Iterator[Violation]:
    """Yield violations of G0: a body of the wrong shape."""
    contents = get_first_field(request, "contents")
    if contents is None or contents == []:
        text = "* GenerateContentRequest.contents: contents is not specified"
        yield Violation("G0", text, "GenerateContentRequest.contents")
    elif not (is_json_dict(contents) or is_json_array(contents)):
        yield _make_type_violation("contents", contents)
    for index, entry in enumerate(as_repeated(contents)):
        path = f"contents[{index}]"
        if not is_json_dict(entry):
            yield _make_type_violation(path, entry)
            continue
        parts = as_object(entry).get("parts")
        if not as_repeated(parts):
            where = f"GenerateContentRequest.{path}.parts"
            yield Violation("G0", f"* {where}: contents.parts must not be empty.", where)
        for number, part in enumerate(as_repeated(parts)):
            if not is_json_dict(part):
                yield _make_type_violation(f"{path}.parts[{number}]", part)
            elif not part:
                where = f"GenerateContentRequest.{path}.parts[{number}].data"
                text = f"* {where}: required oneof field 'data' must have one initialized field"
                yield Violation("G0", text, where)


def _make_type_violation(path: str, value: object) -> Violation:
    type_ = "Part" if ".parts" in path else "Content"
    full = f"type.googleapis.com/google.ai.generativelanguage.v1beta.{type_}"
    return Violation("G0", f"Invalid value at '{path}' ({full}), {format_literal(value)}", path)


def _check_role(content: GeminiContent) -> Iterator[Violation]:
    # G8. Google's own examples also write USER, and once gave results the role function.
    if content.role not in ("user", "model", "function"):
        yield Violation("G8", "Please use a valid role: user, model.", f"contents[{content.index}].role")


def _check_part(part: GeminiPart) -> Iterator[Violation]:
    if part.call is not None:
        yield from _check_name(part.call, f"{part.path}.function_call")
        yield from _check_struct("G14", part.call, "args", f"{part.path}.function_call")
    if part.response is not None:
        yield from _check_name(part.response, f"{part.path}.function_response")
        yield from _check_struct("G9", part.response, "response", f"{part.path}.function_response")
    signature = get_first_field(part.data, "thoughtSignature", "thought_signature")
    if isinstance(signature, str) and not _is_base64(signature):
        path = f"{part.path}.thought_signature"
        yield Violation("G7", f"Invalid value at '{path}' (TYPE_BYTES), Base64 decoding failed", path)


def _is_base64(text: str) -> bool:
    """Return whether the text is Base64 in either alphabet, with or without padding.

    The placeholders of G6 pass too.
    """
    return bool(_BASE64.fullmatch(text)) and len(text.rstrip("=")) % 4 != 1


def _check_name(data: dict[str, object], path: str) -> Iterator[Violation]:
    """Yield violations of G14: an empty function name."""
    if not as_string(data.get("name")):
        where = f"GenerateContentRequest.{path}.name"
        yield Violation("G14", f"* {where}: Name cannot be empty.", where)


def _check_struct(code: str, data: dict[str, object], key: str, path: str) -> Iterator[Violation]:
    value = data.get(key)
    if is_json_array(value):
        text = (
            f"Invalid JSON payload received. Unknown name \"{key}\" at '{path}': "
            "Proto field is not repeating, cannot start list."
        )
        yield Violation(code, text, path)
    elif value is not None and not is_json_dict(value):
        yield Violation(code, f"Invalid value at '{path}.{key}' ({_STRUCT}), {format_literal(value)}", f"{path}.{key}")


def _check_order(turns: list[GeminiTurn], *, cached: bool) -> Iterator[Violation]:
    """Yield violations of G1, G2 and G3. With cached content, the conversation may have begun in the
    cache.
    """
    for position, turn in enumerate(turns):
        model = turn.contents[0].role == "model"
        first = position == 0
        if model and first and turn.calls and not cached:
            text = "Please ensure that function call turn comes immediately after a user turn or after a"
            yield Violation("G2", f"{text} function response turn.", turn.path)
        if model or (first and cached):
            continue
        calls = 0 if first else turns[position - 1].calls
        if turn.responses and (not calls or _has_displaced_response(turn)):
            text = "Please ensure that function response turn comes immediately after a function call turn."
            yield Violation("G3", text, turn.path)
        elif calls != turn.responses:
            yield Violation("G1", _RESPONSES_UNEQUAL, turn.path)


def _has_displaced_response(turn: GeminiTurn) -> bool:
    """Return whether other user content comes between the calls and a response."""
    plain = False
    for content in turn.contents:
        if content.has_responses and plain:
            return True
        plain = plain or not content.has_responses
    return False


def _check_end(contents: list[GeminiContent]) -> Iterator[Violation]:
    """Yield violations of G10: contents that end with the model's."""
    if not contents or contents[-1].role != "model":
        return
    if len(contents) == 1:
        text = "Please ensure that single turn requests end with a user role or the role field is empty."
    else:
        text = "Please ensure that multiturn requests ends with a user role or a function response."
    yield Violation("G10", text, f"contents[{contents[-1].index}].role")


def _check_signatures(contents: list[GeminiContent]) -> Iterator[Violation]:
    # G4 in the scope of G5: from the last ordinary content of the user on, the first call of every step.
    asked = [content.index for content in contents if content.role != "model" and content.has_ordinary_parts]
    for turn in _group_turns(contents[asked[-1] + 1 if asked else 0 :]):
        calls = (
            (content.index, part)
            for content in turn.contents
            if content.role == "model"
            for part in content.parts
            if part.call is not None
        )
        index, part = next(calls, (0, None))
        if part is None or part.call is None or get_first_field(part.data, "thoughtSignature", "thought_signature"):
            continue
        text = (
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
            "correctly, and missing thought_signature may lead to degraded model performance. Additional data, "
            f"function call `default_api:{as_string(part.call.get('name'))}` , position {index + 1}. Please refer to "
            "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
        )
        yield Violation("G4", text, part.path)


def _check_tools(request: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    declared = False
    for index, tool in enumerate(as_repeated(get_first_field(request, "tools"))):
        functions = as_repeated(get_first_field(as_object(tool), "functionDeclarations", "function_declarations"))
        declared = declared or bool(functions)
        for number, function in enumerate(functions):
            path = f"tools[{index}].function_declarations[{number}]"
            yield from _check_function(as_object(function), path, subject)
    config = as_object(get_first_field(request, "generationConfig", "generation_config"))
    schema = get_first_field(config, "responseSchema", "response_schema")
    yield from find_gemini_schema_violations(schema, "generation_config.response_schema", subject)
    mime = get_first_field(config, "responseMimeType", "response_mime_type")
    if declared and mime == "application/json" and subject.facts.schema_with_tools is False:
        text = "Function calling with a response mime type: 'application/json' is unsupported"
        yield Violation("G13", text)


def _check_function(function: dict[str, object], path: str, subject: CheckSubject) -> Iterator[Violation]:
    if not _NAME.fullmatch(as_string(function.get("name"))):
        where = f"GenerateContentRequest.{path}.name"
        text = (
            f"* {where}: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric "
            "(a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
        )
        yield Violation("G14", text, where)
    for key in ("parameters", "response"):
        yield from find_gemini_schema_violations(function.get(key), f"{path}.{key}", subject)
