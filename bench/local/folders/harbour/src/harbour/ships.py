"""Ships, read from a table."""

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ship:
    name: str
    length: float
    draught: float
    arrives: str


def read_ships(path: Path) -> list[Ship]:
    """The ships of a CSV file, in the order in which they arrive."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    # TODO: tell the line of a row that cannot be read
    ships = [Ship(row["name"], float(row["length"]), float(row["draught"]), row["arrives"]) for row in rows]
    return sorted(ships, key=lambda ship: ship.arrives)
