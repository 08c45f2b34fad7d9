"""A local model is got ready: asked for before it is fetched, and loaded while a line moves."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.lang_unit.commands import antiphon

_HOLDING = """
import ctypes, select, sys
from antiphon.cli.chat_front.local_models import show_spinner
with show_spinner("loading local/x"):
    # Like the runtime: nothing else in this process goes on meanwhile.
    while not select.select([sys.stdin], [], [], 0)[0]:
        ctypes.PyDLL(None).usleep(50_000)
print("loaded")
"""


def environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "ANTIPHON_CACHE": str(home / "cache"), "PATH": os.environ["PATH"], "TERM": "xterm"}


def test_a_line_moves_while_the_process_can_do_nothing_but_load(tmp_path: Path):
    with Terminal("-c", _HOLDING, env=environment(tmp_path), cwd=tmp_path, module=None) as terminal:
        terminal.expect("⠋ loading local/x")
        terminal.expect("⠙ loading local/x")
        terminal.send("\n")
        terminal.expect("loaded")
        assert terminal.ends() == 0


def test_at_a_terminal_weights_are_fetched_only_after_asking_with_their_size(tmp_path: Path):
    with Terminal(
        "ask", "--tools", "read", "Which files are here?", env=environment(tmp_path), cwd=tmp_path
    ) as terminal:
        assert "local/1.5b" in terminal.expect("Fetch it, once, 1.1 GB")
        terminal.expect("[Y/n]: ")
        terminal.send("n\n")
        said = terminal.expect("antiphon setup")
        assert re.search(r"local/1.5b was not fetched; `-m local/0.5b` is\s+smaller \(491 MB\)", said)
        assert terminal.ends() == 2
    assert not list((tmp_path / "cache").rglob("*.gguf*"))


def test_a_runtime_that_is_missing_is_told_before_a_chat_begins(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    ran = antiphon("chat", "-m", "local/0.5b", input="Hi.\n")
    assert (ran.code, ran.out) == (2, "")
    assert "antiphon[local]" in ran.err


@pytest.mark.parametrize("command", [["ask", "hi"], ["ask", "-m", "local/0.5b", "hi"], ["chat"]])
def test_without_a_terminal_nothing_is_fetched_and_the_command_that_does_is_named(tmp_path: Path, command: list[str]):
    pytest.importorskip("xllamacpp")
    variables = {**os.environ, "ANTIPHON_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path), "ANTIPHON_DB": "off"}
    kept = {name: value for name, value in variables.items() if not name.endswith("_API_KEY")}
    done = subprocess.run(
        [sys.executable, "-m", "antiphon", *command],
        input="hi\n",
        capture_output=True,
        text=True,
        env=kept,
        check=False,
    )
    assert done.returncode == 2 or command == ["chat"], done.stderr
    assert "run `antiphon setup models pull " in " ".join((done.stderr + done.stdout).split())
    assert not list((tmp_path / "cache").rglob("*.gguf*"))


def test_the_help_says_where_to_start():
    done = subprocess.run([sys.executable, "-m", "antiphon", "--help"], capture_output=True, text=True, check=True)
    said = " ".join(done.stdout.split())
    assert "New here? Run `antiphon setup`" in said
