"""The header of a GGUF file: enough to know what a model is, and whether the file is whole, before it is loaded."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from antiphon.errors import ConfigurationError

# The kinds of values of the format, by number: how `struct` reads them. 8 is a text, 9 a list.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
_VERSIONS = (2, 3)
_MOST_AXES = 4


@dataclass(frozen=True, slots=True)
class Header:
    """What a model file says of itself. No token of its vocabulary is longer than `longest_token` bytes."""

    architecture: str
    context: int
    template: str
    longest_token: int

    @property
    def has_tools(self) -> bool:
        """Whether the model's own chat template knows of tools."""
        return "tools" in self.template


@dataclass(frozen=True, slots=True)
class Tensor:
    """A table of numbers: how they are packed, and where it begins, counted from where the first one does."""

    name: bytes
    shape: tuple[int, ...]
    kind: int
    offset: int
    size: int

    @property
    def count(self) -> int:
        """How many numbers it has."""
        return prod(self.shape)

    def entry(self, kind: int, offset: int) -> bytes:
        """How the file lists it, if it is packed and placed like this."""
        form = f"<Q{len(self.name)}sI{len(self.shape)}QIQ"
        return struct.pack(form, len(self.name), self.name, len(self.shape), *self.shape, kind, offset)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a file lists its tensors, and where they begin."""

    list: int
    begin: int
    alignment: int
    tensors: tuple[Tensor, ...]

    def aligned(self, count: int) -> int:
        """So many bytes, and those up to where the next tensor may begin."""
        return -(-count // self.alignment) * self.alignment


def read_header(path: Path) -> Header:
    """The header of a model file; a ConfigurationError says why there is none."""
    return _read(path)[0]


def read_layout(path: Path) -> Layout:
    """How the tensors of a model file lie in it."""
    return _read(path)[1]


def _read(path: Path) -> tuple[Header, Layout]:
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ConfigurationError(f"{path} is no GGUF file")
            with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
                return _Reader(data).header()
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}") from None
    except (struct.error, IndexError, ValueError, RecursionError, _Cut):
        raise ConfigurationError(f"{path} is a GGUF file that is cut short or damaged; fetch it again") from None
    except _Odd as error:
        raise ConfigurationError(f"{path}: {error}") from None


class _Cut(Exception):
    """The file ends before it should."""


class _Odd(Exception):
    """The file is of a form that is not known."""


class _Reader:
    def __init__(self, data: mmap) -> None:
        self._data = data
        self._at = 4
        self._longest = 0

    def header(self) -> tuple[Header, Layout]:
        version = self._scalar("I")
        if version not in _VERSIONS:
            raise _Odd(f"GGUF version {version} is not supported; there are {' and '.join(map(str, _VERSIONS))}")
        tensors, count = self._scalar("Q"), self._scalar("Q")
        found: dict[str, Any] = {}
        for _ in range(count):
            name = self._text().decode()
            found[name] = self._value(self._scalar("I"), name == "tokenizer.ggml.tokens")
        layout = self._layout(tensors, int(found.get("general.alignment") or 32))
        architecture = str(found.get("general.architecture") or "")
        context = found.get(f"{architecture}.context_length")
        template = found.get("tokenizer.chat_template")
        header = Header(
            architecture,
            context if isinstance(context, int) and context > 0 else 0,
            template if isinstance(template, str) else "",
            self._longest or 64,
        )
        return header, layout

    def _layout(self, count: int, alignment: int) -> Layout:
        """The last tensor must begin inside the file; its size depends on how it is packed."""
        listed = self._at
        entries = [self._entry() for _ in range(count)]
        begin = -(-self._at // alignment) * alignment
        ends = dict(pairwise([*sorted({offset for *_, offset in entries}), len(self._data) - begin]))
        if any(end <= offset for offset, end in ends.items()):
            raise _Cut
        tensors = (Tensor(*entry, ends[entry[3]] - entry[3]) for entry in entries)
        return Layout(listed, begin, alignment, tuple(tensors))

    def _entry(self) -> tuple[bytes, tuple[int, ...], int, int]:
        name, axes = self._text(), self._scalar("I")
        if axes > _MOST_AXES:
            raise _Cut
        return name, tuple(self._scalar("Q") for _ in range(axes)), self._scalar("I"), self._scalar("Q")

    def _value(self, kind: int, measured: bool = False) -> Any:
        if kind == _TEXT:
            return self._text().decode("utf-8", "replace")
        if kind == _LIST:
            return self._skip_list(measured)
        if kind not in _SCALARS:
            raise _Cut
        return self._scalar(_SCALARS[kind])

    def _skip_list(self, measured: bool) -> None:
        kind, count = self._scalar("I"), self._scalar("Q")
        if kind in _SCALARS:
            self._move(count * struct.calcsize(f"<{_SCALARS[kind]}"))
            return
        if kind != _TEXT:
            for _ in range(count):
                self._value(kind)
            return
        data, at, size, longest = self._data, self._at, len(self._data), 0
        # Hundreds of thousands of tokens: this loop is what reading a header takes.
        for _ in range(count):
            length = int.from_bytes(data[at : at + 8], "little")
            at += 8 + length
            if at > size:
                raise _Cut
            longest = length if length > longest else longest
        self._at = at
        self._longest = longest if measured else self._longest

    def _scalar(self, form: str) -> Any:
        value = struct.unpack_from(f"<{form}", self._data, self._at)[0]
        self._at += struct.calcsize(f"<{form}")
        return value

    def _text(self) -> bytes:
        length: int = self._scalar("Q")
        begin = self._at
        self._move(length)
        return self._data[begin : self._at]

    def _move(self, length: int) -> None:
        self._at += length
        if self._at > len(self._data):
            raise _Cut
