"""The directory that keeps weights: where it is, which files in it are proven, and who may write."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from antiphon._places import user_directory
from antiphon._shape import obj
from antiphon.providers.local.manifest import Weights

_CHUNK = 1 << 20


def cache_directory() -> Path:
    """Where files that can be fetched again are kept: `ANTIPHON_CACHE`, else the platform's place for such."""
    if override := os.environ.get("ANTIPHON_CACHE", "").strip():
        return Path(override).expanduser().absolute()
    return user_directory("cache")


def cached(weights: Weights, ending: str = "") -> Path:
    """The file of these weights in the cache, or with an `ending` one that goes with it."""
    return cache_directory() / "models" / f"{weights.file}{ending}"


def sha256(path: Path, start: int = 0, count: int | None = None) -> str:
    """The hash of a file, or of `count` bytes of it."""
    digest = hashlib.sha256()
    left = count if count is not None else sys.maxsize
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        while left > 0 and (chunk := file.read(min(_CHUNK, left))):
            digest.update(chunk)
            left -= len(chunk)
    return digest.hexdigest()


def is_proven(path: Path, weights: Weights) -> bool:
    """Whether the file was checked before and has not been touched since."""
    try:
        stat = path.stat()
    except OSError:
        return False
    record = recorded(path, weights)
    return record.get("sha256") == weights.sha256 and record.get("touched") == [stat.st_size, stat.st_mtime_ns]


def prove(path: Path, weights: Weights, source: str = "") -> str:
    """Check the hash of a file; nothing is returned if it is right, else the hash that it has."""
    found = sha256(path)
    if found == weights.sha256:
        remember(path, weights, source or str(recorded(path, weights).get("source", "")))
    return "" if found == weights.sha256 else found


def remember(path: Path, weights: Weights, source: str) -> None:
    """Note that the hash of a file was right, so that it need not be checked until somebody touches it."""
    # A cache that cannot be written costs the time of checking again, no more.
    with suppress(OSError):
        stat = path.stat()
        record = {"sha256": weights.sha256, "touched": [stat.st_size, stat.st_mtime_ns], "source": source}
        replace(_record(path, weights), json.dumps(record))


def recorded(path: Path, weights: Weights) -> dict[str, Any]:
    """What was noted when the file was checked: its hash, size and time, and where it came from."""
    try:
        return obj(json.loads(_record(path, weights).read_bytes()))
    except (OSError, ValueError):
        return {}


def _record(path: Path, weights: Weights) -> Path:
    if path == cached(weights):
        return cached(weights, ".verified")
    # A file of the user's: nothing is written beside it.
    place = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:12]
    return cached(weights, f".{place}.verified")


def replace(path: Path, text: str) -> None:
    """Write a small file so that readers see the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


@contextmanager
def locked(weights: Weights, waiting: Callable[[], None]) -> Generator[None]:
    """Keep other processes from fetching the same; `waiting` is called again and again while one does.

    The lock ends with its process, however that ends. The file stays: deleting it would let two in.
    """
    path = cached(weights, ".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        while not _try_lock(file):
            waiting()
            time.sleep(0.1)
        yield


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: IO[bytes]) -> bool:
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
