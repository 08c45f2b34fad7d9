"""The editor of a chat: lines, pastes, the menu of completions, history and the line below the input."""

import base64
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.fakes import Answer, Fake, call
from tests.cli.chatting import GPT, Start, chat_starter, saved_texts

_WITH_CODE = "Here:\n\n```sh\ndu\n```\n\n```sh\nls\n```\n"


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


@pytest.fixture
def start(fake: Fake, tmp_path: Path) -> Iterator[Start]:
    yield from chat_starter(fake, tmp_path)


def test_alt_enter_adds_a_line_and_enter_sends(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play("Understood.")
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send("one\x1b\r  two\x1b\rthree\r")
    chat.expect("Understood.")
    chat.expect("› ")
    assert saved_texts(tmp_path)[0] == "one\n  two\nthree"


def test_a_long_paste_is_folded_and_sent_in_full(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play("Read.")
    lines = "\n".join(f"line {number}" for number in range(120))
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send(f"Look: \x1b[200~{lines}\x1b[201~ and \x1b[200~{lines}\x1b[201~")
    chat.shows("Look: [pasted 120 lines] and [pasted 120 lines, 2]")
    chat.send("\r")
    chat.expect("Read.")
    chat.expect("› ")
    assert saved_texts(tmp_path)[0] == f"Look: {lines} and {lines}"
    assert "line 60" not in chat.seen


def test_a_long_paste_in_one_line_is_folded_too(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play("Read.")
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send(f"\x1b[200~{'x' * 3000}\x1b[201~")
    chat.shows("[pasted 3,000 characters]")
    chat.send("\r")
    chat.expect("Read.")
    chat.expect("› ")
    assert saved_texts(tmp_path)[0] == "x" * 3000


def test_a_slash_opens_a_menu_of_commands(start: Start) -> None:
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send("/mo")
    chat.shows("show the model and others, or switch to another")
    chat.send("\t")
    chat.shows("› /model")
    chat.send("nonsense\r")
    chat.expect("no provider is known for model 'nonsense'")


def test_enter_chooses_a_file_of_the_menu_and_sends_nothing(fake: Fake, start: Start, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("milk\n")
    fake.play("Milk.")
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send("Read @no")
    chat.shows("notes.md")
    chat.send("\t")
    chat.shows("› Read @notes.md")
    chat.send("\rnow")
    chat.shows("› Read @notes.md now")
    chat.send("\r")
    chat.expect("Milk.")
    chat.expect("› ")
    assert saved_texts(tmp_path)[0].startswith("Read @notes.md now")


def test_the_line_below_the_input_tells_model_context_and_cost(fake: Fake, start: Start) -> None:
    fake.play(Answer("Yes.", usage=(40_000, 1_000)))
    chat = start("-m", GPT)
    assert "openai/gpt-5 · context 0% of 400k" in chat.shows("context 0%")
    chat.send("Hi.\r")
    lines = chat.shows("context 10% of 400k · $0.06")
    below = next(at for at, line in enumerate(lines) if "context 10%" in line)
    assert lines[below - 1] == "gpt-5 ›"
    chat.send("/quit\r")
    assert chat.ends() == 0
    assert not any("context 10%" in line for line in chat.lines), "it is there only while somebody types"


def test_ctrl_c_clears_what_is_typed_first(start: Start) -> None:
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send("Something else")
    chat.shows("› Something else")
    chat.send("\x03")
    chat.send("/cost\r")
    chat.expect("no request was sent since the start")
    assert "press Ctrl-C" not in chat.seen


def test_history_keeps_lines_and_pastes_for_the_next_chat(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play("One.", "Two.")
    pasted = "\n".join(map(str, range(20)))
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send(f"a\x1b\rb \x1b[200~{pasted}\x1b[201~\r")
    chat.expect("One.")
    chat.expect("› ")
    chat.send("\x04")
    assert chat.ends() == 0
    assert stat.S_IMODE((tmp_path / "logs.history").stat().st_mode) == 0o600
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send("\x1b[A\r")
    chat.expect("Two.")
    chat.expect("› ")
    assert saved_texts(tmp_path)[0] == f"a\nb {pasted}"


def test_a_history_that_cannot_be_written_ends_no_chat(fake: Fake, start: Start, tmp_path: Path) -> None:
    (tmp_path / "logs.history").mkdir()
    fake.play("One.")
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send("Hi.\r")
    chat.expect("One.")
    chat.expect("› ")
    assert "Traceback" not in chat.seen


def test_each_ctrl_c_at_an_approval_ends_the_answer(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play(*[call("write_file", path="a.txt", content="x") for _ in range(25)])
    chat = start("-m", GPT, "--tools", "all")
    for _ in range(25):
        chat.expect("gpt-5 › ")
        chat.send("Go.\n")
        chat.expect("(write_file): ")
        chat.send("\x03")
        chat.expect("stopped")
    assert not (tmp_path / "a.txt").exists()


def test_a_line_typed_behind_an_answer_does_not_approve_the_next_call(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play(*[call("write_file", path=name, content="x") for name in ("a.txt", "b.txt")], "Done.")
    chat = start("-m", GPT, "--tools", "all")
    chat.expect("› ")
    chat.send("Go.\n")
    chat.expect("path: a.txt")
    chat.expect("(write_file): ")
    chat.send("y\ny\n")
    chat.expect("path: b.txt")
    chat.expect("(write_file): ")
    chat.send("n\n")
    chat.expect("Done.")
    assert (tmp_path / "a.txt").exists()
    assert not (tmp_path / "b.txt").exists()


def test_a_message_to_edit_is_back_in_the_input(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play("Blue.", "Red.")
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send("Which colour\x1b\rhas the sky?\r")
    chat.expect("Blue.")
    chat.expect("› ")
    chat.send("/edit\r")
    chat.expect("has the sky?")
    chat.send("\x7f at night?\r")
    chat.expect("Red.")
    chat.expect("› ")
    assert saved_texts(tmp_path) == ["Which colour\nhas the sky at night?", "Red."]


def test_ctrl_c_gives_up_the_edit_of_a_message(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play("Blue.", "Still blue.")
    chat = start("-m", GPT)
    chat.expect("› ")
    chat.send("Which colour?\r")
    chat.expect("Blue.")
    chat.expect("› ")
    chat.send("/edit\r")
    chat.expect("Which colour?")
    chat.send("\x03\x03")
    chat.expect("press Ctrl-C again")
    chat.expect("› ")
    chat.send("Sure?\r")
    chat.expect("Still blue.")
    chat.expect("› ")
    assert saved_texts(tmp_path) == ["Which colour?", "Blue.", "Sure?", "Still blue."]


@pytest.mark.parametrize(
    ("command", "copied"), [("/copy", "Here:\n\n```sh\ndu\n```\n\n```sh\nls\n```\n"), ("/copy code", "ls\n")]
)
def test_an_answer_is_copied_through_the_terminal(fake: Fake, start: Start, command: str, copied: str) -> None:
    fake.play(_WITH_CODE)
    chat = start("-m", GPT, SSH_CONNECTION="1")
    chat.expect("› ")
    chat.send("How large?\r")
    chat.expect("openai/gpt-5 · ")
    chat.expect("› ")
    chat.send(f"{command}\r")
    chat.expect("copied the last")
    assert f"\x1b]52;c;{base64.b64encode(copied.encode()).decode()}\x07" in chat.obeyed
