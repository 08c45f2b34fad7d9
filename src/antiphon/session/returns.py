"""Typed answers: the form a model is asked for, how it is asked, and the strict reading of what came."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from antiphon._json import dumps, loads
from antiphon.conversation import Conversation, DerivedKey, Note, ToolCall, ToolResult, ToolSpec, Turn, UserTurn
from antiphon.errors import ContentError, MalformedJSONError, OptionError
from antiphon.session.wanted import wanted
from antiphon.wire import Target
from antiphon.wire.schema import native_form

#: The tool with which a model returns its answer, where that is the way.
ANSWER_TOOL = "answer"
_FENCED = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)
#: Schemas up to this size are said again; longer ones are named.
_SHORT = 400
_ANSWER_WITH = "Answer with nothing but JSON that fits this JSON Schema"
_STATED = re.compile(rf"{_ANSWER_WITH} \(form (\d+)\):\n(.*)", re.DOTALL)

#: How a model is asked for a form: by the provider's own structured output, in words, or by a tool.
Strategy = Literal["native", "prompted", "tool"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that came and was not taken, and why."""

    what: str
    why: str


def choose_strategy(
    wish: Strategy | None,
    schema: Mapping[str, Any],
    target: Target | None,
    conversation: Conversation,
    has_tools: bool,
) -> Strategy:
    """Return the first way that the model takes and that keeps the beginning of the prompt as it is.

    A schema that is part of the prompt goes with the first request, or again with the same schema. A provider that
    takes changes of the form in the middle of a conversation takes it anywhere.
    """
    if wish is not None:
        _check_wish(wish, schema, target)
        return wish
    if target is None:
        return "prompted"
    facts = target.facts
    if target.provider == "local":
        # The grammar is made here, and the prompt is not touched by it.
        return "native"
    fits = facts.schema == "yes" and native_form(schema, target) is not None
    if fits and (not has_tools or facts.schema_with_tools) and _is_free(schema, target, conversation, has_tools):
        return "native"
    return "tool" if facts.prompted_ok is False else "prompted"


def _check_wish(wish: Strategy, schema: Mapping[str, Any], target: Target | None) -> None:
    """Raise an OptionError where a model is known to have no such way for this form."""
    if wish != "native" or target is None or target.provider == "local" or target.facts.schema is None:
        return
    if target.facts.schema != "yes" or native_form(schema, target) is None:
        raise OptionError(
            f"{target.model} has no structured output of its own for this type; leave `strategy` out, or say 'prompted'"
        )


#: The form that the last request to a target asked for natively.
_FORM = DerivedKey["Mapping[str, Any] | None"]("form")


def _is_free(schema: Mapping[str, Any], target: Target, conversation: Conversation, has_tools: bool) -> bool:
    """Return whether a native schema leaves the beginning of the prompt as it was, or there was none.

    An ask with tools may grow long before its answer, and the next ask would pay for all of it without the schema.
    """
    if target.facts.config_change == "items" or (len(conversation.turns) <= 1 and not has_tools):
        return True
    return conversation.derived.get(_FORM, (target.provider, target.model)) == schema


def remember_form(conversation: Conversation, target: Target, schema: Mapping[str, Any] | None) -> None:
    """Keep the form that the last request to a target asked for natively."""
    conversation.derived.set(_FORM, schema, (target.provider, target.model))


class Expected:
    """A wanted type, how the model is to give it, and what has come of it so far.

    What came is checked as a whole: so validators of the type's own have their say, and no value is converted twice.
    """

    def __init__(self, asked: Any) -> None:
        self.wanted = wanted(asked)
        self.strategy: Strategy = "prompted"
        #: All that came.
        self.received: list[str] = []
        #: All of it that was not taken.
        self.refused: list[Refusal] = []
        #: What is wrong with what came last.
        self.faults: list[str] = []
        self._value: list[Any] = []

    @property
    def schema(self) -> dict[str, Any]:
        """The schema of the answer."""
        return self.wanted.schema

    def tool(self) -> ToolSpec:
        """Return the tool with which the model returns its answer."""
        schema = {key: value for key, value in self.schema.items() if key != "description"}
        own = self.schema.get("description")
        said = "Return the answer: all of its fields at once."
        return ToolSpec(ANSWER_TOOL, f"{said}\n\n{own}" if own else said, schema)

    def instruction(self, conversation: Conversation) -> str:
        """Return what is put behind the prompt; nothing where the provider itself sees to the form of the answer."""
        match self.strategy:
            case "native":
                return ""
            case "tool":
                return f"Give the answer by calling the tool `{ANSWER_TOOL}`, not in plain text."
            case "prompted":
                return _form_text(dumps(self.schema), conversation)

    def is_stated(self, conversation: Conversation) -> bool:
        """Return whether the model is still told the form: by the conversation where it was asked for in words."""
        if self.strategy != "prompted":
            return True
        end = f":\n{dumps(self.schema)}"
        return any(said.endswith(end) for turn in conversation.turns for said in _form_notes(turn))

    def reminder(self) -> str:
        """Return what is told to a model whose answer was not taken."""
        why = f" ({'; '.join(self.faults)})" if self.faults else ""
        match self.strategy:
            case "native":
                return f"That does not fit{why}. Answer again, with nothing but JSON that fits: {dumps(self.schema)}"
            case "tool":
                return f"That does not fit{why}. Call the tool `{ANSWER_TOOL}` with all of the fields."
            case "prompted":
                return f"That does not fit{why}. Answer again, with nothing but JSON of the form that was asked for."

    # Taking it in

    @property
    def is_enough(self) -> bool:
        """Whether a value has come."""
        return bool(self._value)

    @property
    def value(self) -> Any:
        """The value, when it has come."""
        return self._value[0]

    def lack(self) -> str:
        """Return why there is no value."""
        return "; ".join(dict.fromkeys(self.faults))

    def take_calls(self, calls: Sequence[ToolCall]) -> dict[str, ToolResult]:
        """Take the answer that the return tool was called with; what does not fit is told back."""
        self.faults = []
        answers = {call.arguments_json for call in calls}
        return {call.id: self._take_call(call, len(answers) > 1) for call in calls}

    def _take_call(self, call: ToolCall, is_ambiguous: bool) -> ToolResult:
        self.received.append(f"{call.name}({call.arguments_json})")
        if call.problem or is_ambiguous:
            faults = [call.problem or "there are several answers; give one"]
        elif lost := self.wanted.inexact(call.arguments_json):
            faults = [_describe_inexact(lost)]
        else:
            faults = self._take_whole(call.arguments)
        if not faults:
            return ToolResult(call.id, "Received.")
        self._refuse(faults)
        return ToolResult(call.id, f"This does not fit: {'; '.join(faults)}. Call it again.", is_error=True)

    def take_text(self, text: str) -> None:
        """Take an answer in plain text: all of it is the value, or its JSON. Nothing is looked for inside it."""
        self.faults = []
        if not text.strip():
            self.take_nothing("an empty answer")
            return
        self.received.append(text)
        if _read_json(text) and (lost := self.wanted.inexact(text)):
            self._refuse([_describe_inexact(lost)])
            return
        faults: list[str] = []
        for fields in self._readings(text):
            found = self._take_whole(fields)
            if not found:
                return
            faults = faults or found
        self._refuse(faults or [f"no JSON with {', '.join(self.schema['properties'])}"])

    def take_nothing(self, reason: str) -> None:
        """Note an answer that cannot be used."""
        self.received.append(reason)
        self._refuse([reason])

    def _refuse(self, faults: list[str]) -> None:
        self.faults += faults
        self.refused.append(Refusal(self.received[-1], "; ".join(faults)))

    def _readings(self, text: str) -> list[dict[str, Any]]:
        """Return the fields that a whole text can be read as: its JSON; where one value is wanted, the text itself."""
        parsed = _read_json(text)
        as_object = [cast(dict[str, Any], each) for each in parsed if isinstance(each, dict)]
        if not self.wanted.single:
            return as_object
        values = [{"value": each} for each in parsed]
        said: list[dict[str, Any]] = [{"value": text}]
        if any("value" in each for each in as_object):
            # The form that was asked for: where its value is wrong, the whole is not the text that was wanted.
            return [*as_object, *values]
        if parsed and isinstance(parsed[0], dict | list | str):
            return [*as_object, *values, *said]
        # Of a number, the text comes first: where text may be wanted, that is what was said.
        return [*said, {"value": text.strip()}, *values]

    def _take_whole(self, given: Mapping[str, Any]) -> list[str]:
        """Check all fields at once, and keep the value if they fit; return what is wrong with them."""
        named = {self.wanted.field_named(name): value for name, value in given.items()}
        self._value, faults = self.wanted.read(named)
        faults += [(name, f"there is no field '{name}'") for name in named if self.wanted.single and name != "value"]
        faults = faults or [
            (field, f"'{field}' and '{name}' are the same field, with two values")
            for name, value in given.items()
            if named[field := self.wanted.field_named(name)] != value
        ]
        if faults:
            self._value = []
        return [told for _, told in faults]


class _SaidForms:
    """The long forms that the notes of a conversation have stated, each with the number that it was given."""

    def __init__(self) -> None:
        self.count = 0
        self.last: Turn | None = None
        self.numbers: dict[str, int] = {}

    def add(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            for said in _form_notes(turn):
                if stated := _STATED.fullmatch(said):
                    self.numbers[stated[2]] = int(stated[1])


_SAID_FORMS = DerivedKey[_SaidForms]("said forms", grows=True)


def _form_notes(turn: Turn) -> list[str]:
    parts = turn.parts if isinstance(turn, UserTurn) else ()
    return [part.text for part in parts if isinstance(part, Note) and part.kind == "form"]


def _form_text(schema: str, conversation: Conversation) -> str:
    """Return the words that ask for a form; a long one that was stated before is named."""
    if len(schema) <= _SHORT:
        return f"{_ANSWER_WITH}:\n{schema}"
    turns = conversation.turns
    said = conversation.derived.get(_SAID_FORMS)
    if said is None or said.count > len(turns) or (said.count and turns[said.count - 1] is not said.last):
        said = conversation.derived.set(_SAID_FORMS, _SaidForms())
    # The last turn may still grow.
    settled = max(len(turns) - 1, 0)
    said.add(turns[said.count : settled])
    said.count, said.last = settled, turns[settled - 1] if settled else None
    if (number := said.numbers.get(schema)) is not None:
        return f"Answer with nothing but JSON of form {number}."
    return f"{_ANSWER_WITH} (form {max(said.numbers.values(), default=0) + 1}):\n{schema}"


def _describe_inexact(numbers: list[str]) -> str:
    return f'{numbers[0]} has more digits than a JSON number keeps; write it as text: "{numbers[0]}"'


def _read_json(text: str) -> list[Any]:
    """Return the JSON value that a whole text is, plain or fenced, in a list; an empty one if it is none."""
    inner = text.strip()
    fenced = _FENCED.fullmatch(inner)
    try:
        return [loads(fenced[1] if fenced else inner)]
    except (MalformedJSONError, ContentError):
        return []


def parsed(text: str) -> Any:
    """Return an untyped answer: parsed if it is a JSON object or array, else the text as it is."""
    # Most answers are words, which need not be read as JSON to be seen to be none.
    found = _read_json(text) if text.lstrip().startswith(("{", "[", "```")) else []
    return cast(Any, found[0]) if found and isinstance(found[0], dict | list) else text
