"""Trusted projects: one decision for all files of a project, by their content, stored outside of it.

Files of an untrusted project are not used: they select no model, no address, no key and no program.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from antiphon._base.json_access import as_object
from antiphon._base.user_dirs import user_directory
from antiphon.config.paths import (
    decode_config_text,
    find_project_directories,
    read_config_bytes,
    read_own_json,
    write_private_json,
)
from antiphon.config.pinned_files import UNPINNABLE, TooManyPins, find_pinned_by_config
from antiphon.errors import ConfigurationError

#: Files that could decide where requests go, which keys are used, what is started, and what may be spent.
PROJECT_FILE_NAMES = ("antiphon.toml", "pyproject.toml", ".env", ".mcp.json", "mcp.json", "team.toml")

TrustState = Literal["nothing", "trusted", "refused", "new", "changed"]


@dataclass(frozen=True, slots=True)
class Project:
    """The configuration files that apply to a directory: the hash of each, by its path relative to the root.

    Scripts that those files would run are included. `decided` holds the hashes that the user last decided
    about, and `trusted` the decision. `programs` is what files and programs were then reported to do, line by
    line.
    """

    root: Path
    directories: tuple[Path, ...]
    files: Mapping[str, str]
    decided: Mapping[str, str] = field(default_factory=dict[str, str])
    programs: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])
    trusted: bool | None = None
    #: The content that was hashed. All uses read this, not the file, which may have changed since.
    contents: Mapping[Path, bytes] = field(default_factory=dict[Path, bytes], repr=False)

    def text(self, path: Path) -> str:
        """Return the text of a file as it was when it was hashed."""
        if path not in self.contents:
            read_config_bytes(path)
            raise ConfigurationError(f"{path} changed while it was read; try again")
        return decode_config_text(path, self.contents[path])

    def has(self, path: Path) -> bool:
        """Return whether a file was there when the project was read. One that cannot be read counts."""
        return path in self.contents or (path.is_file() and _read_or_none(path) is None)

    def nearest(self, *names: str) -> Path | None:
        """Return the nearest file with one of these names, going upwards."""
        candidates = (directory / name for directory in self.directories for name in names)
        return next((path for path in candidates if self.has(path)), None)

    @property
    def is_repository(self) -> bool:
        """Return whether the root is a git repository."""
        return (self.root / ".git").exists()

    @property
    def changed_files(self) -> list[str]:
        """The files that are new, changed or deleted since the decision."""
        return [name for name in {**self.decided, **self.files} if self.decided.get(name) != self.files.get(name)]

    @property
    def state(self) -> TrustState:
        """The user's decision about the files as they are now."""
        if self.unpinnable:
            return "refused" if self.trusted is False else "new"
        if self.trusted is None:
            return "new" if self.files else "nothing"
        if self.changed_files:
            return "changed" if self.files else "nothing"
        return "trusted" if self.trusted else "refused"

    @property
    def unpinnable(self) -> list[str]:
        """Return the files that start more scripts than can be pinned; they are never trusted."""
        return [name for name, digest in self.files.items() if digest == UNPINNABLE]

    def covers(self, name: str, reach: Collection[str]) -> bool:
        """Return whether the user has trusted a program of this project, with all that it can reach."""
        return self.trusted is True and UNPINNABLE not in reach and set(reach) <= set(self.programs.get(name, ()))


def find_project(cwd: Path | None = None, environment: Mapping[str, str] | None = None) -> Project:
    """Return the project that contains a directory, and the user's trust decision about it."""
    directories = tuple(find_project_directories(cwd, environment))
    found = [path for each in directories for name in PROJECT_FILE_NAMES if (path := each / name).is_file()]
    contents = {path: data for path in found if (data := _read_or_none(path)) is not None}
    # An unreadable file raises an error when it is used; until then it is harmless.
    hashes = {path: digest for path in found if (digest := _hash_content(path, contents.get(path)))}
    hashes |= _hash_pinned_files(hashes, contents, directories[-1] if directories else None)
    if directories and (directories[-1] / ".git").exists():
        root = directories[-1]
    else:
        # Use the directory of the outermost file: directories above it are a home, not a project.
        root = next((each for each in reversed(directories) if any(path.parent == each for path in hashes)), None)
        root = root or (directories[0] if directories else Path("/nonexistent"))
    entry = _read_entries(get_trust_path(environment)).get(str(root), {})
    files = {path.relative_to(root).as_posix(): digest for path, digest in hashes.items() if path.is_relative_to(root)}
    decided: dict[str, str] = entry.get("files", {})
    return Project(
        root,
        directories,
        files,
        {name: digest for name, digest in decided.items() if name in files or _applies_to(root / name, directories)},
        entry.get("programs", {}),
        entry.get("trusted"),
        contents,
    )


def _applies_to(path: Path, directories: Iterable[Path]) -> bool:
    """Return whether a file applies to these directories; files of other directories may be missing."""
    return path.name in PROJECT_FILE_NAMES and path.parent in directories


def _hash_pinned_files(hashes: Mapping[Path, str], contents: Mapping[Path, bytes], top: Path | None) -> dict[Path, str]:
    """Return the hashes of the project's own scripts that its files would run."""
    variables = b"\n".join(data for path, data in contents.items() if path.name == ".env").decode(errors="replace")
    named: list[Path] = []
    unpinnable: dict[Path, str] = {}
    for path in (each for each in hashes if each in contents):
        try:
            named += find_pinned_by_config(path, contents[path], variables)
        except TooManyPins:
            unpinnable[path] = UNPINNABLE
    inside = (Path(os.path.normpath(each)) for each in named)
    own = [each for each in inside if top is not None and each.is_relative_to(top) and each not in hashes]
    pins = {
        path: _hash_content(path, _read_or_none(path)) or "empty"
        for path in dict.fromkeys(own)
        if path.name not in PROJECT_FILE_NAMES
    }
    return pins | unpinnable


def record_trust_decision(project: Project, trusted: bool, programs: Mapping[str, list[str]] | None = None) -> None:
    """Store the user's decision about these files, and what they were shown about programs."""
    entries = _read_entries(get_trust_path())
    before: dict[str, str] = entries.get(str(project.root), {}).get("files", {})
    elsewhere = {
        name: digest for name, digest in before.items() if not _applies_to(project.root / name, project.directories)
    }
    entries[str(project.root)] = {
        "trusted": trusted,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": {**(elsewhere if project.trusted == trusted else {}), **project.files},
        "programs": dict(project.programs if programs is None else programs) if trusted else {},
    }
    write_private_json(get_trust_path(), entries)


def forget_trust_decision(root: Path) -> bool:
    """Delete the decision about a project. Return whether there was one."""
    entries = _read_entries(get_trust_path())
    if entries.pop(str(root), None) is None:
        return False
    write_private_json(get_trust_path(), entries)
    return True


def list_trust_decisions() -> dict[str, dict[str, Any]]:
    """Return all trust decisions by project root."""
    return dict(sorted(_read_entries(get_trust_path()).items()))


def get_trust_path(environment: Mapping[str, str] | None = None) -> Path:
    """Return the path of the file that stores the decisions."""
    return user_directory("config", environment) / "trust.json"


def format_trust_advice(project: Project) -> str:
    """Return one line on ignored files and what to do about them; "" if none are ignored."""
    if project.state in ("nothing", "trusted"):
        return ""
    names = ", ".join(project.files)
    why = "changed since you trusted it" if project.state == "changed" and project.trusted else "not trusted"
    return f"{names} in {project.root}: {why}, and ignored; review and trust it with `antiphon setup trust`"


def _read_entries(path: Path) -> dict[str, dict[str, Any]]:
    is_shared = False
    with suppress(OSError):
        is_shared = bool(path.stat().st_mode & 0o022)
    if is_shared:
        raise ConfigurationError(f"others can write {path}; delete it and decide again")
    return read_own_json(path, _is_valid_entry, "`antiphon setup trust` writes; delete it and decide again")


def _is_valid_entry(entry: object) -> bool:
    kinds = {"trusted": bool, "files": dict, "programs": dict}
    return all(isinstance(as_object(entry).get(name), kind) for name, kind in kinds.items())


def _read_or_none(path: Path) -> bytes | None:
    try:
        return read_config_bytes(path)
    except ConfigurationError:
        return None


def _hash_content(path: Path, data: bytes | None) -> str:
    """Return the hash of the relevant content; for `pyproject.toml` only our table, "" if it has none."""
    if data is None:
        return "unreadable"
    if path.name == "pyproject.toml":
        import tomllib

        try:
            table = tomllib.loads(data.decode("utf-8-sig")).get("tool", {}).get("antiphon")
        except (ValueError, AttributeError, RecursionError):
            return ""
        if table is None:
            return ""
        data = json.dumps(table, sort_keys=True, default=str).encode()
    import hashlib

    return hashlib.sha256(data).hexdigest()
