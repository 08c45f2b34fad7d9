"""KV caches of openings, stored on disk so that the next process need not process them again.

The runtime trusts its input: a damaged state crashes the process. So a file is used only if its own
hash matches, which covers the model, the runtime and the opening.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from antiphon.local.cache_dir import get_cache_directory

#: Maximum total size in bytes; the least recently used files are deleted first.
MAX_STORE_SIZE = 256 << 20
_DIGEST_LENGTH = 32


def get_store_directory() -> Path:
    """Return the directory of the stored states."""
    return get_cache_directory() / "openings"


def load_state(key: str) -> bytes | None:
    """Return the state stored under a key, or None if it is missing or damaged."""
    path = _get_path(key)
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, state = data[:_DIGEST_LENGTH], data[_DIGEST_LENGTH:]
    if digest != _compute_digest(key, state):
        with suppress(OSError):
            path.unlink()
        return None
    with suppress(OSError):
        os.utime(path)
    return state


def save_state(key: str, state: bytes) -> None:
    """Store a state under a key. If the disk is full or read-only, do nothing."""
    if len(state) + _DIGEST_LENGTH > MAX_STORE_SIZE:
        return
    path = _get_path(key)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with suppress(OSError):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Private, because it holds the text of the opening.
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(_compute_digest(key, state))
                file.write(state)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        _evict_old_states(path.parent)


def _evict_old_states(place: Path) -> None:
    files = sorted(
        ((path.stat(), path) for path in place.iterdir() if path.is_file()), key=lambda each: each[0].st_mtime
    )
    total = sum(stat.st_size for stat, _ in files)
    for stat, path in files:
        if total <= MAX_STORE_SIZE:
            return
        path.unlink(missing_ok=True)
        total -= stat.st_size


def _get_path(key: str) -> Path:
    return get_store_directory() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.state"


def _compute_digest(key: str, state: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(key.encode()).digest() + state).digest()
