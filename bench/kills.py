"""Kill real programs with SIGKILL, at writes to the journal and at any time, and resume them until they are over.

Each process is forked from this one, which has imported all. Half of the kills come before or after a statement that
writes to the database, the others after a time of chance. Some processes go on beside a second one that wants the same
session. Whatever was interrupted is looked up in what the step left behind, and decided with `--retry` or `--skip`. A
fault is a step that is lost or done twice, a line that is printed twice, a text that was shown and is not saved, a
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
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, NoReturn

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src"), str(Path(__file__).parent)]

import psycopg  # noqa: E402
from kills_cases import CASES, CHAT, MODEL, ROWS, Case, answer  # noqa: E402

from antiphon import Store  # noqa: E402
from antiphon.cli import main as antiphon  # noqa: E402
from antiphon.durable import Journal, RunEntry  # noqa: E402
from antiphon.durable.replay_cache import is_indeterminate  # noqa: E402
from antiphon.fakes import Fake  # noqa: E402
from antiphon.programs import batch  # noqa: E402
from antiphon.storage.postgres import is_postgres_url  # noqa: E402
from antiphon.storage.schema import ENDED_STATES  # noqa: E402
from tests import forks, postgres_server  # noqa: E402

CLASSES = ("lost", "repeated", "printed twice", "wrong end", "stuck", "damaged")
#: More processes than any life takes that gets on.
MOST = 80


class Killer:
    """Counts the statements that write, over all processes of a life, and dies before or after one of them."""

    def __init__(self, at: int) -> None:
        self._at = at
        self._count = Path("writes").absolute()

    def install(self) -> None:
        """Count what this process writes to any database."""
        connect, execute = sqlite3.connect, psycopg.Connection.execute
        killing = type("Killing", (sqlite3.Connection,), {"execute": self._wrap(sqlite3.Connection.execute)})
        sqlite3.connect = lambda *given, **named: connect(*given, **{"factory": killing, **named})  # type: ignore[assignment]
        psycopg.Connection.execute = self._wrap(execute)  # type: ignore[method-assign]

    def _wrap(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(connection: Any, statement: Any, *given: Any, **named: Any) -> Any:
            text = statement.decode() if isinstance(statement, bytes) else str(statement)
            if text.lstrip()[:6].upper() in ("SELECT", "PRAGMA"):
                return execute(connection, statement, *given, **named)
            self._die()
            try:
                return execute(connection, statement, *given, **named)
            finally:
                self._die()

        return wrapped

    def _die(self) -> None:
        handle = os.open(self._count, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        os.write(handle, b".")
        if os.lseek(handle, 0, os.SEEK_CUR) == self._at:
            os.kill(os.getpid(), signal.SIGKILL)
        os.close(handle)


class Life:
    """One run in a directory of its own, over as many processes as it takes."""

    def __init__(self, case: Case, place: Path, database: str, random: Random, kills: int, whole: Whole | None) -> None:
        place.mkdir(parents=True)
        for name, text in case.files:
            (place / name).write_text(text)
        self.case, self.place, self.random = case, place, random
        #: A file in this place, or a URL.
        self.database = database or str(place / "logs.db")
        self.left, self.kills, self.processes, self.pairs = kills, 0, 0, 0
        self.was_killed = False
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
        journal = Journal(self.database)
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
            self._look_for_unsure(run)
            # Whoever opens a chat sees that it lacks the end of an answer that was not saved in it.
            return begin if run.state != "done" or self.was_killed or self._lacks_messages(run) else []
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
            return ["answer", f"{run.id}:{question.path}", f"a{words[-2]}"]
        return ["resume", run.id, *(self._decisions(run) if not rows else [])]

    def _look_for_unsure(self, run: RunEntry) -> None:
        """Note whether a model was told that it is not known whether its call took effect."""
        journal = Journal(self.database)
        steps = [*journal.iterate_effects(run.id)] if journal.list_messages(run.id) else []
        self.is_told |= any(each.kind == "tool" and is_indeterminate(each.outcome) for each in steps)
        journal.close()

    def _lacks_messages(self, run: RunEntry) -> bool:
        """Whether a chat has not sent all of its messages, which are as many as what it leaves."""
        journal = Journal(self.database)
        sent = journal.list_messages(run.id)
        journal.close()
        return bool(sent) and len({each.asked["turn"] for each in sent}) < len(self.case.trace)

    def _decisions(self, run: RunEntry) -> list[str]:
        """Return what somebody says of interrupted steps who has looked at what they left."""
        trace, out = _lines(self.place / "trace"), list[str]()
        journal = Journal(self.database)
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
        by_write = self.left > 0 and self.random.random() < 0.5
        writes = _size(self.place / "writes")
        most = max(self._whole.writes - writes, 12) if self._whole else 1
        moment = writes + self.random.randint(1, most) if by_write else 0
        began = time.monotonic()
        children = [_fork(lambda: self._run(words, moment), self) for _ in range(self._count_processes(words))]
        workers = [self._fork_worker(moment)] if self._needs_worker else []
        self.processes += len(children) + len(workers)
        if self.left > 0 and not by_write:
            assert self._whole is not None
            time.sleep(self.random.uniform(0, self._whole.seconds))
            os.kill(self.random.choice(children + workers), signal.SIGKILL)
        self.was_killed = False
        while children:
            child, status = os.waitpid(-1, 0)
            self.was_killed |= os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
            if child in workers:
                # What it has left, another one takes over.
                workers = [self._fork_worker(0)]
                self.processes += 1
            else:
                children.remove(child)
        for each in workers:
            os.kill(each, signal.SIGKILL)
            os.waitpid(each, 0)
        self.longest = max(self.longest, time.monotonic() - began)
        if self.was_killed:
            self.kills += 1
            self.left -= 1
        elif self.left > 0:
            # It was over before its moment came.
            self.left -= self.random.random() < 0.3

    @property
    def _needs_worker(self) -> bool:
        """Whether others execute the rows, as they do on a server."""
        return is_postgres_url(self.database) and self.case.command[:1] == ("map",)

    def _fork_worker(self, moment: int) -> int:
        return _fork(lambda: self._run(("worker", "--slots", "4", "--lease", "2"), moment), self)

    def _count_processes(self, words: tuple[str, ...]) -> int:
        """Have a second process want the same session at times, unless that would decide the same steps again."""
        # Two that open a chat that is not there yet each send its first message.
        is_named = words[0] in ("resume", "answer") or (self.case.work is not None and bool(self.read()))
        is_pair = bool(self.left and is_named and "--retry" not in words and self.random.random() < 0.25)
        self.pairs += is_pair
        return 1 + is_pair

    def _run(self, words: tuple[str, ...], moment: int) -> None:
        Killer(moment).install()
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
        if self.case.transcript:
            shown = [line for line in out if not any(line in said for said in self.case.transcript)]
            found["lost"] += len(shown)
            found["wrong end"] += self._load_transcript() != list(self.case.transcript)
        if not is_postgres_url(self.database):
            with sqlite3.connect(self.database) as file:
                found["damaged"] += file.execute("PRAGMA quick_check").fetchone() != ("ok",)
            file.close()
        return +found

    def _load_transcript(self) -> list[str]:
        with Store(self.database) as store:
            return [turn.text for turn in store.load(CHAT).turns if turn.text]

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


def _fork(work: Callable[[], object], life: Life) -> int:
    child = os.fork()
    if not child:
        _begin(work, life)
    return child


def _begin(work: Callable[[], object], life: Life) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.chdir(life.place)
    for number, name in ((0, os.devnull), (1, "out"), (2, "err")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), number)
    forks.open_streams()
    os.environ |= {"ANTIPHON_DB": life.database, "XDG_CONFIG_HOME": str(life.place / "config")}
    forks.end(work)


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
    options.add_argument("--postgres", action="store_true", help="on PostgreSQL, that of the tests; else on SQLite")
    options.add_argument("--only", default="", help="programs whose names have this in them")
    given = options.parse_args()
    home = Path(tempfile.mkdtemp(prefix="antiphon-kills-"))
    # Keys of sessions on a server are in a file of this machine.
    os.environ["XDG_DATA_HOME"] = str(home / "data")
    server = _serve()
    forks._import_all()  # type: ignore[attr-defined]
    if given.postgres:
        postgres_server.configure()
    cases = [each for each in CASES if given.only in each.name]
    wholes, number = dict[str, Whole](), 0
    kills, faults = Counter[str](), {each.name: Counter[str]() for each in cases}
    lives, processes, pairs = Counter[str](), Counter[str](), Counter[str]()
    stopped: list[int] = []
    # Whoever ends it early is told what was found so far.
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    while sum(kills.values()) < given.kills and not stopped:
        case = cases[number % len(cases)]
        random = Random(given.seed * 1_000_000 + number)
        whole = wholes.get(case.name)
        with ExitStack() as stack:
            database = stack.enter_context(postgres_server.database()) if given.postgres else ""
            life = Life(case, home / str(number), database, random, random.randint(1, 8) if whole else 0, whole)
            found = life.live()
        number += 1
        if whole is None:
            assert not found, (case.name, found, life.place)
            wholes[case.name] = Whole(life)
            continue
        kills[case.name] += life.kills
        lives[case.name] += 1
        processes[case.name] += life.processes
        pairs[case.name] += life.pairs
        faults[case.name] += found
        if found:
            print(f"{case.name}: {dict(found)} in {life.place}", file=sys.stderr, flush=True)
        else:
            shutil.rmtree(life.place)
    os.kill(server, signal.SIGKILL)
    os.waitpid(server, 0)
    if given.postgres:
        postgres_server.finish()
    _tell(cases, lives, processes, pairs, kills, faults)


def _tell(
    cases: list[Case],
    lives: Counter[str],
    processes: Counter[str],
    pairs: Counter[str],
    kills: Counter[str],
    faults: dict[str, Counter[str]],
) -> None:
    print("| program | runs | processes | side by side | kills | " + " | ".join(CLASSES) + " |")
    print("|---|" + "---:|" * (4 + len(CLASSES)))
    for name in (each.name for each in cases):
        cells = [lives[name], processes[name], pairs[name], kills[name], *(faults[name][each] for each in CLASSES)]
        print(f"| {name} | " + " | ".join(map(str, cells)) + " |")
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"\n{sum(kills.values())} kills, {sum(each.ru_utime + each.ru_stime for each in used):.0f} s of CPU")
    sys.exit(any(each.total() for each in faults.values()))


if __name__ == "__main__":
    main()
