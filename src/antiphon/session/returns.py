"""Typed returns: what a caller wants back, as tools the model returns it with, checked field by field."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast, get_type_hints, is_typeddict

from antiphon._json import dumps, loads
from antiphon.conversation import ToolCall, ToolResult, ToolSpec
from antiphon.errors import AntiphonError, ContentError, MalformedJSONError, OptionError
from antiphon.tools.annotations import readable
from antiphon.tools.signature import explained, without_titles

PREFIX = "__vibe_return_"
OBJECT = f"{PREFIX}object"
VALUE = f"{PREFIX}value"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_FENCE = re.compile(r"```[\w-]*\n(.*?)```", re.DOTALL)

#: How a model gives the value back: a tool for each field, one tool for all, or the provider's own structured output.
Strategy = Literal["fields", "object", "native"]


class ReturnError(AntiphonError):
    """The model did not return what was asked for. Says what was asked, what came, and why it was refused."""

    def __init__(self, prompt: str, received: list[str], reason: str) -> None:
        came = "; ".join(received[-3:]) or "nothing"
        super().__init__(f"no usable answer to {prompt[:200]!r}: {reason}. What came: {came[:1000]}")
        self.prompt = prompt
        self.received = received
        self.reason = reason


class Expected:
    """A wanted type, and what has come of it so far."""

    def __init__(self, wanted: Any) -> None:
        from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

        self._wanted = wanted
        self._fields = _fields(wanted)
        self.single = self._fields is None
        try:
            types = {"value": (wanted, True)} if self._fields is None else self._fields
            self._adapters = {name: TypeAdapter(readable(type_)) for name, (type_, _) in types.items()}
            self._whole = None if self.single or isinstance(wanted, Mapping) else TypeAdapter(readable(wanted))
            self._schemas = {name: without_titles(a.json_schema()) for name, a in self._adapters.items()}
        except (PydanticSchemaGenerationError, PydanticUserError, TypeError, NameError) as error:
            raise OptionError(f"`returns` cannot be {wanted!r}: {str(error).splitlines()[0]}") from None
        self.required = [name for name, (_, needed) in types.items() if needed]
        self.values: dict[str, Any] = {}
        self.received: list[str] = []
        self.faults: list[str] = []

    # Asking for it

    def strategy(self, parallel_calls: bool | None, structured_output: bool | None) -> Strategy:
        """A tool for each field where calls come in parallel, else one for all; natively where that is guaranteed."""
        nameable = all(ToolCall.read("x", PREFIX + name, {}).problem is None for name in self._adapters)
        if not self.single and nameable and parallel_calls is not False:
            return "fields"
        return "native" if structured_output and not self.single else "object"

    def tools(self, strategy: Strategy) -> list[ToolSpec]:
        """The internal tools with which the model returns its answer."""
        if strategy == "native":
            return []
        if self.single or strategy == "fields":
            return [self._field_tool(name) for name in self._adapters]
        return [ToolSpec(OBJECT, "Return the answer: all of its fields at once.", self.schema)]

    def _field_tool(self, name: str) -> ToolSpec:
        tool = VALUE if self.single else PREFIX + name
        kind, of = _word(self._schemas[name]), "the answer" if self.single else f"'{name}'"
        value = {"description": f"The {kind} value to return for {of}", **self._schemas[name]}
        defs = value.pop("$defs", None)
        schema = {"type": "object", "properties": {"value": value}, "required": ["value"]}
        return ToolSpec(tool, f"Return the {kind} value for {of}.", schema | ({"$defs": defs} if defs else {}))

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the whole answer, which is always an object."""
        if self._whole is not None:
            return without_titles(self._whole.json_schema())
        properties = {name: dict(schema) for name, schema in self._schemas.items()}
        defs = {k: v for schema in properties.values() for k, v in schema.pop("$defs", {}).items()}
        schema = {"type": "object", "properties": properties, "required": self.required, "additionalProperties": False}
        return schema | ({"$defs": defs} if defs else {})

    def instruction(self, strategy: Strategy) -> str:
        """What is put behind the prompt."""
        if strategy == "native":
            return f"Answer with JSON that fits this schema: {dumps(self.schema)}"
        names = [tool.name for tool in self.tools(strategy)]
        fields = ", ".join(f"{name} ({_word(schema)})" for name, schema in self._schemas.items())
        if self.single:
            return f"IMPORTANT: You MUST call the {VALUE} tool with the answer. Do not respond with plain text."
        if strategy == "object":
            return f"IMPORTANT: You MUST call the {OBJECT} tool with: {fields}. Do not respond with plain text."
        return (
            f"IMPORTANT: You MUST return {fields} by calling each of these tools: {', '.join(names)}."
            " Do not respond with plain text."
        )

    def reminder(self, strategy: Strategy) -> str:
        """What is told to a model that has not returned all of it."""
        why = f" ({'; '.join(self.faults)})" if self.faults else ""
        self.faults = []
        if strategy == "native":
            return f"That does not fit{why}. Answer again with JSON that fits the schema."
        lacking = [VALUE if self.single else OBJECT if strategy == "object" else PREFIX + name for name in self.missing]
        return f"Still missing{why}: call {', '.join(dict.fromkeys(lacking))}."

    # Taking it in

    @property
    def missing(self) -> list[str]:
        """The fields that must still come."""
        return [name for name in self.required if name not in self.values]

    def take_call(self, call: ToolCall) -> ToolResult:
        """Take what a return tool was called with; what does not fit is told back."""
        self.received.append(f"{call.name}({call.arguments_json})")
        if call.problem:
            return self._refused(call, [f"{call.name}: {call.problem}"])
        if call.name == OBJECT:
            faults = self._take_all(call.arguments)
        elif "value" not in call.arguments:
            faults = [f"{call.name}: `value` is missing"]
        else:
            faults = self._take(call.name.removeprefix(PREFIX), call.arguments["value"])
        return self._refused(call, faults) if faults else ToolResult(call.id, "Received.")

    def take_text(self, text: str) -> None:
        """Take an answer in plain text, leniently: JSON in it, or the text itself where text is wanted."""
        self.received.append(text)
        faults: list[str] = []
        for candidate in _candidates(text):
            faults = self._take("value", candidate) if self.single else self._take_all(candidate)
            if not faults and not self.missing:
                return
        for plain in (text.strip(), *_only(_NUMBER.findall(text))) if self.single else ():
            if not self._take("value", plain):
                return
        self.faults = faults[:5]

    def value(self) -> Any:
        """The whole value; only when nothing is missing."""
        if self.single:
            return self.values["value"]
        if self._whole is None:
            return dict(self.values)
        if dataclasses.is_dataclass(self._wanted) or is_typeddict(self._wanted):
            return self._whole.validate_python(self.values)
        return self._wanted.model_validate(self.values, by_name=True)

    def _take_all(self, given: object) -> list[str]:
        if not isinstance(given, dict):
            return [f"expected an object with {', '.join(self._adapters)}"]
        values = cast(dict[str, Any], given)
        names = [name for name in self._adapters if name in values]
        faults = [fault for name in names for fault in self._take(name, values[name])]
        lacking = [name for name in self.missing if name not in names]
        return faults + [f"`{name}` is missing" for name in lacking]

    def _take(self, name: str, value: object) -> list[str]:
        from pydantic import ValidationError

        adapter = self._adapters.get(name)
        if adapter is None:
            return [f"there is no field `{name}`"]
        try:
            self.values[name] = adapter.validate_python(value)
        except ValidationError as error:
            return [f"{'' if self.single else f'`{name}`: '}{explained(error)}"]
        return []

    def _refused(self, call: ToolCall, faults: list[str]) -> ToolResult:
        self.faults += faults
        return ToolResult(call.id, f"This does not fit: {'; '.join(faults)}. Call it again.", is_error=True)


def _fields(wanted: Any) -> dict[str, tuple[Any, bool]] | None:
    """The fields of an object type, each with whether it must be given; nothing for other types."""
    if isinstance(wanted, Mapping):
        types = cast(Mapping[Any, Any], wanted)
        if not types or not all(isinstance(name, str) for name in types):
            raise OptionError("`returns` as a dict names at least one field: {'name': str, 'age': int}")
        return {name: (type_, True) for name, type_ in types.items()}
    if dataclasses.is_dataclass(wanted) and isinstance(wanted, type):
        hints = get_type_hints(wanted, include_extras=True)
        return {f.name: (hints[f.name], _has_no_default(f)) for f in dataclasses.fields(wanted) if f.init}
    if is_typeddict(wanted):
        hints = get_type_hints(wanted, include_extras=True)
        required: frozenset[str] = getattr(wanted, "__required_keys__", frozenset[str]())
        return {name: (hints[name], name in required) for name in hints}
    from pydantic import BaseModel

    if isinstance(wanted, type) and issubclass(wanted, BaseModel):
        return {name: (_annotated(info), info.is_required()) for name, info in wanted.model_fields.items()}
    return None


def _has_no_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _annotated(info: Any) -> Any:
    from typing import Annotated

    return Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation


def _word(schema: Mapping[str, Any]) -> str:
    """A type in the word a person would use."""
    kind = schema.get("type")
    if "enum" in schema:
        return " or ".join(dumps(value) for value in schema["enum"])
    if "const" in schema:
        return dumps(schema["const"])
    if kind == "array":
        return f"{_word(schema.get('items', {}))}[]"
    if not isinstance(kind, str):
        return "json"
    return {"string": "text", "integer": "number", "number": "number", "boolean": "boolean"}.get(kind, "json")


def _candidates(text: str) -> Iterator[Any]:
    """JSON values in a text: the whole of it, what is fenced, and what stands between prose, the longest first."""
    pieces = [text, *_FENCE.findall(text)]
    for piece in pieces:
        try:
            yield loads(piece.strip())
        except MalformedJSONError:
            continue
    decoder = json.JSONDecoder()
    tries = 0
    for match in re.finditer(r"[{\[]", text):
        tries += 1
        if tries > 50:
            return
        try:
            yield decoder.raw_decode(text, match.start())[0]
        except (ValueError, RecursionError):
            continue


def _only(found: list[str]) -> list[str]:
    return found if len(found) == 1 else []


def parsed(text: str) -> Any:
    """An untyped answer: parsed if it is a JSON object or array, else the text as it is."""
    inner = text.strip()
    fenced = re.fullmatch(r"```json\n(.*?)```", inner, re.DOTALL)
    inner = fenced[1].strip() if fenced else inner
    if inner[:1] in ("{", "["):
        try:
            return loads(inner)
        except (MalformedJSONError, ContentError):
            return text
    return text
