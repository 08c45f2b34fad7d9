"""CPU of `antiphon chat` until its prompt is ready, in a terminal: without tools, with them, and without saving.

`make bench` runs it. The line editor alone is measured in turn with the chats, because CPU time depends on what else
the machine does.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import tempfile
import time
from pathlib import Path

GOAL, RUNS = 0.25, 10
#: Seconds without output after which a prompt counts as ready.
_QUIET = 0.5
_EDITOR = "from prompt_toolkit import PromptSession; PromptSession().prompt('› ')"
_CASES = {
    "the line editor alone": ["-c", _EDITOR],
    "a chat": ["-m", "antiphon", "chat", "-m", "openai/gpt-5.6"],
    "a chat with tools": ["-m", "antiphon", "chat", "-m", "openai/gpt-5.6", "--tools", "all"],
    "a chat that is not saved": ["-m", "antiphon", "chat", "-m", "openai/gpt-5.6", "--no-save"],
}


def measure(arguments: list[str], home: str) -> float:
    """Return the user and system time of a process and its threads until it shows a prompt."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": home, "TERM": "xterm-256color", "LANG": "C.UTF-8",
        "OPENAI_API_KEY": "any", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
    }  # fmt: skip
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home)
        os.execve(sys.executable, [sys.executable, *arguments], environment)
    seen, last = b"", time.monotonic()
    while "›".encode() not in seen or time.monotonic() - last < _QUIET:
        if select.select([terminal], [], [], 0.05)[0]:
            seen, last = seen + os.read(terminal, 65_536), time.monotonic()
            if seen.endswith(b"\x1b[6n"):
                os.write(terminal, b"\x1b[1;1R")
    tasks = Path(f"/proc/{child}/task").iterdir()
    spent = sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(terminal)
    return spent


def main() -> None:
    """Measure all and print the best of each."""
    with tempfile.TemporaryDirectory() as home:
        found: dict[str, list[float]] = {name: [] for name in _CASES}
        for _ in range(RUNS):
            for name, arguments in _CASES.items():
                found[name].append(measure(arguments, home))
    alone = min(found["the line editor alone"])
    for name, times in found.items():
        best = min(times)
        met = "" if best <= GOAL else ": NOT met"
        print(f"{name:<28}{best:>7.3f} s of CPU{best / alone:>7.1f} times the line editor{met}")


if __name__ == "__main__":
    main()
