"""Show a typed answer, a tool loop, and a program that is killed and resumed, with the embedded model and no key.

Run: `make demo`, or `python examples/demo.py` where antiphon is installed.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from team.demo import Stage, found

from antiphon.durable import Journal

ROOT = Path(__file__).resolve().parent.parent
#: The database of the demonstration is apart from yours.
HOME = ROOT / "build" / "demo"
MODEL = ("--model", "local/0.5b")
TYPE = "{name: text, age: number}"
ASK = ("antiphon", "ask", "Ada Lovelace was 36 when she died.", "--returns", TYPE, *MODEL)
NOTES = ("antiphon", "run", "examples/notes.vibe", *MODEL)
# One mail at a time, so that the program is killed between its first answer and its last.
TRIAGE = ("antiphon", "run", "--max-parallel", "1", "examples/mail_triage.vibe", *MODEL)
FILES = ("notes.vibe", "mail_triage.vibe", "notes", "mails")
AFTER = """
Use it yourself:
  . .venv/bin/activate    # puts antiphon on your path
  antiphon setup          # choose a model
  antiphon chat           # chat with it
Continue with docs/start.md and docs/examples.md."""


def main() -> None:
    """Run the parts in order; the first command that fails ends the demonstration."""
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    # A program outside of any repository needs no decision about trust.
    with tempfile.TemporaryDirectory(prefix="antiphon-demo-") as place:
        copy_programs(Path(place))
        stage = Stage(Path(place), HOME / "demo.db", {"XDG_CONFIG_HOME": str(HOME / "config")})
        stage.show("The embedded model is downloaded once.", "antiphon", "setup", "models", "pull", "0.5b")
        stage.show("1. A typed answer: you name a type, and get a value of it or an error.", *ASK)
        stage.show("2. A tool loop: the model calls a tool and answers from its result.", *NOTES)
        kill_and_resume(stage)
    stage.say("4. The web page shows these sessions, with every step and its cost:", page_command(stage))
    print(AFTER, flush=True)


def copy_programs(place: Path) -> None:
    """Copy the programs and their files to a directory."""
    for name in FILES:
        source, target = ROOT / "examples" / name, place / "examples" / name
        target.parent.mkdir(exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)


def kill_and_resume(stage: Stage) -> None:
    """Kill a program after its first answer, resume it, and show its steps."""
    stage.say("3. A program sorts three mails. It is killed after the first.", shlex.join(TRIAGE))
    with subprocess.Popen(
        found(TRIAGE), cwd=stage.place, env=stage.variables, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        wait_for_request(stage, process)
        process.kill()
    print(f"(killed with `kill -9 {process.pid}`)", flush=True)
    stage.show("It is resumed. The first mail is not sent to the model again.", "antiphon", "resume", "last")
    stage.show("All its steps, from both processes:", "antiphon", "show", "last")


def wait_for_request(stage: Stage, process: subprocess.Popen[bytes]) -> None:
    """Return once the program has the answer to its first request, or has ended."""
    journal = Journal(str(stage.database))
    before = {run.id for run in journal.list_runs()}
    while process.poll() is None:
        for run in journal.list_runs():
            if run.id not in before and any(
                each.ended for each in journal.iterate_effects(run.id) if each.kind == "request"
            ):
                return
        time.sleep(0.05)


def page_command(stage: Stage) -> str:
    """Return the command that opens the web page over the database of the demonstration."""
    return f"antiphon --db {stage.database.relative_to(ROOT)} serve --open"


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        # The command that was running has reported it.
        sys.exit(130)
