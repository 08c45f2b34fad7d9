"""Looks for known faults in what is pinned, where a database of them can be reached; elsewhere it says so."""

import subprocess
import sys
import threading
import urllib.request
import venv
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_DATABASE = "https://api.osv.dev/v1/vulns/PYSEC-2021-66"
_PATIENCE = 5


def main() -> int:
    if not _can_be_reached():
        print("audit: no database of faults can be reached from here, so nothing is looked up")
        return 0
    place = _ROOT / ".venv-audit"
    if not (place / "bin/pip-audit").exists():
        venv.create(place, with_pip=True)
        subprocess.run([place / "bin/pip", "install", "-q", "pip-audit>=2.9"], check=True)
    audit = [place / "bin/pip-audit", "--vulnerability-service", "osv", "--progress-spinner", "off"]
    return subprocess.run([*audit, "--disable-pip", "--require-hashes", "-r", _ROOT / "constraints.txt"]).returncode


def _can_be_reached() -> bool:
    """Whether it answers soon; looking up its name cannot be interrupted, so that a thread may be left behind."""
    answers: list[bool] = []
    asking = threading.Thread(target=lambda: answers.append(_answers()), daemon=True)
    asking.start()
    asking.join(_PATIENCE)
    return answers == [True]


def _answers() -> bool:
    try:
        urllib.request.urlopen(_DATABASE, timeout=_PATIENCE).close()
    except (OSError, ValueError):
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
