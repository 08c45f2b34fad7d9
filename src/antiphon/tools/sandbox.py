"""Files confined to directories: what lies outside of the roots cannot be reached, by whatever name.

A path is followed one step at a time through held descriptors. Links are read and followed by us, never by the system,
so one that is swapped in between a check and a use leads nowhere. Where descriptors of directories do not exist
(Windows), names are resolved, and what was opened is checked again.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import BinaryIO, Literal

from antiphon.tools.paths import (
    DIRECTORY,
    SAFELY,
    Missing,
    Root,
    Walk,
    changed,
    check_name,
    check_not_git,
    explained,
    named,
    outside,
    steps_of,
)
from antiphon.tools.secrets import looks_secret
from antiphon.tools.targets import Target
from antiphon.tools.tool import ToolFailure

#: Directories that hold no work of people's own; walking a tree does not go into them.
UNWALKED = frozenset(
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

_HELD = {
    os.open,
    os.stat,
    os.mkdir,
    os.unlink,
    os.readlink,
    os.rename,
} <= os.supports_dir_fd and os.scandir in os.supports_fd
_DEEPEST = 64

Kind = Literal["file", "directory", "link", "other"]


@dataclass(frozen=True, slots=True)
class Entry:
    """Something found below a directory; `parts` lead to it from there."""

    parts: tuple[str, ...]
    kind: Kind


class Roots:
    """The directories that file tools may use. Relative paths are looked for in each, in order."""

    def __init__(self, paths: Iterable[str | os.PathLike[str]] = (".",)) -> None:
        given = [os.path.abspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
        self._roots = tuple(
            Root(os.path.realpath(path), (steps_of(os.path.realpath(path)), steps_of(path))) for path in given
        )
        if not self._roots:
            raise ValueError("a sandbox needs at least one directory")
        for path in given:
            if not os.path.isdir(path):
                raise NotADirectoryError(f"a root of the sandbox is a directory, and {path!r} is none")

    @property
    def paths(self) -> tuple[str, ...]:
        """The directories themselves, with links resolved."""
        return tuple(root.real for root in self._roots)

    @contextmanager
    def locate(self, path: str, *, writing: bool = False) -> Generator[Place, None, None]:
        """The place a path leads to, which exists unless it is for `writing`: then missing parents are made.

        Git's own files cannot be written: they say which programs git runs.
        """
        check_name(path)
        try:
            place = self._find(path, writing)
        except OSError as error:
            raise explained(error, path) from None
        except UnicodeEncodeError:
            raise ToolFailure(f"{named(path)} has characters that no file name can have") from None
        try:
            yield place
        except OSError as error:
            raise explained(error, path) from None
        finally:
            place.close()

    def asks_about(self, hidden: bool = False) -> Callable[..., bool]:
        """For tools that take a `path`: whether it is one to ask about."""

        def asks_about(path: str = ".") -> bool:
            return self.is_secret(path, hidden=hidden)

        return asks_about

    def target(self, path: str) -> Target:
        """Return where a path leads in the roots, with links and `..` resolved; nothing is made or opened for it."""
        starts = (None,) if os.path.isabs(path) else self._roots
        found = [place for start in starts if (place := self._look(path, start)) is not None]
        place = next((each for each in found if each.is_there), found[0] if found else None)
        if place is None:
            plain = os.path.normpath(path) if path.strip() else path
            return Target(path if "\0" in path else plain, os.path.join(self._roots[0].real, plain))
        return Target(self.show(place.real), place.real, place.is_link)

    def _look(self, path: str, start: Root | None) -> _Seen | None:
        try:
            check_name(path)
            place = self._follow(path, start, writing=False, make=False)
        except (ToolFailure, OSError, UnicodeEncodeError):
            return None
        try:
            lexical = os.path.normpath(os.path.join(start.real if start else "/", path))
            # The names of a root, as it is and as it was given, are the same to whoever reads.
            is_link = lexical != place.real and steps_of(lexical)[-len(place.parts) :] != place.parts
            return _Seen(place.real, place.status is not None, bool(place.parts) and is_link)
        finally:
            place.close()

    def is_secret(self, path: object, *, hidden: bool = False) -> bool:
        """Whether a path leads to what looks like a secret, by its name or by that of what a link in it leads to.

        With `hidden`, everything whose name begins with a dot counts. What cannot be reached is none.
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
        given = steps_of(path)
        dotted = hidden and any(part.startswith(".") and part != ".." for part in (*parts, *given))
        return dotted or looks_secret(parts) or looks_secret(steps_of(place.real)) or looks_secret(given)

    def _find(self, path: str, writing: bool) -> Place:
        starts = (None,) if os.path.isabs(path) else self._roots
        missing: ToolFailure = Missing(f"there is no {named(path)}")
        free: Place | None = None
        for start in starts:
            try:
                place = self._follow(path, start, writing, make=False)
            except Missing as error:
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

    def _follow(self, path: str, start: Root | None, writing: bool, make: bool) -> Place:
        if not _HELD:
            return self._resolve(path, start, writing, make)
        walk = Walk(self._roots, path, start, writing, make)
        try:
            root, parts, name = walk.run()
        except BaseException:
            walk.release()
            raise
        return Place(self, path, root, parts, name, walk.held)

    def _resolve(self, path: str, start: Root | None, writing: bool, make: bool) -> Place:
        real = os.path.realpath(os.path.join(start.real if start else "", path))
        root = self.holder(real)
        if root is None:
            raise outside(path)
        parts = steps_of(real)[len(root.names[0]) :]
        if writing:
            check_not_git(parts)
        if make:
            os.makedirs(os.path.dirname(real), exist_ok=True)
        if not os.path.isdir(os.path.dirname(real)) or self.holder(os.path.realpath(real)) is None:
            raise Missing(f"there is no {named(path)}")
        return Place(self, path, root, parts, real, None)

    def holder(self, real: str) -> Root | None:
        """The first root a real path lies in."""
        steps = steps_of(real)
        return next((root for root in self._roots if steps[: len(root.names[0])] == root.names[0]), None)

    def show(self, real: str) -> str:
        """A real path as the model is shown it, which also finds it: relative wherever that is not ambiguous."""
        root = self.holder(real)
        if root is None:
            return "(outside)"
        relative = "/".join(steps_of(real)[len(root.names[0]) :]) or "."
        earlier = self._roots[: self._roots.index(root)]
        return real if any(os.path.lexists(os.path.join(other.real, relative)) for other in earlier) else relative


@dataclass(frozen=True, slots=True)
class _Seen:
    real: str
    is_there: bool
    is_link: bool


class Place:
    """Somewhere inside the roots. It holds the directory it is in, so it stays where it was found."""

    def __init__(
        self, roots: Roots, given: str, root: Root, parts: tuple[str, ...], name: str, held: int | None
    ) -> None:
        self._roots, self._given, self._name, self._held = roots, given, name, held
        #: The steps to it from its root.
        self.parts = parts
        #: The real path, for names to show; what is opened is opened through the held directory.
        self.real = os.path.join(root.real, *parts)

    @property
    def shown(self) -> str:
        """Its path as the model is shown it."""
        return self._roots.show(self.real)

    @property
    def directory(self) -> int | None:
        """The descriptor of the directory it is in, if the platform has such."""
        return self._held

    @property
    def name(self) -> str:
        """Its name in that directory."""
        return self._name

    @property
    def status(self) -> os.stat_result | None:
        """What is there now; `None` if nothing is."""
        try:
            return os.stat(self._name, dir_fd=self._held, follow_symlinks=False)
        except FileNotFoundError:
            return None

    @property
    def kind(self) -> Kind | None:
        """What sort of thing is there now."""
        status = self.status
        return None if status is None else _kind(status.st_mode)

    def open(self) -> BinaryIO:
        """The file, for reading."""
        self._check_file()
        descriptor = os.open(self._name, os.O_RDONLY | SAFELY, dir_fd=self._held)
        return os.fdopen(self._verified(descriptor, "file"), "rb")

    def replace(self, content: bytes, seen: os.stat_result | None = None) -> None:
        """Write the file as a whole or not at all, keeping its mode. It must still be as `seen`, if that is given."""
        mode = self._mode()
        temporary = f".{secrets.token_hex(8)}.tmp"
        if self._held is None:
            temporary = os.path.join(os.path.dirname(self._name), temporary)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | SAFELY, 0o666, dir_fd=self._held)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
                stream.flush()
                if mode is not None:
                    os.chmod(stream.fileno() if os.chmod in os.supports_fd else temporary, mode)
                os.fsync(stream.fileno())
            if seen is not None and not _same(seen, self.status):
                raise changed(self._given)
            os.replace(temporary, self._name, src_dir_fd=self._held, dst_dir_fd=self._held)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=self._held)
            raise

    def _mode(self) -> int | None:
        """The mode of the file that is there, if one is and may be written."""
        if self.status is None:
            return None
        self._check_file()
        descriptor = self._verified(os.open(self._name, os.O_WRONLY | SAFELY, dir_fd=self._held), "file")
        try:
            return stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o777
        finally:
            os.close(descriptor)

    @contextmanager
    def descriptor(self) -> Generator[int | str, None, None]:
        """The directory that is here, open: a descriptor, or its path where there are none."""
        if self.kind != "directory":
            raise ToolFailure(f"{named(self._given)} is not a directory")
        if self._held is None:
            yield self._name
            return
        opened = self._verified(os.open(self._name, DIRECTORY, dir_fd=self._held), "directory")
        try:
            yield opened
        finally:
            os.close(opened)

    def walk(self, depth: int = _DEEPEST) -> Iterator[Entry]:
        """What is below this directory, in order of name, as deep as that; links are shown and not followed."""
        with self.descriptor() as directory:
            yield from _walk(directory, (), min(depth, _DEEPEST))

    def _check_file(self) -> None:
        match self.kind:
            case "file":
                return
            case None:
                raise Missing(f"there is no {named(self._given)}")
            case "directory":
                raise ToolFailure(f"{named(self._given)} is a directory, not a file; `list_files` shows what is in it")
            case "link":
                raise changed(self._given)
            case "other":
                raise ToolFailure(f"{named(self._given)} is a pipe, socket or device, not a file with text")

    def _verified(self, descriptor: int, expected: Kind) -> int:
        try:
            status = os.fstat(descriptor)
            if _kind(status.st_mode) != expected:
                raise changed(self._given)
            if self._held is None:
                real = os.path.realpath(self._name)
                if self._roots.holder(real) is None or not os.path.samestat(os.stat(real), status):
                    raise changed(self._given)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def close(self) -> None:
        """Let go of the directory."""
        if self._held is not None:
            os.close(self._held)
            self._held = None


def _walk(directory: int | str, parts: tuple[str, ...], depth: int) -> Iterator[Entry]:
    with os.scandir(directory) as scan:
        found: dict[str, Kind] = {entry.name: _entry_kind(entry) for entry in scan}
    for name, kind in sorted(found.items()):
        yield Entry((*parts, name), kind)
        if kind != "directory" or depth <= 1 or name in UNWALKED:
            continue
        if isinstance(directory, str):
            yield from _walk(os.path.join(directory, name), (*parts, name), depth - 1)
            continue
        try:
            inner = os.open(name, DIRECTORY, dir_fd=directory)
        except OSError:
            continue
        try:
            yield from _walk(inner, (*parts, name), depth - 1)
        finally:
            os.close(inner)


def _entry_kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _kind(mode: int) -> Kind:
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "directory"
    return "file" if stat.S_ISREG(mode) else "other"


def _same(seen: os.stat_result, now: os.stat_result | None) -> bool:
    return now is not None and all(
        getattr(seen, field) == getattr(now, field) for field in ("st_dev", "st_ino", "st_mtime_ns", "st_size")
    )
