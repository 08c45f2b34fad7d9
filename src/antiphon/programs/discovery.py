"""Discovery of programs in a directory, and of capabilities that the user has not trusted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.config.trust import Project, find_project

if TYPE_CHECKING:
    from antiphon.lang.runtime.modules import CheckedModule


@dataclass(frozen=True, slots=True)
class ProgramCapabilities:
    """The capabilities of a program's modules by name, and those that the user has not trusted."""

    project: Project
    capabilities: dict[str, list[str]]
    unseen: dict[str, list[str]]

    @property
    def refusal(self) -> str:
        """The reason why it may not run, or an empty string."""
        if not self.unseen:
            return ""
        said = "; ".join(dict.fromkeys(each for lines in self.unseen.values() for each in lines))
        return f"{said}, and {self.project.root} is not trusted"


def find_programs(directory: str | Path, most: int | None = None) -> Iterator[str]:
    """Yield the programs in a directory and at most `most` directories below, without hidden files and outside links.

    Only regular files count, because opening a pipe would block.
    """
    for number, (place, inner, names) in enumerate(os.walk(directory)):
        if most is not None and number >= most:
            return
        inner[:] = sorted(name for name in inner if not name.startswith((".", "__")) and name != "node_modules")
        found = (os.path.join(place, name) for name in sorted(names) if name.endswith(".vibe"))
        for path in filter(os.path.isfile, found):
            if not os.path.islink(path) or Path(path).resolve().is_relative_to(Path(directory).resolve()):
                yield path


def check_capabilities(modules: Mapping[str, CheckedModule], path: str, *, named: bool = True) -> ProgramCapabilities:
    """Return the capabilities of a program. If the user named it and it is in no repository, it is trusted."""
    from antiphon.lang.capabilities import describe_capabilities

    project = find_project(Path(path).resolve().parent)
    if named and not project.is_repository:
        return ProgramCapabilities(project, {}, {})
    wanted = {name: describe_capabilities(module.source, module.python) for name, module in modules.items()}
    unseen = {
        name: said
        for name, said in wanted.items()
        if said and not project.covers(make_project_path(project, name), said)
    }
    return ProgramCapabilities(project, wanted, unseen)


def make_project_path(project: Project, path: str) -> str:
    """Return the path of a file relative to its project."""
    real, root = Path(path), project.root.resolve()
    return real.relative_to(root).as_posix() if real.is_relative_to(root) else path
