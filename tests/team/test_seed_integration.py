"""The integration tests that the first design of this project lists, on all four APIs: what agents of a team really
send, judged by the rules of each API.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from antiphon import Session
from antiphon.durable import Journal
from antiphon.fakes import Answer, Call, Fake, Received, call
from antiphon.team import Channel, Team
from antiphon.wire.rules import check
from tests.team.teams import begin, merged_file, repository

MODELS = {
    "anthropic": "anthropic/claude-sonnet-5",
    "openai-chat": "openai-chat/gpt-4o",
    "openai-responses": "openai/gpt-5",
    "gemini": "google/gemini-3-pro",
}
AWAITS = '{"success": true, "await_user": true}'


# A body as what it says: (user, text), (assistant, text), (call, id, name), (result, id, text).
Entry = tuple[str, ...]


def entries(received: Received) -> list[Entry]:
    read = {"anthropic": _anthropic, "openai-chat": _chat, "openai-responses": _responses, "gemini": _gemini}
    return [entry for each in read[received.api](received.body) for entry in each]


def _anthropic(body: Any) -> Iterator[list[Entry]]:
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found: list[Entry] = []
        for block in blocks:
            match block["type"]:
                case "tool_use":
                    found.append(("call", block["id"], block["name"]))
                case "tool_result":
                    inner = block.get("content", "")
                    text = inner if isinstance(inner, str) else "".join(each.get("text", "") for each in inner)
                    found.append(("result", block["tool_use_id"], text))
                case "text":
                    found.append((message["role"], block["text"]))
        yield found


def _chat(body: Any) -> Iterator[list[Entry]]:
    for message in body["messages"]:
        content = message.get("content") or ""
        text = content if isinstance(content, str) else "\n\n".join(each.get("text", "") for each in content)
        calls = [("call", each["id"], each["function"]["name"]) for each in message.get("tool_calls", ())]
        match message["role"]:
            case "tool":
                yield [("result", message["tool_call_id"], text)]
            case "user" | "assistant" as role:
                yield [*([(role, text)] if text else []), *calls]


def _responses(body: Any) -> Iterator[list[Entry]]:
    for item in body["input"]:
        match item.get("type", "message"):
            case "function_call":
                yield [("call", item["call_id"], item["name"])]
            case "function_call_output":
                yield [("result", item["call_id"], str(item["output"]))]
            case "message" if item["role"] in ("user", "assistant"):
                content = item["content"]
                text = content if isinstance(content, str) else "\n\n".join(each.get("text", "") for each in content)
                yield [(item["role"], text)]


def _gemini(body: Any) -> Iterator[list[Entry]]:
    for content in body["contents"]:
        role = {"model": "assistant"}.get(content["role"], content["role"])
        found: list[Entry] = []
        for part in content["parts"]:
            if "functionCall" in part:
                found.append(("call", part["functionCall"].get("id", ""), part["functionCall"]["name"]))
            elif "functionResponse" in part:
                response = part["functionResponse"]
                found.append(("result", response.get("id", ""), str(response["response"])))
            elif part.get("text") and not part.get("thought"):
                found.append((role, part["text"]))
        yield found


def _messages(received: Received) -> list[str]:
    """The roles of the messages, of those APIs whose messages alternate."""
    if received.api == "gemini":
        # Its results are a content of their own: the API counts its parts, and wants nothing else among them.
        return [
            "tool" if "functionResponse" in each["parts"][0] else each["role"] for each in received.body["contents"]
        ]
    if received.api == "openai-responses":
        kinds = {"function_call": "assistant", "function_call_output": "tool"}
        return [kinds.get(each.get("type", ""), each.get("role", "")) for each in received.body["input"]]
    return [each["role"] for each in received.body["messages"] if each["role"] not in ("system", "developer")]


def judge(requests: list[Received]) -> None:
    """No rule broken, nobody speaks twice in a row, every result behind its call, and nothing lost on the way."""
    assert requests
    for each in requests:
        assert not each.rejected
        assert check(each.body, each.api, each.model) == []
        roles = _messages(each)
        twice = [pair for pair in pairwise(roles) if pair[0] == pair[1] != "tool"]
        # A reply with several calls is several items there.
        assert [pair for pair in twice if each.api != "openai-responses" or pair[0] == "user"] == [], roles
        open_calls: list[str] = []
        for entry in entries(each):
            match entry:
                case ("call", id, _):
                    open_calls.append(id)
                case ("result", id, _):
                    assert id in open_calls
                    open_calls.remove(id)
                case ("user", _):
                    assert open_calls == []
                case _:
                    pass
        assert open_calls == []
    for thread in _threads(requests):
        for before, after in pairwise(thread):
            # What is said later may stand in the same user message as what was said last.
            said, kept = [each for each in before if each[0] != "user"], [each for each in after if each[0] != "user"]
            assert kept[: len(said)] == said
            text = "\n".join(each[1] for each in after if each[0] == "user")
            assert all(each[1] in text for each in before if each[0] == "user")


def _threads(requests: list[Received]) -> list[list[list[Entry]]]:
    """Requests by the conversation that they belong to, which is known by how it begins."""
    threads: dict[str, list[list[Entry]]] = {}
    for each in requests:
        found = entries(each)
        threads.setdefault(found[0][1][:60], []).append(found)
    return list(threads.values())


# A team


@dataclass
class Sent:
    """What a team has sent, by role."""

    api: str
    team: Team
    repo: Path
    pm: list[Received]
    architect: list[Received]
    coder: list[Received]


def _answering(place: Path) -> Any:
    """A coder whose answer follows from what it was sent."""

    def answer(received: Received) -> Any:
        found = entries(received)
        first = found[0][1]
        name = "a" if "# Task 1" in first else "b"
        made = [each[2] for each in found if each[0] == "call"]
        if not any("Now do it" in each[1] for each in found if each[0] == "user"):
            return f"I change {name}."
        if "read_file" not in made:
            calls = [call("read_file", path=name), call("list_files"), call("search", pattern="one")]
            return Answer("I look first.", calls=calls)
        if "edit_file" not in made:
            if name == "a":
                Team.open("last", Journal(place / "j.db")).say("Use small letters", to="coder-1")
            post = call("chat_post", text=f"I am at {name}", to="@coder-2" if name == "a" else "@coder-1")
            return Answer(calls=[call("edit_file", path=name, old="one", new=f"two {name}"), post])
        heard = any("[Chat from" in each[1] for each in found if each[0] == "user")
        if not heard and len(made) < 40:
            return call("search", pattern=f"x{len(made)}")
        return call("submit_work", summary=f"Change {name}")

    return answer


@pytest.fixture(scope="module", params=MODELS)
def sent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Sent]:
    place = tmp_path_factory.mktemp("team")
    repo = repository(place / "repo", {"a": "one\n", "b": "one\n", "check.sh": "true\n"})
    questions = [call("chat_ask_user", question="Which?"), call("chat_ask_user", question="When?")]
    two = [{"title": name, "spec": f"Change {name}"} for name in ("a", "b")]
    approve = call("review", decision="approve", notes="good")
    with ExitStack() as stack:
        fakes = {
            "pm": Fake([call("list_files"), Answer(calls=questions), call("submit_spec", title="t", text="both")]),
            "architect": Fake(
                [
                    Answer(calls=[call("read_file", path="a"), call("list_files")]),
                    call("create_tasks", tasks=two),
                    approve,
                    approve,
                ]
            ),
            "coder": Fake(_answering(place)),
        }
        models = {name: stack.enter_context(fake).connect(MODELS[request.param]) for name, fake in fakes.items()}
        team = begin(place, repo, "Change both", coders=2, **models)
        state = team.work()
        which, when = state.questions
        team.answer(when, "today")
        team.answer(which, "both of them")
        team.work()
        (spec,) = team.state.questions
        team.answer(spec, "yes")
        team.work()
        yield Sent(request.param, team, repo, *(fakes[name].requests for name in ("pm", "architect", "coder")))


def test_the_team_did_its_work_and_kept_every_rule(sent: Sent) -> None:
    assert [task.state for task in sent.team.state.tasks.values()] == ["merged", "merged"]
    assert [merged_file(sent.team, sent.repo, name) for name in ("a", "b")] == ["two a", "two b"]
    for requests in (sent.pm, sent.architect, sent.coder):
        judge(requests)


def test_pm_agent_chat_ask_user_flow_with_multiple_questions(sent: Sent) -> None:
    last = entries(sent.pm[2])
    asked = [each for each in last if each[0] == "call" and each[2] == "chat_ask_user"]
    assert len(asked) == 2
    place = max(number for number, each in enumerate(last) if each[0] == "call") + 1
    results, rest = last[place : place + 2], last[place + 2 :]
    assert [each[0] for each in results] == ["result", "result"]
    assert [each[1] for each in results] == [each[1] for each in asked]
    assert all("await_user" in each[2] for each in results)
    # Behind the results, and of alternating APIs in the message that has them; in the order in which it was answered.
    assert [each[0] for each in rest] == ["user"] * len(rest)
    text = "\n\n".join(each[1] for each in rest)
    assert text == "To the question 'When?': today\n\nTo the question 'Which?': both of them"
    if sent.api == "anthropic":
        assert _messages(sent.pm[2])[-2:] == ["assistant", "user"]


def test_architect_agent_read_file_and_list_files_in_a_single_turn(sent: Sent) -> None:
    found = entries(sent.architect[1])
    assert [each[2] for each in found if each[0] == "call"] == ["read_file", "list_files"]
    read, listed = [each for each in found if each[0] == "result"]
    assert "one" in read[2]
    assert all(name in listed[2] for name in ("a", "b", "check.sh"))
    assert [each[0] for each in found] == ["user", "call", "call", "result", "result"]


def test_coder_agent_multi_tool_usage_in_coding_phase(sent: Sent) -> None:
    found = next(each for each in map(entries, sent.coder) if any(entry[-1] == "edit_file" for entry in each))
    kinds = [each[0] for each in found]
    made = [each[2] for each in found if each[0] == "call"]
    assert made[:5] == ["read_file", "list_files", "search", "edit_file", "chat_post"]
    assert kinds[:11] == ["user", "assistant", "user", "assistant", *["call"] * 3, *["result"] * 3, "call"]
    assert ("assistant", "I look first.") in found
    assert not any(entry[0] == "assistant" and "[read_file" in entry[1] for entry in found)


def test_multi_party_chat_messages_from_other_agents(sent: Sent) -> None:
    texts = {"a": "", "b": ""}
    for each in map(entries, sent.coder):
        name = "a" if "# Task 1" in each[0][1] else "b"
        texts[name] = "\n".join(entry[1] for entry in each if entry[0] == "user")
    # With whom it is from, each once, and nobody reads his own.
    assert texts["b"].count("[Chat from @coder-1]: I am at a") == 1
    assert texts["a"].count("[Chat from @coder-2]: I am at b") == 1
    assert "@coder-1]" not in texts["a"]
    assert "@coder-2]" not in texts["b"]
    # The human's words are plain.
    assert "Use small letters" in texts["a"].replace("\n\n", "\n").splitlines()


# Context batching, without a team


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> str:
    return MODELS[request.param]


def _look(channel: Channel, *posts: tuple[str, str]) -> Any:
    def look() -> str:
        """Look."""
        for author, text in posts:
            channel.post(text, author)
        return "seen"

    return look


@pytest.mark.parametrize("text", ["", "I look."], ids=["empty content", "content"])
@pytest.mark.parametrize("count", [0, 1, 3], ids=["no tools", "one tool", "multiple tools"])
def test_context_batching_of_tool_results_and_human_input(tmp_path: Path, model: str, text: str, count: int) -> None:
    channel = Channel("lab", tmp_path / "store.db")
    with Fake([Answer(text, calls=[Call("look")] * count) if count else "Hello.", "Done."]) as fake:
        session = Session(fake.connect(model), [_look(channel, ("@human", "And hurry."), ("bob", "Hi."))])
        seat = channel.join(session, "ada")
        channel.post("Go.", to="ada")
        seat.turn()
        if not count:
            channel.post("And hurry.", to="ada")
            channel.post("Hi.", "bob", to="ada")
            seat.turn()
        judge(fake.requests)
        found = entries(fake.requests[1])
    results = [each for each in found if each[0] == "result"]
    assert len(results) == count
    last = max(number for number, each in enumerate(found) if each[0] != "user")
    assert found[last][0] == ("result" if count else "assistant")
    behind = "\n\n".join(each[1] for each in found[last + 1 :])
    # Calls run side by side, so who says it first is a matter of time.
    assert sorted(behind.split("\n\n")) == sorted(["And hurry.", "[Chat from @bob]: Hi."] * max(count, 1))


def test_a_turn_that_was_cut_short_leaves_a_conversation_that_can_go_on(tmp_path: Path, model: str) -> None:
    repo = repository(tmp_path / "repo")
    loop = call("read_file", path="calc.py")
    fix = call(
        "edit_file", path="calc.py", old="def add(a, b):\n    return a - b", new="def add(a, b):\n    return a + b"
    )
    steps = [*[loop] * 5, Answer(calls=[fix, call("submit_work", summary="Fix")])]
    with Fake(steps) as fake:
        team = begin(tmp_path, repo, coder=fake.connect(model), solo=True)
        state = team.work()
        (number,) = state.questions
        team.answer(number, "Just do it")
        assert team.work().phase == "done"
        judge(fake.requests)
        assert ("user", "Just do it") in entries(fake.requests[-1])
