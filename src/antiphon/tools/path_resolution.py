"""Path resolution inside root directories, one step at a time, with errors that show only the given path."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from antiphon.tools.tool import ToolFailure

#: Do not follow links, do not block, and do not acquire a controlling terminal.
SAFE_OPEN_FLAGS = sum(
    getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_NOCTTY", "O_NONBLOCK", "O_BINARY")
)
DIRECTORY_OPEN_FLAGS = os.O_RDONLY | SAFE_OPEN_FLAGS | getattr(os, "O_DIRECTORY", 0)
_MAX_LINKS = 40
_MAX_PATH_LENGTH = 4096


class PathNotFound(ToolFailure):
    """Nothing exists at the path in this root; the next root may have it."""


class PathOutsideRoots(ToolFailure):
    """The path leads outside the root directories."""


@dataclass(frozen=True, slots=True)
class RootDirectory:
    real: str
    #: The components of its real path, and of the path as it was given.
    names: tuple[tuple[str, ...], ...]


class PathWalk:
    """The resolution of one path, step by step. Between roots, steps are only counted: nothing there is
    read.
    """

    def __init__(
        self, roots: tuple[RootDirectory, ...], path: str, start: RootDirectory | None, writing: bool, make: bool
    ) -> None:
        self.roots, self.path, self.writing, self.make = roots, path, writing, make
        self.pending = list(reversed(split_path(path)))
        self.root: RootDirectory | None = None
        self.parts: list[str] = []
        self.held: int | None = None
        self.links = 0
        self.enter(start.names[0] if start else ())

    def run(self) -> tuple[RootDirectory, tuple[str, ...], str]:
        """Resolve the path. Return the root, the parts below it, and the last name in the open directory."""
        while self.pending:
            step = self.pending.pop()
            if step == "..":
                self.ascend()
            elif self.root is None:
                self.enter((*self.parts, step))
            elif (target := self.link(step)) is not None:
                self.turn(target)
            else:
                if self.writing:
                    check_not_in_git_dir((step,))
                if not self.pending:
                    return self.root, (*self.parts, step), step
                self.descend(step)
        if self.root is None:
            raise make_outside_error(self.path)
        return self.root, tuple(self.parts), "."

    def enter(self, steps: tuple[str, ...]) -> None:
        """Move to an absolute location: a root, or outside of all roots."""
        self.release()
        self.root = next((root for root in self.roots if steps in root.names), None)
        self.parts = [] if self.root else list(steps)
        if self.root:
            self.held = os.open(self.root.real, DIRECTORY_OPEN_FLAGS)

    def ascend(self) -> None:
        if self.root is None or not self.parts:
            steps = self.root.names[0] if self.root else tuple(self.parts)
            self.enter(steps[:-1])
            return
        # The system's own `..` would follow a directory that was moved meanwhile.
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
        if self.links > _MAX_LINKS:
            raise ToolFailure(f"{quote_path(self.path)} goes through too many links")
        if os.path.isabs(target):
            self.enter(())
        self.pending += reversed(split_path(target))

    def descend(self, step: str) -> None:
        try:
            inner = os.open(step, DIRECTORY_OPEN_FLAGS, dir_fd=self.held)
        except FileNotFoundError:
            if not self.make:
                raise PathNotFound(f"there is no {quote_path(self.path)}") from None
            with suppress(FileExistsError):
                os.mkdir(step, dir_fd=self.held)
            inner = os.open(step, DIRECTORY_OPEN_FLAGS, dir_fd=self.held)
        except NotADirectoryError:
            if self.link(step) is not None:
                raise make_changed_error(self.path) from None
            raise ToolFailure(f"`{step}` in {quote_path(self.path)} is not a directory") from None
        self.release()
        self.held = inner
        self.parts.append(step)

    def release(self) -> None:
        """Close the open directory."""
        if self.held is not None:
            os.close(self.held)
            self.held = None


def split_path(path: str) -> tuple[str, ...]:
    """Return the path's components without empty ones and `.`."""
    if os.sep != "/":
        path = path.replace(os.sep, "/")
    return tuple(step for step in path.split("/") if step not in ("", "."))


def check_path_text(path: str) -> None:
    if not path.strip():
        raise ToolFailure("the path is empty; `.` is the directory itself")
    if "\0" in path:
        raise ToolFailure("the path has a NUL character in it")
    if len(path) > _MAX_PATH_LENGTH:
        raise ToolFailure(f"the path is {len(path):,} characters long, more than any file's")
    if path == "~" or (path.startswith("~") and "/" in path):
        raise ToolFailure(f"{quote_path(path)}: `~` has no meaning here; give a path relative to the working directory")


def check_not_in_git_dir(steps: Iterable[str]) -> None:
    if any(step.casefold() == ".git" for step in steps):
        raise ToolFailure("`.git` is written by git alone: what is in it decides which programs git runs")


def quote_path(path: str) -> str:
    """Return a path as it was given, quoted and shortened for a message."""
    return f"`{path if len(path) <= 200 else path[:200] + '…'}`"


def make_outside_error(path: str) -> ToolFailure:
    return PathOutsideRoots(
        f"{quote_path(path)} leads outside of the directories that may be used; give a path inside of them"
    )


def make_changed_error(path: str) -> ToolFailure:
    return ToolFailure(f"{quote_path(path)} was changed by somebody else meanwhile; look at it again")


_ERROR_TEMPLATES = {
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


def explain_os_error(error: OSError, path: str) -> ToolFailure:
    """Convert an OSError to a ToolFailure that shows only the given path."""
    words = _ERROR_TEMPLATES.get(error.errno or 0)
    return ToolFailure(
        words.format(quote_path(path)) if words else f"{quote_path(path)}: {error.strerror or 'it failed'}"
    )
