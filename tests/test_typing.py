"""That type checkers understand the public API, under pyright strict and mypy strict.

Beside this file, `program.py` and `accepted.py` must have no errors, and `refused.py` one in each line marked as wrong.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import antiphon

FOLDER = Path(__file__).parent / "typing"
PROGRAM = FOLDER / "program.py"
CHECKERS = {
    "pyright": ["pyright", "--pythonpath", sys.executable],
    "mypy": ["mypy", "--strict", "--cache-dir", "/dev/null", "--no-error-summary", "--follow-imports", "silent"],
}


@pytest.mark.parametrize("checker", CHECKERS)
def test_type_checkers_understand_the_api(checker: str):
    files = sorted(FOLDER.glob("*.py"))
    arguments = ["--project", str(FOLDER)] if checker == "pyright" else map(str, files)
    command = [sys.executable, "-m", *CHECKERS[checker], *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = re.findall(r"(\w+)\.py:(\d+)(?::\d+)?(?: -|:) error", done.stdout)
    wrong = [
        (each.stem, str(number))
        for each in files
        for number, line in enumerate(each.read_text(encoding="utf-8").splitlines(), 1)
        if line.endswith("# wrong")
    ]
    assert len(wrong) >= 20
    assert set(lines) == set(wrong), done.stdout + done.stderr


def test_the_program_uses_every_public_name():
    text = PROGRAM.read_text(encoding="utf-8")
    assert [name for name in antiphon.__all__ if name not in text] == []
