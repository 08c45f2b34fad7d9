"""Splitting a bill."""


def shares(total, people, tip=0.0):
    """What each of the people pays."""
    return round(total * (1 + tip) / people, 2)
