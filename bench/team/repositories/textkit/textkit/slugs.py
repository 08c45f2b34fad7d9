"""Names for addresses on the web."""

import re


def slug(text: str) -> str:
    """A text in small letters and digits, with a dash between words."""
    return re.sub(r"[^a-z0-9]", "-", text.lower())
