"""A team whose models are played: who is asked is told by what it was told, and what it does by what came before."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from antiphon.fakes import Answer, Fake, Received, call
from antiphon.fakes.script import resolve_step

WRONG = "def add(a, b):\n    return a - b\n"
TESTS = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
MODEL = "openai-chat/gpt-5"
#: What a role does: called with what it reads and the names of its tools.
Part = Callable[[str, set[str]], Any]


def pm(read: str, tools: set[str]) -> Any:
    if "Which numbers" not in read and "chat_ask_user" in tools:
        return call("chat_ask_user", question="Which numbers should it add?")
    return call("submit_spec", title="Mend add", text="`add` must **add**.\n\n- the tests pass")


def architect(_: str, tools: set[str]) -> Any:
    if "create_tasks" in tools:
        return call("create_tasks", tasks=[{"title": "Mend add", "spec": "Make `add` add.", "checks": ["tests pass"]}])
    return call("review", decision="approve", notes="good") if "review" in tools else "I have read it."


def coder(read: str, tools: set[str]) -> Any:
    if "submit_work" not in tools:
        return "My plan: change calc.py"
    if "Edited calc.py" in read:
        return call("submit_work", summary="Mend add")
    return call("edit_file", path="calc.py", old="a - b", new="a + b")


PARTS: dict[str, Part] = {"@pm": pm, "@architect": architect, "@coder": coder}


def played(parts: dict[str, Part], seconds: float = 0.0) -> Callable[[Received], Any]:
    """A script that plays these roles, each answer after a while."""

    def answer(received: Received) -> Any:
        body: Any = received.body
        tools = {each["function"]["name"] for each in body.get("tools", ())}
        system = next(each["content"] for each in body["messages"] if each["role"] in ("system", "developer"))
        part = next(part for name, part in parts.items() if f"You are {name}" in system)
        read = json.dumps([each for each in body["messages"] if each["role"] not in ("system", "developer")])
        said = resolve_step(part(read, tools), received)
        time.sleep(seconds)
        # What it costs is not to depend on how much a test run has printed.
        return replace(said, usage=said.usage or (1200, 80)) if isinstance(said, Answer) else said

    return answer


@contextmanager
def serving(parts: dict[str, Part] | None = None, seconds: float = 0.0) -> Iterator[Fake]:
    with Fake(played({**PARTS, **(parts or {})}, seconds)) as fake:
        yield fake


def git(where: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=where, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def make_repository(where: Path, files: dict[str, str] | None = None) -> Path:
    where.mkdir()
    git(where, "init", "-q", "-b", "main")
    git(where, "config", "user.email", "ada@example.com")
    git(where, "config", "user.name", "Ada")
    for name, text in ({"calc.py": WRONG, "test_calc.py": TESTS} if files is None else files).items():
        (where / name).write_text(text, encoding="utf-8")
    if files != {}:
        git(where, "add", ".")
        git(where, "commit", "-qm", "Begin")
    return where


__all__ = ["MODEL", "Answer", "Part", "git", "make_repository", "serving"]
