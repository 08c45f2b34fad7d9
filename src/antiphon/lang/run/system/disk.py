"""Files of the machine, and those that a program which is not trusted may use: failures in the language's words."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon._suggestions import nearest
from antiphon.lang.run.errors import VibeError

if TYPE_CHECKING:
    from antiphon.lang.run.host import Host
    from antiphon.tools.sandbox import Place


class Disk:
    """All files there are; a relative path begins in the current directory."""

    def read(self, path: str) -> bytes:
        """The bytes of a file."""
        with _told(path):
            return Path(path).read_bytes()

    def write(self, path: str, data: bytes) -> None:
        """Write a file as a whole."""
        with _told(path):
            self._parent(path)
            Path(path).write_bytes(data)

    def append(self, path: str, data: bytes) -> None:
        """Write at the end of a file."""
        with _told(path):
            self._parent(path)
            with open(path, "ab") as stream:
                stream.write(data)

    def exists(self, path: str) -> bool:
        """Whether something is there."""
        with _told(path):
            return os.path.exists(path)

    def names(self, path: str) -> list[str]:
        """What is in a directory."""
        with _told(path):
            return os.listdir(path)

    def copy(self, path: str, to: str) -> None:
        """Copy a file, with its mode."""
        import shutil

        with _told(path):
            target = _inside(path, to)
            if os.path.exists(target) and os.path.samefile(path, target):
                raise VibeError("V0940", f"`{path}` and `{to}` are the same file")
            with open(path, "rb"):
                self._parent(target)
            shutil.copy(path, target)

    def move(self, path: str, to: str) -> None:
        """Move a file or directory; a file that is in its place is replaced."""
        import shutil

        with _told(path):
            os.lstat(path)
            target = _inside(path, to)
            self._parent(target)
            shutil.move(path, target)

    def remove(self, path: str) -> None:
        """Remove a file, a link or an empty directory."""
        with _told(path):
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            else:
                os.unlink(path)

    def _parent(self, path: str) -> None:
        parent = os.path.dirname(path)
        if parent:
            os.makedirs(parent, exist_ok=True)


class Confined(Disk):
    """The files of one directory, by whatever name: what lies outside of it cannot be reached."""

    def __init__(self, host: Host, directory: str, *, asks: bool) -> None:
        from antiphon.tools.sandbox import Roots

        self._host, self._asks = host, asks
        self._roots = Roots([directory])

    @contextmanager
    def _at(self, path: str, *, writing: bool = False) -> Generator[Place]:
        from antiphon.tools import ToolFailure
        from antiphon.tools.paths import Outside

        if self._host.distrust is not None and not writing and (self._asks or self._roots.is_secret(path, hidden=True)):
            self._host.distrust.allow(f"read the file {path}")
        try:
            with self._roots.locate(path, writing=writing) as place:
                yield place
        except Outside as error:
            raise VibeError("V0923", str(error), "--untrusted allows the directory of the program alone") from None
        except ToolFailure as error:
            message, is_directory, _ = str(error).partition("; `list_files`")
            raise VibeError("V0940", message, "`list` gives what is in it" if is_directory else "") from None

    def read(self, path: str) -> bytes:
        with self._at(path) as place, place.open() as stream:
            return stream.read()

    def write(self, path: str, data: bytes) -> None:
        with self._at(path, writing=True) as place:
            place.replace(data)

    def append(self, path: str, data: bytes) -> None:
        with self._at(path, writing=True) as place:
            before = b""
            if place.status is not None:
                with place.open() as stream:
                    before = stream.read()
            place.replace(before + data)

    def exists(self, path: str) -> bool:
        from antiphon.tools.paths import Missing

        try:
            with self._roots.locate(path) as place:
                return place.status is not None
        except Missing:
            return False
        except Exception:
            with self._at(path) as place:
                return place.status is not None

    def names(self, path: str) -> list[str]:
        with self._at(path) as place:
            return [each.parts[-1] for each in place.walk(1)]

    def copy(self, path: str, to: str) -> None:
        self.write(self._inside(path, to), self.read(path))

    def move(self, path: str, to: str) -> None:
        self.copy(path, to)
        self.remove(path)

    def _inside(self, path: str, to: str) -> str:
        from antiphon.tools.paths import Missing

        try:
            with self._roots.locate(to) as place:
                is_directory = place.kind == "directory"
        except Missing:
            return to
        except Exception:
            # Writing tells why it cannot be used.
            return to
        return os.path.join(to, os.path.basename(os.path.normpath(path))) if is_directory else to

    def remove(self, path: str) -> None:
        with self._at(path, writing=True) as place:
            if place.kind == "directory":
                os.rmdir(place.name, dir_fd=place.directory)
            else:
                os.unlink(place.name, dir_fd=place.directory)


def confined(host: Host, change: str) -> Disk:
    """What a program that is not trusted has. One that came through a pipe has no directory: it asks about each."""
    if change and host.distrust is not None:
        host.distrust.allow(change)
    return Confined(host, host.directory or os.getcwd(), asks=host.directory is None)


def _inside(path: str, to: str) -> str:
    """Where something is put: into a directory it goes under its own name."""
    return os.path.join(to, os.path.basename(os.path.normpath(path))) if os.path.isdir(to) else to


@contextmanager
def _told(path: str) -> Generator[None]:
    try:
        yield
    except FileNotFoundError as error:
        missing = str(error.filename2 or error.filename or path)
        raise VibeError("V0940", f"there is no file `{missing}`", _near(missing)) from None
    except OSError as error:
        named = str(error.filename2 or error.filename or path)
        raise VibeError(
            "V0940", _WORDS.get(type(error), f"{{}}: {error.strerror or error}").format(f"`{named}`")
        ) from None
    except ValueError:
        raise VibeError("V0940", f"{path!r:.80} can be the name of no file") from None


_WORDS: dict[type[OSError], str] = {
    IsADirectoryError: "{} is a directory, not a file",
    NotADirectoryError: "{} is no directory, or goes through something that is none",
    PermissionError: "{} may not be used: permission denied",
    FileExistsError: "{} is there already",
}


def _near(path: str) -> str:
    """What was probably meant, where the directory is there."""
    parent, name = os.path.split(path)
    try:
        near = nearest(name, os.listdir(parent or "."))
    except OSError:
        return f"there is no directory `{parent}` either"
    return f"did you mean `{os.path.join(parent, near)}`?" if near else ""
