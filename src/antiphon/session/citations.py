"""Values of answers that cite the tool call they come from, checked against the calls of the conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast, get_args

from antiphon.conversation import AssistantTurn, Conversation, Note, ToolCall, ToolResult, UserTurn
from antiphon.results.plain_json import JsonFields
from antiphon.tools import ToolCallRecord
from antiphon.tools.execution import make_call_record

Value = TypeVar("Value")
#: The description of the field `call`, which marks the schema of a cited value.
CITED_CALL = "The id of the tool call whose result contains the value."
_NOTE_START = "Ids of tool calls: "
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_MAX_LISTED = 10


class Cited(JsonFields, Generic[Value]):
    """A value from the result of a tool call. `id` is the id of the call and `call` its record.

    Use it as a type of answers, or in one: `returns=Cited[float]`. The session checks that there is such a call, and
    that its result contains the value if that is text, a number, a boolean or a date.
    """

    # Not a dataclass: pydantic would take its fields for those of the JSON.
    __slots__ = ("call", "id", "value")
    value: Value
    call: ToolCallRecord
    id: str

    def __init__(self, value: Value, call: ToolCallRecord, id: str) -> None:
        for name, given in (("value", value), ("call", call), ("id", id)):
            object.__setattr__(self, name, given)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a cited value does not change: `{name}`")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a cited value does not change: `{name}`")

    def __repr__(self) -> str:
        return f"<Cited {self.value!r} from `{self.call.tool}` {self.id}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cited):
            return NotImplemented
        cited = cast(Cited[Any], other)
        return (self.value, self.id) == (cited.value, cited.id)

    def __hash__(self) -> int:
        return hash((self.value, self.id))

    def __reduce__(self) -> Any:
        return Cited, (self.value, self.call, self.id)

    @property
    def json_fields(self) -> dict[str, Any]:
        """The value and the id of its call."""
        return {"value": self.value, "call": self.id}

    if not TYPE_CHECKING:

        @property
        def __dict__(self) -> Any:
            """The fields of its JSON, because `vars` is the last fallback of FastAPI for unknown objects."""
            return self.json_fields

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Return the pydantic schema: in JSON, the value and the id of its call."""
        from pydantic_core import core_schema

        inner = handler.generate_schema(next(iter(get_args(source)), Any))
        fields = core_schema.typed_dict_schema(
            {
                "value": core_schema.typed_dict_field(inner),
                "call": core_schema.typed_dict_field(core_schema.str_schema()),
            },
            extra_behavior="forbid",
        )
        return core_schema.json_or_python_schema(
            json_schema=core_schema.with_info_after_validator_function(_cite, fields),
            python_schema=core_schema.is_instance_schema(cls),
            serialization=core_schema.plain_serializer_function_ser_schema(_to_fields, return_schema=fields),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> Any:
        """Return the JSON Schema, which tells the model what to cite."""
        made = handler.resolve_ref_schema(handler(schema))
        made["properties"]["call"]["description"] = CITED_CALL
        return made


def _to_fields(cited: Cited[Any]) -> dict[str, Any]:
    return cited.json_fields


def _cite(fields: dict[str, Any], info: Any) -> Cited[Any]:
    if not isinstance(info.context, CitableCalls):
        raise ValueError("a cited value is only valid in an answer of a session")
    return info.context.cite(fields["value"], fields["call"])


class CitableCalls:
    """The calls of a conversation whose results can be cited. `records` are those of the run, by call id."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self.records: dict[str, ToolCallRecord] = {}

    def cite(self, value: Any, id: str) -> Cited[Any]:
        """Return a value with its call. Raise a ValueError if there is no such call or its result lacks the value."""
        found = dict(self._iter_calls()).get(id)
        if found is None:
            known = [f"{id} ({call.name})" for id, (call, _) in self._iter_calls()]
            listed = ", ".join(known[-_MAX_LISTED:]) or "none"
            raise ValueError(f"there is no tool call {id!r:.80} with a result; calls: {listed}")
        call, result = found
        full = self._conversation.kept.get(result.handle or "", "")
        if not _contains(f"{result.text}\n{full}", value):
            raise ValueError(f"the result of the tool call {id} (`{call.name}`) does not contain this value")
        return Cited(value, self.records.get(id) or make_call_record(call, result), id)

    def make_note(self) -> Note | None:
        """Return a note with the ids of all calls that no note names yet."""
        turns = self._conversation.turns
        notes = (part for turn in turns if isinstance(turn, UserTurn) for part in turn.parts)
        told = {
            line.rpartition(" (")[0]
            for note in notes
            if isinstance(note, Note) and note.text.startswith(_NOTE_START)
            for line in note.text.removeprefix(_NOTE_START).split(", ")
        }
        names = [f"{id} ({call.name})" for id, (call, _) in self._iter_calls() if id not in told]
        return Note(f"{_NOTE_START}{', '.join(names)}", "instruction") if names else None

    def _iter_calls(self) -> Iterator[tuple[str, tuple[ToolCall, ToolResult]]]:
        for turn in self._conversation.turns:
            if isinstance(turn, AssistantTurn):
                results: Mapping[str, ToolResult] = {each.call_id: each for each in turn.results}
                for call in turn.calls:
                    if (result := results.get(call.id)) is not None and not result.is_error:
                        yield call.id, (call, result)


def _contains(text: str, value: Any) -> bool:
    """Return whether a text contains a value. Objects and lists are not searched for."""
    match value:
        case Enum():
            return _contains(text, value.value)
        case bool() | None:
            words = ("null", "none") if value is None else (str(value).lower(),)
            return any(re.search(rf"\b{word}\b", text, re.IGNORECASE) for word in words)
        case int() | float() | Decimal():
            return _contains_number(text, value)
        case str():
            said = " ".join(value.split())
            return bool(said) and said in " ".join(text.split())
        case date() | time():
            return value.isoformat() in text or str(value) in text
        case _:
            return True


def _contains_number(text: str, value: float | Decimal) -> bool:
    try:
        wanted = Decimal(str(value))
    except (InvalidOperation, ValueError):
        return False
    for found in _NUMBER.finditer(text):
        before = text[max(found.start() - 2, 0) : found.start()]
        # A hyphen behind a letter or a digit is no sign: 2026-11-20.
        is_negative = before.endswith(("-", "\u2212")) and not before[:-1].isalnum()
        number = Decimal(found[0].replace(",", ""))
        if wanted == (-number if is_negative else number):
            return True
    return False
