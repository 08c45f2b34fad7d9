"""Prices, as people write them and as they are counted: in whole cents."""


def cents(price: str) -> int:
    """The cents of a price such as "3.50"; a refund has a minus."""
    return int(float(price) * 100)


def shown(amount: int) -> str:
    """An amount of cents as people write it."""
    sign = "-" if amount < 0 else ""
    return f"{sign}{abs(amount) // 100}.{abs(amount) % 100:02}"
