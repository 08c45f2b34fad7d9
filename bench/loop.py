"""What a tool loop costs the client: CPU of antiphon and of its peers, against a fake server in another process.

Run it with the interpreter that runs antiphon; the peers get an environment of their own (see environment.py).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from environment import BENCH, LITELLM, PEERS, prepare, python, variables

SIZES = (1, 50, 200, 1000)
#: How often a loop is run in one process: short ones are too quick to be measured alone.
REPEATS = {1: 30, 50: 3}
RATIO_AT = 200


@dataclass(frozen=True)
class Contender:
    """Who takes part, and where it lives; `None` is the interpreter that runs this."""

    title: str
    module: str
    home: Path | None = PEERS
    is_framework: bool = True


CONTENDERS = (
    Contender("antiphon", "antiphon", None, is_framework=False),
    Contender("httpx2, by hand", "httpx2", None, is_framework=False),
    Contender("openai SDK, by hand", "openai", is_framework=False),
    Contender("pydantic-ai", "pydantic_ai"),
    Contender("openai-agents", "openai_agents"),
    Contender("LangChain", "langchain"),
    Contender("litellm", "litellm", LITELLM),
)


@dataclass
class Measured:
    """The runs of one contender, by number of rounds."""

    contender: Contender
    runs: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def setup(self) -> float:
        """CPU seconds of importing and setting up."""
        return median(run["setup"] for run in self._all())

    @property
    def ready(self) -> float:
        """CPU seconds until the first two answers are there: what is put off at set-up is in here."""
        return median(run["setup"] + run["first"] for run in self._all())

    @property
    def title(self) -> str:
        """The name with the versions measured."""
        versions = next(iter(self._all()))["versions"]
        return f"{self.contender.title} ({', '.join(versions.values())})"

    def per_turn(self, size: int) -> float | None:
        """CPU milliseconds per turn; nothing if it was not measured."""
        runs = self.runs.get(size)
        return median(1000 * run["loop"] / run["turns"] for run in runs) if runs else None

    def stopped(self, size: int) -> int | None:
        """The number of turns after which it was stopped, if it was."""
        turns = self.runs[size][0]["turns"]
        return turns if turns < size else None

    def _all(self) -> Iterable[dict[str, Any]]:
        return (run for runs in self.runs.values() for run in runs)


@contextmanager
def server(delay: float) -> Generator[str]:
    """The fake, in a process of its own; gives its address."""
    command = [sys.executable, str(BENCH / "loop_server.py"), str(delay)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=variables(own=True), **pipes) as process:
        try:
            if not (url := process.stdout.readline().strip()):
                raise SystemExit("the server did not start")
            yield url
        finally:
            process.stdin.close()


def run_client(contender: Contender, url: str, rounds: int, limit: float) -> dict[str, Any]:
    """One process: one contender, one size."""
    interpreter = python(contender.home) if contender.home else sys.executable
    repeats = REPEATS.get(rounds, 1)
    command = [interpreter, str(BENCH / "loop_client.py"), contender.module, url, str(rounds), str(repeats), str(limit)]
    done = subprocess.run(command, env=variables(own=contender.home is None), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{contender.title} failed at {rounds} rounds:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(contender: Contender, sizes: list[int], options: argparse.Namespace) -> Measured:
    """All runs of one contender. Where one run takes a minute and more, one must do."""
    measured = Measured(contender)
    with server(options.delay) as url:
        for size in sizes:
            results = measured.runs[size] = [run_client(contender, url, size, options.limit)]
            while len(results) < options.runs and results[0]["loop"] < 60:
                results.append(run_client(contender, url, size, options.limit))
            print(f"{contender.title}: {size} rounds, {measured.per_turn(size):.2f} ms per turn", file=sys.stderr)
    return measured


def remembered(file: Path, chosen: list[Contender]) -> list[Measured]:
    """The contenders of an earlier run that are not measured again."""
    earlier = json.loads(file.read_text())
    others = [c for c in CONTENDERS if c.module in earlier and c not in chosen]
    return [Measured(c, {int(size): runs for size, runs in earlier[c.module].items()}) for c in others]


def table(rows: list[Measured], sizes: list[int]) -> str:
    """The results in Markdown."""
    heads = ["", "start-up, s", "first loop done, s", *(f"{size:,}, ms/turn" for size in sizes)]
    if compared := _compared(rows, sizes):
        heads.append(f"times antiphon at {RATIO_AT}")
    lines = [_line(heads), _line(["---"] + ["---:"] * (len(heads) - 1))]
    for row in rows:
        cells = [row.title, f"{row.setup:.2f}", f"{row.ready:.2f}", *(_cell(row, size) for size in sizes)]
        if compared:
            cells.append(f"{row.per_turn(RATIO_AT) / compared:.1f}")
        lines.append(_line(cells))
    return "\n".join([*lines, *_notes(rows, sizes)])


def _compared(rows: list[Measured], sizes: list[int]) -> float | None:
    own = rows[0].contender.module == "antiphon" and RATIO_AT in sizes
    return rows[0].per_turn(RATIO_AT) if own else None


def _cell(row: Measured, size: int) -> str:
    sign = "≥ " if row.stopped(size) else ""
    return f"{sign}{row.per_turn(size):.2f}"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _notes(rows: list[Measured], sizes: list[int]) -> list[str]:
    stopped = [f"{row.contender.title} after {turns}" for row in rows for size in sizes if (turns := row.stopped(size))]
    return ["", f"≥: stopped at the time limit ({', '.join(stopped)} turns); later turns cost more."] if stopped else []


def goals(rows: list[Measured]) -> list[str]:
    """What was aimed at, and what came of it; only what was measured is judged."""
    own = next((row for row in rows if row.contender.module == "antiphon"), None)
    peers = [row for row in rows if row.contender.is_framework]
    if own is None or not peers:
        return []
    lines = []
    if (ours := own.per_turn(RATIO_AT)) and all(row.per_turn(RATIO_AT) for row in peers):
        best = min(peers, key=lambda row: row.per_turn(RATIO_AT))
        ratio = best.per_turn(RATIO_AT) / ours
        lines.append(_verdict(ratio >= 40, f"the best framework costs {ratio:.0f} times as much a turn", "at least 40"))
    if (short := own.per_turn(50)) and (long := own.per_turn(1000)):
        lines.append(_verdict(long / short < 2, f"from 50 to 1,000 rounds × {long / short:.2f}", "less than 2"))
    quickest = min(row.setup for row in peers) / own.setup
    lines.append(
        _verdict(quickest >= 10, f"the quickest framework takes {quickest:.1f} times as long to start", "at least 10")
    )
    return lines


def _verdict(met: bool, found: str, goal: str) -> str:
    return f"- {'met' if met else 'MISSED'}: {found} (goal: {goal})"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="NAMES", help="contenders, by module: antiphon,httpx2,...")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of tool rounds")
    parser.add_argument("--runs", type=int, default=3, help="processes for each, of which the median counts")
    parser.add_argument("--delay", type=float, default=0, help="milliseconds for which the server thinks every time")
    parser.add_argument("--limit", type=float, default=180, help="CPU seconds after which a loop is stopped")
    parser.add_argument(
        "--from", type=Path, dest="earlier", metavar="FILE", help="take the others from what --json wrote"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the raw numbers")
    return parser.parse_args()


def main() -> None:
    """Prepare, measure, print."""
    options = arguments()
    chosen = [c for c in CONTENDERS if not options.only or c.module in options.only.split(",")]
    sizes = [int(size) for size in options.sizes.split(",")]
    for home in dict.fromkeys(c.home for c in chosen if c.home):
        prepare(home)
    rows = [measure(contender, sizes, options) for contender in chosen]
    if options.earlier:
        rows = sorted(rows + remembered(options.earlier, chosen), key=lambda row: CONTENDERS.index(row.contender))
    print(table(rows, sizes), *goals(rows), sep="\n")
    if options.json:
        raw = {row.contender.module: row.runs for row in rows}
        options.json.write_text(json.dumps(raw, indent=1) + "\n")


if __name__ == "__main__":
    main()
