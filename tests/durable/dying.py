"""A program that dies at every moment, in real processes: run as a module, so that whoever tests it forks no threads.

`python -m tests.durable.dying DIRECTORY MOMENTS [URL]` makes programs, runs each as a whole, and then once more for a
moment before or after one of its writes, each time until it is over; until it has died at so many. A line of JSON for
each program says what differed. With a URL the journal is there, and not in files.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from antiphon.durable import ActiveRun, Journal
from antiphon.durable.replay_cache import is_indeterminate, set_aside_run
from antiphon.effects import EffectContext, HumanAnswer, PathCounter, use_context
from antiphon.errors import NotReadyError
from antiphon.fakes import Answer, Call, Fake, Received
from antiphon.lang.runtime import Host, load
from antiphon.programs.manual_outcome import parse_manual_outcome
from antiphon.programs.run_ending import finish_run
from antiphon.storage.database import LeasedWrite
from antiphon.storage.postgres import PostgresDatabase
from antiphon.storage.sqlite import SqliteDatabase
from tests.lang_unit.harness import connecting, said
from tests.lang_unit.test_replay import Delays

DIED = 9
#: Longer than any of the programs sleeps.
_DAY = 86_400
#: What a second time changes something about.
_ONCE = ("pay", "drop", "block")

WORLD = '''
"""Tools that leave a trace."""

import os

from antiphon import tool
from antiphon.tools import NeedsHumanInput, ToolContext


def did(what: str) -> str:
    handle = os.open(os.environ["TRACE"], os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    os.write(handle, f"{what}\\n".encode())
    os.close(handle)
    return f"did {what}"


@tool
def pay(x: int) -> str:
    """Pay."""
    return did(f"pay {x}")


@tool(read_only=True)
def look(x: int) -> str:
    """Look."""
    return did(f"look {x}")


@tool(idempotent=True)
def put(x: int) -> str:
    """Put."""
    return did(f"put {x}")


@tool(needs_approval=True)
def drop(x: int) -> str:
    """Drop."""
    return did(f"drop {x}")


@tool(read_only=True)
def pick(x: int) -> str:
    """Let somebody pick."""
    raise NeedsHumanInput(f"pick {x}?")
'''
_HEAD = """\
import { did, pay, look, put, drop, pick } from "./world.py"
// Says something twice.
tool twice(x: number): text {
  const said = do "twice {x}"
  return "{said}!"
}
// Asks somebody.
tool consult(x: number): text {
  print("consulting {x}")
  const who = ask "consult {x}?"
  return "{who} {pay(x + 1000)}"
}
// Waits.
tool rest(x: number): text {
  sleep(3600)
  return "rested {x} {look(x)}"
}
model m = { name: "default", tools: [pay, look, put, drop, pick, twice, consult, rest] }
"""
_LINES = (
    'print(do "say {n}")',
    "print(pay({n}))",
    "print(look({n}), put({n}))",
    'const b{n} = py() {{\n  from world import did\n  return did("block {n}")\n}}\nprint(b{n})',
    'print(ask "who {n}?")',
    "sleep(3600)\nprint({n})",
    'try {{ print(pay({n})) }} catch e {{ print("caught {n}") }}',
    'try {{ throw "t{n}" }} catch e {{ print(e.message, ask "really {n}?") }}',
    'try {{ print(do "fail {n}") }} catch e {{ print("caught", e.code) }}',
    'print(vibe "use pay {n}" m)',
    'print(vibe "use look put {n}" m)',
    'print(vibe "use drop {n}" m)',
    'print(vibe "use pick {n}" m)',
    'print(vibe "use consult {n}" m)',
    'print(vibe "use rest twice {n}" m)',
    'print(vibe "use drop consult pay {n}" m)',
    'async let l{n} = do "later {n}"\nprint(ask "between {n}?")\nprint(l{n})',
    'function f{n}() {{ return ask "aside {n}?" }}\nasync let a{n} = f{n}()\nprint(pay({n}))\nprint(a{n})',
    'print(async for i in 1..3 {{ yield do "round {n} {{i}}" }})',
    "print(async for i in 1..3 {{ yield pay(10 * {n} + i) }})",
    'print(async for i in 1..3 {{ print("in {n}", i)\n  yield ask "which {n} {{i}}?" }})',
    'print(async for i in 1..2 {{ yield vibe "use consult drop {n}{{i}}" m }})',
    "print(async for i in 1..2 {{ sleep(3600)\n  yield put(10 * {n} + i) }})",
)


def program_of(random: Random) -> str:
    """A program of some of all that can be done."""
    return _HEAD + "\n".join(random.choice(_LINES).format(n=number) for number in range(1, random.randint(3, 6))) + "\n"


def answering(received: Received) -> Any:
    """What a model says depends on what it was asked alone."""
    last = [line for line in said(received).splitlines() if line.strip()][-1]
    _note("asked", f"{last}")
    if last.startswith("fail"):
        return Answer("")
    if last.startswith("use"):
        *names, number = last.split()[1:]
        return Answer(calls=[Call(name, {"x": int(number)}, f"call_{name}_{number}") for name in names])
    return f"({last[-40:]})"


def spoken(text: str, about: str) -> HumanAnswer:
    """What a person says to a question."""
    return HumanAnswer() if about == "approval" else HumanAnswer(f"me, of {text}")


class Dying(Journal):
    """A journal whose process dies at moments of its run: there is one before and one after each write."""

    def __init__(self, path: str, count: Path, moments: set[int]) -> None:
        super().__init__(path)
        self._count = count
        self._moments = moments

    def write_at_epoch(self, run: str, epoch: int, write: LeasedWrite, *more: Any, **beside: Any) -> None:
        self._pass()
        super().write_at_epoch(run, epoch, write, *more, **beside)
        self._pass()

    def release(self, *given: Any, **named: Any) -> None:
        self._pass()
        super().release(*given, **named)
        self._pass()

    def _pass(self) -> None:
        # The file counts over processes.
        if _append(self._count, ".") in self._moments:
            os._exit(DIED)


class Life:
    """One run in a directory of its own, over as many processes as it takes."""

    def __init__(self, place: Path, text: str, random: Random, url: str = "") -> None:
        place.mkdir(parents=True)
        self.run = str(place)[-200:]
        self.journal = url or str(place / "j.db")
        (place / "world.py").write_text(WORLD, "utf-8")
        (place / "p.vibe").write_text(text, "utf-8")
        self.place = place
        self.random = random
        self.later = 0
        self.decided = 0
        self.deaths = 0

    def live(self, moments: set[int]) -> dict[str, Any]:
        """Die at these moments, and go on until it is over."""
        for _ in range(200):
            code = _forked(lambda: self._process(moments))
            if code == DIED:
                self.deaths += 1
                if self.random.random() < 0.5:
                    self._decide()
            elif code == 3:
                self._answer()
            elif code or not self._decide():
                return self._told(code)
        raise AssertionError("it never ends")

    def _process(self, moments: set[int], decided: dict[str, str | None] | None = None) -> int:
        os.chdir(self.place)
        sys.path.insert(0, str(self.place))
        os.environ["TRACE"] = str(self.place / "trace")
        for each in (SqliteDatabase, PostgresDatabase):
            _put_forward(each, self.later)
        journal = Dying(self.journal, self.place / "moments", moments)
        run = self.run
        running = journal.resume(run) if journal.has_run(run) else journal.begin("program", "p.vibe", id=run)
        if decided is not None:
            run_id = self.run
            given = {
                path: value and parse_manual_outcome(journal, run_id, path, value) for path, value in decided.items()
            }
            set_aside_run(journal, running, decided=given)
        return self._attempted(running)

    def _attempted(self, running: ActiveRun) -> int:
        host = Host(
            write=lambda line: _append(self.place / "printed", f"{line}\n"),
            connect=connecting(Fake([answering for _ in range(500)])),
            default_model=lambda: "openai-chat/gpt-5",
        )
        with use_context(EffectContext(PathCounter(), (Delays(self.random.randrange(1000)), running.middleware))):
            report = load("p.vibe").attempt(host)
        told = finish_run(running, report)
        (self.place / "end.json").write_text(json.dumps([told["outcome"], told["value"], _words(told["error"])]))
        return 3 if told["outcome"] == "waiting" else 0

    def _answer(self) -> None:
        """Somebody answers some of what is open, in any order, once; where nothing is, it gets late."""
        journal = Journal(self.journal)
        found = list(journal.list_questions(self.run))
        self.random.shuffle(found)
        for each in found[: self.random.randint(1, len(found))] if found else []:
            journal.answer(self.run, each.path, spoken(each.text, each.about))
            try:
                journal.answer(self.run, each.path, HumanAnswer("twice"))
            except NotReadyError:
                continue
            raise AssertionError("a question was answered twice")
        journal.close()
        if not found:
            self.later += _DAY

    def _decide(self) -> bool:
        """Somebody looks whether what was interrupted took effect, and says so; whether there was any."""
        journal = Journal(self.journal)
        unsure = [each for each in journal.iterate_effects(self.run) if _is_unsure(each)]
        journal.close()
        if not unsure:
            return False
        trace = _lines(self.place / "trace")
        decided = {each.path: _given(each) if _trace_of(each) in trace else None for each in unsure}
        self.decided += 1
        code = _forked(lambda: self._process(set(), decided))
        assert code in (0, 3), decided
        return True

    def _told(self, code: int) -> dict[str, Any]:
        journal = Journal(self.journal)
        rows = journal.database.query("SELECT path, kind, hash, state FROM steps WHERE session = ?", (self.run,))
        trace, printed = _lines(self.place / "trace"), _lines(self.place / "printed")
        return {
            "code": code,
            "end": json.loads((self.place / "end.json").read_text()),
            "rows": sorted(list(row) for row in rows),
            "once": sorted(each for each in trace if each.startswith(_ONCE)),
            "again": sorted({each for each in trace if not each.startswith(_ONCE)}),
            "asked": sorted(set(_lines(self.place / "asked"))) if not self.decided else [],
            "printed": sorted(printed),
        }


def _put_forward(database: Any, seconds: float) -> None:
    now = database.now
    database.now = lambda *given: now(*given) + seconds


def _is_unsure(entry: Any) -> bool:
    if entry.state == "begun":
        return entry.asked.get("again") == "unsure" or entry.asked.get("is_harmless") is False
    return is_indeterminate(entry.outcome)


def _given(entry: Any) -> str:
    said = f"did {_trace_of(entry)}"
    return json.dumps(said) if entry.kind == "python" else said


def _trace_of(entry: Any) -> str:
    if entry.kind == "tool":
        arguments = entry.asked["arguments"]
        return f"{entry.asked['tool']} {arguments['x']}"
    return entry.asked["source"].split('did("')[1].split('"')[0]


def _words(error: Any) -> Any:
    return error and [error["code"], error["message"]]


def _note(kind: str, text: str) -> None:
    _append(Path(os.environ["TRACE"]).with_name(kind), f"{text}\n")


def _append(file: Path, text: str) -> int:
    """Add to a file; how long it is then."""
    handle = os.open(file, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    try:
        os.write(handle, text.encode())
        return os.lseek(handle, 0, os.SEEK_CUR)
    finally:
        os.close(handle)


def _lines(file: Path) -> list[str]:
    return file.read_text("utf-8").splitlines() if file.exists() else []


def _forked(work: Callable[[], int]) -> int:
    """The exit code of a process that does this."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 70
    try:
        code = work()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def warm_up(place: Path) -> None:
    """Import here what each process would import for itself."""
    life = Life(place, program_of(Random(4)) + "".join(f"{each.format(n=99)}\n" for each in _LINES), Random(0))

    def tell() -> int:
        code = life._process(set())
        (place / "modules").write_text("\n".join(sys.modules), "utf-8")
        return code

    _forked(tell)
    for name in _lines(place / "modules"):
        if name.split(".")[0] in ("antiphon", "pydantic", "starlette", "httpx2", "anyio", "genai_prices", "sqlite3"):
            with suppress(ImportError):
                importlib.import_module(name)


def differences(whole: dict[str, Any], other: dict[str, Any], decided: bool) -> list[str]:
    """In what a run that died is not as the one that did not."""
    out = [name for name in ("code", "end", "once", "again") if whole[name] != other[name]]
    if decided:
        # A call that is over is taken as a whole when a run begins anew, without what was done inside of it.
        return out + ["rows"] * (_outer(whole["rows"]) != _outer(other["rows"]))
    out += [name for name in ("rows", "asked") if whole[name] != other[name]]
    # A line may be lost with the process that was to print it, and is never there twice.
    printed = other["printed"]
    return (
        out + ["printed"] * (not set(printed) <= set(whole["printed"])) + ["twice"] * (len(printed) > len(set(printed)))
    )


def _outer(rows: list[list[str]]) -> list[list[str]]:
    calls = [f"{path}/" for path, kind, *_ in rows if kind == "tool"]
    return [row for row in rows if not any(row[0].startswith(each) for each in calls)]


def examine(directory: Path, seed: int, most: int, url: str) -> dict[str, Any]:
    """How often a program died, and what differed then."""
    text = program_of(Random(seed))
    whole = Life(directory / "whole", text, Random(seed), url).live(set())
    moments = (directory / "whole" / "moments").stat().st_size
    numbers = range(1, moments + 1)
    deaths, wrong = 0, list[Any]()
    for number in numbers if moments <= most else sorted(Random(seed).sample(numbers, most)):
        random = Random(seed + number)
        life = Life(directory / str(number), text, random, url)
        # Some die again on their way back.
        told = life.live({number} | ({number + random.randint(1, 20)} if number % 3 == 0 else set()))
        deaths += life.deaths
        if found := differences(whole, told, bool(life.decided)):
            sides = {name: [whole.get(name), told.get(name)] for name in found}
            wrong.append({"moment": number, "decided": life.decided, **sides})
    return {"seed": seed, "moments": moments, "deaths": deaths, "end": whole["end"], "wrong": wrong, "text": text}


def main(directory: Path, moments: int, url: str = "") -> None:
    """Print a line for each program."""
    warm_up(directory / "warm")
    seed, deaths = int(os.environ.get("ANTIPHON_SEED", "1")), 0
    while deaths < moments:
        told = examine(directory / str(seed), seed, max(moments // 4, 1), url)
        print(json.dumps(told), flush=True)
        deaths += told["deaths"]
        seed += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
