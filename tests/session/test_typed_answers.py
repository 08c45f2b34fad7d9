"""Typed answers at their edges: validators, aliases, odd types, wrong answers, and how often is asked again."""

import datetime
import enum
import json
import typing
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, Json, RootModel, field_validator, model_validator

from antiphon.conversation import Conversation, Text, ToolCall
from antiphon.errors import OptionError
from antiphon.session import ReturnError, Session
from antiphon.wire import Reply
from tests.session.scripted import STRATEGIES, Scripted, answering, calls

in_all_strategies = pytest.mark.parametrize("strategy", STRATEGIES)


def weather(city: str) -> str:
    """The weather."""
    return f"Rain in {city}"


def ask(wanted: Any, *script: Any, tools: Any = (), **settings: Any) -> Any:
    return Session(Scripted(*script), tools, **settings).do("…", returns=wanted).value


class Span(BaseModel):
    start: int
    end: int

    @field_validator("start")
    @classmethod
    def _not_negative(cls, value: int) -> int:
        if value < 0:
            raise ValueError("not below zero")
        return value

    @model_validator(mode="after")
    def _in_order(self) -> "Span":
        if self.end < self.start:
            raise ValueError("end before start")
        return self


class Aliased(BaseModel):
    full_name: str = Field(alias="fullName")
    age: int = 0


@dataclass
class Half:
    a: int
    made: int = field(init=False, default=3)


@dataclass
class Optionals:
    size: int = 1
    color: str = "red"


class Color(enum.Enum):
    RED = "red"


class Node(BaseModel):
    name: str
    children: list["Node"] = []


@in_all_strategies
class TestValidators:
    def test_what_the_types_own_validators_say_is_told(self, strategy: Any):
        given = [{"start": 5, "end": 3}, {"start": -1, "end": 3}, {"start": 1, "end": 3}]
        model = Scripted(*[answering(strategy, **each) for each in given])
        assert Session(model, strategy=strategy).do("…", returns=Span).value == Span(start=1, end=3)
        assert "end before start" in model.seen[1]
        assert "not below zero" in model.seen[2]

    def test_after_the_limit_they_are_named(self, strategy: Any):
        with pytest.raises(ReturnError, match="end before start"):
            ask(Span, *[answering(strategy, start=5, end=3)] * 6, strategy=strategy)

    def test_a_validator_that_breaks_does_not_break_the_run(self, strategy: Any):
        class Broken(BaseModel):
            a: int
            b: int

            @model_validator(mode="before")
            @classmethod
            def _look(cls, data: Any) -> Any:
                return {"a": data["a"], "b": data["b"]}

        model = Scripted(answering(strategy, a=1), answering(strategy, a=1, b=2))
        assert Session(model, strategy=strategy).do("…", returns=Broken).value == Broken(a=1, b=2)
        assert "KeyError: 'b'" in model.seen[1].replace("\\'", "'")

    def test_values_are_converted_once(self, strategy: Any):
        @dataclass
        class Holder:
            data: Json[list[int]]

        assert ask(Holder, answering(strategy, data="[1]"), strategy=strategy).data == [1]


@in_all_strategies
class TestKinds:
    @pytest.mark.parametrize(
        ("wanted", "given", "value"),
        [
            (Aliased, {"fullName": "Ada"}, Aliased(fullName="Ada")),
            (Aliased, {"full_name": "Ada"}, Aliased(fullName="Ada")),
            (Half, {"a": 1}, Half(1)),
            (Node, {"name": "x", "children": [{"name": "y"}]}, Node(name="x", children=[Node(name="y")])),
            ({"object": str, "value": int}, {"object": "o", "value": 1}, {"object": "o", "value": 1}),
            (
                {"day": datetime.date, "c": Color},
                {"day": "2020-01-02", "c": "red"},
                {"day": datetime.date(2020, 1, 2), "c": Color.RED},
            ),
            ({"n": int | None}, {"n": None}, {"n": None}),
        ],
    )
    def test_objects(self, strategy: Any, wanted: Any, given: dict[str, Any], value: Any):
        assert ask(wanted, answering(strategy, **given), strategy=strategy) == value

    @pytest.mark.parametrize(
        ("wanted", "given", "value"),
        [
            (RootModel[list[int]], [1, 2], RootModel[list[int]]([1, 2])),
            (dict[str, int], {"a": 1}, {"a": 1}),
            (int | None, None, None),
            (tuple[int, str], [1, "a"], (1, "a")),
            (Color, "red", Color.RED),
            (datetime.date, "2020-01-02", datetime.date(2020, 1, 2)),
            (Annotated[int, Field(ge=3)], 3, 3),
            (Half | Literal["none"], "none", "none"),
        ],
    )
    def test_single_values_in_every_way(self, strategy: Any, wanted: Any, given: Any, value: Any):
        assert ask(wanted, answering(strategy, value=given), strategy=strategy) == value
        assert ask(wanted, json.dumps({"value": given}), strategy=strategy) == value
        assert ask(wanted, json.dumps(given), strategy=strategy) == value

    def test_strict_models_take_what_json_can_say(self, strategy: Any):
        class Strict(BaseModel):
            model_config = ConfigDict(strict=True)
            day: datetime.date

        assert ask(Strict, answering(strategy, day="2020-01-02"), strategy=strategy).day == datetime.date(2020, 1, 2)

    def test_two_types_of_one_name_stay_apart(self, strategy: Any):
        def made(kind: Any) -> Any:
            class Same(BaseModel):
                x: kind

            return Same

        one, two = made(int), made(str)
        value = ask({"a": one, "b": two}, answering(strategy, a={"x": 1}, b={"x": "t"}), strategy=strategy)
        assert (value["a"].x, value["b"].x) == (1, "t")


class Recursive(typing.TypedDict):
    """Holds itself, by way of `typing`."""

    name: str
    kids: "list[Recursive]"


class Few(enum.IntEnum):
    ONE = 1
    TWO = 2


@in_all_strategies
class TestEdges:
    @pytest.mark.parametrize(
        ("wanted", "given"),
        [
            (Literal[1, 2], True),
            (Literal[0], False),
            (Literal[True], 1),
            (Few, True),
            (list[Literal[1]], [True]),
            (Literal[1] | str, True),
            (dict[str, Literal[1]], {"a": True}),
            (tuple[str, Literal[1]], ["a", True]),
        ],
    )
    def test_a_boolean_is_no_number_and_no_number_is_true(self, strategy: Any, wanted: Any, given: Any):
        with pytest.raises(ReturnError) as caught:
            ask(wanted, *[answering(strategy, value=given)] * 2, attempts=1, strategy=strategy)
        assert "expected" in caught.value.refused[0].why

    @pytest.mark.parametrize(("wanted", "given"), [(Literal[1], 1), (Literal[True], True), (Literal[1, True], True)])
    def test_the_same_kind_is_taken(self, strategy: Any, wanted: Any, given: Any):
        assert ask(wanted, answering(strategy, value=given), strategy=strategy) is given

    def test_recursion_by_any_kind_of_type(self, strategy: Any):
        given = {"name": "a", "kids": [{"name": "b", "kids": []}]}
        assert ask(Recursive, answering(strategy, **given), strategy=strategy) == given
        assert ask(list[Recursive], answering(strategy, value=[given]), strategy=strategy) == [given]

    def test_a_number_too_large_to_be_exact_is_no_whole_one(self, strategy: Any):
        assert ask(int, answering(strategy, value=2.0**52), strategy=strategy) == 2**52
        with pytest.raises(ReturnError, match="expected whole number"):
            ask(int, *[answering(strategy, value=2.0**60)] * 2, attempts=1, strategy=strategy)

    def test_an_open_type_keeps_what_it_does_not_name(self, strategy: Any):
        class Open(BaseModel):
            model_config = ConfigDict(extra="allow")
            a: int
            b: int = 0

        assert ask(Open, answering(strategy, a=1, c=2), strategy=strategy).model_extra == {"c": 2}

    def test_an_open_type_without_a_default_keeps_it_too(self, strategy: Any):
        class Open(BaseModel):
            model_config = ConfigDict(extra="allow")
            a: int

        assert ask(Open, answering(strategy, a=1, b=2), strategy=strategy) == Open.model_validate({"a": 1, "b": 2})

    def test_a_single_value_comes_alone(self, strategy: Any):
        model = Scripted(answering(strategy, value=1, unit="km"), answering(strategy, value=1))
        assert Session(model, strategy=strategy).do("…", returns=int).value == 1
        assert "unit" in model.seen[1]

    def test_a_dict_of_fields_may_hold_another(self, strategy: Any):
        given = {"name": "Ada", "born": {"year": 1815}}
        assert ask({"name": str, "born": {"year": int}}, answering(strategy, **given), strategy=strategy) == given

    def test_a_field_by_two_names_has_one_value(self, strategy: Any):
        both, once = ({"fullName": "Ada", "full_name": other} for other in ("Bob", "Ada"))
        model = Scripted(answering(strategy, **both), answering(strategy, **once))
        assert Session(model, strategy=strategy).do("…", returns=Aliased).value.full_name == "Ada"
        assert "are the same field, with two values" in model.seen[1]

    def test_a_misspelt_field_is_told_back(self, strategy: Any):
        model = Scripted(answering(strategy, size=3, colour="blue"), answering(strategy, size=3, color="blue"))
        assert Session(model, strategy=strategy).do("…", returns=Optionals).value == Optionals(3, "blue")
        assert "there is no field 'colour'" in model.seen[1].replace("\\'", "'")

    def test_an_optional_field_that_is_wrong_is_asked_for_again(self, strategy: Any):
        script = [answering(strategy, size="big", color="blue"), answering(strategy, size=4, color="blue")]
        assert ask(Optionals, *script, strategy=strategy) == Optionals(4, "blue")
        with pytest.raises(ReturnError, match="'size' expected number, got text"):
            ask(Optionals, *script[:1] * 2, strategy=strategy, attempts=1)

    def test_what_is_missing_is_named(self, strategy: Any):
        model = Scripted(answering(strategy, a=1), answering(strategy, a=1, b=2))
        assert Session(model, strategy=strategy).do("…", returns={"a": int, "b": int}).value == {"a": 1, "b": 2}
        assert "'b' is missing" in model.seen[1].replace("\\'", "'")

    def test_where_all_is_optional_something_must_come(self, strategy: Any):
        script = [calls("weather", city="Oslo"), answering(strategy, size=3)]
        ret = Session(Scripted(*script), [weather], strategy=strategy).vibe("…", returns=Optionals)
        assert (ret.value, len(ret.tool_calls)) == (Optionals(3), 1)
        script = ["I would not know.", answering(strategy, color="blue")]
        assert ask(Optionals, *script, strategy=strategy) == Optionals(1, "blue")
        assert ask(Optionals, answering(strategy), strategy=strategy) == Optionals()

    def test_an_empty_answer_is_no_text(self, strategy: Any):
        assert ask(str, "", "Something.", strategy=strategy) == "Something."

    def test_a_cut_answer_is_not_taken(self, strategy: Any):
        assert ask(str, ("Once upon a", "length"), "The end.", strategy=strategy) == "The end."

    @pytest.mark.parametrize("attempts", [0, 1, 7])
    def test_as_many_more_tries_as_were_said(self, strategy: Any, attempts: int):
        model = Scripted(*[answering(strategy, value="x")] * 20)
        with pytest.raises(ReturnError):
            Session(model, attempts=attempts, strategy=strategy).do("…", returns=int)
        assert len(model.options) == attempts + 1


@pytest.mark.parametrize("wanted", [print, lambda: 1, {"": int}, {"a": {}}, {"a": print}])
def test_what_is_no_type_is_said_to_be_none(wanted: Any):
    with pytest.raises(OptionError, match="`returns`"):
        ask(wanted)


def test_an_object_by_the_name_of_value_is_read_as_it_was_asked_for():
    assert ask(dict[str, Any], '{"value": {"a": 1}}') == {"a": 1}
    assert ask(dict[str, Any], '{"a": 1}') == {"a": 1}


class TestReturnTool:
    def test_two_answers_in_one_reply_are_none(self):
        whole = [("answer", {"start": start, "end": 9}) for start in (1, 2)]
        model = Scripted(calls(*whole), calls(whole[1]))
        assert Session(model, strategy="tool").do("…", returns=Span).value == Span(start=2, end=9)
        assert "there are several answers; give one" in model.seen[1]

    def test_the_same_answer_twice_is_one(self):
        whole = ("answer", {"start": 1, "end": 9})
        assert ask(Span, calls(whole, whole), strategy="tool") == Span(start=1, end=9)

    def test_somebody_elses_tool_of_that_name_is_left_alone(self):
        def answer(question: str) -> str:
            """Look an answer up."""
            return f"{question}: 42"

        model = Scripted(calls("answer", question="six by seven"), '{"value": 42}')
        ret = Session(model, [answer], strategy="tool").do("…", returns=int)
        assert (ret.value, ret.tool_calls[0].result) == (42, "six by seven: 42")

    def test_a_second_form_is_asked_for_in_words(self):
        model = Scripted(calls("answer", value=1), calls("answer", value=2), '{"a": "x"}')
        session = Session(model, strategy="tool")
        assert session.do("…", returns=int).value == 1
        assert session.do("…", returns=int).value == 2
        assert session.do("…", returns={"a": str}).value == {"a": "x"}
        assert "JSON Schema" in model.seen[2]
        assert [tool.name for tool in session.conversation.tools] == ["answer"]


@in_all_strategies
class TestWithTools:
    def test_a_wrong_answer_takes_no_tools_away(self, strategy: Any):
        script = [answering(strategy, value="x"), calls("weather", city="Oslo"), answering(strategy, value=3)]
        ret = Session(Scripted(*script), [weather], strategy=strategy).do("…", returns=int)
        assert (ret.value, ret.tool_calls[0].result) == (3, "Rain in Oslo")

    def test_do_does_not_go_on_calling_tools(self, strategy: Any):
        model = Scripted(*[calls("weather", city=f"C{n}") for n in range(40)])
        with pytest.raises(ReturnError):
            Session(model, [weather], strategy=strategy).do("…", returns=int)
        assert len(model.options) < 8

    def test_the_last_round_of_do_is_told_in_words(self, strategy: Any):
        model = Scripted(calls("weather", city="Oslo"), answering(strategy, wet=True))
        value = Session(model, [weather], strategy=strategy).do("…", returns={"wet": bool}).value
        assert value == {"wet": True}
        assert "No more tool calls are run" in model.seen[1]
        assert "tool_choice" not in model.options[1]


@in_all_strategies
def test_no_digit_of_a_decimal_is_lost(strategy: Any):
    class Model(Scripted):
        def _reply(self, conversation: Conversation) -> Reply:
            text = self.script.pop(0)
            if strategy == "tool":
                reply = Reply((ToolCall.read(f"c{len(self.script)}", "answer", text),), "tool_calls")
            else:
                reply = Reply((Text(text),), "end")
            conversation.add_reply(reply.parts)
            return reply

    def asked(wanted: Any, *said: str) -> Any:
        return Session(Model(*said), strategy=strategy).do("How much?", returns=wanted).value

    number, text = '{"value": 1.23456789012345678901}', '{"value": "1.23456789012345678901"}'
    assert asked(Decimal, text) == Decimal("1.23456789012345678901")
    assert asked(Decimal, number, text) == Decimal("1.23456789012345678901")
    assert asked(Decimal, '{"value": 1.5}') == Decimal("1.5")
    assert asked(float, number) == 1.2345678901234567
