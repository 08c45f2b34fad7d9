"""The files of a configuration: the directories that make up a project, and reading and writing with care."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from antiphon._files import open_named_file
from antiphon._places import user_home
from antiphon.errors import ConfigurationError

_LARGEST = 5_000_000


def project_directories(cwd: Path | None = None, environment: Mapping[str, str] | None = None) -> list[Path]:
    """The directory and those above it, up to the root of the repository or to the user's home.

    Outside of both it is the directory alone: what others may have put into `/tmp` is no configuration of ours.
    """
    try:
        start = (cwd or Path.cwd()).resolve()
    except OSError:
        return []  # the directory was deleted
    chain = [start, *start.parents]
    home = user_home(environment).resolve()
    for last, directory in enumerate(chain):
        if (directory / ".git").exists() or directory == home:
            return chain[: last + 1]
    return [start]


def read_bytes(path: Path) -> bytes:
    """What is in a file that a person wrote; one that nobody would write by hand is an error."""
    try:
        with open_named_file(path) as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}") from None
    if len(data) > _LARGEST:
        raise ConfigurationError(f"{path} is larger than {_LARGEST // 1_000_000} MB; that is no configuration")
    return data


def read_text(path: Path) -> str:
    """The text of such a file, or an error that says what is wrong with it."""
    return decoded(path, read_bytes(path))


def decoded(path: Path, data: bytes) -> str:
    """What was read from such a file, as text."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not UTF-8: byte {error.start} is no text") from None


def read_own(path: Path, is_entry: Callable[[object], bool], told: str) -> dict[str, Any]:
    """What we wrote to such a file ourselves, or nothing if there is none; `told` is how to go on if it is damaged."""
    try:
        data: object = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError:
        data = None
    if not isinstance(data, dict) or not all(map(is_entry, cast("dict[str, Any]", data).values())):
        raise ConfigurationError(f"{path} is not the JSON that {told}")
    return cast("dict[str, Any]", data)


def write_private(path: Path, data: Mapping[str, Any]) -> None:
    """Write JSON as a whole or not at all, to a file that nobody else can read."""
    write_text(path, json.dumps(data, indent=2))


def write_text(path: Path, text: str) -> None:
    """Write a text as a whole or not at all, to a file that nobody else can read."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        # Made with its mode: there is no moment at which others could read it.
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ConfigurationError(f"cannot write {path}: {error.strerror or error}") from None
