"""Typed asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from pydantic import BaseModel, Field

from tests.referees.cases import ALL, FEW, is_equal, scenario
from tests.referees.script import Call, call, give, say
from tests.referees.stage import Stage


@dataclass
class Item:
    """One line of an order."""

    name: str
    quantity: int


@dataclass
class Order:
    """An order."""

    customer: str
    items: list[Item]
    gift: bool


class Address(BaseModel):
    street: str = Field(min_length=1, max_length=80)
    zip: str = Field(pattern=r"^\d{4}$")


class Person(BaseModel):
    name: str
    age: int = Field(ge=0, le=150)
    addresses: list[Address] = Field(max_length=3)


@dataclass
class Ticket:
    severity: Literal["low", "high"]
    summary: str
    assignee: str | None = None
    tags: list[str] = field(default_factory=list)


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Tree:
    label: str
    children: list[Tree]


def weather(city: str) -> str:
    """The weather in a city now."""
    return f"4 degrees and rain in {city}"


FIELDS = {"name": "Ada", "age": 36}
ORDER = {"customer": "Tom", "items": [{"name": "tea", "quantity": 3}], "gift": True}


@scenario(ALL)
def typed_fields(stage: Stage) -> None:
    stage.play(give(FIELDS))
    is_equal(stage.session().do("Ada was 36.", returns={"name": str, "age": int}).value, FIELDS)


@scenario(ALL)
def typed_nested_dataclass(stage: Stage) -> None:
    stage.play(give(ORDER))
    is_equal(stage.session().do("Read this order.", returns=Order).value, Order("Tom", [Item("tea", 3)], True))


@scenario(FEW)
def typed_pydantic_with_bounds(stage: Stage) -> None:
    value = {"name": "Ada", "age": 36, "addresses": [{"street": "Main", "zip": "1234"}]}
    stage.play(give(value))
    is_equal(stage.session().do("Who?", returns=Person).value, Person.model_validate(value))


@scenario(FEW)
def typed_list(stage: Stage) -> None:
    stage.play(give(["red", "blue"]))
    is_equal(stage.session().do("Name two colours.", returns=list[str]).value, ["red", "blue"])


@scenario(FEW)
def typed_single_number(stage: Stage) -> None:
    stage.play(give(42))
    is_equal(stage.session().do("What is 6 times 7?", returns=int).value, 42)


@scenario(FEW)
def typed_enum(stage: Stage) -> None:
    stage.play(give("blue"))
    is_equal(stage.session().do("Which colour?", returns=Color).value, Color.BLUE)


@scenario(FEW)
def typed_optional(stage: Stage) -> None:
    stage.play(give({"severity": "high", "summary": "It burns", "assignee": None, "tags": []}))
    is_equal(stage.session().do("Triage.", returns=Ticket).value, Ticket("high", "It burns", None, []))


@scenario(FEW)
def typed_open_map(stage: Stage) -> None:
    stage.play(give({"tea": 3, "milk": 1}))
    is_equal(stage.session().do("Count.", returns=dict[str, int]).value, {"tea": 3, "milk": 1})


@scenario(FEW)
def typed_recursive(stage: Stage) -> None:
    stage.play(give({"label": "a", "children": [{"label": "b", "children": []}]}))
    is_equal(stage.session().do("Grow.", returns=Tree).value, Tree("a", [Tree("b", [])]))


@scenario(ALL)
def typed_after_chat(stage: Stage) -> None:
    stage.play(say("Hello!"), give(ORDER))
    session = stage.session(system="Be brief.")
    session.chat("Hi, I am Tom.")
    is_equal(session.do("Read my order.", returns=Order).value, Order("Tom", [Item("tea", 3)], True))


@scenario(ALL)
def chat_after_typed(stage: Stage) -> None:
    stage.play(give(FIELDS), say("You are welcome."))
    session = stage.session()
    session.do("Ada was 36.", returns={"name": str, "age": int})
    is_equal(session.chat("Thank you.").value, "You are welcome.")


@scenario(ALL)
def two_types(stage: Stage) -> None:
    stage.play(give(FIELDS), give(ORDER), give(FIELDS))
    session = stage.session()
    session.do("Ada was 36.", returns={"name": str, "age": int})
    is_equal(session.do("Read this order.", returns=Order).value, Order("Tom", [Item("tea", 3)], True))
    is_equal(session.do("And again Ada.", returns={"name": str, "age": int}).value, FIELDS)


@scenario(FEW)
def same_type_twice(stage: Stage) -> None:
    stage.play(give(ORDER), give({**ORDER, "gift": False}))
    session = stage.session()
    session.do("Read this order.", returns=Order)
    is_equal(session.do("And this one.", returns=Order).value, Order("Tom", [Item("tea", 3)], False))


@scenario(ALL)
def typed_with_tools(stage: Stage) -> None:
    stage.play(call(Call("weather", {"city": "Oslo"})), give({"coat": True, "degrees": 4}))
    result = stage.session([weather]).vibe("A coat for Oslo?", returns={"coat": bool, "degrees": int})
    is_equal(result.value, {"coat": True, "degrees": 4})
    is_equal([each.tool for each in result.tool_calls], ["weather"])


@scenario(FEW)
def typed_do_with_tools(stage: Stage) -> None:
    stage.play(call(Call("weather", {"city": "Oslo"})), give(ORDER))
    result = stage.session([weather]).do("Order for Oslo.", returns=Order)
    is_equal(result.value, Order("Tom", [Item("tea", 3)], True))


@scenario(ALL)
def typed_after_tools(stage: Stage) -> None:
    stage.play(call(Call("weather", {"city": "Oslo"})), say("Take a coat."), give(FIELDS), say("Bye."))
    session = stage.session([weather], "Be brief.")
    session.vibe("A coat for Oslo?")
    is_equal(session.do("Who asked?", returns={"name": str, "age": int}).value, FIELDS)
    is_equal(session.chat("Bye.").value, "Bye.")


@scenario(FEW)
def typed_asked_again(stage: Stage) -> None:
    right = {"name": "Ada", "age": 36, "addresses": []}
    stage.play(give({**right, "age": 360}), give(right))
    is_equal(stage.session().do("Who?", returns=Person).value, Person(name="Ada", age=36, addresses=[]))


@scenario(FEW)
def typed_streamed(stage: Stage) -> None:
    stage.play(give(ORDER))
    with stage.session().stream("Read this order.", returns=Order) as events:
        for _ in events:
            pass
    is_equal(events.result.value, Order("Tom", [Item("tea", 3)], True))
