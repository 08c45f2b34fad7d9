"""The options of `ask` and `chat` that say which tools the model may use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from antiphon.cli.completing import FILE, SERVER

if TYPE_CHECKING:
    from antiphon.talks.toolbox import Chosen

_Command = TypeVar("_Command", bound=Callable[..., Any])


def tool_options(otherwise: str) -> Callable[[_Command], _Command]:
    """Three options, as `tools`, `own` and `mcp`; `otherwise` says what there is where none is given."""
    options = (
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
            type=FILE,
            help="Let the model call functions of this Python file, which is run: mytools.py, mytools.py:search.",
        ),
        click.option(
            "--mcp",
            multiple=True,
            metavar="SERVER",
            type=SERVER,
            help="Let the model use an MCP server: one of your configuration, a command in quotes, or an address.",
        ),
    )

    def added(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return added


def chosen(tools: str | None, own: tuple[str, ...], mcp: tuple[str, ...]) -> tuple[Chosen | None, Chosen]:
    """What was given, as the `tools` and the `more` of `Wishes`."""
    from antiphon.talks.toolbox import Chosen
    from antiphon.tools.own import full_name

    more = Chosen(own=tuple(map(full_name, own)), mcp=mcp)
    return (None if tools is None else Chosen(tools)), more
