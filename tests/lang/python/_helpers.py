"""Functions for programs."""

LIMIT = 10


def shout(word: str, times: int = 1) -> str:
    """The word, loudly."""
    return word.upper() + "!" * times


def broken(n: int) -> int:
    """Fails."""
    return n // 0


def wrong() -> int:
    """Says one thing and gives another."""
    return "text"
