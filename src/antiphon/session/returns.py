"""Typed returns: what is wanted back, as tools the model returns it with. What came is taken whole, or told back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from antiphon._json import dumps, loads
from antiphon.conversation import ToolCall, ToolResult, ToolSpec
from antiphon.errors import ContentError, MalformedJSONError
from antiphon.session.wanted import wanted, word

PREFIX = "__vibe_return_"
OBJECT = f"{PREFIX}object"
VALUE = f"{PREFIX}value"
#: A tool for each of more fields than this would cost more than one for all of them; so would naming each.
_MOST_FIELDS = 8
_FENCED = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)

#: How a model gives the value back: a tool for each field, one tool for all, or the provider's own structured output.
Strategy = Literal["fields", "object", "native"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that came and was not taken, and why."""

    what: str
    why: str


class Expected:
    """A wanted type, how the model is to give it, and what has come of it so far.

    What came is kept as it came, and checked as a whole each time there is more of it: so validators of the type's own
    have their say, and no value is converted twice. `is_sure` says whether the provider guarantees answers of a schema.
    """

    def __init__(
        self,
        asked: Any,
        strategy: Strategy | None = None,
        *,
        parallel_calls: bool | None = None,
        is_sure: Callable[[dict[str, Any]], bool] = lambda _: False,
    ) -> None:
        self.wanted = wanted(asked)
        self.strategy: Strategy = self._chosen(strategy, parallel_calls is not False, is_sure)
        #: The fields that came and fit, as they came.
        self.values: dict[str, Any] = {}
        #: All that came.
        self.received: list[str] = []
        #: All of it that was not taken.
        self.refused: list[Refusal] = []
        #: What is wrong with what came last.
        self.faults: list[str] = []
        self._wrong: dict[str, str] = {}
        self._whole: list[Any] = []
        self._is_told_whole = False

    # Asking for it

    def _chosen(
        self, wish: Strategy | None, parallel_calls: bool, is_sure: Callable[[dict[str, Any]], bool]
    ) -> Strategy:
        """A tool for each field of a small flat pattern; else the provider's own way where it is sure, or one tool."""
        nameable = all(ToolCall.read("x", PREFIX + name, {}).problem is None for name in self.wanted.fields)
        if wish is not None:
            return wish if nameable or wish != "fields" else "object"
        if self.wanted.single:
            return "object"
        few = len(self.wanted.fields) <= _MOST_FIELDS
        if few and nameable and parallel_calls and self.wanted.is_flat:
            return "fields"
        return "native" if is_sure(self.schema) else "object"

    @property
    def schema(self) -> dict[str, Any]:
        """The schema of the whole, as structured output wants it."""
        return self.wanted.schema

    def tools(self) -> list[ToolSpec]:
        """The internal tools with which the model returns its answer."""
        if self.strategy == "native":
            return []
        if self.wanted.single or self.strategy == "fields":
            return [self._field_tool(name) for name in self.wanted.fields]
        schema = {key: value for key, value in self.schema.items() if key != "description"}
        return [ToolSpec(OBJECT, self._described("Return the answer: all of its fields at once."), schema)]

    def _field_tool(self, name: str) -> ToolSpec:
        field = self.wanted.field_schema(name)
        defs = field.get("$defs")
        kind, of = word(field), "the answer" if self.wanted.single else f"'{name}'"
        value = {"description": f"The {kind} value to return for {of}"}
        value |= {key: each for key, each in field.items() if key != "$defs"}
        schema = {"type": "object", "properties": {"value": value}, "required": ["value"]}
        said = f"Return the {kind} value for {of}."
        return ToolSpec(PREFIX + name, self._described(said), schema | ({"$defs": defs} if defs else {}))

    def _described(self, said: str) -> str:
        """What a tool says of itself, and what the type says of itself where the tool stands for all of it."""
        own = self.schema.get("description") if self.strategy == "object" else None
        return f"{said}\n\n{own}" if own else said

    def instruction(self) -> str:
        """What is put behind the prompt; nothing where the provider itself sees to the form of the answer."""
        if self.strategy == "native":
            return ""
        if self.wanted.single:
            return f"IMPORTANT: You MUST call the {VALUE} tool with the answer. Do not respond with plain text."
        fields = ", ".join(f"{name} ({word(schema)})" for name, schema in self.wanted.fields.items())
        if self.strategy == "object":
            # Many of them are not said twice: the tool's own schema has them all.
            which = f": {fields}" if len(self.wanted.fields) <= _MOST_FIELDS else " all of its fields"
            return f"IMPORTANT: You MUST call the {OBJECT} tool with{which}. Do not respond with plain text."
        own = f"{self.schema['description']}\n" if "description" in self.schema else ""
        return (
            f"IMPORTANT: {own}You MUST return {fields} by calling each of these tools:"
            f" {', '.join(PREFIX + name for name in self.wanted.fields)}. Do not respond with plain text."
        )

    def reminder(self) -> str:
        """What is told to a model that has not returned all of it."""
        why = f" ({'; '.join(self.faults)})" if self.faults else ""
        if self.strategy == "native":
            return f"That does not fit{why}. Answer again, with nothing but JSON that fits: {dumps(self.schema)}"
        if self.strategy == "object" and not self.wanted.single:
            return f"Still missing{why}: call {OBJECT} with all of the fields."
        left = self.missing or [name for name in self.wanted.fields if name not in self.values]
        names = ", ".join(PREFIX + name for name in left or self.wanted.fields)
        if self.is_enough:
            return f"Call {names} too if there is a value for it, or say that there is none."
        return f"Still missing{why}: call {names}."

    # Taking it in

    @property
    def missing(self) -> list[str]:
        """The fields that must still come: those that are needed, and those that came and were refused."""
        needed = {*self.wanted.required, *self._wrong}
        return [name for name in self.wanted.fields if name in needed and name not in self.values]

    @property
    def is_enough(self) -> bool:
        """Whether what has come is a value; fields that may be left out can still come."""
        return bool(self._whole) and not self._wrong

    @property
    def is_complete(self) -> bool:
        """Whether nothing more can come: it came as a whole, or every field of it."""
        return self.is_enough and (self._is_told_whole or len(self.values) >= len(self.wanted.fields))

    @property
    def _is_one_by_one(self) -> bool:
        return self.strategy == "fields" and not self.wanted.single

    @property
    def value(self) -> Any:
        """The whole value, when there is enough."""
        return self._whole[0]

    @property
    def answer(self) -> str:
        """The value as the model gave it, in the words of an answer."""
        said = self.values.get("value") if self.wanted.single else self.values
        return said if isinstance(said, str) and said.strip() else dumps(said)

    def lack(self) -> str:
        """Why there is no value: what is missing, and what came in its place."""
        missing = self.missing if self._is_one_by_one else []
        reasons = [f"missing: {', '.join(missing)}"] if missing else []
        return "; ".join(dict.fromkeys([*reasons, *self._wrong.values(), *self.faults]))

    def take_calls(self, calls: Sequence[ToolCall]) -> dict[str, ToolResult]:
        """Take what return tools were called with in one reply; what does not fit is told back."""
        self.faults = []
        said = [each for call in calls for each in self._said(call).items()]
        first = dict(reversed(said))
        twice = {name: [first[name], value] for name, value in said if value != first[name]}
        return {call.id: self._taken(call, twice) for call in calls}

    def _taken(self, call: ToolCall, twice: Mapping[str, list[Any]]) -> ToolResult:
        self.received.append(f"{call.name}({call.arguments_json})")
        values = {
            name: " and ".join(dumps(each)[:60] for each in twice[name]) for name in self._said(call) if name in twice
        }
        faults = [f"'{name}' came with two values, {both}" for name, both in values.items()] or self._take_call(call)
        if not faults:
            return ToolResult(call.id, "Received.")
        self._refuse(faults)
        return ToolResult(call.id, f"This does not fit: {'; '.join(faults)}. Call it again.", is_error=True)

    def _said(self, call: ToolCall) -> dict[str, Any]:
        """The fields that a call gives."""
        if self._is_whole(call):
            return {self.wanted.field_named(name): value for name, value in call.arguments.items()}
        return {call.name.removeprefix(PREFIX): call.arguments["value"]} if "value" in call.arguments else {}

    def _is_whole(self, call: ToolCall) -> bool:
        return call.name == OBJECT and (self.strategy == "object" or "object" not in self.wanted.fields)

    def _take_call(self, call: ToolCall) -> list[str]:
        name = call.name.removeprefix(PREFIX)
        if call.problem:
            return [f"{call.name}: {call.problem}"]
        if lost := self.wanted.inexact(call.arguments_json):
            return [_inexact(lost)]
        if self._is_whole(call):
            return self._take_whole(call.arguments)
        if name not in self.wanted.fields:
            return [f"there is no field '{name}'"]
        if "value" not in call.arguments:
            return [f"{call.name}: 'value' is missing"]
        if unknown := [other for other in call.arguments if other != "value"]:
            return [f"{call.name} takes 'value' alone, not '{unknown[0]}'"]
        return self._take_field(name, call.arguments["value"])

    def take_text(self, text: str) -> None:
        """Take an answer in plain text: all of it is the value, or its JSON. Nothing is looked for inside it."""
        if not text.strip():
            self.take_nothing("an empty answer")
            return
        self.received.append(text)
        if _json(text) and (lost := self.wanted.inexact(text)):
            self._refuse([_inexact(lost)])
            return
        faults: list[str] = []
        for fields in self._readings(text):
            found = self._take_whole(fields)
            if not found:
                return
            faults = faults or found
        said = "no JSON" if self.strategy == "native" else "an answer in plain text, where a tool was to be called"
        self._refuse(faults or [said])

    def take_nothing(self, reason: str) -> None:
        """Note an answer that cannot be used."""
        self.received.append(reason)
        self._refuse([reason])

    def _refuse(self, faults: list[str]) -> None:
        self.faults += faults
        self.refused.append(Refusal(self.received[-1], "; ".join(faults)))

    def _readings(self, text: str) -> list[dict[str, Any]]:
        """The fields that a whole text can be read as: its JSON; where one value is wanted, the text itself."""
        parsed = _json(text)
        as_object = [cast(dict[str, Any], each) for each in parsed if isinstance(each, dict)]
        if not self.wanted.single:
            return as_object
        values = [{"value": each} for each in parsed]
        said: list[dict[str, Any]] = [{"value": text}] if text.strip() else []
        if parsed and isinstance(parsed[0], dict | list):
            return [*as_object, *values, *said] if self.strategy == "native" else [*values, *as_object, *said]
        # Of a number or a word, the text comes first: where text may be wanted, that is what was said.
        return [*said, {"value": text.strip()}, *values] if said else []

    def _take_field(self, name: str, value: Any) -> list[str]:
        """Check a field together with those that came before; it is kept if it fits."""
        values = {**self.values, name: value}
        self._whole, found = self.wanted.read(values)
        self._is_told_whole = False
        faults = [(where, told) for where, told in found if not where or where in values]
        wrong = {where: told for where, told in faults if where}
        self.values = {other: each for other, each in values.items() if other not in wrong}
        self._wrong = {other: told for other, told in {**self._wrong, **wrong}.items() if other not in self.values}
        # What the type says of all fields together counts when they are all there.
        return [told for where, told in faults if where or not self.missing]

    def _take_whole(self, given: Mapping[str, Any]) -> list[str]:
        """Check all fields at once; they are kept if they fit."""
        named = {self.wanted.field_named(name): value for name, value in given.items()}
        self._whole, faults = self.wanted.read(named)
        faults = faults or [
            (field, f"'{field}' and '{name}' are the same field, with two values")
            for name, value in given.items()
            if named[field := self.wanted.field_named(name)] != value
        ]
        self._is_told_whole = not faults
        if not faults:
            self.values, self._wrong = named, {}
            return []
        self.values, self._wrong, self._whole = {}, dict(faults), []
        return [told for _, told in faults]


def _inexact(numbers: list[str]) -> str:
    return f'{numbers[0]} has more digits than a JSON number keeps; write it as text: "{numbers[0]}"'


def _json(text: str) -> list[Any]:
    """The JSON value that a whole text is, plain or fenced; nothing if it is none."""
    inner = text.strip()
    fenced = _FENCED.fullmatch(inner)
    try:
        return [loads(fenced[1] if fenced else inner)]
    except (MalformedJSONError, ContentError):
        return []


def parsed(text: str) -> Any:
    """An untyped answer: parsed if it is a JSON object or array, else the text as it is."""
    # Most answers are words, which need not be read as JSON to be seen to be none.
    found = _json(text) if text.lstrip().startswith(("{", "[", "```")) else []
    return cast(Any, found[0]) if found and isinstance(found[0], dict | list) else text
