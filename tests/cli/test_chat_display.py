"""What a chat shows of calls: changes once, with changed words marked, and the output of commands."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.fakes import Answer, Fake, call
from tests.cli.chatting import GPT, Start, chat_starter


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


@pytest.fixture
def start(fake: Fake, tmp_path: Path) -> Iterator[Start]:
    yield from chat_starter(fake, tmp_path)


def test_a_change_is_shown_once_with_its_words_marked(fake: Fake, start: Start, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\nthe old word\nthree\n")
    fake.play(call("edit_file", path="a.txt", old="the old word", new="the new word"), "Done.")
    chat = start("-m", GPT, "--tools", "all")
    chat.expect("› ")
    chat.send("Edit.\n")
    shown = chat.expect("(edit_file): ")
    assert "- the old word\n" in shown
    chat.send("y\n")
    shown = chat.expect("Done.")
    assert "✓ edit_file" in shown
    assert "the new word\n" not in shown
    assert "\x1b[7;31mold\x1b[0m" in chat.obeyed
    assert "\x1b[7;32mnew\x1b[0m" in chat.obeyed


def test_a_change_that_was_not_asked_about_is_shown_afterwards(fake: Fake, start: Start, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    fake.play(call("edit_file", path="a.txt", old="two", new="2"), "Done.")
    chat = start("-m", GPT, "--tools", "all", "--yes")
    chat.expect("› ")
    chat.send("Edit.\n")
    assert "+2\n" in chat.expect("Done.")


def test_the_last_lines_of_a_command_are_shown_and_all_on_request(fake: Fake, start: Start) -> None:
    fake.play(call("run_shell", command="seq 1 30"), "Done.")
    chat = start("-m", GPT, "--tools", "all", "--yes")
    chat.expect("› ")
    chat.send("Count.\n")
    shown = chat.expect("Done.")
    assert "[22 more lines above; /show shows all]" in shown
    assert re.findall(r"^  (\d+)$", shown, re.MULTILINE) == [str(number) for number in range(23, 31)]
    chat.expect("› ")
    chat.send("/show\n")
    chat.expect("1 of 1: run_shell")
    shown = chat.expect("gpt-5 › ")
    assert re.search(r"^\s*7$", shown, re.MULTILINE)


def test_output_is_shown_while_a_command_runs(fake: Fake, start: Start, tmp_path: Path) -> None:
    waits = "while [ ! -e go ]; do sleep 0.05; done"
    fake.play(call("run_shell", command=f"echo first; echo \x1b[31msecond; {waits}"), "Done.")
    chat = start("-m", GPT, "--tools", "all", "--yes")
    chat.expect("› ")
    chat.send("Run.\n")
    chat.shows("    first")
    chat.shows("second")
    (tmp_path / "go").touch()
    chat.expect("Done.")


def test_the_time_does_not_include_that_of_the_person(fake: Fake, start: Start) -> None:
    fake.play(call("run_shell", command="true"), Answer("Done.", usage=(1, 1)))
    chat = start("-m", GPT, "--tools", "all")
    chat.expect("› ")
    chat.send("Run.\n")
    chat.expect("(this very call): ")
    # Nothing is awaited here: while the person thinks, time passes.
    with pytest.raises(AssertionError, match="is not shown"):
        chat.expect("Done.", seconds=3)
    chat.send("y\n")
    chat.expect("Done.")
    shown = chat.expect("gpt-5 › ")
    (seconds,) = re.findall(r"1 call · .* · ([\d.]+)(?:ms|s)\n", shown)
    unit = "ms" if "ms\n" in shown else "s"
    assert unit == "ms" or float(seconds) < 3


def test_a_command_is_always_allowed_with_other_arguments(fake: Fake, start: Start) -> None:
    fake.play(call("run_shell", command="echo one | cat"), call("run_shell", command="echo two"))
    fake.play(call("run_shell", command="echo three; true > x"), "Done.")
    chat = start("-m", GPT, "--tools", "all")
    chat.expect("› ")
    chat.send("Go.\n")
    chat.expect("[p]refix (always echo *, cat *), [a]lways (this very call): ")
    chat.send("p\n")
    shown = chat.expect("[y]es, [n]o, [a]lways (this very call): ")
    assert '✓ run_shell(command="echo two")' in shown
    assert shown.count("May `run_shell` run?") == 1
    chat.send("n\n")
    chat.expect("Done.")
    chat.expect("› ")
    chat.send("/policy\n")
    chat.expect("1. always allowed: run_shell(echo *, cat *)")


def test_a_prefix_is_accepted_only_for_a_call_that_was_shown(fake: Fake, start: Start) -> None:
    command = "echo " + "\n".join(["a", *(f"echo line-{number}" for number in range(60))])
    fake.play(call("run_shell", command=command), "Done.")
    chat = start("-m", GPT, "--tools", "all")
    chat.expect("› ")
    chat.send("Go.\n")
    assert "line-30" not in chat.expect("[p]refix (always echo *)")
    chat.expect("[s]how all")
    chat.send("p\n")
    chat.expect("line-30")
    chat.expect("[p]refix (always echo *)")
    chat.send("p\n")
    chat.expect("Done.")
