"""Typed returns: what a caller wants back, as tools the model returns it with, checked field by field."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from antiphon._json import dumps, loads
from antiphon.conversation import ToolCall, ToolResult, ToolSpec
from antiphon.errors import AntiphonError, ContentError, MalformedJSONError, OptionError
from antiphon.tools.annotations import readable
from antiphon.tools.signature import faults_of, without_titles
from antiphon.wire.schema import INSTRUCTION

if TYPE_CHECKING:
    from pydantic import TypeAdapter

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
    """A wanted type, how the model is to give it, and what has come of it so far.

    What came is kept as it came, and checked as a whole each time there is more of it: so validators of the type's own
    have their say, and no value is converted twice.
    """

    def __init__(
        self,
        wanted: Any,
        strategy: Strategy | None = None,
        parallel_calls: bool | None = None,
        structured_output: bool | None = None,
    ) -> None:
        from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

        try:
            type_ = _object(cast(Mapping[Any, Any], wanted)) if isinstance(wanted, Mapping) else readable(wanted)
            self._adapter: TypeAdapter[Any] = TypeAdapter(type_)
            self.schema = _schema(self._adapter, type_)
            self.single = "properties" not in self.schema
            if self.single:
                self._adapter = TypeAdapter(_object({"value": type_}))
                self.schema = _schema(self._adapter, None)
        except (PydanticSchemaGenerationError, PydanticUserError, TypeError, NameError) as error:
            raise OptionError(f"`returns` cannot be {wanted!r}: {str(error).splitlines()[0]}") from None
        self._fields: dict[str, Any] = self.schema["properties"]
        self._aliases = _aliases(type_)
        self.strategy: Strategy = self._chosen(strategy, parallel_calls, structured_output)
        self.values: dict[str, Any] = {}
        self.received: list[str] = []
        self.faults: list[str] = []
        self._refused: set[str] = set()
        self._whole: list[Any] = []

    # Asking for it

    def _chosen(self, wish: Strategy | None, parallel_calls: bool | None, structured_output: bool | None) -> Strategy:
        """A tool for each field where calls come in parallel, else one for all; natively where that is guaranteed."""
        nameable = all(ToolCall.read("x", PREFIX + name, {}).problem is None for name in self._fields)
        if wish is not None:
            return wish if nameable or wish != "fields" else "object"
        if not self.single and nameable and parallel_calls is not False:
            return "fields"
        return "native" if structured_output and not self.single else "object"

    def tools(self) -> list[ToolSpec]:
        """The internal tools with which the model returns its answer."""
        if self.strategy == "native":
            return []
        if self.single or self.strategy == "fields":
            return [self._field_tool(name) for name in self._fields]
        return [ToolSpec(OBJECT, "Return the answer: all of its fields at once.", self.schema)]

    def _field_tool(self, name: str) -> ToolSpec:
        kind, of = _word(self._fields[name]), "the answer" if self.single else f"'{name}'"
        value = {"description": f"The {kind} value to return for {of}", **self._fields[name]}
        schema = {"type": "object", "properties": {"value": value}, "required": ["value"]}
        if defs := self.schema.get("$defs"):
            schema["$defs"] = defs
        return ToolSpec(PREFIX + name, f"Return the {kind} value for {of}.", schema)

    def instruction(self) -> str:
        """What is put behind the prompt."""
        if self.strategy == "native":
            return INSTRUCTION + dumps(self.schema)
        fields = ", ".join(f"{name} ({_word(schema)})" for name, schema in self._fields.items())
        if self.single:
            return f"IMPORTANT: You MUST call the {VALUE} tool with the answer. Do not respond with plain text."
        if self.strategy == "object":
            return f"IMPORTANT: You MUST call the {OBJECT} tool with: {fields}. Do not respond with plain text."
        return (
            f"IMPORTANT: You MUST return {fields} by calling each of these tools:"
            f" {', '.join(PREFIX + name for name in self._fields)}. Do not respond with plain text."
        )

    def reminder(self) -> str:
        """What is told to a model that has not returned all of it."""
        why = f" ({'; '.join(self.faults)})" if self.faults else ""
        if self.strategy == "native":
            return f"That does not fit{why}. Answer again with JSON that fits the schema."
        if self.strategy == "object" and not self.single:
            return f"Still missing{why}: call {OBJECT}."
        return f"Still missing{why}: call {', '.join(PREFIX + name for name in self.missing or self._fields)}."

    # Taking it in

    @property
    def missing(self) -> list[str]:
        """The fields that must still come: those that are needed, and those that came and were refused."""
        needed = {*self.schema.get("required", ()), *self._refused}
        return [name for name in self._fields if name in needed and name not in self.values]

    @property
    def complete(self) -> bool:
        """Whether all has come."""
        return bool(self._whole) and not self.missing

    @property
    def value(self) -> Any:
        """The whole value, when it is complete."""
        return self._whole[0]["value"] if self.single else self._whole[0]

    def take_call(self, call: ToolCall) -> ToolResult:
        """Take what a return tool was called with; what does not fit is told back."""
        self.received.append(f"{call.name}({call.arguments_json})")
        name = call.name.removeprefix(PREFIX)
        if call.problem:
            faults = [f"{call.name}: {call.problem}"]
        elif call.name == OBJECT and (self.strategy == "object" or name not in self._fields):
            faults = self._take(call.arguments)
            faults += [f"`{name}` is missing" for name in self.missing if name not in call.arguments]
        elif name not in self._fields:
            faults = [f"there is no field `{name}`"]
        elif "value" not in call.arguments:
            faults = [f"{call.name}: `value` is missing"]
        else:
            faults = self._take({name: call.arguments["value"]})
        if not faults:
            return ToolResult(call.id, "Received.")
        self.faults += faults
        return ToolResult(call.id, f"This does not fit: {'; '.join(faults)}. Call it again.", is_error=True)

    def take_text(self, text: str) -> None:
        """Take an answer in plain text, leniently: JSON in it, or the text itself where text is wanted."""
        self.received.append(text)
        given = [read for candidate in _candidates(text) for read in self._readings(candidate)]
        if self.single and text.strip():
            given += [{"value": plain} for plain in (text.strip(), *_only(_NUMBER.findall(text)))]
        faults: list[str] = []
        for fields in given:
            found = self._take(fields)
            if self.complete:
                return
            faults = faults or found
        self.faults += faults

    def take_nothing(self, reason: str) -> None:
        """Note an answer that cannot be used."""
        self.received.append(reason)
        self.faults.append(reason)

    def _readings(self, candidate: Any) -> list[dict[str, Any]]:
        """The fields that a JSON value can be read as."""
        whole = [cast(dict[str, Any], candidate)] if isinstance(candidate, dict) else []
        if not self.single:
            return whole
        return [*whole, {"value": candidate}] if self.strategy == "native" else [{"value": candidate}, *whole]

    def _take(self, given: Mapping[str, Any]) -> list[str]:
        """Check these fields together with those that came before. Keeps what fits, and says what is wrong."""
        from pydantic import ValidationError

        named = {self._aliases.get(name, name): value for name, value in given.items()}
        if not self.schema.get("additionalProperties"):
            named = {name: value for name, value in named.items() if name in self._fields}
        values = {**self.values, **named}
        faults: list[tuple[tuple[int | str, ...], str]] = []
        try:
            self._whole = [self._adapter.validate_json(dumps(values), by_alias=True, by_name=True)]
        except ValidationError as error:
            faults = [(place, text) for place, text in faults_of(error) if not place or place[0] in values]
        except Exception as error:
            # A validator of the type's own that broke: for want of other fields, perhaps.
            faults = [((), f"{type(error).__name__}: {error}")]
        wrong = {str(place[0]) for place, _ in faults if place}
        kept = {name: value for name, value in self.values.items() if name in named or name not in wrong}
        self.values = kept | {name: value for name, value in named.items() if name not in wrong}
        self._refused = (self._refused | wrong) - set(self.values)
        if faults:
            self._whole = []
        return [text for place, text in faults if place or not self.missing]


def _object(types: Mapping[Any, Any]) -> Any:
    """A type of dicts with these fields."""
    from typing_extensions import TypedDict

    if not types or not all(isinstance(name, str) for name in types):
        raise OptionError("`returns` as a dict names at least one field: {'name': str, 'age': int}")
    return cast(Any, TypedDict)("Answer", {name: readable(type_) for name, type_ in types.items()})


def _schema(adapter: TypeAdapter[Any], type_: Any) -> dict[str, Any]:
    """The JSON Schema, that of an object without the fields that nobody may set."""
    schema: dict[str, Any] = without_titles(adapter.json_schema())
    defs = schema.get("$defs", {})
    if "$ref" in schema:
        # A type that holds itself.
        schema = {**defs[schema["$ref"].rpartition("/")[2]], "$defs": defs}
    if not schema.get("properties"):
        return {key: value for key, value in schema.items() if key != "properties"}
    unset = {f.name for f in dataclasses.fields(type_) if not f.init} if dataclasses.is_dataclass(type_) else set[str]()
    properties = {name: value for name, value in schema["properties"].items() if name not in unset}
    return {"additionalProperties": False, **schema, "properties": properties}


def _aliases(type_: Any) -> dict[str, str]:
    """The names of a pydantic model's fields outside, by those inside."""
    fields: dict[str, Any] = getattr(type_, "model_fields", {})
    return {n: info.validation_alias for n, info in fields.items() if isinstance(info.validation_alias, str)}


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
