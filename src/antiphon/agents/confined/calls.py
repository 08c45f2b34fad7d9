"""Refuse calls of the kernel that namespaces do not confine.

Keyrings are inherited by every process; sockets of some families, such as those to the host of a virtual machine, are
in no network namespace; files in memory without a name cannot be counted while a socket holds them. The rest is of no
use to tests and a frequent way out of a sandbox.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from dataclasses import dataclass

from .kernel import NO_NEW_PRIVILEGES, SECCOMP, call

_FILTER_MODE = 2
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
#: Where the number of a call, the architecture and the first argument are.
_NUMBER, _ARCHITECTURE, _FIRST = 0, 4, 16
#: Unix, IPv4, IPv6 and netlink.
_FAMILIES = (1, 2, 10, 16)
#: The same everywhere: io_uring, which makes calls that no filter sees, and `memfd_secret`.
_EVERYWHERE = (425, 426, 427, 447)
_FOREIGN = 0x40000000


@dataclass(frozen=True, slots=True)
class _Architecture:
    """The numbers of `socket`, and of calls to refuse.

    Those are `add_key`, `request_key`, `keyctl`, `memfd_create`, `bpf`, `perf_event_open` and `userfaultfd`.
    """

    audit: int
    socket: int
    refused: tuple[int, ...]


_GENERIC = (217, 218, 219, 279, 280, 241, 282)
#: A kernel of 64 bits also runs programs of 32; those of the latter make most calls of sockets by one number, 102.
_ARCHITECTURES = (
    _Architecture(0xC000003E, 41, (248, 249, 250, 319, 321, 298, 323)),
    _Architecture(0x40000003, 359, (286, 287, 288, 356, 357, 336, 374, 102)),
    _Architecture(0xC00000B7, 198, _GENERIC),
    _Architecture(0x40000028, 281, (309, 310, 311, 385, 386, 364, 388, 102)),
    _Architecture(0xC00000F3, 198, _GENERIC),
)


def refuse_calls() -> None:
    """Refuse the calls for this process and all it starts; raise `OSError` where the kernel cannot."""
    program = b"".join(_program())
    kept = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP" if struct.calcsize("P") == 8 else "HxxP", len(program) // 8, ctypes.addressof(kept))
    call("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    call("prctl", SECCOMP, _FILTER_MODE, header, 0, 0)


def _program() -> list[bytes]:
    """Return the filter: a part for each architecture, and the end of whoever has another."""
    program = [_step(_LOAD, _ARCHITECTURE)]
    for each in _ARCHITECTURES:
        part = _part(each)
        program += [_step(_EQUAL, each.audit, otherwise=len(part)), *part]
    return [*program, _step(_RETURN, _KILL)]


def _part(architecture: _Architecture) -> list[bytes]:
    refuse = _step(_RETURN, _REFUSE | errno.ENOSYS)
    # Programs of another kind have calls of their own, by numbers from here on.
    part = [_step(_LOAD, _NUMBER), _step(_AT_LEAST, _FOREIGN, otherwise=1), refuse]
    for number in (*architecture.refused, *_EVERYWHERE):
        part += [_step(_EQUAL, number, otherwise=1), refuse]
    families = [_step(_EQUAL, family, then=len(_FAMILIES) - at) for at, family in enumerate(_FAMILIES)]
    return [
        *part,
        _step(_EQUAL, architecture.socket, otherwise=len(families) + 2),
        _step(_LOAD, _FIRST),
        *families,
        _step(_RETURN, _REFUSE | errno.EAFNOSUPPORT),
        _step(_RETURN, _ALLOW),
    ]


def _step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, then, otherwise, value)
