"""A second copy of a model's file, with its weights of five bits laid out in bytes, which a processor reads faster.

Every number is the same: a block of 32 keeps its scale, and its steps of -16 to 15 fit into a byte. The file is a fifth
larger, and the time to read a prompt a quarter shorter.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO

from antiphon.providers.local import store
from antiphon.providers.local.gguf import Tensor, read_layout
from antiphon.providers.local.manifest import Weights

#: How the format numbers the two layouts, and how many bytes each has for a block.
_FIVE_BITS, _EIGHT_BITS = 6, 8
_PACKED, _PLAIN = 22, 34
_BLOCK = 32
#: Blocks that are unpacked at a time.
_AT_ONCE = 1 << 14

# A packed block: two bytes of scale, four with the fifth bits, sixteen with the lower four of two weights each.
_LOW, _HIGH = bytes(byte & 15 for byte in range(256)), bytes(byte >> 4 for byte in range(256))
_FIFTH = [bytes((byte >> bit & 1) << 4 for byte in range(256)) for bit in range(8)]
_SIGNED = bytes((byte - 16) & 255 for byte in range(256))


def unpacked(path: Path, weights: Weights) -> Path:
    """The copy beside a file of the cache, made when it is first wanted; the file itself where none can be made."""
    if path != store.cached(weights):
        # A file of the user's: nothing is written beside it.
        return path
    copy = store.cached(weights, ".unpacked")
    # A full or a read-only disk costs speed, no more.
    with suppress(OSError):
        if not _is_copy(copy, path):
            with store.locked(weights, lambda: None):
                _make(path, copy)
        return copy
    return path


def _is_copy(copy: Path, path: Path) -> bool:
    """Whether it was made of the very file: it has its time."""
    try:
        return copy.stat().st_mtime_ns == path.stat().st_mtime_ns
    except OSError:
        return False


def _make(path: Path, copy: Path) -> None:
    if _is_copy(copy, path):
        # Another process has just made it.
        return
    stat, draft = path.stat(), copy.with_name(f"{copy.name}.draft")
    if shutil.disk_usage(path.parent).free < 2 * stat.st_size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    try:
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data, draft.open("wb") as target:
            _write(path, data, target)
            target.flush()
            os.fsync(target.fileno())
        os.utime(draft, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        os.replace(draft, copy)
    finally:
        draft.unlink(missing_ok=True)


def _write(path: Path, data: mmap, target: IO[bytes]) -> None:
    layout = read_layout(path)
    target.write(data[: layout.list])
    at = 0
    for tensor in layout.tensors:
        kind = _EIGHT_BITS if _is_packed(tensor) else tensor.kind
        target.write(tensor.entry(kind, at))
        at += layout.aligned(_size(tensor))
    target.write(bytes(layout.begin - target.tell()))
    for tensor in layout.tensors:
        for piece in _pieces(tensor, data, layout.begin + tensor.offset):
            target.write(piece)
        target.write(bytes(layout.aligned(_size(tensor)) - _size(tensor)))


def _is_packed(tensor: Tensor) -> bool:
    """Whether it is multiplied with every token of a prompt; the table of tokens is only looked up."""
    return tensor.kind == _FIVE_BITS and tensor.name.startswith(b"blk.")


def _size(tensor: Tensor) -> int:
    return tensor.count // _BLOCK * _PLAIN if _is_packed(tensor) else tensor.size


def _pieces(tensor: Tensor, data: mmap, begin: int) -> Iterator[bytes | bytearray]:
    if not _is_packed(tensor):
        yield data[begin : begin + tensor.size]
        return
    end = begin + tensor.count // _BLOCK * _PACKED
    for at in range(begin, end, _AT_ONCE * _PACKED):
        yield _plain(data[at : min(at + _AT_ONCE * _PACKED, end)])


def _plain(blocks: bytes) -> bytearray:
    """Blocks of five bits in eight: column by column, since Python is fast with many bytes at a time."""
    count = len(blocks) // _PACKED
    plain = bytearray(count * _PLAIN)
    plain[0::_PLAIN], plain[1::_PLAIN] = blocks[0::_PACKED], blocks[1::_PACKED]
    for i in range(_BLOCK):
        four = blocks[6 + i % 16 :: _PACKED].translate(_HIGH if i >= 16 else _LOW)
        fifth = blocks[2 + i // 8 :: _PACKED].translate(_FIFTH[i % 8])
        steps = int.from_bytes(four, "little") | int.from_bytes(fifth, "little")
        plain[2 + i :: _PLAIN] = steps.to_bytes(count, "little").translate(_SIGNED)
    return plain
