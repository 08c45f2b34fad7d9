"""What is seen of the commands in a terminal, cold, dumb and without colours; and that nothing of it is in pipes."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from antiphon.cli import cli
from antiphon.fakes import Answer, Call, Fake, Received
from tests.cli.terminal import Terminal
from tests.terminal.emulator import Emulator

TABLE = (
    "Here it is:\n\n| name | size |\n|------|-----:|\n| a | 12 |\n| b | 13 |\n\n# The end\n\n- of **all**\n- of it\n"
)
ROUNDS = """
model m = { name: "default" }
const said: text[] = async for n in ["one", "two"] { yield do "say {n}" m none }
try { do "fail" m none } catch e { print("caught") }
"""


def _answer(received: Received) -> Answer:
    asked, last = str(received.body["input"]), received.body["input"][-1]
    if "edit" in asked and last.get("type") != "function_call_output":
        return Answer(calls=[Call("edit_file", {"path": "a.txt", "old": "two", "new": "2"}, id="call_1")])
    return Answer("" if "fail" in asked else "x" if "say" in asked else TABLE)


@pytest.fixture
def env(tmp_path: Path) -> Iterator[dict[str, str]]:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    with Fake(_answer) as fake:
        yield {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "ANTIPHON_DB": str(tmp_path / "logs.db"),
            "OPENAI_API_KEY": "any",
            "OPENAI_BASE_URL": fake.base_url("openai"),
        }


def seen(terminal: Terminal, columns: int = 60) -> list[str]:
    emulator = Emulator(columns, 40)
    emulator.write(terminal.obeyed)
    return emulator.lines


def test_the_first_answer_in_a_cold_terminal_is_whole(env: dict[str, str], tmp_path: Path):
    with Terminal("ask", "table", "-m", "openai/gpt-5", env=env, cwd=tmp_path, columns=60) as terminal:
        assert terminal.ends() == 0
        assert seen(terminal) == [
            "model: openai/gpt-5 (--model)",
            "",
            "Here it is:",
            "",
            "name  size",
            "──────────",
            "a       12",
            "b       13",
            "",
            "The end",
            "",
            " • of all",
            " • of it",
        ]
        assert terminal.obeyed.endswith("\x1b[?25h")


def test_an_edit_is_seen_before_it_is_allowed_and_after_it_was_made(env: dict[str, str], tmp_path: Path):
    arguments = ("ask", "edit it", "-m", "openai/gpt-5", "--tools", "all")
    with Terminal(*arguments, env=env, cwd=tmp_path) as terminal:
        terminal.expect("[a]lways")
        terminal.send("y\n")
        assert terminal.ends() == 0
        question, _, after = terminal.obeyed.partition("[a]lways")
        assert "\x1b[31m- two" in question
        assert "\x1b[32m+ 2" in question
        assert "\x1b[31m-" in after
        assert "\x1b[32m+" in after
    assert (tmp_path / "a.txt").read_text() == "one\n2\n"


def test_rounds_are_marked_with_what_became_of_them_and_with_their_model(env: dict[str, str], tmp_path: Path):
    (tmp_path / "p.vibe").write_text(ROUNDS)
    with Terminal("run", "p.vibe", "--model", "openai/gpt-5", env=env, cwd=tmp_path) as terminal:
        terminal.ends()
        lines = [line for line in seen(terminal, 80) if " do " in line]
    assert sorted(line[:8] for line in lines) == ["✓ do say", "✓ do say", "✗ do fai"]
    assert all("openai/gpt-5" in line for line in lines)


@pytest.mark.parametrize("command", [("ask", "table"), ("chat",), ("run", "p.vibe")])
def test_a_dumb_terminal_gets_no_escapes(command: tuple[str, ...], env: dict[str, str], tmp_path: Path):
    (tmp_path / "p.vibe").write_text(ROUNDS)
    model = ("--model", "openai/gpt-5")
    with Terminal(*command, *model, env={**env, "TERM": "dumb"}, cwd=tmp_path) as terminal:
        if command == ("chat",):
            terminal.expect("gpt-5 › ")
            terminal.send("table\n")
            terminal.expect("of it")
            terminal.expect("gpt-5 › ")
            terminal.send("\x04")
        terminal.ends()
        assert "\x1b" not in terminal.obeyed
        assert "say" in terminal.seen or "| b | 13 |" in terminal.seen


def invoked(*arguments: str, color: bool = True, **env: Any) -> str:
    return CliRunner(env={"TERM": "xterm", "NO_COLOR": None, **env}).invoke(cli, arguments, color=color).output


@pytest.mark.parametrize("arguments", [("--help",), ("ask", "--help"), ("models", "pull", "--help"), ("models",)])
def test_help_and_lists_have_colours_where_they_are_welcome(arguments: tuple[str, ...]):
    assert "\x1b[36m" in invoked(*arguments)
    assert "\x1b" not in invoked(*arguments, color=False)
    assert "\x1b" not in invoked(*arguments, NO_COLOR="1")
    assert "\x1b" not in invoked(*arguments, TERM="dumb")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", invoked(*arguments))
    assert plain == invoked(*arguments, color=False)


def test_json_has_colours_in_a_terminal_alone(tmp_path: Path):
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm-256color"}
    with Terminal("explain", "V0301", "--json", env=env, cwd=tmp_path) as terminal:
        assert terminal.ends() == 0
        assert '\x1b[36m"code"\x1b[0m: "V0301"' in terminal.obeyed
    assert invoked("explain", "V0301", "--json").startswith('{\n  "code": "V0301"')
