"""What a journal costs: an effect written down by antiphon, by DBOS, by LangGraph's checkpointer, and by nobody.

All on SQLite, each in a process of its own with a new file, in turns. Then: how fast a finished run is gone over, what
memory a long one takes, and what `antiphon run` costs. Run it with the interpreter that runs antiphon; the peers live
in `.venv-bench` (see environment.py).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from environment import BENCH, PEERS, prepare, python, variables

from lang import cpu

#: Who writes down how many effects. The peers need longer for each.
CONTENDERS = {
    "no journal": ("nothing", None, 100_000),
    "antiphon, `journal.step`": ("antiphon", None, 5_000),
    "no journal, a program": ("nothing_vibe", None, 20_000),
    "antiphon, a program": ("antiphon_vibe", None, 5_000),
    "DBOS": ("dbos", PEERS, 300),
    "DBOS, its file in WAL mode": ("dbos_wal", PEERS, 300),
    "LangGraph, SqliteSaver": ("langgraph", PEERS, 300),
}
HELLO = {
    "hello.vibe": 'print("hello")\n',
    "one.vibe": 'import { lookup } from "./journal_client.py"\nprint(lookup(1))\n',
}


def client(what: str, name: str, home: Path | None, count: int) -> Any:
    """What a fresh process has measured."""
    with tempfile.TemporaryDirectory() as folder:
        interpreter = python(home) if home else sys.executable
        command = [interpreter, str(BENCH / "journal_client.py"), what, name, f"{folder}/journal.db", str(count)]
        done = subprocess.run(command, env=variables(own=home is None), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def effects(runs: int) -> None:
    """The cost of an effect, side by side."""
    found: dict[str, list[dict[str, float]]] = {label: [] for label in CONTENDERS}
    for _ in range(runs):
        for label, (name, home, count) in CONTENDERS.items():
            found[label].append(client("effects", name, home, count))
    rows = {label: {key: median(run[key] for run in each) for key in each[0]} for label, each in found.items()}
    own = rows["antiphon, `journal.step`"]
    print("| an effect | CPU, ms | wall, ms | bytes | CPU, times antiphon |\n|---|---:|---:|---:|---:|")
    for label, row in rows.items():
        ratio = f"{row['cpu'] / own['cpu']:.2g}" if row["bytes"] else ""
        print(f"| {label} | {row['cpu']:.3f} | {row['wall']:.3f} | {row['bytes']:,.0f} | {ratio} |")
    share = own["cpu"] / rows["DBOS"]["cpu"]
    print(f"\nGoal: at most 0.2 ms of CPU: {_met(own['cpu'] <= 0.2)}.")
    print(f"Goal: at most a tenth of DBOS's: {share:.3f}, {_met(share <= 0.1)}.")


def replay() -> None:
    """A finished run, gone over again."""
    for label in ("antiphon, `journal.step`", "antiphon, a program"):
        found = client("replay", CONTENDERS[label][0], None, 20_000)
        print(f"{label}: 20,000 effects replayed, goal 20,000/s", end="")
        for how, rate in (("by the clock", found["wall"]), ("of CPU", found["cpu"])):
            print(f"; {rate:,.0f}/s {how}: {_met(rate >= 20_000)}", end="")
        print(".")


def memory() -> None:
    """A long run, while it is written and while it is gone over."""
    for what, seen in client("memory", "antiphon", None, 100_000).items():
        print(f"100,000 effects {what}: {seen[0]:.1f} MB after 10,000, {seen[-1]:.1f} MB after all ", end="")
        print(f"({seen[-1] - seen[0]:+.1f} MB).")


def start_up() -> None:
    """CPU of `antiphon run`."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ANTIPHON_DB"] = f"{folder}/logs.db"
        (Path(folder) / "journal_client.py").write_text((BENCH / "journal_client.py").read_text())
        for name, source in HELLO.items():
            file = Path(folder) / name
            file.write_text(source)
            command = [sys.executable, "-m", "antiphon", "run", str(file)]
            kept = min(cpu(command) for _ in range(7))
            bare = min(cpu([*command, "--no-save"]) for _ in range(7))
            print(f"`antiphon run {name}`: {kept:.3f} s of CPU, {bare:.3f} s with `--no-save`", end="")
            print(f"; goal 0.25 s: {_met(kept <= 0.25)}." if name == "hello.vibe" else ", with one effect.")


def _met(is_met: bool) -> str:
    return "met" if is_met else "NOT met"


def main() -> None:
    """Measure all and print it."""
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=3)
    given = options.parse_args()
    prepare(PEERS)
    print(f"Load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n")
    effects(given.runs)
    replay()
    memory()
    start_up()


if __name__ == "__main__":
    main()
