"""`/undo` takes back messages and the files that their calls changed, and names what it cannot take back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.fakes import Fake, call
from tests.cli.chatting import GPT, Start, chat_starter, saved_texts


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


@pytest.fixture
def start(fake: Fake, tmp_path: Path) -> Iterator[Start]:
    yield from chat_starter(fake, tmp_path)


def test_files_are_as_they_were_before_the_message(fake: Fake, start: Start, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\n\xff")
    (tmp_path / "a.txt").chmod(0o640)
    fake.play(call("write_file", path="a.txt", content="two\n"), "First.")
    fake.play(
        call("edit_file", path="a.txt", old="two", new="three"), call("write_file", path="b/c", content="x"), "Second."
    )
    chat = start("-m", GPT, "--tools", "all", "--yes")
    for message, answer in (("a", "First."), ("b", "Second.")):
        chat.expect("gpt-5 › ")
        chat.send(f"{message}\n")
        chat.expect(answer)
    chat.expect("gpt-5 › ")
    chat.send("/undo\n")
    chat.expect("restored: a.txt")
    chat.expect("removed: b/c")
    chat.expect("gpt-5 › ")
    assert (tmp_path / "a.txt").read_text() == "two\n"
    assert not (tmp_path / "b").exists()
    chat.send("/undo\n")
    chat.expect("restored: a.txt")
    chat.expect("gpt-5 › ")
    assert (tmp_path / "a.txt").read_bytes() == b"one\r\n\xff"
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640
    assert saved_texts(tmp_path) == []


def test_what_you_changed_since_is_kept_and_commands_are_named(fake: Fake, start: Start, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    fake.play(call("write_file", path="a.txt", content="two\n"), call("run_shell", command="touch b"), "Done.")
    chat = start("-m", GPT, "--tools", "all")
    chat.expect("gpt-5 › ")
    chat.send("Go.\n")
    assert "cannot take this back" not in chat.expect("(write_file): ")
    chat.send("y\n")
    chat.expect("command: touch b")
    chat.expect("/undo cannot take this back")
    chat.expect("(this very call): ")
    chat.send("y\n")
    chat.expect("Done.")
    chat.expect("gpt-5 › ")
    (tmp_path / "a.txt").write_text("mine\n")
    chat.send("/undo\n")
    chat.expect("kept a.txt: something else has changed it since")
    chat.expect('not undone: run_shell(command="touch b")')
    assert (tmp_path / "a.txt").read_text() == "mine\n"
    assert (tmp_path / "b").exists()


def test_a_message_that_was_retried_is_undone_with_all_its_changes(fake: Fake, start: Start) -> None:
    fake.play(call("write_file", path="a.txt", content="one\n"), "One.")
    fake.play(call("write_file", path="b.txt", content="two\n"), "Two.")
    chat = start("-m", GPT, "--tools", "all", "--yes")
    chat.expect("gpt-5 › ")
    chat.send("Go.\n")
    chat.expect("One.")
    chat.expect("gpt-5 › ")
    chat.send("/retry\n")
    chat.expect("Two.")
    chat.expect("gpt-5 › ")
    chat.send("/undo\n")
    chat.expect("removed: a.txt, b.txt")


def test_changes_of_an_earlier_process_are_named(fake: Fake, start: Start, tmp_path: Path) -> None:
    fake.play(call("write_file", path="a.txt", content="one\n"), "One.")
    chat = start("-m", GPT, "--tools", "all", "--yes")
    chat.expect("gpt-5 › ")
    chat.send("Go.\n")
    chat.expect("One.")
    chat.expect("gpt-5 › ")
    chat.send("/exit\n")
    chat.ends()
    chat = start("--continue")
    chat.expect("gpt-5 › ")
    chat.send("/undo\n")
    chat.expect("not undone: write_file(")
    assert (tmp_path / "a.txt").exists()
