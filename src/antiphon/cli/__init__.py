"""The `antiphon` command: each command is a thin function over the rooms, imported when it is asked for."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from antiphon import __version__
from antiphon._printable import printable
from antiphon.cli.colours import Context, dressed
from antiphon.errors import AntiphonError

#: Each is a function of this name in a module of this name, under the heading `--help` shows it with.
_SECTIONS = {
    "Talk": ("chat", "ask", "templates", "logs"),
    "Work": ("serve", "team"),
    "Programs": ("run", "map", "runs", "work", "check", "fmt", "repl", "test", "explain"),
    "Models": ("setup", "models", "keys", "trust"),
    "Histories and tools": ("show", "doctor", "convert", "mcp", "fake", "completion"),
}
#: What the files of a project could change; and of these, what is begun by somebody who can be asked about them.
_CONFIGURED = ("chat", "ask", "templates", "run", "map", "mcp", "work", "repl", "setup", "models", "keys", "test")
_ASKING = ("chat", "ask", "run", "map", "repl")
_COMMANDS = tuple(sorted(name for names in _SECTIONS.values() for name in names))


class _Commands(click.Group):
    """Commands that cost nothing until they are used."""

    context_class = Context

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        return dressed(getattr(import_module(f"antiphon.cli.{cmd_name}"), cmd_name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, names in _SECTIONS.items():
            with formatter.section(heading):
                found = [(name, self.get_command(ctx, name)) for name in names]
                formatter.write_dl([(name, each.get_short_help_str(70)) for name, each in found if each is not None])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="antiphon %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Ask language models, give them tools, and keep every call with its result.

    Begin with `antiphon setup`, or just `antiphon chat`: it works without a key.
    """
    command = context.invoked_subcommand
    if command not in _CONFIGURED:
        return
    from antiphon.cli.configured import configured_here

    context.obj = configured_here(asking=command in _ASKING)


def main() -> None:
    """Run the command line; mistakes are told in a line, not in a traceback."""
    try:
        cli()
    except AntiphonError as error:
        # Further lines are set in: the name of a file or a server's answer could pass for one of ours.
        said = printable(str(error)).replace("\n", "\n  ")
        click.echo(f"antiphon: {said}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output has had enough.
        sys.stderr.close()
        sys.exit(141)
