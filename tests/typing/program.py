"""A program with the names that users write, for type checkers: `assert_type` says what each must be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

from antiphon import (
    AIResult,
    AntiphonError,
    Chat,
    Conversation,
    Image,
    Limits,
    Model,
    Reasoning,
    Reply,
    Result,
    ReturnError,
    Session,
    Text,
    ToolCall,
    ToolContext,
    ToolResult,
    ToolSpec,
    connect,
    install_importer,
    load,
    run,
    tool,
)
from antiphon.session import RunRecord
from antiphon.tools import Tool
from antiphon.wire import Usage


@dataclass
class City:
    name: str
    people: int


@dataclass
class Database:
    path: str


@tool
def weather(city: str, days: int = 1) -> str:
    """The weather of a city."""
    return f"{city}: rain for {days} days"


@tool(read_only=True)
async def look_up(key: str, context: ToolContext[Database]) -> str:
    """Look something up."""
    return f"{context.deps.path}/{key}"


@tool
def listing() -> Result:
    """What there is."""
    return Result("file_list", {"files": []}, summary="nothing")


def ask() -> None:
    with Session("anthropic/claude-sonnet-5", [weather, look_up, listing], deps=Database("x")) as session:
        assert_type(session, Session[Database])
        city = session.do("The largest city of Norway?", returns=City)
        assert_type(city, AIResult[City])
        assert_type(city.value, City)
        assert_type(city.value.name, str)
        assert_type(session.do("How many?", returns=int).value, int)
        assert_type(session.vibe("Which?", returns=list[City]).value, list[City])
        assert_type(session.vibe("Who?", returns={"name": str, "age": int}).value, dict[str, Any])
        assert_type(session.chat("Hello").value, str)
        assert_type(city.run, RunRecord)
        assert_type(city.run.usage, Usage)
        assert_type(city.run.cost, float | None)
        session.vibe(["What is this?", Image(url="https://example.com/a.png")])
        count = session.do("How many?", returns=int)
        total = count + 1 if count > 2 else -count
        print(f"{total}", count.tool_calls)
    bare = Session("openai/gpt-5", limits=Limits(turns=3), temperature=0.5)
    assert_type(bare, Session)
    try:
        bare.do("…", returns=City)
    except ReturnError as error:
        print(error.run.usage, error.refused, error.received)
    except AntiphonError as error:
        print(error)


async def ask_later(session: Session) -> None:
    assert_type((await session.ado("…", returns=City)).value, City)
    assert_type((await session.avibe("…", returns=City)).value.people, int)
    async with session.astream("…") as events:
        async for event in events:
            print(event)
    await session.aclose()


def call_tools() -> None:
    assert_type(weather("Oslo", days=2), str)
    assert_type(listing(), Result)
    names: list[Tool] = [weather, look_up, listing]
    print([each.name for each in names])


def talk() -> None:
    model: Model = connect("anthropic/claude-sonnet-5")
    conversation = Conversation("Be brief.", [ToolSpec("weather")])
    conversation.add_user(["Hello", Image(url="https://example.com/a.png"), Chat("@coder", "Hi")])
    reply: Reply = model.chat(conversation)
    for part in reply.parts:
        if isinstance(part, Text | Reasoning):
            print(part.text)
        if isinstance(part, ToolCall):
            conversation.add_tool_results([ToolResult(part.id, "Rain")])
    install_importer()
    print(load("program.vibe").run(city="Oslo"), run("program.vibe"))
