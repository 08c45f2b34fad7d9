"""Completion for shells, and the help that fits a screen."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from antiphon.cli import SECTIONS, cli
from antiphon.cli.chat_front.slash_commands import COMMANDS
from tests import forks
from tests.lang_unit.commands import antiphon


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell: str):
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert "_ANTIPHON_COMPLETE" in result.output


def test_bash_is_told_commands_and_options():
    def completed(words: str, at: int) -> list[str]:
        environment = {"_ANTIPHON_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
        done = forks.run(env=os.environ | environment, text=True)
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert completed("antiphon ch", 1) == ["chat", "check"]
    assert "development" in completed("antiphon team chat dev", 3)
    assert "--replay" in completed("antiphon run --re", 2)
    assert "anthropic/claude-sonnet-5" in completed("antiphon ask -m anthropic/claude-s", 3)
    assert completed("antiphon setup keys set anth", 4) == ["anthropic"]


def test_a_command_that_is_not_there_gets_the_one_that_was_meant():
    for said, told in {
        ("caht",): "there is no command 'caht'; did you mean `antiphon chat`?",
        ("What is it?",): "there is no command 'What is it?'; to ask a question, use `antiphon ask \"…\"`",
        ("zzzzzzz",): "`antiphon --help` lists all commands",
        ("models", "defalt"): "did you mean `antiphon models default`?",
    }.items():
        ran = antiphon(*said)
        assert (ran.code, told in ran.err) == (2, True), ran.err


def test_the_help_and_the_names_of_commands_cost_no_command():
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom antiphon.cli import cli\n"
        "assert CliRunner().invoke(cli, ['--help']).exit_code == 0\n"
        "assert [each.value for each in cli.shell_complete(cli.make_context('a', [], resilient_parsing=True), 'ch')]"
        " == ['chat', 'check']\n"
        "print([each for each in sys.modules if each.startswith('antiphon.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout
    assert "antiphon.cli.style" in loaded
    assert not {"antiphon.cli.chat", "antiphon.durable", "antiphon.lang", "antiphon.session"} & set(
        re.findall(r"[\w.]+", loaded)
    )


def test_the_help_fits_a_screen_and_names_every_command():
    shown = CliRunner().invoke(cli, ["--help"], terminal_width=80).output.splitlines()
    assert len(shown) <= 45
    assert max(map(len, shown)) <= 86
    listed = {line.split()[0] for line in shown if line.startswith("  ") and line.strip()}
    assert set(_list_visible()) <= listed
    context = cli.make_context("antiphon", ["models"], resilient_parsing=True)
    names = cli.list_commands(context)
    assert all(cli.get_command(context, name) is not None for name in names)
    further = CliRunner().invoke(cli, ["help", "all"], terminal_width=80).output
    assert all(re.search(rf"^  {name} ", further, re.MULTILINE) for name in names)


def _list_visible() -> list[str]:
    return [name for section in SECTIONS.values() for name in section]


def test_the_page_of_ask_and_chat_names_every_option_and_command():
    page = (Path(__file__).parents[2] / "docs/chat.md").read_text()
    sections = {"chat": page.partition("## Ask")[0], "ask": page}
    context = cli.make_context("antiphon", ["models"], resilient_parsing=True)
    for name, text in sections.items():
        command = cli.get_command(context, name)
        assert command is not None
        for option in (each for each in command.params if isinstance(each, click.Option)):
            assert re.search(rf"`[^`]*(?<![\w-])({'|'.join(option.opts)})\b", text), f"{name}: {option.opts}"
    for name in COMMANDS:
        assert f"`{name}" in sections["chat"], name
