"""File access of programs, unrestricted or confined to one directory, with errors in the language's terms."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon._base.did_you_mean import suggest_name
from antiphon.lang.runtime.errors import VibeError

if TYPE_CHECKING:
    from antiphon.lang.runtime.host import Host
    from antiphon.tools.file_sandbox import SandboxPath


class LocalDisk:
    """All files of the machine; a relative path begins in the current directory."""

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        with _translate_os_errors(path):
            return Path(path).read_bytes()

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file."""
        with _translate_os_errors(path):
            self._make_parent(path)
            Path(path).write_bytes(data)

    def append(self, path: str, data: bytes) -> None:
        """Append to a file."""
        with _translate_os_errors(path):
            self._make_parent(path)
            with open(path, "ab") as stream:
                stream.write(data)

    def exists(self, path: str) -> bool:
        """Return True if the path exists."""
        with _translate_os_errors(path):
            return os.path.exists(path)

    def names(self, path: str) -> list[str]:
        """Return the names in a directory."""
        with _translate_os_errors(path):
            return os.listdir(path)

    def copy(self, path: str, to: str) -> None:
        """Copy a file with its mode."""
        import shutil

        with _translate_os_errors(path):
            target = _resolve_copy_target(path, to)
            if os.path.exists(target) and os.path.samefile(path, target):
                raise VibeError("V0940", f"`{path}` and `{to}` are the same file")
            with open(path, "rb"):
                self._make_parent(target)
            shutil.copy(path, target)

    def move(self, path: str, to: str) -> None:
        """Move a file or directory; an existing file at the target is replaced."""
        import shutil

        with _translate_os_errors(path):
            os.lstat(path)
            target = _resolve_copy_target(path, to)
            self._make_parent(target)
            shutil.move(path, target)

    def remove(self, path: str) -> None:
        """Remove a file, a link or an empty directory."""
        with _translate_os_errors(path):
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            else:
                os.unlink(path)

    def _make_parent(self, path: str) -> None:
        parent = os.path.dirname(path)
        if parent:
            os.makedirs(parent, exist_ok=True)


class ConfinedDisk(LocalDisk):
    """The files of one directory: nothing outside of it can be reached, by any path."""

    def __init__(self, host: Host, directory: str, *, asks: bool) -> None:
        from antiphon.tools.file_sandbox import SandboxRoots

        self._host, self._requires_permission = host, asks
        self._roots = SandboxRoots([directory])

    @contextmanager
    def _at(self, path: str, *, writing: bool = False) -> Generator[SandboxPath]:
        from antiphon.tools import ToolFailure
        from antiphon.tools.path_resolution import PathOutsideRoots

        if (
            self._host.distrust is not None
            and not writing
            and (self._requires_permission or self._roots.is_secret_path(path, hidden=True))
        ):
            self._host.distrust.allow(f"read the file {path}")
        try:
            with self._roots.locate(path, writing=writing) as place:
                yield place
        except PathOutsideRoots as error:
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
        from antiphon.tools.path_resolution import PathNotFound

        try:
            with self._roots.locate(path) as place:
                return place.status is not None
        except PathNotFound:
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
        from antiphon.tools.path_resolution import PathNotFound

        try:
            with self._roots.locate(to) as place:
                is_directory = place.kind == "directory"
        except PathNotFound:
            return to
        except Exception:
            # The write itself reports why the path cannot be used.
            return to
        return os.path.join(to, os.path.basename(os.path.normpath(path))) if is_directory else to

    def remove(self, path: str) -> None:
        with self._at(path, writing=True) as place:
            if place.kind == "directory":
                os.rmdir(place.name, dir_fd=place.directory)
            else:
                os.unlink(place.name, dir_fd=place.directory)


def open_confined_disk(host: Host, change: str) -> LocalDisk:
    """Return the disk of an untrusted program, after permission for the `change` if there is one.

    A program from a pipe has no directory: each read needs permission.
    """
    if change and host.distrust is not None:
        host.distrust.allow(change)
    return ConfinedDisk(host, host.directory or os.getcwd(), asks=host.directory is None)


def _resolve_copy_target(path: str, to: str) -> str:
    """Return the target of a copy or move: a file goes into a directory under its own name."""
    return os.path.join(to, os.path.basename(os.path.normpath(path))) if os.path.isdir(to) else to


@contextmanager
def _translate_os_errors(path: str) -> Generator[None]:
    try:
        yield
    except FileNotFoundError as error:
        missing = str(error.filename2 or error.filename or path)
        raise VibeError("V0940", f"there is no file `{missing}`", _hint_near_file(missing)) from None
    except OSError as error:
        named = str(error.filename2 or error.filename or path)
        raise VibeError(
            "V0940", _ERROR_MESSAGES.get(type(error), f"{{}}: {error.strerror or error}").format(f"`{named}`")
        ) from None
    except ValueError:
        raise VibeError("V0940", f"{path!r:.80} can be the name of no file") from None


_ERROR_MESSAGES: dict[type[OSError], str] = {
    IsADirectoryError: "{} is a directory, not a file",
    NotADirectoryError: "{} is not a directory, or contains a part that is not one",
    PermissionError: "{} may not be used: permission denied",
    FileExistsError: "{} is there already",
}


def _hint_near_file(path: str) -> str:
    """Return a hint which file was probably meant, if the directory exists."""
    parent, name = os.path.split(path)
    try:
        near = suggest_name(name, os.listdir(parent or "."))
    except OSError:
        return f"there is no directory `{parent}` either"
    return f"did you mean `{os.path.join(parent, near)}`?" if near else ""
