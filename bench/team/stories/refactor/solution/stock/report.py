"""What is there, to read."""

from stock.quantities import quantity


def report(lines: list[str]) -> str:
    """A table of lines such as "lamp: 3 pcs", the most of all first."""
    parts = [line.partition(":") for line in lines]
    rows = [(quantity(amount), name.strip()) for name, _, amount in parts]
    return "\n".join(f"{count:>5} {name}" for count, name in sorted(rows, reverse=True))
