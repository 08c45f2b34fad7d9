"""Thinking that is bound to what stood before it: it is sent exactly where all of that is unchanged."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.conversation import (
    AssistantTurn,
    Conversation,
    Note,
    ProviderPayload,
    Reasoning,
    Text,
    ToolCall,
    ToolSpec,
    UserTurn,
)
from antiphon.wire import Options, Target, wire

BOUND = Target("anthropic", "anthropic", "claude-sonnet-5-5")
UNBOUND = Target("anthropic", "anthropic", "claude-sonnet-5")
OPENAI = Target("openai", "openai-responses", "gpt-5.5")
LOOK = ToolSpec("look", "Look.", {"type": "object", "properties": {"n": {"type": "integer"}}})
FORM = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


class Server:
    """Signs each thinking block for what stands before it, and knows the blocks that it has signed."""

    def __init__(self, target: Target = BOUND) -> None:
        self.target = target
        self.signed: dict[str, str] = {}

    def body(self, conversation: Conversation, **options: Any) -> dict[str, Any]:
        encoded = wire("anthropic").encode(conversation, self.target, Options(cache=False, **options))
        return json.loads(encoded.body)

    def answer(self, conversation: Conversation, *parts: Any, **options: Any) -> None:
        """Answer a conversation with parts, in which a text `hm:…` is a thinking block."""
        request = wire("anthropic").encode(conversation, self.target, Options(cache=False, **options))
        body = json.loads(request.body)
        before = [*entries(body)]
        made: list[Any] = []
        for part in parts:
            if isinstance(part, str) and part.startswith("hm"):
                signature = f"sig{len(self.signed)}"
                self.signed[signature] = digest(before)
                data = {"type": "thinking", "thinking": part, "signature": signature}
                made.append(Reasoning(part, ProviderPayload(self.target.origin, data)))
                before.append(("assistant", data))
            else:
                made.append(Text(part) if isinstance(part, str) else part)
                before.append(("assistant", block(made[-1])))
        conversation.add_reply(request.bind(made))

    def judge(self, conversation: Conversation, **options: Any) -> tuple[list[str], list[str]]:
        """Return the signatures of the blocks that were sent where they belong, and of those that were not."""
        before: list[Any] = []
        good, bad = list[str](), list[str]()
        for role, found in entries(self.body(conversation, **options)):
            if isinstance(found, dict) and found.get("type") == "thinking":
                belongs = self.signed[found["signature"]] == digest(before)
                (good if belongs else bad).append(found["signature"])
            before.append((role, found))
        return good, bad


def block(part: Any) -> dict[str, Any]:
    if isinstance(part, ToolCall):
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
    return {"type": "text", "text": part.text}


def entries(body: dict[str, Any]) -> list[tuple[str, Any]]:
    """All that thinking is bound to, in order: tools, system, and each block of the messages."""
    found: list[tuple[str, Any]] = [("tools", body.get("tools")), ("system", body.get("system"))]
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [(message["role"], each) for each in blocks]
    return found


def digest(before: list[Any]) -> str:
    return hashlib.sha256(json.dumps(before, sort_keys=True).encode()).hexdigest()


def talk(server: Server, turns: int = 3) -> Conversation:
    conversation = Conversation("Be brief.", [LOOK])
    for n in range(turns):
        conversation.add_user(f"Question {n}")
        server.answer(conversation, f"hm {n}", "Let me see.", ToolCall(f"c{n}", "look", {"n": n}))
        conversation.add_tool_result(f"c{n}", f"page {n}")
        server.answer(conversation, f"hm {n} again", f"Answer {n}.")
    return conversation.add_user("And now?")


def sent(server: Server, conversation: Conversation, **options: Any) -> int:
    """How many blocks are sent; none of them where it does not belong."""
    good, bad = server.judge(conversation, **options)
    assert bad == []
    return len(good)


@pytest.fixture
def server() -> Server:
    return Server()


def test_all_of_it_goes_back_behind_the_same_beginning(server: Server):
    assert sent(server, talk(server)) == 6


def test_after_saving_and_loading(server: Server, tmp_path: Path):
    talk(server).save(tmp_path / "talk.json")
    assert sent(server, Conversation.load(tmp_path / "talk.json")) == 6


def test_after_a_fork_and_an_undo(server: Server):
    conversation = talk(server)
    assert sent(server, conversation.fork()) == 6
    conversation.undo(3)
    assert sent(server, conversation.add_user("Other")) == 4
    assert sent(server, conversation.fork(1)) == 0


def test_after_compaction_only_what_comes_later(server: Server):
    conversation = talk(server, 8)
    shorter = conversation.compact(190, summary="They talked.")
    assert len(shorter.turns) < len(conversation.turns)
    assert sent(server, shorter) == 0
    server.answer(shorter, "hm new", "Yes.")
    assert sent(server, shorter.add_user("Go on.")) == 1


def test_an_edit_of_an_earlier_turn_takes_all_behind_it(server: Server):
    conversation = talk(server)
    for place, turn in enumerate(conversation.turns[:-1]):
        edited = Conversation("Be brief.", [LOOK])
        for n, each in enumerate(conversation.turns):
            if n == place:
                each = replace(
                    each, parts=(*[part for part in each.parts if not isinstance(part, Text)], Text("Edited."))
                )
            add(edited, each)
        before = sum(isinstance(each, AssistantTurn) for each in conversation.turns[:place])
        assert sent(server, edited) == before + isinstance(turn, AssistantTurn)


def add(conversation: Conversation, turn: Any) -> None:
    if isinstance(turn, UserTurn):
        conversation.add_user(turn.parts)
    else:
        conversation.add_reply(turn.parts)
        conversation.add_tool_results(turn.results)


def test_after_a_switch_away_and_back(server: Server):
    conversation = talk(server, 1)
    wire("openai-responses").encode(conversation, OPENAI, Options())
    conversation.add_reply([Text("Said by another model.")])
    conversation.add_user("Back to you.")
    assert sent(server, conversation) == 2
    assert server.body(conversation)["messages"][1]["content"][0]["type"] == "thinking"


def test_a_new_tool_or_system_text_is_told_at_the_end_and_nothing_is_lost(server: Server):
    conversation = talk(server)
    conversation.announce()
    conversation.tools = [LOOK, ToolSpec("other")]
    conversation.system = "Be long."
    conversation.announce()
    body = server.body(conversation)
    assert [tool["name"] for tool in body["tools"]] == ["look"]
    assert sent(server, conversation) == 6


def test_another_beginning_takes_all_of_it(server: Server):
    conversation = talk(server)
    for system, tools in (("Be long.", [LOOK]), ("Be brief.", [LOOK, ToolSpec("other")]), ("Be brief.", [])):
        other = Conversation(system, tools)
        for turn in conversation.turns:
            add(other, turn)
        assert sent(server, other) == 0


def test_the_form_of_the_answer_is_no_part_of_it(server: Server):
    conversation = talk(server)
    assert sent(server, conversation, output_schema=FORM) == 6
    server.answer(conversation, "hm native", '{"a": 1}', output_schema=FORM)
    assert sent(server, conversation.add_user("Thanks.")) == 7


def test_what_is_bound_to_nothing_is_not_sent_to_a_bound_model():
    thought = ProviderPayload(BOUND.origin, {"type": "thinking", "thinking": "hm", "signature": "s"})
    conversation = Conversation().add_user("a")
    conversation.add_reply([Reasoning("hm", thought), Text("b")])
    conversation.add_user("c")
    assert "thinking" not in json.dumps(Server().body(conversation)["messages"])
    unbound = ProviderPayload(UNBOUND.origin, thought.data)
    conversation = Conversation().add_user("a")
    conversation.add_reply([Reasoning("hm", unbound), Text("b")])
    conversation.add_user("c")
    assert Server(UNBOUND).body(conversation)["messages"][1]["content"][0] == thought.data


def test_an_unbound_model_gets_its_thinking_behind_any_beginning():
    server = Server(UNBOUND)
    conversation = talk(server)
    other = Conversation("Another one.")
    for turn in conversation.turns:
        add(other, turn)
    good, bad = server.judge(other)
    assert len(good + bad) == 6


# Whatever happens between two requests, a block is sent exactly where all before it is as it was.

steps = st.lists(
    st.sampled_from(["ask", "call", "think twice", "note", "save", "fork", "undo", "edit", "tools", "system", "away"]),
    max_size=12,
)


@given(steps)
@settings(max_examples=150, deadline=None)
def test_whatever_happens_in_between(done: list[str]):
    server = Server()
    conversation = Conversation("Be brief.", [LOOK]).add_user("Go.")
    for n, step in enumerate(done):
        conversation = after(server, conversation, step, n)
        assert server.judge(conversation)[1] == []
    possible = belonging(server, conversation)
    assert server.judge(conversation)[0] == possible


def after(server: Server, conversation: Conversation, step: str, n: int) -> Conversation:
    match step:
        case "ask":
            server.answer(conversation, f"hm {n}", f"Answer {n}.")
            conversation.add_user(f"Question {n}")
        case "call":
            server.answer(conversation, f"hm {n}", ToolCall(f"call{n}", "look", {"n": n}))
            conversation.add_tool_result(f"call{n}", "page")
        case "think twice":
            server.answer(conversation, f"hm {n}", "So.", f"hm {n} again", "Done.")
            conversation.add_user("More.")
        case "note":
            conversation.add_user(Note(f"Note {n}", "reminder"))
        case "save":
            with TemporaryDirectory() as folder:
                conversation.save(Path(folder) / "c.json")
                return Conversation.load(Path(folder) / "c.json")
        case "fork":
            return conversation.fork()
        case "undo" if len(conversation.turns) > 2:
            conversation.undo(2)
            if not isinstance(conversation.turns[-1], UserTurn) and not conversation.ready():
                conversation.add_user("Again.")
        case "edit":
            other = Conversation("Be brief.", [LOOK]).add_user("Something else.")
            for turn in conversation.turns[1:]:
                add(other, turn)
            return other
        case "tools":
            conversation.announce()
            conversation.tools = [LOOK, ToolSpec(f"tool{n}")]
            conversation.announce()
        case "system":
            conversation.announce()
            conversation.system = f"Be as {n}."
            conversation.announce()
        case _:
            conversation.add_reply([Text("Said by another model.")])
            conversation.add_user("Back.")
    return conversation


def belonging(server: Server, conversation: Conversation) -> list[str]:
    """Return the blocks that are sent, where none that belongs somewhere is left out."""
    parts = [part for turn in conversation.turns if isinstance(turn, AssistantTurn) for part in turn.parts]
    thought = [part.native.data["signature"] for part in parts if isinstance(part, Reasoning) and part.native]
    body = server.body(conversation)
    good, before = list[str](), list[Any]()
    found = entries(body)
    sent_ones = {each["signature"] for _, each in found if isinstance(each, dict) and each.get("type") == "thinking"}
    for role, each in found:
        before.append((role, each))
        if isinstance(each, dict) and each.get("type") == "thinking":
            good.append(each["signature"])
    # What was left out belongs nowhere: at no place of what is sent stands all that it was signed for.
    places = {digest(before[:n]) for n in range(len(before) + 1)}
    assert [one for one in thought if one not in sent_ones and server.signed[one] in places] == []
    return good
