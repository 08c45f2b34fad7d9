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
let total = 0
const grown = [1, 2].map(x => {
  total += x
  if x > 2 {
    return "large"
  }
  return "small"
})
function add() {
  total += 1
}
match grown[0] {
  "small" => {
    add()
  }
  else => {
    print(total)
  }
}
const word = match total {
  4 => "four",
  5 =>
    "five",
  else => "many"
}
while total < 6 {
  total += 1
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
    assert found["executed_lines"] == [1, 3, 4, 12, 13, 16, 17, 18, 19, 22, 25, 27, 28, 29, 35, 36, 41, 42]
    assert found["missing_lines"] == [6, 10, 14, 20, 32, 37, 38, 39]
