"""Print the differences of two sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable_line

if TYPE_CHECKING:
    from antiphon.durable.run_diff import StepPair

_SIDES = (("<", "red"), (">", "green"))


def make_difference_json(pair: StepPair) -> dict[str, Any]:
    """Return a differing step as JSON data."""
    from antiphon.cli.telling import make_step_json

    sides = {"first": pair.first, "second": pair.second}
    steps = {name: None if side is None else make_step_json(side) for name, side in sides.items()}
    return {"path": pair.path, "what": pair.what, **steps}


def print_differences(found: Sequence[StepPair]) -> None:
    """Print both sides of each differing step."""
    from antiphon.terminal.run_log import make_effect_line

    for each in found:
        click.echo(f"{escape_unprintable_line(each.path)}: {each.what}")
        for (sign, colour), side in zip(_SIDES, (each.first, each.second), strict=True):
            if side is not None:
                line = make_effect_line(side)
                text = "  ".join(part for part in (line.head.removeprefix(each.path).strip(), line.summary) if part)
                click.echo(click.style(f"  {sign} {escape_unprintable_line(text)[:400]}", fg=colour))
    if not found:
        click.echo("the sessions are equal", err=True)
