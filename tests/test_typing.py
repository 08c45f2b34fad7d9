"""That type checkers understand the public API: the program beside this file, under pyright strict and mypy."""

import subprocess
import sys
from pathlib import Path

import pytest

import antiphon

PROGRAM = Path(__file__).parent / "typing" / "program.py"


@pytest.mark.parametrize(
    "command",
    [
        ["pyright", "--pythonpath", sys.executable, "--project", str(PROGRAM.parent)],
        ["mypy", "--strict", "--cache-dir", "/dev/null", "--no-error-summary", "--follow-imports", "silent"],
    ],
    ids=["pyright", "mypy"],
)
def test_a_program_of_a_user_is_understood(command: list[str]):
    arguments = [] if command[0] == "pyright" else [str(PROGRAM)]
    done = subprocess.run([sys.executable, "-m", *command, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_program_uses_every_public_name():
    text = PROGRAM.read_text(encoding="utf-8")
    assert [name for name in antiphon.__all__ if name not in text] == []
