"""`antiphon doctor`: what is wrong with a history, and how it is put right."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from antiphon.cli.files import FORMATS, History
from antiphon.cli.output import printable


@click.command()
@click.argument("file", type=click.Path())
@click.option(
    "--format", "format_name", type=click.Choice(list(FORMATS)), help="What the file is; else it is recognised."
)
@click.option("--write", is_flag=True, help="Repair the file in place; the old one is kept as FILE.bak.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor(file: str, format_name: str | None, write: bool, as_json: bool) -> None:
    """Find what a provider would reject in a saved history.

    FILE holds messages, or a request, in the shape of OpenAI Chat, OpenAI Responses, Anthropic or Gemini, or a saved
    Antiphon conversation. Exit code: 0 clean, 1 something was found, 2 the file cannot be read.
    """
    history = History.load(file, FORMATS[format_name] if format_name else None)
    backup = history.rewrite() if write and history.changes else None
    if as_json:
        click.echo(json.dumps(_report(history, backup), indent=2))
    else:
        _tell(history, backup)
    sys.exit(1 if history.changes else 0)


def _report(history: History, backup: Path | None) -> dict[str, object]:
    return {
        "file": str(history.path),
        "format": history.format_name,
        "turns": len(history.conversation.turns),
        "problems": [asdict(change) for change in history.changes],
        "backup": str(backup) if backup else None,
    }


def _tell(history: History, backup: Path | None) -> None:
    name = printable(str(history.path))
    if not history.changes:
        click.echo(
            f"{name}: {history.format_name}, {_count(len(history.conversation.turns), 'turn')}, nothing to repair"
        )
        return
    click.echo(f"{name}: {history.format_name}, {_count(len(history.changes), 'problem')}")
    for change in history.changes:
        click.echo(f"  {printable(change.where)}: {printable(change.found)}")
        click.echo(f"    {'done' if backup else 'repair'}: {printable(change.action)}")
    if backup:
        click.echo(f"repaired; the old file is {printable(str(backup))}")
    else:
        click.echo("`--write` repairs the file")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
