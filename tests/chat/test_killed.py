"""Chats and sessions with a store that are killed at any moment go on, and nothing is lost or done twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KILLS = os.environ.get("ANTIPHON_KILLS", "12")


@pytest.mark.parametrize("program", ["chat", "messages"])
def test_a_chat_that_is_killed_goes_on(program: str) -> None:
    command = [sys.executable, "bench/kills.py", "--kills", KILLS, "--only", program]
    told = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert told.returncode == 0, told.stderr + told.stdout
