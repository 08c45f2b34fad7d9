"""The stories of `bench/team`: each can be told apart from nothing done, and what is scripted gets through."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parent.parent / "bench" / "team"


def _bench(name: str) -> Any:
    sys.path.insert(0, str(BENCH))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(BENCH))


stories = _bench("stories")
run = _bench("run")
ALL = stories.stories()


@pytest.fixture(autouse=True)
def _own_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def committed(repository: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text, encoding="utf-8")
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    for arguments in (("checkout", "-q", "-b", "change"), ("add", "."), (*who, "commit", "-qm", "Change")):
        subprocess.run(["git", *arguments], cwd=repository, check=True)
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, check=True, capture_output=True, text=True)
    subprocess.run(["git", "checkout", "-q", "main"], cwd=repository, check=True)
    return found.stdout.strip()


def test_there_are_stories_of_every_kind():
    assert {story.kind for story in ALL} == {
        "bug fix",
        "small feature",
        "refactoring over two files",
        "tests to add",
        "documentation and code",
        "two tasks on the same lines",
    }


@pytest.mark.parametrize("story", ALL, ids=lambda story: story.name)
def test_the_hidden_checks_of_a_story_fail_before_and_pass_with_its_solution(story: Any, tmp_path: Path):
    before = stories.make_repository(story, tmp_path / "before")
    nothing = committed(before, {"tests/test_nothing.py": "def test_nothing():\n    pass\n"})
    assert stories.judge(story, before, nothing, sandbox=False).startswith("failed")
    after = stories.make_repository(story, tmp_path / "after")
    assert stories.judge(story, after, committed(after, story.solution()), sandbox=False) == ""


def test_a_change_of_other_files_is_not_what_was_asked_for(tmp_path: Path):
    story = next(each for each in ALL if each.name == "bug")
    repository = stories.make_repository(story, tmp_path / "repository")
    assert stories.judge(story, repository, "HEAD", sandbox=False) == "nothing was changed"
    head = committed(repository, story.solution() | {"conftest.py": ""})
    assert stories.judge(story, repository, head, sandbox=False) == "it changes conftest.py"


def test_a_repository_is_the_same_each_time(tmp_path: Path):
    made = [stories.make_repository(ALL[0], tmp_path / name) for name in ("one", "two")]
    heads = {(each / ".git/refs/heads/main").read_text(encoding="utf-8") for each in made}
    assert len(heads) == 1


@pytest.mark.parametrize(("name", "mode"), [("pair", "team"), ("bug", "solo")])
def test_what_is_scripted_is_resolved(name: str, mode: str):
    story = next(each for each in ALL if each.name == name)
    attempt = run.tried(story, mode, None, sandbox=False)
    assert attempt.fault == ""
    assert attempt.requests > 1
    assert attempt.tokens > 1000
    assert attempt.cost > 0


def test_failures_count_in_what_an_accepted_change_takes():
    attempts = [
        run.Attempt("a", "team", "", 10, 1000, 0.5, 1.0),
        run.Attempt("b", "team", "failed", 30, 3000, 1.5, 5.0),
        run.Attempt("a", "solo", "failed", 2, 100, None, 1.0),
    ]
    lines = {line.split(" | ")[0].strip("| "): line for line in run.told(attempts).splitlines()}
    assert lines["resolved@1"] == "| resolved@1 | 1/2 | 0/1 |"
    assert lines["cost per accepted change"] == "| cost per accepted change | $2.0000 | none was accepted |"
    assert lines["requests of an attempt, min/median/max"].endswith("| 10 / 20 / 30 | 2 / 2 / 2 |")
    assert lines["cost of an attempt, min/median/max"].endswith("| $0.5000 / $1.0000 / $1.5000 | not known |")
