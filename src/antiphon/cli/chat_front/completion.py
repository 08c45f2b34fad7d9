"""Completion in a chat: slash commands, their arguments, and paths after an `@`."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence

from antiphon.chat.tool_selection import BUNDLE_NAMES
from antiphon.cli.completers import MODEL_PARAM
from antiphon.tools.file_sandbox import SKIPPED_DIRECTORIES, SandboxRoots
from antiphon.tools.tool import ToolFailure

_MOST = 200
_SECONDS = 2.0
#: With this variable, `git check-ignore` fails.
_LITERAL = "GIT_LITERAL_PATHSPECS"
#: A mention up to the cursor.
_BEGUN = re.compile(r"""(?<![\w.+\-/@`\\])@(?P<path>(?!@)(?:\\ |[^\s"'`<>|,;])*)\Z""", re.ASCII)


class CompletionMenu:
    """The completions of a chat; `commands` maps slash commands to their descriptions."""

    def __init__(self, commands: Mapping[str, str]) -> None:
        self._commands = commands

    def is_wanted(self, text: str) -> bool:
        """Return whether the menu opens by itself for the text up to the cursor."""
        return (text.startswith("/") and "\n" not in text) or _BEGUN.search(text) is not None

    def list(self, text: str) -> tuple[int, list[str]]:
        """Return where the word at the end of a text begins, and its completions."""
        return list_completions(text, [*self._commands]) if self.is_wanted(text) else (len(text), [])

    def describe(self, completion: str) -> str:
        """Return the description of a completion, if it has one."""
        return self._commands.get(completion.rstrip(), "")


def list_completions(line: str, commands: Sequence[str]) -> tuple[int, list[str]]:
    """Return where the word at the end of a line begins, and its completions."""
    if found := _BEGUN.search(line):
        return found.start(), [f"@{each}" for each in _list_paths(found["path"].replace("\\ ", " "))]
    begin = line.rfind(" ") + 1
    names = commands if begin == 0 and line.startswith("/") else _list_arguments(line.partition(" ")[0], line[begin:])
    return begin, [f"{each} " for each in names if each.startswith(line[begin:])]


def _list_arguments(command: str, word: str) -> Iterable[str]:
    if command == "/model":
        return MODEL_PARAM.names(word)
    if command != "/tools":
        return ()
    from antiphon.tools.builtin import all_tools

    return (*BUNDLE_NAMES, "on", "off", *(tool.name for tool in all_tools()))


def _list_paths(begun: str) -> list[str]:
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
    ignored = _find_ignored(here, list(names))
    return [
        f"{directory}{slash}{name}".replace(" ", "\\ ") + ("/" if kind == "directory" else " ")
        for name, kind in list(names.items())[:_MOST]
        if name not in ignored
    ]


def _find_ignored(directory: str, names: Sequence[str]) -> set[str]:
    """Return the names that git ignores; none without git."""
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
