"""Instructions of a project: what its `AGENTS.md` and `ANTIPHON.md` say, as a part of a system text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from antiphon.chat.texts import fenced
from antiphon.tools.tool import ToolFailure

if TYPE_CHECKING:
    from antiphon.config.trust import Project
    from antiphon.tools.file_sandbox import SandboxRoots

#: Of two in one directory, the later one counts more.
NAMES = ("AGENTS.md", "ANTIPHON.md")
_MOST_SHOWN = 40_000
_HEAD = (
    "Instructions of this project, from files of its repository. Where two of them differ, the later one counts; what"
    " the user says counts more than any."
)
_FILE = re.compile(
    r"\n\n(?P<name>[^\n]+), (?P<size>[\d,]+ lines?(?: of a longer file)?):\n"
    r"(?P<fence>`{3,})\n.*?\n(?P=fence)(?=\n\n|\Z)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Instructions:
    """What one file says, or as much of it as there is room for. `size` is how long it is, in words."""

    name: str
    text: str
    size: str


def trusted_instructions(project: Project) -> list[Instructions]:
    """What a repository says to models; nothing, where the user does not trust it."""
    return find_instructions(project) if project.is_repository and project.state == "trusted" else []


def find_instructions(project: Project) -> list[Instructions]:
    """The files from the root of a repository down to where one is: the nearer, the later.

    What lies outside of the repository is not read, by whatever link.
    """
    from antiphon.tools.file_sandbox import SandboxRoots

    roots = SandboxRoots([project.root])
    below = [each.relative_to(project.root).as_posix() for each in reversed(project.directories)]
    paths = [name if place == "." else f"{place}/{name}" for place in below for name in NAMES]
    return [found for path in paths if (found := _read(roots, path)) is not None]


def with_instructions(system: str, found: Sequence[Instructions]) -> str:
    """A system text with these behind what it says of its own, in the place of those it had."""
    files = [f"{each.name}, {each.size}:\n{fenced(each.text)}" for each in found]
    return "\n\n".join(filter(None, [own_part(system), "\n\n".join([_HEAD, *files]) if files else ""]))


def own_part(system: str) -> str:
    """A system text without the instructions of a project."""
    return system.partition(_HEAD)[0].rstrip("\n")


def with_own_part(system: str, own: str) -> str:
    """A system text that says something else of its own, with the same instructions."""
    _, head, files = system.partition(_HEAD)
    return "\n\n".join(filter(None, [own, head + files]))


def told(system: str) -> list[str]:
    """Which files a system text has instructions of, and how long they are."""
    return [f"{found['name']}, {found['size']}" for found in _FILE.finditer(system.partition(_HEAD)[2])]


def _read(roots: SandboxRoots, path: str) -> Instructions | None:
    from antiphon.tools.builtin.text_files import detect_binary_kind, read_lines

    try:
        with roots.locate(path) as place, place.open() as stream:
            if detect_binary_kind(stream.read(8192)):
                return None
            stream.seek(0)
            cut = read_lines(stream, 1, None, _MOST_SHOWN)
    except ToolFailure:
        return None
    if not cut.lines.strip():
        return None
    size = f"{cut.last:,} {'line' if cut.last == 1 else 'lines'}"
    return Instructions(path, cut.lines, size + (" of a longer file" if cut.more or cut.shortened else ""))
