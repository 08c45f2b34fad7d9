"""A team of two coders that dies at every moment, in real processes: run as a module, so that whoever tests it forks no
threads.

`python -m tests.team.dying DIRECTORY MOMENTS` lets a team work as a whole, and then once more for a moment before or
after one of its writes and git commands, or at a random one, each time until it is done. A line of JSON for each says
what differed.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from antiphon.conversation import Conversation
from antiphon.durable import Journal
from antiphon.errors import NotSavedError
from antiphon.storage.sqlite import SqliteDatabase
from antiphon.team import Team
from antiphon.team.git import GitRunner
from tests.team.teams import Acting, calls, git, left, repository, settings, told

DIED = 9
_FILES = {"a": "end\n", "b": "end\n", "check.sh": "true\n"}
_TASKS = [{"title": name, "spec": f"Change the file {name}", "checks": ["it is longer"]} for name in ("a", "b")]


# Who works in it: what each says follows from its conversation alone.


def _calls_made(conversation: Conversation) -> list[str]:
    return [call.name for turn in conversation.turns for call in getattr(turn, "calls", ())]


def _pm(conversation: Conversation) -> Any:
    match _calls_made(conversation):
        case []:
            return calls("list_files")
        case ["list_files"]:
            return calls(("chat_ask_user", {"question": "How long?"}), ("chat_ask_user", {"question": "How wide?"}))
        case _ if "To the question" in told(conversation):
            return calls("submit_spec", title="Longer files", text=f"As you say: {told(conversation)[-200:]}")
        case _:
            return "Noted."


def _architect(conversation: Conversation) -> Any:
    text = told(conversation)
    if "Hand in the tasks" in text:
        return calls(("read_file", {"path": "a"}), ("list_files", {}))
    if "Review what" in text:
        wants_more = "Task 1" in text and "You wanted this before" not in text
        return calls("review", decision="changes" if wants_more else "approve", notes="Still longer")
    return calls("create_tasks", tasks=_TASKS) if "create_tasks" not in _calls_made(conversation) else "Noted."


def _coder(conversation: Conversation) -> Any:
    first, text = conversation.turns[0].text, told(conversation)  # type: ignore[union-attr]
    if "# Task" not in first:
        return "Noted."
    name = "a" if "# Task 1" in first else "b"
    other = {"a": "@coder-2", "b": "@coder-1"}[name]
    if "short plan" in text:
        return f"I make {name} longer."
    if "Now do it" in text or "The reviewer wants changes" in text:
        # Done twice it would be longer than it should.
        return calls("edit_file", path=name, old="end", new=f"more of {name}\nend")
    match _calls_made(conversation)[-1:]:
        case ["edit_file"]:
            at = f"{name}, for the time {_calls_made(conversation).count('edit_file')}"
            more = [("chat_post", {"text": f"I am at {at}", "to": other}), ("chat_post", {"text": f"Hello from {at}"})]
            return calls(*more, ("write_file", {"path": f"{name}.txt", "content": name}))
        case ["write_file"]:
            return calls("submit_work", summary=f"Make {name} longer")
        case _:
            return "Noted."


def _answer(question: str) -> str:
    return "yes" if question.startswith("Is this what you want?") else f"So: {question}"


MODELS = {"pm": _pm, "architect": _architect, "coder": _coder}


# Lives


class Life:
    """One team in a directory of its own, over as many processes as it takes."""

    def __init__(self, place: Path, template: Path) -> None:
        shutil.copytree(template, place / "repo")
        self.place = place
        self.deaths = 0

    def live(self, moments: set[int], until: list[float] | None = None) -> dict[str, Any]:
        """Die at these moments, or after so many seconds, and go on until it is done."""
        times = list(until or [])
        for _ in range(100):
            began = time.monotonic()
            code = _forked(lambda: self._process(moments), times.pop(0) if times else None)
            if code in (DIED, -signal.SIGKILL):
                self.deaths += 1
                continue
            return {"code": code, "seconds": time.monotonic() - began, **(self._told() if code == 0 else {})}
        raise AssertionError("it never ends")

    def _process(self, moments: set[int]) -> int:
        _watch(self.place / "moments", moments)
        journal = Journal(self.place / "j.db")
        models = {name: Acting(answer) for name, answer in MODELS.items()}
        try:
            team = Team.open("last", journal, models=models)
        except NotSavedError:
            given = settings(coders=2)
            team = Team.begin("Make the files longer", self.place / "repo", given, journal=journal, models=models)
        for _ in range(9):
            if team.work().ended:
                return 0
            if not team.state.questions:
                raise AssertionError(f"it stands still: {team.state}")
            for number, question in list(team.state.questions.items()):
                team.answer(number, _answer(question.text))
        return 5

    def _told(self) -> dict[str, Any]:
        team, repo = Team.open("last", Journal(self.place / "j.db")), self.place / "repo"
        main = f"antiphon/{team.id}/main"
        posts = [each for each in team.messages() if each.kind != "fact"]
        happened = [each for each in team.messages() if each.data.get("fact") in _ONCE]
        return {
            "posts": sorted(_plain(team, f"{each.author} {each.to} {each.kind} {each.text}") for each in posts),
            "facts": sorted(_plain(team, each.text) for each in happened if "with what was merged" not in each.text),
            "commits": sorted(_plain(team, each) for each in git(repo, "log", "--format=%an %s", main).splitlines()),
            "files": {name: git(repo, "show", f"{main}:{name}") for name in ("a", "b", "a.txt", "b.txt")},
            "left": left(team),
            "branches": [_plain(team, each) for each in git(repo, "branch", "--format=%(refname)").splitlines()],
            "checkout": [git(repo, "status", "--porcelain", "-b"), git(repo, "rev-parse", "HEAD")],
            "heard": self._heard(team),
        }

    def _heard(self, team: Team) -> list[str]:
        """What each agent was given of what others said, in all of its conversations."""
        given = Counter[str]()
        for agent in ("@pm", "@architect", "@coder-1", "@coder-2"):
            for conversation in team.conversations(agent).values():
                text = "\n".join(getattr(turn, "text", "") for turn in conversation.turns)
                given.update(f"{agent} {each}" for each in re.findall(r"\[Chat from [^\]]*\]: [^\n]*", text))
        return sorted(given.elements())


_ONCE = ("begun", "assigned", "checked", "merged", "ended")


def _plain(team: Team, text: str) -> str:
    text = re.sub(r"Bring task-\d", "Bring a task", text.replace(team.id, "TEAM"))
    # Which of two is merged first is a matter of time, and so is who has which task.
    return re.sub(r"@?coder-\d", "coder", text)


def differences(whole: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """In what a team that died is not as the one that did not."""
    if other["code"]:
        return ["code"]
    out = [name for name in whole if name not in ("seconds", "heard") and whole[name] != other[name]]
    # What is said when its reader is done is not read any more; nobody is told anything twice.
    twice = [each for each, count in Counter(other["heard"]).items() if count > 1]
    return out + ["heard"] * bool(twice)


def _watch(count: Path, moments: set[int]) -> None:
    """Have this process die before or after what it writes."""

    def dying(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            _pass(count, moments)
            try:
                return function(*given, **named)
            finally:
                _pass(count, moments)

        return call

    SqliteDatabase.transact = dying(SqliteDatabase.transact)  # type: ignore[method-assign]
    SqliteDatabase.write_at_epoch = dying(SqliteDatabase.write_at_epoch)  # type: ignore[method-assign]
    GitRunner._run = dying(GitRunner._run)  # type: ignore[method-assign]


def _pass(count: Path, moments: set[int]) -> None:
    # The file counts over processes.
    handle = os.open(count, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    os.write(handle, b".")
    number = os.lseek(handle, 0, os.SEEK_CUR)
    os.close(handle)
    if number in moments:
        os._exit(DIED)


def _forked(work: Callable[[], int], seconds: float | None = None) -> int:
    """The exit code of a process that does this, and is killed after so many seconds."""
    child = os.fork()
    if child:
        if seconds is not None:
            time.sleep(seconds)
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 70
    try:
        code = work()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _warm_up(place: Path, template: Path) -> dict[str, Any]:
    """The whole life, after which what each process would import for itself is imported here."""
    life = Life(place, template)

    def tell() -> int:
        code = life._process(set())
        (place / "modules").write_text("\n".join(sys.modules), "utf-8")
        return code

    began = time.monotonic()
    code = _forked(tell)
    for name in (place / "modules").read_text("utf-8").splitlines():
        if name.split(".")[0] in ("antiphon", "pydantic", "anyio", "genai_prices", "sqlite3"):
            with suppress(ImportError):
                importlib.import_module(name)
    return {"code": code, "seconds": time.monotonic() - began, **life._told()}


def main(directory: Path, most: int) -> None:
    """Print a line for each life."""
    random = Random(int(os.environ.get("ANTIPHON_SEED", "1")))
    template = repository(directory / "template", _FILES)
    whole = _warm_up(directory / "whole", template)
    count = (directory / "whole" / "moments").stat().st_size
    print(json.dumps({"moments": count, "deaths": 0, "wrong": {}, "whole": whole}), flush=True)
    written = random.sample(range(1, count + 1), min(most - most // 3, count))
    for number in range(most):
        life = Life(directory / str(number), template)
        if number < len(written):
            # Some die again on their way back.
            again = {written[number] + random.randint(1, 60)} if number % 3 == 0 else set[int]()
            how: dict[str, Any] = {"at": written[number]}
            other = life.live({written[number]} | again)
        else:
            how = {"after": [random.uniform(0.05, whole["seconds"]) for _ in range(random.randint(1, 3))]}
            other = life.live(set(), how["after"])
        wrong = {name: [whole.get(name), other.get(name)] for name in differences(whole, other)}
        print(json.dumps({**how, "deaths": life.deaths, "wrong": wrong}), flush=True)
        if not wrong:
            shutil.rmtree(directory / str(number), ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
