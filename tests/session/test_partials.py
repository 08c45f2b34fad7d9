"""Typed answers while they stream: what was said so far, complete items, and answers that begin again."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Annotated, Any, Literal, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, BeforeValidator, Field

from antiphon import Agent, Session
from antiphon.errors import NotReadyError, OptionError
from antiphon.fakes import Answer, Fake, call
from antiphon.session import AnswerRestarted, CallFinished, NoAnswer, Partial, TextOrJson
from antiphon.session.json_schema import parse_json_schema
from antiphon.wire import ReasoningDelta, Reply, TextDelta, Usage
from tests.session.scripted import STRATEGIES, Scripted, within

MODELS = [
    "anthropic/claude-sonnet-5",
    "openai/gpt-5",
    "openai-chat/gpt-4o",
    "google/gemini-3-pro",
    "google-interactions/gemini-3.5-flash",
]


@dataclass
class City:
    name: str
    people: int
    kind: Literal["hi", "high"] = "hi"


class Route(TypedDict):
    start: str
    stops: list[City]


class Saying:
    """A model that says its answer in given pieces; a list of answers, each a list of pieces."""

    name = "saying"

    def __init__(self, *answers: list[str], before: str = "") -> None:
        self._answers = list(answers)
        self._before = before

    def astream(self, conversation: Any, **_: Any) -> Any:
        return _Stream(self._answers.pop(0), conversation, self._before)

    async def achat(self, conversation: Any, **options: Any) -> Reply:
        raise NotImplementedError

    def cost(self, _: Usage) -> float | None:
        return 0.0


class _Stream:
    def __init__(self, pieces: list[str], conversation: Any, before: str) -> None:
        self._pieces, self._conversation, self._before = pieces, conversation, before
        self.reply: Any = None

    async def __aiter__(self) -> Any:
        from antiphon.conversation import Text

        if self._before:
            yield ReasoningDelta(self._before)
        for piece in self._pieces:
            yield TextDelta(piece)
            await asyncio.sleep(0)
        parts = [Text("".join(self._pieces))]
        self._conversation.add_reply(parts)
        self.reply = Reply(tuple(parts), "end", usage=Usage(1, 1))

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


def chop(text: str, size: int = 3) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def partials_of(text: str | list[str], returns: Any, **more: Any) -> list[Partial[Any]]:
    """The partials of one answer, in pieces of three characters."""
    pieces = chop(text) if isinstance(text, str) else text
    return list(Session(Saying(pieces), attempts=0, **more).stream("…", returns=returns).partials())


def data_of(text: str | list[str], returns: Any) -> list[Any]:
    """The data of the partials of an answer, without repetitions; the answer may end in a fault."""
    seen: list[Any] = []
    stream = Session(Saying(chop(text) if isinstance(text, str) else text), attempts=0).stream("…", returns=returns)
    try:
        for partial in stream.partials():
            if not seen or seen[-1] != partial.data:
                seen.append(partial.data)
    except NoAnswer:
        seen.append("failed")
    return seen


class TestData:
    def test_a_field_is_there_once_its_value_is_complete_and_text_as_far_as_it_was_said(self):
        text = '{"name": "Oslo", "people": 709000, "kind": "high"}'
        assert data_of(list(text), City) == [
            {},
            {"name": ""},
            {"name": "O"},
            {"name": "Os"},
            {"name": "Osl"},
            {"name": "Oslo"},
            {"name": "Oslo", "people": 709000},
            {"name": "Oslo", "people": 709000, "kind": "high"},
        ]

    def test_defaults_are_not_part_of_it(self):
        last = partials_of('{"name": "Oslo", "people": 7}', City)[-1]
        assert (last.data, last.value) == ({"name": "Oslo", "people": 7}, City("Oslo", 7))

    @pytest.mark.parametrize(
        ("type_", "text"),
        [
            (Literal["hi", "high"], "high"),
            (date, "2026-11-20"),
            (Annotated[str, Field(min_length=3)], "long"),
            (Annotated[str, Field(pattern="^a+b$")], "aab"),
            (Literal["a", "ab"] | None, "ab"),
        ],
    )
    def test_text_whose_beginning_may_not_be_valid_is_there_once_it_is_complete(self, type_: Any, text: str):
        seen = data_of(list(json.dumps({"x": text, "y": 1})), {"x": type_, "y": int})
        assert seen == [{}, {"x": text}, {"x": text, "y": 1}]

    def test_lists_and_objects_inside_grow(self):
        text = '{"start": "A", "stops": [{"name": "B", "people": 1}, {"name": "C"'
        assert data_of(text, Route)[-2:] == [
            {"start": "A", "stops": [{"name": "B", "people": 1}, {"name": "C"}]},
            "failed",
        ]

    def test_a_single_value_is_the_data_in_either_form(self):
        for text in ('{"value": [1, 20, 3]}', "[1, 20, 3]", "```json\n[1, 20, 3]\n```"):
            assert data_of(list(text), list[int]) == [[], [1], [1, 20], [1, 20, 3]]
        assert data_of(list('{"value": 427}'), int) == [427]
        assert data_of(list("427"), int) == [427]
        assert data_of(list('{"a": 1}'), dict[str, int]) == [{}, {"a": 1}]
        assert data_of(list("Hey"), str) == ["H", "He", "Hey"]
        assert data_of(list('{"value": "Hey"}'), str) == ["", "H", "He", "Hey"]

    def test_an_untyped_answer_is_its_text(self):
        assert data_of(["Go", "od ", "day."], None) == ["Go", "Good ", "Good day."]
        assert data_of(list('[1, "a"]'), TextOrJson) == [[], [1], [1, ""], [1, "a"]]
        assert data_of(["It", " is."], TextOrJson) == ["It", "It is."]

    def test_a_json_schema_is_a_type_too(self):
        schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}
        assert data_of('{"a": 1, "b": "x"}', parse_json_schema(schema, "it")) == [
            {},
            {"a": 1},
            *({"a": 1, "b": text} for text in ("", "x")),
        ]

    def test_fields_that_the_type_does_not_have_are_left_out(self):
        seen = data_of('{"zip": [{"a": "b"}], "a": "x", "zap": "y", "b": {"n": 1, "m": [2]}}', {"a": str, "b": Inner})
        assert seen[-1] == {"a": "x", "b": {"n": 1}}
        assert not any("zip" in each or "zap" in each for each in seen)

    def test_a_value_that_does_not_fit_ends_the_partials(self):
        seen = data_of('{"name": "Oslo", "people": "many", "kind": "hi"}', City)
        assert seen[-2:] == [{"name": "Oslo"}, "failed"]
        for text in ('{"a": 1.5}', '{"a": true}', '{"a": null}', '{"a": [1]}', '{"a": -1}'):
            assert data_of(text, {"a": Annotated[int, Field(ge=0)]}) == [{}, "failed"]

    def test_a_union_is_narrowed_by_what_was_said(self):
        wanted = {"pet": Cat | Dog}
        assert data_of('{"pet": {"kind": "cat", "lives": 9}}', wanted)[-1] == {"pet": {"kind": "cat", "lives": 9}}
        assert data_of('{"pet": {"kind": "cat", "lives": "x"}}', wanted)[-2:] == [{"pet": {"kind": "cat"}}, "failed"]
        # Only a dog has text there.
        assert data_of('{"pet": {"kind": "dog", "lives": "long"}}', wanted)[-1]["pet"]["lives"] == "long"

    def test_a_type_that_converts_values_is_not_checked_before_its_end(self):
        Kilometers = Annotated[int, BeforeValidator(lambda text: int(str(text).removesuffix(" km")))]
        last = partials_of('{"far": "12 km"}', {"far": Kilometers})[-1]
        assert last.value == {"far": 12}
        assert {"far": "12 km"} in data_of('{"far": "12 km"}', {"far": Kilometers})

    def test_prose_has_no_partials(self):
        for text in ("I do not know.", "Here: [1]", "```\nno", "{no"):
            assert data_of(text, City) == ["failed"] or data_of(text, City)[0] == {}

    def test_a_number_that_loses_digits_is_not_shown(self):
        from decimal import Decimal

        assert data_of('{"a": 0.1234567890123456789012}', {"a": Decimal}) == [{}, "failed"]

    def test_recursive_types_and_deep_answers(self):
        text = json.dumps({"n": 1, "next": {"n": 2, "next": None}})
        assert data_of(text, Chain)[-1] == {"n": 1, "next": {"n": 2, "next": None}}
        deep = "[" * 5000
        assert data_of([deep], parse_json_schema({"type": "array"}, "it"))[-1] == "failed"


class Inner(BaseModel):
    n: int


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    lives: str


@dataclass
class Chain:
    n: int
    next: Chain | None = field(default=None)


class TestPartial:
    def test_everything_but_the_open_value_is_complete(self):
        text = '{"start":"A","stops":[{"name":"B","people":1}]}'
        *others, last = partials_of(list(text), Route)
        paths = [(each.data, each.open) for each in others]
        assert paths[:4] == [
            ({}, ()),
            ({"start": ""}, ("start",)),
            ({"start": "A"}, ("start",)),
            ({"start": "A"}, ()),
        ]
        stop = {"start": "A", "stops": [{"name": "B"}]}
        assert [path for data, path in paths if data == stop] == [("stops", 0, "name"), ("stops", 0)]
        assert (last.open, last.data) == (None, json.loads(text))

    def test_the_last_one_is_complete(self):
        *others, last = partials_of('{"name": "Oslo", "people": 7}', City)
        assert not any(each.is_complete for each in others)
        with pytest.raises(NotReadyError, match="`data` has what was said"):
            _ = others[0].value
        assert (last.is_complete, last.open, last.value) == (True, None, City("Oslo", 7))
        assert "Oslo" in repr(last)

    def test_earlier_ones_stay_as_they_were_and_data_is_the_readers_own(self):
        text = '{"start": "Abc", "stops": [{"name": "B", "people": 1}, {"name": "C", "people": 2}]}'
        partials = partials_of(text, Route)
        first = [json.dumps(each.data) for each in partials]
        for each in partials:
            each.data.clear()
        assert [json.dumps(each.data) for each in partials] == first
        assert all(len(one) <= len(other) + 1 for one, other in itertools.pairwise(first))


class TestRestart:
    def test_an_answer_that_is_rejected_begins_again(self):
        model = Saying(['{"name": "Os', 'lo", "people": "x"}'], ['{"name": "B', 'ergen", "people": 3}'])
        seen = [(each.attempt, each.data) for each in Session(model).stream("…", returns=City).partials()]
        assert seen[:2] == [(1, {"name": "Os"}), (1, {"name": "Oslo"})]
        assert seen[2:] == [
            (2, {"name": "B"}),
            (2, {"name": "Bergen", "people": 3}),
            (2, {"name": "Bergen", "people": 3}),
        ]

    def test_an_answer_that_a_check_rejects_begins_again(self):
        def check(city: City) -> None:
            assert city.name != "Oslo", "not Oslo"

        model = Saying(['{"name": "Oslo", "people": 1}'], ['{"name": "Bergen", "people": 3}'])
        seen = list(Session(model).stream("…", returns=City, check=check).partials())
        assert [each.attempt for each in seen] == [1, 2, 2]
        assert seen[-1].value == City("Bergen", 3)

    def test_items_begin_again_by_a_function_or_an_error(self):
        def model() -> Saying:
            return Saying(['[{"name": "A", "people": 1},', '{"name": 3}]'], ['[{"name": "B",', '"people": 2}]'])

        shown: list[City] = []
        for city in Session(model()).stream("…", returns=list[City]).items(on_restart=shown.clear):
            shown.append(city)
        assert shown == [City("B", 2)]

        stream = Session(model()).stream("…", returns=list[City])
        first: list[City] = []
        with pytest.raises(AnswerRestarted, match="1 items so far do not count"):
            first.extend(stream.items())
        assert (first, list(stream.items())) == ([City("A", 1)], [City("B", 2)])


class TestItems:
    def test_each_is_given_once_it_is_complete_and_valid(self):
        seen: list[Any] = []
        stream = Session(Saying(chop('{"value": [{"name": "A", "people": 1}, {"name": "B", "people": 2}]}'))).stream(
            "…", returns=list[City]
        )
        for event, partial in stream.follow():
            seen.append((type(event.body).__name__, partial and partial.data))
        assert list(stream.items()) == [City("A", 1), City("B", 2)]
        assert ("TextDelta", [{"name": "A", "people": 1}]) in seen

    def test_values_are_converted_as_in_the_result(self):
        stream = Session(Saying(['["2026-11-20", ', '"2026-11-21"]'])).stream("…", returns=list[date])
        assert list(stream.items()) == [date(2026, 11, 20), date(2026, 11, 21)] == stream.result.value

    def test_a_late_reader_gets_all_of_them(self):
        stream = Session(Saying(["[1, 2, 3]"])).stream("…", returns=list[int])
        assert stream.result.value == [1, 2, 3]
        assert list(stream.items()) == [1, 2, 3]
        assert list(stream.partials())[-1].value == [1, 2, 3]

    def test_an_error_that_ends_the_run_is_raised(self):
        stream = Session(Saying(["[1, 2,", '"x"]']), attempts=0).stream("…", returns=list[int])
        seen: list[int] = []
        with pytest.raises(NoAnswer):
            seen.extend(stream.items())
        assert seen == [1, 2]

    def test_only_a_list_has_items(self):
        for returns in (City, None, dict[str, int]):
            with pytest.raises(OptionError, match="`items` are those of a list"):
                list(Session(Saying(['{"name": "A", "people": 1}'])).stream("…", returns=returns).items())  # type: ignore[misc]

    def test_items_of_a_json_schema(self):
        schema = parse_json_schema(
            {"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"minimum": 1}}}, "it"
        )
        stream: Any = Session(Saying(["[1, 2", "]"])).stream("…", returns=schema)  # type: ignore[call-overload]
        assert list(stream.items()) == [1, 2]


def typed_answer(strategy: str, **fields: Any) -> Any:
    return call("answer", **fields) if strategy == "tool" else Answer(json.dumps(fields))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_api_and_every_way_of_asking(model: str, strategy: Any):
    cities = [{"name": f"City {number}", "people": number} for number in range(5)]
    with Fake([typed_answer(strategy, value=cities)]) as fake:
        session = Session(fake.connect(model), strategy=strategy)
        stream = session.stream("…", returns=list[City])
        seen = list(stream.partials())
        assert not any(each.rejected for each in fake.requests)
    assert seen[-1].value == [City(**each) for each in cities]  # type: ignore[arg-type]
    assert seen[-1].data == cities
    for one, other in pairwise(seen):
        assert one.attempt == 1
        assert len(one.data) <= len(other.data)
        assert one.data[:-1] == other.data[: len(one.data[:-1])]
    if model != "google/gemini-3-pro" or strategy != "tool":
        # Gemini sends the arguments of a call at once.
        assert len(seen) == 4


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_first_item_comes_while_the_server_still_streams(strategy: Any):
    more = threading.Event()
    cities = [{"name": f"City {number}", "people": number} for number in range(30)]
    text = json.dumps({"value": cities})
    answer = (
        Answer(calls=[call("answer", value=cities)], hold_after=3, hold=more.wait)
        if strategy == "tool"
        else Answer(text, hold_after=3, hold=more.wait)
    )
    with Fake([answer]) as fake:
        stream = Session(fake.connect("openai-chat/gpt-4o"), strategy=strategy).stream("…", returns=list[City])
        items, partials = stream.items(), stream.partials()
        try:
            assert within(60, lambda: next(items)) == City("City 0", 0)
            assert 0 < len(within(60, lambda: next(partials)).data) < 30
            assert not more.is_set()
            assert stream.run.state == "running"
        finally:
            more.set()
        assert len(list(items)) == 29


def test_an_agent_streams_alike_in_both_forms():
    text = '[{"name": "A", "people": 1}, {"name": "B", "people": 2}]'

    async def watch() -> tuple[list[Any], list[Any], Any]:
        agent = Agent(Saying(chop(text)), returns=list[City])
        async with agent.astream("…") as stream:
            partials = [each.data async for each in stream.partials()]
            items = [each async for each in stream.items()]
            return partials, items, (await stream.result).value

    stream = Agent(Saying(chop(text)), returns=list[City]).stream("…")
    same = [each.data for each in stream.partials()], list(stream.items()), stream.result.value
    assert asyncio.run(watch()) == same


async def collect(items: AsyncIterator[City], into: list[City]) -> None:
    async for item in items:
        into.append(item)


def test_asynchronous_items_begin_again_too():
    async def watch() -> tuple[list[City], list[City]]:
        model = Saying(['[{"name": "A", "people": 1},', '{"name": 3}]'], ['[{"name": "B",', '"people": 2}]'])
        stream, first = Session(model).astream("…", returns=list[City]), list[City]()
        with pytest.raises(AnswerRestarted):
            await collect(stream.items(), first)
        return first, [city async for city in stream.items()]

    assert asyncio.run(watch()) == ([City("A", 1)], [City("B", 2)])


def test_one_stream_carries_events_text_reasoning_and_partials():
    async def watch() -> Counter[str]:
        found = Counter[str]()
        model = Saying(chop('{"name": "Oslo", "people": 7}'), before="Hm.")
        async with Session(model).astream("…", returns=City) as stream:
            async for event, partial in stream.follow():
                found[type(event.body).__name__] += 1
                found["partial"] += partial is not None
        return found

    found = asyncio.run(watch())
    assert found["ReasoningDelta"] == found["RunStarted"] == found["RunEnded"] == 1
    assert found["TextDelta"] == 10
    assert 4 <= found["partial"] <= 10


def test_words_before_calls_are_not_the_answer():
    def look() -> str:
        """Look."""
        return "seen"

    with Fake([Answer("[1, 2]", calls=[call("look")]), "[3]"]) as fake:
        stream = Session(fake.connect("openai-chat/gpt-4o"), [look]).stream("…", returns=list[int])
        partials = list(stream.partials())
        assert any(isinstance(event.body, CallFinished) for event in stream)
    assert partials[-1].data == partials[-1].value == [3]
    assert {each.attempt for each in partials if 1 in each.data} == {1}
    assert partials[-1].attempt == 2


def test_a_model_that_does_not_stream_has_the_complete_one():
    partials = list(Session(Scripted('{"name": "Oslo", "people": 7}')).stream("…", returns=City).partials())
    assert [each.is_complete for each in partials] == [True]
    assert partials[0].data["name"] == "Oslo"


def test_the_work_grows_with_the_length_of_the_answer():
    def count_steps(length: int) -> int:
        from antiphon.session import partials

        reader = partials.AnswerReader({"text": str, "cities": list[City]})
        cities = [{"name": f"City {number}", "people": number} for number in range(length)]
        pieces = chop(json.dumps({"text": "word " * length, "cities": cities}), 4)
        reader.take(partials.RequestStarted(1, ""))
        reader.take(TextDelta('{"text": "'))
        steps = 0

        def trace(*_: Any) -> Any:
            nonlocal steps
            steps += 1
            return trace

        reader = partials.AnswerReader({"text": str, "cities": list[City]})
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            for piece in pieces:
                reader.take(TextDelta(piece))
        finally:
            sys.settrace(before)
        return steps

    count_steps(5)
    small, large = count_steps(50), count_steps(400)
    assert large < small * 8 * 1.2


json_data = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(json_data.filter(lambda value: isinstance(value, dict | list)), st.data(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_whatever_the_pieces_are_partials_grow_to_the_value(value: Any, data: Any, ascii: bool):
    from antiphon._base.json import load_json
    from antiphon.session.events import RequestEnded, RequestStarted
    from antiphon.session.partials import AnswerReader

    text = json.dumps(value, ensure_ascii=ascii)
    places = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=12)))
    pieces = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    reader = AnswerReader(TextOrJson)
    reader.take(RequestStarted(1, ""))
    found = [each.data for each in map(reader.take, map(TextDelta, pieces)) if each is not None]
    reader.take(RequestEnded(1, text, Usage(), None))
    assert found[-1] == load_json(text)
    for one, other in pairwise(found):
        assert is_beginning(one, other)


def is_beginning(part: Any, whole: Any) -> bool:
    """Whether a part is a true beginning of a value."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return list(whole)[: len(part)] == list(part) and all(is_beginning(part[key], whole[key]) for key in part)
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(is_beginning, part, whole))
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    return part == whole
