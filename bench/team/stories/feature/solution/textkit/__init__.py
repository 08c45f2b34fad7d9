"""Small things to do with text."""

from textkit.filters import FILTERS, applied
from textkit.shortening import shortened
from textkit.slugs import slug

__all__ = ["FILTERS", "applied", "shortened", "slug"]
