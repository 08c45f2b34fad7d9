"""One contender of journal.py in a process of its own, with a new file to write to; prints what it measured as JSON."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from time import perf_counter, process_time


def lookup(n: int) -> str:
    """Look a number up: about 200 characters."""
    return f"the entry for {n}: " + "as it was found in the register of all that is known " * 3 + "."


def nothing(_file: Path):
    def work(count: int) -> None:
        for number in range(count):
            lookup(number)

    return work


def antiphon(file: Path):
    from antiphon.durable import Journal

    journal = Journal(file)

    def work(count: int) -> None:
        with journal.run(f"run of {count}"):
            for number in range(count):
                journal.step(lookup, number)

    return work


def antiphon_vibe(file: Path, *, is_kept: bool = True):
    from contextlib import nullcontext

    from antiphon.durable import Journal
    from antiphon.lang.runtime.program import Host, load

    journal = Journal(file)
    program = file.with_name("loop.vibe")

    def work(count: int) -> None:
        program.write_text(
            f'import {{ lookup }} from "{Path(__file__).resolve()}"\nfor i in {count} {{ let found = lookup(i) }}\n'
        )
        loaded = load(str(program))
        with journal.run(f"run of {count}") if is_kept else nullcontext():
            loaded.run(Host())

    return work


def nothing_vibe(file: Path):
    return antiphon_vibe(file, is_kept=False)


def dbos(file: Path):
    from dbos import DBOS

    DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{file}", "run_admin_server": False})
    step = DBOS.step()(lookup)

    @DBOS.workflow()
    def work(count: int) -> None:
        for number in range(count):
            step(number)

    DBOS.launch()
    return work


def dbos_wal(file: Path):
    # Not how it comes, but what a file remembers once somebody has said so.
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    return dbos(file)


def langgraph(file: Path):
    from typing import TypedDict

    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph

    class State(TypedDict):
        # Only the last entry: every step writes all of the state, so one that grows costs more with each.
        number: int
        wanted: int
        found: str

    graph = StateGraph(State)
    graph.add_node("lookup", lambda state: {"number": state["number"] + 1, "found": lookup(state["number"])})
    graph.add_edge(START, "lookup")
    graph.add_conditional_edges("lookup", lambda state: "lookup" if state["number"] < state["wanted"] else END)
    saver = SqliteSaver(sqlite3.connect(file, check_same_thread=False))
    compiled = graph.compile(checkpointer=saver)

    def work(count: int) -> None:
        config = {"configurable": {"thread_id": str(count)}, "recursion_limit": count + 10}
        compiled.invoke({"number": 0, "wanted": count, "found": ""}, config, durability="sync")

    return work


def effects(name: str, file: Path, count: int) -> dict[str, float]:
    """What an effect costs, in ms and bytes."""
    work = globals()[name](file)
    work(count // 10)
    before, wall, cpu = _packed(file), perf_counter(), process_time()
    work(count)
    cpu, wall = process_time() - cpu, perf_counter() - wall
    return {"cpu": 1000 * cpu / count, "wall": 1000 * wall / count, "bytes": (_packed(file) - before) / count}


def _packed(file: Path) -> int:
    if not file.exists():
        return 0
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return file.stat().st_size


def replay(name: str, file: Path, count: int) -> dict[str, float]:
    """How many effects of a finished run are gone over in a second."""
    work = globals()[name](file)
    work(count)
    wall, cpu = perf_counter(), process_time()
    work(count)
    return {"wall": count / (perf_counter() - wall), "cpu": count / (process_time() - cpu)}


def memory(name: str, file: Path, count: int) -> dict[str, list[float]]:
    """Megabytes in use after each tenth of a run, and after each tenth of it gone on with."""
    from antiphon.durable import Journal

    journal = Journal(file)

    def work() -> list[float]:
        seen = []
        with journal.run("long"):
            for number in range(count):
                journal.step(lookup, number)
                if (number + 1) % (count // 10) == 0:
                    seen.append(_resident())
        return seen

    del name
    return {"written": work(), "replayed": work()}


def _resident() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


if __name__ == "__main__":
    what, who, where, number = sys.argv[1:]
    print(json.dumps(globals()[what](who, Path(where), int(number))))
