"""Calls of the kernel that Python does not have."""

from __future__ import annotations

import ctypes
import os
import struct

READ_ONLY, NO_SUID, NO_DEVICES = 1, 2, 4
BIND, MOVE, RECURSIVE, PRIVATE = 4096, 8192, 16384, 1 << 18
DETACH = 2
#: Options of `prctl`.
DEATH_SIGNAL, DUMPABLE, SECCOMP, DROP_CAPABILITY, SECURE_BITS, SUBREAPER, NO_NEW_PRIVILEGES = 1, 4, 22, 24, 28, 36, 38
_ALL_BELOW, _SETATTR = 0x8000, 442


def write_file(path: str, text: str, flags: int = 0) -> None:
    """Write a text in one piece, as files of the kernel want it."""
    descriptor = os.open(path, os.O_WRONLY | flags, 0o644)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def call(name: str, *arguments: int | bytes | None) -> None:
    """Call a function of the C library; raise `OSError` where it fails."""
    libc = ctypes.CDLL(None, use_errno=True)
    given = [ctypes.c_ulong(each) if isinstance(each, int) and each >= 0 else each for each in arguments]
    if getattr(libc, name)(*given) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def mount(source: str, place: str, flags: int, kind: str = "", options: str = "") -> None:
    """Mount a file system, or bind a part of one."""
    call("mount", os.fsencode(source), os.fsencode(place), kind.encode() or None, flags, options.encode() or None)


def protect(place: str, attributes: int, *, below: bool = True) -> None:
    """Set attributes of a mount, such as read-only, and of those below it."""
    packed = struct.pack("QQQQ", attributes, 0, 0, 0)
    call("syscall", _SETATTR, -100, os.fsencode(place), _ALL_BELOW if below else 0, packed, len(packed))
