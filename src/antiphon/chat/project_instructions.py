"""Instructions of a project: what its `AGENTS.md` and `ANTIPHON.md` say, as a part of a system text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from antiphon.chat.code_fences import fence_text
from antiphon.tools.tool import ToolFailure

if TYPE_CHECKING:
    from antiphon.config.trust import Project
    from antiphon.tools.file_sandbox import SandboxRoots

#: Of two in one directory, the later one counts more.
INSTRUCTION_FILES = ("AGENTS.md", "ANTIPHON.md")
_MAX_CHARACTERS = 40_000
_HEAD = (
    "Instructions of this project, from files of its repository. Where two of them differ, the later one counts; what"
    " the user says counts more than any."
)
_FILE_SECTION = re.compile(
    r"\n\n(?P<name>[^\n]+), (?P<size>[\d,]+ lines?(?: of a longer file)?):\n"
    r"(?P<fence>`{3,})\n.*?\n(?P=fence)(?=\n\n|\Z)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ProjectInstructions:
    """What one file says, or as much of it as there is room for. `size` is how long it is, in words."""

    name: str
    text: str
    size: str


def find_trusted_instructions(project: Project) -> list[ProjectInstructions]:
    """What a repository says to models; nothing, where the user does not trust it."""
    return find_instructions(project) if project.is_repository and project.state == "trusted" else []


def find_instructions(project: Project) -> list[ProjectInstructions]:
    """The files from the root of a repository down to where one is: the nearer, the later.

    What lies outside of the repository is not read, by whatever link.
    """
    from antiphon.tools.file_sandbox import SandboxRoots

    roots = SandboxRoots([project.root])
    below = [each.relative_to(project.root).as_posix() for each in reversed(project.directories)]
    paths = [name if place == "." else f"{place}/{name}" for place in below for name in INSTRUCTION_FILES]
    return [found for path in paths if (found := _read_instructions(roots, path)) is not None]


def add_instructions(system: str, found: Sequence[ProjectInstructions]) -> str:
    """A system text with these behind what it says of its own, in the place of those it had."""
    files = [f"{each.name}, {each.size}:\n{fence_text(each.text)}" for each in found]
    return "\n\n".join(filter(None, [remove_instructions(system), "\n\n".join([_HEAD, *files]) if files else ""]))


def remove_instructions(system: str) -> str:
    """A system text without the instructions of a project."""
    return system.partition(_HEAD)[0].rstrip("\n")


def replace_own_text(system: str, own: str) -> str:
    """A system text that says something else of its own, with the same instructions."""
    _, head, files = system.partition(_HEAD)
    return "\n\n".join(filter(None, [own, head + files]))


def list_instruction_files(system: str) -> list[str]:
    """Which files a system text has instructions of, and how long they are."""
    return [f"{found['name']}, {found['size']}" for found in _FILE_SECTION.finditer(system.partition(_HEAD)[2])]


def _read_instructions(roots: SandboxRoots, path: str) -> ProjectInstructions | None:
    from antiphon.tools.builtin.text_files import detect_binary_kind, read_lines

    try:
        with roots.locate(path) as place, place.open() as stream:
            if detect_binary_kind(stream.read(8192)):
                return None
            stream.seek(0)
            cut = read_lines(stream, 1, None, _MAX_CHARACTERS)
    except ToolFailure:
        return None
    if not cut.lines.strip():
        return None
    size = f"{cut.last:,} {'line' if cut.last == 1 else 'lines'}"
    return ProjectInstructions(path, cut.lines, size + (" of a longer file" if cut.more or cut.shortened else ""))
