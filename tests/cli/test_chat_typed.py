"""What is typed while the model works: it is queued and reaches the model with its next request."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.fakes import Answer, Fake, Received, call
from tests.cli.chatting import CLAUDE, GPT, Start, chat_starter, saved_texts, wait_for
from tests.cli.terminal import Terminal

WAIT = "while [ ! -e go ]; do sleep 0.05; done"


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


@pytest.fixture
def start(fake: Fake, tmp_path: Path) -> Iterator[Start]:
    yield from chat_starter(fake, tmp_path)


def begin(start: Start, model: str = GPT) -> Terminal:
    """A chat whose model waits in a command until the file `go` is there."""
    chat = start("-m", model, "--tools", "all", "--yes")
    chat.expect("› ")
    chat.send("Begin.\n")
    chat.expect("1 call")
    return chat


@pytest.mark.parametrize("model", [GPT, CLAUDE])
def test_a_message_reaches_the_model_at_its_next_step(fake: Fake, start: Start, tmp_path: Path, model: str) -> None:
    fake.play(call("run_shell", command=WAIT), "Both.")
    chat = begin(start, model)
    chat.send("Also ")
    chat.shows("› Also")
    chat.send("thix\x7fs.\r")
    chat.shows("queued: Also this.")
    (tmp_path / "go").touch()
    chat.expect("› Also this.\n")
    chat.expect("Both.")
    chat.expect("› ")
    assert len(fake.requests) == 2
    assert "Also this." in str(fake.requests[1].body)
    assert not any(each.rejected for each in fake.requests)
    assert saved_texts(tmp_path)[-2:] == ["Also this.", "Both."]


def test_without_a_next_step_it_is_the_next_message(fake: Fake, start: Start, tmp_path: Path) -> None:
    goes_on = threading.Event()

    def later(_: Received) -> Answer:
        assert goes_on.wait(60)
        return Answer("First.")

    fake.play(later, "Second.", "Third.")
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send("One.\n")
    chat.expect("waiting")
    chat.send("Two.\rThree.\r")
    chat.shows("queued: Three.")
    goes_on.set()
    for text in ("First.", "gpt-5 › Two.", "Second.", "gpt-5 › Three.", "Third."):
        chat.expect(text)
    chat.expect("gpt-5 › ")
    assert saved_texts(tmp_path) == ["One.", "First.", "Two.", "Second.", "Three.", "Third."]


def test_ctrl_c_gives_back_what_the_model_did_not_get(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play(Answer("Never.", delay=30), "Now.")
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send("One.\n")
    wait_for(fake, 1)
    chat.send("Two.\rand th")
    chat.shows("› and th")
    chat.send("\x03")
    chat.expect("stopped")
    chat.shows("gpt-5 › Two.")
    chat.send("ree\r")
    chat.expect("Now.")
    chat.expect("› ")
    assert saved_texts(tmp_path) == ["Two.\nand three", "Now."]


def test_a_command_waits_for_the_end_of_the_answer(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play(call("run_shell", command=WAIT), "Done.")
    chat = begin(start)
    chat.send("/cost\r")
    chat.shows("queued: /cost")
    (tmp_path / "go").touch()
    chat.expect("Done.")
    chat.expect("since the start: 1 answer")
    assert "/cost" not in str(fake.requests[1].body)


def test_unfinished_text_is_the_start_of_the_next_input(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play(call("run_shell", command=WAIT), "Done.", "Thanks.")
    chat = begin(start)
    chat.send("\x1b[200~one\ntwo\x1b[201~ thr")
    chat.shows("› one two thr")
    (tmp_path / "go").touch()
    chat.expect("Done.")
    chat.expect("two thr")
    chat.expect("two thr")
    chat.send("ee\r")
    chat.expect("Thanks.")
    chat.expect("› ")
    assert saved_texts(tmp_path)[-2:] == ["one\ntwo three", "Thanks."]


def test_ctrl_d_leaves_after_the_answer(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play(call("run_shell", command=WAIT), "Done.")
    chat = begin(start)
    chat.send("\x04")
    (tmp_path / "go").touch()
    chat.expect("Done.")
    chat.expect("antiphon chat --resume")
    assert chat.ends() == 0


def test_what_was_typed_before_is_no_answer_but_a_message(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play(call("run_shell", command=WAIT), call("write_file", path="a.txt", content="x"), "Done.")
    chat = start("-m", GPT, "--tools", "all")
    chat.expect("› ")
    chat.send("Begin.\n")
    chat.expect("(this very call): ")
    chat.send("y\r")
    chat.expect("1 call")
    chat.send("y\ry")
    chat.shows("queued: y")
    (tmp_path / "go").touch()
    chat.expect("(write_file): ")
    chat.send("n\r")
    chat.expect("Done.")
    assert not (tmp_path / "a.txt").exists()


def test_a_resumed_answer_is_told_the_same_again(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play(call("run_shell", command=WAIT), call("run_shell", command="rm go; " + WAIT), "Both.")
    chat = begin(start)
    chat.send("Also this.\r")
    chat.shows("queued: Also this.")
    (tmp_path / "go").touch()
    chat.expect("› Also this.\n")
    chat.expect("1 call")
    os.kill(chat.process.pid, signal.SIGKILL)
    chat.process.wait()
    (tmp_path / "go").touch()
    chat = start("--continue", "--yes")
    chat.expect("› ")
    chat.send("/go\r")
    chat.expect("Both.")
    chat.expect("gpt-5 › ")
    assert "differ" not in chat.seen
    assert saved_texts(tmp_path).count("Also this.") == 1


def test_the_terminal_is_as_before_when_the_chat_ends(fake: Fake, start: Start) -> None:
    fake.play(Answer("Never.", delay=30), Answer("Never.", delay=30))
    chat = start("-m", GPT)
    for _ in range(2):
        chat.expect("gpt-5 › ")
        chat.send("Go.\r")
        chat.expect("waiting")
        chat.send("\x03\x03")
        chat.expect("stopped")
    chat.expect("gpt-5 › ")
    chat.send("/exit\r")
    assert chat.ends() == 0
    assert chat.modes == chat.first_modes
    fake.reset()  # whether it was asked before the interruption is a matter of time
