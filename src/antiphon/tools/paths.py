"""Following a path inside directories step by step, and failures in words that show no path but the one given."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from antiphon.tools.tool import ToolFailure

#: No link is followed, nothing blocks, and nothing becomes our terminal.
SAFELY = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_NOCTTY", "O_NONBLOCK", "O_BINARY"))
DIRECTORY = os.O_RDONLY | SAFELY | getattr(os, "O_DIRECTORY", 0)
_MOST_LINKS = 40
_LONGEST_PATH = 4096


class Missing(ToolFailure):
    """There is nothing of that name: the next root may have it."""


class Outside(ToolFailure):
    """It leads out of the directories that may be used."""


@dataclass(frozen=True, slots=True)
class Root:
    real: str
    #: The names it goes by: as it really is, and as it was given.
    names: tuple[tuple[str, ...], ...]


class Walk:
    """A path followed step by step. Between roots, steps are only counted: nothing there is looked at."""

    def __init__(self, roots: tuple[Root, ...], path: str, start: Root | None, writing: bool, make: bool) -> None:
        self.roots, self.path, self.writing, self.make = roots, path, writing, make
        self.pending = list(reversed(steps_of(path)))
        self.root: Root | None = None
        self.parts: list[str] = []
        self.held: int | None = None
        self.links = 0
        self.enter(start.names[0] if start else ())

    def run(self) -> tuple[Root, tuple[str, ...], str]:
        """The root, the parts below it, and the last name in the directory that is held."""
        while self.pending:
            step = self.pending.pop()
            if step == "..":
                self.rise()
            elif self.root is None:
                self.enter((*self.parts, step))
            elif (target := self.link(step)) is not None:
                self.turn(target)
            else:
                if self.writing:
                    check_not_git((step,))
                if not self.pending:
                    return self.root, (*self.parts, step), step
                self.descend(step)
        if self.root is None:
            raise outside(self.path)
        return self.root, tuple(self.parts), "."

    def enter(self, steps: tuple[str, ...]) -> None:
        """Stand at an absolute place: at a root, or outside."""
        self.release()
        self.root = next((root for root in self.roots if steps in root.names), None)
        self.parts = [] if self.root else list(steps)
        if self.root:
            self.held = os.open(self.root.real, DIRECTORY)

    def rise(self) -> None:
        if self.root is None or not self.parts:
            steps = self.root.names[0] if self.root else tuple(self.parts)
            self.enter(steps[:-1])
            return
        # The system's own `..` would follow a directory that was moved away meanwhile.
        back = self.parts[:-1]
        self.enter(self.root.names[0])
        for step in back:
            self.descend(step)

    def link(self, step: str) -> str | None:
        try:
            return os.readlink(step, dir_fd=self.held)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise

    def turn(self, target: str) -> None:
        self.links += 1
        if self.links > _MOST_LINKS:
            raise ToolFailure(f"{named(self.path)} goes through too many links")
        if os.path.isabs(target):
            self.enter(())
        self.pending += reversed(steps_of(target))

    def descend(self, step: str) -> None:
        try:
            inner = os.open(step, DIRECTORY, dir_fd=self.held)
        except FileNotFoundError:
            if not self.make:
                raise Missing(f"there is no {named(self.path)}") from None
            with suppress(FileExistsError):
                os.mkdir(step, dir_fd=self.held)
            inner = os.open(step, DIRECTORY, dir_fd=self.held)
        except NotADirectoryError:
            if self.link(step) is not None:
                raise changed(self.path) from None
            raise ToolFailure(f"`{step}` in {named(self.path)} is not a directory") from None
        self.release()
        self.held = inner
        self.parts.append(step)

    def release(self) -> None:
        """Close what is held."""
        if self.held is not None:
            os.close(self.held)
            self.held = None


def steps_of(path: str) -> tuple[str, ...]:
    """The names in a path that mean a step."""
    if os.sep != "/":
        path = path.replace(os.sep, "/")
    return tuple(step for step in path.split("/") if step not in ("", "."))


def check_name(path: str) -> None:
    if not path.strip():
        raise ToolFailure("the path is empty; `.` is the directory itself")
    if "\0" in path:
        raise ToolFailure("the path has a NUL character in it")
    if len(path) > _LONGEST_PATH:
        raise ToolFailure(f"the path is {len(path):,} characters long, more than any file's")
    if path == "~" or (path.startswith("~") and "/" in path):
        raise ToolFailure(f"{named(path)}: `~` has no meaning here; give a path relative to the working directory")


def check_not_git(steps: Iterable[str]) -> None:
    if any(step.casefold() == ".git" for step in steps):
        raise ToolFailure("`.git` is written by git alone: what is in it decides which programs git runs")


def named(path: str) -> str:
    """A path for a message, as it was given."""
    return f"`{path if len(path) <= 200 else path[:200] + '…'}`"


def outside(path: str) -> ToolFailure:
    return Outside(f"{named(path)} leads outside of the directories that may be used; give a path inside of them")


def changed(path: str) -> ToolFailure:
    return ToolFailure(f"{named(path)} was changed by somebody else meanwhile; look at it again")


_WORDS = {
    errno.ENOENT: "there is no {}",
    errno.EACCES: "{} may not be used: permission denied",
    errno.EPERM: "{} may not be used: permission denied",
    errno.EROFS: "{} is on a read-only file system",
    errno.EISDIR: "{} is a directory",
    errno.ENOTDIR: "{} goes through something that is not a directory",
    errno.ENAMETOOLONG: "{} has a name that is too long",
    errno.ELOOP: "{} was changed by somebody else meanwhile; look at it again",
    errno.ENOSPC: "there is no space left for {}",
    errno.ENXIO: "{} is a pipe, socket or device, not a file with text",
}


def explained(error: OSError, path: str) -> ToolFailure:
    """A failure of the system in words that show no path but the one given."""
    words = _WORDS.get(error.errno or 0)
    return ToolFailure(words.format(named(path)) if words else f"{named(path)}: {error.strerror or 'it failed'}")
