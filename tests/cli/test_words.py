"""Help, messages and pages use the words of the design; retired ones are not used for what is saved.

A session is what one starts, and a step is what it does. The Python API keeps its names; its pages are left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from antiphon.cli import SECTIONS, TOPICS, cli
from tests.pages import PAGES

ROOT = Path(__file__).parents[2]
_BEFORE = "a|an|the|this|each|every|another|no|any|of|per|last|newest|old|failed|interrupted|saved|shared|many"
#: Words after the verb "run".
_BEHIND = "it|the|them|a|an|its|in|on|here|as|this|that|all|by|for|out|again|code"
#: Retired words, with the words that replace them.
RETIRED = {
    r"\bconversations?\b": "session, chat or messages",
    r"\bjournal(s|ed|ing)?\b": "database, or saved steps",
    r"\beffects?\b(?! on| of a| if)": "step",
    r"\brecordings?\b": "replay file",
    rf"\b(?:{_BEFORE}) runs?\b(?! (?:{_BEHIND})\b)": "session",
    r"\b(?:the|a|saved) logs?\b": "session",
    r"\b(?:row-run|shelf|shelved)\b": "session or chat",
}
#: The pages for users. The others describe the Python API, the language, or how it is made.
USER_PAGES = (
    *(
        "README.md",
        "docs/index.md",
        "docs/install.md",
        "docs/start.md",
        "docs/sessions.md",
        "docs/page.md",
        "docs/team.md",
    ),
    *("docs/models-and-keys.md", "docs/safety.md", "docs/scale.md", "docs/commands.md"),
    "docs/language/tutorial.md",
)
#: Words that no page uses for what is saved.
_RETIRED_EVERYWHERE = re.compile(
    r"\b(?:journals?|recordings?|(?<!side )effects|shelf|shelves|row-runs?|(?:saved|stored) conversations?"
    r"|resumable runs?"
    r"|(?:an?|the|each|every|another|whole|nested|suspended|interrupted|resumed|recorded) run)\b(?!-)",
    re.IGNORECASE,
)
_ALLOWED_ON = {
    # A directory.
    "examples/README.md": {"recordings"},
    # What a benchmark does is no session.
    "docs/benchmarks.md": {"a run"},
    # The same numbers each time that a program is executed.
    "docs/language/data.md": {"every run"},
    "docs/chat.md": {"saved conversation", "saved conversations"},
}
#: Sentences that mean something else, as parts of them.
ALLOWED = ("side effect", "took effect", "run of", "test run")


def find_retired(text: str) -> list[str]:
    """Return the retired words of a text, each with its surroundings; names in backticks are not looked at."""
    words = " ".join(re.sub("|".join((r"`[^`]*`", *ALLOWED)), "X", text).split())
    return [
        f"{found[0]!r} ({instead}): …{words[max(0, found.start() - 60) : found.end() + 60]}…"
        for pattern, instead in RETIRED.items()
        for found in re.finditer(pattern, words, re.IGNORECASE)
    ]


def commands(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, click.Context(inner, parent=context, info_name=name))


def test_the_help_has_only_the_words_of_the_design() -> None:
    found = {path: find_retired(text) for path, text in commands(cli, click.Context(cli, info_name="antiphon"))}
    assert {path: each for path, each in found.items() if each} == {}
    tables = [about for table in (SECTIONS, TOPICS) for section in table.values() for about in section.values()]
    assert find_retired("\n".join(tables)) == []


def messages(file: Path) -> Iterator[str]:
    """The texts of a module that may be shown: those with a space that are no docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body and isinstance(node.body[0], ast.Expr)
    }  # fmt: skip
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and id(node) not in docs | inside and " " in str(node.value):
            yield str(node.value)


@pytest.mark.parametrize("file", sorted((ROOT / "src/antiphon/cli").glob("*.py")), ids=lambda file: file.stem)
def test_messages_of_commands_have_only_the_words_of_the_design(file: Path) -> None:
    assert [each for text in messages(file) for each in find_retired(text)] == []


def read_prose(page: Path) -> str:
    """Return a page without blocks, comments, code and the targets of links."""
    # The page about conversations describes the Python class.
    other = r"^ *```.*?^ *```$|<!--.*?-->|\[[^]]*\]\([^)]*conversation\.md[^)]*\)|`[^`\n]*`|\]\([^)]*\)"
    return re.sub(other, "X", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", USER_PAGES)
def test_pages_for_users_have_only_the_words_of_the_design(page: str) -> None:
    user, _, _ = read_prose(ROOT / page).partition("rom Python")
    assert [each for line in user.splitlines() for each in find_retired(line)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_uses_a_retired_word_for_what_is_saved(page: Path) -> None:
    found = {match[0].lower() for match in _RETIRED_EVERYWHERE.finditer(read_prose(page))}
    assert found - _ALLOWED_ON.get(page.relative_to(ROOT).as_posix(), set()) == set()
