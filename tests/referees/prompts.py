"""Prompts in the order in which an API renders them, and what each request pays for them.

A conversation is known by its model and by the text of its first user message: no header names it, and an append-only
client never changes that text. Forks and undone turns therefore count as the same conversation.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

#: The smallest documented minimum of a cached prompt is 512 tokens of about four bytes.
CACHE_MINIMUM = 2048


def render(value: Any) -> str:
    """Return the canonical JSON of a piece, without cache marks."""
    return json.dumps(strip_marks(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def strip_marks(value: Any) -> Any:
    """Return the value without `cache_control` and `prompt_cache_breakpoint`, at any depth."""
    if isinstance(value, dict):
        return {k: strip_marks(v) for k, v in value.items() if k not in ("cache_control", "prompt_cache_breakpoint")}
    if isinstance(value, list):
        return [strip_marks(each) for each in value]
    return value


@dataclass(slots=True)
class Ledger:
    """Count prefix breaks and the bytes that requests pay for."""

    breaks: int = 0
    #: Those of them behind a prompt that is below every vendor's cache minimum, so that nothing was lost.
    small: int = 0
    _paid: dict[tuple[str, str], int] = field(default_factory=dict)
    _prompts: dict[tuple[str, str], list[tuple[str, ...]]] = field(default_factory=dict)
    #: For each break: the conversation, the number of equal pieces, and the first piece that differs.
    found: list[tuple[str, int, str, str]] = field(default_factory=list)

    def note(self, model: str, first_words: str, pieces: Sequence[str]) -> None:
        """Compare a prompt with those of its conversation, and keep it."""
        prompt = tuple(pieces)
        key = (model, first_words)
        earlier = self._prompts.setdefault(key, [])
        if earlier:
            same = _count_equal(earlier[-1], prompt)
            if same < len(earlier[-1]):
                self.breaks += 1
                self.small += _count_bytes(earlier[-1]) < CACHE_MINIMUM
                now = prompt[same] if same < len(prompt) else ""
                self.found.append((first_words[:40], same, earlier[-1][same][:200], now[:200]))
        kept = max((_count_equal(each, prompt) for each in earlier), default=0)
        self._paid[key] = self._paid.get(key, 0) + _count_bytes(prompt[kept:])
        earlier.append(prompt)

    @property
    def factor(self) -> float:
        """Return the bytes paid for each byte of the last prompts of all conversations; 1.0 is the least."""
        last = sum(_count_bytes(prompts[-1]) for prompts in self._prompts.values())
        return sum(self._paid.values()) / last if last else 1.0


def _count_equal(before: Sequence[str], after: Sequence[str]) -> int:
    count = 0
    for old, new in zip(before, after, strict=False):
        if old != new:
            break
        count += 1
    return count


def _count_bytes(pieces: Sequence[str]) -> int:
    return sum(len(piece.encode()) for piece in pieces)
