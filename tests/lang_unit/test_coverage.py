"""Coverage of programs, measured by coverage.py itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """print("first")
function used(n: number): number {
  if n > 1 {
    return 1
  }
  return 2
}
// A comment.
function unused(): text {
  return "x"
}
print(used(5))
if used(5) == 2 {
  print("not here")
}
"""


def test_lines_that_ran_and_lines_that_did_not(tmp_path: Path):
    (tmp_path / "program.vibe").write_text(PROGRAM)
    (tmp_path / ".coveragerc").write_text("[run]\nplugins = antiphon.lang.coverage_plugin\n")
    for command in (["run", "--include=*.vibe", "-m", "antiphon", "run", "program.vibe"], ["json", "-o", "out.json"]):
        done = subprocess.run(
            [sys.executable, "-m", "coverage", *command], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    (found,) = json.loads((tmp_path / "out.json").read_text())["files"].values()
    assert found["executed_lines"] == [1, 3, 4, 12, 13]
    assert found["missing_lines"] == [6, 10, 14]
