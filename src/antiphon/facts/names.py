"""Normalisation of model names, so that complete names can be compared."""

from __future__ import annotations

import re
from functools import cache, lru_cache


@cache
def _compile_rewrites() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the patterns removed from a name, in this order. Compiled only for names unlike the table's."""
    patterns = (
        # Path-like spellings: `models/x`, `publishers/google/models/x`, an ARN; then the maker.
        (r"^(?:.*/)?(?:models|inference-profile|foundation-model)/", ""),
        (r"^.*/", ""),
        (r"^ft:([^:]+):.*$", r"\1"),
        # `us.anthropic.claude-…` and `anthropic.claude-…`, as Bedrock writes them.
        (r"^(?:(?:us|eu|apac|jp|au|ca|global|us-gov)\.)?[a-z][a-z0-9]*\.(?=[a-z])", ""),
        # Routes of OpenRouter, versions of Bedrock, dates, and the word for the newest one.
        (r":(?:free|nitro|floor|online|thinking|beta|extended|exacto)$", ""),
        (r"-v\d+(?::\d+)?$", ""),
        (r"(?:@(?:\d{8}|default|latest)|-\d{8}|-\d{4}-\d{2}-\d{2})$", ""),
        (r"-latest$", ""),
    )
    return tuple((re.compile(pattern), new) for pattern, new in patterns)


@lru_cache(maxsize=1024)
def normalize_model_name(name: str) -> str:
    """Return a model's name without provider, region, date and `-latest`, in lower case."""
    text = name.strip().lower()
    for pattern, new in _compile_rewrites():
        text = pattern.sub(new, text)
    return re.sub(r"(?<=\d)\.(?=\d)", "-", text) if text.startswith("claude") else text


def parse_maker(name: str) -> str:
    """Return the maker that a name states: `anthropic` in `anthropic/claude-…` or `us.anthropic.…`, or ""."""
    text = name.strip().lower()
    if "/" in text and not text.startswith(("models/", "publishers/", "projects/", "arn:")):
        return text.partition("/")[0]
    found = re.match(r"^(?:[a-z-]+\.)?([a-z]+)\.[a-z]", text)
    return found[1] if found else ""
