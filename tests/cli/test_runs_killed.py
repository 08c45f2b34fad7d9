"""Programs that are killed at any moment, and gone on with through the commands alone.

`ANTIPHON_MOMENTS=1000` kills at so many, which takes a while.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from antiphon.durable import Journal
from antiphon.fakes import Fake, call
from tests.cli.test_runs import last, program
from tests.forks import Forked
from tests.lang_unit.commands import antiphon

MOMENTS = int(os.environ.get("ANTIPHON_MOMENTS", "8"))

#: Three steps side by side that nobody may do twice, each of which waits to be let go.
ROUNDS = """\
const got = async for n in 1..3 {
  yield py(n) {
    import os, pathlib, time
    open("log", "a").write(f"{n}\\n")
    os.write(1, b"in\\n")
    while not pathlib.Path("go").exists():
        time.sleep(0.02)
    return n * 10
  }
}
print(got)
"""
TOOLS = """\
import os, pathlib, time
from antiphon import tool

@tool
async def pay(n: int) -> str:
    \"\"\"Pay.\"\"\"
    import asyncio
    open("log", "a").write(f"{n}\\n")
    os.write(1, b"in\\n")
    while not pathlib.Path("go").exists():
        await asyncio.sleep(0.02)
    return f"paid {n}"
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs.db"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


def interrupted_steps(told: str) -> list[str]:
    return re.findall(r"step (\S+) was interrupted", told)


class TestSeveralAtOnce:
    def killed_inside(self, text: str) -> None:
        child = Forked("run", program(text), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert child.stdout is not None
        assert [child.stdout.readline() for _ in range(3)] == [b"in\n"] * 3
        child.kill()
        child.wait()

    def test_one_command_decides_about_all_that_was_interrupted(self):
        self.killed_inside(ROUNDS)
        id = last()["id"]
        assert antiphon("show").out.splitlines()[-1] == (
            f"session {id} is stopped: resume it with `antiphon resume {id}`"
        )
        assert antiphon("list", "--state", "stopped").out.split()[:2] == [id, "stopped"]
        assert antiphon("list", "--state", "running").code == 1
        ran = antiphon("resume")
        steps = interrupted_steps(ran.err + antiphon("show").out)
        assert (ran.code, len(steps) > 0) == (1, True)
        Path("go").touch()
        ran = antiphon("resume", "--retry", "1[0].1", "--skip", "1[1].1", "70", "--retry", "1[2].1")
        assert (ran.code, ran.out) == (0, "[10,70,30]\n")
        assert Counter(Path("log").read_text().split()) == {"1": 2, "2": 1, "3": 2}

    def test_a_pure_block_is_run_again_unasked(self):
        self.killed_inside(ROUNDS.replace("py(", "pure py("))
        Path("go").touch()
        ran = antiphon("resume")
        assert (ran.code, ran.out.splitlines()[-1]) == (0, "[10,20,30]")

    def test_a_call_of_the_program_in_a_round_is_given_what_came_of_it(self):
        Path("tools.py").write_text(TOOLS)
        self.killed_inside('import { pay } from "./tools.py"\nprint(async for n in 1..3 { yield pay(n) })\n')
        skipped = [word for n in range(3) for word in ("--skip", f"1[{n}].1", f"paid {n + 1}")]
        ran = antiphon("resume", *skipped)
        assert (ran.code, ran.out) == (0, '["paid 1","paid 2","paid 3"]\n')

    def test_a_call_that_is_stopped_because_another_round_failed_has_no_outcome(self):
        Path("tools.py").write_text(TOOLS)
        ran = antiphon(
            "run",
            program(
                'import { pay } from "./tools.py"\nasync for n in 1..2 {\n'
                '  if n == 2 {\n    sleep(0.3)\n    throw "no"\n  }\n'
                '  try { print(pay(n)) } catch e { print("caught") }\n}\n'
            ),
        )
        assert (ran.code, ran.out, "no" in ran.err) == (1, "", True)
        states = {each["path"]: each["state"] for each in json.loads(antiphon("show", "--json").out)["steps"]}
        assert states["1[0].1"] == "begun"

    def test_to_do_a_step_again_and_not_to_do_it_is_a_mistake(self):
        wrong = antiphon("resume", "--retry", "1", "--skip", "1", "x")
        assert (wrong.code, "use one of them for step 1" in wrong.err) == (2, True)


#: Waits and pauses, rounds side by side, work beside the rest; every step that is done leaves a line.
LONG = """\
function mark(name: text): text {
  return py(name) {
    import os
    handle = os.open("log", os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    os.write(handle, f"{name}\\n".encode())
    os.close(handle)
    return name
  }
}
print(mark("first"))
async let aside = mark("aside")
sleep(0.02)
const got = async for n in 1..4 {
  sleep(0.01 * n)
  const who = ask "Who is {n}?"
  const done = mark("round {n}")
  yield "{who} {done}"
}
print(got.join(", "))
try { throw "up" } catch e { print(mark("caught")) }
print(ask "Sure?")
print(aside, mark("last"))
got
"""


class Commands:
    """Goes on with the last run as a person would, and kills some of the commands."""

    def __init__(self, random: Random, moments: int) -> None:
        self._random = random
        self.left = moments
        self.out: list[str] = []

    def run(self, *arguments: str) -> None:
        """Run a command; while some may still be killed, at a moment after it has first written something."""
        before = _written()
        child = Forked(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.left > 0:
            while child.poll() is None and _written() == before:
                time.sleep(0.002)
            time.sleep(self._random.uniform(0, 0.2))
            child.kill()
        out, err = child.communicate()
        self.left -= child.returncode == -signal.SIGKILL
        self.out += out.splitlines()
        assert "Traceback" not in err, err
        assert child.returncode in (0, 1, 3, -signal.SIGKILL), err


def _written() -> list[int]:
    return [each.stat().st_mtime_ns for each in (Path("../logs.db"), Path("../logs.db-wal")) if each.exists()]


def live(random: Random, moments: int) -> Commands:
    """Run the program to its end, killed at so many moments on its way at most."""
    commands = Commands(random, moments)
    commands.run("run", program(LONG))
    for _ in range(400):
        found = json.loads(antiphon("list", "--json").out)
        if not found:
            commands.run("run", "p.vibe")
        elif found[0]["state"] == "done":
            return commands
        elif questions := found[0]["waiting"]:
            random.shuffle(questions)
            for each in questions[: random.randint(1, len(questions))]:
                commands.run("answer", f"last:{each['step']}", f"a{each['text'][-2]}")
            commands.run("resume", "last")
        else:
            commands.run("resume", "last", *decisions())
    raise AssertionError("it never ends")


def decisions() -> list[str]:
    """What a person says of steps that were interrupted, who has looked in the log."""
    done = Path("log").read_text().splitlines() if Path("log").exists() else []
    shown = json.loads(antiphon("show", "--json").out)["steps"]
    out: list[str] = []
    for each in shown:
        is_half_done = each["state"] == "failed" and each["outcome"]["error"]["type"] == "HalfDone"
        if each["kind"] == "python" and (each["state"] == "begun" or is_half_done):
            (name,) = each["asked"]["arguments"]
            out += ["--skip", each["path"], json.dumps(name)] if name in done else ["--retry", each["path"]]
    return out


def test_a_program_that_is_killed_at_random_moments_comes_to_the_same_end():
    total, number = 0, 0
    while total < MOMENTS:
        number += 1
        Path("log").unlink(missing_ok=True)
        per_run = min(MOMENTS - total, 4)
        commands = live(Random(number), per_run)
        total += max(per_run - commands.left, 1)
        assert last()["result"]["value"] == [f"a{n} round {n}" for n in range(1, 5)]
        assert Counter(Path("log").read_text().splitlines()) == dict.fromkeys(
            ["first", "aside", *(f"round {n}" for n in range(1, 5)), "caught", "last"], 1
        )
        assert not [line for line, times in Counter(commands.out).items() if times > 1], commands.out
        antiphon("delete", "--older", "0h", "--yes")


def test_lines_before_the_first_effect_are_printed_once_whenever_it_is_killed(tmp_path: Path) -> None:
    """As soon as there is a run, all that was printed is in it."""
    file = program(
        'for i in 900 { print("line {i}") }\n'
        'py() {\n  import os, time\n  time.sleep(0 if os.path.exists("go") else 60)\n}\n'
    )
    with open("out", "w") as out:
        child = Forked("run", file, stdout=out)
        journal = Journal(tmp_path / "logs.db")
        while not journal.database.query("SELECT 1 FROM sessions", ()):
            assert child.poll() is None
        child.kill()
        child.wait()
    Path("go").touch()
    is_begun = any(each.path == "901" for each in journal.iterate_effects(last()["id"]))
    resumed = antiphon("resume", "last", *(["--retry", "901"] if is_begun else []))
    printed = Path("out").read_text().splitlines() + resumed.out.splitlines()
    assert (resumed.code, Counter(printed).most_common(1)[0][1], len(printed)) == (0, 1, 900)


#: Runs a command that dies where the saved conversation gets its name in the run, which is a write of its own.
DIES_UNNAMED = """\
import os, signal, sqlite3, sys
from antiphon.cli import main

class Killing(sqlite3.Connection):
    def execute(self, statement, *values):
        if "SET launch = ?" in statement and '"conversation":""' not in str(values):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(statement, *values)

connect = sqlite3.connect
sqlite3.connect = lambda *given, **named: connect(*given, **{**named, "factory": Killing})
sys.argv = ["antiphon", *sys.argv[1:]]
main()
"""


def test_a_question_that_is_killed_after_its_conversation_was_saved_is_resumed(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    monkeypatch.setenv("ANTIPHON_MODEL", "openai/gpt-5")
    Path("notes").write_text("It is done.\n")
    fake.play(call("read_file", path="notes"), "It is done.")
    command = [sys.executable, "-c", DIES_UNNAMED, "ask", "--tools", "read", "Is it done?"]
    assert subprocess.run(command, capture_output=True).returncode == -signal.SIGKILL
    (listed,) = json.loads(antiphon("list", "--json").out)
    assert listed["state"] == "stopped"
    ran = antiphon("resume", listed["id"])
    assert (ran.code, ran.out) == (0, "It is done.\n")
    (listed,) = json.loads(antiphon("list", "--json").out)
    assert listed["state"] == "done"
    assert antiphon("show", listed["id"]).out.endswith("\n  It is done.\n")
