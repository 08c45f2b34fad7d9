"""Programs run for tools: ended as a whole, with bounded output and an environment without secrets."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from subprocess import DEVNULL, PIPE, STDOUT

#: How long a program has to end itself, and its children to close its output, before they are killed.
_GRACE = 0.5
_LAST_GRACE = 5.0
_ENDLESS = 1 << 62


@dataclass(frozen=True, slots=True)
class Finished:
    """What a program did. `output` holds at most what was asked for; `dropped` counts the bytes it does not hold.

    `code` is negative for a program that was ended by that signal.
    """

    output: str
    errors: str
    dropped: int
    code: int
    timed_out: bool


async def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    timeout: float,
    cwd: str | None = None,
    first: int = 1_000_000,
    last: int = 0,
    merged: bool = False,
    whole: bool = False,
    descriptors: Iterable[int] = (),
) -> Finished:
    """Run a program in a process group of its own, of which nothing is left afterwards, however this ends.

    Of its output the `first` bytes and the `last` are kept. With no `last` it is ended once there is enough. `merged`
    puts what it says on standard error among the output; of that else little is kept, unless both are wanted `whole`:
    then what is not UTF-8 is a `UnicodeDecodeError`, where else signs stand for it.
    """
    loop = asyncio.get_running_loop()
    starting = asyncio.ensure_future(
        loop.subprocess_exec(
            lambda: _Listener(_Output(_ENDLESS, 0), _Output(_ENDLESS, 0)) if whole else _Listener(_Output(first, last)),
            *command,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT if merged else PIPE,
            cwd=cwd,
            env=dict(environment),
            start_new_session=True,
            pass_fds=tuple(descriptors),
        )
    )
    try:
        transport, listener = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # asyncio would end the program alone, which may have begun others by now.
        with suppress(OSError, ValueError):
            await _end(*await starting)
        raise
    timed_out = False
    try:
        timed_out = not await _within(listener.done, timeout)
        if listener.exited.is_set():
            await _within(listener.silent, _GRACE)
    finally:
        await _end(transport, listener)
    code = transport.get_returncode()
    output, errors = listener.output, listener.errors
    if whole and not timed_out:
        return Finished(output.exact(), errors.exact(), 0, -9 if code is None else code, False)
    return Finished(output.text(), errors.text(), output.dropped, -9 if code is None else code, timed_out)


class _Output:
    """The first bytes and the last of what may be endless."""

    def __init__(self, first: int, last: int) -> None:
        self._first, self._last = first, last
        self._head, self._tail = bytearray(), bytearray()
        self._total = 0

    def add(self, data: bytes) -> None:
        self._total += len(data)
        room = self._first - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 2 * self._last:
            del self._tail[: len(self._tail) - self._last]

    @property
    def enough(self) -> bool:
        return not self._last and self._total > self._first

    @property
    def dropped(self) -> int:
        return max(0, self._total - self._first - self._last)

    def exact(self) -> str:
        return self._head.decode("utf-8")

    def text(self) -> str:
        tail = self._tail[-self._last :] if self._last else bytearray()
        if not self.dropped or not self._last:
            return (self._head + tail).decode("utf-8", "replace")
        head, tail = self._head.decode("utf-8", "replace"), tail.decode("utf-8", "replace")
        return f"{head.rstrip()}\n[… {self.dropped:,} bytes left out …]\n{tail.lstrip()}"


class _Listener(asyncio.SubprocessProtocol):
    def __init__(self, output: _Output, errors: _Output | None = None) -> None:
        self.output = output
        self.errors = errors or _Output(2_000, 2_000)
        self.exited = asyncio.Event()
        #: Nobody can write any more, a child left in the background included.
        self.silent = asyncio.Event()
        self.done = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        (self.errors if fd == 2 else self.output).add(data)
        if self.output.enough:
            self.done.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.silent.set()

    def process_exited(self) -> None:
        self.exited.set()
        self.done.set()


async def _within(event: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


async def _end(transport: asyncio.SubprocessTransport, listener: _Listener) -> None:
    try:
        if not listener.exited.is_set():
            _signal(transport, signal.SIGTERM)
            await _within(listener.exited, _GRACE)
    finally:
        # Also after the program itself ended: this reaches what it left in the background.
        _signal(transport, getattr(signal, "SIGKILL", signal.SIGTERM))
        try:
            await _within(listener.exited, _LAST_GRACE)
        finally:
            transport.close()


def _signal(transport: asyncio.SubprocessTransport, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(transport.get_pid(), number)
        else:
            transport.send_signal(number)


_SECRET_WORDS = re.compile(
    r"""(?: AUTH | BEARER | COOKIES? | CREDS? | DSN | JWT | PASS | PAT | PRIVATE | PWD | SIGNATURE | WEBHOOK
        | .* (?: KEY | TOKEN | SECRET | PASSWORD | PASSWD | PASSPHRASE | CREDENTIAL ) S? ) \d*""",
    re.VERBOSE,
)
_SECRET_VALUES = re.compile(
    r"""://[^/\s@:]*:[^/\s@]+@ | \b(?: sk-[\w-]{16} | [prs]k_(?:live|test|prod)_\w{8} | whsec_\w{16} | npm_\w{30}
        | pypi-\w{16} | SG\.[\w-]{16} | ya29\.[\w-]{16} | dop_v1_\w{16} | (?<!-)eyJ[\w-]{10,}\.eyJ[\w-]{10}
        | gh[pousr]_\w{16} | github_pat_ | glpat- | xox[abeprs]-
        | AKIA[0-9A-Z]{12} | AIza[\w-]{30} | hf_\w{20} | gsk_\w{20} ) | -----BEGIN\ [A-Z ]*PRIVATE""",
    re.VERBOSE,
)
_NO_SECRETS = ("PWD", "OLDPWD")


def scrubbed(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without what looks like a secret by its name or its value: every provider's key among them.

    Programs are not looked for relative to wherever a tool happens to run.
    """
    source = os.environ if environment is None else environment
    kept = {name: value for name, value in source.items() if not is_secret(name, value)}
    if "PATH" in kept:
        kept["PATH"] = os.pathsep.join(place for place in kept["PATH"].split(os.pathsep) if os.path.isabs(place))
    return kept


def is_secret(name: str, value: str = "") -> bool:
    """Whether a variable had better not be told to programs that a model runs."""
    if name in _NO_SECRETS:
        return False
    words = re.split(r"[^A-Z0-9]+", name.upper())
    return (
        any(_SECRET_WORDS.fullmatch(word) for word in words)
        or "CONNECTION_STRING" in name.upper()
        or bool(_SECRET_VALUES.search(value))
    )


def program(name: str) -> str | None:
    """Where a program is, if it is installed."""
    return shutil.which(name, path=scrubbed().get("PATH"))


def ending(finished: Finished) -> str:
    """How a program ended, in words."""
    if finished.code >= 0:
        return f"exit code {finished.code}"
    with suppress(ValueError):
        return f"ended by {signal.Signals(-finished.code).name}"
    return f"ended by signal {-finished.code}"
