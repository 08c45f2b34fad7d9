"""The environments of the benchmarks: whoever is not antiphon lives in `.venv-bench`."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
PEERS = ROOT / ".venv-bench"
#: An environment inside the other, so that removing one removes both.
LITELLM = PEERS / "litellm"

_REQUIREMENTS = {PEERS: BENCH / "requirements.txt", LITELLM: BENCH / "requirements-litellm.txt"}
# Nobody reports anything to anybody, and nobody fetches anything.
_QUIET = {
    "DO_NOT_TRACK": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LOGFIRE_SEND_TO_LOGFIRE": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
}


def python(environment: Path) -> str:
    """The interpreter of an environment."""
    return str(environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def prepare(environment: Path) -> None:
    """Make the environment, unless it is there with just these requirements."""
    requirements = _REQUIREMENTS[environment]
    stamp = environment / ".ready"
    if stamp.is_file() and stamp.read_text() == requirements.read_text():
        return
    print(f"Installing {requirements.name} into {environment.relative_to(ROOT)} ...", file=sys.stderr)
    if not Path(python(environment)).exists():
        venv.create(environment, with_pip=True)
    command = [python(environment), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", requirements]
    subprocess.run(command, check=True)
    stamp.write_text(requirements.read_text())


def variables(*, own: bool) -> dict[str, str]:
    """The variables of a child process; `own` ones import antiphon from this tree. Only the loopback is talked to."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.lower().endswith("_proxy") and not name.startswith("PYTHON")
    }
    return kept | _QUIET | ({"PYTHONPATH": str(ROOT / "src")} if own else {})
