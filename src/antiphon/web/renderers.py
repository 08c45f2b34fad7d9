"""Modules of others that draw results on the page: from packages, from the configuration, and from who serves it.

Each directory is at an address of its own, `renderers/NUMBER/FILE`. Where two of them draw the same kind, the later one
counts: what is nearer to the user.
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
GROUP = "antiphon.page"
_MODULE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*\.m?js")
_NAME = re.compile(rf"([0-9]{{1,4}})/({_MODULE.pattern})")


class Renderers:
    """The directories. They are looked at whenever the page is asked for: whoever writes a module reloads it.

    A module of a trusted project is served only as it was when the server started.
    """

    def __init__(self, given: str | PathLike[str] | None) -> None:
        self._directories = [*_of_packages(), *_of_the_configuration(), *_given(given)]
        self._pins = _project_pins()

    def names(self) -> list[str]:
        """The modules in the order in which they are loaded."""
        there = ((number, path) for number, each in enumerate(self._directories) for path in _listed(each))
        return [f"{number}/{path.name}" for number, path in there if _MODULE.fullmatch(path.name)]

    def module(self, name: str) -> bytes | None:
        """What is in a module; nothing where there is none, or none that can be read."""
        found = _NAME.fullmatch(name)
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


def _given(directory: str | PathLike[str] | None) -> Iterator[Path]:
    if directory is not None:
        yield _checked(Path(directory), "")


def _of_the_configuration() -> Iterator[Path]:
    for file, directory in load_configuration().renderers():
        yield _checked(directory, f"{file}: ")


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


def _of_packages() -> Iterator[Path]:
    """The directories of packages. Nothing of a package is imported: where it is, is enough."""
    for each in sorted(metadata.entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
        said = f"the entry point `{each.name} = {each.value}` of the group `{GROUP}`: "
        package, *inner = f"{each.module}.{each.attr or ''}".strip(".").split(".")
        try:
            spec = find_spec(package)
        except (ImportError, ValueError):
            spec = None
        places = [Path(place, *inner) for place in (spec and spec.submodule_search_locations) or ()]
        if not places:
            raise ConfigurationError(f"{said}there is no package `{package}`")
        yield next((place for place in places if place.is_dir()), None) or _checked(places[0], said)


def _checked(directory: Path, said: str) -> Path:
    if not directory.is_dir():
        raise ConfigurationError(f"{said}the renderers of the page are in a directory, and {directory} is none")
    return directory.resolve()


def _listed(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []
