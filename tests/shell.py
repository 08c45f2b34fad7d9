"""A shell for the commands of the documentation: each line has a terminal of its own, and says what is seen there."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import runpy
import shlex
import struct
import sys
import termios
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.forks import Forked, antiphon, end, open_streams
from tests.readiness import wait_readable

#: What a program is told of the width. What it prints beyond it is seen as one line all the same.
COLUMNS = 100
#: Ctrl-C, for a server that is there.
STOP = "\x03"
_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x1b\][^\x07]*\x07|[\x01\x02\r]")


class Shell:
    """Types lines: `antiphon`, `python` and whatever else there is, with pipes, redirections and comments."""

    def __init__(self) -> None:
        #: What the last line told the terminal.
        self.obeyed = ""

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
            streams = {"stdin": slave, "stdout": slave, "stderr": slave, "start_new_session": True}
            process = Forked(line, work="tests.shell:obey", cwd=place, env=dict(variables), **streams)
            return self._watch(terminal, list(replies), process, line)
        finally:
            # Whoever still sits there is hung up on.
            os.close(slave)
            os.close(terminal)

    def _watch(self, terminal: int, replies: list[tuple[str, str]], process: Forked, line: str) -> tuple[int, str]:
        data, seen, at, code = b"", "", 0, None
        patience = time.monotonic() + 30
        while True:
            has_ended = code is not None
            ready = wait_readable([terminal, *([] if has_ended else [process.told])], 0 if has_ended else 1)
            if terminal in ready:
                data += os.read(terminal, 65536)
                seen = _SEQUENCE.sub("", data.decode(errors="replace"))
            elif code is not None:
                break
            elif ready:
                code = process.wait()
            while replies and (found := _find_prompt(seen, replies[0][0], at)) >= 0:
                at = found + len(replies[0][0])
                if replies[0][1] == STOP:
                    _wait_for_servers(seen)
                os.write(terminal, replies.pop(0)[1].encode())
            assert time.monotonic() < patience, f"`{line}` does not end: {seen}"
        assert not replies, f"`{line}` did not ask {replies[0][0]!r}: {seen}"
        self.obeyed = data.decode(errors="replace")
        return code, screen(self.obeyed)


def _find_prompt(seen: str, prompt: str, at: int) -> int:
    """Where a prompt waits. That of a chat is printed again with what was typed behind it."""
    while (found := seen.find(prompt, at)) >= 0 and "›" in prompt:
        at = found + len(prompt)
        if not seen[at:].partition("\n")[0].strip():
            break
    return found


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


def obey(words: list[str]) -> None:
    """Run a line, in the process that was forked for it."""
    _pipeline(_words(words[-1]))


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
    open_streams()
    end(lambda: _run(words))


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
    if rest[0] == "antiphon":
        antiphon(rest)
    elif rest[0] == "python" and rest[1].endswith(".py"):
        sys.argv = rest[1:]
        runpy.run_path(rest[1], run_name="__main__")
    else:
        # What `make` makes takes minutes, or the suite in which this is: that it knows the way is enough.
        os.execvp(rest[0], rest if rest[0] != "make" else ["make", "--dry-run", *rest[1:]])
