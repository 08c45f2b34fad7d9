"""A team at work without a key: its models are scripted, all else is real: git, pytest, the commands.

Run: `make demo`, or `python examples/team/demo.py` where antiphon and pytest are installed.
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

from antiphon.agents import Team, sandbox_problem
from antiphon.fakes import Fake, load_script
from antiphon.journal import Journal

HERE = Path(__file__).resolve().parent
MODEL = "anthropic/claude-sonnet-5"
WANTED = "Mend the failing test, let a receipt take a discount in per cent, and show large amounts as 1,234.50."
TESTS = ("python", "-m", "pytest", "-q", "--disable-plugin-autoload")
#: A team that waits for its human says so with this code.
WAITS = 3


class Stage:
    """A copy of the repository, and commands that are shown and run in it."""

    def __init__(self, home: Path, address: str) -> None:
        self.repository = home / "basket"
        kept = {name: value for name, value in os.environ.items() if not _is_foreign(name)}
        self._variables = kept | {
            "ANTHROPIC_API_KEY": "none-is-needed",
            "ANTHROPIC_BASE_URL": address,
            "ANTIPHON_DB": str(home / "journal.db"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_PAGER": "cat",
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "XDG_CONFIG_HOME": str(home / "config"),
        }
        shutil.copytree(HERE / "repository", self.repository, ignore=shutil.ignore_patterns("__pycache__"))
        who = ("-c", "user.name=You", "-c", "user.email=you@example.com")
        for arguments in (("init", "-q", "-b", "main"), ("add", "."), (*who, "commit", "-qm", "Sell things")):
            self.run("git", *arguments)

    def show(self, caption: str, *command: str, codes: tuple[int, ...] = (0,)) -> None:
        """Say what comes, show the command, and run it; one that ends with another code ends the demonstration."""
        print(f"\n# {caption}\n$ {shlex.join(command)}", flush=True)
        self.run(*command, codes=codes)

    def run(self, *command: str, codes: tuple[int, ...] = (0,)) -> None:
        """Run a command in the repository, with nobody at the keyboard."""
        done = subprocess.run(
            _found(command), cwd=self.repository, env=self._variables, stdin=subprocess.DEVNULL, check=False
        )
        if done.returncode not in codes:
            sys.exit(f"`{shlex.join(command)}` ended with {done.returncode}")

    def answer(self, text: str) -> tuple[str, ...]:
        """The command that answers the question that is open."""
        (number,) = self._team().state.questions
        return "antiphon", "team", "answer", str(number), text

    def branch(self) -> str:
        """The branch that the team works on."""
        return f"antiphon/{self._team().id}/main"

    def _team(self) -> Team:
        return Team.open("last", Journal(self._variables["ANTIPHON_DB"]))


def _is_foreign(name: str) -> bool:
    """Whether a variable is about another database, another repository, or a way to the network that nobody needs."""
    return name.startswith(("ANTIPHON_", "GIT_")) or name.lower().endswith("_proxy")


def _found(command: tuple[str, ...]) -> list[str]:
    """A command of ours is run by this interpreter, whatever is installed besides."""
    first, *rest = command
    return {"antiphon": [sys.executable, "-m", "antiphon"], "python": [sys.executable]}.get(first, [first]) + rest


def main() -> None:
    """Tell the story of a small team, from what is wanted to what is merged."""
    for needed, found in (("git", shutil.which("git")), ("pytest", find_spec("pytest"))):
        if not found:
            sys.exit(f"this demonstration needs {needed}")
    # Where tests cannot be confined: these are our own.
    options = ("--no-sandbox",) if sandbox_problem() else ()
    with (
        tempfile.TemporaryDirectory(prefix="antiphon-team-", ignore_cleanup_errors=True) as home,
        Fake(load_script(HERE / "script.json")) as fake,
    ):
        perform(Stage(Path(home), fake.base_url("anthropic")), options)


def perform(stage: Stage, options: tuple[str, ...]) -> None:
    """Show one command after another."""
    stage.show("A small shop; it has a test that fails", *TESTS, codes=(1,))
    stage.show(
        "A team: somebody who asks what you want, an architect, two coders. Their models are scripted here",
        *("antiphon", "team", "run", WANTED, "--model", MODEL, *options),
        codes=(WAITS,),
    )
    stage.show("It waits for you, and no process has to: answer when you like", *stage.answer("The customer gains."))
    stage.show("It goes on where it was", "antiphon", "team", "resume", codes=(WAITS,))
    stage.show(
        "Accepted. A coder says that all tests pass: the machine runs them itself, and sends the work back",
        *stage.answer("yes"),
        "--resume",
    )
    stage.show("How it went: one attempt sent back by the tests, one by the reviewer", "antiphon", "team", "status")
    branch = stage.branch()
    stage.show("Your branch and your files are as they were", "git", "status", "--short", "--branch")
    stage.show("Theirs is one to look at", "git", "log", "--oneline", "--graph", branch)
    stage.show("What it changes", "git", "diff", "--stat", f"main...{branch}")
    stage.show("Taken", "git", "merge", "--quiet", branch)
    stage.show("And all tests pass", *TESTS)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
