"""Supervise a command: start it, enforce its limits, and leave none of its processes running."""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time
from typing import Any, NoReturn

from .linux_calls import DROP_CAPABILITY, DUMPABLE, NO_NEW_PRIVILEGES, SECURE_BITS, SUBREAPER, call_libc

_MAX_PROCESSES = 1_000
#: The kernel counts threads as well.
_MAX_TASKS = 4_096
_MAX_FILE_BYTES = 4 << 30
_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")
_NO_ROOT_CAPABILITIES = 3


def supervise(order: dict[str, Any]) -> dict[str, Any]:
    """Start the command and supervise it until it ends or exceeds a limit."""
    if sys.platform == "linux":
        # Orphans become our children and are found. None of them may inspect us or write our report.
        call_libc("prctl", SUBREAPER, 1, 0, 0, 0)
        call_libc("prctl", DUMPABLE, 0, 0, 0, 0)
    # On SIGTERM, end the command too.
    signal.signal(signal.SIGTERM, _exit_on_signal)
    until = time.monotonic() + order["seconds"]
    # Without a sandbox, each check scans all processes of the system.
    every = 50 if order["sandbox"] else 250
    allowed = order["memory"] + (_written_bytes() if order["sandbox"] else 0)
    os.write(order["report"], b'{"why": "lost"}\n')
    command = os.fork()
    if command == 0:
        _exec_command(order)
    watch = select.poll()
    watch.register(order["report"], 0)
    try:
        while True:
            if (code := _reap_children(command)) is not None:
                return {"why": "ended", "code": code}
            if time.monotonic() > until:
                return {"why": "timed out"}
            if _is_over_limits(allowed, order["sandbox"]):
                return {"why": "out of memory"}
            if watch.poll(every):
                # The reader of the report is gone.
                return {"why": "lost"}
    finally:
        _kill_all()


def _exit_on_signal(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)


def _exec_command(order: dict[str, Any]) -> NoReturn:
    try:
        os.setsid()
        # Python ignores these signals, and its children would inherit that.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(order["tree"])
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        largest = min(_MAX_FILE_BYTES, order["memory"]) if order["sandbox"] else _MAX_FILE_BYTES
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
        if order["sandbox"] and _counts_by_namespace():
            resource.setrlimit(resource.RLIMIT_NPROC, (_MAX_TASKS, _MAX_TASKS))
        if sys.platform == "linux":
            _drop_privileges(order["sandbox"])
        os.execv("/bin/sh", ["sh", "-c", order["command"]])
    except (OSError, ValueError) as error:
        os.write(2, f"the command could not be started: {error}\n".encode())
    finally:
        os._exit(127)


def _counts_by_namespace() -> bool:
    """Return whether this kernel counts processes per user namespace; older ones count all of the user's."""
    major, minor = os.uname().release.split(".")[:2]
    return (int(major), int(minor)) >= (5, 14)


def _drop_privileges(capable: bool) -> None:
    """Drop privileges that could undo the sandbox: capabilities in a namespace suffice to mount."""
    if capable:
        call_libc("prctl", SECURE_BITS, _NO_ROOT_CAPABILITIES, 0, 0, 0)
        with open("/proc/sys/kernel/cap_last_cap") as file:
            last = int(file.read())
        for capability in range(last + 1):
            call_libc("prctl", DROP_CAPABILITY, capability, 0, 0, 0)
    call_libc("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)


def _reap_children(command: int) -> int | None:
    """Reap ended processes; return the exit code of the command if it has ended."""
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


# Resource usage


def _is_over_limits(allowed: int, is_alone: bool) -> bool:
    """Return whether there are too many processes, or they use too much memory and written files."""
    below = _list_descendants()
    if len(below) > _MAX_PROCESSES:
        return True
    sizes = [_resident_memory(pid) for pid in below]
    kept = _written_bytes() + _system_v_bytes("shm", "rss") + _system_v_bytes("msg", "cbytes") if is_alone else 0
    private = sum(own for own, _ in sizes)
    if private + kept > allowed:
        return True
    # Shared pages must be counted once. That is slow, so it is done only where it could matter.
    if private + sum(shared for _, shared in sizes) <= allowed:
        return False
    return private + max(kept, sum(map(_shared_memory_share, below))) > allowed


def _resident_memory(pid: int) -> tuple[int, int]:
    """Return the private and the shareable memory of a process, in bytes."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            _, resident, shared, *_ = map(int, file.read().split())
    except (OSError, ValueError):
        return 0, 0
    return (resident - shared) * _PAGE_SIZE, shared * _PAGE_SIZE


def _shared_memory_share(pid: int) -> int:
    """Return the proportional share of a process in shared memory, in bytes."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            found = [line.split() for line in file if line.startswith("Pss_Shmem:")]
    except OSError:
        return 0
    return sum(int(words[1]) for words in found) << 10


def _written_bytes() -> int:
    """Return the size of written files: all writable places share one file system."""
    system = os.statvfs("/tmp")
    return (system.f_blocks - system.f_bfree) * system.f_frsize


def _system_v_bytes(kind: str, column: str) -> int:
    """Return the size of all System V objects of a kind, used or not."""
    try:
        with open(f"/proc/sysvipc/{kind}") as file:
            head, *lines = [line.split() for line in file]
    except (OSError, ValueError):
        return 0
    at = head.index(column)
    return sum(int(line[at]) for line in lines)


def _list_descendants() -> list[int]:
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


def _kill_all() -> None:
    """Kill all processes of the command, including those that start meanwhile."""
    for _ in range(100):
        below = _list_descendants()
        if not below:
            return
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        _reap_children(0)
        time.sleep(0.01)
