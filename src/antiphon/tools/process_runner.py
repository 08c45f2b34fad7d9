"""Subprocesses for tools: killed as a group, with bounded output and an environment without secrets."""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import shutil
import signal
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from subprocess import DEVNULL, PIPE, STDOUT

from antiphon._base.key_forms import KEY_PATTERN
from antiphon.tools.live_output import OutputListener

#: How long a program may take to exit, and its children to close its output, before they are killed.
_GRACE_SECONDS = 0.5
_KILL_WAIT_SECONDS = 5.0
_UNBOUNDED = 1 << 62


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """The result of a process. `dropped` counts the bytes of output that were not kept.

    `code` is negative for a process that was ended by that signal.
    """

    output: str
    errors: str
    dropped: int
    code: int
    timed_out: bool


async def run_process(
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
    hear: OutputListener | None = None,
) -> ProcessResult:
    """Run a program in its own process group, which is killed at the end, however this function ends.

    Of its output the `first` and the `last` bytes are kept; without `last` the program is ended once there is
    enough. `merged` puts standard error among the output; otherwise little of it is kept. With `whole`, both
    are kept completely, and output that is not UTF-8 raises a `UnicodeDecodeError` instead of being replaced.
    `hear` is called with each piece of standard output when it arrives.
    """
    loop = asyncio.get_running_loop()
    starting = asyncio.ensure_future(
        loop.subprocess_exec(
            lambda: (
                _ProcessProtocol(_BoundedOutput(_UNBOUNDED, 0), _BoundedOutput(_UNBOUNDED, 0))
                if whole
                else _ProcessProtocol(_BoundedOutput(first, last), hear=hear)
            ),
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
        # asyncio would end only the program itself, which may have started others by now.
        with suppress(OSError, ValueError):
            await _terminate(*await starting)
        raise
    timed_out = False
    try:
        timed_out = not await _wait_within(listener.done, timeout)
        if listener.exited.is_set():
            await _wait_within(listener.silent, _GRACE_SECONDS)
    finally:
        await _terminate(transport, listener)
    code = transport.get_returncode()
    output, errors = listener.output, listener.errors
    if whole and not timed_out:
        return ProcessResult(output.exact(), errors.exact(), 0, -9 if code is None else code, False)
    return ProcessResult(output.text(), errors.text(), output.dropped, -9 if code is None else code, timed_out)


class _BoundedOutput:
    """The first and the last bytes of an output that may be unbounded."""

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
    def is_full(self) -> bool:
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


class _ProcessProtocol(asyncio.SubprocessProtocol):
    def __init__(
        self, output: _BoundedOutput, errors: _BoundedOutput | None = None, hear: OutputListener | None = None
    ) -> None:
        self.output = output
        self._hear = hear
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.errors = errors or _BoundedOutput(2_000, 2_000)
        self.exited = asyncio.Event()
        #: The output is closed: not even a child in the background can write to it.
        self.silent = asyncio.Event()
        self.done = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        (self.errors if fd == 2 else self.output).add(data)
        if self._hear is not None and fd != 2:
            self._hear(self._decoder.decode(data))
        if self.output.is_full:
            self.done.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.silent.set()

    def process_exited(self) -> None:
        self.exited.set()
        self.done.set()


async def _wait_within(event: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


async def _terminate(transport: asyncio.SubprocessTransport, listener: _ProcessProtocol) -> None:
    try:
        if not listener.exited.is_set():
            _signal_group(transport, signal.SIGTERM)
            await _wait_within(listener.exited, _GRACE_SECONDS)
    finally:
        # Also after the program has exited: this reaches its children in the background.
        _signal_group(transport, getattr(signal, "SIGKILL", signal.SIGTERM))
        try:
            await _wait_within(listener.exited, _KILL_WAIT_SECONDS)
        finally:
            transport.close()


def _signal_group(transport: asyncio.SubprocessTransport, number: int) -> None:
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
_HARMLESS_VARIABLES = ("PWD", "OLDPWD")


def make_scrubbed_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment without variables that look like secrets by name or value, such as provider
    keys.

    Relative directories are removed from PATH, so that no program of a tool's working directory is found.
    """
    source = os.environ if environment is None else environment
    kept = {name: value for name, value in source.items() if not is_secret_variable(name, value)}
    if "PATH" in kept:
        kept["PATH"] = os.pathsep.join(place for place in kept["PATH"].split(os.pathsep) if os.path.isabs(place))
    return kept


def is_secret_variable(name: str, value: str = "") -> bool:
    """Return whether a variable must not be passed to programs that a model runs."""
    if name in _HARMLESS_VARIABLES:
        return False
    words = re.split(r"[^A-Z0-9]+", name.upper())
    return (
        any(_SECRET_WORDS.fullmatch(word) for word in words)
        or "CONNECTION_STRING" in name.upper()
        or bool(KEY_PATTERN.search(value))
    )


def find_program(name: str) -> str | None:
    """Return the path of a program, or `None` if it is not installed."""
    return shutil.which(name, path=make_scrubbed_environment().get("PATH"))


def format_exit_status(finished: ProcessResult) -> str:
    """Describe how a process ended."""
    if finished.code >= 0:
        return f"exit code {finished.code}"
    with suppress(ValueError):
        return f"ended by {signal.Signals(-finished.code).name}"
    return f"ended by signal {-finished.code}"
