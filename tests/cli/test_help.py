"""The help of the command line, as it is designed, and that old commands are gone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from antiphon.cli import SECTIONS, TOPICS, cli
from tests.lang_unit.commands import antiphon

HELP = Path(__file__).with_name("help.txt")
OLD = (
    *("logs", "runs", "convert", "doctor", "work", "team list", "team status", "team log", "team resume"),
    *("team fork", "team answer", "team stop"),
)


def test_the_help_is_as_it_is_designed() -> None:
    shown = CliRunner().invoke(cli, ["--help"], prog_name="antiphon", terminal_width=90).output
    if os.environ.get("UPDATE_GOLDEN"):
        HELP.write_text(shown, encoding="utf-8")
    assert shown == HELP.read_text(encoding="utf-8")


def test_fourteen_commands_are_shown_and_each_short_help_is_a_sentence() -> None:
    shown = {name: about for section in SECTIONS.values() for name, about in section.items()}
    assert " ".join(shown) == "chat ask run team serve list show resume answer stop export delete check setup"
    for name, about in {**shown, **{name: about for topic in TOPICS.values() for name, about in topic.items()}}.items():
        assert about.endswith("."), name
        assert antiphon(name, "--help").code == 0


@pytest.mark.parametrize("words", OLD)
def test_old_commands_are_gone(words: str) -> None:
    if words.startswith("team "):
        # These words are a request now, and there is no repository to work in.
        assert words.removeprefix("team ") not in antiphon("team", "--help").out.split("Commands:")[1]
        return
    ran = antiphon(words)
    assert (ran.code, f"there is no command {words!r}; did you mean `antiphon" in ran.err) == (2, True)


@pytest.mark.parametrize("words", ["search", "fork", "map", "approve", "deny", "models", "keys", "trust", "templates"])
def test_short_forms_are_hidden_and_work(words: str) -> None:
    assert antiphon(words, "--help" if words not in ("fork", "approve", "deny") else "--nope").code in (0, 2)
    assert f"\n  {words} " not in antiphon("--help").out


@pytest.mark.parametrize("topic", ["language", "operations", "all", "run", "resume"])
def test_help_prints_topics_and_commands(topic: str) -> None:
    ran = antiphon("help", topic)
    assert ran.code == 0
    names = TOPICS.get(topic) or {"run": "", "resume": ""}
    assert all(name in ran.out for name in names)
