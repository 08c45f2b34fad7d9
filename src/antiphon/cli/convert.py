"""`antiphon convert`: a history in another shape."""

from __future__ import annotations

import json

import click

from antiphon._base.escape import escape_unprintable
from antiphon.cli.history_files import load_history_file
from antiphon.cli.style import echo_json
from antiphon.formats import READABLE_FORMATS, WRITABLE_FORMATS, Written, write


@click.command()
@click.argument("file", type=click.Path())
@click.option("--to", "target", type=click.Choice(WRITABLE_FORMATS), required=True, help="The shape to write.")
@click.option("--from", "source", type=click.Choice(READABLE_FORMATS), help="What the file is; else it is recognised.")
def convert(file: str, target: str, source: str | None) -> None:
    """Write a history to standard output in another shape.

    What had to be repaired on the way, and what the other shape has no place for, is told on standard error.
    """
    history = load_history_file(file, source)
    for finding in history.findings:
        click.echo(f"antiphon: {escape_unprintable(str(finding))}", err=True)
    written = write(history.conversation, target, history.rest)
    tell_losses(written)
    echo_json(json.dumps(written.data, ensure_ascii=False, indent=2))


def tell_losses(written: Written) -> None:
    """Say on standard error what did not come along, and what is still to do before it can be sent."""
    for loss in written.losses:
        click.echo(f"antiphon: {escape_unprintable(loss)}", err=True)
    for violation in written.violations:
        click.echo(f"antiphon: before it is sent: {violation.code}: {escape_unprintable(violation.message)}", err=True)
