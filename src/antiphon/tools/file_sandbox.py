"""File access confined to root directories: nothing outside of them can be reached, by whatever name.

A path is followed one step at a time through open directory descriptors. Links are read and followed by us,
never by the system, so a link that is swapped in between a check and a use leads nowhere. Without directory
descriptors (Windows), names are resolved, and what was opened is checked again.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import BinaryIO, Literal

from antiphon.tools.path_arguments import PathTarget, has_other_names
from antiphon.tools.path_resolution import (
    DIRECTORY_OPEN_FLAGS,
    SAFE_OPEN_FLAGS,
    PathNotFound,
    PathWalk,
    RootDirectory,
    check_not_in_git_dir,
    check_path_text,
    explain_os_error,
    make_changed_error,
    make_outside_error,
    quote_path,
    split_path,
)
from antiphon.tools.secret_files import looks_like_secret
from antiphon.tools.tool import ToolFailure

#: Directories without the user's own files; walking a tree skips them.
SKIPPED_DIRECTORIES = frozenset(
    (
        ".git",
        ".hg",
        ".svn",
        "node_modules",
        "__pycache__",
        ".venv",
        ".tox",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
    )
)

_HAS_DIR_FD = {
    os.open,
    os.stat,
    os.mkdir,
    os.unlink,
    os.readlink,
    os.rename,
} <= os.supports_dir_fd and os.scandir in os.supports_fd
_MAX_DEPTH = 64

EntryKind = Literal["file", "directory", "link", "other"]


@dataclass(frozen=True, slots=True)
class DirEntry:
    """An entry below a directory; `parts` is its relative path."""

    parts: tuple[str, ...]
    kind: EntryKind


class SandboxRoots:
    """The directories that file tools may use. Relative paths are looked up in each, in order."""

    def __init__(self, paths: Iterable[str | os.PathLike[str]] = (".",)) -> None:
        given = [os.path.abspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
        self._roots = tuple(
            RootDirectory(os.path.realpath(path), (split_path(os.path.realpath(path)), split_path(path)))
            for path in given
        )
        if not self._roots:
            raise ValueError("a sandbox needs at least one directory")
        for path in given:
            if not os.path.isdir(path):
                raise NotADirectoryError(f"a root of the sandbox is a directory, and {path!r} is none")

    @property
    def paths(self) -> tuple[str, ...]:
        """The real paths of the directories."""
        return tuple(root.real for root in self._roots)

    @contextmanager
    def locate(self, path: str, *, writing: bool = False) -> Generator[SandboxPath, None, None]:
        """Yield the location of a path, which must exist unless it is for `writing`.

        For writing, missing parent directories are created. Git's own files cannot be written: they decide
        which programs git runs.
        """
        check_path_text(path)
        try:
            place = self._find(path, writing)
        except OSError as error:
            raise explain_os_error(error, path) from None
        except UnicodeEncodeError:
            raise ToolFailure(f"{quote_path(path)} has characters that no file name can have") from None
        try:
            yield place
        except OSError as error:
            raise explain_os_error(error, path) from None
        finally:
            place.close()

    def asks_about(self, hidden: bool = False) -> Callable[..., bool]:
        """Return a function of a tool's `path` argument that says whether to ask for approval."""

        def asks_about(path: str = ".") -> bool:
            return self.is_secret_path(path, hidden=hidden) or self.target(path).has_other_names

        return asks_about

    def target(self, path: str) -> PathTarget:
        """Return where a path leads in the roots, with links and `..` resolved; nothing is created or
        opened.
        """
        starts = (None,) if os.path.isabs(path) else self._roots
        found = [each for start in starts if (each := self._look(path, start)) is not None]
        if not found:
            plain = os.path.normpath(path) if path.strip() else path
            return PathTarget(path if "\0" in path else plain, os.path.join(self._roots[0].real, plain))
        return next((target for target, exists in found if exists), found[0][0])

    def _look(self, path: str, start: RootDirectory | None) -> tuple[PathTarget, bool] | None:
        """Return where a path leads from a root, and whether something is there."""
        try:
            check_path_text(path)
            place = self._follow(path, start, writing=False, make=False)
        except (ToolFailure, OSError, UnicodeEncodeError):
            return None
        try:
            lexical = os.path.normpath(os.path.join(start.real if start else "/", path))
            # The real and the given name of a root are equivalent.
            is_link = lexical != place.real and split_path(lexical)[-len(place.parts) :] != place.parts
            status, is_link = place.status, bool(place.parts) and is_link
            is_linked = has_other_names(status, place.parts)
            target = PathTarget(self.show(place.real), place.real, is_link, has_other_names=is_linked)
            return target, status is not None
        finally:
            place.close()

    def is_secret_path(self, path: object, *, hidden: bool = False) -> bool:
        """Return whether a path looks like a secret, by its own name or by the name of a link's target.

        With `hidden`, every name that begins with a dot counts. A path that cannot be reached does not.
        """
        if not isinstance(path, str):
            return False
        try:
            with self.locate(path) as place:
                parts = place.parts
        except ToolFailure:
            return False
        if place.real in self.paths:
            return False
        given = split_path(path)
        dotted = hidden and any(part.startswith(".") and part != ".." for part in (*parts, *given))
        return (
            dotted or looks_like_secret(parts) or looks_like_secret(split_path(place.real)) or looks_like_secret(given)
        )

    def _find(self, path: str, writing: bool) -> SandboxPath:
        starts = (None,) if os.path.isabs(path) else self._roots
        missing: ToolFailure = PathNotFound(f"there is no {quote_path(path)}")
        free: SandboxPath | None = None
        for start in starts:
            try:
                place = self._follow(path, start, writing, make=False)
            except PathNotFound as error:
                missing = error
                continue
            if place.status is not None:
                if free:
                    free.close()
                return place
            if free or not writing:
                place.close()
            else:
                free = place
        if not writing:
            raise missing
        return free or self._follow(path, starts[0], writing, make=True)

    def _follow(self, path: str, start: RootDirectory | None, writing: bool, make: bool) -> SandboxPath:
        if not _HAS_DIR_FD:
            return self._open_by_name(path, start, writing, make)
        walk = PathWalk(self._roots, path, start, writing, make)
        try:
            root, parts, name = walk.run()
        except BaseException:
            walk.release()
            raise
        return SandboxPath(self, path, root, parts, name, walk.held)

    def _open_by_name(self, path: str, start: RootDirectory | None, writing: bool, make: bool) -> SandboxPath:
        real = os.path.realpath(os.path.join(start.real if start else "", path))
        root = self.holder(real)
        if root is None:
            raise make_outside_error(path)
        parts = split_path(real)[len(root.names[0]) :]
        if writing:
            check_not_in_git_dir(parts)
        if make:
            os.makedirs(os.path.dirname(real), exist_ok=True)
        if not os.path.isdir(os.path.dirname(real)) or self.holder(os.path.realpath(real)) is None:
            raise PathNotFound(f"there is no {quote_path(path)}")
        return SandboxPath(self, path, root, parts, real, None)

    def holder(self, real: str) -> RootDirectory | None:
        """Return the first root that contains a real path."""
        steps = split_path(real)
        return next((root for root in self._roots if steps[: len(root.names[0])] == root.names[0]), None)

    def show(self, real: str) -> str:
        """Return a real path as the model sees it: relative to its root unless that is ambiguous."""
        root = self.holder(real)
        if root is None:
            return "(outside)"
        relative = "/".join(split_path(real)[len(root.names[0]) :]) or "."
        earlier = self._roots[: self._roots.index(root)]
        return real if any(os.path.lexists(os.path.join(other.real, relative)) for other in earlier) else relative


class SandboxPath:
    """A location inside the roots. It keeps its parent directory open, so it stays where it was found."""

    def __init__(
        self, roots: SandboxRoots, given: str, root: RootDirectory, parts: tuple[str, ...], name: str, held: int | None
    ) -> None:
        self._roots, self._given, self._name, self._held = roots, given, name, held
        #: Its path relative to its root.
        self.parts = parts
        #: The real path, for display; files are opened through the open parent directory.
        self.real = os.path.join(root.real, *parts)

    @property
    def shown(self) -> str:
        """The path as the model sees it."""
        return self._roots.show(self.real)

    @property
    def directory(self) -> int | None:
        """The descriptor of its parent directory, if the platform has them."""
        return self._held

    @property
    def name(self) -> str:
        """Its name in the parent directory."""
        return self._name

    @property
    def status(self) -> os.stat_result | None:
        """The current status of the file; `None` if nothing is there."""
        try:
            return os.stat(self._name, dir_fd=self._held, follow_symlinks=False)
        except FileNotFoundError:
            return None

    @property
    def kind(self) -> EntryKind | None:
        """The current kind of the file; `None` if nothing is there."""
        status = self.status
        return None if status is None else _kind_of_mode(status.st_mode)

    def open(self) -> BinaryIO:
        """Open the file for reading."""
        self._check_is_file()
        descriptor = os.open(self._name, os.O_RDONLY | SAFE_OPEN_FLAGS, dir_fd=self._held)
        return os.fdopen(self._verify_opened(descriptor, "file"), "rb")

    def replace(self, content: bytes, seen: os.stat_result | None = None) -> None:
        """Write the whole file or nothing, keeping its mode. The file must still be as `seen`, if given."""
        mode = self._mode()
        temporary = f".{secrets.token_hex(8)}.tmp"
        if self._held is None:
            temporary = os.path.join(os.path.dirname(self._name), temporary)
        descriptor = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | SAFE_OPEN_FLAGS, 0o666, dir_fd=self._held
        )
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
                stream.flush()
                if mode is not None:
                    os.chmod(stream.fileno() if os.chmod in os.supports_fd else temporary, mode)
                os.fsync(stream.fileno())
            if seen is not None and not _is_unchanged(seen, self.status):
                raise make_changed_error(self._given)
            os.replace(temporary, self._name, src_dir_fd=self._held, dst_dir_fd=self._held)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=self._held)
            raise

    def _mode(self) -> int | None:
        """Return the mode of the existing file, if there is one and it may be written."""
        if self.status is None:
            return None
        self._check_is_file()
        descriptor = self._verify_opened(os.open(self._name, os.O_WRONLY | SAFE_OPEN_FLAGS, dir_fd=self._held), "file")
        try:
            return stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o777
        finally:
            os.close(descriptor)

    @contextmanager
    def descriptor(self) -> Generator[int | str, None, None]:
        """Yield an open descriptor of this directory, or its path if the platform has no descriptors."""
        if self.kind != "directory":
            raise ToolFailure(f"{quote_path(self._given)} is not a directory")
        if self._held is None:
            yield self._name
            return
        opened = self._verify_opened(os.open(self._name, DIRECTORY_OPEN_FLAGS, dir_fd=self._held), "directory")
        try:
            yield opened
        finally:
            os.close(opened)

    def walk(self, depth: int = _MAX_DEPTH) -> Iterator[DirEntry]:
        """Yield the entries below this directory in order of name, down to `depth`; links are not followed."""
        with self.descriptor() as directory:
            yield from _walk_directory(directory, (), min(depth, _MAX_DEPTH))

    def _check_is_file(self) -> None:
        match self.kind:
            case "file":
                return
            case None:
                raise PathNotFound(f"there is no {quote_path(self._given)}")
            case "directory":
                raise ToolFailure(
                    f"{quote_path(self._given)} is a directory, not a file; `list_files` shows what is in it"
                )
            case "link":
                raise make_changed_error(self._given)
            case "other":
                raise ToolFailure(f"{quote_path(self._given)} is a pipe, socket or device, not a file with text")

    def _verify_opened(self, descriptor: int, expected: EntryKind) -> int:
        try:
            status = os.fstat(descriptor)
            if _kind_of_mode(status.st_mode) != expected:
                raise make_changed_error(self._given)
            if self._held is None:
                real = os.path.realpath(self._name)
                if self._roots.holder(real) is None or not os.path.samestat(os.stat(real), status):
                    raise make_changed_error(self._given)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def close(self) -> None:
        """Close the parent directory."""
        if self._held is not None:
            os.close(self._held)
            self._held = None


def _walk_directory(directory: int | str, parts: tuple[str, ...], depth: int) -> Iterator[DirEntry]:
    with os.scandir(directory) as scan:
        found: dict[str, EntryKind] = {entry.name: _kind_of_entry(entry) for entry in scan}
    for name, kind in sorted(found.items()):
        yield DirEntry((*parts, name), kind)
        if kind != "directory" or depth <= 1 or name in SKIPPED_DIRECTORIES:
            continue
        if isinstance(directory, str):
            yield from _walk_directory(os.path.join(directory, name), (*parts, name), depth - 1)
            continue
        try:
            inner = os.open(name, DIRECTORY_OPEN_FLAGS, dir_fd=directory)
        except OSError:
            continue
        try:
            yield from _walk_directory(inner, (*parts, name), depth - 1)
        finally:
            os.close(inner)


def _kind_of_entry(entry: os.DirEntry[str]) -> EntryKind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _kind_of_mode(mode: int) -> EntryKind:
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "directory"
    return "file" if stat.S_ISREG(mode) else "other"


def _is_unchanged(seen: os.stat_result, now: os.stat_result | None) -> bool:
    return now is not None and all(
        getattr(seen, field) == getattr(now, field) for field in ("st_dev", "st_ino", "st_mtime_ns", "st_size")
    )
