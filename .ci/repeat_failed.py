"""Repeat the few tests that failed beside others, one after another, and name those that pass alone.

A test that needs a quiet machine must not stop everybody's work, but it must be seen: it is listed as unstable.
More than five failures are no accident and are not repeated.
"""

import json
import subprocess
import sys
from pathlib import Path

MOST = 5


def main() -> int:
    """Return the exit code of the repetition."""
    cache = Path(".pytest_cache/v/cache/lastfailed")
    failed = sorted(json.loads(cache.read_text("utf-8"))) if cache.exists() else []
    if not 0 < len(failed) <= MOST:
        return 1
    print(f"\nRepeating alone: {', '.join(failed)}", flush=True)
    # Each in a process of its own: a test of the page leaves an event loop behind.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    codes = [subprocess.run([*command, each], check=False).returncode for each in failed]
    if not any(codes):
        print("\nUnstable, passed alone (a test should not need a quiet machine):", *failed, sep="\n  ")
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
