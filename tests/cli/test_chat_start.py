"""The start of a chat: the prompt is shown before anything is imported that only an answer needs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from antiphon.fakes import Fake, call
from tests.cli.terminal import Terminal

#: Modules for requests, typed values, built-in tools, and the display of answers.
LATE = (
    "httpx2",
    "pydantic",
    "markdown_it",
    "rich.markdown",
    "rich.table",
    "antiphon.lang",
    "antiphon.programs",
    "antiphon.terminal.live_view",
    "antiphon.terminal.result_renderable",
    "antiphon.tools.builtin",
    "antiphon.views.types",
)
#: More than a chat without tools imports of ours before its first prompt.
MAX_MODULES = 248
CODE = """
import atexit, gc, json, sys
def write():
    with open("start.json", "w") as file:
        json.dump([sorted(sys.modules), gc.get_stats()[2]["collections"]], file)
atexit.register(write)
sys.argv[0] = "antiphon"
from antiphon.cli import main
main()
"""


def environment(fake: Fake, home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "HOME": str(home), "TERM": "xterm-256color", "LANG": "C.UTF-8",
        "OPENAI_API_KEY": "any", "OPENAI_BASE_URL": fake.base_url("openai"),
    }  # fmt: skip


@pytest.mark.parametrize("options", [[], ["--tools", "all"], ["--tools", "read", "--plan"]])
def test_the_prompt_needs_no_module_for_answers(antiphon_fake: Fake, tmp_path: Path, options: list[str]) -> None:
    command = ("-c", CODE, "chat", "-m", "openai/gpt-5.6", *options)
    with Terminal(*command, env=environment(antiphon_fake, tmp_path), cwd=tmp_path, module=None) as chat:
        chat.expect("› ")
        chat.send("\x04")
        assert chat.ends() == 0
    modules, collections = json.loads((tmp_path / "start.json").read_text())
    assert [name for name in LATE if name in modules] == []
    assert len([name for name in modules if name.startswith("antiphon.")]) <= MAX_MODULES
    # A full collection of what was imported takes as long as importing a tenth of it.
    assert collections == 0


def test_tools_that_are_loaded_late_are_offered_with_the_first_message(antiphon_fake: Fake, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("42")
    antiphon_fake.play(call("read_file", path="a.txt"), "It is 42.")
    env = environment(antiphon_fake, tmp_path)
    with Terminal("chat", "-m", "openai/gpt-5.6", "--tools", "read", env=env, cwd=tmp_path) as chat:
        chat.expect("tools: read")
        chat.expect("› ")
        chat.send("Read it.\r")
        chat.expect("It is 42.")
        chat.expect("› ")
        chat.send("/tools\r")
        chat.expect("read_file")
    names = [tool["name"] for tool in antiphon_fake.requests[0].body["tools"]]
    assert "read_file" in names
    assert "run_shell" not in names
