"""Typed output: how a model is asked for a schema, and how its answers are validated."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from antiphon._base.json import dump_json, load_json
from antiphon.conversation import Conversation, DerivedKey, Note, ToolCall, ToolResult, ToolSpec, Turn, UserTurn
from antiphon.errors import ContentError, MalformedJSONError, OptionError
from antiphon.session.citations import CITED_CALL, CitableCalls
from antiphon.session.output_type import make_output_type
from antiphon.wire import Target
from antiphon.wire.schema import reduce_schema

#: The tool with which a model returns its answer under the `tool` strategy.
ANSWER_TOOL = "answer"
_FENCED = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)
#: Schemas up to this many characters are repeated; longer ones are referred to by number.
_MAX_REPEATED_SCHEMA = 400
_ANSWER_WITH = "Answer with nothing but JSON that fits this JSON Schema"
_STATED = re.compile(rf"{_ANSWER_WITH} \(form (\d+)\):\n(.*)", re.DOTALL)

#: The type of an untyped answer that is parsed if it is a JSON object or array, and text otherwise.
TextOrJson = Annotated[Any, "text, or the value of a JSON object or array"]
#: How a model is asked for a schema: by the provider's structured output, by instruction, or by a tool.
OutputStrategy = Literal["native", "prompted", "tool"]


@dataclass(frozen=True, slots=True)
class RejectedOutput:
    """A rejected answer, and the reason."""

    what: str
    why: str


def choose_strategy(
    wish: OutputStrategy | None,
    schema: Mapping[str, Any],
    target: Target | None,
    conversation: Conversation,
    has_tools: bool,
) -> OutputStrategy:
    """Return the first strategy that the model supports and that preserves the prefix of the prompt.

    A schema that is part of the prompt goes with the first request, or with a later one that has the same
    schema. If a provider accepts schema changes within a conversation, it may go with any request.
    """
    if wish is not None:
        check_requested_strategy(wish, schema, target)
        return wish
    if target is None:
        return "prompted"
    facts = target.facts
    if target.provider == "local":
        # The grammar is built locally and does not affect the prompt.
        return "native"
    fits = facts.schema == "yes" and reduce_schema(schema, target) is not None
    if (
        fits
        and (not has_tools or facts.schema_with_tools)
        and _is_prefix_preserved(schema, target, conversation, has_tools)
    ):
        return "native"
    return "tool" if facts.prompted_ok is False else "prompted"


def check_requested_strategy(wish: OutputStrategy | None, schema: Mapping[str, Any], target: Target | None) -> None:
    """Raise an OptionError if the model is known not to support the requested strategy for this schema."""
    if wish != "native" or target is None or target.provider == "local" or target.facts.schema is None:
        return
    if target.facts.schema != "yes" or reduce_schema(schema, target) is None:
        raise OptionError(
            f"{target.model} has no structured output of its own for this type; leave `strategy` out, or say 'prompted'"
        )


#: The form that the last request to a target asked for natively.
_FORM = DerivedKey["Mapping[str, Any] | None"]("form")


def _is_prefix_preserved(
    schema: Mapping[str, Any], target: Target, conversation: Conversation, has_tools: bool
) -> bool:
    """Return whether a native schema leaves the prefix of the prompt unchanged, or there is none yet.

    With tools, the conversation may grow long before the answer. The next request without the schema would
    pay for all of it again.
    """
    if target.facts.config_change == "items" or (len(conversation.turns) <= 1 and not has_tools):
        return True
    return conversation.derived.get((_FORM, (target.provider, target.model))) == schema


def remember_output_schema(conversation: Conversation, target: Target, schema: Mapping[str, Any] | None) -> None:
    """Remember the schema that the last request to a target used natively."""
    conversation.derived[_FORM, (target.provider, target.model)] = schema


class TypedOutput:
    """A requested type, the strategy to get it, and the answers so far.

    An answer is always validated as a whole, so that validators of the type apply and no value is converted
    twice.
    """

    def __init__(self, asked: Any, conversation: Conversation | None = None) -> None:
        self.wanted = make_output_type(asked)
        #: The calls of the conversation, if values of the type cite them.
        self.calls: CitableCalls | None = None
        if conversation is not None and CITED_CALL in dump_json(self.wanted.schema):
            self.calls = CitableCalls(conversation)
        self.strategy: OutputStrategy = "prompted"
        #: All answers.
        self.received: list[str] = []
        #: All rejected answers.
        self.refused: list[RejectedOutput] = []
        #: The faults of the last answer.
        self.faults: list[str] = []
        self._value: list[Any] = []

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the answer."""
        return self.wanted.schema

    def tool(self) -> ToolSpec:
        """Return the tool with which the model returns its answer."""
        schema = {key: value for key, value in self.schema.items() if key != "description"}
        own = self.schema.get("description")
        said = "Return the answer: all of its fields at once."
        return ToolSpec(ANSWER_TOOL, f"{said}\n\n{own}" if own else said, schema)

    def instruction(self, conversation: Conversation) -> str:
        """Return the instruction that follows the prompt; empty if the provider enforces the schema."""
        match self.strategy:
            case "native":
                return ""
            case "tool":
                return f"Give the answer by calling the tool `{ANSWER_TOOL}`, not in plain text."
            case "prompted":
                return _format_form_request(dump_json(self.schema), conversation)

    def is_form_stated(self, conversation: Conversation) -> bool:
        """Return whether the model still knows the schema, which compaction may have removed from the conversation."""
        if self.strategy != "prompted":
            return True
        end = f":\n{dump_json(self.schema)}"
        return any(said.endswith(end) for turn in conversation.turns for said in _list_form_notes(turn))

    def format_reminder(self) -> str:
        """Return the reminder for a model whose answer was rejected."""
        why = f" ({'; '.join(self.faults)})" if self.faults else ""
        match self.strategy:
            case "native":
                return (
                    f"That does not fit{why}. Answer again, with nothing but JSON that fits: {dump_json(self.schema)}"
                )
            case "tool":
                return f"That does not fit{why}. Call the tool `{ANSWER_TOOL}` with all of the fields."
            case "prompted":
                return f"That does not fit{why}. Answer again, with nothing but JSON of the form that was asked for."

    # Answers

    @property
    def has_value(self) -> bool:
        """True if a valid value was received."""
        return bool(self._value)

    @property
    def value(self) -> Any:
        """The value, once it was received."""
        return self._value[0]

    def describe_faults(self) -> str:
        """Return why there is no value."""
        return "; ".join(dict.fromkeys(self.faults))

    def accept_calls(self, calls: Sequence[ToolCall]) -> dict[str, ToolResult]:
        """Accept the calls of the answer tool, and return their results, which describe the faults."""
        self.faults = []
        answers = {call.arguments_json for call in calls}
        return {call.id: self._accept_call(call, len(answers) > 1) for call in calls}

    def _accept_call(self, call: ToolCall, is_ambiguous: bool) -> ToolResult:
        self.received.append(f"{call.name}({call.arguments_json})")
        if call.problem or is_ambiguous:
            faults = [call.problem or "there are several answers; give one"]
        elif lost := self.wanted.find_inexact_numbers(call.arguments_json):
            faults = [_describe_inexact(lost)]
        else:
            faults = self._validate_fields(call.arguments)
        if not faults:
            return ToolResult(call.id, "Received.")
        self._record_rejection(faults)
        return ToolResult(call.id, f"This does not fit: {'; '.join(faults)}. Call it again.", is_error=True)

    def accept_text(self, text: str) -> None:
        """Accept an answer in plain text: all of it is the value or its JSON.

        JSON inside other text is not searched for.
        """
        self.faults = []
        if not text.strip():
            self.reject_answer("an empty answer")
            return
        self.received.append(text)
        if _parse_json_text(text) and (lost := self.wanted.find_inexact_numbers(text)):
            self._record_rejection([_describe_inexact(lost)])
            return
        faults: list[str] = []
        for fields in self._parse_candidates(text):
            found = self._validate_fields(fields)
            if not found:
                return
            faults = faults or found
        self._record_rejection(faults or [f"no JSON with {', '.join(self.schema['properties'])}"])

    def reject_value(self, reason: str) -> None:
        """Record that a check rejected the value, which is then no answer."""
        self._value, self.faults = [], []
        self._record_rejection([reason])

    def reject_answer(self, reason: str) -> None:
        """Record an unusable answer."""
        self.received.append(reason)
        self._record_rejection([reason])

    def _record_rejection(self, faults: list[str]) -> None:
        self.faults += faults
        self.refused.append(RejectedOutput(self.received[-1], "; ".join(faults)))

    def _parse_candidates(self, text: str) -> list[dict[str, Any]]:
        """Return the possible field values of a text: its JSON, and for a single value also the text itself."""
        parsed = _parse_json_text(text)
        as_object = [cast(dict[str, Any], each) for each in parsed if isinstance(each, dict)]
        if not self.wanted.single:
            return as_object
        values = [{"value": each} for each in parsed]
        said: list[dict[str, Any]] = [{"value": text}]
        if any("value" in each for each in as_object):
            # It has the requested form, so with a wrong value the entire text is not the requested text either.
            return [*as_object, *values]
        if parsed and isinstance(parsed[0], dict | list | str):
            return [*as_object, *values, *said]
        # For a number try the text first: if the type allows text, the answer was text.
        return [*said, {"value": text.strip()}, *values]

    def _validate_fields(self, given: Mapping[str, Any]) -> list[str]:
        """Validate all fields at once, and store the value if they are valid. Return the faults."""
        named = {self.wanted.resolve_field_name(name): value for name, value in given.items()}
        self._value, faults = self.wanted.read(named, self.calls)
        faults += [(name, f"there is no field '{name}'") for name in named if self.wanted.single and name != "value"]
        faults = faults or [
            (field, f"'{field}' and '{name}' are the same field, with two values")
            for name, value in given.items()
            if named[field := self.wanted.resolve_field_name(name)] != value
        ]
        if faults:
            self._value = []
        return [told for _, told in faults]


class _StatedForms:
    """The numbered long schemas that the notes of a conversation contain."""

    def __init__(self) -> None:
        self.count = 0
        self.last: Turn | None = None
        self.numbers: dict[str, int] = {}

    def add(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            for said in _list_form_notes(turn):
                if stated := _STATED.fullmatch(said):
                    self.numbers[stated[2]] = int(stated[1])


_SAID_FORMS = DerivedKey[_StatedForms]("said forms", grows=True)


def _list_form_notes(turn: Turn) -> list[str]:
    parts = turn.parts if isinstance(turn, UserTurn) else ()
    return [part.text for part in parts if isinstance(part, Note) and part.kind == "form"]


def _format_form_request(schema: str, conversation: Conversation) -> str:
    """Return the instruction that asks for a schema. It refers to a long known schema by number."""
    if len(schema) <= _MAX_REPEATED_SCHEMA:
        return f"{_ANSWER_WITH}:\n{schema}"
    turns = conversation.turns
    said = conversation.derived.get(_SAID_FORMS)
    if said is None or said.count > len(turns) or (said.count and turns[said.count - 1] is not said.last):
        said = conversation.derived.set(_SAID_FORMS, _StatedForms())
    # Skip the last turn, which may still change.
    settled = max(len(turns) - 1, 0)
    said.add(turns[said.count : settled])
    said.count, said.last = settled, turns[settled - 1] if settled else None
    if (number := said.numbers.get(schema)) is not None:
        return f"Answer with nothing but JSON of form {number}."
    return f"{_ANSWER_WITH} (form {max(said.numbers.values(), default=0) + 1}):\n{schema}"


def _describe_inexact(numbers: list[str]) -> str:
    return f'{numbers[0]} has more digits than a JSON number keeps; write it as text: "{numbers[0]}"'


def _parse_json_text(text: str) -> list[Any]:
    """Return the JSON value of an entire text, plain or fenced, in a list; empty if it is no JSON."""
    inner = text.strip()
    fenced = _FENCED.fullmatch(inner)
    try:
        return [load_json(fenced[1] if fenced else inner)]
    except (MalformedJSONError, ContentError):
        return []


def parse_untyped_answer(text: str) -> Any:
    """Return an untyped answer: parsed if it is a JSON object or array, otherwise as text."""
    # Most answers are prose, so skip parsing if the text cannot be a JSON object or array.
    found = _parse_json_text(text) if text.lstrip().startswith(("{", "[", "```")) else []
    return cast(Any, found[0]) if found and isinstance(found[0], dict | list) else text
