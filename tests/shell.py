"""A shell for the commands of the documentation: each line runs in a terminal of its own, and says what is seen there.

Starting Python costs more than most commands do. So one process imports everything once, and forks for each of them.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import json
import os
import pty
import re
import runpy
import select
import shlex
import struct
import subprocess
import sys
import termios
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parent.parent
#: What a program is told of the width. What it prints beyond it is seen as one line all the same.
COLUMNS = 100
#: Ctrl-C, for a server that is there.
STOP = "\x03"
_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x1b\][^\x07]*\x07|[\x01\x02\r]")


class Shell:
    """Types lines: `antiphon`, `python` and whatever else there is, with pipes, redirections and comments."""

    def __init__(self) -> None:
        self._jobs = 0
        #: What the last line told the terminal.
        self.obeyed = ""
        path = os.pathsep.join([str(ROOT), os.environ["PYTHONPATH"]])
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.shell"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": path, "PYTHONUTF8": "1"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.kill()
        self._server.communicate()

    def type(
        self,
        line: str,
        place: Path,
        variables: Mapping[str, str],
        replies: Sequence[tuple[str, str]] = (),
    ) -> tuple[int, str]:
        """Run a line; a reply is typed once its prompt is seen. Gives the exit code and what is on the screen."""
        terminal, slave = pty.openpty()
        try:
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
            self._jobs += 1
            job = {
                "number": self._jobs,
                "line": line,
                "place": str(place),
                "variables": dict(variables),
                "terminal": os.ttyname(slave),
            }
            assert self._server.stdin
            self._server.stdin.write(json.dumps(job).encode() + b"\n")
            self._server.stdin.flush()
            return self._watch(terminal, list(replies), job)
        finally:
            # Whoever still sits there is hung up on.
            os.close(slave)
            os.close(terminal)

    def _watch(self, terminal: int, replies: list[tuple[str, str]], job: dict[str, Any]) -> tuple[int, str]:
        assert self._server.stdout
        data, seen, at, code, line = b"", "", 0, None, job["line"]
        patience = time.monotonic() + 30
        while True:
            ready = select.select([terminal, *([] if code else [self._server.stdout])], [], [], 0 if code else 1)[0]
            if terminal in ready:
                data += os.read(terminal, 65536)
                seen = _SEQUENCE.sub("", data.decode(errors="replace"))
            elif code:
                break
            elif self._server.stdout in ready:
                number, said = self._server.stdout.readline().split()
                code = said if int(number) == job["number"] else None
            while replies and (found := seen.find(replies[0][0], at)) >= 0:
                at = found + len(replies[0][0])
                if replies[0][1] == STOP:
                    _wait_for_servers(seen)
                os.write(terminal, replies.pop(0)[1].encode())
            assert time.monotonic() < patience, f"`{line}` does not end: {seen}"
        assert not replies, f"`{line}` did not ask {replies[0][0]!r}: {seen}"
        self.obeyed = data.decode(errors="replace")
        return int(code), screen(self.obeyed)


def _wait_for_servers(seen: str) -> None:
    """Whoever is asked to stop before it serves has another way to end."""
    for url in set(re.findall(r"http://127\.0\.0\.1:\d+/", seen.replace("\n", "/"))):
        with suppress(urllib.error.HTTPError):
            urllib.request.urlopen(url).close()


def screen(data: str) -> str:
    """What is left to see of what a terminal was told, without an end to its width and height."""
    import pyte

    shown = pyte.Screen(1000, 1000)
    pyte.Stream(shown).feed(data)
    rows = (
        "".join(shown.buffer[y][x].data for x in range(max(shown.buffer[y], default=-1) + 1)).rstrip()
        for y in range(max(shown.buffer, default=-1) + 1)
    )
    text = "\n".join(rows).rstrip("\n")
    return f"{text}\n" if text else ""


def _serve() -> None:
    """Run what comes by standard input, a line of JSON each; print the exit codes."""
    _import_all()
    # What is there now stays shared with those who are forked.
    gc.freeze()
    for line in sys.stdin:
        job = json.loads(line)
        if (child := os.fork()) == 0:
            _sit_down(job)
            _pipeline(_words(job["line"]))
        print(job["number"], _code_of(child), flush=True)


def _import_all() -> None:
    """What most commands need, once for all of them."""
    for name in (
        *("rich.console", "rich.markdown", "pydantic.main", "genai_prices.data", "httpx2", "httpcore2", "truststore"),
        *("anyio._backends._asyncio", "zoneinfo", "antiphon.cli.ask", "antiphon.cli.chat", "antiphon.cli.run"),
        *("antiphon.config", "antiphon.journal", "antiphon.lang.run", "antiphon.render", "antiphon.session"),
        *("antiphon.store", "antiphon.talks", "antiphon.tools.builtin", "antiphon.wire.anthropic", "tomllib"),
        *("antiphon.lang.run.program", "antiphon.lang.run.host", "antiphon.lang.analysis", "antiphon.cli.hosting"),
        *("antiphon.render.live", "antiphon.render.markdown", "antiphon.cli.trust", "antiphon.runs.found"),
    ):
        import_module(name)
    # Most of a room is imported when it is first asked for something.
    for name in ("connect", "Session", "Conversation"):
        getattr(import_module("antiphon"), name)


def _sit_down(job: dict[str, Any]) -> None:
    """Have the terminal for oneself, and the place and the variables of whoever types."""
    os.setsid()
    terminal = os.open(job["terminal"], os.O_RDWR)
    for stream in range(3):
        os.dup2(terminal, stream)
    os.close(terminal)
    os.chdir(job["place"])
    os.environ.clear()
    os.environ.update(job["variables"])


def _open_streams() -> None:
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>&;")
    lexer.whitespace_split = True
    return list(lexer)


def _pipeline(words: Iterable[str]) -> None:
    """Run commands with pipes in between, and end with the code of the last."""
    stages: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    for stage in stages[:-1]:
        before, out = os.pipe()
        if os.fork() == 0:
            os.dup2(out, 1)
            _command(stage)
        os.close(out)
        os.dup2(before, 0)
    _command(stages[-1])


def _command(words: list[str]) -> None:
    """Become a command, with its redirections and variables."""
    _open_streams()
    try:
        _run(words)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    # As an interpreter ends, without the time that it takes to clear up.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code)


def _run(words: list[str]) -> None:
    rest: list[str] = []
    words = list(words)
    while words:
        word = words.pop(0)
        if word in ("<", ">"):
            flags = os.O_RDONLY if word == "<" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(words.pop(0), flags, 0o600), 0 if word == "<" else 1)
        elif not rest and re.match(r"[A-Z_]+=", word):
            os.environ.update([word.split("=", 1)])
        else:
            rest.append(os.path.expanduser(word))
    sys.argv = rest
    if rest[0] == "antiphon":
        from antiphon.cli import main

        # By this it would be called after the module that began here.
        sys.modules["__main__"].__package__ = None
        main()
    elif rest[0] == "python" and rest[1].endswith(".py"):
        sys.argv = rest[1:]
        runpy.run_path(rest[1], run_name="__main__")
    else:
        # What `make` makes takes minutes, or the suite in which this is: that it knows the way is enough.
        os.execvp(rest[0], rest if rest[0] != "make" else ["make", "--dry-run", *rest[1:]])


def _code_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    _serve()
