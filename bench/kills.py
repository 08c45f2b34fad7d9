"""Kill real programs with SIGKILL, at writes to the journal and at any time, and resume them until they are over.

Each process is forked from this one, which has imported all. Half of the kills come before or after a statement that
writes to SQLite, the others after a time of chance. Whatever was interrupted is looked up in what the step left behind,
and decided with `--retry` or `--skip`. A fault is a step that is lost or done twice, a line that is printed twice, a
batch with missing rows, another end, or a run that never ends.
"""

from __future__ import annotations

import argparse
import atexit
import json
import logging
import os
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, NoReturn

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src"), str(Path(__file__).parent)]

from kills_cases import CASES, MODEL, ROWS, Case, answer  # noqa: E402

from antiphon.cli import main as antiphon  # noqa: E402
from antiphon.durable import Journal, RunEntry  # noqa: E402
from antiphon.durable.replay_cache import is_indeterminate  # noqa: E402
from antiphon.fakes import Fake  # noqa: E402
from antiphon.programs import batch  # noqa: E402
from antiphon.storage.schema import ENDED_STATES  # noqa: E402
from tests import forks  # noqa: E402

CLASSES = ("lost", "repeated", "printed twice", "wrong end", "stuck", "damaged")
#: More processes than any life takes that gets on.
MOST = 80


class Killing(sqlite3.Connection):
    """Counts the statements that write, over all processes of a life, and dies at one of them."""

    at = 0
    count = Path("writes")

    def execute(self, statement: str, *given: Any) -> Any:
        if statement.lstrip()[:6].upper() in ("SELECT", "PRAGMA"):
            return super().execute(statement, *given)
        self._die()
        try:
            return super().execute(statement, *given)
        finally:
            self._die()

    def _die(self) -> None:
        handle = os.open(self.count, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        os.write(handle, b".")
        if os.lseek(handle, 0, os.SEEK_CUR) == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        os.close(handle)


class Life:
    """One run in a directory of its own, over as many processes as it takes."""

    def __init__(self, case: Case, place: Path, random: Random, kills: int, whole: Whole | None) -> None:
        place.mkdir(parents=True)
        for name, text in case.files:
            (place / name).write_text(text)
        self.case, self.place, self.random = case, place, random
        self.left, self.kills, self.processes = kills, 0, 0
        self.longest = 0.0
        self._whole = whole
        #: Where nobody decides, a model is told that it is not known; it is left at that.
        self._decides = case.name != "ask with tools" or random.random() < 0.5
        self.is_told = False

    def live(self) -> Counter[str]:
        """Run until it is over, and return the faults."""
        while self.processes < MOST:
            if not (command := self._next()):
                return self._faults()
            self._process(*command)
        return Counter(stuck=1)

    def read(self, *, rows: bool = False) -> list[RunEntry]:
        """Return the run, and the rows of a batch."""
        if not (self.place / "logs.db").exists():
            return []
        journal = Journal(self.place / "logs.db")
        try:
            found = [each for each in journal.list_runs() if each.kind != "earlier"][:1]
            return [*found, *journal.iterate_rows(found[0].id)] if rows and found else found
        finally:
            journal.close()

    # Going on

    def _next(self) -> list[str]:
        """Return the command that a person would give now; none, where it is over."""
        begin = [*self.case.command] or ["worker"]
        if not (found := self.read(rows=self.case.command[:1] == ("map",))):
            # It was killed before there was a run: another one begins, and prints from the beginning.
            (self.place / "out").unlink(missing_ok=True)
            return begin
        run, *rows = found
        if self.case.work is not None:
            return begin if run.state != "done" else []
        if rows and run.state in ENDED_STATES:
            for row in rows:
                if row.state != "done":
                    return ["resume", row.id, *self._decisions(row)]
            return []
        if run.state == "done":
            return []
        if run.waiting:
            question = self.random.choice(run.waiting)
            words = question.text.split()[-1]
            return ["answer", run.id, question.path, f"a{words[-2]}"]
        return ["resume", run.id, *(self._decisions(run) if not rows else [])]

    def _decisions(self, run: RunEntry) -> list[str]:
        """Return what somebody says of interrupted steps who has looked at what they left."""
        trace, out = _lines(self.place / "trace"), list[str]()
        journal = Journal(self.place / "logs.db")
        for each in journal.iterate_effects(run.id):
            is_unsure = each.asked.get("again") == "unsure" or each.asked.get("is_harmless") is False
            if not is_indeterminate(each.outcome) and not (each.state == "begun" and is_unsure):
                continue
            if not self._decides:
                self.is_told = True
                continue
            name = _named(each.asked)
            value = json.dumps(name) if each.kind == "python" else name
            out += ["--skip", each.path, value] if name in trace else ["--retry", each.path]
        journal.close()
        return out

    def _process(self, *words: str) -> None:
        self.processes += 1
        by_write = self.left > 0 and self.random.random() < 0.5
        writes = _size(self.place / "writes")
        most = max(self._whole.writes - writes, 12) if self._whole else 1
        moment = writes + self.random.randint(1, most) if by_write else 0
        began = time.monotonic()
        child = _fork(lambda: self._run(words, moment), self.place)
        if self.left > 0 and not by_write:
            assert self._whole is not None
            time.sleep(self.random.uniform(0, self._whole.seconds))
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        self.longest = max(self.longest, time.monotonic() - began)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            self.kills += 1
            self.left -= 1
        elif self.left > 0:
            # It was over before its moment came.
            self.left -= self.random.random() < 0.3

    def _run(self, words: tuple[str, ...], moment: int) -> None:
        sqlite3.connect = _killing(sqlite3.connect)  # type: ignore[assignment]
        Killing.at = moment
        # Few rows are several pages.
        batch._PAGE_SIZE = 5  # type: ignore[attr-defined]
        if self._whole is None:
            atexit.register(lambda: (self.place / "modules").write_text("\n".join(sys.modules)))
        if self.case.work is not None:
            self.case.work()
            return
        sys.argv = ["antiphon", *words]
        sys.path.insert(0, str(self.place))
        antiphon()

    # Looking at what came of it

    def _faults(self) -> Counter[str]:
        found: Counter[str] = Counter()
        trace, out = Counter(_lines(self.place / "trace")), Counter(_lines(self.place / "out"))
        for each in self.case.trace:
            found["lost"] += not trace[each] and not self.is_told
            found["repeated"] += trace[each] > 1
        found["printed twice"] += sum(out[each] > 1 for each in self.case.lines)
        found["lost"] += 0 if self.kills else sum(not out[each] for each in self.case.lines)
        found["wrong end"] += not self._is_right_end()
        found["damaged"] += "Traceback" in (self.place / "err").read_text()
        with sqlite3.connect(self.place / "logs.db") as file:
            found["damaged"] += file.execute("PRAGMA quick_check").fetchone() != ("ok",)
        file.close()
        return +found

    def _is_right_end(self) -> bool:
        run, *rows = self.read(rows=True)
        if self.case.command[:1] == ("map",):
            values = [(row.ending or {}).get("value") for row in rows]
            return len(rows) == ROWS and values == [f"row {row.number}" for row in rows]
        return run.state == "done" and self.case.value in (None, (run.ending or {}).get("value"))


class Whole:
    """What a life without kills takes: how many writes, and how long its longest process.

    What it has imported is imported here too, once for those that follow.
    """

    def __init__(self, life: Life) -> None:
        self.writes, self.seconds = _size(life.place / "writes"), life.longest
        for name in _lines(life.place / "modules"):
            if name not in ("world", "__main__") and name not in sys.modules:
                with suppress(ImportError):
                    import_module(name)


def _fork(work: Callable[[], object], place: Path) -> int:
    child = os.fork()
    if not child:
        _begin(work, place)
    return child


def _begin(work: Callable[[], object], place: Path) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.chdir(place)
    for number, name in ((0, os.devnull), (1, "out"), (2, "err")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), number)
    forks.open_streams()
    os.environ |= {"ANTIPHON_DB": str(place / "logs.db"), "XDG_CONFIG_HOME": str(place / "config")}
    forks.end(work)


def _killing(connect: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given, **named: connect(*given, **{"factory": Killing, **named})


def _serve() -> int:
    """Serve the model in a process of its own, and put its address into the environment."""
    reading, writing = os.pipe()
    if child := os.fork():
        os.close(writing)
        os.environ |= {"OPENAI_BASE_URL": os.read(reading, 1000).decode(), "OPENAI_API_KEY": "any"}
        # A kill loses nothing of what the system has to write, so no process waits for the disk.
        os.environ |= {"ANTIPHON_MODEL": MODEL, "ANTIPHON_SYNCHRONOUS": "normal"}
        return child
    # Whoever asked may be dead before the answer comes.
    logging.disable()
    with Fake(answer) as fake:
        os.write(writing, fake.base_url("openai").encode())
        signal.pause()
    os._exit(0)


def _named(asked: Any) -> str:
    arguments: Any = asked["arguments"]
    if not isinstance(arguments, dict):
        return str(arguments[0])
    return str(arguments.get("what") or arguments["command"].split()[1])


def _lines(file: Path) -> list[str]:
    return file.read_text("utf-8", "replace").splitlines() if file.exists() else []


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=1000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", default="", help="programs whose names have this in them")
    given = options.parse_args()
    home = Path(tempfile.mkdtemp(prefix="antiphon-kills-"))
    server = _serve()
    forks._import_all()  # type: ignore[attr-defined]
    cases = [each for each in CASES if given.only in each.name]
    wholes, number = dict[str, Whole](), 0
    kills, faults = Counter[str](), {each.name: Counter[str]() for each in cases}
    lives, processes = Counter[str](), Counter[str]()
    stopped: list[int] = []
    # Whoever ends it early is told what was found so far.
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    while sum(kills.values()) < given.kills and not stopped:
        case = cases[number % len(cases)]
        random = Random(given.seed * 1_000_000 + number)
        whole = wholes.get(case.name)
        life = Life(case, home / str(number), random, random.randint(1, 8) if whole else 0, whole)
        found = life.live()
        number += 1
        if whole is None:
            assert not found, (case.name, found, life.place)
            wholes[case.name] = Whole(life)
            continue
        kills[case.name] += life.kills
        lives[case.name] += 1
        processes[case.name] += life.processes
        faults[case.name] += found
        if found:
            print(f"{case.name}: {dict(found)} in {life.place}", file=sys.stderr, flush=True)
        else:
            shutil.rmtree(life.place)
    os.kill(server, signal.SIGKILL)
    os.waitpid(server, 0)
    _tell(cases, lives, processes, kills, faults)


def _tell(
    cases: list[Case],
    lives: Counter[str],
    processes: Counter[str],
    kills: Counter[str],
    faults: dict[str, Counter[str]],
) -> None:
    print("| program | runs | processes | kills | " + " | ".join(CLASSES) + " |")
    print("|---|" + "---:|" * (3 + len(CLASSES)))
    for name in (each.name for each in cases):
        cells = [lives[name], processes[name], kills[name], *(faults[name][each] for each in CLASSES)]
        print(f"| {name} | " + " | ".join(map(str, cells)) + " |")
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"\n{sum(kills.values())} kills, {sum(each.ru_utime + each.ru_stime for each in used):.0f} s of CPU")
    sys.exit(any(each.total() for each in faults.values()))


if __name__ == "__main__":
    main()
