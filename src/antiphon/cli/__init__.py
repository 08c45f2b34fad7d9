"""The `antiphon` command: each command is a thin function over the rooms."""

from __future__ import annotations

import sys

import click

from antiphon import __version__
from antiphon.cli.convert import convert
from antiphon.cli.doctor import doctor
from antiphon.cli.fake import fake
from antiphon.cli.keys import keys
from antiphon.cli.logs import logs
from antiphon.cli.mcp import mcp
from antiphon.cli.models import models
from antiphon.cli.output import printable
from antiphon.cli.show import show
from antiphon.errors import AntiphonError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="antiphon %(version)s")
def cli() -> None:
    """Conversations with language models in which tool calls and results stay paired."""
    from antiphon.config import load_environment

    for note in load_environment():
        click.echo(f"antiphon: {printable(note)}", err=True)


cli.add_command(doctor)
cli.add_command(convert)
cli.add_command(fake)
cli.add_command(keys)
cli.add_command(logs)
cli.add_command(mcp)
cli.add_command(models)
cli.add_command(show)


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
