"""Typed returns at their edges: validators, aliases, odd types, partial answers, and how often is asked again."""

import datetime
import enum
import typing
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, Json, RootModel, field_validator, model_validator

from antiphon.conversation import Conversation, ToolCall
from antiphon.errors import OptionError
from antiphon.session import ReturnError, Session
from antiphon.session.returns import Expected
from antiphon.wire import Reply
from tests.session.scripted import Scripted, calls


def weather(city: str) -> str:
    """The weather."""
    return f"Rain in {city}"


def ask(wanted: Any, *script: Any, tools: Any = (), **settings: Any) -> Any:
    return Session(Scripted(*script), tools, **settings).do("…", returns=wanted).value


def returning(**values: Any) -> list[tuple[str, dict[str, Any]]]:
    return calls(*[(f"__vibe_return_{name}", {"value": value}) for name, value in values.items()])


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


class TestValidators:
    def test_what_the_types_own_validators_say_is_told(self):
        model = Scripted(returning(start=5, end=3), returning(start=-1), returning(start=1, end=3))
        assert Session(model).do("…", returns=Span).value == Span(start=1, end=3)
        assert "end before start" in model.seen[1]
        assert "not below zero" in model.seen[2]

    def test_after_the_limit_they_are_named(self):
        with pytest.raises(ReturnError, match="end before start"):
            ask(Span, *[returning(start=5, end=3)] * 6)

    def test_a_validator_that_breaks_does_not_break_the_run(self):
        class Broken(BaseModel):
            a: int
            b: int

            @model_validator(mode="before")
            @classmethod
            def _look(cls, data: Any) -> Any:
                return {"a": data["a"], "b": data["b"]}

        assert ask(Broken, returning(a=1), returning(b=2)) == Broken(a=1, b=2)

    def test_values_are_converted_once(self):
        @dataclass
        class Holder:
            data: Json[list[int]]

        assert ask(Holder, returning(data="[1]")).data == [1]


class TestKinds:
    @pytest.mark.parametrize("strategy", ["fields", "object", "native"])
    @pytest.mark.parametrize(
        ("wanted", "given", "value"),
        [
            (Aliased, {"fullName": "Ada"}, Aliased(fullName="Ada")),
            (Half, {"a": 1}, Half(1)),
            (Node, {"name": "x", "children": [{"name": "y"}]}, Node(name="x", children=[Node(name="y")])),
            ({"object": str, "value": int}, {"object": "o", "value": 1}, {"object": "o", "value": 1}),
            ({"day": datetime.date, "c": Color}, {"day": "2020-01-02", "c": "red"}, None),
            ({"n": int | None}, {"n": None}, {"n": None}),
        ],
    )
    def test_objects(self, strategy: Any, wanted: Any, given: dict[str, Any], value: Any):
        script: dict[str, Any] = {
            "fields": [returning(**given), "There is none."],
            "object": [calls("__vibe_return_object", **given)],
            "native": [str(given).replace("'", '"').replace("None", "null")],
        }
        value = value if value is not None else {"day": datetime.date(2020, 1, 2), "c": Color.RED}
        assert ask(wanted, *script[strategy], strategy=strategy) == value

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
    def test_single_values_in_every_way(self, wanted: Any, given: Any, value: Any):
        import json

        assert ask(wanted, returning(value=given)) == value
        assert ask(wanted, json.dumps(given)) == value
        assert ask(wanted, json.dumps({"value": given}), strategy="native") == value
        assert ask(wanted, json.dumps({"value": given})) == value

    def test_python_names_are_taken_for_aliases_too(self):
        assert ask(Aliased, '{"full_name": "Ada"}') == Aliased(fullName="Ada")

    def test_strict_models_take_what_json_can_say(self):
        class Strict(BaseModel):
            model_config = ConfigDict(strict=True)
            day: datetime.date

        assert ask(Strict, returning(day="2020-01-02")).day == datetime.date(2020, 1, 2)

    def test_two_types_of_one_name_stay_apart(self):
        def made(kind: Any) -> Any:
            class Same(BaseModel):
                x: kind

            return Same

        one, two = made(int), made(str)
        value = ask({"a": one, "b": two}, calls("__vibe_return_object", a={"x": 1}, b={"x": "t"}), strategy="object")
        assert (value["a"].x, value["b"].x) == (1, "t")


class Recursive(typing.TypedDict):
    """Holds itself, by way of `typing`."""

    name: str
    kids: "list[Recursive]"


class Few(enum.IntEnum):
    ONE = 1
    TWO = 2


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
    def test_a_boolean_is_no_number_and_no_number_is_true(self, wanted: Any, given: Any):
        with pytest.raises(ReturnError) as caught:
            ask(wanted, *[calls("__vibe_return_value", value=given)] * 2, attempts=1)
        assert "expected" in caught.value.refused[0].why

    @pytest.mark.parametrize(("wanted", "given"), [(Literal[1], 1), (Literal[True], True), (Literal[1, True], True)])
    def test_the_same_kind_is_taken(self, wanted: Any, given: Any):
        assert ask(wanted, calls("__vibe_return_value", value=given)) is given

    def test_recursion_by_any_kind_of_type(self):
        given = {"name": "a", "kids": [{"name": "b", "kids": []}]}
        assert ask(Recursive, calls("__vibe_return_object", **given)) == given
        assert ask(list[Recursive], calls("__vibe_return_value", value=[given])) == [given]

    def test_a_number_too_large_to_be_exact_is_no_whole_one(self):
        assert ask(int, calls("__vibe_return_value", value=2.0**52)) == 2**52
        with pytest.raises(ReturnError, match="expected whole number"):
            ask(int, *[calls("__vibe_return_value", value=2.0**60)] * 2, attempts=1)

    def test_an_open_type_keeps_what_it_does_not_name(self):
        class Open(BaseModel):
            model_config = ConfigDict(extra="allow")
            a: int
            b: int = 0

        assert ask(Open, calls("__vibe_return_object", a=1, c=2)).model_extra == {"c": 2}

    def test_a_return_tool_takes_its_value_alone(self):
        two = calls("__vibe_return_value", value=1, unit="km")
        model = Scripted(two, calls("__vibe_return_value", value=1))
        assert Session(model).do("…", returns=int).value == 1
        assert "takes 'value' alone, not 'unit'" in model.seen[1]

    def test_a_field_comes_with_all_definitions_that_it_leads_to(self):
        class Outer(BaseModel):
            spans: list[Span]

        fields = {tool.name: tool for tool in Expected({"a": Outer, "b": int}, "fields").tools()}
        assert set(fields["__vibe_return_a"].parameters["$defs"]) == {"Outer", "Span"}
        assert "$defs" not in fields["__vibe_return_b"].parameters

    def test_an_object_by_the_name_of_value_is_read_as_it_was_asked_for(self):
        said = '{"value": {"a": 1}}'
        assert ask(dict[str, Any], said, strategy="native") == {"a": 1}
        assert ask(dict[str, Any], said) == {"value": {"a": 1}}

    def test_a_dict_of_fields_may_hold_another(self):
        given = {"name": "Ada", "born": {"year": 1815}}
        assert ask({"name": str, "born": {"year": int}}, calls("__vibe_return_object", **given)) == given

    @pytest.mark.parametrize("wanted", [print, lambda: 1, {"": int}, {"a": {}}, {"a": print}])
    def test_what_is_no_type_is_said_to_be_none(self, wanted: Any):
        with pytest.raises(OptionError, match="`returns`"):
            ask(wanted)


class TestCompleteness:
    def test_one_field_at_a_time_is_progress_and_not_a_failure(self):
        names = "abcdefg"
        script = [returning(**{name: n}) for n, name in enumerate(names)]
        assert ask(dict.fromkeys(names, int), *script) == {name: n for n, name in enumerate(names)}

    def test_what_is_still_missing_is_named(self):
        model = Scripted(returning(a=1), returning(b=2))
        Session(model).do("…", returns={"a": int, "b": int})
        assert "Still missing: call __vibe_return_b." in model.seen[1]

    def test_where_all_is_optional_something_must_come(self):
        script = [calls("weather", city="Oslo"), calls("__vibe_return_object", size=3)]
        ret = Session(Scripted(*script), [weather]).vibe("…", returns=Optionals)
        assert (ret.value, len(ret.tool_calls)) == (Optionals(3), 1)
        script = ["I would not know.", calls("__vibe_return_object", color="blue")]
        assert ask(Optionals, *script) == Optionals(1, "blue")
        assert ask(Optionals, calls("__vibe_return_object"), strategy="object") == Optionals()

    def test_an_optional_field_that_is_wrong_is_asked_for_again(self):
        script = [calls(("__vibe_return_size", {"value": "big"}), ("__vibe_return_color", {"value": "blue"}))]
        assert ask(Optionals, *script, returning(size=4)) == Optionals(4, "blue")
        with pytest.raises(ReturnError, match="missing: size"):
            ask(Optionals, *script, "No.", "No.", strategy="fields", attempts=1)

    @pytest.mark.parametrize("strategy", ["fields", "object", "native"])
    def test_fields_that_come_one_by_one_may_all_come(self, strategy: Any):
        script = [returning(size=3), returning(color="blue")]
        assert ask(Optionals, *script, strategy=strategy) == Optionals(3, "blue")
        assert ask(Optionals, returning(size=3), "That is all.", strategy=strategy) == Optionals(3)

    @pytest.mark.parametrize("strategy", ["fields", "object", "native"])
    def test_a_misspelt_field_is_told_back_before_the_end(self, strategy: Any):
        script = [returning(size=3, colour="blue"), returning(color="blue")]
        assert ask(Optionals, *script, strategy=strategy) == Optionals(3, "blue")

    @pytest.mark.parametrize("strategy", ["fields", "object", "native"])
    def test_two_values_in_one_reply_are_none(self, strategy: Any):
        both = calls(*returning(start=1), *returning(start=2), *returning(end=9))
        model = Scripted(both, returning(start=2))
        assert Session(model, strategy=strategy).do("…", returns=Span).value == Span(start=2, end=9)
        assert "'start' came with two values, 1 and 2" in model.seen[1]
        whole = [("__vibe_return_object", {"start": start, "end": 9}) for start in (1, 2)]
        assert ask(Span, calls(*whole), calls(*whole[1:]), strategy=strategy) == Span(start=2, end=9)
        assert ask(Span, calls(*whole[:1], *whole[:1]), strategy=strategy) == Span(start=1, end=9)
        mixed = calls(whole[0], *returning(start=2))
        assert ask(Span, mixed, calls(whole[1]), strategy=strategy) == Span(start=2, end=9)

    def test_a_field_by_two_names_has_one_value(self):
        both = calls("__vibe_return_object", fullName="Ada", full_name="Bob")
        once = calls("__vibe_return_object", fullName="Ada", full_name="Ada")
        assert ask(Aliased, both, once).full_name == "Ada"

    def test_an_open_type_comes_as_a_whole(self):
        class Open(BaseModel):
            model_config = ConfigDict(extra="allow")
            a: int

        model = Scripted(calls("__vibe_return_object", a=1, b=2))
        assert Session(model).do("…", returns=Open).value == Open.model_validate({"a": 1, "b": 2})
        assert "__vibe_return_object" in model.seen[0]

    def test_an_empty_answer_is_no_text(self):
        assert ask(str, "", "Something.") == "Something."

    def test_a_cut_answer_is_not_taken(self):
        assert ask(str, ("Once upon a", "length"), "The end.") == "The end."

    @pytest.mark.parametrize("attempts", [0, 1, 7])
    def test_as_many_more_tries_as_were_said(self, attempts: int):
        model = Scripted(*[returning(value="x")] * 20)
        with pytest.raises(ReturnError):
            Session(model, attempts=attempts).do("…", returns=int)
        assert len(model.options) == attempts + 1


class TestWithTools:
    def test_a_wrong_return_takes_no_tools_away(self):
        script = [returning(value="x"), calls("weather", city="Oslo"), returning(value=3)]
        ret = Session(Scripted(*script), [weather]).do("…", returns=int)
        assert (ret.value, ret.tool_calls[0].result) == (3, "Rain in Oslo")

    def test_do_does_not_go_on_calling_tools(self):
        model = Scripted(*[calls("weather", city=f"C{n}") for n in range(40)])
        with pytest.raises(ReturnError):
            Session(model, [weather]).do("…", returns=int)
        assert len(model.options) < 8

    def test_natively_the_last_round_of_do_has_no_tools(self):
        model = Scripted(calls("weather", city="Oslo"), '{"wet": true}')
        value = Session(model, [weather], strategy="native").do("…", returns={"wet": bool}).value
        assert value == {"wet": True}
        assert model.options[1]["tool_choice"] == "none"


def test_no_digit_of_a_decimal_is_lost():
    exact = Scripted(calls("__vibe_return_value", value="1.23456789012345678901"))
    assert Session(exact).do("How much?", returns=Decimal).value == Decimal("1.23456789012345678901")

    class Model(Scripted):
        def _reply(self, conversation: Conversation) -> Reply:
            text = self.script.pop(0)
            reply = Reply((ToolCall.read(f"c{len(self.script)}", "__vibe_return_value", text),), "tool_calls")
            conversation.add_reply(reply.parts)
            return reply

    said = '{"value": 1.23456789012345678901}', '{"value": "1.23456789012345678901"}'
    session = Session(Model(*said))
    assert session.do("How much?", returns=Decimal).value == Decimal("1.23456789012345678901")
    assert Session(Model('{"value": 1.5}')).do("How much?", returns=Decimal).value == Decimal("1.5")
    assert Session(Model(said[0])).do("How much?", returns=float).value == 1.2345678901234567
