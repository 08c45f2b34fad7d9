"""What changelog.vibe needs of git."""

from __future__ import annotations

import subprocess


def count(args: list[str]) -> int:
    """How many commits are wanted: the first argument, or five."""
    return int(args[0]) if args and args[0].isdigit() else 5


def subjects(number: int) -> list[str]:
    """The messages of the newest commits, newest first."""
    command = ["git", "log", f"--max-count={number}", "--pretty=%s"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
