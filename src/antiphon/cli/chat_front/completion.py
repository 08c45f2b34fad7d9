"""What Tab offers in a chat: commands at the beginning of a line, and paths behind an @."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence

from antiphon.chat.tool_selection import BUNDLE_NAMES
from antiphon.cli.completers import MODEL_PARAM
from antiphon.tools.file_sandbox import SKIPPED_DIRECTORIES, SandboxRoots
from antiphon.tools.tool import ToolFailure

_MOST = 200
_SECONDS = 2.0
#: With it, git refuses to say what it ignores.
_LITERAL = "GIT_LITERAL_PATHSPECS"
#: As a mention is written, up to where one types.
_BEGUN = re.compile(r"""(?<![\w.+\-/@`\\])@(?P<path>(?!@)(?:\\ |[^\s"'`<>|,;])*)\Z""", re.ASCII)


def list_completions(line: str, commands: Sequence[str]) -> tuple[int, list[str]]:
    """Where the word begins that one is about to type, and what could stand in its place."""
    if found := _BEGUN.search(line):
        return found.start(), [f"@{each}" for each in _paths(found["path"].replace("\\ ", " "))]
    begin = line.rfind(" ") + 1
    names = commands if begin == 0 and line.startswith("/") else _arguments(line.partition(" ")[0], line[begin:])
    return begin, [f"{each} " for each in names if each.startswith(line[begin:])]


def _arguments(command: str, word: str) -> Iterable[str]:
    if command == "/model":
        return MODEL_PARAM.names(word)
    if command != "/tools":
        return ()
    from antiphon.tools.builtin import all_tools

    return (*BUNDLE_NAMES, "on", "off", *(tool.name for tool in all_tools()))


def _paths(begun: str) -> list[str]:
    directory, slash, start = begun.rpartition("/")
    try:
        with SandboxRoots().locate(directory or ("/" if slash else ".")) as place:
            entries = [entry for entry in place.walk(1) if entry.parts[-1].startswith(start)]
            here = place.real
    except (ToolFailure, OSError):
        return []
    hidden = start.startswith(".")
    names = {each.parts[-1]: each.kind for each in entries if each.parts[-1] not in SKIPPED_DIRECTORIES}
    names = {name: kind for name, kind in names.items() if hidden or not name.startswith(".")}
    ignored = _ignored(here, list(names))
    return [
        f"{directory}{slash}{name}".replace(" ", "\\ ") + ("/" if kind == "directory" else " ")
        for name, kind in list(names.items())[:_MOST]
        if name not in ignored
    ]


def _ignored(directory: str, names: Sequence[str]) -> set[str]:
    """Which of them git does not look at; none where there is no git to say."""
    from antiphon.tools.builtin.git import SAFE_GIT_SETTINGS, make_git_environment
    from antiphon.tools.process_runner import find_program

    git = find_program("git")
    if git is None or not names:
        return set()
    try:
        said = subprocess.run(
            [git, "check-ignore", "-z", "--stdin"],
            input="\0".join(names).encode("utf-8", "surrogateescape"),
            capture_output=True,
            cwd=directory,
            env={
                name: value for name, value in make_git_environment(dict(SAFE_GIT_SETTINGS)).items() if name != _LITERAL
            },
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return set()
    return set(said.stdout.decode("utf-8", "surrogateescape").split("\0"))
