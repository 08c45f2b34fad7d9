"""Reader of GGUF headers: model metadata and tensor layout, and whether the file is complete, before
loading it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from antiphon.errors import ConfigurationError

# Value types of the format by number, as `struct` formats. 8 is a text, 9 a list.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
_VERSIONS = (2, 3)
_MAX_AXES = 4


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Metadata of a model file. No token of its vocabulary is longer than `longest_token` bytes."""

    architecture: str
    context: int
    template: str
    longest_token: int

    @property
    def has_tools(self) -> bool:
        """True if the model's own chat template supports tools."""
        return "tools" in self.template


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """A tensor: how it is quantised, and its offset from the first one."""

    name: bytes
    shape: tuple[int, ...]
    kind: int
    offset: int
    size: int

    @property
    def count(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def entry(self, kind: int, offset: int) -> bytes:
        """Return the tensor's entry in the file's list, for this type and offset."""
        form = f"<Q{len(self.name)}sI{len(self.shape)}QIQ"
        return struct.pack(form, len(self.name), self.name, len(self.shape), *self.shape, kind, offset)


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """Positions of the tensor list and of the tensor data in a file."""

    list: int
    begin: int
    alignment: int
    tensors: tuple[GgufTensor, ...]

    def align(self, count: int) -> int:
        """Round a byte count up to where the next tensor may begin."""
        return -(-count // self.alignment) * self.alignment


def read_gguf_header(path: Path) -> GgufHeader:
    """Return the header of a model file. Raise ConfigurationError if it is unreadable."""
    return _read_file(path)[0]


def read_tensor_layout(path: Path) -> TensorLayout:
    """Return how the tensors of a model file are laid out."""
    return _read_file(path)[1]


def _read_file(path: Path) -> tuple[GgufHeader, TensorLayout]:
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ConfigurationError(f"{path} is no GGUF file")
            with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
                return _GgufReader(data).header()
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}") from None
    except (struct.error, IndexError, ValueError, RecursionError, _TruncatedFile):
        raise ConfigurationError(f"{path} is a GGUF file that is cut short or damaged; fetch it again") from None
    except _UnsupportedFormat as error:
        raise ConfigurationError(f"{path}: {error}") from None


class _TruncatedFile(Exception):
    """Raised if the file ends too early."""


class _UnsupportedFormat(Exception):
    """Raised if the file has an unknown form."""


class _GgufReader:
    def __init__(self, data: mmap) -> None:
        self._data = data
        self._at = 4
        self._longest = 0

    def header(self) -> tuple[GgufHeader, TensorLayout]:
        version = self._read_scalar("I")
        if version not in _VERSIONS:
            raise _UnsupportedFormat(
                f"GGUF version {version} is not supported; there are {' and '.join(map(str, _VERSIONS))}"
            )
        tensors, count = self._read_scalar("Q"), self._read_scalar("Q")
        found: dict[str, Any] = {}
        for _ in range(count):
            name = self._text().decode()
            found[name] = self._value(self._read_scalar("I"), name == "tokenizer.ggml.tokens")
        layout = self._read_layout(tensors, int(found.get("general.alignment") or 32))
        architecture = str(found.get("general.architecture") or "")
        context = found.get(f"{architecture}.context_length")
        template = found.get("tokenizer.chat_template")
        header = GgufHeader(
            architecture,
            context if isinstance(context, int) and context > 0 else 0,
            template if isinstance(template, str) else "",
            self._longest or 64,
        )
        return header, layout

    def _read_layout(self, count: int, alignment: int) -> TensorLayout:
        """Read the list of tensors. The last one must begin inside the file."""
        listed = self._at
        entries = [self._read_entry() for _ in range(count)]
        begin = -(-self._at // alignment) * alignment
        ends = dict(pairwise([*sorted({offset for *_, offset in entries}), len(self._data) - begin]))
        if any(end <= offset for offset, end in ends.items()):
            raise _TruncatedFile
        tensors = (GgufTensor(*entry, ends[entry[3]] - entry[3]) for entry in entries)
        return TensorLayout(listed, begin, alignment, tuple(tensors))

    def _read_entry(self) -> tuple[bytes, tuple[int, ...], int, int]:
        name, axes = self._text(), self._read_scalar("I")
        if axes > _MAX_AXES:
            raise _TruncatedFile
        return name, tuple(self._read_scalar("Q") for _ in range(axes)), self._read_scalar("I"), self._read_scalar("Q")

    def _value(self, kind: int, measured: bool = False) -> Any:
        if kind == _TEXT:
            return self._text().decode("utf-8", "replace")
        if kind == _LIST:
            return self._skip_list(measured)
        if kind not in _SCALARS:
            raise _TruncatedFile
        return self._read_scalar(_SCALARS[kind])

    def _skip_list(self, measured: bool) -> None:
        kind, count = self._read_scalar("I"), self._read_scalar("Q")
        if kind in _SCALARS:
            self._move(count * struct.calcsize(f"<{_SCALARS[kind]}"))
            return
        if kind != _TEXT:
            for _ in range(count):
                self._value(kind)
            return
        data, at, size, longest = self._data, self._at, len(self._data), 0
        # Hundreds of thousands of tokens: this loop dominates the time to read a header.
        for _ in range(count):
            length = int.from_bytes(data[at : at + 8], "little")
            at += 8 + length
            if at > size:
                raise _TruncatedFile
            longest = length if length > longest else longest
        self._at = at
        self._longest = longest if measured else self._longest

    def _read_scalar(self, form: str) -> Any:
        value = struct.unpack_from(f"<{form}", self._data, self._at)[0]
        self._at += struct.calcsize(f"<{form}")
        return value

    def _text(self) -> bytes:
        length: int = self._read_scalar("Q")
        begin = self._at
        self._move(length)
        return self._data[begin : self._at]

    def _move(self, length: int) -> None:
        self._at += length
        if self._at > len(self._data):
            raise _TruncatedFile
