"""Programs that are found below a directory, and whether their user has seen what they reach."""

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
    """What the modules of a program reach, by name, and what of it their user has not seen."""

    project: Project
    capabilities: dict[str, list[str]]
    unseen: dict[str, list[str]]

    @property
    def refusal(self) -> str:
        """Why it may not be run as it is; nothing, if it may."""
        if not self.unseen:
            return ""
        said = "; ".join(dict.fromkeys(each for lines in self.unseen.values() for each in lines))
        return f"{said}, and {self.project.root} is not trusted"


def find_programs(directory: str | Path, most: int | None = None) -> Iterator[str]:
    """The programs in a directory, in order, and in at most so many below it; without hidden ones and links away.

    Only plain files are programs: whoever opens a pipe waits for somebody to write into it.
    """
    for number, (place, inner, names) in enumerate(os.walk(directory)):
        if most is not None and number >= most:
            return
        inner[:] = sorted(name for name in inner if not name.startswith((".", "__")) and name != "node_modules")
        found = (os.path.join(place, name) for name in sorted(names) if name.endswith(".vibe"))
        yield from (path for path in found if os.path.isfile(path) and not _is_outside_link(path, directory))


def _is_outside_link(path: str, directory: str | Path) -> bool:
    """Whether a program that was only found is a link to somewhere else, which nobody named."""
    return os.path.islink(path) and not Path(path).resolve().is_relative_to(Path(directory).resolve())


def check_capabilities(modules: Mapping[str, CheckedModule], path: str, *, named: bool = True) -> ProgramCapabilities:
    """What a program reaches: one that lies in no repository was brought by the user, who named it."""
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
    """What a file is called in its project."""
    real, root = Path(path), project.root.resolve()
    return real.relative_to(root).as_posix() if real.is_relative_to(root) else path
