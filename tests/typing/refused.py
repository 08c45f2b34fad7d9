"""Mistakes that type checkers must report: every line with the comment `wrong`, and no other line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

from antiphon import Agent, Fallback, Limits, Session, connect
from antiphon.tools import StepContext, Tool, Toolset


@dataclass
class City:
    name: str
    people: int


class Route(TypedDict):
    start: str
    end: str


@dataclass
class Database:
    path: str


def describe(deps: Database) -> str:
    return deps.path


def count(deps: int) -> str:
    return str(deps)


def check_city(city: City) -> None:
    assert city.people > 0


def check_with_database(city: City, deps: Database) -> None:
    assert city.name in deps.path


def connect_number(deps: int) -> str:
    return f"openai/gpt-{deps}"


def choose_with_city(context: StepContext[City], tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    return tools[: context.deps.people]


session = Session("openai/gpt-5")
agent = Agent("openai/gpt-5", returns=City)
with_deps = Agent("openai/gpt-5", system=describe, returns=City, deps_type=Database)

Session("openai/gpt-5", temprature=0.5)  # wrong
Session("openai/gpt-5", temperature="hot")  # wrong
connect("openai/gpt-5", reasoning="lots")  # wrong
connect("openai/gpt-5", key=lambda: 7)  # wrong
Agent("openai/gpt-5", settings={"temprature": 0.5})  # wrong
Agent("openai/gpt-5", polcy=None)  # wrong
Agent("openai/gpt-5", limits=3)  # wrong
Fallback("openai/gpt-5", "openai/gpt-6", on=ValueError)  # wrong
session.vibe("…", settings={"max_tokens": "many"})  # wrong
session.vibe("…", returns=City, tempreature=0.5)  # wrong
session.vibe(3)  # wrong
nothing = session.vibe("…", returns=City).value.nme  # wrong
maybe = session.vibe("…", returns=City | None).value.name  # wrong
start = session.vibe("…", returns=Route).value["strat"]  # wrong
number: int = session.vibe("…").value  # wrong
yes: Literal["yes"] = session.do("…", returns=Literal["yes", "no"]).value  # wrong
session.vibe("…", returns=int, check=check_city)  # wrong
agent.do("…", deps=Database("x"))  # wrong
with_deps.do("…")  # wrong
with_deps.session(deps="x")  # wrong
Agent("openai/gpt-5", returns=City, deps_type=int, check=check_with_database)  # wrong
Agent("openai/gpt-5", system=count, deps_type=Database)  # wrong
Agent(connect_number, deps_type=Database)  # wrong
Agent("openai/gpt-5", [Toolset([count]).prepared(choose_with_city)], deps_type=Database)  # wrong
Toolset([count]).prepared(count)  # wrong
later = with_deps.stream("…", deps=Database("x")).result.value.nme  # wrong
Agent("openai/gpt-5").run_sync("…")  # wrong
session.ask("…")  # wrong
connect("openai/gpt-5").invoke("…")  # wrong
Limits(max_cost=1)  # wrong
items = session.stream("…", returns=City).items()  # wrong
name = next(session.stream("…", returns=City).partials()).value.nme  # wrong
Agent("openai/gpt-5", deps_type=Database, before_request=count)  # wrong
Agent("openai/gpt-5", deps_type=Database, after_call=describe)  # wrong
