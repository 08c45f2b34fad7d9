"""Third-party modules that render results on the page, from packages, configuration and options.

Each directory has its own address, `renderers/NUMBER/FILE`. If two of them render the same kind, the
later one wins, which is closer to the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from importlib import metadata
from importlib.util import find_spec
from os import PathLike
from os.path import normpath
from pathlib import Path, PurePosixPath

from antiphon.config import load_configuration
from antiphon.errors import ConfigurationError

#: Entry points of this group name a directory of modules: `acme.page` is the directory `page` of the package `acme`.
ENTRY_POINT_GROUP = "antiphon.page"
_MODULE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*\.m?js")
_MODULE_ADDRESS = re.compile(rf"([0-9]{{1,4}})/({_MODULE_NAME.pattern})")


class RendererModules:
    """The directories of renderer modules. They are read for each page load, so that edits apply on reload."""

    def __init__(self, given: str | PathLike[str] | None) -> None:
        self._directories = [*_package_directories(), *_own_directories(given)]
        self._pins = _project_pins()

    def names(self) -> list[str]:
        """Return the names of the modules in loading order."""
        there = ((number, path) for number, each in enumerate(self._directories) for path in _list_directory(each))
        return [f"{number}/{path.name}" for number, path in there if _MODULE_NAME.fullmatch(path.name)]

    def module(self, name: str) -> bytes | None:
        """Return the content of a module; `None` if it cannot be read."""
        found = _MODULE_ADDRESS.fullmatch(name)
        if found is None or int(found[1]) >= len(self._directories):
            return None
        try:
            path = self._directories[int(found[1])] / found[2]
            data = path.read_bytes()
        except OSError:
            return None
        return data if self._is_trusted(path, data) else None

    def _is_trusted(self, path: Path, data: bytes) -> bool:
        """Return False for a module of a project that does not say what the user trusted."""
        inside = next((pins for directory, pins in self._pins.items() if path.parent == directory), None)
        return inside is None or inside.get(path.name) == sha256(data).hexdigest()


def _own_directories(given: str | PathLike[str] | None) -> Iterator[Path]:
    """Yield the directories of the configuration, then the given one."""
    for file, directory in load_configuration().renderers():
        yield _require_directory(directory, f"{file}: ")
    if given is not None:
        yield _require_directory(Path(given), "")


def _project_pins() -> dict[Path, dict[str, str]]:
    """Return the hashes of modules that the user trusted, by the directories of the project's own configuration."""
    configuration = load_configuration()
    project = configuration.project
    pins: dict[Path, dict[str, str]] = {}
    for file, directory in configuration.renderers():
        place = Path(normpath(directory))
        if file == configuration.user_file or not place.is_relative_to(project.root):
            continue
        below = place.relative_to(project.root).as_posix()
        named = ((PurePosixPath(name), digest) for name, digest in project.files.items())
        pins[directory.resolve()] = {name.name: digest for name, digest in named if str(name.parent) == below}
    return pins


def _package_directories() -> Iterator[Path]:
    """Yield the directories of packages without importing them."""
    for each in sorted(metadata.entry_points(group=ENTRY_POINT_GROUP), key=lambda each: (each.name, each.value)):
        said = f"the entry point `{each.name} = {each.value}` of the group `{ENTRY_POINT_GROUP}`: "
        package, *inner = f"{each.module}.{each.attr or ''}".strip(".").split(".")
        try:
            spec = find_spec(package)
        except (ImportError, ValueError):
            spec = None
        places = [Path(place, *inner) for place in (spec and spec.submodule_search_locations) or ()]
        if not places:
            raise ConfigurationError(f"{said}package `{package}` is not installed")
        yield next((place for place in places if place.is_dir()), None) or _require_directory(places[0], said)


def _require_directory(directory: Path, said: str) -> Path:
    if not directory.is_dir():
        raise ConfigurationError(f"{said}the renderers of the page must be in a directory, and {directory} is not one")
    return directory.resolve()


def _list_directory(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []
