"""What Antiphon does, in two minutes and without a key: the embedded model at work, then a scripted team.

Run: `make demo`, or `python examples/demo.py` where antiphon is installed.
"""

from __future__ import annotations

import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

from team.demo import Stage, found, play

from antiphon.durable import Journal
from antiphon.terminal import make_console

ROOT = Path(__file__).resolve().parent.parent
#: What is done here is written down here, and is none of the business of whoever looks.
HOME = ROOT / "build" / "demo"
MODEL = ("--model", "local/0.5b")
TYPE = "{name: text, age: number}"
ASK = ("antiphon", "ask", "Ada Lovelace was 36 when she died.", "--returns", TYPE, *MODEL)
EXTRACT = ("antiphon", "run", "examples/extract.vibe", *MODEL)
NOTES = ("antiphon", "run", "examples/notes.vibe", *MODEL)
# One mail at a time: whoever is killed in the middle has done something, and has something left.
TRIAGE = ("antiphon", "run", "--max-parallel", "1", "examples/mail_triage.vibe", *MODEL)
TRUST = ("antiphon", "trust", "--yes")
PROGRAMS = (EXTRACT, NOTES, TRIAGE)
#: For so many seconds somebody at a terminal may say that he wants to see the page.
PATIENCE = 20
AFTER = """
Use it yourself:
    . .venv/bin/activate       where make demo has put it
    antiphon setup             choose whose models to use
    antiphon chat              talk to one
More: docs/start.md, docs/examples.md"""


def main() -> None:
    """Tell the story, one part after another; the first command that fails ends it."""
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    stage = Stage(_checkout(), HOME / "demo.db", {"XDG_CONFIG_HOME": str(HOME / "config")})
    stage.show("The embedded model is fetched, once:", "antiphon", "models", "pull", "0.5b")
    answer_with_types(stage)
    loop_with_tools(stage)
    kill_and_resume(stage)
    stage.head(
        "4  A team", "What its models say is scripted, so that it needs no key. Git, pytest and the commands are real."
    )
    play(HOME, stage.database)
    look_at_the_page(stage)
    print(AFTER, flush=True)


def _checkout() -> Path:
    """A repository with the programs that are shown, so that what is allowed here is allowed nowhere else."""
    place = HOME / "checkout"
    for program in PROGRAMS:
        (file,) = (word for word in program if word.endswith(".vibe"))
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, place / file)
    for name in ("mails", "notes"):
        shutil.copytree(ROOT / "examples" / name, place / "examples" / name)
    subprocess.run(["git", "init", "--quiet", place], check=True)
    return place


def answer_with_types(stage: Stage) -> None:
    """From the shell, and in a program."""
    stage.head("1  Typed answers", "You name a type, and get a value of it, or an error.")
    stage.show("From the shell:", *ASK)
    stage.show("In a program, which declares what it wants:", *EXTRACT)


def loop_with_tools(stage: Stage) -> None:
    """A program with a tool of its own."""
    stage.head(
        "2  A tool loop", "The model calls a tool of the program and answers from what it gives. Each call is a card."
    )
    stage.show("Programs that came from elsewhere may do nothing yet. What would they do? It is allowed:", *TRUST)
    stage.show("A question about some notes:", *NOTES)


def kill_and_resume(stage: Stage) -> None:
    """A program that dies in the middle, and goes on."""
    stage.head("3  Killed, and gone on with", "What a run has done is written down, and is not done again.")
    stage.say("Three mails, one after the other; the process is killed after the first:", " ".join(TRIAGE))
    with subprocess.Popen(found(TRIAGE), cwd=stage.place, env=stage.variables, stdin=subprocess.DEVNULL) as process:
        _wait_for_a_request(stage, process)
        process.kill()
    terminal = make_console(sys.stderr)
    if terminal.is_terminal and not terminal.is_dumb_terminal:
        # What moved on the last line moves no more.
        terminal.file.write("\r\x1b[K")
    print(f"(kill -9 {process.pid})", flush=True)
    stage.show("It goes on; the first mail is not asked about again:", "antiphon", "resume", "last")
    stage.show("All that it did, in both lives:", "antiphon", "show", "last")


def _wait_for_a_request(stage: Stage, process: subprocess.Popen[bytes]) -> None:
    """Until a model has answered once."""
    journal = Journal(str(stage.database))
    before = {run.id for run in journal.list_runs()}
    while process.poll() is None:
        for run in journal.list_runs():
            if run.id not in before and any(
                each.ended for each in journal.iterate_effects(run.id) if each.kind == "request"
            ):
                return
        time.sleep(0.05)


def look_at_the_page(stage: Stage) -> None:
    """Say how, and do it if somebody is there who wants it."""
    stage.head(
        "5  The page",
        "Every run, call and result of this demonstration, in a browser: runs, the team, and what it cost.",
    )
    place = stage.database.relative_to(ROOT)
    stage.say("Look at it:", f"ANTIPHON_DB={place} antiphon serve --open")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    print(f"Enter opens it now; without it, this ends in {PATIENCE} seconds. ", end="", flush=True)
    # The end of input makes it readable too, and nobody has pressed anything.
    if select.select([sys.stdin], [], [], PATIENCE)[0] and sys.stdin.readline():
        subprocess.run(found(("antiphon", "serve", "--open")), cwd=stage.place, env=stage.variables, check=False)
    else:
        print()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        # The command that was running has said so itself.
        sys.exit(130)
