"""Weights are fetched only after a yes: at a terminal, in the environment, or by the command that fetches."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.providers.tiny_weights import COMMAND, TINY, Machine, machine, write_wheel

_PROGRAM = 'model m = { name: "local/tiny" }\nprint(do "Hello." m)\n'
_ROWS = 'input city: text\nmodel m = { name: "local/tiny" }\nprint(do "Hello, {city}." m)\n'
_REGISTER = COMMAND.partition("from antiphon.cli")[0]
_PYTHON = {
    "a session": "import antiphon; antiphon.Session('local/tiny').do('Hello.')",
    "a session without a key": "import os; os.environ['ANTIPHON_MODEL'] = 'local/tiny'\n"
    "import antiphon; antiphon.Session().vibe('Hello.')",
    "a model": "import antiphon; antiphon.connect('local/tiny').count_tokens('Hello.')",
    "an async session": "import antiphon, asyncio; asyncio.run(antiphon.Session('local/tiny').ado('Hello.'))",
    "a program": "import antiphon; antiphon.load('p.vibe').run()",
}
_COMMANDS = {
    "ask": (["ask", "-m", "local/tiny", "Hello."], ""),
    "chat": (["chat", "-m", "local/tiny"], "Hello.\n"),
    "run": (["run", "p.vibe"], ""),
    "map": (["map", "rows.vibe", "rows.csv"], ""),
    "repl": (["repl", "--model", "local/tiny"], 'do "Hello."\n'),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    with machine(tmp_path, monkeypatch) as found:
        for number in (1, 2):
            write_wheel(found.wheels, number)
        for name in [name for name in os.environ if name.endswith("_API_KEY")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("ANTIPHON_DB", "off")
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.chdir(tmp_path)
        Path("p.vibe").write_text(_PROGRAM)
        Path("rows.vibe").write_text(_ROWS)
        Path("rows.csv").write_text("city\nOslo\nRome\n")
        yield found


def told(script: str, *arguments: str, said: str = "") -> str:
    """Run Python where nobody can be asked, and return all that it says, in one line."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], input=said, capture_output=True, text=True, check=False
    )
    return " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("front", _COMMANDS)
def test_a_command_without_a_terminal_fetches_nothing_and_says_what_to_run(here: Machine, front: str):
    arguments, said = _COMMANDS[front]
    assert "run `antiphon setup models pull tiny`, once, or set ANTIPHON_FETCH_WEIGHTS=1" in told(
        COMMAND, *arguments, said=said
    )
    assert here.files() == []


@pytest.mark.parametrize("front", _PYTHON)
def test_python_without_a_terminal_fetches_nothing_and_says_what_to_run(here: Machine, front: str):
    text = told(_REGISTER + _PYTHON[front])
    assert "run `antiphon setup models pull tiny`, once, or set ANTIPHON_FETCH_WEIGHTS=1" in text
    assert here.files() == []


def test_the_variable_of_the_environment_is_a_yes(here: Machine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTIPHON_FETCH_WEIGHTS", "1")
    # The bytes are no model: that it is looked at shows that it was fetched.
    assert "GGUF" in told(_REGISTER + _PYTHON["a session"])
    assert TINY.file in here.files()


def test_the_variable_in_a_project_is_no_yes(here: Machine):
    Path(".env").write_text("ANTIPHON_FETCH_WEIGHTS=1\n")
    assert "antiphon setup models pull tiny" in told(_REGISTER + _PYTHON["a session"])
    assert here.files() == []


def test_a_damaged_file_is_not_fetched_again_unasked(here: Machine):
    here.file.parent.mkdir(parents=True)
    here.file.write_bytes(b"x" * TINY.bytes)
    assert "antiphon setup models pull tiny" in told(_REGISTER + _PYTHON["a session"])
    assert here.file.read_bytes() == b"x" * TINY.bytes


@pytest.mark.parametrize("script", [_REGISTER + _PYTHON["a session"], COMMAND], ids=["python", "run"])
def test_at_a_terminal_the_question_has_the_size_and_the_place(here: Machine, script: str):
    arguments = ["run", "p.vibe"] if script == COMMAND else []
    with Terminal("-c", script, *arguments, env=os.environ, cwd=Path.cwd(), module=None, columns=200) as terminal:
        question = terminal.expect("[Y/n]: ")
        assert "Fetch it, once, 80 kB from huggingface.co/makers/tiny" in question
        assert str(here.file.parent) in question
        assert here.files() == []
        terminal.send("y\n")
        terminal.expect("GGUF")
        assert terminal.ends() != 0
    assert TINY.file in here.files()


def test_a_no_is_remembered_for_all_requests_of_the_process(here: Machine):
    script = f"""{_REGISTER}
import antiphon
for n in range(3):
    try:
        antiphon.Session("local/tiny").do("Hello.")
    except antiphon.AntiphonError as error:
        print("refused", n, error)
"""
    with Terminal("-c", script, env=os.environ, cwd=Path.cwd(), module=None, columns=200) as terminal:
        terminal.expect("[Y/n]: ")
        terminal.send("n\n")
        terminal.expect("refused 2 local/tiny was not fetched")
        assert terminal.ends() == 0
        assert terminal.seen.count("[Y/n]") == 1
    assert here.files() == []


def test_what_was_typed_before_the_question_is_no_answer_to_it(here: Machine):
    script = _REGISTER + "input('ready')\nimport time; time.sleep(1)\n" + _PYTHON["a session"]
    with Terminal("-c", script, env=os.environ, cwd=Path.cwd(), module=None, columns=200) as terminal:
        terminal.expect("ready")
        terminal.send("\ny\ny\n")
        terminal.expect("[Y/n]: ")
        terminal.send("n\n")
        terminal.expect("was not fetched")
    assert here.files() == []


def test_rounds_side_by_side_ask_one_question(here: Machine):
    Path("p.vibe").write_text(
        'model m = { name: "local/tiny" }\nasync for n in [1, 2, 3] {\n    print(do "Hello {n}." m)\n}\n'
    )
    with Terminal("-c", COMMAND, "run", "p.vibe", env=os.environ, cwd=Path.cwd(), module=None) as terminal:
        terminal.expect("[Y/n]: ")
        terminal.send("n\n")
        terminal.expect("was not fetched")
        assert terminal.ends() == 1
        assert terminal.seen.count("[Y/n]") == 1
    assert here.files() == []


def test_an_interrupted_question_ends_the_program(here: Machine):
    with Terminal(
        "-c", _REGISTER + _PYTHON["a session"], env=os.environ, cwd=Path.cwd(), module=None, columns=200
    ) as terminal:
        terminal.expect("[Y/n]: ")
        terminal.send("\x03")
        terminal.expect("KeyboardInterrupt")
        assert terminal.ends() != 0
    assert here.files() == []
