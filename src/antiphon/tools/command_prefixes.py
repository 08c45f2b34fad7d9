"""Standing decisions about commands by their first words: `git diff *` covers `git diff --stat src`.

They are offered for programs that read or check, and for some subcommands of others. A line is covered only if
the parser proves which commands it runs: no redirection, no substitution, no program that starts another. Words
that name files elsewhere, or files that look like secrets, are not covered.
"""

from __future__ import annotations

import json
import shlex

from antiphon.tools.canonical_call import CanonicalCall
from antiphon.tools.rule_matching import ShellCommand, parse_call_commands
from antiphon.tools.secret_files import looks_like_secret
from antiphon.tools.shell_parsing import matches_word_pattern

#: Programs that write nothing with any option, or only what checkers of code write.
_PROGRAMS = frozenset(
    (
        *("basename", "cat", "cmp", "cut", "df", "diff", "dirname", "du", "echo", "grep", "head", "jq", "ls", "nl"),
        *("ps", "pwd", "realpath", "rg", "sort", "stat", "tail", "test", "tr", "true", "uname", "wc", "which"),
        *("eslint", "jest", "mypy", "pyright", "pytest", "ruff", "tsc", "vitest"),
    )
)
_SUBCOMMANDS: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "git": "add blame commit describe diff log ls-files rev-parse shortlog show status",
        "cargo": "build check clippy doc fmt test",
        "go": "build fmt test vet",
        "npm": "test",
        "pnpm": "test",
        "yarn": "test",
        "pip": "freeze list show",
        "dotnet": "build test",
        "mvn": "compile test",
    }.items()
}
#: Programs whose word `run` is followed by the name of a script.
_SCRIPT_RUNNERS = frozenset(("npm", "pnpm", "yarn"))
_MAX_PREFIXES = 3


def find_command_prefixes(call: CanonicalCall) -> tuple[str, ...]:
    """Return the patterns that would cover a call of a shell; none if the line holds anything else."""
    commands = parse_call_commands(call) if call.tool.is_shell and not call.problem else []
    found: list[str] = []
    for command in commands:
        prefix = _find_prefix(command) if command is not None else None
        if command is None or prefix is None or not is_covered(command, prefix):
            return ()
        found.append(prefix)
    unique = tuple(dict.fromkeys(found))
    return unique if len(unique) <= _MAX_PREFIXES else ()


def is_covered(command: ShellCommand, pattern: str) -> bool:
    """Return whether a command begins with the words of a pattern and can do nothing else than its program."""
    words = command.words
    if not words or command.is_open or not all(word.fixed for word in words):
        return False
    if any(_is_guarded(word.text) for word in words):
        return False
    return matches_word_pattern(words, shlex.split(pattern))


def describe_other_arguments(call: CanonicalCall, argument: str) -> str:
    """Return the arguments besides the command line, as text: a decision holds for the same ones only."""
    others = {name: value for name, value in call.arguments.items() if name != argument}
    return json.dumps(others, sort_keys=True, default=str)


def find_line_argument(call: CanonicalCall) -> str | None:
    """Return the argument that holds the command line, if there is exactly one."""
    names = {command.argument for command in parse_call_commands(call) if command is not None}
    return names.pop() if len(names) == 1 else None


def _is_guarded(word: str) -> bool:
    """Return whether a word may name a file outside the working directory, or one that looks like a secret."""
    # The value of an option may follow it directly: `--file=NAME`, `-fNAME`.
    values = [word, word.rpartition("=")[2], word[2:] if word.startswith("-") and not word.startswith("--") else ""]
    paths = [value.split("/") for value in values if value]
    return any(
        (path[0] == "" and len(path) > 1) or ".." in path or looks_like_secret([part for part in path if part])
        for path in paths
    )


def _find_prefix(command: ShellCommand) -> str | None:
    words = [word.text for word in command.words or ()]
    program, second = (*words, "", "")[:2]
    if program in _PROGRAMS:
        return f"{program} *"
    if second in _SUBCOMMANDS.get(program, ()):
        return f"{program} {second} *"
    if program in _SCRIPT_RUNNERS and second == "run" and len(words) > 2 and words[2].replace(":", "a").isidentifier():
        return f"{program} run {words[2]} *"
    return None
