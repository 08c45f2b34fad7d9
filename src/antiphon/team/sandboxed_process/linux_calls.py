"""Linux system calls that Python does not provide."""

from __future__ import annotations

import ctypes
import os
import struct

READ_ONLY, NO_SUID, NO_DEVICES = 1, 2, 4
BIND, MOVE, RECURSIVE, PRIVATE = 4096, 8192, 16384, 1 << 18
DETACH = 2
#: Options of `prctl`.
DEATH_SIGNAL, DUMPABLE, SECCOMP, DROP_CAPABILITY, SECURE_BITS, SUBREAPER, NO_NEW_PRIVILEGES = 1, 4, 22, 24, 28, 36, 38
_RECURSIVE_FLAG, _MOUNT_SETATTR = 0x8000, 442


def write_kernel_file(path: str, text: str, flags: int = 0) -> None:
    """Write a text with a single `write`, as kernel files require."""
    descriptor = os.open(path, os.O_WRONLY | flags, 0o644)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def call_libc(name: str, *arguments: int | bytes | None) -> None:
    """Call a function of the C library; raise `OSError` if it fails."""
    libc = ctypes.CDLL(None, use_errno=True)
    given = [ctypes.c_ulong(each) if isinstance(each, int) and each >= 0 else each for each in arguments]
    if getattr(libc, name)(*given) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def mount_path(source: str, place: str, flags: int, kind: str = "", options: str = "") -> None:
    """Mount a file system, or bind a part of one."""
    call_libc("mount", os.fsencode(source), os.fsencode(place), kind.encode() or None, flags, options.encode() or None)


def set_mount_attributes(place: str, attributes: int, *, below: bool = True) -> None:
    """Set attributes of a mount, such as read-only, and of those below it."""
    packed = struct.pack("QQQQ", attributes, 0, 0, 0)
    call_libc("syscall", _MOUNT_SETATTR, -100, os.fsencode(place), _RECURSIVE_FLAG if below else 0, packed, len(packed))
