"""The `antiphon` command: each command is a thin function over the rooms, imported when it is asked for."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from antiphon import __version__
from antiphon.cli.output import printable
from antiphon.errors import AntiphonError

#: Each is a function of this name in a module of this name.
_COMMANDS = (
    "ask",
    "chat",
    "check",
    "convert",
    "doctor",
    "explain",
    "fake",
    "fmt",
    "keys",
    "logs",
    "mcp",
    "models",
    "repl",
    "run",
    "show",
    "test",
)


class _Commands(click.Group):
    """Commands that cost nothing until they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        return getattr(import_module(f"antiphon.cli.{cmd_name}"), cmd_name)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="antiphon %(version)s")
def cli() -> None:
    """Conversations with language models in which tool calls and results stay paired."""
    from antiphon.config import load_environment

    for note in load_environment():
        click.echo(f"antiphon: {printable(note)}", err=True)


def main() -> None:
    """Run the command line; mistakes are told in a line, not in a traceback."""
    try:
        cli()
    except AntiphonError as error:
        click.echo(f"antiphon: {printable(str(error))}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output has had enough.
        sys.stderr.close()
        sys.exit(141)
