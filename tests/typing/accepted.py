"""Asks that type checkers must accept, with the type of each answer. `assert_type` fails for `Any`, too."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict, assert_type

from pydantic import BaseModel, Field

from antiphon import Agent, AIResult, Fallback, Limits, Model, Session, ToolContext, connect
from antiphon.conversation import Conversation, ToolResult
from antiphon.errors import ProviderError, RateLimited
from antiphon.session import AsyncEventStream, Cited, Event, Events, ModelRefused, Partial, Run, TextOrJson
from antiphon.tools import CanonicalCall, StepContext, Tool, ToolCallRecord, Toolset, tool
from antiphon.wire import Reply


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


def watch_partial_answers() -> None:
    with agent.stream("…") as events:
        for partial in events.partials():
            assert_type(partial, Partial[City])
            assert_type(partial.value.people, int)
            assert_type(partial.open, tuple[str | int, ...] | None)
        for event, maybe in events.follow():
            assert_type(event, Event)
            assert_type(maybe, Partial[City] | None)
    for route in session.stream("…", returns=Route).partials():
        assert_type(route.value["start"], str)
    for text in session.stream("…").partials():
        assert_type(text, Partial[str])
    cities = session.stream("…", returns=list[City])
    for city in cities.items(on_restart=list[City]().clear):
        assert_type(city, City)
    assert_type([each.value for each in cities.partials()], list[list[City]])
    with with_deps.stream("…", deps=Database("x")) as typed:
        assert_type(next(typed.partials()).value, City)


async def watch_partial_answers_later() -> None:
    async with session.astream("…", returns=list[City | None]) as events:
        async for item in events.items():
            assert_type(item, City | None)
        async for partial in events.partials():
            assert_type(partial.value, list[City | None])
        async for _, maybe in events.follow():
            assert_type(maybe, Partial[list[City | None]] | None)
    async with agent.astream("…") as typed:
        async for each in typed.partials():
            assert_type(each.value.name, str)


def check_request(conversation: Conversation) -> None:
    assert conversation.turns


async def check_reply(reply: Reply, deps: Database) -> Reply | None:
    return reply if deps.path else None


def check_call(call: CanonicalCall) -> None:
    assert call.arguments


async def redact(call: CanonicalCall, result: ToolResult, deps: Database) -> str | None:
    return f"{call.name} of {deps.path}" if result.is_error else None


@tool(before_call=check_call, after_call=[redact])
def guarded_tool(key: str) -> str:
    """Look something up."""
    return key


def guard() -> None:
    guards = Agent(
        "openai/gpt-5",
        Toolset([guarded_tool]).guarded(before_call=check_call),
        returns=City,
        deps_type=Database,
        before_request=check_request,
        after_reply=[check_reply],
        before_call=check_call,
        after_call=redact,
    )
    assert_type(guards.do("…", deps=Database("x")).value, City)
    Session("openai/gpt-5", deps=Database("x"), after_reply=check_reply, after_call=redact)


def cite() -> None:
    cited = session.vibe("…", returns=Cited[float]).value
    assert_type(cited, Cited[float])
    assert_type(cited.value, float)
    assert_type(cited.call, ToolCallRecord)
    for each in session.stream("…", returns=list[Cited[str]]).items():
        assert_type(each.value, str)
