"""Spellings of other languages, and the hints that name what to write."""
