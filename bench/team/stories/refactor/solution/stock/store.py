"""What is there, and how much of it."""

from stock import quantities


class Store:
    """Things by name, with how many of each there are."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def add(self, name: str, quantity: str) -> None:
        """More of a thing: "12", or "12 pcs"."""
        self.counts[name] = self.count(name) + quantities.quantity(quantity)

    def remove(self, name: str, quantity: str) -> None:
        """Less of a thing; a ValueError where there are not so many. What is used up is gone."""
        left = self.count(name) - quantities.quantity(quantity)
        if left < 0:
            raise ValueError(f"there are only {self.count(name)} of {name}")
        if left:
            self.counts[name] = left
        else:
            self.counts.pop(name, None)

    def count(self, name: str) -> int:
        """How many there are."""
        return self.counts.get(name, 0)
