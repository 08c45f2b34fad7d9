"""Which projects the user trusts: one decision for all files of a project, by their content, kept outside of it.

Until then its files are not read for anything: they choose no model, no address, no key and no program.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from antiphon._places import user_directory
from antiphon._shape import obj
from antiphon.config.pins import UNPINNABLE, TooManyPins, pinned_by_config
from antiphon.config.places import decoded, project_directories, read_bytes, read_own, write_private
from antiphon.errors import ConfigurationError

#: Files that could choose where requests go, which keys are used, what is started, and what may be spent.
FILES = ("antiphon.toml", "pyproject.toml", ".env", ".mcp.json", "mcp.json", "team.toml")

State = Literal["nothing", "trusted", "refused", "new", "changed"]


@dataclass(frozen=True, slots=True)
class Project:
    """The files that hold for a directory: the hash of each, by its path below the root.

    Scripts that those files would run are among them. `decided` is what the user was shown the last time, and `trusted`
    how they decided. `programs` is what files and programs were shown to do then, line by line.
    """

    root: Path
    directories: tuple[Path, ...]
    files: Mapping[str, str]
    decided: Mapping[str, str] = field(default_factory=dict[str, str])
    programs: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])
    trusted: bool | None = None
    #: What was read when the hashes were made: whoever uses a file uses this, and not what it says by then.
    contents: Mapping[Path, bytes] = field(default_factory=dict[Path, bytes], repr=False)

    def text(self, path: Path) -> str:
        """What a file of the project said when it was looked at."""
        if path not in self.contents:
            read_bytes(path)
            raise ConfigurationError(f"{path} changed while it was read; try again")
        return decoded(path, self.contents[path])

    def nearest(self, *names: str) -> Path | None:
        """The first file of these names, going upwards."""
        candidates = (directory / name for directory in self.directories for name in names)
        return next((path for path in candidates if path in self.contents or path.is_file()), None)

    @property
    def is_repository(self) -> bool:
        """Whether there is a git repository around it."""
        return (self.root / ".git").exists()

    @property
    def news(self) -> list[str]:
        """The files that are new, changed or gone since the user decided."""
        return [name for name in {**self.decided, **self.files} if self.decided.get(name) != self.files.get(name)]

    @property
    def state(self) -> State:
        """What the user has said of these files as they are now."""
        if self.unpinnable:
            return "refused" if self.trusted is False else "new"
        if self.trusted is None:
            return "new" if self.files else "nothing"
        if self.news:
            return "changed" if self.files else "nothing"
        return "trusted" if self.trusted else "refused"

    @property
    def unpinnable(self) -> list[str]:
        """Return the files that start more scripts than can be pinned; they are never trusted."""
        return [name for name, digest in self.files.items() if digest == UNPINNABLE]

    def covers(self, name: str, reach: Collection[str]) -> bool:
        """Whether the user has trusted a program of this project, with all that it reaches."""
        return self.trusted is True and UNPINNABLE not in reach and set(reach) <= set(self.programs.get(name, ()))


def find_project(cwd: Path | None = None, environment: Mapping[str, str] | None = None) -> Project:
    """The project around a directory, and what was decided about it by the user whose environment this is."""
    directories = tuple(project_directories(cwd, environment))
    found = [path for each in directories for name in FILES if (path := each / name).is_file()]
    contents = {path: data for path in found if (data := _read(path)) is not None}
    # What cannot be read is told by whoever would use it; until then it harms nobody.
    hashes = {path: digest for path in found if (digest := _hash(path, contents.get(path)))}
    hashes |= _pins(hashes, contents, directories[-1] if directories else None)
    if directories and (directories[-1] / ".git").exists():
        root = directories[-1]
    else:
        # The outermost file: what lies further up is somebody's home, not a project.
        root = next((each for each in reversed(directories) if any(path.parent == each for path in hashes)), None)
        root = root or (directories[0] if directories else Path("/nonexistent"))
    entry = _entries(trust_file(environment)).get(str(root), {})
    files = {path.relative_to(root).as_posix(): digest for path, digest in hashes.items() if path.is_relative_to(root)}
    decided: dict[str, str] = entry.get("files", {})
    return Project(
        root,
        directories,
        files,
        {name: digest for name, digest in decided.items() if name in files or _is_here(root / name, directories)},
        entry.get("programs", {}),
        entry.get("trusted"),
        contents,
    )


def _is_here(path: Path, directories: Iterable[Path]) -> bool:
    """Return whether this is a file that holds for these directories; another's may be gone without a question."""
    return path.name in FILES and path.parent in directories


def _pins(hashes: Mapping[Path, str], contents: Mapping[Path, bytes], top: Path | None) -> dict[Path, str]:
    """Return the hashes of the scripts that the files of a project would run, as far as they are of the project."""
    variables = b"\n".join(data for path, data in contents.items() if path.name == ".env").decode(errors="replace")
    named: list[Path] = []
    unpinnable: dict[Path, str] = {}
    for path in (each for each in hashes if each in contents):
        try:
            named += pinned_by_config(path, contents[path], variables)
        except TooManyPins:
            unpinnable[path] = UNPINNABLE
    inside = (Path(os.path.normpath(each)) for each in named)
    own = [each for each in inside if top is not None and each.is_relative_to(top) and each not in hashes]
    pins = {path: _hash(path, _read(path)) or "empty" for path in dict.fromkeys(own) if path.name not in FILES}
    return pins | unpinnable


def decide(project: Project, trusted: bool, programs: Mapping[str, list[str]] | None = None) -> None:
    """Remember the user's decision about these very files, and what they were shown of programs."""
    entries = _entries(trust_file())
    before: dict[str, str] = entries.get(str(project.root), {}).get("files", {})
    elsewhere = {
        name: digest for name, digest in before.items() if not _is_here(project.root / name, project.directories)
    }
    entries[str(project.root)] = {
        "trusted": trusted,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": {**(elsewhere if project.trusted == trusted else {}), **project.files},
        "programs": dict(project.programs if programs is None else programs) if trusted else {},
    }
    write_private(trust_file(), entries)


def revoke(root: Path) -> bool:
    """Forget what was decided about a project; returns whether there was anything."""
    entries = _entries(trust_file())
    if entries.pop(str(root), None) is None:
        return False
    write_private(trust_file(), entries)
    return True


def decisions() -> dict[str, dict[str, Any]]:
    """All projects that were decided about, by their root."""
    return dict(sorted(_entries(trust_file()).items()))


def trust_file(environment: Mapping[str, str] | None = None) -> Path:
    """The file that holds the decisions."""
    return user_directory("config", environment) / "trust.json"


def advice(project: Project) -> str:
    """One line on files that are ignored, and what to do about it; nothing if none are."""
    if project.state in ("nothing", "trusted"):
        return ""
    names = ", ".join(project.files)
    why = "changed since you trusted it" if project.state == "changed" and project.trusted else "not trusted"
    return f"{names} in {project.root}: {why}, and ignored; `antiphon trust` shows what it does, and allows it"


def _entries(path: Path) -> dict[str, dict[str, Any]]:
    if _is_open_to_others(path):
        raise ConfigurationError(f"{path} could have been written by others; delete it and decide again")
    return read_own(path, _is_entry, "`antiphon trust` writes; delete it and decide again")


def _is_open_to_others(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & 0o022)
    except OSError:
        return False


def _is_entry(entry: object) -> bool:
    kinds = {"trusted": bool, "files": dict, "programs": dict}
    return all(isinstance(obj(entry).get(name), kind) for name, kind in kinds.items())


def _read(path: Path) -> bytes | None:
    try:
        return read_bytes(path)
    except ConfigurationError:
        return None


def _hash(path: Path, data: bytes | None) -> str:
    """The hash of what counts in a file: of a `pyproject.toml` our own table alone, or nothing if it has none."""
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
