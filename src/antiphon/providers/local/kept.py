"""What a model has read of an opening, kept on disk, so that the next process need not read it again.

The runtime believes what it is given: a damaged state ends the process. So a file is taken only if its own hash is
right, and that hash covers the model, the runtime and the opening it is of.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from antiphon.providers.local.store import cache_directory

#: All that is kept, in bytes; what was not used for longest goes first.
LIMIT = 256 << 20
_DIGEST = 32


def directory() -> Path:
    """Where it is kept."""
    return cache_directory() / "openings"


def take(key: str) -> bytes | None:
    """What is kept under a key, if it is whole."""
    path = _path(key)
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, state = data[:_DIGEST], data[_DIGEST:]
    if digest != _hash(key, state):
        with suppress(OSError):
            path.unlink()
        return None
    with suppress(OSError):
        os.utime(path)
    return state


def keep(key: str, state: bytes) -> None:
    """Keep something under a key. A disk that is full or cannot be written costs the time of reading again, no more."""
    if len(state) + _DIGEST > LIMIT:
        return
    path = _path(key)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with suppress(OSError):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # It holds what was said in the opening.
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(_hash(key, state))
                file.write(state)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        _make_room(path.parent)


def _make_room(place: Path) -> None:
    files = sorted(
        ((path.stat(), path) for path in place.iterdir() if path.is_file()), key=lambda each: each[0].st_mtime
    )
    total = sum(stat.st_size for stat, _ in files)
    for stat, path in files:
        if total <= LIMIT:
            return
        path.unlink(missing_ok=True)
        total -= stat.st_size


def _path(key: str) -> Path:
    return directory() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.state"


def _hash(key: str, state: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(key.encode()).digest() + state).digest()
