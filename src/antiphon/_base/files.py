"""Files that a person or a project names: read without waiting for a pipe, and never without an end."""

from __future__ import annotations

import os
import stat
from io import TextIOWrapper
from os import PathLike
from pathlib import Path
from typing import BinaryIO, TextIO

#: A file that is read as a whole has at most so many bytes.
MOST_FILE_BYTES = 500_000_000
#: A device may have no end; nobody keeps more than this in one.
_MOST_DEVICE_BYTES = 10_000_000
#: Pipes that a shell made for this process are found here.
_SHELL_PIPES = ("/dev/stdin", "/dev/fd/", "/proc/")


def open_named_file(path: str | PathLike[str]) -> BinaryIO:
    """Open a file to read it; raise an OSError for a pipe, but for one that a shell made for this process."""
    refuse_pipe(path)
    return Path(path).open("rb")


def read_named_file(path: str | PathLike[str], most: int = MOST_FILE_BYTES) -> bytes:
    """Return the bytes of a file; raise an OSError for a named pipe, and for more than `most` bytes."""
    with open_named_file(path) as file:
        found = os.fstat(file.fileno())
        if stat.S_ISCHR(found.st_mode) and not file.isatty():
            most = min(most, _MOST_DEVICE_BYTES)
        is_too_large = stat.S_ISREG(found.st_mode) and found.st_size > most
        data = b"" if is_too_large else file.read(most + 1)
    if is_too_large or len(data) > most:
        raise OSError(f"it is too large: at most {most // 1_000_000} MB are read")
    return data


def open_lines(path: str | PathLike[str], encoding: str = "utf-8", newline: str | None = None) -> TextIO:
    """Open a file that is read line by line; raise an OSError for a named pipe and for a device."""
    file = open_named_file(path)
    if stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty():
        file.close()
        raise OSError("it is a device, and not a file")
    return TextIOWrapper(file, encoding=encoding, newline=newline)


def refuse_pipe(path: str | PathLike[str]) -> None:
    """Raise an OSError for a named pipe: whoever opens it waits for somebody at its other end."""
    try:
        is_pipe = stat.S_ISFIFO(os.stat(path).st_mode)
    except FileNotFoundError:
        return
    places = (os.path.abspath(path), os.path.realpath(path))
    if is_pipe and not any(place.startswith(_SHELL_PIPES) for place in places):
        raise OSError("it is a pipe, and not a file")
