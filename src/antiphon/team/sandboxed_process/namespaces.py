"""Build a sandbox from Linux namespaces and run a command in it.

A bare interpreter starts this program. It writes the result of the command to a descriptor that the
command does not have. Three processes share the work. The first keeps the user's rights: it maps the
ids of the namespaces and packs the files to test. The second enters the namespaces and opens the
readable paths. The third is process 1 inside: it builds a root, unpacks the files, starts the command
and supervises it.
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

from .linux_calls import (
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
    call_libc,
    mount_path,
    set_mount_attributes,
    write_kernel_file,
)
from .seccomp import install_seccomp_filter
from .supervisor import supervise

_MAX_FILES = 500_000
#: User, mount, UTS, IPC, process, network and cgroup namespaces.
_NAMESPACES = 0x10000000 | 0x20000 | 0x4000000 | 0x8000000 | 0x20000000 | 0x40000000 | 0x2000000
#: The user id of the command inside the sandbox; and outside, if the caller is root.
_INSIDE_ID, _NOBODY_ID = 1000, 65534
_KEEP_CAPABILITIES = 4

#: Where the new root is built: this directory exists everywhere.
_ROOT = "/tmp"
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_STREAMS = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}
_MASKED_PROC_FILES = (
    "kcore",
    "keys",
    "key-users",
    "kallsyms",
    "kmsg",
    "kpagecount",
    "kpageflags",
    "kpagecgroup",
    "timer_list",
)
_HOST_NAME = "sandbox"
_ETC_FILES = {
    "passwd": (
        f"root:x:0:0::/:/bin/false\ntester:x:{_INSIDE_ID}:{_INSIDE_ID}::/tmp/home:/bin/sh\n"
        f"nobody:x:{_NOBODY_ID}:{_NOBODY_ID}::/:/bin/false\n"
    ),
    "group": f"root:x:0:\ntester:x:{_INSIDE_ID}:\nnogroup:x:{_NOBODY_ID}:\n",
    "hosts": f"127.0.0.1 localhost {_HOST_NAME}\n::1 localhost {_HOST_NAME}\n",
    "hostname": f"{_HOST_NAME}\n",
}


class _FilesNotCopied(Exception):
    """Raised when the files to test cannot be copied into the sandbox."""


def main() -> None:
    """Run the order in the first argument, given as JSON."""
    order = json.loads(sys.argv[1])
    os.set_inheritable(order["report"], False)
    _run_reporting(order, _start_sandbox if order["sandbox"] else supervise)


def _run_reporting(order: dict[str, Any], step: Any, *arguments: Any) -> None:
    """Run a step and report how it ended, or why it failed."""
    try:
        ended = step(order, *arguments)
    except _FilesNotCopied as error:
        ended = {"why": "unstarted", "text": str(error)}
    except OSError as error:
        ended = {"why": "no sandbox", "text": str(error)}
    if ended is not None:
        os.write(order["report"], json.dumps(ended).encode())


def _start_sandbox(order: dict[str, Any]) -> None:
    """Start the process that builds the sandbox, map its ids, and send it the files."""
    # If memory that is not counted exhausts the system, the kernel kills these processes first.
    with suppress(OSError):
        write_kernel_file("/proc/self/oom_score_adj", "1000")
    told, tell = os.pipe()
    mapped, map_done = os.pipe()
    files, packed = os.pipe()
    if (child := os.fork()) == 0:
        for end in (told, map_done, packed):
            os.close(end)
        _run_reporting(order, _enter_namespaces, tell, mapped, files)
        os._exit(0)
    for end in (tell, mapped, files):
        os.close(end)
    if os.read(told, 1):
        _map_ids(child)
        os.write(map_done, b"x")
        _pack_files(order, packed)
    os.waitpid(child, 0)


def _map_ids(child: int) -> None:
    """Map the child to an ordinary user inside, and to nobody outside if the caller is root."""
    outside = (os.geteuid(), os.getegid())
    if outside[0] == 0 and _is_mapped(_NOBODY_ID, "uid") and _is_mapped(_NOBODY_ID, "gid"):
        outside = (_NOBODY_ID, _NOBODY_ID)
    else:
        write_kernel_file(f"/proc/{child}/setgroups", "deny")
    for name, id in zip(("uid_map", "gid_map"), outside, strict=True):
        write_kernel_file(f"/proc/{child}/{name}", f"{_INSIDE_ID} {id} 1")


def _is_mapped(id: int, kind: str) -> bool:
    with open(f"/proc/self/{kind}_map") as file:
        spans = [tuple(map(int, line.split())) for line in file]
    return any(first <= id < first + count for first, _, count in spans)


def _pack_files(order: dict[str, Any], sink: int) -> None:
    """Write the files to test into a pipe, except withheld ones."""
    unseen, top = {*order["withheld"], *order["without"]}, str(order["tree"])

    def keep_member(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        plain = member.isreg() or member.isdir() or member.issym() or member.islnk()
        return member if plain and member.name not in unseen else None

    # The reader may have ended, and has reported why.
    with (
        suppress(BrokenPipeError),
        open(sink, "wb") as stream,
        tarfile.open(fileobj=stream, mode="w|", bufsize=1 << 18) as archive,
    ):
        for name in sorted(os.listdir(top)):
            archive.add(os.path.join(top, name), name, filter=keep_member)


# The second process


def _enter_namespaces(order: dict[str, Any], tell: int, mapped: int, files: int) -> None:
    """Enter new namespaces, and start the process that runs the command."""
    call_libc("unshare", _NAMESPACES)
    os.write(tell, b"x")
    if not os.read(mapped, 1):
        return
    mount_path("none", "/", RECURSIVE | PRIVATE)
    # Only the user can open these; later they are reached through these descriptors.
    held = {place: _open_path(source) for place, source in order["places"].items()}
    _become_mapped_user()
    call_libc("prctl", DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    _raise_loopback()
    socket.sethostname(_HOST_NAME)
    if child := os.fork():
        os.waitpid(child, 0)
        os._exit(0)
    call_libc("prctl", DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    _run_reporting(order, _run_in_new_root, held, files)
    os._exit(0)


def _open_path(source: str) -> int | None:
    """Return a descriptor of a readable path; `None` if the user cannot open it."""
    try:
        return os.open(source, os.O_PATH)
    except OSError:
        return None


def _become_mapped_user() -> None:
    """Become the mapped user, with all capabilities inside these namespaces and none outside."""
    call_libc("prctl", SECURE_BITS, _KEEP_CAPABILITIES, 0, 0, 0)
    # An ordinary user cannot give up groups; nothing that they could open is in the new root.
    with suppress(PermissionError):
        os.setgroups([])
    os.setresgid(_INSIDE_ID, _INSIDE_ID, _INSIDE_ID)
    os.setresuid(_INSIDE_ID, _INSIDE_ID, _INSIDE_ID)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x41))


# The third process


def _run_in_new_root(order: dict[str, Any], held: dict[str, int | None], files: int) -> dict[str, Any]:
    """Build the root, enter it, unpack the files and run the command."""
    mount_path("tmpfs", _ROOT, NO_SUID | NO_DEVICES, "tmpfs", "size=4m,nr_inodes=20k,mode=755")
    _make_system()
    _mount_places(order, held)
    _mount_proc()
    for link, target in order["links"].items():
        _make_symlink(target, _ROOT + link)
    os.chdir(_ROOT)
    mount_path(".", "/", MOVE)
    os.chroot(".")
    set_mount_attributes("/", READ_ONLY, below=False)
    _unpack_files(order, files)
    install_seccomp_filter()
    return supervise(order)


def _make_system() -> None:
    """Create devices, files in /etc, and mount points."""
    for place in ("/etc", "/proc", "/run"):
        os.mkdir(_ROOT + place)
    for name in _DEVICES:
        _bind_file(f"/dev/{name}", f"{_ROOT}/dev/{name}")
    for name, stream in _STREAMS.items():
        os.symlink(f"/proc/self/fd{stream}", f"{_ROOT}/dev/{name}")
    for name, text in _ETC_FILES.items():
        write_kernel_file(f"{_ROOT}/etc/{name}", text, os.O_CREAT)


def _mount_places(order: dict[str, Any], held: dict[str, int | None]) -> None:
    """Mount the writable places, which share one limit, and bind the readable ones, outer ones first."""
    whole = f"{_ROOT}/.whole"
    os.mkdir(whole)
    size = f"size={order['memory']},nr_inodes={_MAX_FILES},mode=755"
    mount_path("tmpfs", whole, NO_SUID | NO_DEVICES, "tmpfs", size)
    writable = {"/tmp": "tmp", "/dev/shm": "shm", "/var/tmp": "var", order["tree"]: "tree"}
    for place in sorted({*writable, *held, *order["hidden"]}, key=lambda each: each.split("/")):
        if place in writable:
            source = f"{whole}/{writable[place]}"
            os.mkdir(source)
            os.chmod(source, 0o755 if place == order["tree"] else 0o1777)
            os.makedirs(_ROOT + place, exist_ok=True)
            mount_path(source, _ROOT + place, BIND)
        elif place in order["hidden"]:
            os.makedirs(_ROOT + place, exist_ok=True)
            mount_path("tmpfs", _ROOT + place, NO_SUID | NO_DEVICES, "tmpfs", "size=64k,mode=755")
        elif (descriptor := held[place]) is not None:
            _bind_readable(descriptor, place)
            os.close(descriptor)
    call_libc("umount2", whole.encode(), DETACH)
    os.rmdir(whole)
    os.mkdir(f"{_ROOT}/tmp/home")


def _bind_readable(source: int, place: str) -> None:
    target = _ROOT + place
    if stat.S_ISDIR(os.stat(source).st_mode):
        os.makedirs(target, exist_ok=True)
        mount_path(f"/proc/self/fd/{source}", target, BIND | RECURSIVE)
    else:
        _bind_file(f"/proc/self/fd/{source}", target)
    set_mount_attributes(target, READ_ONLY | NO_SUID | NO_DEVICES)


def _bind_file(source: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not os.path.exists(target):
        write_kernel_file(target, "", os.O_CREAT)
    mount_path(source, target, BIND)


def _mount_proc() -> None:
    """Mount a read-only `/proc` of these processes, and forbid further user namespaces."""
    place = f"{_ROOT}/proc"
    mount_path("proc", place, NO_SUID | NO_DEVICES, "proc")
    # In its own namespace the command could mount file systems without a limit.
    write_kernel_file(f"{place}/sys/user/max_user_namespaces", "0")
    for name in _MASKED_PROC_FILES:
        if os.path.exists(f"{place}/{name}"):
            mount_path("/dev/null", f"{place}/{name}", BIND)
    set_mount_attributes(place, READ_ONLY)


def _make_symlink(target: str, place: str) -> None:
    if not os.path.lexists(place):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.symlink(target, place)


def _unpack_files(order: dict[str, Any], files: int) -> None:
    """Unpack the files to test. Whatever they contain, only the sandbox's own file systems are writable by
    now.
    """
    try:
        with open(files, "rb") as stream, tarfile.open(fileobj=stream, mode="r|", bufsize=1 << 18) as archive:
            # Newer Pythons reject links that lead outside, which is harmless in the sandbox.
            archive.extraction_filter = lambda member, _: member
            archive.extractall(order["tree"])
    except (OSError, tarfile.TarError) as error:
        if getattr(error, "errno", None) == errno.ENOSPC:
            raise _FilesNotCopied(f"the files to test take more than {order['memory']:,} bytes") from None
        raise _FilesNotCopied(f"the files to test cannot be copied: {error}") from None
