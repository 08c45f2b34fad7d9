"""`system/files`: read and write whole files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.methods import split_lines
from antiphon.lang.runtime.system import SystemFunction
from antiphon.lang.typecheck import types as t

if TYPE_CHECKING:
    from antiphon.lang.runtime.execution import ProgramExecution
    from antiphon.lang.runtime.system.disk import LocalDisk


def _open_disk(execution: ProgramExecution, change: str = "") -> LocalDisk:
    """Return the disk; an untrusted program has its own directory alone, and needs permission for a `change`."""
    from antiphon.lang.runtime.system.disk import LocalDisk, open_confined_disk

    return open_confined_disk(execution.host, change) if execution.host.untrusted else LocalDisk()


def _read_text(execution: ProgramExecution, path: str, encoding: str = "utf-8") -> str:
    return decode_text(_open_disk(execution).read(path), f"`{path}`", encoding)


def _read_lines(execution: ProgramExecution, path: str, encoding: str = "utf-8") -> list[str]:
    return split_lines(_read_text(execution, path, encoding))


def _read_bytes(execution: ProgramExecution, path: str) -> bytes:
    return _open_disk(execution).read(path)


def _write_text(execution: ProgramExecution, path: str, text: str, encoding: str = "utf-8") -> None:
    _open_disk(execution, f"write the file {path}").write(path, encode_text(text, encoding))


def _append_text(execution: ProgramExecution, path: str, text: str, encoding: str = "utf-8") -> None:
    _open_disk(execution, f"write the file {path}").append(path, encode_text(text, encoding))


def _exists(execution: ProgramExecution, path: str) -> bool:
    return _open_disk(execution).exists(path)


def _list(execution: ProgramExecution, path: str = ".") -> list[str]:
    return sorted(_open_disk(execution).names(path))


def _copy(execution: ProgramExecution, path: str, to: str) -> None:
    _open_disk(execution, f"write the file {to}").copy(path, to)


def _move(execution: ProgramExecution, path: str, to: str) -> None:
    _open_disk(execution, f"move the file {path} to {to}").move(path, to)


def _remove(execution: ProgramExecution, path: str) -> None:
    _open_disk(execution, f"remove the file {path}").remove(path)


_ENCODING_HINT = 'name its encoding, as in `readText(path, "latin-1")`'


def decode_text(data: bytes, name: str, encoding: str = "utf-8", hint: str = _ENCODING_HINT) -> str:
    """Decode bytes in an encoding exactly; raise V0941 if that is not possible."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        known = "UTF-8" if encoding.lower() in ("utf-8", "utf8") else f"text in {encoding}"
        told = hint if known == "UTF-8" else ""
        raise VibeError("V0941", f"{name} is not {known}: byte {error.start}, in line {line}", told) from None
    except (LookupError, ValueError, TypeError):
        raise _make_encoding_error(encoding) from None


def encode_text(text: str, encoding: str = "utf-8") -> bytes:
    """Encode a text; raise V0941 if the encoding is unknown or lacks a character."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        message = f"{encoding} has no form for the character {text[error.start]!a} at position {error.start}"
        raise VibeError("V0941", message, "write it in UTF-8") from None
    except (LookupError, ValueError, TypeError):
        raise _make_encoding_error(encoding) from None


def _make_encoding_error(name: str) -> VibeError:
    from antiphon._base.did_you_mean import suggest_name

    near = suggest_name(name.lower(), ("utf-8", "utf-8-sig", "utf-16", "latin-1", "ascii", "cp1252"))
    return VibeError("V0941", f"there is no encoding {name!r:.60}", f'did you mean "{near}"?' if near else "")


_PATH = {"path": t.TEXT}
_READ_PARAMETERS = {**_PATH, "encoding": t.TEXT}
_WRITE_PARAMETERS = {**_PATH, "text": t.TEXT, "encoding": t.TEXT}
_TWO_PATHS: dict[str, Any] = {**_PATH, "to": t.TEXT}
FUNCTIONS = {
    "readText": SystemFunction(
        "The text of a file, whole and exact, in UTF-8 or the named encoding.",
        _read_text,
        _READ_PARAMETERS,
        t.TEXT,
        1,
        "harmless",
    ),
    "readLines": SystemFunction(
        "Its lines, without their ends.", _read_lines, _READ_PARAMETERS, t.Array(t.TEXT), 1, "harmless"
    ),
    "readBytes": SystemFunction(
        "Its bytes, as numbers.", _read_bytes, _PATH, t.Array(t.NUMBER), 0, "harmless", convert_result=list
    ),
    "writeText": SystemFunction(
        "Write a file as a whole; directories that are missing are made.",
        _write_text,
        _WRITE_PARAMETERS,
        t.NULL,
        1,
        "unsure",
    ),
    "appendText": SystemFunction(
        "Write at the end of a file, which is made if it is missing.",
        _append_text,
        _WRITE_PARAMETERS,
        t.NULL,
        1,
        "unsure",
    ),
    "exists": SystemFunction("Whether there is a file or directory.", _exists, _PATH, t.BOOLEAN, 0, "harmless"),
    "list": SystemFunction(
        "The names in a directory, sorted; without a path, in the current one.",
        _list,
        _PATH,
        t.Array(t.TEXT),
        1,
        "harmless",
    ),
    "copy": SystemFunction("Copy a file.", _copy, _TWO_PATHS, t.NULL, 0, "unsure"),
    "move": SystemFunction("Move or rename a file or directory.", _move, _TWO_PATHS, t.NULL, 0, "unsure"),
    "remove": SystemFunction("Remove a file or an empty directory.", _remove, _PATH, t.NULL, 0, "unsure"),
}
