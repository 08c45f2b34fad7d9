"""Asks that type checkers must accept, with the type of each answer. `assert_type` fails for `Any`, too."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict, assert_type

from pydantic import BaseModel, Field

from antiphon import Agent, AIResult, Fallback, Limits, Model, Session, ToolContext, connect
from antiphon.errors import ProviderError, RateLimited
from antiphon.session import AsyncEventStream, Events, ModelRefused, Run, TextOrJson
from antiphon.tools import StepContext, Tool, Toolset


@dataclass
class City:
    name: str
    people: int


class Country(BaseModel):
    name: str
    cities: list[City] = []


class Route(TypedDict):
    start: str
    end: str


@dataclass
class Database:
    path: str


def look_up(key: str, context: ToolContext[Database]) -> str:
    """Look something up."""
    return f"{context.deps.path}/{key}"


def describe(deps: Database) -> str:
    return f"The database is {deps.path}."


async def describe_later(deps: Database) -> str:
    return describe(deps)


def check_city(city: City) -> None:
    if city.people < 0:
        raise ValueError("a city has no negative number of people")


async def check_in_database(city: City, deps: Database) -> None:
    if city.name not in deps.path:
        raise ValueError("the city is not in the database")


session = Session("openai/gpt-5")
agent = Agent("openai/gpt-5", returns=City)
with_deps = Agent("openai/gpt-5", [look_up], [describe, describe_later, "Be brief."], returns=City, deps_type=Database)


def ask_for_text() -> None:
    assert_type(session.vibe("…"), AIResult[str])


def ask_for_a_dataclass() -> None:
    assert_type(session.do("…", returns=City).value.people, int)


def ask_for_a_union() -> None:
    assert_type(session.do("…", returns=City | Country).value, City | Country)


def ask_for_an_optional() -> None:
    assert_type(session.vibe("…", returns=City | None).value, City | None)


def ask_for_a_literal() -> None:
    assert_type(session.do("…", returns=Literal["yes", "no"]).value, Literal["yes", "no"])


def ask_for_an_annotated_type() -> None:
    assert_type(session.do("…", returns=Annotated[int, Field(ge=0)]).value, int)


def ask_for_a_list() -> None:
    assert_type(session.vibe("…", returns=list[City]).value, list[City])


def ask_for_a_list_of_unions() -> None:
    assert_type(session.vibe("…", returns=list[City | None]).value, list[City | None])


def ask_for_a_typed_dict() -> None:
    assert_type(session.do("…", returns=Route).value["start"], str)


def ask_for_a_dict_of_tuples() -> None:
    assert_type(session.do("…", returns=dict[str, tuple[int, float]]).value, dict[str, tuple[int, float]])


def ask_for_fields_or_json() -> None:
    assert_type(session.do("…", returns={"name": str}).value, dict[str, Any])
    assert_type(session.do("…", returns=TextOrJson), AIResult[Any])


def ask_with_request_options() -> None:
    typed = Session("openai/gpt-5", temperature=0.5, reasoning="low", stop=["x"], returns=int | None)
    assert_type(typed.vibe("…", settings={"max_tokens": 100}).value, int | None)


def ask_with_checks() -> None:
    assert_type(session.vibe("…", returns=City, check=check_city).value, City)
    assert_type(session.vibe("…", returns=City, check=lambda city: city.people > 0).value, City)


def ask_an_agent() -> None:
    assert_type(agent, Agent[None, City])
    assert_type(agent.do("…"), AIResult[City])
    assert_type(agent.replace(limits=Limits(requests=2)).vibe("…").value.name, str)


def ask_an_agent_with_dependencies() -> None:
    assert_type(with_deps, Agent[Database, City])
    assert_type(with_deps.do("…", deps=Database("x"), settings={"temperature": 0}), AIResult[City])
    Agent("openai/gpt-5", returns=City, deps_type=Database, check=[check_city, check_in_database])


def talk_with_an_agent() -> None:
    assert_type(with_deps.session(deps=Database("x")), Session[Database, City])
    talk = agent.session(id="", conversation=None)
    assert_type(talk, Session[None, City])
    assert_type(talk.vibe("…").value, City)
    assert_type(talk.chat("…").value, str)


def choose_tools(context: StepContext[Database], tools: tuple[Tool, ...]) -> list[Tool]:
    return [tool for tool in tools if context.deps.path]


def give_toolsets() -> None:
    prepared = Toolset([look_up]).prepared(choose_tools).prefixed("db_").filtered("db_*").requiring_approval()
    assert_type(prepared, Toolset[Database])
    with_toolset = Agent("openai/gpt-5", [look_up, prepared, Toolset([look_up])], deps_type=Database)
    assert_type(with_toolset, Agent[Database, str])
    assert_type(Agent("openai/gpt-5", [Toolset([look_up])]).vibe("…").value, str)
    Session("openai/gpt-5", [Toolset([prepared, look_up])], deps=Database("x"))


def choose_a_model(deps: Database) -> Model:
    return connect(deps.path)


def ask_a_chosen_model() -> None:
    chosen = Agent(choose_a_model, deps_type=Database, returns=list[int])
    assert_type(chosen.vibe("…", deps=Database("openai/gpt-5")).value, list[int])


def fall_back(deps: Database) -> Fallback:
    return Fallback("openai/gpt-5", connect(deps.path), on=RateLimited)


def ask_with_a_fallback() -> None:
    either = Fallback("openai/gpt-5", connect("openai/gpt-6"), on=(ProviderError, ModelRefused))
    assert_type(Agent(either, returns=City).vibe("…").value, City)
    assert_type(Session(either).vibe("…").value, str)
    assert_type(Agent(fall_back, deps_type=Database).vibe("…", deps=Database("x")).value, str)
    session.model = either


async def ask_later() -> None:
    assert_type((await session.avibe("…", returns=City | None)).value, City | None)
    assert_type((await with_deps.ado("…", deps=Database("x"))).value, City)


def watch() -> None:
    assert_type(session.start("…", returns=City | None), Run[City | None])
    with agent.stream("…") as events:
        assert_type(events, Events[City])
        assert_type(events.result, AIResult[City])


async def watch_later() -> None:
    async with with_deps.astream("…", deps=Database("x")) as events:
        assert_type(events, AsyncEventStream[City])
        assert_type(events.result, Awaitable[AIResult[City]])
        assert_type((await events.result).value, City)
    async with session.astream("…", returns=Literal[1, 2]) as typed:
        assert_type((await typed.result).value, Literal[1, 2])
