"""Texts that must not be longer than there is room for."""


def shortened(text: str, length: int) -> str:
    """A text of at most so many characters, cut between words if it can be."""
    if len(text) <= length:
        return text
    whole, _, _ = text[:length].rpartition(" ")
    return f"{whole.rstrip() or text[: length - 1]}…"
