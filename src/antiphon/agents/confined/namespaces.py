"""Build a system from nothing and run a command in it.

It is started with a bare interpreter, and writes how the command ended to a descriptor that the command does not have.
Three processes share the work. The first keeps the user's rights: it maps the ids of the namespaces and packs the files
to test. The second goes into the namespaces and opens what may be read. The third is process 1 of them: it builds a
root, unpacks the files there, starts the command and looks after it.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import socket
import stat
import struct
import sys
import tarfile
from contextlib import suppress
from typing import Any

from .calls import refuse_calls
from .keeper import keep
from .kernel import (
    BIND,
    DEATH_SIGNAL,
    DETACH,
    MOVE,
    NO_DEVICES,
    NO_SUID,
    PRIVATE,
    READ_ONLY,
    RECURSIVE,
    SECURE_BITS,
    call,
    mount,
    protect,
    write_file,
)

_MOST_FILES = 500_000
#: User, mount, UTS, IPC, process, network and cgroup namespaces.
_NAMESPACES = 0x10000000 | 0x20000 | 0x4000000 | 0x8000000 | 0x20000000 | 0x40000000 | 0x2000000
#: Who the command is inside; and who it is outside, where the caller is root.
_USER, _NOBODY = 1000, 65534
_KEEP_CAPABILITIES = 4

#: Where the new root is built; it exists everywhere, and whoever may enter it does not matter.
_ROOT = "/tmp"
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_STREAMS = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}
_MASKED = ("kcore", "keys", "key-users", "kallsyms", "kmsg", "kpagecount", "kpageflags", "kpagecgroup", "timer_list")
_HOST = "sandbox"
_ETC = {
    "passwd": (
        f"root:x:0:0::/:/bin/false\ntester:x:{_USER}:{_USER}::/tmp/home:/bin/sh\n"
        f"nobody:x:{_NOBODY}:{_NOBODY}::/:/bin/false\n"
    ),
    "group": f"root:x:0:\ntester:x:{_USER}:\nnogroup:x:{_NOBODY}:\n",
    "hosts": f"127.0.0.1 localhost {_HOST}\n::1 localhost {_HOST}\n",
    "hostname": f"{_HOST}\n",
}


class _Unusable(Exception):
    """The files to test cannot be brought into the sandbox."""


def main() -> None:
    """Run what the first argument orders, as JSON."""
    order = json.loads(sys.argv[1])
    os.set_inheritable(order["report"], False)
    _guarded(order, _enter if order["sandbox"] else keep)


def _guarded(order: dict[str, Any], step: Any, *arguments: Any) -> None:
    """Take a step, and report how it ended, or why it could not be taken."""
    try:
        ended = step(order, *arguments)
    except _Unusable as error:
        ended = {"why": "unstarted", "text": str(error)}
    except OSError as error:
        ended = {"why": "no sandbox", "text": str(error)}
    if ended is not None:
        os.write(order["report"], json.dumps(ended).encode())


def _enter(order: dict[str, Any]) -> None:
    """Start the process that builds the sandbox, map its ids, and give it the files."""
    # Where what is not counted takes all memory of the system, the kernel ends these first.
    with suppress(OSError):
        write_file("/proc/self/oom_score_adj", "1000")
    told, tell = os.pipe()
    mapped, map_done = os.pipe()
    files, packed = os.pipe()
    if (child := os.fork()) == 0:
        for end in (told, map_done, packed):
            os.close(end)
        _guarded(order, _build, tell, mapped, files)
        os._exit(0)
    for end in (tell, mapped, files):
        os.close(end)
    if os.read(told, 1):
        _map_ids(child)
        os.write(map_done, b"x")
        _pack(order, packed)
    os.waitpid(child, 0)


def _map_ids(child: int) -> None:
    """Let the child be an ordinary user inside, and outside nobody where the caller is root."""
    outside = (os.geteuid(), os.getegid())
    if outside[0] == 0 and _is_mapped(_NOBODY, "uid") and _is_mapped(_NOBODY, "gid"):
        outside = (_NOBODY, _NOBODY)
    else:
        write_file(f"/proc/{child}/setgroups", "deny")
    for name, id in zip(("uid_map", "gid_map"), outside, strict=True):
        write_file(f"/proc/{child}/{name}", f"{_USER} {id} 1")


def _is_mapped(id: int, kind: str) -> bool:
    with open(f"/proc/self/{kind}_map") as file:
        spans = [tuple(map(int, line.split())) for line in file]
    return any(first <= id < first + count for first, _, count in spans)


def _pack(order: dict[str, Any], sink: int) -> None:
    """Write the files to test into a pipe, but for those that they are not to see."""
    unseen, top = {*order["withheld"], *order["without"]}, str(order["tree"])

    def kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        plain = member.isreg() or member.isdir() or member.issym() or member.islnk()
        return member if plain and member.name not in unseen else None

    # Whoever reads it may have ended, and has said why.
    with (
        suppress(BrokenPipeError),
        open(sink, "wb") as stream,
        tarfile.open(fileobj=stream, mode="w|", bufsize=1 << 18) as archive,
    ):
        for name in sorted(os.listdir(top)):
            archive.add(os.path.join(top, name), name, filter=kept)


# The second process


def _build(order: dict[str, Any], tell: int, mapped: int, files: int) -> None:
    """Go into new namespaces, build a root there, and start the process that runs the command."""
    call("unshare", _NAMESPACES)
    os.write(tell, b"x")
    if not os.read(mapped, 1):
        return
    mount("none", "/", RECURSIVE | PRIVATE)
    # Only the user can open these; later they are reached through what is held here.
    held = {place: _hold(source) for place, source in order["places"].items()}
    _change_user()
    call("prctl", DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    _raise_loopback()
    socket.sethostname(_HOST)
    if child := os.fork():
        os.waitpid(child, 0)
        os._exit(0)
    call("prctl", DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    _guarded(order, _run, held, files)
    os._exit(0)


def _hold(source: str) -> int | None:
    """Open what may be read; what the user cannot open is not there."""
    try:
        return os.open(source, os.O_PATH)
    except OSError:
        return None


def _change_user() -> None:
    """Become the user that is mapped, with all powers over these namespaces and none outside."""
    call("prctl", SECURE_BITS, _KEEP_CAPABILITIES, 0, 0, 0)
    # An ordinary user cannot give up groups; nothing that they could open is in the new root.
    with suppress(PermissionError):
        os.setgroups([])
    os.setresgid(_USER, _USER, _USER)
    os.setresuid(_USER, _USER, _USER)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x41))


# The third process


def _run(order: dict[str, Any], held: dict[str, int | None], files: int) -> dict[str, Any]:
    """Build the root, go into it, unpack the files and run the command."""
    mount("tmpfs", _ROOT, NO_SUID | NO_DEVICES, "tmpfs", "size=4m,nr_inodes=20k,mode=755")
    _make_system()
    _make_writable(order, held)
    _mount_proc()
    for link, target in order["links"].items():
        _link(target, _ROOT + link)
    os.chdir(_ROOT)
    mount(".", "/", MOVE)
    os.chroot(".")
    protect("/", READ_ONLY, below=False)
    _unpack(order, files)
    refuse_calls()
    return keep(order)


def _make_system() -> None:
    """Make a few devices, a few files in /etc, and places for what follows."""
    for place in ("/etc", "/proc", "/run"):
        os.mkdir(_ROOT + place)
    for name in _DEVICES:
        _bind_file(f"/dev/{name}", f"{_ROOT}/dev/{name}")
    for name, stream in _STREAMS.items():
        os.symlink(f"/proc/self/fd{stream}", f"{_ROOT}/dev/{name}")
    for name, text in _ETC.items():
        write_file(f"{_ROOT}/etc/{name}", text, os.O_CREAT)


def _make_writable(order: dict[str, Any], held: dict[str, int | None]) -> None:
    """Make the places that can be written, which share one limit, and bind what may be read, the outer ones first."""
    whole = f"{_ROOT}/.whole"
    os.mkdir(whole)
    size = f"size={order['memory']},nr_inodes={_MOST_FILES},mode=755"
    mount("tmpfs", whole, NO_SUID | NO_DEVICES, "tmpfs", size)
    writable = {"/tmp": "tmp", "/dev/shm": "shm", "/var/tmp": "var", order["tree"]: "tree"}
    for place in sorted({*writable, *held, *order["hidden"]}, key=lambda each: each.split("/")):
        if place in writable:
            source = f"{whole}/{writable[place]}"
            os.mkdir(source)
            os.chmod(source, 0o755 if place == order["tree"] else 0o1777)
            os.makedirs(_ROOT + place, exist_ok=True)
            mount(source, _ROOT + place, BIND)
        elif place in order["hidden"]:
            os.makedirs(_ROOT + place, exist_ok=True)
            mount("tmpfs", _ROOT + place, NO_SUID | NO_DEVICES, "tmpfs", "size=64k,mode=755")
        elif (descriptor := held[place]) is not None:
            _bind(descriptor, place)
            os.close(descriptor)
    call("umount2", whole.encode(), DETACH)
    os.rmdir(whole)
    os.mkdir(f"{_ROOT}/tmp/home")


def _bind(source: int, place: str) -> None:
    """Let a file or a directory that may be read be at its place."""
    target = _ROOT + place
    if stat.S_ISDIR(os.stat(source).st_mode):
        os.makedirs(target, exist_ok=True)
        mount(f"/proc/self/fd/{source}", target, BIND | RECURSIVE)
    else:
        _bind_file(f"/proc/self/fd/{source}", target)
    protect(target, READ_ONLY | NO_SUID | NO_DEVICES)


def _bind_file(source: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not os.path.exists(target):
        write_file(target, "", os.O_CREAT)
    mount(source, target, BIND)


def _mount_proc() -> None:
    """Mount a `/proc` of these processes alone, forbid further user namespaces, and make it read-only."""
    place = f"{_ROOT}/proc"
    mount("proc", place, NO_SUID | NO_DEVICES, "proc")
    # In a namespace of its own the command could mount file systems without a limit.
    write_file(f"{place}/sys/user/max_user_namespaces", "0")
    for name in _MASKED:
        if os.path.exists(f"{place}/{name}"):
            mount("/dev/null", f"{place}/{name}", BIND)
    protect(place, READ_ONLY)


def _link(target: str, place: str) -> None:
    if not os.path.lexists(place):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.symlink(target, place)


def _unpack(order: dict[str, Any], files: int) -> None:
    """Unpack the files to test: whatever they hold, only file systems of our own can be written by now."""
    try:
        with open(files, "rb") as stream, tarfile.open(fileobj=stream, mode="r|", bufsize=1 << 18) as archive:
            # Newer Pythons refuse links that lead outside; here there is no outside.
            archive.extraction_filter = lambda member, _: member
            archive.extractall(order["tree"])
    except (OSError, tarfile.TarError) as error:
        if getattr(error, "errno", None) == errno.ENOSPC:
            raise _Unusable(f"the files to test take more than {order['memory']:,} bytes") from None
        raise _Unusable(f"the files to test cannot be copied: {error}") from None
