"""The copy that is read faster has the same numbers, is made once, and never stands in the way."""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from antiphon.errors import ConfigurationError
from antiphon.local import weights
from antiphon.local.dequantize import ensure_dequantized
from antiphon.local.engine import has_accelerators
from antiphon.local.gguf import GgufTensor, TensorLayout, read_gguf_header, read_tensor_layout
from antiphon.local.resolve import resolve_weights_path
from tests.providers.tiny_weights import TINY, Machine, machine, sha256

FIVE_BITS, EIGHT_BITS, PLAIN = 6, 8, 0
SEED = random.Random(5)


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def packed(count: int) -> bytes:
    """Blocks with a scale that is a number, and with all bits otherwise."""
    return b"".join(struct.pack("<e", SEED.uniform(-2, 2)) + SEED.randbytes(20) for _ in range(count))


TENSORS = {
    "token_embd.weight": ((32, 3), FIVE_BITS, packed(3)),
    "blk.0.attn_q.weight": ((64, 5), FIVE_BITS, packed(10)),
    "blk.0.attn_norm.weight": ((7,), PLAIN, SEED.randbytes(28)),
    # More than are unpacked at a time.
    "blk.1.ffn_up.weight": ((32, 20_000), FIVE_BITS, packed(20_000)),
    "blk.1.ffn_down.weight": ((32, 2), EIGHT_BITS, SEED.randbytes(68)),
}


def model_file() -> bytes:
    data, entries = b"", b""
    for name, (shape, kind, content) in TENSORS.items():
        entries += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(data))
        data += content + bytes(-len(content) % 64)
    facts = text("general.architecture") + struct.pack("<I", 8) + text("tiny")
    facts += text("general.alignment") + struct.pack("<II", 4, 64)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(TENSORS), 2) + facts + entries
    return head + bytes(-len(head) % 64) + data


def numbers(block: bytes, kind: int) -> list[float]:
    """What a block means, one number at a time."""
    (scale,) = struct.unpack("<e", block[:2])
    if kind == EIGHT_BITS:
        return [scale * step for step in struct.unpack("<32b", block[2:])]
    fifths = int.from_bytes(block[2:6], "little")
    steps = [byte & 15 for byte in block[6:]] + [byte >> 4 for byte in block[6:]]
    return [scale * ((step | (fifths >> i & 1) << 4) - 16) for i, step in enumerate(steps)]


def content(path: Path, layout: TensorLayout, tensor: GgufTensor) -> bytes:
    begin = layout.begin + tensor.offset
    return path.read_bytes()[begin : begin + tensor.size]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    with machine(tmp_path, monkeypatch) as found:
        found.file.parent.mkdir(parents=True)
        found.file.write_bytes(model_file())
        yield found


def test_every_number_is_the_same(here: Machine) -> None:
    copy = ensure_dequantized(here.file, TINY)
    assert copy != here.file
    assert read_gguf_header(copy) == read_gguf_header(here.file)
    before, after = read_tensor_layout(here.file), read_tensor_layout(copy)
    for old, new in zip(before.tensors, after.tensors, strict=True):
        assert (old.name, old.shape) == (new.name, new.shape)
        assert new.offset % 64 == 0
        old_bytes, new_bytes = content(here.file, before, old), content(copy, after, new)
        if old.kind != FIVE_BITS or old.name == b"token_embd.weight":
            assert (new.kind, new_bytes) == (old.kind, old_bytes)
            continue
        assert new.kind == EIGHT_BITS
        for block in range(old.count // 32):
            here_block, there_block = old_bytes[22 * block :][:22], new_bytes[34 * block :][:34]
            assert numbers(here_block, FIVE_BITS) == numbers(there_block, EIGHT_BITS)


def test_it_is_made_once_and_again_for_another_file(here: Machine) -> None:
    made = ensure_dequantized(here.file, TINY).stat()
    assert ensure_dequantized(here.file, TINY).stat() == made
    later = here.file.stat().st_mtime_ns + 10**9
    os.utime(here.file, ns=(later, later))
    assert ensure_dequantized(here.file, TINY).stat().st_ino != made.st_ino


def test_where_none_can_be_made_the_file_serves(here: Machine) -> None:
    (here.file.parent / "tiny.gguf.unpacked.draft").symlink_to("/dev/full")
    assert ensure_dequantized(here.file, TINY) == here.file
    assert here.files() == ["tiny.gguf"]


def test_nothing_is_written_beside_a_file_of_the_users(here: Machine, tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(model_file())
    assert ensure_dequantized(own, TINY) == own
    assert here.files() == ["tiny.gguf"]


def test_removing_the_weights_removes_the_copy(here: Machine) -> None:
    ensure_dequantized(here.file, TINY)
    weights.remove("tiny")
    assert here.files() == []


def test_what_is_listed_with_too_many_axes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + text("a") + struct.pack("<I", 2**31) + bytes(10_000))
    with pytest.raises(ConfigurationError, match="cut short or damaged"):
        read_gguf_header(path)


def test_a_processor_is_given_the_copy_and_another_device_the_file(
    here: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = model_file()
    tier = replace(
        TINY, name="five", sha256=sha256(whole), parts=(replace(TINY.parts[0], bytes=len(whole)),), unpack=True
    )
    monkeypatch.setitem(weights.known(), "five", tier)
    copy = here.file.with_name("tiny.gguf.unpacked")
    assert resolve_weights_path("five") == (here.file if has_accelerators() else copy)
