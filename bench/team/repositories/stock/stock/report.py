"""What is there, to read."""


def report(lines: list[str]) -> str:
    """A table of lines such as "lamp: 3 pcs", the most of all first."""
    rows = []
    for line in lines:
        name, _, amount = line.partition(":")
        number = amount.strip().removesuffix("pcs").strip()
        if not number.isdigit():
            raise ValueError(f"{amount!r} is no quantity")
        rows.append((int(number), name.strip()))
    return "\n".join(f"{count:>5} {name}" for count, name in sorted(rows, reverse=True))
