"""Rounds side by side that need somebody's leave, in a real terminal: each answer reaches the question above it."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.fakes import Answer, Call, Fake, Received
from tests.cli.terminal import Terminal

_TOOL = """
from antiphon.tools import tool

@tool(destructive=True)
def touch(name: str) -> str:
    "Make a file."
    open(f"made-{name}", "w").close()
    return f"made {name}"
"""
_PROGRAM = """
import { touch } from "./tools.py"
model m = { name: "openai/gpt-5", tools: [touch] }
const told: text[] = async for name in ["a", "b", "c", "d"] { yield vibe "make job-{name}" m none }
print("the end: " + told.join(", "))
"""
_QUESTION = re.compile(
    r"May `touch` run\? \(for: make job-(\w)\)\n  \| name: (\w)\n\[y\]es, \[n\]o, \[a\]lways \(touch\): "
)


def _answer(received: Received) -> Answer:
    """The first call waits for leave; what follows is the answer."""
    name = re.findall(r"job-(\w)", str(received.body["input"]))[-1]
    if not any(each.get("type") == "function_call_output" for each in received.body["input"]):
        return Answer(calls=[Call("touch", {"name": name}, id=f"call_{name}")])
    return Answer(json.dumps({"value": f"told {name}"}))


_GIVEN_UP = """
import { touch } from "./tools.py"
model m = { name: "openai/gpt-5", tools: [touch] }
try {
  async for name in ["a", "b"] {
    if name == "b" { sleep(2); throw "b failed" }
    yield vibe "make job-{name}" m none
  }
} catch e { print("caught: {e}") }
const said = ask "who are you?"
print("hello {said}")
"""


@pytest.fixture
def program() -> str:
    return _PROGRAM


@pytest.fixture
def terminal(tmp_path: Path, program: str) -> Iterator[Terminal]:
    (tmp_path / "tools.py").write_text(_TOOL)
    (tmp_path / "p.vibe").write_text(program)
    with Fake(_answer) as fake:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "ANTIPHON_DB": str(tmp_path / "logs.db"),
            "OPENAI_API_KEY": "any",
            "OPENAI_BASE_URL": fake.base_url("openai"),
        }
        with Terminal("run", "p.vibe", env=env, cwd=tmp_path) as terminal:
            yield terminal


def _asked(terminal: Terminal) -> str:
    """Which round the next question is of; that is what it says, and what the call would do."""
    found = _QUESTION.search(terminal.expect("[a]lways (touch): "))
    assert found is not None
    assert found[1] == found[2]
    return found[1]


def _made(place: Path) -> set[str]:
    return {path.name[-1] for path in place.glob("made-*")}


def test_each_answer_reaches_the_question_above_it(terminal: Terminal, tmp_path: Path) -> None:
    allowed: set[str] = set()
    for number in range(4):
        name = _asked(terminal)
        if number % 2 == 0:
            allowed.add(name)
        terminal.send("n\n" if number % 2 else "y\n")
    terminal.expect("the end: told a, told b, told c, told d")
    assert terminal.ends() == 0
    assert _made(tmp_path) == allowed
    assert terminal.seen.count("✓ vibe make job-") == 4
    assert "■" not in terminal.seen


def test_nothing_is_printed_between_a_question_and_its_answer(terminal: Terminal) -> None:
    terminal.expect("[a]lways (touch): ")
    terminal.send("y\n")
    terminal.expect("[a]lways (touch): ")
    # The round that was allowed ends meanwhile.
    with pytest.raises(AssertionError, match="is not shown"):
        terminal.expect("✓ vibe", seconds=2)
    # If it has not ended yet, another question would keep back that it does.
    terminal.send("a\n")
    terminal.expect("✓ vibe make job-")


def test_always_answers_the_rounds_that_wait_for_their_turn(terminal: Terminal, tmp_path: Path) -> None:
    _asked(terminal)
    terminal.send("a\n")
    terminal.expect("the end: told a, told b, told c, told d")
    assert terminal.ends() == 0
    assert _made(tmp_path) == set("abcd")
    assert terminal.seen.count("May `touch` run?") == 1


@pytest.mark.parametrize("program", [_GIVEN_UP])
def test_a_question_that_was_given_up_takes_no_answer_of_the_next(terminal: Terminal, tmp_path: Path) -> None:
    _asked(terminal)
    terminal.expect("who are you?")
    terminal.send("Ada\n")
    terminal.expect("hello Ada")
    assert terminal.ends() == 0
    assert _made(tmp_path) == set()


def test_ctrl_c_at_a_question_ends_all_rounds_and_runs_nothing(terminal: Terminal, tmp_path: Path) -> None:
    _asked(terminal)
    terminal.interrupt()
    assert terminal.ends() == 130
    assert "Traceback" not in terminal.seen
    assert _made(tmp_path) == set()


def test_rounds_of_a_program_that_is_not_trusted_ask_once_for_the_same_thing(tmp_path: Path) -> None:
    (tmp_path / "p.vibe").write_text('print((async for n in 4 { yield env("COLOUR") }).join(" "))')
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm-256color", "COLOUR": "blue"}
    with Terminal("run", "p.vibe", "--untrusted", env=env, cwd=tmp_path) as terminal:
        terminal.expect("[y]es, [n]o: ")
        terminal.send("y\n")
        terminal.expect("blue blue blue blue")
        assert terminal.ends() == 0
    assert terminal.seen.count("wants to read") == 1
