"""Look after a command: start it, end it where it takes too much or too long, and leave nothing of it running."""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time
from typing import Any, NoReturn

from .kernel import DROP_CAPABILITY, DUMPABLE, NO_NEW_PRIVILEGES, SECURE_BITS, SUBREAPER, call

_MOST_PROCESSES = 1_000
#: The kernel counts threads as well.
_MOST_TASKS = 4_096
_LARGEST_FILE = 4 << 30
_PAGE = os.sysconf("SC_PAGE_SIZE")
_NOT_BY_ROOT = 3


def keep(order: dict[str, Any]) -> dict[str, Any]:
    """Start the command, and see to it until it has ended or must be ended."""
    if sys.platform == "linux":
        # What leaves its parent becomes our child, and is found. None of them may look into us, or write our report.
        call("prctl", SUBREAPER, 1, 0, 0, 0)
        call("prctl", DUMPABLE, 0, 0, 0, 0)
    # Who is told to end ends what it looks after.
    signal.signal(signal.SIGTERM, _leave)
    until = time.monotonic() + order["seconds"]
    # All processes of the system are looked at where there is no sandbox.
    every = 50 if order["sandbox"] else 250
    allowed = order["memory"] + (_stored() if order["sandbox"] else 0)
    os.write(order["report"], b'{"why": "lost"}\n')
    command = os.fork()
    if command == 0:
        _become(order)
    watch = select.poll()
    watch.register(order["report"], 0)
    try:
        while True:
            if (code := _reaped(command)) is not None:
                return {"why": "ended", "code": code}
            if time.monotonic() > until:
                return {"why": "timed out"}
            if _is_too_much(allowed, order["sandbox"]):
                return {"why": "out of memory"}
            if watch.poll(every):
                # Nobody is left to whom it could be said.
                return {"why": "lost"}
    finally:
        _end_all()


def _leave(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)


def _become(order: dict[str, Any]) -> NoReturn:
    try:
        os.setsid()
        # Python ignores these, and what it starts would, too.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(order["tree"])
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        largest = min(_LARGEST_FILE, order["memory"]) if order["sandbox"] else _LARGEST_FILE
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
        if order["sandbox"] and _counts_by_namespace():
            resource.setrlimit(resource.RLIMIT_NPROC, (_MOST_TASKS, _MOST_TASKS))
        if sys.platform == "linux":
            _renounce(order["sandbox"])
        os.execv("/bin/sh", ["sh", "-c", order["command"]])
    except (OSError, ValueError) as error:
        os.write(2, f"the command could not be started: {error}\n".encode())
    finally:
        os._exit(127)


def _counts_by_namespace() -> bool:
    """Tell whether this kernel counts processes for each user namespace: older ones count all of the user's."""
    major, minor = os.uname().release.split(".")[:2]
    return (int(major), int(minor)) >= (5, 14)


def _renounce(capable: bool) -> None:
    """Give up what could undo the confinement: powers over a namespace are enough to mount."""
    if capable:
        call("prctl", SECURE_BITS, _NOT_BY_ROOT, 0, 0, 0)
        with open("/proc/sys/kernel/cap_last_cap") as file:
            last = int(file.read())
        for capability in range(last + 1):
            call("prctl", DROP_CAPABILITY, capability, 0, 0, 0)
    call("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)


def _reaped(command: int) -> int | None:
    """Collect who has ended; the code of the command, if it has."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == command:
            code = os.waitstatus_to_exitcode(status)


# What it takes


def _is_too_much(allowed: int, is_alone: bool) -> bool:
    """Tell whether processes, what they share and what they have written take more than is allowed."""
    below = _descendants()
    if len(below) > _MOST_PROCESSES:
        return True
    sizes = [_resident(pid) for pid in below]
    kept = _stored() + _in_system_v("shm", "rss") + _in_system_v("msg", "cbytes") if is_alone else 0
    private = sum(own for own, _ in sizes)
    if private + kept > allowed:
        return True
    # Shared pages are counted once; to find that out takes long, and is done where it could matter.
    if private + sum(shared for _, shared in sizes) <= allowed:
        return False
    return private + max(kept, sum(map(_shared_part, below))) > allowed


def _resident(pid: int) -> tuple[int, int]:
    """Return the memory of a process that it shares with nobody, and that which it may share, in bytes."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            _, resident, shared, *_ = map(int, file.read().split())
    except (OSError, ValueError):
        return 0, 0
    return (resident - shared) * _PAGE, shared * _PAGE


def _shared_part(pid: int) -> int:
    """Return the part of a process in shared memory: pages are divided among those who share them."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            found = [line.split() for line in file if line.startswith("Pss_Shmem:")]
    except OSError:
        return 0
    return sum(int(words[1]) for words in found) << 10


def _stored() -> int:
    """Return the size of what is written to files: all places that can be written are one file system."""
    system = os.statvfs("/tmp")
    return (system.f_blocks - system.f_bfree) * system.f_frsize


def _in_system_v(kind: str, column: str) -> int:
    """Return the size of what the kernel keeps of a kind of System V objects, in use or not."""
    try:
        with open(f"/proc/sysvipc/{kind}") as file:
            head, *lines = [line.split() for line in file]
    except (OSError, ValueError):
        return 0
    at = head.index(column)
    return sum(int(line[at]) for line in lines)


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state != b"Z":
            children.setdefault(int(parent), []).append(int(name))
    found: list[int] = []
    pending = [os.getpid()]
    while pending:
        below = children.get(pending.pop(), [])
        found += below
        pending += below
    return found


def _end_all() -> None:
    """End every process that came of the command; new ones may come while that is done."""
    for _ in range(100):
        below = _descendants()
        if not below:
            return
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        _reaped(0)
        time.sleep(0.01)
