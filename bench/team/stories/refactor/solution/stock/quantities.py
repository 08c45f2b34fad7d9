"""Quantities as people write them."""


def quantity(text: str) -> int:
    """How many "12" or "12 pcs" are; a ValueError where it is neither."""
    number = text.strip().removesuffix("pcs").strip()
    if not number.isdigit():
        raise ValueError(f"{text!r} is no quantity")
    return int(number)
