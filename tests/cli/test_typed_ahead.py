"""What was typed before a question was shown does not answer it."""

from __future__ import annotations

import os
import pty
import time
from pathlib import Path

import pytest
from rich.text import Text

from antiphon.conversation import ToolCall
from antiphon.session import Question
from antiphon.terminal.approval_prompt import Person
from tests.cli.terminal import Terminal
from tests.readiness import wait_readable


def test_a_yes_behind_the_wish_to_see_all_does_not_count() -> None:
    master, slave = pty.openpty()
    prompts: list[str] = []
    shown: list[Text] = []
    with open(slave) as keyboard:

        def line(prompt: str) -> str:
            prompts.append(prompt)
            if len(prompts) == 1:
                os.write(master, b"s\ny\n")
                time.sleep(0.2)
            return keyboard.readline() if wait_readable([keyboard.fileno()], 0.1) else "n"

        call = ToolCall("1", "write", {"text": "\n".join(map(str, range(60)))})
        said = Person(line, shown.append, keyboard).answer(Question("q", "approval", "May it?", call=call))
    os.close(master)
    assert (len(prompts), said.allowed) == (2, False)


@pytest.mark.parametrize("called", [True, False])
def test_a_yes_before_the_question_allows_nothing(called: bool) -> None:
    master, slave = pty.openpty()
    os.write(master, b"y\n")
    with open(slave) as keyboard:
        assert wait_readable([keyboard.fileno()], 10)

        def line(_: str) -> str:
            return keyboard.readline() if wait_readable([keyboard.fileno()], 0.1) else "n"

        call = ToolCall("1", "write", {"text": "a"}) if called else None
        said = Person(line, lambda _: None, keyboard).answer(Question("q", "approval", "May it?", call=call))
    os.close(master)
    assert not said.allowed


def test_a_yes_before_the_question_removes_no_run(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TERM": "xterm"}
    (tmp_path / "p.vibe").write_text("py() { return 1 }\n")
    with Terminal("run", "p.vibe", env=env, cwd=tmp_path) as terminal:
        assert terminal.process.wait(60) == 0
    with Terminal("delete", "--older", "0h", env=env, cwd=tmp_path, typed="y\n") as terminal:
        terminal.expect("Permanently delete 1 session?")
        time.sleep(0.5)
        assert terminal.process.poll() is None
        terminal.send("n\n")
        terminal.expect("nothing was deleted")
