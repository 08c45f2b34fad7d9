"""Histories in files on the disk."""

from __future__ import annotations

from pathlib import Path

from antiphon.conversation.storage import read_bytes, write_atomically
from antiphon.formats import History, load


def load_history(path: str, format: str | None = None) -> History:
    """Read a file; its format is recognised unless it is named."""
    return load(read_bytes(path), path, format)


def replace_file(path: Path, old: bytes, new: bytes) -> Path:
    """Put a repaired history in the file's place, and return where the old one is now."""
    backup = _unused(path)
    write_atomically(backup, old)
    write_atomically(path, new)
    return backup


def _unused(path: Path) -> Path:
    backup = path.with_name(path.name + ".bak")
    number = 1
    while backup.exists():
        number += 1
        backup = path.with_name(f"{path.name}.bak{number}")
    return backup
