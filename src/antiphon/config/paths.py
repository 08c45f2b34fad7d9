"""Configuration files on disk: the directories of a project, and safe reading and writing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, cast

from antiphon._base.files import open_named_file
from antiphon._base.json import sanitize_unicode
from antiphon._base.user_dirs import user_home
from antiphon.errors import ConfigurationError, OptionError

_MAX_BYTES = 5_000_000


def find_project_directories(cwd: Path | None = None, environment: Mapping[str, str] | None = None) -> list[Path]:
    """Return the directory and its parents, up to the repository root or the user's home.

    Outside of both, only the directory itself counts: files of others in `/tmp` are not our configuration.
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


def read_config_bytes(path: Path) -> bytes:
    """Return the content of a configuration file. Raise a ConfigurationError if it is too large."""
    try:
        with open_named_file(path) as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}") from None
    if len(data) > _MAX_BYTES:
        raise ConfigurationError(f"{path} is larger than {_MAX_BYTES // 1_000_000} MB, the maximum for configuration")
    return data


def read_config_text(path: Path) -> str:
    """Return the text of a configuration file. Raise a ConfigurationError if it is invalid."""
    return decode_config_text(path, read_config_bytes(path))


def decode_config_text(path: Path, data: bytes) -> str:
    """Decode the bytes of a configuration file. Raise a ConfigurationError if they are not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not UTF-8 at byte {error.start}") from None


def read_own_json(path: Path, is_entry: Callable[[object], bool], told: str) -> dict[str, Any]:
    """Return a JSON file that we wrote; empty if there is none. `told` says how to repair a damaged one."""
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


def write_private_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write JSON atomically to a file that only the user can read."""
    write_private_text(path, json.dumps(data, indent=2))


def write_private_text(path: Path, text: str) -> None:
    """Write text atomically to a file that only the user can read."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        # Created with its final mode, so that others can never read it.
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ConfigurationError(f"cannot write {path}: {error.strerror or error}") from None


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """Parse the text of a configuration file, or raise a ConfigurationError that names the file."""
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}") from None


def format_toml_value(value: Any) -> str:
    """Return a value as TOML; texts of several lines take several lines."""
    if isinstance(value, str):
        lines = value.split("\n")
        return _quote(value) if len(lines) == 1 else '"""\n' + "\n".join(_quote(line)[1:-1] for line in lines) + '"""'
    if isinstance(value, Mapping):
        inner = cast("Mapping[str, Any]", value).items()
        return "{" + ", ".join(f"{format_toml_key(name)} = {format_toml_value(each)}" for name, each in inner) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(format_toml_value, cast("list[Any]", value))) + "]"
    if value is None:
        raise OptionError("a template cannot contain `null`")
    return value.isoformat() if isinstance(value, date) else json.dumps(value)


def format_toml_key(name: str) -> str:
    """Return a name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quote(name)


def _quote(text: str) -> str:
    return json.dumps(sanitize_unicode(text), ensure_ascii=False).replace("\x7f", "\\u007f")
