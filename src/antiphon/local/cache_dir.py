"""The directory that stores weights: its location, which files are verified, and locking."""

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

from antiphon._base.json_access import as_object
from antiphon._base.user_dirs import user_directory
from antiphon.local.manifest import Weights

_CHUNK_SIZE = 1 << 20


def get_cache_directory() -> Path:
    """Return the directory for downloadable files: `ANTIPHON_CACHE`, else the platform's cache directory."""
    if override := os.environ.get("ANTIPHON_CACHE", "").strip():
        return Path(override).expanduser().absolute()
    return user_directory("cache")


def get_cached_path(weights: Weights, ending: str = "") -> Path:
    """Return the path of these weights in the cache, or with `ending` of a file that belongs to them."""
    return get_cache_directory() / "models" / f"{weights.file}{ending}"


def hash_file(path: Path, start: int = 0, count: int | None = None) -> str:
    """Return the SHA-256 of a file, or of `count` bytes of it."""
    digest = hashlib.sha256()
    left = count if count is not None else sys.maxsize
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        while left > 0 and (chunk := file.read(min(_CHUNK_SIZE, left))):
            digest.update(chunk)
            left -= len(chunk)
    return digest.hexdigest()


def is_verified(path: Path, weights: Weights) -> bool:
    """Return whether the file was verified before and has not changed since."""
    try:
        stat = path.stat()
    except OSError:
        return False
    record = read_record(path, weights)
    return record.get("sha256") == weights.sha256 and record.get("touched") == [stat.st_size, stat.st_mtime_ns]


def verify_file(path: Path, weights: Weights, source: str = "") -> str:
    """Verify the hash of a file. Return "" if it matches, else the hash that it has."""
    found = hash_file(path)
    if found == weights.sha256:
        record_verified(path, weights, source or str(read_record(path, weights).get("source", "")))
    return "" if found == weights.sha256 else found


def record_verified(path: Path, weights: Weights, source: str) -> None:
    """Record that a file's hash matched, so that it need not be verified until it changes."""
    # If the cache is read-only, the file is verified again next time.
    with suppress(OSError):
        stat = path.stat()
        record = {"sha256": weights.sha256, "touched": [stat.st_size, stat.st_mtime_ns], "source": source}
        replace_text_file(_get_record_path(path, weights), json.dumps(record))


def read_record(path: Path, weights: Weights) -> dict[str, Any]:
    """Return the record of a verified file: its hash, size and time, and source."""
    try:
        return as_object(json.loads(_get_record_path(path, weights).read_bytes()))
    except (OSError, ValueError):
        return {}


def _get_record_path(path: Path, weights: Weights) -> Path:
    if path == get_cached_path(weights):
        return get_cached_path(weights, ".verified")
    # A user's own file: write nothing beside it.
    place = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:12]
    return get_cached_path(weights, f".{place}.verified")


def replace_text_file(path: Path, text: str) -> None:
    """Write a small file atomically, so that readers see the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


@contextmanager
def lock_weights(weights: Weights, waiting: Callable[[], None]) -> Generator[None]:
    """Hold a lock against other processes that download the same. Call `waiting` repeatedly while one
    does.

    The lock ends with its process, however that ends. The file stays: deleting it would let two in.
    """
    path = get_cached_path(weights, ".lock")
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
