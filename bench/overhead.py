"""What a run costs besides the model: one tool call against a model in the same process, CPU per run.

Run it with the interpreter that runs antiphon; the peers live in `.venv-bench` (see environment.py).
"""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median

from environment import BENCH, PEERS, prepare, python, variables

RUNS = 3
CONTENDERS = {"antiphon": None, "pydantic_ai": PEERS, "openai_agents": PEERS}


def measure(name: str) -> dict[str, float]:
    """The median of a few processes, each of which makes some hundred runs."""
    home = CONTENDERS[name]
    interpreter = python(home) if home else sys.executable
    command = [interpreter, str(BENCH / "overhead_client.py"), name]
    found = []
    for _ in range(RUNS):
        done = subprocess.run(command, env=variables(own=home is None), capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{name} failed:\n{done.stderr}")
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return {key: median(run[key] for run in found) for key in ("setup", "run")}


def main() -> None:
    """Measure all and print a table."""
    prepare(PEERS)
    rows = {name: measure(name) for name in CONTENDERS}
    own = rows["antiphon"]["run"]
    print("| | import and set-up, s | one run, ms | times antiphon |\n|---|---:|---:|---:|")
    for name, row in rows.items():
        print(f"| {name.replace('_', '-')} | {row['setup']:.2f} | {1000 * row['run']:.2f} | {row['run'] / own:.1f} |")
    best = min(row["run"] for name, row in rows.items() if name != "antiphon")
    print(f"\nGoal: at most 1/10 of the better peer. {own / best:.3f}: {'met' if own <= best / 10 else 'NOT met'}.")


if __name__ == "__main__":
    main()
