"""Matching the patterns of rules with the arguments of a canonical call."""

from __future__ import annotations

import os
import re
import shlex
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from typing import Any, cast

from antiphon._json import dumps
from antiphon.tools.canonical import CanonicalCall
from antiphon.tools.commands import Word, matches_words, simple_commands
from antiphon.tools.launchers import launches
from antiphon.tools.targets import Target, command_parameters, locate
from antiphon.tools.tool import ToolFailure

#: What stands between words in a line that cannot be taken apart: another command may begin behind any of it.
_BETWEEN = re.compile(r"[\s;&|`(){}<>\"'$=:!,\\]+")
#: A command whose program is put together when it runs.
_COMPUTED = re.compile(
    r"(?:\A|[;&|\n(`{!]|\b(?:then|do|else|elif|if|while|until|exec|eval)\s)\s*"
    r"(?:\w{1,80}=[^\s;&|({`!]*\s+){0,20}[^\s;&|(){}!'\"$`]*[$`*?\[]"
)


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a line, by the argument that holds the line; `words` is None where nobody can tell."""

    argument: str
    line: str
    words: tuple[Word, ...] | None

    @property
    def text(self) -> str:
        """The words, without quotes."""
        return " ".join(word.text for word in self.words or ())

    @property
    def is_open(self) -> bool:
        """Return whether any word of the line may be the name of a program that it starts."""
        return self.words is None or launches([word.text for word in self.words])

    @property
    def is_computed(self) -> bool:
        """Return whether a program's name may be put together when the line runs."""
        return self.words is None and _COMPUTED.search(self.line) is not None


def commands_of(call: CanonicalCall) -> list[Command | None]:
    """Return each command that a call of a shell runs; a None stands for a call without a line."""
    found = [each for name in _line_names(call) for each in _commands(name, call.arguments[name])]
    return [*found] or [None]


def matches(call: CanonicalCall, name: str, glob: str, *, strictly: bool, command: Command | None = None) -> bool:
    """Return whether an argument matches a pattern.

    Strictly, as what allows must, all that the argument may mean has to match; else it is enough that something does.
    """
    if name not in call.arguments:
        return False
    every: Callable[[list[bool]], bool] = all if strictly else any
    value = call.arguments[name]
    if call.tool.is_shell and name in _line_names(call):
        lines = [command] if command is not None and command.argument == name else _commands(name, value)
        return every([_command_matches(each, glob, strictly) for each in lines])
    texts: list[Any] = cast(list[Any], value) if isinstance(value, list) else [value]
    if not texts or not all(isinstance(each, str) for each in texts):
        texts = [dumps(cast(Any, value))]
    if every([_text_matches(call, name, each, glob, strictly) for each in cast(list[str], texts)]):
        return True
    given = call.given.arguments.get(name)
    names: list[Any] = cast(list[Any], given) if isinstance(given, list) else [given]
    # What is denied by the name that was given stays so, wherever a link leads.
    return not strictly and any(isinstance(each, str) and fnmatchcase(each, glob) for each in names)


# Texts and paths


def _text_matches(call: CanonicalCall, name: str, text: str, glob: str, strictly: bool) -> bool:
    is_path = name in call.tool.paths
    find = call.tool.locate if is_path else locate
    target = find(text)
    if is_path and not target.is_known:
        return not strictly
    plainly = fnmatchcase(text, glob)
    targets = (target, *(Target(each, each) for each in target.others))
    # What denies may not depend on whether the system tells `A` from `a`, or forms of an accent apart.
    really = [_really_matches(each, glob, find, loosely=is_path and not strictly) for each in targets]
    if strictly:
        return all(really) and (is_path or plainly)
    return plainly or any(really)


def _really_matches(target: Target, glob: str, find: Callable[[str], Target], *, loosely: bool) -> bool:
    """Return whether the file that a text leads to matches a pattern, links of the pattern resolved too."""
    if glob.startswith("*"):
        names = [target.real, target.shown]
    else:
        names = [os.path.normpath(_absolute(target.real))]
        glob = _absolute_glob(os.path.expanduser(glob), find)
    if loosely:
        names, glob = [_fold(each) for each in names], _fold(glob)
    return any(fnmatchcase(each, glob) for each in names)


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _absolute_glob(glob: str, find: Callable[[str], Target]) -> str:
    steps = glob.split("/")
    fixed = next((at for at, step in enumerate(steps) if re.search(r"[*?[]", step)), len(steps))
    start = "/".join(steps[:fixed]) or ("/" if glob.startswith("/") else ".")
    rest = [step for step in steps[fixed:] if step not in ("", ".")]
    return os.path.join(os.path.normpath(_absolute(find(start).real)), *rest)


def _absolute(path: str) -> str:
    return os.path.join(os.path.realpath("."), path)


# Command lines


def _line_names(call: CanonicalCall) -> list[str]:
    """Return the arguments that are command lines: by their names, or else all texts that are no paths."""
    given = call.arguments
    named = [name for name in command_parameters(call.tool.spec.parameters) if name in given]
    return named or [name for name, value in given.items() if isinstance(value, str) and name not in call.tool.paths]


def _commands(name: str, value: Any) -> list[Command]:
    if isinstance(value, list):
        words = cast(list[Any], value)
        if not all(isinstance(each, str) for each in words):
            return [Command(name, dumps(words), None)]
        return [Command(name, shlex.join(words), tuple(Word(each, True) for each in words))]
    line = value if isinstance(value, str) else dumps(value)
    try:
        return [Command(name, line, tuple(words)) for words in simple_commands(line)] or [Command(name, line, ())]
    except ToolFailure:
        return [Command(name, line, None)]


def _command_matches(command: Command, glob: str, strictly: bool) -> bool:
    if glob == "*":
        return True
    if strictly:
        return command.words is not None and matches_words(command.words, _split(glob))
    texts = [command.line] if command.words is None else [command.text, command.line]
    if any(_is_meant(spelled, glob) for text in texts for spelled in (text, _without_directory(text))):
        return True
    return command.is_open and any(_begins_within(text, glob) for text in _spellings(command.line))


def _spellings(line: str) -> list[str]:
    """Return the words of a line that may run any of them, with quotes taken away, and with quotes as blanks."""
    return [" ".join(_BETWEEN.split(text)).strip() for text in (re.sub(r"['\"\\]", "", line), line)]


def _begins_within(text: str, glob: str) -> bool:
    """Return whether a command that matches a pattern begins at any word of a text."""
    pattern = re.compile(translate(glob))
    bare = re.compile(translate(glob[:-2]) if glob.endswith(" *") else r"(?!)")
    places = (found.start() for found in re.finditer(r"(?<![^ /])(?=[^ /])", text))
    return any(pattern.match(text, at) or bare.match(text, at) for at in places)


def _without_directory(text: str) -> str:
    """Return a command with the bare name of its program."""
    program, blank, rest = text.partition(" ")
    return f"{os.path.basename(program)}{blank}{rest}"


def _is_meant(text: str, glob: str) -> bool:
    return fnmatchcase(text, glob) or (glob.endswith(" *") and fnmatchcase(text, glob[:-2]))


def _split(glob: str) -> Sequence[str]:
    try:
        return shlex.split(glob)
    except ValueError:
        # A quote that is never closed matches nothing.
        return ("\0",)
