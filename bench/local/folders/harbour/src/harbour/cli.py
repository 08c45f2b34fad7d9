"""The command `harbour`."""

from pathlib import Path

import click

from harbour.ships import read_ships

DEFAULT_DAYS = 5


@click.group()
def main() -> None:
    """Plan berths."""


@main.command()
@click.argument("table", type=Path)
@click.option("--days", default=DEFAULT_DAYS, help="How many days to plan.")
def plan(table: Path, days: int) -> None:
    """Print the plan of the next days."""
    for ship in read_ships(table)[: 4 * days]:
        click.echo(f"{ship.arrives}  {ship.name}")
