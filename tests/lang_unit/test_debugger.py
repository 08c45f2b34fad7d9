"""Python's own debugger on a program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """const n = 3
for word in ["a"] { print(word) }
print(n + 1)
for word in ["b"] {
  print([7].map(n => {
    const twice = n * 2
    return twice
  }), word)
}
"""


def test_stops_show_variables_by_their_names_and_leaving_is_no_error_of_the_program(tmp_path: Path):
    program = tmp_path / "program.vibe"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "pdb", "-c", f"break {program}:3", "-c", "continue", "-m", "antiphon", "run"]
    wishes = f"p ('top', n)\nbreak {program}:7\nc\np ('inside', n, twice)\nup\nup\nup\np ('around', n, word)\nq\n"
    done = subprocess.run([*command, str(program)], input=wishes, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert f"{program}(3)main()" in said
    for shown in ("('top', 3)", "('inside', 7, 14)", "('around', 3, 'b')"):
        assert shown in said
    assert "error[" not in said
