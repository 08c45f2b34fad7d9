"""What a customer is given to read."""

from dataclasses import dataclass

from basket.prices import cents, shown


@dataclass(frozen=True)
class Line:
    """So many of one thing, at a price each."""

    name: str
    price: str
    count: int = 1

    @property
    def amount(self) -> int:
        """What it comes to, in cents."""
        return cents(self.price) * self.count


def total(lines: list[Line]) -> int:
    """What all of it comes to, in cents."""
    return sum(line.amount for line in lines)


def receipt(lines: list[Line]) -> str:
    """A line for each thing, and the total below."""
    rows = [*((f"{line.count} {line.name}", line.amount) for line in lines), ("total", total(lines))]
    return "\n".join(f"{name:<20}{shown(amount):>10}" for name, amount in rows)
