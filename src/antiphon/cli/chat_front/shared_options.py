"""The options that `ask` and `chat` share: what is asked by, with which tools, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from antiphon.cli.completers import (
    CONVERSATION_PARAM,
    FILE_PARAM,
    MODEL_PARAM,
    OPTION_PARAM,
    SERVER_PARAM,
    TEMPLATE_PARAM,
)

if TYPE_CHECKING:
    from antiphon.chat.tool_selection import ToolSelection

_Command = TypeVar("_Command", bound=Callable[..., Any])


def add_question_options(otherwise: str) -> Callable[[_Command], _Command]:
    """What a question is asked by; `otherwise` says which tools there are where none are given."""
    return _all_of(
        click.option(
            "-m", "--model", type=MODEL_PARAM, help="The model, such as anthropic/claude-sonnet-5 or local/0.5b."
        ),
        click.option("-s", "--system", metavar="TEXT", help="What the model is told before everything else."),
        click.option(
            "-t",
            "--template",
            type=TEMPLATE_PARAM,
            metavar="NAME",
            help="Ask by a template; `antiphon templates` has them.",
        ),
        click.option(
            "-p", "--param", "params", multiple=True, metavar="NAME=VALUE", help="What `$NAME` is in the template."
        ),
        click.option(
            "-o",
            "--option",
            "options",
            type=OPTION_PARAM,
            multiple=True,
            metavar="NAME=VALUE",
            help="What goes along with every request: temperature=0, max_tokens=500, extra.seed=42.",
        ),
        click.option(
            "--tools",
            type=click.Choice(["none", "read", "all"]),
            help="What the model may use: to read this directory, or also to write, to run commands, and MCP servers."
            f" [default: {otherwise}]",
        ),
        click.option(
            "--tool",
            "own",
            multiple=True,
            metavar="FILE[:NAME]",
            type=FILE_PARAM,
            help="Let the model call functions of this Python file, which is run: mytools.py, mytools.py:search.",
        ),
        click.option(
            "--mcp",
            multiple=True,
            metavar="SERVER",
            type=SERVER_PARAM,
            help="Let the model use an MCP server: one of your configuration, a command in quotes, or an address.",
        ),
    )


def add_conversation_options(last: str) -> Callable[[_Command], _Command]:
    """What is gone on with, what is kept and what is allowed; `last` is what `--continue` goes on with."""
    return _all_of(
        click.option("-c", "--continue", "go_on", is_flag=True, help=f"Go on with {last}."),
        click.option(
            "--resume",
            metavar="ID",
            type=CONVERSATION_PARAM,
            help="Go on with this conversation; `antiphon logs` lists them.",
        ),
        click.option("-y", "--yes", is_flag=True, help="Allow every tool call without asking."),
        click.option("--no-log", is_flag=True, help="Save nothing."),
        click.option("--no-journal", is_flag=True, help="Do not write down what is done for an answer while it comes."),
    )


def check_exclusive_options(given: dict[str, Any], last: str, is_template: bool = False) -> None:
    """Refuse what cannot be meant together. With `is_template`, a template is made."""
    if given["go_on"] and given["resume"] is not None:
        raise click.UsageError(f"`--continue` is {last}, `--resume` another; give one of them")
    if given["params"] and given["template"] is None and not is_template:
        raise click.UsageError("`--param` fills in a template; `--template` names one")


def chosen(tools: str | None, own: tuple[str, ...], mcp: tuple[str, ...]) -> tuple[ToolSelection | None, ToolSelection]:
    """What was given, as the `tools` and the `more` of `Wishes`."""
    from antiphon.chat.tool_selection import ToolSelection
    from antiphon.tools.user_tools import make_absolute_reference

    more = ToolSelection(own=tuple(map(make_absolute_reference, own)), mcp=mcp)
    return (None if tools is None else ToolSelection(tools)), more


def _all_of(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    def added(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return added
