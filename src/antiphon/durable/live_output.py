"""Live output: answers of models while they stream, for subscribers in other processes.

A subscriber touches a marker file. The process that streams an answer checks the marker a few times per second, writes
the text to a file while the marker is fresh, and removes the file at the end. Private answers are not written, and
secrets are replaced by references. Without subscribers, a chunk costs one append to a list.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from antiphon.effects.codec import dump_ascii_json
from antiphon.errors import StoreError
from antiphon.storage.secret_refs import parse_redacted_json

if TYPE_CHECKING:
    from antiphon.storage.secret_refs import SecretRefs

#: Seconds between checks for subscribers, and between writes while there is one.
_POLL_SECONDS, _WRITE_SECONDS = 0.25, 0.1
#: Seconds between touches of a marker, until it counts as abandoned, and until leftover files are removed.
TOUCH_SECONDS, _WATCHED_SECONDS, _STALE_SECONDS = 1.0, 4.0, 60.0
_MARKER = "wanted"
_RUN = re.compile("[0-9a-f]{32}")
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_LINK


class LiveChunk(NamedTuple):
    """A chunk of the answer at a path, after `before` characters; 0 means that the answer starts again."""

    path: str
    before: int
    text: str


class LiveOutput:
    """The directory with streaming answers; it has one directory per watched run."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def mark_watched(self, run: str) -> bool:
        """Mark a run as watched. Return False if the marker cannot be written."""
        place = self._make_directory_path(run)
        try:
            for each in (self._home, place):
                each.mkdir(mode=0o700, exist_ok=True)
            if not _is_private_directory(self._home) or not _is_private_directory(place):
                return False
            mark = place / _MARKER
            os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | _NO_LINK, 0o600))
            os.utime(mark)
        except OSError:
            return False
        return True

    def is_watched(self, run: str) -> bool:
        """Return whether a run has subscribers."""
        return _compute_age(self._make_directory_path(run) / _MARKER) < _WATCHED_SECONDS

    @contextmanager
    def publish(self, run: str, path: str, withheld: SecretRefs) -> Generator[Callable[[str], object]]:
        """Yield a function that receives the chunks of an answer."""
        answer = _AnswerWriter(self, run, path, withheld)
        try:
            yield answer.pieces.append
        finally:
            answer.close()

    def subscribe(self, run: str) -> LiveSubscriber:
        """Return a subscriber, which receives current answers from their beginning."""
        return LiveSubscriber(self, run)

    def remove_stale(self) -> None:
        """Remove the directories of runs that have not been watched for long."""
        with suppress(OSError):
            for place in self._home.iterdir() if _is_private_directory(self._home) else ():
                if (
                    _RUN.fullmatch(place.name)
                    and _is_private_directory(place)
                    and _compute_age(place / _MARKER) > _STALE_SECONDS
                ):
                    for each in place.iterdir():
                        each.unlink()
                    place.rmdir()

    def list_answers(self, run: str) -> Iterator[Path]:
        """Yield the files of the answers that are streaming."""
        place = self._make_directory_path(run)
        if _is_private_directory(self._home) and _is_private_directory(place):
            with suppress(OSError):
                yield from sorted(each for each in place.iterdir() if each.name != _MARKER)

    def create_file(self, run: str, path: str) -> Path:
        """Return the path of a new file for an answer, and remove leftovers of the same step."""
        place, name = self._make_directory_path(run), _make_file_name(path)
        if not _is_private_directory(self._home) or not _is_private_directory(place):
            raise PermissionError("the directory is accessible to other users")
        for each in place.glob(f"{name}.*"):
            each.unlink(missing_ok=True)
        return place / f"{name}.{secrets.token_hex(8)}"

    def _make_directory_path(self, run: str) -> Path:
        return self._home / _make_file_name(run)


class _AnswerWriter:
    """Writes one answer while it streams, on the event loop that receives it."""

    def __init__(self, live: LiveOutput, run: str, path: str, withheld: SecretRefs) -> None:
        self.pieces: list[str] = []
        self._live, self._run, self._path, self._withheld = live, run, path, withheld
        self._loop = asyncio.get_running_loop()
        self._file: Path | None = None
        #: The number of written chunks, and their end if it may be the beginning of a secret.
        self._taken, self._held = 0, ""
        self._timer: asyncio.TimerHandle | None = self._loop.call_later(_POLL_SECONDS, self._poll)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._remove()

    def _poll(self) -> None:
        is_wanted = self._live.is_watched(self._run)
        try:
            if is_wanted:
                self._write()
            elif self._file is not None:
                self._remove()
        except (OSError, StoreError):
            # Live output is optional, so an error only ends it.
            self._timer = None
            self._remove()
            return
        self._timer = self._loop.call_later(_WRITE_SECONDS if is_wanted else _POLL_SECONDS, self._poll)

    def _write(self) -> None:
        text = self._held + "".join(self.pieces[self._taken :])
        self._taken = len(self.pieces)
        end = self._withheld.find_safe_end(text)
        self._held = text[end:]
        if end == 0:
            return
        if self._file is None:
            self._file = self._live.create_file(self._run, self._path)
        line = self._withheld.insert_references(dump_ascii_json({"path": self._path, "text": text[:end]}))
        with os.fdopen(os.open(self._file, _APPEND, 0o600), "ab", buffering=0) as file:
            file.write(f"{line}\n".encode())

    def _remove(self) -> None:
        self._taken, self._held = 0, ""
        if self._file is not None:
            with suppress(OSError):
                self._file.unlink()
            self._file = None


class LiveSubscriber:
    """A subscriber to the live output of a run."""

    def __init__(self, live: LiveOutput, run: str) -> None:
        self._live = live
        self._run = run
        self._touched = -TOUCH_SECONDS
        self._read: dict[Path, _AnswerReader] = {}

    def read_new(self) -> list[LiveChunk]:
        """Return the chunks since the last call."""
        if time.monotonic() - self._touched >= TOUCH_SECONDS:
            self._touched = time.monotonic()
            if not self._live.mark_watched(self._run):
                return []
        there = list(self._live.list_answers(self._run))
        self._read = {file: self._read.get(file) or _AnswerReader() for file in there}
        return [piece for file, read in self._read.items() for piece in read.read_new(file)]


class _AnswerReader:
    """Reads a growing file from where it stopped."""

    def __init__(self) -> None:
        self._offset = 0
        self._characters = 0

    def read_new(self, file: Path) -> Iterator[LiveChunk]:
        try:
            with os.fdopen(os.open(file, os.O_RDONLY | _NO_LINK), "rb") as opened:
                opened.seek(self._offset)
                whole, _, _ = opened.read().rpartition(b"\n")
        except OSError:
            # The answer has ended.
            return
        for line in whole.split(b"\n") if whole else ():
            self._offset += len(line) + 1
            data: dict[str, Any] = parse_redacted_json(line.decode(), "an answer")
            yield LiveChunk(str(data["path"]), self._characters, str(data["text"]))
            self._characters += len(str(data["text"]))


def _make_file_name(name: str) -> str:
    """Return a file name for the id of a run or a path, which may contain any character."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _is_private_directory(place: Path) -> bool:
    """Return whether this is a directory, not a link, that only this user can access."""
    try:
        found = os.lstat(place)
    except OSError:
        return False
    if os.name != "posix":
        return stat.S_ISDIR(found.st_mode)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _compute_age(file: Path) -> float:
    """Return the seconds since a file was touched, or infinity if it does not exist."""
    try:
        found = os.lstat(file)
    except OSError:
        return float("inf")
    return abs(time.time() - found.st_mtime) if stat.S_ISREG(found.st_mode) else float("inf")
