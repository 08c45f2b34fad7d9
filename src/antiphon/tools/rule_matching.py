"""Matching of rule patterns with the arguments of a canonical call."""

from __future__ import annotations

import os
import re
import shlex
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from typing import Any, cast

from antiphon._base.json import dump_json
from antiphon.tools.canonical_call import CanonicalCall
from antiphon.tools.launcher_commands import launches_commands
from antiphon.tools.path_arguments import PathTarget, find_command_parameters, resolve_path_target
from antiphon.tools.shell_parsing import ShellWord, matches_word_pattern, parse_simple_commands
from antiphon.tools.tool import ToolFailure

#: Separators of words in a line that cannot be parsed: another command may begin after any of them.
_WORD_SEPARATORS = re.compile(r"[\s;&|`(){}<>\"'$=:!,\\]+")
#: A command whose program name is computed when it runs.
_COMPUTED_PROGRAM = re.compile(
    r"(?:\A|[;&|\n(`{!]|\b(?:then|do|else|elif|if|while|until|exec|eval)\s)[^\S\n]*+"
    r"(?:\w{1,80}=[^\s;&|({`!]*\s+){0,20}[^\s;&|(){}!'\"$`]*[$`*?\[]"
)


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """One command of a line, and the argument that holds the line; `words` is None if it cannot be parsed."""

    argument: str
    line: str
    words: tuple[ShellWord, ...] | None

    @property
    def text(self) -> str:
        """The words, without quotes."""
        return " ".join(word.text for word in self.words or ())

    @property
    def is_open(self) -> bool:
        """Return whether any word of the line may be the name of a program that it starts."""
        return self.words is None or launches_commands([word.text for word in self.words])

    @property
    def is_computed(self) -> bool:
        """Return whether a program's name may be computed when the line runs."""
        return self.words is None and _COMPUTED_PROGRAM.search(self.line) is not None


def parse_call_commands(call: CanonicalCall) -> list[ShellCommand | None]:
    """Return each command that a shell call runs; `[None]` for a call without a command line."""
    found = [each for name in _find_line_arguments(call) for each in _parse_commands(name, call.arguments[name])]
    return [*found] or [None]


def argument_matches(
    call: CanonicalCall, name: str, glob: str, *, strictly: bool, command: ShellCommand | None = None
) -> bool:
    """Return whether an argument matches a pattern.

    With `strictly`, as for rules that allow, every possible meaning of the argument must match; otherwise one
    is enough.
    """
    if name not in call.arguments:
        return False
    every: Callable[[list[bool]], bool] = all if strictly else any
    value = call.arguments[name]
    if call.tool.is_shell and name in _find_line_arguments(call):
        lines = [command] if command is not None and command.argument == name else _parse_commands(name, value)
        return every([_command_matches(each, glob, strictly) for each in lines])
    texts: list[Any] = cast(list[Any], value) if isinstance(value, list) else [value]
    if not texts or not all(isinstance(each, str) for each in texts):
        texts = [dump_json(cast(Any, value))]
    if every([_text_matches(call, name, each, glob, strictly) for each in cast(list[str], texts)]):
        return True
    given = call.given.arguments.get(name)
    names: list[Any] = cast(list[Any], given) if isinstance(given, list) else [given]
    # A path that is denied by its given name stays denied, wherever a link leads.
    return not strictly and any(isinstance(each, str) and fnmatchcase(each, glob) for each in names)


# Texts and paths


def _text_matches(call: CanonicalCall, name: str, text: str, glob: str, strictly: bool) -> bool:
    is_path = name in call.tool.paths
    find = call.tool.locate if is_path else resolve_path_target
    target = find(text)
    if is_path and not target.is_known:
        return not strictly
    plainly = fnmatchcase(text, glob)
    targets = (target, *(PathTarget(each, each) for each in target.others))
    # A denial must not depend on whether the file system distinguishes case or Unicode normalization forms.
    really = [_target_matches(each, glob, find, loosely=is_path and not strictly) for each in targets]
    if strictly and is_path and target.has_other_names:
        return False
    if strictly:
        return all(really) and (is_path or plainly)
    return plainly or any(really)


def _target_matches(target: PathTarget, glob: str, find: Callable[[str], PathTarget], *, loosely: bool) -> bool:
    """Return whether the file that a text refers to matches a pattern, with the pattern's links resolved
    too.
    """
    if glob.startswith("*"):
        names = [target.real, target.shown]
    else:
        names = [os.path.normpath(_make_absolute(target.real))]
        glob = _make_absolute_glob(os.path.expanduser(glob), find)
    if loosely:
        names, glob = [_fold_case(each) for each in names], _fold_case(glob)
    return any(fnmatchcase(each, glob) for each in names)


def _fold_case(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _make_absolute_glob(glob: str, find: Callable[[str], PathTarget]) -> str:
    steps = glob.split("/")
    fixed = next((at for at, step in enumerate(steps) if re.search(r"[*?[]", step)), len(steps))
    start = "/".join(steps[:fixed]) or ("/" if glob.startswith("/") else ".")
    rest = [step for step in steps[fixed:] if step not in ("", ".")]
    return os.path.join(os.path.normpath(_make_absolute(find(start).real)), *rest)


def _make_absolute(path: str) -> str:
    return os.path.join(os.path.realpath("."), path)


# Command lines


def _find_line_arguments(call: CanonicalCall) -> list[str]:
    """Return the arguments that are command lines: by their names, or else all texts that are not paths."""
    given = call.arguments
    named = [name for name in find_command_parameters(call.tool.spec.parameters) if name in given]
    return named or [name for name, value in given.items() if isinstance(value, str) and name not in call.tool.paths]


def _parse_commands(name: str, value: Any) -> list[ShellCommand]:
    if isinstance(value, list):
        words = cast(list[Any], value)
        if not all(isinstance(each, str) for each in words):
            return [ShellCommand(name, dump_json(words), None)]
        return [ShellCommand(name, shlex.join(words), tuple(ShellWord(each, True) for each in words))]
    line = value if isinstance(value, str) else dump_json(value)
    try:
        return [ShellCommand(name, line, tuple(words)) for words in parse_simple_commands(line)] or [
            ShellCommand(name, line, ())
        ]
    except ToolFailure:
        return [ShellCommand(name, line, None)]


def _command_matches(command: ShellCommand, glob: str, strictly: bool) -> bool:
    if glob == "*":
        return True
    if strictly:
        try:
            return command.words is not None and matches_word_pattern(command.words, shlex.split(glob))
        except ValueError:
            # A quote that is never closed matches nothing.
            return False
    globs = [glob, *([glob[:-2]] if glob.endswith(" *") else [])]
    for text in [command.line] if command.words is None else [command.text, command.line]:
        # The program may be named with its directory.
        program, blank, rest = text.partition(" ")
        plain = f"{os.path.basename(program)}{blank}{rest}"
        if any(fnmatchcase(spelled, each) for spelled in (text, plain) for each in globs):
            return True
    return command.is_open and any(_matches_at_any_word(text, glob) for text in _normalize_words(command.line))


def _normalize_words(line: str) -> list[str]:
    """Return two readings of a line's words: with quotes removed, and with quotes as spaces."""
    return [" ".join(_WORD_SEPARATORS.split(text)).strip() for text in (re.sub(r"['\"\\]", "", line), line)]


def _matches_at_any_word(text: str, glob: str) -> bool:
    """Return whether a command that matches a pattern begins at any word of a text."""
    pattern = re.compile(translate(glob))
    bare = re.compile(translate(glob[:-2]) if glob.endswith(" *") else r"(?!)")
    places = (found.start() for found in re.finditer(r"(?<![^ /])(?=[^ /])", text))
    return any(pattern.match(text, at) or bare.match(text, at) for at in places)
