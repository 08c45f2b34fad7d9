"""Python's own debugger on a program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_leaving_the_debugger_is_no_error_of_the_program(tmp_path: Path):
    program = tmp_path / "program.vibe"
    program.write_text("const n = 3\nprint(n)\nprint(n + 1)\n")
    command = [sys.executable, "-m", "pdb", "-c", f"break {program}:3", "-c", "continue", "-m", "antiphon", "run"]
    done = subprocess.run([*command, str(program)], input="p n\nq\n", capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert f"{program}(3)main()" in said
    assert "error[" not in said
