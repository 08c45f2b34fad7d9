"""Show a team at work without a key: the answers of its models are scripted; git, pytest and the commands are real.

Run: `python examples/team/demo.py` where antiphon and pytest are installed.
"""

from __future__ import annotations

import os
import re
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
    """Prints and runs commands in a directory, with a database and without a keyboard."""

    def __init__(self, place: Path, database: Path, variables: dict[str, str]) -> None:
        kept = {name: value for name, value in os.environ.items() if not _is_foreign(name)}
        self.place = place
        self.database = database
        self.variables = kept | {"ANTIPHON_DB": str(database)} | variables
        self._console = make_console()

    def say(self, text: str, command: str = "") -> None:
        """Print a sentence and a command."""
        self._console.print()
        self._console.print(Text(text, "bold"))
        if command:
            for mark, line in zip(
                ("$ ", *["> "] * len(command)), split_command(command, self._console.width), strict=False
            ):
                self._console.print(Text.assemble((mark, "dim"), line), soft_wrap=True)
        self._console.file.flush()

    def show(self, text: str, *command: str, codes: tuple[int, ...] = (0,)) -> None:
        """Print a sentence and a command, and run it; another exit code ends the demonstration."""
        self.say(text, shlex.join(command))
        self.run(*command, codes=codes)

    def run(self, *command: str, codes: tuple[int, ...] = (0,)) -> None:
        """Run a command."""
        done = subprocess.run(found(command), cwd=self.place, env=self.variables, stdin=subprocess.DEVNULL, check=False)
        if done.returncode not in codes:
            sys.exit(f"`{shlex.join(command)}` ended with {done.returncode}")


def split_command(command: str, width: int) -> list[str]:
    """Return the lines of a command, broken between its words as a shell continues them."""
    lines = [""]
    for word in re.findall(r"(?:'[^']*'|\S)+", command):
        # Two columns are for the prompt and two for the backslash.
        if lines[-1] and len(lines[-1]) + len(word) > width - 5:
            lines[-1] += " \\"
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def found(command: tuple[str, ...]) -> list[str]:
    """Return the command with this interpreter, whatever else is installed."""
    first, *rest = command
    return {"antiphon": [sys.executable, "-m", "antiphon"], "python": [sys.executable]}.get(first, [first]) + rest


def _is_foreign(name: str) -> bool:
    """Return True for a variable that names another database, another repository or a proxy."""
    return name.startswith(("ANTIPHON_", "GIT_")) or name.lower().endswith("_proxy")


def play(home: Path, database: Path) -> None:
    """Run a small team in a directory, from the request to the merge."""
    for needed, there in (("git", shutil.which("git")), ("pytest", find_spec("pytest"))):
        if not there:
            sys.exit(f"this demonstration needs {needed}")
    # The tests are our own, so they may run where no sandbox is available.
    options = ("--no-sandbox",) if sandbox_problem() else ()
    with Fake(load_script(HERE / "script.json"), strict=False) as fake:
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
    """Create a repository of the small shop."""
    place = home / "basket"
    shutil.copytree(HERE / "repository", place, ignore=shutil.ignore_patterns("__pycache__"))
    git = ("git", "-c", "user.name=You", "-c", "user.email=you@example.com")
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "Sell things")):
        subprocess.run([*git, *arguments], cwd=place, check=True, env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull})
    return place


def _perform(stage: Stage, options: tuple[str, ...]) -> None:
    """Show the commands in order."""
    stage.show("A small shop, with a test that fails:", *TESTS, codes=(1,))
    stage.show(
        "Its `team.toml` names commands and limits, so you trust it first:", "antiphon", "setup", "trust", "--yes"
    )
    stage.show(
        "Start a team: a product manager, an architect and two coders. Their answers are scripted.",
        *("antiphon", "team", WANTED, "--model", MODEL, *options),
        codes=(WAITS,),
    )
    stage.show(
        "The team waits for you, without a process. Answer when you like:", *_answer(stage, "The customer gains.")
    )
    stage.show("Resume it:", "antiphon", "resume", _team(stage).id, codes=(WAITS,))
    stage.show(
        "Accept the plan. One coder claims that all tests pass; the test run shows that they do not:",
        *_answer(stage, "yes"),
        "--resume",
    )
    stage.show(
        "The result, with one attempt sent back by the tests and one by the reviewer:",
        *("antiphon", "show", _team(stage).id),
    )
    branch = f"antiphon/{_team(stage).id}/main"
    stage.show("Your branch and your files are unchanged:", "git", "status", "--short", "--branch")
    stage.show("The team has a branch of its own:", "git", "log", "--oneline", "--graph", branch)
    stage.show("Its changes:", "git", "diff", "--stat", f"main...{branch}")
    stage.show("Merge it:", "git", "merge", "--quiet", branch)
    stage.show("All tests pass:", *TESTS)


def _answer(stage: Stage, text: str) -> tuple[str, ...]:
    """Return the command that answers the open question."""
    team = _team(stage)
    (number,) = team.state.questions
    return "antiphon", "answer", f"{team.id}:{number}", text


def _team(stage: Stage) -> Team:
    return Team.open("last", Journal(str(stage.database)))


def main() -> None:
    """Run the demonstration in a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="antiphon-team-", ignore_cleanup_errors=True) as home:
        play(Path(home), Path(home) / "journal.db")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
