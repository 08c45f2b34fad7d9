"""Typed answers while they stream: what a model has said so far, and the complete items of a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, cast, get_args, get_origin

from antiphon.errors import AntiphonError, NotReadyError, OptionError
from antiphon.results import to_plain_json
from antiphon.session.answer_builder import AnswerBuilder, Snapshot
from antiphon.session.events import AnswerDelta, CallStarted, Event, EventBody, RequestEnded, RequestStarted
from antiphon.session.json_schema import JsonSchema
from antiphon.session.output_type import OutputType, make_output_type
from antiphon.session.result import AIResult, T
from antiphon.session.typed_output import TextOrJson
from antiphon.wire import TextDelta


class AnswerRestarted(AntiphonError):
    """The model answers again, so that the items of its former answer do not count. `items` gives the new ones."""


@dataclass(frozen=True, slots=True)
class Partial(Generic[T]):
    """A typed answer as far as the model has said it.

    `attempt` is 1, and one more each time the model begins its answer again: then nothing of the earlier partials
    counts. `open` is the path of names and indexes to the value that is being said, and None once the answer is
    complete: everything else in `data` is complete.
    """

    attempt: int
    _snapshot: Snapshot
    _skipped: int = 0
    _value: tuple[T, ...] = ()

    @property
    def open(self) -> tuple[str | int, ...] | None:
        """The path to the value that is being said; None once the answer is complete."""
        if self._value:
            return None
        return tuple(each.key for each in self._snapshot.levels[self._skipped :] if each.key is not None)

    @property
    def data(self) -> Any:
        """The answer so far as JSON data of your own: only what was said, with texts as far as they were said."""
        said = self._snapshot
        return Snapshot(said.levels[self._skipped :], said.text, said.closed).build()

    @property
    def is_complete(self) -> bool:
        """True for the last partial, whose `value` is that of the result."""
        return bool(self._value)

    @property
    def value(self) -> T:
        """The validated value of the complete answer. Before that, `data` has what was said."""
        if not self._value:
            raise NotReadyError("the answer is not complete yet; `data` has what was said of it")
        return self._value[0]

    def __repr__(self) -> str:
        told = repr(self.data)
        short = told if len(told) <= 200 else f"{told[:200]}…"
        return f"<Partial {self.attempt}{'' if self._value else ' so far'}: {short}>"


class AnswerReader:
    """Reads a typed answer from the events of its run."""

    def __init__(self, asked: Any) -> None:
        self._asked = asked
        self._output: OutputType | None = None
        self.attempt = 1
        self._builder: AnswerBuilder | None = None
        self._has_begun = False
        self._is_tool_answer = False
        self._version: int = 0

    def take(self, body: EventBody) -> Partial[Any] | None:
        """Return the partial after an event of the run, or None if the event says nothing more of the answer."""
        match body:
            case RequestStarted():
                self._begin_attempt()
            case AnswerDelta(text):
                if not self._is_tool_answer:
                    # The text before the call is not the answer.
                    self._begin_attempt()
                    self._is_tool_answer = True
                self._feed(text)
            case TextDelta(text):
                if not self._is_tool_answer:
                    self._feed(text)
            case RequestEnded():
                if self._builder is not None:
                    self._builder.finish()
            case CallStarted():
                # The text of a reply with calls is not the answer.
                self._begin_attempt()
            case _:
                return None
        return self._make_partial()

    @property
    def said_items(self) -> list[Any]:
        """The complete items of an answer that is a list, as JSON data."""
        return [] if self._builder is None else self._builder.root_list

    def finish(self, result: AIResult[T]) -> Partial[T]:
        """Return the last partial, with the value of the result."""
        builder, value = self._builder, result.value
        if builder is not None and builder.is_done:
            return Partial(self.attempt, builder.snapshot(), builder.skipped, (value,))
        return Partial(self.attempt, Snapshot((), None, to_plain_json(value)), 0, (value,))

    def _begin_attempt(self) -> None:
        if self._has_begun:
            self.attempt += 1
        self._builder, self._has_begun, self._is_tool_answer = None, False, False
        self._version = 0

    def _feed(self, text: str) -> None:
        if self._builder is None:
            self._builder = self._make_builder()
        self._builder.feed(text)

    def _make_builder(self) -> AnswerBuilder:
        if self._asked is None or self._asked is TextOrJson:
            return AnswerBuilder(None, is_json=self._asked is TextOrJson)
        if self._output is None:
            self._output = make_output_type(self._asked)
        return AnswerBuilder(self._output)

    def _make_partial(self) -> Partial[Any] | None:
        builder = self._builder
        if builder is None or builder.version == self._version or not builder.is_visible:
            return None
        self._version, self._has_begun = builder.version, True
        return Partial(self.attempt, builder.snapshot(), builder.skipped)


class ItemReader:
    """Reads the items of an answer that is a list. Each is validated once, when it is complete."""

    def __init__(self, asked: Any, on_restart: Callable[[], object] | None) -> None:
        self._type = make_output_type(_find_item_type(asked))
        self._answer = AnswerReader(asked)
        self._on_restart = on_restart
        self._attempt = self._answer.attempt
        #: The items of this attempt that were given.
        self._given: list[Any] = []
        self._is_stopped = False

    def take(self, event: Event) -> bool:
        """Take an event of the run. Return True if the model answers again; then call `restart`."""
        self._answer.take(event.body)
        is_new = self._answer.attempt != self._attempt
        self._attempt = self._answer.attempt
        return is_new

    def take_items(self) -> Iterator[Any]:
        """Yield the items that were completed since the last call, up to one that does not fit."""
        said = self._answer.said_items
        while not self._is_stopped and len(self._given) < len(said):
            values = self._read_item(said[len(self._given)])
            self._is_stopped = not values
            for value in values:
                self._given.append(value)
                yield value

    def finish(self, value: list[Any]) -> Iterator[Any]:
        """Yield the items of the result that were not given yet."""
        given = len(self._given)
        if value[:given] != self._given:
            self.restart()
            given = 0
        yield from value[given:]

    def restart(self) -> None:
        """Forget the items so far. If there were any, call the function for that, or raise AnswerRestarted."""
        given, self._given, self._is_stopped = self._given, [], False
        if not given:
            return
        if self._on_restart is None:
            raise AnswerRestarted(
                f"the model answers again: the {len(given)} items so far do not count; `items` gives the new ones,"
                " or `items(on_restart=…)` calls a function and goes on"
            )
        self._on_restart()

    def _read_item(self, data: object) -> list[Any]:
        """Return the typed value of an item in a list, which is empty if it does not fit."""
        if self._type.single:
            return self._type.read({"value": data})[0]
        if not isinstance(data, dict):
            return []
        fields = cast("dict[str, Any]", data)
        named = {self._type.resolve_field_name(name): value for name, value in fields.items()}
        return self._type.read(named)[0]


def _find_item_type(asked: Any) -> Any:
    if isinstance(asked, JsonSchema) and asked.schema.get("type") == "array" and (items := asked.schema.get("items")):
        return JsonSchema({**items, **({"$defs": defs} if (defs := asked.schema.get("$defs")) else {})})
    if get_origin(asked) is list and get_args(asked):
        return get_args(asked)[0]
    raise OptionError("`items` are those of a list; ask with `returns=list[…]`, or use `partials`")
