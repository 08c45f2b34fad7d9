"""A second copy of a model file with its five-bit weights expanded to bytes, which a CPU reads faster.

Every number stays the same: a block of 32 keeps its scale, and its steps of -16 to 15 fit into a
byte. The file is a fifth larger, and prompts are processed a quarter faster.
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

from antiphon.local import cache_dir as store
from antiphon.local.gguf import GgufTensor, read_tensor_layout
from antiphon.local.manifest import Weights

#: Type numbers of the two layouts, and their bytes per block.
_FIVE_BIT_TYPE, _EIGHT_BIT_TYPE = 6, 8
_PACKED_SIZE, _PLAIN_SIZE = 22, 34
_BLOCK_LENGTH = 32
#: Blocks converted at a time.
_BATCH_BLOCKS = 1 << 14

# A packed block: two bytes of scale, four with the fifth bits, sixteen with the lower four of two weights each.
_LOW, _HIGH = bytes(byte & 15 for byte in range(256)), bytes(byte >> 4 for byte in range(256))
_FIFTH = [bytes((byte >> bit & 1) << 4 for byte in range(256)) for bit in range(8)]
_SIGNED = bytes((byte - 16) & 255 for byte in range(256))


def ensure_dequantized(path: Path, weights: Weights) -> Path:
    """Return the dequantised copy beside a cached file, made on first use, or the file if none can be
    made.
    """
    if path != store.get_cached_path(weights):
        # A user's own file: write nothing beside it.
        return path
    copy = store.get_cached_path(weights, ".unpacked")
    # With a full or read-only disk, use the original file.
    with suppress(OSError):
        if not _is_current_copy(copy, path):
            with store.lock_weights(weights, lambda: None):
                _make_copy(path, copy)
        return copy
    return path


def _is_current_copy(copy: Path, path: Path) -> bool:
    """Return whether the copy was made from this very file: both have the same modification time."""
    try:
        return copy.stat().st_mtime_ns == path.stat().st_mtime_ns
    except OSError:
        return False


def _make_copy(path: Path, copy: Path) -> None:
    if _is_current_copy(copy, path):
        # Another process has just made it.
        return
    stat, draft = path.stat(), copy.with_name(f"{copy.name}.draft")
    if shutil.disk_usage(path.parent).free < 2 * stat.st_size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    try:
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data, draft.open("wb") as target:
            _write_copy(path, data, target)
            target.flush()
            os.fsync(target.fileno())
        os.utime(draft, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        os.replace(draft, copy)
    finally:
        draft.unlink(missing_ok=True)


def _write_copy(path: Path, data: mmap, target: IO[bytes]) -> None:
    layout = read_tensor_layout(path)
    target.write(data[: layout.list])
    at = 0
    for tensor in layout.tensors:
        kind = _EIGHT_BIT_TYPE if _is_convertible(tensor) else tensor.kind
        target.write(tensor.entry(kind, at))
        at += layout.align(_get_converted_size(tensor))
    target.write(bytes(layout.begin - target.tell()))
    for tensor in layout.tensors:
        for piece in _iter_converted(tensor, data, layout.begin + tensor.offset):
            target.write(piece)
        target.write(bytes(layout.align(_get_converted_size(tensor)) - _get_converted_size(tensor)))


def _is_convertible(tensor: GgufTensor) -> bool:
    """Return whether a tensor is multiplied for every token of a prompt. The token table is only looked
    up.
    """
    return tensor.kind == _FIVE_BIT_TYPE and tensor.name.startswith(b"blk.")


def _get_converted_size(tensor: GgufTensor) -> int:
    return tensor.count // _BLOCK_LENGTH * _PLAIN_SIZE if _is_convertible(tensor) else tensor.size


def _iter_converted(tensor: GgufTensor, data: mmap, begin: int) -> Iterator[bytes | bytearray]:
    if not _is_convertible(tensor):
        yield data[begin : begin + tensor.size]
        return
    end = begin + tensor.count // _BLOCK_LENGTH * _PACKED_SIZE
    for at in range(begin, end, _BATCH_BLOCKS * _PACKED_SIZE):
        yield _expand_blocks(data[at : min(at + _BATCH_BLOCKS * _PACKED_SIZE, end)])


def _expand_blocks(blocks: bytes) -> bytearray:
    """Expand five-bit blocks to eight bits, column by column, because Python is fast with many bytes at a
    time.
    """
    count = len(blocks) // _PACKED_SIZE
    plain = bytearray(count * _PLAIN_SIZE)
    plain[0::_PLAIN_SIZE], plain[1::_PLAIN_SIZE] = blocks[0::_PACKED_SIZE], blocks[1::_PACKED_SIZE]
    for i in range(_BLOCK_LENGTH):
        four = blocks[6 + i % 16 :: _PACKED_SIZE].translate(_HIGH if i >= 16 else _LOW)
        fifth = blocks[2 + i // 8 :: _PACKED_SIZE].translate(_FIFTH[i % 8])
        steps = int.from_bytes(four, "little") | int.from_bytes(fifth, "little")
        plain[2 + i :: _PLAIN_SIZE] = steps.to_bytes(count, "little").translate(_SIGNED)
    return plain
