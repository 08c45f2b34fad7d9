"""What changelog.vibe needs of git."""

from __future__ import annotations

import subprocess
import sys


def subjects(args: list[str]) -> list[str]:
    """What commits are called: those on standard input (`-`), or the newest, five or as many as wanted."""
    if args == ["-"]:
        return sys.stdin.read().splitlines()
    number = args[0] if args and args[0].isdigit() else "5"
    command = ["git", "log", f"--max-count={number}", "--pretty=%s"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
