"""A parser for shell command lines that proves which commands they run.

Whatever a shell would expand or compute cannot be proven and is rejected: variables, substitutions,
functions, and files written by redirection. So this parses only a small part of the shell's language, and
that part exactly.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from antiphon.tools.launcher_commands import find_uncovered_words
from antiphon.tools.tool import ToolFailure

_COMMAND_SEPARATOR = re.compile(r"\|\||&&|\||;|\n")
_HARMLESS_REDIRECTION = re.compile(r"(?:[0-9]?>&[0-9]|[0-9]?>>?[ \t]*/dev/null|<[ \t]*/dev/null)(?=[ \t\n;|&]|\Z)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[.*\])?\+?=")
_RESERVED_WORDS = re.compile(
    r"!|\{|\}|\[\[|if|then|elif|else|fi|for|while|until|do|done|case|esac|in|select|function|time|coproc"
)
_REJECTED_CHARACTERS = {
    "$": "`$` is not allowed: variables and substitutions can stand for anything",
    "`": "backticks are not allowed: a substitution can stand for anything",
    "(": "parentheses are not allowed",
    ")": "parentheses are not allowed",
    "<": "redirections are not allowed, except from and to /dev/null and between outputs, written apart: `2>&1`",
    ">": "redirections are not allowed, except from and to /dev/null and between outputs, written apart: `2>&1`",
    "&": "running in the background with `&` is not allowed",
}


@dataclass(frozen=True, slots=True)
class ShellWord:
    """A word of a command. `fixed` says that the shell does not expand it, for example to file names."""

    text: str
    fixed: bool


def check_allowed_commands(line: str, allow: Sequence[str]) -> None:
    """Raise a ToolFailure unless every command of the line matches a pattern.

    Patterns match word by word, and a last `*` stands for any further words: `git log *`, `ls`, `python -m
    pytest *`.
    """
    commands = parse_simple_commands(line)
    if not commands:
        raise ToolFailure("the command is empty")
    patterns = [shlex.split(pattern) for pattern in allow]
    for words in commands:
        if not any(matches_word_pattern(words, pattern) for pattern in patterns):
            refused = " ".join(word.text for word in words)
            allowed = ", ".join(f"`{pattern}`" for pattern in allow)
            risky = find_uncovered_words([word.text for word in words])
            named = next((word.text for word, is_risky in zip(words, risky, strict=True) if is_risky), None)
            hint = "" if named is None else f"; only a pattern that names `{named[:80]}` allows it"
            raise ToolFailure(f"`{refused[:200]}` is not among the allowed commands: {allowed}{hint}")


def matches_word_pattern(words: Sequence[ShellWord], pattern: Sequence[str]) -> bool:
    """Return whether a command matches a pattern word by word; `*` alone matches every command.

    Another wildcard does not match words that select what a program starts: `git *` does not match `git -c
    core.pager=… log`, nor `git x`, which may be an alias. A pattern can name them: `git log *`.
    """
    if list(pattern) == ["*"]:
        return True
    risky = find_uncovered_words([word.text for word in words])
    if list(pattern[-1:]) == ["*"]:
        pattern = pattern[:-1]
        if any(risky[len(pattern) :]):
            return False
        words = words[: len(pattern)]
    return len(words) == len(pattern) and all(map(_word_matches, words, pattern, risky))


def _word_matches(word: ShellWord, pattern: str, is_risky: bool) -> bool:
    if ".." in word.text.split("/") and ".." not in pattern.split("/"):
        return False
    if is_risky and re.search(r"[*?[]", pattern.partition("=")[0]):
        return False
    return word.fixed and fnmatchcase(word.text, pattern)


def parse_simple_commands(line: str) -> list[list[ShellWord]]:
    """Return the commands that a line would run, each as its words.

    Raise a ToolFailure if that cannot be determined.
    """
    commands: list[list[ShellWord]] = [[]]
    place = 0
    while place < len(line):
        if line[place] in " \t":
            place += 1
        elif separator := _COMMAND_SEPARATOR.match(line, place):
            commands.append([])
            place = separator.end()
        elif redirection := _HARMLESS_REDIRECTION.match(line, place):
            place = redirection.end()
        else:
            word, place = _parse_word(line, place)
            if not commands[-1] and _ASSIGNMENT.match(word.text):
                raise ToolFailure(f"`{word.text}`: setting variables is not allowed")
            if not commands[-1] and (_RESERVED_WORDS.fullmatch(word.text) or not word.fixed):
                raise ToolFailure(f"`{word.text}` is not allowed where a command's name is expected")
            commands[-1].append(word)
    return [words for words in commands if words]


def _parse_word(line: str, place: int) -> tuple[ShellWord, int]:
    start, text, fixed = place, "", True
    while place < len(line):
        char = line[place]
        if char in " \t\n;|" or line.startswith("&&", place):
            break
        if char in _REJECTED_CHARACTERS:
            raise ToolFailure(_REJECTED_CHARACTERS[char])
        if char == "#" and place == start:
            raise ToolFailure("comments are not allowed")
        if char < " " or (char.isspace() and not char.isascii()) or char == "\x7f":
            raise ToolFailure(f"the character {char!r} is not allowed")
        if char in "'\"\\":
            piece, place = _parse_quoted(line, place)
            text += piece
            continue
        fixed = fixed and char not in "*?[{}~"
        text += char
        place += 1
    return ShellWord(text, fixed), place


def _parse_quoted(line: str, place: int) -> tuple[str, int]:
    quote = line[place]
    if quote == "\\":
        if line[place + 1 : place + 2] in ("", "\n"):
            raise ToolFailure("a backslash at the end of a line is not allowed")
        return line[place + 1], place + 2
    text = ""
    place += 1
    while place < len(line) and line[place] != quote:
        char = line[place]
        if quote == '"' and char in "$`":
            raise ToolFailure(_REJECTED_CHARACTERS[char])
        if quote == '"' and char == "\\" and line[place + 1 : place + 2] in ("$", "`", '"', "\\", "\n"):
            place += 1
            char = "" if line[place] == "\n" else line[place]
        text += char
        place += 1
    if place >= len(line):
        raise ToolFailure(f"a {quote} is never closed")
    return text, place + 1
