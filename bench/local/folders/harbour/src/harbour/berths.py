"""The berths of a harbour, and which of them fits a ship."""

from dataclasses import dataclass

MAX_BERTHS = 14


@dataclass(frozen=True)
class Berth:
    name: str
    length: float
    depth: float


def fits(berth: Berth, length: float, draught: float) -> bool:
    """Whether a ship fits; half a metre of water must be left below it."""
    return berth.length >= length and berth.depth >= draught + 0.5


def free_berths(berths: list[Berth], taken: set[str]) -> list[Berth]:
    # TODO: berths that are being dredged are not free either
    return [berth for berth in berths if berth.name not in taken]
