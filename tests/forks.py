"""`antiphon` as a process of its own, without the start of a Python, which costs more than most commands do.

One process imports once what commands need, and forks for each of them. What is forked has the streams, the place and
the variables it is given, as if it had been started. Where the start itself is tested, start it.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import json
import os
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
import traceback
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from tests.readiness import wait_readable

ROOT = Path(__file__).parent.parent
_NUMBER = struct.Struct("i")
_LARGEST = 1 << 20


class Forked(subprocess.Popen[Any]):
    """A process that runs `antiphon` with these arguments, or a function `MODULE:NAME`; all else is that of `Popen`."""

    def __init__(self, *arguments: str, work: str = "tests.forks:antiphon", **given: Any) -> None:
        self._work = work
        super().__init__(["antiphon", *arguments], **given)

    def _execute_child(self, args: Any, *given: Any) -> None:
        _, _, _, _, place, variables, _, _, _, *ends = given
        streams, is_session = ends[:6], ends[11]
        stdin, _, _, stdout, _, stderr = streams
        job = {
            "work": self._work,
            "words": args,
            "place": os.fspath(place or os.getcwd()),
            "variables": dict(os.environ if variables is None else variables),
            "session": bool(is_session),
        }
        #: Can be read when it has ended.
        self.told, told = os.pipe()
        fds = [own if fd == -1 else fd for own, fd in enumerate((stdin, stdout, stderr))]
        socket.send_fds(_parent()[0], [json.dumps(job).encode()], [*fds, told])
        os.close(told)
        self._close_pipe_fds(*streams)  # type: ignore[attr-defined]
        self.pid = _NUMBER.unpack(os.read(self.told, _NUMBER.size))[0]
        self._child_created = True

    def _try_wait(self, flags: int) -> tuple[int, int]:
        if flags and not wait_readable([self.told], 0):
            return 0, 0
        status = _NUMBER.unpack(os.read(self.told, _NUMBER.size))[0]
        os.close(self.told)
        return self.pid, status

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None:
            pid, status = self._try_wait(os.WNOHANG)
            if pid:
                self._handle_exitstatus(status)  # type: ignore[attr-defined]
        return self.returncode


def run(*arguments: str, input: Any = None, timeout: float = 60, **given: Any) -> subprocess.CompletedProcess[Any]:
    """What `antiphon` prints, and how it ends."""
    given = {"stdin": None if input is None else subprocess.PIPE, "stdout": subprocess.PIPE, **given}
    with Forked(*arguments, **{"stderr": subprocess.PIPE, **given}) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@cache
def _parent() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """The way to the process that forks; it ends with this one."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LARGEST)
    path = os.pathsep.join([str(ROOT), os.environ["PYTHONPATH"]])
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.forks", str(there.fileno())],
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": path,
            "LANG": "C.UTF-8",
            "PYTHONWARNINGS": "ignore::FutureWarning",
        },
        pass_fds=[there.fileno()],
        start_new_session=True,
    )
    there.close()
    return here, process


# In the process that forks


def _serve(jobs: socket.socket) -> None:
    _import_all()
    # What is there now stays shared with those who are forked.
    gc.freeze()
    while True:
        data, fds, _, _ = socket.recv_fds(jobs, _LARGEST, 4)
        _bury()
        if not data:
            return
        job = json.loads(data)
        import_module(job["work"].partition(":")[0])
        if not os.fork():
            jobs.close()
            _watch(job, fds)
        for fd in fds:
            os.close(fd)


def _bury() -> None:
    """Those who watched others and have told of their end."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _watch(job: dict[str, Any], fds: list[int]) -> NoReturn:
    """Fork the command itself, and tell who it is and how it ended."""
    *streams, told = fds
    child = os.fork()
    if not child:
        os.close(told)
        _sit_down(job, streams)
        module, _, name = job["work"].partition(":")
        end(lambda: getattr(import_module(module), name)(job["words"]))
    os.write(told, _NUMBER.pack(child))
    for fd in (*streams, 0, 1, 2):
        os.close(fd)
    os.write(told, _NUMBER.pack(os.waitpid(child, 0)[1]))
    os._exit(0)


def _sit_down(job: dict[str, Any], streams: list[int]) -> None:
    if job["session"]:
        os.setsid()
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
    for fd in streams:
        os.close(fd)
    if job["session"] and os.isatty(0):
        # It becomes the program's own, so that Ctrl-C reaches it and /dev/tty is there.
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(job["place"])
    os.environ.clear()
    os.environ.update(job["variables"])
    time.tzset()
    open_streams()


def open_streams() -> None:
    """Have those of the first three numbers, as an interpreter that begins."""
    sys.stdin = sys.__stdin__ = os.fdopen(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1)
    sys.__stderr__ = sys.stderr


def antiphon(words: list[str]) -> None:
    from antiphon.cli import main

    sys.argv = words
    places = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    others = [each for each in sys.path if each != str(ROOT) and each not in places]
    sys.path[:] = [*places, *others]
    # By this it would be called after the module that began here.
    sys.modules["__main__"].__package__ = None
    main()


def end(work: Callable[[], object]) -> NoReturn:
    """End with how the work ends, as an interpreter would, without the time that it takes to clear up."""
    code: Any = 0
    try:
        work()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        code = 120
    os._exit(code)


def _import_all() -> None:
    """What most commands need, once for all of them."""
    for name in (
        *("rich.console", "rich.markdown", "pydantic.main", "genai_prices.data", "httpx2", "httpcore2", "truststore"),
        *("anyio._backends._asyncio", "zoneinfo", "antiphon.cli.ask", "antiphon.cli.chat", "antiphon.cli.run"),
        *("antiphon.config", "antiphon.durable", "antiphon.lang.runtime", "antiphon.terminal", "antiphon.session"),
        *("prompt_toolkit.shortcuts", "prompt_toolkit.patch_stdout"),
        *("antiphon.storage", "antiphon.chat", "antiphon.tools.builtin", "antiphon.wire.anthropic", "tomllib"),
        *(
            "antiphon.lang.runtime.program",
            "antiphon.lang.runtime.host",
            "antiphon.lang.analysis",
            "antiphon.cli.program_host",
        ),
        *(
            "antiphon.terminal.live_view",
            "antiphon.terminal.markdown",
            "antiphon.cli.trust",
            "antiphon.programs.discovery",
        ),
    ):
        import_module(name)
    # Most of a room is imported when it is first asked for something.
    for name in ("connect", "Session", "Conversation"):
        getattr(import_module("antiphon"), name)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
