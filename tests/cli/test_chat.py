"""`antiphon chat` as a person uses it, in a terminal, with providers that are faked over HTTP."""

import os
import signal
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon import Store
from antiphon.conversation import AssistantTurn, Conversation, UserTurn
from antiphon.fakes import Answer, Fail, Fake, Received, call
from tests.cli.chatting import CLAUDE, GPT, Start, chat_starter, saved, wait_for
from tests.cli.terminal import Terminal


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


@pytest.fixture
def start(fake: Fake, tmp_path: Path) -> Iterator[Start]:
    yield from chat_starter(fake, tmp_path)


def interrupt_editor(chat: Terminal, prompt: str = "› ") -> None:
    chat.expect(prompt)
    chat.send("\x03")


def said(conversation: Conversation) -> list[str]:
    return [turn.text for turn in conversation.turns]


def test_an_answer_is_markdown_with_the_model_and_what_it_took(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play(Answer("Here are **two**:\n\n- one\n- two\n", reasoning="Let me count.", usage=(120, 7)))
    chat = start("-m", GPT)
    chat.expect("model: openai/gpt-5")
    chat.expect("gpt-5 › ")
    chat.send("Count.\n")
    chat.expect("∴ Let me count.")
    shown = chat.expect("openai/gpt-5 · 120 in, 7 out")
    assert "Here are two:" in shown
    assert " • one" in shown
    chat.expect("gpt-5 › ")
    chat.send("\x04")
    chat.expect("antiphon chat --resume")
    assert chat.ends() == 0
    assert said(saved(tmp_path)) == ["Count.", "Here are **two**:\n\n- one\n- two\n"]


def test_calls_are_allowed_denied_and_always_allowed(fake: Fake, start: Start, tmp_path: Path) -> None:
    def write(name: str) -> Answer:
        return Answer(calls=[call("write_file", path=name, content="one\ntwo\n")])

    fake.play(write("a.txt"), "No a.", write("b.txt"), write("c.txt"), "Both.")
    chat = start("-m", CLAUDE, "--tools", "all")
    chat.expect("› ")
    chat.send("Write a.\n")
    chat.expect("May `write_file` run?")
    assert "  | path: a.txt" in chat.expect("[y]es, [n]o, [a]lways (write_file):")
    chat.send("not that one\n")
    chat.expect("the user said: not that one")
    chat.expect("› ")
    chat.send("Write b and c.\n")
    chat.expect("[a]lways (write_file):")
    chat.send("a\n")
    shown = chat.expect("Both.")
    assert shown.count("✓ write_file") == 2
    assert "May" not in shown
    assert not (tmp_path / "a.txt").exists()
    assert (tmp_path / "b.txt").read_text() == (tmp_path / "c.txt").read_text() == "one\ntwo\n"


def test_an_always_for_a_command_covers_no_other_command(fake: Fake, start: Start) -> None:
    fake.play(call("run_shell", command="echo 1"), call("run_shell", command="echo 1"))
    fake.play(call("run_shell", command="echo 2"), "Done.")
    chat = start("-m", GPT, "--tools", "all")
    chat.expect("› ")
    chat.send("Go.\n")
    chat.expect("command: echo 1")
    chat.expect("(this very call):")
    chat.send("always\n")
    chat.expect("command: echo 2")
    chat.expect("(this very call):")
    chat.send("\n")
    chat.expect("the call was denied")
    chat.expect("Done.")


def test_what_was_typed_before_a_question_does_not_answer_it(fake: Fake, start: Start, tmp_path: Path) -> None:
    typed = threading.Event()

    def after_that(_: Received) -> Answer:
        assert typed.wait(60)
        return Answer(calls=[call("write_file", path="a.txt", content="x")])

    fake.play(after_that, "Asked.")
    chat = start("-m", GPT, "--tools", "all")
    chat.expect("› ")
    chat.send("Write.\n")
    chat.expect("waiting")
    chat.send("y\n")
    typed.set()
    chat.expect("[a]lways (write_file):")
    chat.send("n\n")
    chat.expect("Asked.")
    assert not (tmp_path / "a.txt").exists()


def test_ctrl_c_stops_an_answer_and_the_chat_goes_on(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play(Answer("Too late.", delay=30), "Here I am.")
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send("Think long.\n")
    wait_for(fake, 1)
    chat.send("\x03")
    chat.expect("stopped; /retry asks again")
    chat.expect("› ")
    chat.send("/retry\n")
    chat.expect("Here I am.")
    interrupt_editor(chat)
    chat.expect("press Ctrl-C again to quit")
    interrupt_editor(chat)
    assert chat.ends() == 0
    assert said(saved(tmp_path)) == ["Think long.", "Here I am."]


def test_a_call_that_is_interrupted_leaves_a_conversation_that_can_go_on(fake: Fake, start: Start) -> None:
    fake.play(call("run_shell", command="sleep 30"), "Fine.")
    chat = start("-m", CLAUDE, "--tools", "all", "--yes")
    chat.expect("› ")
    chat.send("Sleep.\n")
    chat.expect("1 call")
    chat.send("\x03")
    chat.expect("stopped")
    chat.expect("› ")
    chat.send("And now?\n")
    chat.expect("Fine.")
    assert [each.rejected for each in fake.requests] == ["", ""]


def test_ctrl_c_at_a_question_ends_the_answer_and_the_call_is_not_run(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play(call("write_file", path="a.txt", content="x"), "Fine.")
    chat = start("-m", CLAUDE, "--tools", "all")
    chat.expect("› ")
    chat.send("Write.\n")
    interrupt_editor(chat, "[a]lways (write_file): ")
    assert chat.expect("stopped").endswith("\nstopped")
    chat.expect("› ")
    chat.send("Then not.\n")
    chat.expect("Fine.")
    assert not (tmp_path / "a.txt").exists()
    assert not any(each.rejected for each in fake.requests)


def test_an_impatient_ctrl_c_does_no_harm(fake: Fake, start: Start) -> None:
    fake.play(Answer("Late.", delay=30), "Still here.")
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send("Wait.\n")
    wait_for(fake, 1)
    for _ in range(3):
        chat.send("\x03")
    chat.expect("stopped")
    chat.expect("› ")
    chat.send("\n/retry\n")
    chat.expect("Still here.")
    assert "Traceback" not in chat.seen


def test_a_question_of_the_model_is_answered_by_the_person(fake: Fake, start: Start) -> None:
    fake.play(call("ask_user", question="Which colour?"), "Blue it is.")
    chat = start("-m", GPT, "--tools", "all")
    chat.expect("› ")
    chat.send("Paint.\n")
    chat.expect("Which colour?")
    chat.expect("> ")
    chat.send("blue\n")
    chat.expect("Blue it is.")
    assert "blue" in str(fake.requests[1].body["input"][-1])


def test_the_model_is_switched_to_another_api_and_back(fake: Fake, start: Start) -> None:
    fake.play(Answer("", [call("list_files")], reasoning="Hm."), "Three files.", "I am Claude.", "I am GPT.")
    chat = start("-m", GPT, "--tools", "read")
    chat.expect("gpt-5 › ")
    chat.send("Look.\n")
    chat.expect("Three files.")
    chat.expect("› ")
    chat.send(f"/model {CLAUDE}\n")
    chat.expect(f"model: {CLAUDE}")
    chat.expect("claude-sonnet-5 › ")
    chat.send("Who are you?\n")
    chat.expect("I am Claude.")
    chat.expect("› ")
    chat.send("/model gtp-5\n")
    chat.expect("no provider is known for model 'gtp-5'")
    chat.send(f"/model {GPT}\n")
    chat.expect("gpt-5 › ")
    chat.send("And you?\n")
    chat.expect("I am GPT.")
    assert [each.api for each in fake.requests] == ["openai-responses"] * 2 + ["anthropic", "openai-responses"]
    assert not any(each.rejected for each in fake.requests)


def test_a_killed_chat_is_resumed_where_it_was(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play("First.", call("now"), Answer("Never.", delay=30))
    chat = start("-m", GPT, "--tools", "read")
    chat.expect("› ")
    chat.send("One.\n")
    chat.expect("First.")
    chat.expect("› ")
    chat.send("Two.\n")
    chat.expect("✓ now()")
    wait_for(fake, 3)
    os.kill(chat.process.pid, signal.SIGKILL)
    chat.process.wait()
    turns = saved(tmp_path).turns
    assert [turn.text for turn in turns[:3]] == ["One.", "First.", "Two."]
    fake.play("Second.")
    chat = start("--continue")
    assert "openai/gpt-5" in chat.expect("continuing")
    chat.expect("› ")
    chat.send("/retry\n")
    chat.expect("Second.")
    chat.expect("› ")
    assert not any(each.rejected for each in fake.requests)
    assert said(saved(tmp_path)) == ["One.", "First.", "Two.", "Second."]


def test_a_conversation_that_no_longer_fits_is_shortened_and_the_whole_is_kept(
    fake: Fake, start: Start, tmp_path: Path
) -> None:
    fake.play("First. " * 200, "Second. " * 200, Fail(400, "prompt is too long: 2000 tokens > 1000 maximum"))
    fake.play("They asked twice.", "Third.")
    chat = start("-m", CLAUDE)
    for question in ("One?", "Two?"):
        chat.expect("› ")
        chat.send(f"{question}\n")
    chat.expect("› ")
    chat.send("Three?\n")
    shown = chat.expect("is saved as")
    assert "older turn" in shown
    chat.expect("Third.")
    chat.expect("› ")
    entries = Store(tmp_path / "logs.db").list()
    assert [entry.turns for entry in entries] == [2, 5], "the whole conversation is still there"
    assert entries[1].parent == entries[0].id
    assert said(saved(tmp_path))[-1] == "Third."
    assert "left out" in said(saved(tmp_path))[0]
    assert "They asked twice." in said(saved(tmp_path))[0]


def test_a_message_that_can_never_fit_is_taken_back(fake: Fake, start: Start) -> None:
    fake.play(Fail(400, "prompt is too long: 9000 tokens > 10 maximum"), "Short is fine.")
    chat = start("-m", CLAUDE)
    chat.expect("› ")
    chat.send("A very long message. " * 20 + "\n")
    chat.expect("the message does not fit the model, so it was taken back")
    chat.expect("› ")
    chat.send("Hi.\n")
    chat.expect("Short is fine.")


def test_narrow_and_without_colour(fake: Fake, start: Start) -> None:
    fake.play("A somewhat longer answer that must be folded.")
    chat = start("-m", GPT, columns=20, NO_COLOR="1")
    chat.expect("gpt-5 › ")
    chat.send("Hi.\n")
    chat.expect("folded.")
    chat.expect("› ")
    chat.send("/help\n/quit\n")
    assert chat.ends() == 0


def test_history_is_kept_for_the_user_alone(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play("Yes.", "Again.")
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send("Remember me.\n")
    chat.expect("Yes.")
    chat.expect("› ")
    chat.send("/quit\n")
    chat.ends()
    assert stat.S_IMODE((tmp_path / "logs.history").stat().st_mode) == 0o600
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send("\x1b[A\x1b[A\n")
    chat.expect("Again.")
    chat.expect("› ")
    assert said(saved(tmp_path)) == ["Remember me.", "Again."]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("one\\\ntwo\n", "one\ntwo"),
        ('"""\none\n\ntwo\n"""\n', "one\n\ntwo"),
        ('"""one"""\n', "one"),
        ("\x1b[200~one\ntwo\x1b[201~\n", "one\ntwo"),
        (" /not a command\n", " /not a command"),
    ],
)
def test_messages_of_several_lines(fake: Fake, start: Start, tmp_path: Path, typed: str, expected: str) -> None:
    fake.play("Understood.")
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send(typed)
    chat.expect("Understood.")
    chat.expect("› ")
    assert "\x1b[?2004h" in chat.obeyed, "the terminal marks what is pasted"
    (turn, answer) = saved(tmp_path).turns
    assert isinstance(turn, UserTurn)
    assert turn.text == expected
    assert isinstance(answer, AssistantTurn)
