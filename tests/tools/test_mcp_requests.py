"""Requests of servers while they work: questions, links, prompts for our model and roots. People decide."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

from antiphon.durable import Journal
from antiphon.effects import HumanAnswer, Limits
from antiphon.errors import ConfigurationError
from antiphon.session import LimitReached, NeedsHuman, Question, Session
from antiphon.tools import ALLOW_ALL, Policy, Rule
from antiphon.tools.mcp import McpServer, McpTools
from tests.session.scripted import Scripted, calls
from tests.tools.mcp_servers import asking, form, link, sampling, serving, without_discovery

TEXT = {"type": "string"}


class Desk:
    """A person with these answers, who keeps what was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Question] = []

    def __call__(self, question: Question) -> Any:
        self.asked.append(question)
        answer = self.answers.pop(0)
        return HumanAnswer(answer) if isinstance(answer, str) else answer


def talk(server: McpServer, *, script: Any = (), **settings: Any) -> Session[Any, Any]:
    """Let a model call the one tool of a server once, and return the session."""

    async def main() -> Session[Any, Any]:
        async with McpTools([server]) as mcp:
            name = mcp.tools[0].name
            given = {"policy": ALLOW_ALL, **settings}
            session = Session(Scripted(calls(name), *script, "ok"), mcp.tools, **given)
            await session.avibe("Go.")
            return session

    return asyncio.run(main())


def result_of(session: Session[Any, Any]) -> str:
    return next(turn for turn in session.conversation.turns if getattr(turn, "results", ())).results[0].text


def ask(*requests: Any, answers: tuple[Any, ...] = (), **more: Any) -> tuple[list[dict[str, Any]], Desk]:
    """Put requests of a server to a person, and return what the server got."""
    seen: list[Any] = []
    desk = Desk(*answers)
    talk(McpServer("crm", server=asking(*requests, seen=seen)), people=desk, **more)
    return seen[0], desk


# Forms


def test_a_form_is_asked_field_by_field_and_names_its_server() -> None:
    wanted = form(
        "Which \x1b[31mtable\u202e?",
        ("guests", "name"),
        guests={"type": "integer", "minimum": 1, "maximum": 10, "description": "How many"},
        name={"type": "string", "title": "Your name"},
        window={"type": "boolean", "default": False},
        food={"type": "string", "enum": ["a", "b"], "enumNames": ["Fish", "Meat"]},
        drinks={"type": "array", "items": {"anyOf": [{"const": "w", "title": "Wine"}, {"const": "b"}]}},
        note=TEXT,
    )
    answers = ("many", "12", "4", "Ann", "", "fish", "wine, b", "")
    got, desk = ask(wanted, answers=answers)
    assert got == [
        {
            "action": "accept",
            "content": {"guests": 4, "name": "Ann", "window": False, "food": "a", "drinks": ["w", "b"]},
        }
    ]
    first = desk.asked[0].text
    assert first.startswith("MCP server `crm` asks, for `t`: Which  [31mtable ?\n`guests` – How many (a whole number,")
    assert "at least 1, at most 10" in first
    assert "give no passwords or keys" in first
    assert "'many' is not a whole number" in desk.asked[1].text
    assert "12 is greater than the maximum of 10" in desk.asked[2].text
    assert {each.kind for each in desk.asked} == {"question"}


@pytest.mark.parametrize(
    ("answers", "action"),
    [
        (("/decline",), "decline"),
        (("x", "/cancel"), "cancel"),
        ((HumanAnswer("", allowed=False),), "decline"),
        ((None,), "decline"),
        (("x", "a", "b", "c", "d", "e"), "cancel"),
    ],
)
def test_a_person_may_decline_or_cancel(answers: tuple[Any, ...], action: str) -> None:
    got, _ = ask(form("?", ("a", "b"), a=TEXT, b={"type": "number"}), answers=answers)
    assert got == [{"action": action}]


def test_nobody_is_asked_where_nobody_is_and_nothing_is_accepted() -> None:
    seen: list[Any] = []
    talk(McpServer("crm", server=asking(form("?"), form("?", a=TEXT), link("?", "https://x.example"), seen=seen)))
    assert seen == [[{"action": "decline"}] * 3]


def test_a_form_without_fields_is_a_yes_or_no() -> None:
    got, desk = ask(form("Really?"), form("Sure?"), answers=(True, False))
    assert got == [{"action": "accept", "content": {}}, {"action": "decline"}]
    assert [each.kind for each in desk.asked] == ["approval"] * 2


@pytest.mark.parametrize(
    "properties",
    [
        {"password": TEXT},
        {"x": {"type": "string", "title": "Your API key"}},
        {"one_time_code": TEXT},
        {"x": {"type": "object"}},
        {"x": {"type": "array", "items": TEXT}},
        {f"f{n}": TEXT for n in range(21)},
        {"x": {"type": "string", "enum": [str(n) for n in range(101)]}},
    ],
)
def test_forms_for_secrets_and_monstrous_forms_are_not_shown(properties: Any) -> None:
    got, desk = ask(form("?", **properties))
    assert (got, desk.asked) == ([{"action": "decline"}], [])


def test_a_server_that_never_stops_asking_is_left() -> None:
    async def handle(_context: Any, _params: Any) -> Any:
        import mcp_types as types

        return types.InputRequiredResult(input_requests={"q": form("Again?", a=TEXT)}, request_state="s")

    from tests.tools.mcp_servers import lowlevel

    desk = Desk(*["yes"] * 100)
    session = talk(McpServer("crm", server=lowlevel(handle)), people=desk)
    assert result_of(session) == "`t` of MCP server `crm` asked for input 20 times"
    assert len(desk.asked) == 20


# Links


def test_a_link_is_shown_and_never_opened() -> None:
    got, desk = ask(link("Log in.", "https://example.com/a?b=c"), answers=(True,))
    assert got == [{"action": "accept"}]
    assert "a page of example.com" in desk.asked[0].text
    assert "https://example.com/a?b=c\n" in desk.asked[0].text


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://exämple.com",
        "https://a b",
        "https://",
    ],
)
def test_a_link_that_disguises_itself_is_declined(url: str) -> None:
    got, desk = ask(link("?", url))
    assert (got, desk.asked) == ([{"action": "decline"}], [])


# Older servers, which ask while their call runs


class Booking(BaseModel):
    guests: int


def old_server(handle: Callable[[Context], Any]) -> Any:
    server = MCPServer("old")

    @server.tool()
    async def book(ctx: Context) -> str:
        return await handle(ctx)

    return without_discovery(server.streamable_http_app())


async def elicit(ctx: Context) -> str:
    return str(await ctx.elicit("How many?", Booking))


@pytest.mark.parametrize(("answer", "expected"), [("3", "guests=3"), ("/decline", "decline"), (None, "decline")])
def test_a_server_may_ask_while_it_works_and_its_time_stops(answer: Any, expected: str) -> None:
    with serving(old_server(elicit)) as url:
        desk = Desk(answer)
        session = talk(McpServer("old", url=url), people=desk)
    assert expected in result_of(session)
    assert desk.asked[0].text.startswith("MCP server `old` asks, for `book`: How many?")


def test_a_question_of_an_older_server_is_declined_if_it_may_be_for_other_people() -> None:
    async def main(url: str) -> list[str]:
        async with McpTools([McpServer("old", url=url)]) as mcp:
            sessions = [Session(Scripted(calls("old_book"), "ok"), mcp.tools, policy=ALLOW_ALL, people=Desk("1", "2"))
                        for _ in range(2)]  # fmt: skip
            await asyncio.gather(*(each.avibe("Go.") for each in sessions))
            return [result_of(each) for each in sessions]

    both: list[str] = []

    async def wait_for_both(ctx: Context) -> str:
        both.append("x")
        while len(both) < 2:
            await asyncio.sleep(0.01)
        return await elicit(ctx)

    with serving(old_server(wait_for_both)) as url:
        assert any("decline" in each for each in asyncio.run(main(url)))


# Saved sessions wait


def test_a_saved_session_waits_for_the_answer_and_makes_the_call_again(tmp_path: Path) -> None:
    seen: list[Any] = []
    server = McpServer("crm", server=asking(form("How many?", ("n",), n={"type": "integer"}), seen=seen))

    async def main() -> None:
        async with McpTools([server]) as mcp:
            journal = Journal(tmp_path / "j.db")
            session = Session(Scripted(calls("crm_t")), mcp.tools, policy=ALLOW_ALL, journal=journal)
            with pytest.raises(NeedsHuman):
                await session.avibe("Go.")
            assert seen == []
        async with McpTools([server]) as mcp:
            journal = Journal(tmp_path / "j.db")
            (entry,) = journal.list_runs()
            assert entry.state == "waiting"
            (question,) = journal.list_questions(entry.id)
            assert question.text.startswith("MCP server `crm` asks, for `t`: How many?")
            journal.answer(entry.id, question.path, HumanAnswer("3"))
            again = Session(Scripted("ok"), mcp.tools, policy=ALLOW_ALL, journal=journal)
            assert (await again.aresume_run(entry.id)).value == "ok"
        assert seen == [[{"action": "accept", "content": {"n": 3}}]]

    asyncio.run(main())


def test_the_same_process_may_answer_a_waiting_call(tmp_path: Path) -> None:
    seen: list[Any] = []

    async def main() -> None:
        server = McpServer("crm", server=asking(form("Sure?"), seen=seen))
        async with McpTools([server]) as mcp:
            journal = Journal(tmp_path / "j.db")
            session = Session(Scripted(calls("crm_t"), "ok"), mcp.tools, policy=ALLOW_ALL, journal=journal)
            run = await session.astart("Go.")
            with pytest.raises(NeedsHuman):
                await run
            (question,) = run.waiting
            run.allow(question)
            assert (await run).value == "ok"

    asyncio.run(main())
    assert seen == [[{"action": "accept", "content": {}}]]


# Prompts for our model


def test_a_server_asks_our_model_only_if_it_may_and_a_person_approves() -> None:
    def sample(people: Any, **more: Any) -> tuple[Session[Any, Any], list[Any]]:
        seen: list[Any] = []
        server = McpServer("crm", server=asking(sampling("Say hi."), seen=seen), **more.pop("server", {}))
        policy = Policy([Rule("allow", "crm_t"), *more.pop("rules", ())])
        return talk(server, people=people, script=("hi",), policy=policy, **more), seen

    allowed = {"server": {"sampling": True}}
    desk = Desk(True)
    session, seen = sample(desk, **allowed)
    assert seen[0][0]["content"]["text"] == "hi"
    assert (seen[0][0]["model"], seen[0][0]["stopReason"]) == ("scripted", "endTurn")
    (question,) = desk.asked
    assert (question.kind, question.call.name) == ("approval", "crm_sampling")
    assert question.call.arguments["messages"] == [{"role": "user", "text": "Say hi."}]
    assert session.model.options[1]["max_tokens"] == 100
    assert "not allow" in result_of(sample(Desk(False), **allowed)[0])
    assert "not allow" in result_of(sample(None, **allowed)[0])
    assert "may not ask a model" in result_of(sample(Desk())[0])
    assert sample(Desk(), rules=[Rule("allow", "crm_sampling")], **allowed)[1]
    assert "not allow" in result_of(sample(Desk(), rules=[Rule("deny", "crm_sampling")], **allowed)[0])


def test_requests_of_a_server_count_for_the_limits_and_are_steps(tmp_path: Path) -> None:
    server = McpServer("crm", server=asking(sampling("Say hi.")), sampling=True)
    rules = Policy([Rule("allow", "crm_*")])
    journal = Journal(tmp_path / "j.db")
    talk(server, script=("hi",), policy=rules, journal=journal)
    (entry,) = journal.list_runs()
    inside = [each for each in journal.iterate_effects(entry.id) if "-model/" in each.path]
    assert "request" in [each.kind for each in inside]
    with pytest.raises(LimitReached):
        talk(server, script=("hi",), policy=rules, limits=Limits(requests=1))


def test_a_prompt_with_tools_or_without_a_user_is_refused() -> None:
    import mcp_types as types

    server = McpServer(
        "crm",
        server=asking(sampling("x", tools=[types.Tool(name="x", input_schema={"type": "object"})])),
        sampling=True,
    )
    assert "tools of a server are not offered" in result_of(talk(server, people=Desk()))


# Roots


def test_a_server_is_told_the_roots_it_was_given(tmp_path: Path) -> None:
    import mcp_types as types

    seen: list[Any] = []
    request = types.ListRootsRequest()
    talk(McpServer("crm", server=asking(request, seen=seen), roots=[tmp_path]))
    assert seen == [[{"roots": [{"uri": tmp_path.resolve().as_uri(), "name": tmp_path.name}]}]]
    with pytest.raises(ConfigurationError, match="a root of MCP server `crm` is no directory"):
        McpServer("crm", "x", roots=[tmp_path / "none"])
    with pytest.raises(ConfigurationError, match="are a list of directories"):
        McpServer("crm", "x", roots=str(tmp_path))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="`sampling` of MCP server `crm` is true or false"):
        McpServer("crm", "x", sampling="yes")  # type: ignore[arg-type]
