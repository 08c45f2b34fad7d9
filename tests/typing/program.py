"""A program with the names that users write, for type checkers: `assert_type` says what each must be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

from antiphon import (
    Agent,
    AIResult,
    AntiphonError,
    Audio,
    Chat,
    Conversation,
    Credential,
    Document,
    Embeddings,
    Fallback,
    File,
    Image,
    Limits,
    Model,
    Reasoning,
    Reply,
    Result,
    ReturnError,
    Session,
    Store,
    Text,
    ToolCall,
    ToolContext,
    ToolResult,
    ToolSpec,
    Video,
    aembed,
    connect,
    embed,
    install_importer,
    load,
    loads,
    map,
    run,
    tool,
)
from antiphon.durable import Journal
from antiphon.effects import (
    Budget,
    EffectCall,
    EffectContext,
    HumanAnswer,
    Middleware,
    Outcome,
    Playback,
    Recording,
    use_context,
)
from antiphon.programs import RowResult
from antiphon.session import (
    CallFinished,
    Cancelled,
    Context,
    Event,
    HumanInput,
    LimitReached,
    NeedsHuman,
    NoAnswer,
    Question,
    QuestionAsked,
    Run,
    RunEnded,
    RunRecord,
    Truncated,
)
from antiphon.team import ROLES, Channel, ChannelMember, ChannelMessage, Role, Team, TeamSettings, TeamState
from antiphon.tools import Before, FinishRun, NeedsHumanInput, Policy, Rule, StandingDecision, Tool
from antiphon.wire import CallDelta, ProgressDelta, ReasoningDelta, RetryDelta, TextDelta, Usage


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


def save() -> None:
    with Store("work.db") as store, Session("openai/gpt-5", store=store, id="mine") as session:
        assert_type(session.do("Go on.", returns=str), AIResult[str])
    with Store().session("nightly") as script:
        assert_type(script.step(len, "abc"), int)


def ask() -> None:
    with Session("anthropic/claude-sonnet-5", [weather, look_up, listing], deps=Database("x")) as session:
        assert_type(session, Session[Database, str])
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
    bare = Session("openai/gpt-5", limits=Limits(requests=3), temperature=0.5)
    assert_type(bare, Session)
    try:
        bare.do("…", returns=City)
    except ReturnError as error:
        assert_type(error.run, RunRecord)
        print(error.refused, error.received)
    except (LimitReached, Truncated, Cancelled) as error:
        assert_type(error.run, RunRecord)
    except AntiphonError as error:
        print(error)


def define() -> None:
    agent = Agent("openai/gpt-5", [look_up], returns=City, deps_type=Database, name="geographer")
    assert_type(agent.vibe("…", deps=Database("x")), AIResult[City])
    assert_type(agent.session(deps=Database("x")), Session[Database, City])


async def ask_later(session: Session) -> None:
    assert_type((await session.ado("…", returns=City)).value, City)
    assert_type((await session.avibe("…", returns=City)).value.people, int)
    async with session.astream("…") as events:
        async for event in events:
            assert_type(event, Event)
    assert_type((await session.aresume(returns=City)).value, City)
    run = await session.astart("…", returns=City)
    assert_type(run, Run[City])
    async for event in run.aevents(since=3):
        print(event.seq)
    assert_type((await run).value, City)
    await session.aclose()


def answer(question: Question) -> HumanAnswer | str | bool:
    if question.kind == "question":
        return f"{question.who}: {question.text}"
    assert_type(question.before, Before | None)
    return HumanAnswer(allowed=question.call is not None, always=True)


@tool(destructive=True, idempotent=True)
def choose(options: list[str]) -> None:
    """Have somebody choose."""
    raise NeedsHumanInput("Which?") if options else FinishRun("none")


def watch() -> None:
    policy = Policy([Rule("ask", "choose")])
    session = Session(
        "openai/gpt-5", [choose], people=HumanInput(answer), policy=policy, context=Context(fill=0.8), name="a"
    )
    run = session.start("Go.", returns=City)
    assert_type(run, Run[City])
    for event in run.events(since=0):
        match event.body:
            case QuestionAsked(question):
                run.allow(question.id, always=True)
            case CallFinished(call, result, record):
                print(call.name, result.text, record.duration)
            case RunEnded(state, result, error):
                print(state, result, error)
            case _:
                pass
    leave = run.subscribe(lambda event: print(event.at))
    leave()
    assert_type(run.wait(), AIResult[City])
    assert_type(run.waiting, tuple[Question, ...])
    assert_type(policy.decided, tuple[StandingDecision, ...])
    with session.stream("…", cancel=True) as events:
        print([event.body for event in events], events.run.state, events.result)
    run.cancel()


def wait_for_people(session: Session) -> City:
    try:
        return session.vibe("…", returns=City).value
    except NeedsHuman as waiting:
        for question in session.pending_questions:
            session.deny(question.id, f"not now: {waiting}")
    except NoAnswer as error:
        print(error)
    return session.resume(returns=City).value


class Trace(Middleware):
    def before(self, step: EffectCall) -> Outcome | None:
        print(step.path, step.effect.kind)
        return None

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        print(step.path, outcome.value, outcome.error)


def record(session: Session) -> None:
    recording, trace = Recording(), Trace()
    performers: tuple[Middleware, ...] = (trace, Budget(Limits(cost=1.0)), recording)
    with use_context(EffectContext(performers=performers)):
        session.vibe("…")
    with use_context(EffectContext(performers=(Playback(recording.effects),))):
        session.vibe("…")


def call_tools() -> None:
    assert_type(weather("Oslo", days=2), str)
    assert_type(listing(), Result)
    names: list[Tool] = [weather, look_up, listing]
    print([each.name for each in names])


async def fetch_key() -> Credential:
    return Credential("a key")


def talk() -> None:
    model: Model = connect("anthropic/claude-sonnet-5")
    connect("anthropic/claude-sonnet-5", key=lambda: "a key")
    connect("anthropic/claude-sonnet-5", key=lambda: Credential("a key", expires_at=1.0))
    connect("anthropic/claude-sonnet-5", key=fetch_key)
    conversation = Conversation("Be brief.", [ToolSpec("weather")])
    conversation.add_user(["Hello", Image(url="https://example.com/a.png"), Chat("@coder", "Hi")])
    reply: Reply = model.chat(conversation)
    for part in reply.parts:
        if isinstance(part, Text | Reasoning):
            print(part.text)
        if isinstance(part, ToolCall):
            conversation.add_tool_results([ToolResult(part.id, "Rain")])
    with model.stream(conversation) as stream:
        for delta in stream:
            match delta:
                case TextDelta(text) | ReasoningDelta(text):
                    print(text)
                case CallDelta():
                    print(delta.name, delta.arguments)
                case ProgressDelta(read, total):
                    assert_type(read / total, float)
                case RetryDelta(attempt, attempts, seconds, reason):
                    print(f"{reason}: attempt {attempt} of {attempts} in {seconds} s")
    assert_type(stream.reply, Reply)
    install_importer()
    print(load("program.vibe").run(city="Oslo"), loads("print(1)").run(), run("program.vibe"))


def rows(model: Model) -> None:
    journal = Journal("nightly.db")
    for row in map("program.vibe", [{"city": "Oslo"}], parallel=4, journal=journal, id="nightly"):
        assert_type(row, RowResult)
        assert_type(row.number, int)
    session = Session(model, [weather], journal=journal)
    assert_type(session.resume_run("3azf0001", returns=City), AIResult[City])
    with journal.run("plain"):
        assert_type(journal.step(len, "abc"), int)


def team(model: Model) -> None:
    channel = Channel("lab")
    seat: ChannelMember = channel.join(Session(model), "ada")
    assert_type(channel.post("Hello", to="ada"), ChannelMessage)
    assert_type(seat.turn(), AIResult[Any] | None)
    role: Role = ROLES["coder"]
    begun = Team.begin("Mend the tests", ".", TeamSettings(coders=2, cost=1.0), roles=[role], models={"pm": model})
    state: TeamState = begun.work()
    for number in state.questions:
        begun.answer(number, "yes")
    print([each.title for each in state.tasks.values() if each.state == "merged"])


def several(model: Model) -> AIResult[str]:
    return Session(Fallback("openai/gpt-5", model)).vibe("Hello?")


async def vectors(model: Model) -> None:
    made = embed(["a cat"], "openai/text-embedding-3-small", dimensions=256)
    assert_type(made, Embeddings)
    assert_type(made[0], tuple[float, ...])
    assert_type(made.cost, float | None)
    assert_type(await aembed(["a cat"], "ollama/nomic-embed-text"), Embeddings)
    assert_type(model.embed(["a cat"], extra={"taskType": "RETRIEVAL_QUERY"}), Embeddings)


def send_files(session: Session) -> None:
    scan, kept = Document.from_path("scan.pdf"), File("file_011C", "anthropic")
    told = session.vibe(["What do these say?", scan, kept, Audio.from_path("a.mp3"), Video.from_path("a.mp4")])
    assert_type(told.value, str)
