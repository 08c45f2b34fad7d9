"""`antiphon convert`: convert a history to another format."""

from __future__ import annotations

import json

import click

from antiphon.cli.history_files import load_history_file
from antiphon.cli.output import print_message
from antiphon.cli.style import echo_json
from antiphon.formats import READABLE_FORMATS, WRITABLE_FORMATS, Written, write


@click.command()
@click.argument("file", type=click.Path())
@click.option("--to", "target", type=click.Choice(WRITABLE_FORMATS), required=True, help="The target format.")
@click.option(
    "--from", "source", type=click.Choice(READABLE_FORMATS), help="The format of the file. [default: detected]"
)
def convert(file: str, target: str, source: str | None) -> None:
    """Convert a history to another format, on standard output.

    Repairs, and data that the other format cannot hold, are reported on standard error.
    """
    history = load_history_file(file, source)
    for finding in history.findings:
        print_message(str(finding))
    written = write(history.conversation, target, history.rest)
    print_conversion_warnings(written)
    echo_json(json.dumps(written.data, ensure_ascii=False, indent=2))


def print_conversion_warnings(written: Written) -> None:
    """Print lost data, and changes needed before the history can be sent, on standard error."""
    for loss in written.losses:
        print_message(loss)
    for violation in written.violations:
        print_message(f"fix before sending: {violation.code}: {violation.message}")
