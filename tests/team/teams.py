"""Small repositories, models that answer by what they were told, and what must hold of every team."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from antiphon.conversation import AssistantTurn, Conversation, UserTurn
from antiphon.durable import Journal
from antiphon.team import Team, TeamSettings, TeamState
from tests.session.scripted import Scripted, calls

#: Tests that take no time: every line of `wanted` must be in `calc.py`.
COMMAND = "sh check.sh"
FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n",
    "check.sh": 'while read -r line; do grep -qxF "    $line" calc.py || { echo "no $line"; exit 1; }; done < wanted\n',
    "wanted": "return a + b\n",
}
FIX = calls("edit_file", path="calc.py", old="def add(a, b):\n    return a - b", new="def add(a, b):\n    return a + b")
SUBMIT = calls("submit_work", summary="Fix add")
SPEC = calls("submit_spec", title="Fix add", text="add must add")
APPROVE = calls("review", decision="approve", notes="good")
CHANGES = calls("review", decision="changes", notes="say why")


def tasks(*given: Any) -> list[Any]:
    """A call that hands in tasks: titles, or whole tasks."""
    made = [{"title": each, "spec": f"Do: {each}"} if isinstance(each, str) else each for each in given]
    return calls("create_tasks", tasks=made)


class Script(Scripted):
    """A model with a script, and what it was told and offered at each request."""

    def __init__(self, *script: Any, price: float | None = 0.0) -> None:
        super().__init__(*script, price=price)
        self.told: list[str] = []
        self.offered: list[set[str]] = []

    def _reply(self, conversation: Conversation) -> Any:
        self.told.append(told(conversation))
        self.offered.append({each.name for each in conversation.tools})
        return super()._reply(conversation)


def told(conversation: Conversation) -> str:
    """What a model reads last: results, and what was said behind them."""
    last = conversation.turns[-1]
    if isinstance(last, UserTurn):
        before = conversation.turns[-2] if len(conversation.turns) > 1 else None
        results = [each.text for each in before.results] if isinstance(before, AssistantTurn) else []
        return "\n".join([*results, last.text])
    return "\n".join(each.text for each in last.results)


class Acting(Script):
    """A model whose answer is a function of the conversation alone, so that asking it twice makes no difference."""

    def __init__(self, answer: Callable[[Conversation], Any], price: float | None = 0.0) -> None:
        super().__init__(price=price)
        self.answer = answer

    def _reply(self, conversation: Conversation) -> Any:
        self.script = [self.answer(conversation)]
        self._number = 1000 * len(conversation.turns)
        return super()._reply(conversation)


def git(where: Path, *command: str) -> str:
    done = subprocess.run(["git", *command], cwd=where, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(where: Path, files: Mapping[str, str] | None = None) -> Path:
    """A repository with one commit."""
    where.mkdir(parents=True)
    for name, text in (FILES if files is None else files).items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_text(text)
    git(where, "init", "-q", "-b", "main")
    git(where, "add", ".")
    git(where, "-c", "user.name=n", "-c", "user.email=n@x", "commit", "-qm", "begin", "--allow-empty")
    return where


def settings(**given: Any) -> TeamSettings:
    return TeamSettings(**{"command": COMMAND, "sandbox": False, **given})


def begin(where: Path, repo: Path, request: str = "Fix add please", roles: Any = (), **given: Any) -> Team:
    """A team with these models, by role, and settings."""
    names = ("pm", "architect", "coder")
    models = {name: given.pop(name) for name in names if name in given}
    return Team.begin(request, repo, settings(**given), journal=Journal(where / "j.db"), models=models, roles=roles)


def accept(team: Team) -> TeamState:
    """Go on until what is wanted is written down, accept it, and go on."""
    team.work()
    assert team.state.phase == "spec", facts(team)
    return answer_all(team)


def answer_all(team: Team, text: str = "yes") -> TeamState:
    """Answer what is open, and go on."""
    for number in list(team.state.questions):
        team.answer(number, text)
    return team.work()


def facts(team: Team) -> list[str]:
    """What has happened, in words."""
    return [each.text for each in team.messages() if each.kind == "fact"]


def said(team: Team, kind: str = "chat") -> list[tuple[str, str, str]]:
    return [(each.author, each.to, each.text) for each in team.messages() if each.kind == kind]


def merged_file(team: Team, repo: Path, name: str = "calc.py") -> str:
    return git(repo, "show", f"antiphon/{team.id}/main:{name}")


def left(team: Team) -> list[str]:
    """Files of tasks that are still there."""
    return sorted(each.name for each in (team.place / team.id).iterdir() if not each.name.startswith("."))
