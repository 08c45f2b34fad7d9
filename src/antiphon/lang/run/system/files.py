"""`system/files`: files as they are, whole and exact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.lang.check.types import BOOLEAN, NULL, NUMBER, TEXT, Array
from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.receivers import lines
from antiphon.lang.run.system.function import Function

if TYPE_CHECKING:
    from antiphon.lang.run.execution import Execution
    from antiphon.lang.run.system.disk import Disk


def _disk(execution: Execution, change: str = "") -> Disk:
    """Where files are; a program that is not trusted has its own directory alone, and asks before a `change`."""
    from antiphon.lang.run.system.disk import Disk, confined

    return confined(execution.host, change) if execution.host.untrusted else Disk()


def _read_text(execution: Execution, path: str, encoding: str = "utf-8") -> str:
    return decoded(_disk(execution).read(path), f"`{path}`", encoding)


def _read_lines(execution: Execution, path: str, encoding: str = "utf-8") -> list[str]:
    return lines(_read_text(execution, path, encoding))


def _read_bytes(execution: Execution, path: str) -> bytes:
    return _disk(execution).read(path)


def _write_text(execution: Execution, path: str, text: str, encoding: str = "utf-8") -> None:
    _disk(execution, f"write the file {path}").write(path, encoded(text, encoding))


def _append_text(execution: Execution, path: str, text: str, encoding: str = "utf-8") -> None:
    _disk(execution, f"write the file {path}").append(path, encoded(text, encoding))


def _exists(execution: Execution, path: str) -> bool:
    return _disk(execution).exists(path)


def _list(execution: Execution, path: str = ".") -> list[str]:
    return sorted(_disk(execution).names(path))


def _copy(execution: Execution, path: str, to: str) -> None:
    _disk(execution, f"write the file {to}").copy(path, to)


def _move(execution: Execution, path: str, to: str) -> None:
    _disk(execution, f"move the file {path} to {to}").move(path, to)


def _remove(execution: Execution, path: str) -> None:
    _disk(execution, f"remove the file {path}").remove(path)


_NAME_IT = 'name its encoding, as in `readText(path, "latin-1")`'


def decoded(data: bytes, name: str, encoding: str = "utf-8", hint: str = _NAME_IT) -> str:
    """The text that bytes are in an encoding; nothing of it is changed."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        known = "UTF-8" if encoding.lower() in ("utf-8", "utf8") else f"text in {encoding}"
        told = hint if known == "UTF-8" else ""
        raise VibeError("V0941", f"{name} is not {known}: byte {error.start}, in line {line}", told) from None
    except (LookupError, ValueError, TypeError):
        raise _no_encoding(encoding) from None


def encoded(text: str, encoding: str = "utf-8") -> bytes:
    """The bytes of a text in an encoding."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        message = f"{encoding} has no form for the character {text[error.start]!a} at position {error.start}"
        raise VibeError("V0941", message, "write it in UTF-8") from None
    except (LookupError, ValueError, TypeError):
        raise _no_encoding(encoding) from None


def _no_encoding(name: str) -> VibeError:
    from antiphon._suggestions import nearest

    near = nearest(name.lower(), ("utf-8", "utf-8-sig", "utf-16", "latin-1", "ascii", "cp1252"))
    return VibeError("V0941", f"there is no encoding {name!r:.60}", f'did you mean "{near}"?' if near else "")


_PATH = {"path": TEXT}
_CODED = {**_PATH, "encoding": TEXT}
_WRITTEN = {**_PATH, "text": TEXT, "encoding": TEXT}
_TWO: dict[str, Any] = {**_PATH, "to": TEXT}
FUNCTIONS = {
    "readText": Function("The text of a file, whole and exact, in UTF-8 or the named encoding.",
                         _read_text, _CODED, TEXT, 1, "harmless"),
    "readLines": Function("Its lines, without their ends.", _read_lines, _CODED, Array(TEXT), 1, "harmless"),
    "readBytes": Function("Its bytes, as numbers.", _read_bytes, _PATH, Array(NUMBER), 0, "harmless", shaped=list),
    "writeText": Function("Write a file as a whole; directories that are missing are made.",
                          _write_text, _WRITTEN, NULL, 1, "unsure"),
    "appendText": Function("Write at the end of a file, which is made if it is missing.",
                           _append_text, _WRITTEN, NULL, 1, "unsure"),
    "exists": Function("Whether there is a file or directory.", _exists, _PATH, BOOLEAN, 0, "harmless"),
    "list": Function("The names in a directory, sorted; without a path, in the current one.",
                     _list, _PATH, Array(TEXT), 1, "harmless"),
    "copy": Function("Copy a file.", _copy, _TWO, NULL, 0, "unsure"),
    "move": Function("Move or rename a file or directory.", _move, _TWO, NULL, 0, "unsure"),
    "remove": Function("Remove a file or an empty directory.", _remove, _PATH, NULL, 0, "unsure"),
}  # fmt: skip
