"""Instructions of a project from `CLAUDE.md`, `AGENTS.md` and `ANTIPHON.md`, as part of a system text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from antiphon._base.code_fences import fence_text
from antiphon.tools.tool import ToolFailure

if TYPE_CHECKING:
    from antiphon.config.trust import Project
    from antiphon.tools.file_sandbox import SandboxRoots

#: In one directory, the later file has precedence.
INSTRUCTION_FILES = ("CLAUDE.md", "AGENTS.md", "ANTIPHON.md")
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
    """The text of one file, which may be cut. `size` describes its length."""

    name: str
    text: str
    size: str


def find_trusted_instructions(project: Project) -> list[ProjectInstructions]:
    """Return the instructions of a repository; none if the user does not trust it."""
    return find_instructions(project) if project.is_repository and project.state == "trusted" else []


def find_instructions(project: Project) -> list[ProjectInstructions]:
    """Return the instructions from the root of a repository down to the current directory.

    Links to files outside the repository are not followed, nor those to files that look like secrets.
    """
    from antiphon.tools.file_sandbox import SandboxRoots

    roots = SandboxRoots([project.root])
    below = [each.relative_to(project.root).as_posix() for each in reversed(project.directories)]
    paths = [name if place == "." else f"{place}/{name}" for place in below for name in INSTRUCTION_FILES]
    found = [each for path in paths if (each := _read_instructions(roots, path)) is not None]
    # `CLAUDE.md` is often a copy of `AGENTS.md`, or a link to it.
    later = {id(each): {other.text for other in found[at + 1 :]} for at, each in enumerate(found)}
    return [each for each in found if each.text not in later[id(each)]]


def add_instructions(system: str, found: Sequence[ProjectInstructions]) -> str:
    """Return a system text with these instructions at the end, instead of earlier ones."""
    files = [f"{each.name}, {each.size}:\n{fence_text(each.text)}" for each in found]
    return "\n\n".join(filter(None, [remove_instructions(system), "\n\n".join([_HEAD, *files]) if files else ""]))


def remove_instructions(system: str) -> str:
    """Return a system text without the instructions of a project."""
    return system.partition(_HEAD)[0].rstrip("\n")


def replace_own_text(system: str, own: str) -> str:
    """Return a system text with another own text and the same instructions."""
    _, head, files = system.partition(_HEAD)
    return "\n\n".join(filter(None, [own, head + files]))


def list_instruction_files(system: str) -> list[str]:
    """Return the names and lengths of the instruction files in a system text."""
    return [f"{found['name']}, {found['size']}" for found in _FILE_SECTION.finditer(system.partition(_HEAD)[2])]


def _read_instructions(roots: SandboxRoots, path: str) -> ProjectInstructions | None:
    from antiphon.tools.builtin.text_files import detect_binary_kind, read_lines

    if roots.asks_about()(path):
        return None
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
