"""Programs that die at any moment end as if they had not: the same end, the same effects, and nothing done twice.

`ANTIPHON_MOMENTS=1000` dies at so many, which takes a while.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOMENTS = int(os.environ.get("ANTIPHON_MOMENTS", "20"))


@pytest.mark.parametrize("where", ["sqlite", "postgres"])
def test_programs_that_die_before_or_after_a_write_end_as_if_they_had_not(
    tmp_path: Path, where: str, request: pytest.FixtureRequest
) -> None:
    # A server takes longer, and what is written there is the same.
    url, moments = ([], MOMENTS) if where == "sqlite" else ([request.getfixturevalue("postgres")], max(MOMENTS // 2, 1))
    told = subprocess.run(
        [sys.executable, "-m", "tests.durable.dying", str(tmp_path), str(moments), *url],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert told.returncode == 0, told.stderr
    programs = [json.loads(line) for line in told.stdout.splitlines()]
    assert sum(each["deaths"] for each in programs) >= moments
    assert [each for each in programs if each["wrong"]] == [], told.stderr
