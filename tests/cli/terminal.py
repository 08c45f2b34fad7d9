"""A terminal for tests: a program that believes somebody sits there, what it printed, and what the screen shows."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyte

from tests.forks import Forked
from tests.readiness import wait_readable

_SEQUENCE = re.compile(r"\x1b\[(?P<codes>[0-9;?]*)(?P<kind>[A-Za-z])|\x1b[=>]|\x1b\][^\x07]*\x07|\r")
# The terminal becomes the program's own, so that Ctrl-C reaches it and /dev/tty is there.
_START = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


class Terminal:
    """Runs `antiphon` in a pseudo-terminal: `send` types, `expect` waits until something is shown."""

    def __init__(
        self,
        *arguments: str,
        env: Mapping[str, str],
        cwd: Path,
        columns: int = 80,
        module: str | None = "antiphon",
        typed: str = "",
    ) -> None:
        self.seen = ""
        #: The same with what the terminal is told to do.
        self.obeyed = ""
        self._at = 0
        self._screen = pyte.Screen(columns, 40)
        self._stream = pyte.ByteStream(self._screen)
        self._fd, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.first_modes = self.modes
        # Typed before the program starts, so that it is ahead of every question.
        self.send(typed)
        env = {"PYTHONPATH": os.environ["PYTHONPATH"], **env}
        given: dict[str, Any] = {
            "stdin": slave,
            "stdout": slave,
            "stderr": slave,
            "env": env,
            "cwd": cwd,
            "start_new_session": True,
        }
        self.process: subprocess.Popen[bytes]
        if module == "antiphon":
            self.process = Forked(*arguments, **given)
        else:
            command = [sys.executable, "-c", _START, sys.executable, *(["-m", module] if module else []), *arguments]
            self.process = subprocess.Popen(command, **given)
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._fd)

    def send(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def expect(self, text: str, seconds: float = 60) -> str:
        """Wait until this is shown after what was expected before; gives what came up to its end."""
        ends = time.monotonic() + seconds
        while (found := self.seen.find(text, self._at)) < 0:
            assert time.monotonic() < ends, f"{text!r} is not shown in {self.seen[self._at :]!r}"
            assert self._read(0.2), f"it ended without {text!r}: {self.seen[self._at :]!r}"
        shown = self.seen[self._at : found + len(text)]
        self._at = found + len(text)
        return shown

    def expect_match(self, pattern: str, seconds: float = 60) -> None:
        """Wait until something that matches is shown after what was expected before."""
        ends = time.monotonic() + seconds
        while (found := re.compile(pattern).search(self.seen, self._at)) is None:
            assert time.monotonic() < ends, f"{pattern!r} is not shown in {self.seen[self._at :]!r}"
            assert self._read(0.2), f"it ended without {pattern!r}: {self.seen[self._at :]!r}"
        self._at = found.end()

    @property
    def modes(self) -> list[Any]:
        """The modes of the terminal: echo, lines, signals and so on."""
        return termios.tcgetattr(self._fd)[:4]

    @property
    def lines(self) -> list[str]:
        """What the screen shows."""
        return [line.rstrip() for line in self._screen.display]

    def shows(self, text: str, seconds: float = 60) -> list[str]:
        """Wait until the screen shows this; gives its lines."""
        ends = time.monotonic() + seconds
        while not any(text in line for line in self.lines):
            assert time.monotonic() < ends, f"{text!r} is not on the screen: {self.lines}"
            assert self._read(0.2), f"it ended without {text!r}: {self.lines}"
        return self.lines

    def ends(self, seconds: float = 60) -> int:
        """Wait for the end of the program; gives its exit code."""
        ends = time.monotonic() + seconds
        while self._read(0.2):
            assert time.monotonic() < ends, f"it does not end: {self.seen[self._at :]!r}"
        return self.process.wait(seconds)

    def _read(self, seconds: float) -> bool:
        if wait_readable([self._fd], seconds):
            try:
                data = os.read(self._fd, 65536)
            except OSError:
                # The last program at the other end is gone.
                return False
            self._stream.feed(data)
            self.obeyed += data.decode(errors="replace")
            self.seen += _SEQUENCE.sub(_text_of, data.decode(errors="replace"))
        return True


def _text_of(found: re.Match[str]) -> str:
    """Blanks, where the cursor moves over them."""
    return " " * int(found["codes"] or 1) if found["kind"] == "C" else ""
