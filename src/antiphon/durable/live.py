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

from antiphon.durable.withheld import shown
from antiphon.effects.codec import dump_ascii_json
from antiphon.errors import StoreError

if TYPE_CHECKING:
    from antiphon.durable.withheld import Withheld

#: How often it is looked whether anybody looks, and how often what came is written while somebody does, in seconds.
_LOOK, _WRITE = 0.25, 0.1
#: A mark is touched so often; it is fresh for the second time; what is left of others is removed after the third.
TOUCHED, _FRESH, _OLD = 1.0, 4.0, 60.0
_MARK = "wanted"
_RUN = re.compile("[0-9a-f]{32}")
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_LINK


class Piece(NamedTuple):
    """Some of what is being said at a step, and how many characters came before it; with none, it is said anew."""

    path: str
    before: int
    text: str


class Live:
    """The directory in which answers stand while they come, one directory for each run that somebody looks at."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def want(self, run: str) -> bool:
        """Say that somebody looks at a run; whether it can be said."""
        place = self._place(run)
        try:
            for each in (self._home, place):
                each.mkdir(mode=0o700, exist_ok=True)
            if not _is_ours(self._home) or not _is_ours(place):
                return False
            mark = place / _MARK
            os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | _NO_LINK, 0o600))
            os.utime(mark)
        except OSError:
            return False
        return True

    def is_wanted(self, run: str) -> bool:
        """Whether somebody looks at a run."""
        return _age(self._place(run) / _MARK) < _FRESH

    @contextmanager
    def speaking(self, run: str, path: str, withheld: Withheld) -> Generator[Callable[[str], object]]:
        """Take the pieces of an answer as they come."""
        answer = _Answer(self, run, path, withheld)
        try:
            yield answer.pieces.append
        finally:
            answer.end()

    def hear(self, run: str) -> Hearing:
        """Listen to a run, from the beginning of each answer that comes now."""
        return Hearing(self, run)

    def sweep(self) -> None:
        """Remove what nobody looks at any more: whoever wrote it is gone, or would have removed it."""
        with suppress(OSError):
            for place in self._home.iterdir() if _is_ours(self._home) else ():
                if _RUN.fullmatch(place.name) and _is_ours(place) and _age(place / _MARK) > _OLD:
                    for each in place.iterdir():
                        each.unlink()
                    place.rmdir()

    def answers(self, run: str) -> Iterator[Path]:
        """The files of answers that come now."""
        place = self._place(run)
        if _is_ours(self._home) and _is_ours(place):
            with suppress(OSError):
                yield from sorted(each for each in place.iterdir() if each.name != _MARK)

    def begin(self, run: str, path: str) -> Path:
        """A new file for an answer; one that was begun and never ended is of no more use."""
        place, name = self._place(run), _encoded(path)
        if not _is_ours(self._home) or not _is_ours(place):
            raise PermissionError("others could read it")
        for each in place.glob(f"{name}.*"):
            each.unlink(missing_ok=True)
        return place / f"{name}.{secrets.token_hex(8)}"

    def _place(self, run: str) -> Path:
        return self._home / _encoded(run)


class _Answer:
    """One answer while it comes, in the event loop that reads it."""

    def __init__(self, live: Live, run: str, path: str, withheld: Withheld) -> None:
        self.pieces: list[str] = []
        self._live, self._run, self._path, self._withheld = live, run, path, withheld
        self._loop = asyncio.get_running_loop()
        self._file: Path | None = None
        #: So many pieces are taken; of them, this may be the beginning of something that is withheld.
        self._taken, self._held = 0, ""
        self._timer: asyncio.TimerHandle | None = self._loop.call_later(_LOOK, self._look)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._remove()

    def _look(self) -> None:
        is_wanted = self._live.is_wanted(self._run)
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
        self._timer = self._loop.call_later(_WRITE if is_wanted else _LOOK, self._look)

    def _write(self) -> None:
        text = self._held + "".join(self.pieces[self._taken :])
        self._taken = len(self.pieces)
        end = self._withheld.sure(text)
        self._held = text[end:]
        if end == 0:
            return
        if self._file is None:
            self._file = self._live.begin(self._run, self._path)
        line = self._withheld.out(dump_ascii_json({"path": self._path, "text": text[:end]}))
        with os.fdopen(os.open(self._file, _APPEND, 0o600), "ab", buffering=0) as file:
            file.write(f"{line}\n".encode())

    def _remove(self) -> None:
        self._taken, self._held = 0, ""
        if self._file is not None:
            with suppress(OSError):
                self._file.unlink()
            self._file = None


class Hearing:
    """Somebody who listens to a run."""

    def __init__(self, live: Live, run: str) -> None:
        self._live = live
        self._run = run
        self._touched = -TOUCHED
        self._read: dict[Path, _Read] = {}

    def new(self) -> list[Piece]:
        """What has come since the last time."""
        if time.monotonic() - self._touched >= TOUCHED:
            self._touched = time.monotonic()
            if not self._live.want(self._run):
                return []
        there = list(self._live.answers(self._run))
        self._read = {file: self._read.get(file) or _Read() for file in there}
        return [piece for file, read in self._read.items() for piece in read.more(file)]


class _Read:
    """How far a file has been read."""

    def __init__(self) -> None:
        self._offset = 0
        self._characters = 0

    def more(self, file: Path) -> Iterator[Piece]:
        try:
            with os.fdopen(os.open(file, os.O_RDONLY | _NO_LINK), "rb") as opened:
                opened.seek(self._offset)
                whole, _, _ = opened.read().rpartition(b"\n")
        except OSError:
            # It is over by now.
            return
        for line in whole.split(b"\n") if whole else ():
            self._offset += len(line) + 1
            data: dict[str, Any] = shown(line.decode(), "an answer")
            yield Piece(str(data["path"]), self._characters, str(data["text"]))
            self._characters += len(str(data["text"]))


def _encoded(name: str) -> str:
    """A name for a file: runs and steps may be called anything."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _is_ours(place: Path) -> bool:
    """Whether a directory is one of this user's alone, and no link to another."""
    try:
        found = os.lstat(place)
    except OSError:
        return False
    if os.name != "posix":
        return stat.S_ISDIR(found.st_mode)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _age(file: Path) -> float:
    """For how many seconds a file was not touched; for ever, where there is none."""
    try:
        found = os.lstat(file)
    except OSError:
        return float("inf")
    return abs(time.time() - found.st_mtime) if stat.S_ISREG(found.st_mode) else float("inf")
