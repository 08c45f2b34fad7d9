"""Teams that die at any moment end as if they had not: no message and no commit lost or doubled, and nothing left.

`ANTIPHON_MOMENTS=200` dies at so many, which takes a while.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

MOMENTS = int(os.environ.get("ANTIPHON_MOMENTS", "4"))


def test_teams_that_die_at_any_moment_end_as_if_they_had_not(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.team.dying", str(tmp_path), str(MOMENTS)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    whole, *lives = [json.loads(line) for line in done.stdout.splitlines()]
    assert whole["whole"]["code"] == 0, done.stderr
    assert len(whole["whole"]["posts"]) == 16
    assert whole["whole"]["left"] == []
    assert len(lives) == MOMENTS
    assert sum(each["deaths"] for each in lives) >= MOMENTS // 2
    assert [each for each in lives if each["wrong"]] == [], done.stderr
