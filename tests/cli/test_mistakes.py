"""Typical mistakes: each has its exit code, and a message that says what happened and what to do.

`mistakes.txt` holds the commands, their exit codes and their messages. With UPDATE_GOLDEN set, it is written anew. No
mistake changes a session.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.durable import Journal
from antiphon.fakes import Fake, call
from tests.lang_unit.commands import Ran, antiphon

TABLE = Path(__file__).with_name("mistakes.txt")
_ENTRY = re.compile(r"^\$ antiphon ?(.*)\nexit (\d+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
MISTAKES = [(each[1], int(each[2]), each[3]) for each in _ENTRY.finditer(TABLE.read_text(encoding="utf-8"))]
_FILES = {
    "p.vibe": "print(py() { return 1 })\n",
    "bad.vibe": "const x: number = \n",
    "asks.vibe": 'print(ask "Who?")\n',
    "n.vibe": "input n: number\nreturn n\n",
    "fails.vibe": 'print(py() { return 1 })\npy() { raise ValueError("no") }\n',
    "calls.vibe": 'import { runShell } from "system/tools"\n'
    'model m = { name: "openai-chat/gpt-5", tools: [runShell] }\nprint(vibe "tidy" m)\n',
    "rows.csv": "n\n1\n2\n",
    "notes.txt": "just words\n",
    "notes.md": "# A title\n",
    "a.py": "print(1)\n",
    "empty.vibe": "// nothing yet\n",
    "schema.json": '{"type": "object"}',
    "models.py": "def f(x: int) -> int:\n    return x\n",
    "nodb.txt": "no database " * 100,
    "history.json": json.dumps([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]),
}


class Place:
    """A directory with files, and a database with a session of each kind, by name."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ids: dict[str, str] = {}
        for name, text in _FILES.items():
            Path(name).write_text(text, encoding="utf-8")
        Path("empty").mkdir()
        with Fake() as fake, pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
            patch.setenv("OPENAI_API_KEY", "sk-any")
            self._make("done", "run", "p.vibe")
            self._make("waits", "run", "asks.vibe")
            self._make("failed", "run", "fails.vibe")
            self._make("batch", "run", "n.vibe", "--rows", "rows.csv")
            fake.play(call("run_shell", command="touch x"), "Hello.")
            self._make("calls", "run", "calls.vibe")
            self._make("chat", "ask", "-m", "openai/gpt-5", "hi")
            with Journal().run("nightly"):
                pass

    def _make(self, name: str, *words: str) -> None:
        antiphon(*words)
        self.ids[name] = json.loads(antiphon("list", "--json", "-n", "1").out)[0]["id"]

    def run(self, command: str) -> tuple[int, str]:
        """Run a command; return its exit code and its message, with the names of sessions and places."""
        for name, id in self.ids.items():
            command = command.replace("{" + name + "}", id)
        ran = antiphon(*shlex.split(command))
        return ran.code, self._neutral(ran)

    def _neutral(self, ran: Ran) -> str:
        told = ran.err if ran.err.strip() else ran.out
        told = re.sub(r"^(Usage: |Try ').*\n", "", told, flags=re.MULTILINE).replace(str(self.directory), "PLACE")
        for name, id in self.ids.items():
            told = told.replace(id, "{" + name + "}")
        return "".join(f"{line.rstrip()}\n" for line in told.splitlines() if line.strip())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    directory = tmp_path_factory.mktemp("mistakes")
    with pytest.MonkeyPatch.context() as patch:
        for name in [*os.environ]:
            if name.endswith(("_API_KEY", "_BASE_URL")):
                patch.delenv(name)
        patch.setenv("ANTIPHON_DB", str(directory / "sessions.db"))
        for name in ("CONFIG", "DATA", "CACHE", "STATE"):
            patch.setenv(f"XDG_{name}_HOME", str(directory / name.lower()))
        patch.chdir(directory)
        yield Place(directory)


def test_there_are_many() -> None:
    assert len(MISTAKES) >= 300
    assert len({command for command, _, _ in MISTAKES}) == len(MISTAKES)


@pytest.mark.skipif("UPDATE_GOLDEN" not in os.environ, reason="writes the table")
def test_the_table_is_written(place: Place) -> None:
    whole = ""
    for command, _, _ in MISTAKES:
        code, told = place.run(command)
        whole += f"$ antiphon {command}\nexit {code}\n{told}"
    TABLE.write_text(whole, encoding="utf-8")


@pytest.mark.parametrize(("command", "code", "told"), MISTAKES, ids=[command for command, _, _ in MISTAKES])
def test_a_mistake_is_told_and_changes_nothing(place: Place, command: str, code: int, told: str) -> None:
    before = antiphon("list", "--json").out
    assert place.run(command) == (code, told)
    assert re.match(r"antiphon: |Error: |error\[V\d+\]: |\{", told), "it is said whose message this is"
    assert "Traceback" not in told
    assert code in (1, 2)
    assert antiphon("list", "--json").out == before
