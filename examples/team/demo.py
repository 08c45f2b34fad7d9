"""A team at work without a key: its models are scripted, all else is real: git, pytest, the commands.

Run: `python examples/team/demo.py` where antiphon and pytest are installed. `make demo` shows it as its last part.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from rich.text import Text

from antiphon.durable import Journal
from antiphon.fakes import Fake, load_script
from antiphon.team import Team, sandbox_problem
from antiphon.terminal import make_console

HERE = Path(__file__).resolve().parent
MODEL = "anthropic/claude-sonnet-5"
WANTED = "Mend the failing test, let a receipt take a discount in per cent, and show large amounts as 1,234.50."
TESTS = ("python", "-m", "pytest", "-q", "--disable-plugin-autoload")
#: A team that waits for its human says so with this code.
WAITS = 3


class Stage:
    """Where a story is told: headings, and commands that are shown and run, with nobody at the keyboard."""

    def __init__(self, place: Path, database: Path, variables: dict[str, str]) -> None:
        kept = {name: value for name, value in os.environ.items() if not _is_foreign(name)}
        self.place = place
        self.database = database
        self.variables = kept | {"ANTIPHON_DB": str(database)} | variables
        self._console = make_console()

    def head(self, title: str, about: str) -> None:
        """Begin a part: what it is called, and in a line what it shows."""
        self._console.print()
        self._console.print(Text(title, "bold cyan"))
        self._console.print(about)

    def say(self, text: str, command: str = "") -> None:
        """Say something, and show the command that one would type for it."""
        self._console.print()
        self._console.print(Text(text, "dim"))
        if command:
            self._console.print(Text.assemble(("$ ", "dim"), command), soft_wrap=True)
        self._console.file.flush()

    def show(self, text: str, *command: str, codes: tuple[int, ...] = (0,)) -> None:
        """Say what comes, show the command, and run it; one that ends with another code ends the demonstration."""
        self.say(text, shlex.join(command))
        self.run(*command, codes=codes)

    def run(self, *command: str, codes: tuple[int, ...] = (0,)) -> None:
        """Run a command."""
        done = subprocess.run(found(command), cwd=self.place, env=self.variables, stdin=subprocess.DEVNULL, check=False)
        if done.returncode not in codes:
            sys.exit(f"`{shlex.join(command)}` ended with {done.returncode}")


def found(command: tuple[str, ...]) -> list[str]:
    """A command of ours is run by this interpreter, whatever is installed besides."""
    first, *rest = command
    return {"antiphon": [sys.executable, "-m", "antiphon"], "python": [sys.executable]}.get(first, [first]) + rest


def _is_foreign(name: str) -> bool:
    """Whether a variable is about another database, another repository, or a way to the network that nobody needs."""
    return name.startswith(("ANTIPHON_", "GIT_")) or name.lower().endswith("_proxy")


def play(home: Path, database: Path) -> None:
    """Tell the story of a small team in a directory, from what is wanted to what is merged."""
    for needed, there in (("git", shutil.which("git")), ("pytest", find_spec("pytest"))):
        if not there:
            sys.exit(f"this demonstration needs {needed}")
    # Where tests cannot be confined: these are our own.
    options = ("--no-sandbox",) if sandbox_problem() else ()
    with Fake(load_script(HERE / "script.json")) as fake:
        stage = Stage(
            _repository(home),
            database,
            {
                "ANTHROPIC_API_KEY": "none-is-needed",
                "ANTHROPIC_BASE_URL": fake.base_url("anthropic"),
                "ANTIPHON_DB": str(database),
                "GIT_CONFIG_GLOBAL": os.devnull,
                "GIT_PAGER": "cat",
                "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
                "XDG_CONFIG_HOME": str(home / "config"),
            },
        )
        _perform(stage, options)


def _repository(home: Path) -> Path:
    """A repository of the small shop."""
    place = home / "basket"
    shutil.copytree(HERE / "repository", place, ignore=shutil.ignore_patterns("__pycache__"))
    git = ("git", "-c", "user.name=You", "-c", "user.email=you@example.com")
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "Sell things")):
        subprocess.run([*git, *arguments], cwd=place, check=True, env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull})
    return place


def _perform(stage: Stage, options: tuple[str, ...]) -> None:
    """Show one command after another."""
    stage.show("A small shop; it has a test that fails:", *TESTS, codes=(1,))
    stage.show("Its `team.toml` may run and spend, so you trust it first:", "antiphon", "trust", "--yes")
    stage.show(
        "A team: somebody who asks what you want, an architect, two coders:",
        *("antiphon", "team", "run", WANTED, "--model", MODEL, *options),
        codes=(WAITS,),
    )
    stage.show("It waits for you, and no process has to. Answer when you like:", *_answer(stage, "The customer gains."))
    stage.show("It goes on where it was:", "antiphon", "team", "resume", codes=(WAITS,))
    stage.show(
        "Accept the plan. A coder says that all tests pass; the machine runs them itself, and sends the work back:",
        *_answer(stage, "yes"),
        "--resume",
    )
    stage.show(
        "How it went, with one attempt sent back by the tests, one by the reviewer:", "antiphon", "team", "status"
    )
    branch = f"antiphon/{_team(stage).id}/main"
    stage.show("Your branch and your files are as they were:", "git", "status", "--short", "--branch")
    stage.show("Theirs is one to look at:", "git", "log", "--oneline", "--graph", branch)
    stage.show("What it changes:", "git", "diff", "--stat", f"main...{branch}")
    stage.show("Take it:", "git", "merge", "--quiet", branch)
    stage.show("And all tests pass:", *TESTS)


def _answer(stage: Stage, text: str) -> tuple[str, ...]:
    """The command that answers the question that is open."""
    (number,) = _team(stage).state.questions
    return "antiphon", "team", "answer", str(number), text


def _team(stage: Stage) -> Team:
    return Team.open("last", Journal(str(stage.database)))


def main() -> None:
    """Play it in a directory that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="antiphon-team-", ignore_cleanup_errors=True) as home:
        play(Path(home), Path(home) / "journal.db")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
