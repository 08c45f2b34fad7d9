"""`antiphon convert`: a history in another provider's shape."""

from __future__ import annotations

import json

import click

from antiphon.cli.files import FORMATS, History, as_format
from antiphon.cli.output import printable


@click.command()
@click.argument("file", type=click.Path())
@click.option("--to", "target", type=click.Choice(list(FORMATS)), required=True, help="The shape to write.")
@click.option("--from", "source", type=click.Choice(list(FORMATS)), help="What the file is; else it is recognised.")
def convert(file: str, target: str, source: str | None) -> None:
    """Write a history to standard output in another shape.

    What had to be repaired on the way is told on standard error.
    """
    history = History.load(file, FORMATS[source] if source else None)
    for change in history.changes:
        click.echo(f"antiphon: {printable(str(change))}", err=True)
    click.echo(json.dumps(as_format(history.conversation, FORMATS[target]), ensure_ascii=False, indent=2))
