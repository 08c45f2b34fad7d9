"""History files: load them, and replace them with a backup."""

from __future__ import annotations

from pathlib import Path

from antiphon.conversation.serialization import read_file_bytes, write_file_atomically
from antiphon.formats import History, load


def load_history_file(path: str, format: str | None = None) -> History:
    """Load a history file; its format is detected unless given."""
    return load(read_file_bytes(path), path, format)


def replace_with_backup(path: Path, old: bytes, new: bytes) -> Path:
    """Replace a file with new content, and return the path of the backup."""
    backup = _unused_backup_path(path)
    write_file_atomically(backup, old)
    write_file_atomically(path, new)
    return backup


def _unused_backup_path(path: Path) -> Path:
    backup = path.with_name(path.name + ".bak")
    number = 1
    while backup.exists():
        number += 1
        backup = path.with_name(f"{path.name}.bak{number}")
    return backup
