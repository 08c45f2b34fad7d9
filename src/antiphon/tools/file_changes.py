"""A history of the files that tools changed, from which each can be restored byte for byte.

The file tools record what was there before. What a command or another tool changes is not recorded. A file is
restored only if it still is as the tools left it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import pairwise

from antiphon.tools.file_sandbox import SandboxRoots
from antiphon.tools.tool import ToolFailure

#: Larger files are not kept.
MAX_FILE_BYTES = 50_000_000
_MAX_TOTAL_BYTES = 300_000_000


@dataclass(frozen=True, slots=True)
class FileState:
    """A file at one moment: the hash of its bytes and its mode. Without a hash there is no file."""

    digest: bytes | None
    mode: int = 0


_NO_FILE = FileState(None)
#: A file that could not be read: it equals no other state.
_UNKNOWN = FileState(b"unknown")


@dataclass(slots=True)
class FileChange:
    """One change of a file by a tool. `data` are the bytes before, if they are kept."""

    roots: SandboxRoots
    real: str
    shown: str
    before: FileState
    after: FileState
    data: bytes | None
    #: Directories that were made for the file, the outermost first.
    directories: tuple[str, ...]


@dataclass(slots=True)
class RestoredFiles:
    """The result of an undo: the files with their old content, those removed, and those kept with the reason."""

    restored: list[str] = field(default_factory=list[str])
    removed: list[str] = field(default_factory=list[str])
    kept: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


class FileHistory:
    """The changes of files during a chat, in order."""

    def __init__(self) -> None:
        self._changes: list[FileChange] = []

    @property
    def position(self) -> int:
        """The number of changes so far, to which `undo` can go back."""
        return len(self._changes)

    def add(self, change: FileChange) -> None:
        """Record a change. If too much is kept, the oldest bytes are dropped."""
        self._changes.append(change)
        total = 0
        for each in reversed(self._changes):
            total += len(each.data or b"")
            if total > _MAX_TOTAL_BYTES:
                each.data = None

    def undo(self, position: int) -> RestoredFiles:
        """Restore all files as they were at a position. What cannot be restored is kept and named."""
        undone, self._changes = self._changes[position:], self._changes[:position]
        by_file: dict[str, list[FileChange]] = {}
        for change in undone:
            by_file.setdefault(change.real, []).append(change)
        report = RestoredFiles()
        for changes in by_file.values():
            _undo_file(changes, report)
        # Remove the directories that were made for files and are empty now.
        made = {path: change.roots for change in undone for path in change.directories}
        for path in sorted(made, key=len, reverse=True):
            with suppress(OSError, ToolFailure), made[path].locate(path) as place:
                os.rmdir(place.name, dir_fd=place.directory)
        return report


_recorder: ContextVar[FileHistory | None] = ContextVar("antiphon_file_history", default=None)


@contextmanager
def record_changes(history: FileHistory) -> Generator[None]:
    """Record the changes by tools of runs that start inside the block."""
    token = _recorder.set(history)
    try:
        yield
    finally:
        _recorder.reset(token)


@contextmanager
def recorded_change(roots: SandboxRoots, path: str) -> Generator[None]:
    """Record how the block changes a file, if anybody keeps a history."""
    history = _recorder.get()
    if history is None:
        yield
        return
    # A link may lead to a file that the change creates.
    real = os.path.realpath(roots.target(path).real)
    before, data = _read_state(roots, real, keeps_data=True)
    directories = _list_missing_directories(real)
    try:
        yield
    finally:
        after, _ = _read_state(roots, real)
        if after != before or after is _UNKNOWN:
            history.add(FileChange(roots, real, roots.show(real), before, after, data, directories))


def is_too_large_to_undo(real: str) -> bool:
    """Return whether a file is too large for its content to be kept."""
    try:
        return os.path.getsize(real) > MAX_FILE_BYTES
    except (OSError, ValueError):
        return False


def _undo_file(changes: list[FileChange], report: RestoredFiles) -> None:
    first, last = changes[0], changes[-1]
    if first.before == last.after and first.before is not _UNKNOWN:
        return
    if reason := _find_obstacle(changes):
        report.kept.append((first.shown, reason))
        return
    try:
        if first.before == _NO_FILE:
            with first.roots.locate(first.real, writing=True) as place:
                os.unlink(place.name, dir_fd=place.directory)
            report.removed.append(first.shown)
        else:
            assert first.data is not None
            with first.roots.locate(first.real, writing=True) as place:
                place.replace(first.data)
                status, mode = place.status, first.before.mode
                if status is not None and stat.S_IMODE(status.st_mode) != mode:
                    with place.open() as stream:
                        os.chmod(stream.fileno() if os.chmod in os.supports_fd else place.real, mode)
            report.restored.append(first.shown)
    except (OSError, ToolFailure) as error:
        report.kept.append((first.shown, str(error)))


def _find_obstacle(changes: list[FileChange]) -> str:
    """Return why a file cannot be restored, or an empty string."""
    first, last = changes[0], changes[-1]
    if first.before is _UNKNOWN or (first.data is None and first.before != _NO_FILE):
        return "its old content was not kept"
    now, _ = _read_state(first.roots, first.real)
    if now == _NO_FILE:
        return "it is gone"
    if now != last.after or any(earlier.after != later.before for earlier, later in pairwise(changes)):
        return "something else has changed it since"
    return ""


def _read_state(roots: SandboxRoots, real: str, *, keeps_data: bool = False) -> tuple[FileState, bytes | None]:
    """Return the state of a file, and its bytes if they are to be kept."""
    if not os.path.lexists(real):
        return _NO_FILE, None
    try:
        with roots.locate(real) as place, place.open() as stream:
            status = os.fstat(stream.fileno())
            digest = hashlib.sha256()
            keeps_data = keeps_data and status.st_size <= MAX_FILE_BYTES
            data = stream.read() if keeps_data else None
            if data is not None:
                digest.update(data)
            while data is None and (piece := stream.read(1 << 20)):
                digest.update(piece)
    except (OSError, ToolFailure):
        return _UNKNOWN, None
    return FileState(digest.digest(), stat.S_IMODE(status.st_mode)), data


def _list_missing_directories(real: str) -> tuple[str, ...]:
    missing: list[str] = []
    above = os.path.dirname(real)
    while above and not os.path.lexists(above):
        missing.append(above)
        above = os.path.dirname(above)
    return tuple(reversed(missing))
