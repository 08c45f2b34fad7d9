"""A program of its own that runs a command confined: nothing outside reached, nothing left running, limits kept.

It is started by path with a bare interpreter, imports nothing of ours, and writes how the command ended to a descriptor
that the command does not have. Where the system lets it, it goes into namespaces first: no network but a loopback, no
processes but its own, every file system read-only but for what is named.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from typing import Any, NoReturn

_MOST_PROCESSES = 1_000
_LARGEST_FILE = 4 << 30
_PAGE = os.sysconf("SC_PAGE_SIZE")

_NEW = {"user": 0x10000000, "files": 0x20000, "processes": 0x20000000, "network": 0x40000000, "messages": 0x8000000}
_BIND, _RECURSIVE, _PRIVATE, _NO_SUID, _NO_DEVICES = 4096, 16384, 1 << 18, 2, 4
_READ_ONLY, _ALL_BELOW, _MOUNT_SETATTR = 1, 0x8000, 442
_DEATH_SIGNAL, _SUBREAPER, _NO_NEW_PRIVILEGES, _SECURE_BITS, _DROP_CAPABILITY = 1, 36, 38, 28, 24
_NOT_BY_ROOT = 3
_DUMPABLE = 4


def main() -> None:
    """Run what the first argument orders, as JSON."""
    order = json.loads(sys.argv[1])
    os.set_inheritable(order["report"], False)
    try:
        if order["namespaces"]:
            _enter(order)
        ended = _keep(order)
    except OSError as error:
        ended = {"why": "no sandbox", "text": str(error)}
    os.write(order["report"], json.dumps(ended).encode())


def _enter(order: dict[str, Any]) -> None:
    """Go on as the first process of a world with little in it; whoever stays behind only waits."""
    user, group = os.getuid(), os.getgid()
    _call("unshare", sum(_NEW.values()))
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    _mount("none", "/", _RECURSIVE | _PRIVATE)
    _arrange(order)
    _raise_loopback()
    if child := os.fork():
        os.waitpid(child, 0)
        os._exit(0)
    _call("prctl", _DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    _mount("proc", "/proc", _NO_SUID | _NO_DEVICES, "proc")


def _arrange(order: dict[str, Any]) -> None:
    """Make all read-only, and then what is not."""
    held = {place: os.open(source, os.O_PATH) for place, source in order["places"].items()}
    _call("syscall", _MOUNT_SETATTR, -100, b"/", _ALL_BELOW, struct.pack("QQQQ", _READ_ONLY, 0, 0, 0), 32)
    for place in order["hidden"]:
        if os.path.isdir(place):
            _mount("tmpfs", place, _NO_SUID | _NO_DEVICES, "tmpfs", "size=4k,mode=755")
        else:
            _mount(os.devnull, place, _BIND)
    for place, source in held.items():
        if not os.path.isdir(place):
            os.makedirs(place)
        _mount(f"/proc/self/fd/{source}", place, _BIND | _RECURSIVE)
        clear = _READ_ONLY if place in order["writable"] else 0
        _call(
            "syscall",
            _MOUNT_SETATTR,
            -100,
            os.fsencode(place),
            _ALL_BELOW,
            struct.pack("QQQQ", _READ_ONLY - clear, clear, 0, 0),
            32,
        )
        os.close(source)
    if os.path.isdir("/dev/shm"):
        _mount("tmpfs", "/dev/shm", _NO_SUID | _NO_DEVICES, "tmpfs", f"size={order['memory']},mode=1777")


def _raise_loopback() -> None:
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x41))


def _keep(order: dict[str, Any]) -> dict[str, Any]:
    """Start the command, and see to it until it has ended or must be ended."""
    if sys.platform == "linux":
        # What leaves its parent becomes our child, and is found. None of them may look into us, or write our report.
        _call("prctl", _SUBREAPER, 1, 0, 0, 0)
        _call("prctl", _DUMPABLE, 0, 0, 0, 0)
    # Who is told to end ends what it looks after.
    signal.signal(signal.SIGTERM, _leave)
    until = time.monotonic() + order["seconds"]
    # All processes of the system are looked at where there is no world of our own.
    every = 50 if order["namespaces"] else 250
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
            if _too_much(order["memory"]):
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
        resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))
        if sys.platform == "linux":
            _renounce(order["namespaces"])
        os.execv("/bin/sh", ["sh", "-c", order["command"]])
    except (OSError, ValueError) as error:
        os.write(2, f"the command could not be started: {error}\n".encode())
    finally:
        os._exit(127)


def _renounce(capable: bool) -> None:
    """Give up what could undo the confinement: being root in a namespace is enough to mount."""
    if capable:
        _call("prctl", _SECURE_BITS, _NOT_BY_ROOT, 0, 0, 0)
        with open("/proc/sys/kernel/cap_last_cap") as file:
            last = int(file.read())
        for capability in range(last + 1):
            _call("prctl", _DROP_CAPABILITY, capability, 0, 0, 0)
    _call("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0)


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


def _too_much(memory: int) -> bool:
    below = _descendants()
    return len(below) > _MOST_PROCESSES or sum(map(_resident, below)) > memory


def _resident(pid: int) -> int:
    """The memory of a process that it shares with nobody."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            _, resident, shared, *_ = map(int, file.read().split())
    except (OSError, ValueError):
        return 0
    return (resident - shared) * _PAGE


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


def _call(name: str, *arguments: int | bytes | None) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    given = [ctypes.c_ulong(each) if isinstance(each, int) and each >= 0 else each for each in arguments]
    if getattr(libc, name)(*given) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _mount(source: str, place: str, flags: int, kind: str = "", options: str = "") -> None:
    _call("mount", os.fsencode(source), os.fsencode(place), kind.encode() or None, flags, options.encode() or None)


if __name__ == "__main__":
    main()
