"""Stories: what is asked for in a tiny repository, and whether what came of it is good."""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from zipfile import ZipFile

from antiphon.team.sandboxed_tests import run_sandboxed_tests

HERE = Path(__file__).resolve().parent
#: Without the plugins of whatever else is installed, which take longer than the tests.
TESTS = "python -m pytest -q -p no:cacheprovider --disable-plugin-autoload"
#: What nobody sees before it is judged is put here; a `conftest.py` of the change has no say in it.
_HIDDEN = "hidden_checks"
_JUDGING = f"{TESTS} tests && {TESTS} -x --noconftest {_HIDDEN}"
#: The same commits each time.
_WHO = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Bench"), ("EMAIL", "bench@example.com"), ("DATE", "2026-01-01T00:00:00Z"))
}


@dataclass(frozen=True, slots=True)
class Story:
    """What is asked for. `parts` are for scripted coders: what each writes before it is brought together.

    `allowed` are patterns of the files that may be changed, `answer` what the human says when asked. `cost` is in US
    dollars.
    """

    name: str
    kind: str
    repository: str
    prompt: str
    allowed: tuple[str, ...]
    coders: int = 1
    parts: tuple[str, ...] = ()
    answer: str = "The request says all there is to say; decide the rest yourself."
    cost: float = 1.0
    requests: int = 80
    minutes: float = 15.0

    @property
    def home(self) -> Path:
        """Where its files are."""
        return HERE / "stories" / self.name

    def files(self, *directories: str) -> dict[str, str]:
        """The texts in some of its directories, by path; later ones stand for earlier ones."""
        return {name: text for each in directories for name, text in _files(self.home / each)}

    def solution(self) -> dict[str, str]:
        """What a good change makes of the files it changes."""
        return self.files(*(f"parts/{part}" for part in self.parts), "solution")


def stories(names: list[str] | None = None) -> list[Story]:
    """All stories, or those of these names."""
    known = sorted(path.parent.name for path in HERE.glob("stories/*/story.toml"))
    if unknown := sorted({*(names or ())} - {*known}):
        raise SystemExit(f"there is no story {', '.join(unknown)}; there are: {', '.join(known)}")
    return [_story(name) for name in names or known]


def _story(name: str) -> Story:
    given = tomllib.loads((HERE / "stories" / name / "story.toml").read_text("utf-8"))
    lists = {key: tuple(value) for key, value in given.items() if isinstance(value, list)}
    return Story(name, **given | lists | {"prompt": given["prompt"].strip()})


def _files(home: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(home.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(home).as_posix(), path.read_text("utf-8")


def make_repository(story: Story, where: Path) -> Path:
    """A git repository with the files that a story begins with, in one commit."""
    shutil.copytree(HERE / "repositories" / story.repository, where, ignore=shutil.ignore_patterns("__pycache__"))
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "Begin")):
        _git(where, *arguments)
    return where


def judge(story: Story, repository: Path, head: str, *, sandbox: bool = True) -> str:
    """Why a commit is not what was asked for; nothing, where it is."""
    changed = _git(repository, "diff", "--name-only", "-z", "HEAD", head).decode().split("\0")[:-1]
    if not changed:
        return "nothing was changed"
    if strange := [name for name in changed if not any(fnmatch(name, each) for each in story.allowed)]:
        return f"it changes {', '.join(strange)}"
    with tempfile.TemporaryDirectory() as temporary:
        # Nothing in it can lead out of the directory: links become files.
        with ZipFile(io.BytesIO(_git(repository, "archive", "--format=zip", head))) as archive:
            archive.extractall(temporary)
        shutil.copytree(story.home / "checks", Path(temporary, _HIDDEN))
        report = asyncio.run(run_sandboxed_tests(temporary, _JUDGING, seconds=120, sandbox=sandbox))
    return "" if report.passed else f"{report.why}: {_last_line(report.output)}"


def _last_line(output: str) -> str:
    return next((line for line in reversed(output.splitlines()) if line.strip()), "nothing was printed")


def _git(repository: Path, *arguments: str) -> bytes:
    command = ["git", "-c", "core.hooksPath=", "-c", "commit.gpgSign=false", *arguments]
    return subprocess.run(command, cwd=repository, env=os.environ | _WHO, check=True, capture_output=True).stdout
