"""A seccomp filter that rejects system calls which namespaces do not confine.

Keyrings are inherited by every process. Some socket families, such as those to a virtual machine's
host, ignore network namespaces. Anonymous memory files escape accounting while a socket holds them. The
other rejected calls are of no use to tests and a frequent way out of a sandbox.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from dataclasses import dataclass

from .linux_calls import NO_NEW_PRIVILEGES, SECCOMP, call_libc

_FILTER_MODE = 2
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
#: Offsets of the call number, the architecture and the first argument.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
#: Unix, IPv4, IPv6 and netlink.
_ALLOWED_FAMILIES = (1, 2, 10, 16)
#: The same on all architectures: io_uring, whose calls no filter sees, and `memfd_secret`.
_COMMON_REFUSED = (425, 426, 427, 447)
_X32_CALLS = 0x40000000


@dataclass(frozen=True, slots=True)
class _Architecture:
    """The numbers of `socket` and of rejected system calls on one architecture.

    The rejected calls are `add_key`, `request_key`, `keyctl`, `memfd_create`, `bpf`, `perf_event_open` and
    `userfaultfd`.
    """

    audit: int
    socket: int
    refused: tuple[int, ...]


_GENERIC = (217, 218, 219, 279, 280, 241, 282)
#: A 64-bit kernel also runs 32-bit programs, which make most socket calls by one number, 102.
_ARCHITECTURES = (
    _Architecture(0xC000003E, 41, (248, 249, 250, 319, 321, 298, 323)),
    _Architecture(0x40000003, 359, (286, 287, 288, 356, 357, 336, 374, 102)),
    _Architecture(0xC00000B7, 198, _GENERIC),
    _Architecture(0x40000028, 281, (309, 310, 311, 385, 386, 364, 388, 102)),
    _Architecture(0xC00000F3, 198, _GENERIC),
)


def install_seccomp_filter() -> None:
    """Reject the system calls for this process and its children; raise `OSError` if the kernel cannot."""
    program = b"".join(_build_filter())
    kept = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP" if struct.calcsize("P") == 8 else "HxxP", len(program) // 8, ctypes.addressof(kept))
    call_libc("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    call_libc("prctl", SECCOMP, _FILTER_MODE, header, 0, 0)


def _build_filter() -> list[bytes]:
    """Return the filter: a section for each architecture, and a kill for any other."""
    program = [_instruction(_LOAD, _ARCHITECTURE)]
    for each in _ARCHITECTURES:
        part = _build_section(each)
        program += [_instruction(_EQUAL, each.audit, otherwise=len(part)), *part]
    return [*program, _instruction(_RETURN, _KILL)]


def _build_section(architecture: _Architecture) -> list[bytes]:
    refuse = _instruction(_RETURN, _REFUSE | errno.ENOSYS)
    # The x32 ABI has its own call numbers from here on.
    part = [_instruction(_LOAD, _NUMBER), _instruction(_AT_LEAST, _X32_CALLS, otherwise=1), refuse]
    for number in (*architecture.refused, *_COMMON_REFUSED):
        part += [_instruction(_EQUAL, number, otherwise=1), refuse]
    families = [
        _instruction(_EQUAL, family, then=len(_ALLOWED_FAMILIES) - at) for at, family in enumerate(_ALLOWED_FAMILIES)
    ]
    return [
        *part,
        _instruction(_EQUAL, architecture.socket, otherwise=len(families) + 2),
        _instruction(_LOAD, _FIRST_ARGUMENT),
        *families,
        _instruction(_RETURN, _REFUSE | errno.EAFNOSUPPORT),
        _instruction(_RETURN, _ALLOW),
    ]


def _instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, then, otherwise, value)
