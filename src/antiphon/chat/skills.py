"""Skills: folders with a `SKILL.md` that describes how to do a kind of task. The model reads one when needed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.tools import Tool, ToolFailure, as_tool
from antiphon.tools.file_sandbox import SandboxRoots

if TYPE_CHECKING:
    from antiphon.config.trust import Project

SKILL_FILE = "SKILL.md"
#: Where a repository keeps its skills, in each directory from its root down.
_PROJECT_DIRECTORIES = (".antiphon/skills", ".agents/skills", ".claude/skills")
_MAX_SKILLS = 40
_MAX_DESCRIPTION, _MAX_CHARACTERS = 300, 40_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_FIELD = re.compile(r"(?P<name>[A-Za-z_-]+):[ \t]*(?P<value>.*)")


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill: its name and description from the head of its file, and its directory below `root`."""

    name: str
    description: str
    root: Path
    directory: str


def find_skills(project: Project, own: Path) -> list[Skill]:
    """Return the user's skills in the directory `own`, and those of a trusted repository, which have precedence."""
    found = {skill.name: skill for skill in _list_skills(own, "")}
    if project.is_repository and project.state == "trusted":
        for directory in reversed(project.directories):
            below = directory.relative_to(project.root).as_posix()
            for place in _PROJECT_DIRECTORIES:
                path = place if below == "." else f"{below}/{place}"
                found |= {skill.name: skill for skill in _list_skills(project.root, path)}
    return list(found.values())[:_MAX_SKILLS]


def make_skill_tool(skills: Sequence[Skill]) -> Tool:
    """Return the tool `read_skill`, whose description lists the skills."""
    by_name = {skill.name: skill for skill in skills}

    def read_skill(name: str, file: str = SKILL_FILE) -> str:
        skill = by_name.get(name)
        if skill is None:
            raise ToolFailure(f"there is no skill {name!r:.80}; there are: {', '.join(by_name)}")
        text = _read_text(SandboxRoots([skill.root / skill.directory]), file)
        if text is None:
            raise ToolFailure(f"the skill `{name}` has no text file {file!r:.200}")
        place = skill.directory if skill.directory and not Path(skill.directory).is_absolute() else str(skill.root)
        return f"[files of this skill are in {place}]\n{text}"

    listed = "\n".join(f"- {skill.name}: {skill.description}" for skill in skills)
    description = (
        "Read how to do a kind of task. Read the skill that fits before you begin such a task; `file` names another"
        f" file of it.\n\n{listed}"
    )
    return as_tool(read_skill, description=description, read_only=True, paths=())


def _list_skills(root: Path, directory: str) -> list[Skill]:
    """Return the skills in a directory below a root. Links that leave the root are not followed."""
    if not root.is_dir():
        return []
    roots = SandboxRoots([root])
    try:
        with roots.locate(directory or ".") as place:
            names = sorted(entry.parts[-1] for entry in place.walk(1) if entry.kind == "directory")
    except ToolFailure:
        return []
    found: list[Skill] = []
    for name in names:
        path = f"{directory}/{name}" if directory else name
        text = _read_text(roots, f"{path}/{SKILL_FILE}")
        if text is not None and (skill := _parse_skill(text, name, root, path)) is not None:
            found.append(skill)
    return found


def _parse_skill(text: str, folder: str, root: Path, directory: str) -> Skill | None:
    head = text.partition("\n---")[0].removeprefix("---\n") if text.startswith("---\n") else ""
    fields: dict[str, str] = {}
    last = ""
    for line in head.splitlines():
        if found := _FIELD.fullmatch(line):
            last = found["name"].lower()
            fields[last] = found["value"].strip().strip("\"'").removeprefix(">").removeprefix("|").strip()
        elif last and line.startswith((" ", "\t")):
            fields[last] = f"{fields[last]} {line.strip()}".strip()
    name, description = fields.get("name", folder), " ".join(fields.get("description", "").split())
    if _NAME.fullmatch(name) is None or not description.isprintable():
        return None
    return Skill(name, description[:_MAX_DESCRIPTION], root, directory)


def _read_text(roots: SandboxRoots, path: str) -> str | None:
    try:
        with roots.locate(path) as place, place.open() as stream:
            data = stream.read(_MAX_CHARACTERS * 4)
    except ToolFailure:
        return None
    if b"\0" in data:
        return None
    return data.decode("utf-8", "replace")[:_MAX_CHARACTERS]
