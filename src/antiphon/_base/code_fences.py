"""Code fences around texts of files in messages."""

from __future__ import annotations

import re


def fence_text(text: str) -> str:
    """Return the text between fences that are longer than any in it."""
    longest = max((len(found) for found in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"
