"""What a model says while it says it, for whoever looks from another process: beside the journal, and never kept.

Whoever looks at a run touches a mark. The process that asks the model looks for that a few times in a second while an
answer comes, writes what has come while the mark is fresh, and takes it away when the answer is whole. What is private
is not written, and what the journal withholds is withheld here. Where nobody looks, a piece costs what a list takes to
keep it.
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

from antiphon.durable.secret_refs import parse_redacted_json
from antiphon.effects.codec import dump_ascii_json
from antiphon.errors import StoreError

if TYPE_CHECKING:
    from antiphon.durable.secret_refs import SecretRefs

#: How often it is looked whether anybody looks, and how often what came is written while somebody does, in seconds.
_POLL_SECONDS, _WRITE_SECONDS = 0.25, 0.1
#: A mark is touched so often; it is fresh for the second time; what is left of others is removed after the third.
TOUCH_SECONDS, _WATCHED_SECONDS, _STALE_SECONDS = 1.0, 4.0, 60.0
_MARKER = "wanted"
_RUN = re.compile("[0-9a-f]{32}")
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_LINK


class LiveChunk(NamedTuple):
    """Some of what is being said at a step, and how many characters came before it; with none, it is said anew."""

    path: str
    before: int
    text: str


class LiveOutput:
    """The directory in which answers stand while they come, one directory for each run that somebody looks at."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def mark_watched(self, run: str) -> bool:
        """Say that somebody looks at a run; whether it can be said."""
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
        """Whether somebody looks at a run."""
        return _compute_age(self._make_directory_path(run) / _MARKER) < _WATCHED_SECONDS

    @contextmanager
    def publish(self, run: str, path: str, withheld: SecretRefs) -> Generator[Callable[[str], object]]:
        """Take the pieces of an answer as they come."""
        answer = _AnswerWriter(self, run, path, withheld)
        try:
            yield answer.pieces.append
        finally:
            answer.close()

    def subscribe(self, run: str) -> LiveSubscriber:
        """Listen to a run, from the beginning of each answer that comes now."""
        return LiveSubscriber(self, run)

    def remove_stale(self) -> None:
        """Remove what nobody looks at any more: whoever wrote it is gone, or would have removed it."""
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
        """The files of answers that come now."""
        place = self._make_directory_path(run)
        if _is_private_directory(self._home) and _is_private_directory(place):
            with suppress(OSError):
                yield from sorted(each for each in place.iterdir() if each.name != _MARKER)

    def create_file(self, run: str, path: str) -> Path:
        """A new file for an answer; one that was begun and never ended is of no more use."""
        place, name = self._make_directory_path(run), _make_file_name(path)
        if not _is_private_directory(self._home) or not _is_private_directory(place):
            raise PermissionError("others could read it")
        for each in place.glob(f"{name}.*"):
            each.unlink(missing_ok=True)
        return place / f"{name}.{secrets.token_hex(8)}"

    def _make_directory_path(self, run: str) -> Path:
        return self._home / _make_file_name(run)


class _AnswerWriter:
    """One answer while it comes, in the event loop that reads it."""

    def __init__(self, live: LiveOutput, run: str, path: str, withheld: SecretRefs) -> None:
        self.pieces: list[str] = []
        self._live, self._run, self._path, self._withheld = live, run, path, withheld
        self._loop = asyncio.get_running_loop()
        self._file: Path | None = None
        #: So many pieces are taken; of them, this may be the beginning of something that is withheld.
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
            # It is for looking only: what cannot be shown is not, and nothing else depends on it.
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
    """Somebody who listens to a run."""

    def __init__(self, live: LiveOutput, run: str) -> None:
        self._live = live
        self._run = run
        self._touched = -TOUCH_SECONDS
        self._read: dict[Path, _AnswerReader] = {}

    def read_new(self) -> list[LiveChunk]:
        """What has come since the last time."""
        if time.monotonic() - self._touched >= TOUCH_SECONDS:
            self._touched = time.monotonic()
            if not self._live.mark_watched(self._run):
                return []
        there = list(self._live.list_answers(self._run))
        self._read = {file: self._read.get(file) or _AnswerReader() for file in there}
        return [piece for file, read in self._read.items() for piece in read.read_new(file)]


class _AnswerReader:
    """How far a file has been read."""

    def __init__(self) -> None:
        self._offset = 0
        self._characters = 0

    def read_new(self, file: Path) -> Iterator[LiveChunk]:
        try:
            with os.fdopen(os.open(file, os.O_RDONLY | _NO_LINK), "rb") as opened:
                opened.seek(self._offset)
                whole, _, _ = opened.read().rpartition(b"\n")
        except OSError:
            # It is over by now.
            return
        for line in whole.split(b"\n") if whole else ():
            self._offset += len(line) + 1
            data: dict[str, Any] = parse_redacted_json(line.decode(), "an answer")
            yield LiveChunk(str(data["path"]), self._characters, str(data["text"]))
            self._characters += len(str(data["text"]))


def _make_file_name(name: str) -> str:
    """A name for a file: runs and steps may be called anything."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _is_private_directory(place: Path) -> bool:
    """Whether a directory is one of this user's alone, and no link to another."""
    try:
        found = os.lstat(place)
    except OSError:
        return False
    if os.name != "posix":
        return stat.S_ISDIR(found.st_mode)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _compute_age(file: Path) -> float:
    """For how many seconds a file was not touched; for ever, where there is none."""
    try:
        found = os.lstat(file)
    except OSError:
        return float("inf")
    return abs(time.time() - found.st_mtime) if stat.S_ISREG(found.st_mode) else float("inf")
