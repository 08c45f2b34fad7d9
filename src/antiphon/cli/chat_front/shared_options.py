"""The options that `ask` and `chat` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from antiphon.cli.completers import (
    FILE_PARAM,
    MODEL_PARAM,
    OPTION_PARAM,
    SERVER_PARAM,
    SESSION_PARAM,
    TEMPLATE_PARAM,
)

if TYPE_CHECKING:
    from antiphon.chat.tool_selection import ToolSelection

_Command = TypeVar("_Command", bound=Callable[..., Any])


def add_question_options(otherwise: str) -> Callable[[_Command], _Command]:
    """Add the options of a question; `otherwise` describes the tools used without `--tools`."""
    return _combine_options(
        click.option(
            "-m", "--model", type=MODEL_PARAM, help="The model, such as anthropic/claude-sonnet-5 or local/0.5b."
        ),
        click.option("-s", "--system", metavar="TEXT", help="Instructions to the model, sent before all messages."),
        click.option(
            "-t",
            "--template",
            type=TEMPLATE_PARAM,
            metavar="NAME",
            help="Use a saved template; `antiphon setup templates` lists them.",
        ),
        click.option(
            "-p",
            "--param",
            "params",
            multiple=True,
            metavar="NAME=VALUE",
            help="Set the value of `$NAME` in the template.",
        ),
        click.option(
            "-o",
            "--option",
            "options",
            type=OPTION_PARAM,
            multiple=True,
            metavar="NAME=VALUE",
            help="Set an option of every request: temperature=0, max_tokens=500, extra.seed=42.",
        ),
        click.option(
            "--tools",
            type=click.Choice(["none", "read", "all"]),
            help="Tools for the model: `read` reads this directory; `all` also writes, runs commands, uses MCP."
            f" [default: {otherwise}]",
        ),
        click.option(
            "--tool",
            "own",
            multiple=True,
            metavar="FILE[:NAME]",
            type=FILE_PARAM,
            help="Offer functions of a Python file to the model; the file is run: mytools.py, mytools.py:search.",
        ),
        click.option(
            "--mcp",
            multiple=True,
            metavar="SERVER",
            type=SERVER_PARAM,
            help="Offer the tools of an MCP server: a configured name, a command in quotes, or a URL.",
        ),
    )


def add_conversation_options(last: str) -> Callable[[_Command], _Command]:
    """Add the options for continuing, approving and saving; `last` is what `--continue` continues."""
    return _combine_options(
        click.option("-c", "--continue", "go_on", is_flag=True, help=f"Continue {last}."),
        click.option(
            "--resume",
            metavar="SESSION",
            type=SESSION_PARAM,
            help="Continue this session; `antiphon list` shows them.",
        ),
        click.option("-y", "--yes", is_flag=True, help="Approve all tool calls without asking."),
        click.option("--no-save", is_flag=True, help="Save nothing; the session cannot be listed or resumed."),
    )


def check_exclusive_options(given: dict[str, Any], last: str, is_template: bool = False) -> None:
    """Raise a usage error for options that exclude each other. With `is_template`, a template is saved."""
    if given["go_on"] and given["resume"] is not None:
        raise click.UsageError(f"`--continue` continues {last}, `--resume` another session; use one of them")
    if given["params"] and given["template"] is None and not is_template:
        raise click.UsageError("`--param` sets a value of a template; name it with `--template`")


def select_tools(
    tools: str | None, own: tuple[str, ...], mcp: tuple[str, ...]
) -> tuple[ToolSelection | None, ToolSelection]:
    """Return the values of the options as the `tools` and the `more` of `ChatOptions`."""
    from antiphon.chat.tool_selection import ToolSelection
    from antiphon.tools.user_tools import make_absolute_reference

    more = ToolSelection(own=tuple(map(make_absolute_reference, own)), mcp=mcp)
    return (None if tools is None else ToolSelection(tools)), more


def _combine_options(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    def add_options(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add_options
