"""The prompt cache of a fake: which tokens of a prompt were cached, and why others were not."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from antiphon.facts import CacheFacts
from antiphon.fakes.prompt_pieces import PromptPiece, RenderedPrompt

_DEFAULT_LOOKBACK = 20
_DEFAULT_MIN_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class CacheUsage:
    """The tokens of a prompt that were read from the cache, and those written to it by lifetime."""

    read: int = 0
    written: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(slots=True)
class PromptCache:
    """The prompt prefixes that a fake has seen, and its prompts by the id of the answer."""

    prefixes: dict[bytes, float] = field(default_factory=dict[bytes, float])
    prompts: dict[str, RenderedPrompt] = field(default_factory=dict[str, RenderedPrompt])

    def count_marked(
        self, prompt: RenderedPrompt, facts: CacheFacts, *, moving: str = "", delay: float = 0.0
    ) -> CacheUsage:
        """Count a prompt with cache marks and store the marked prefixes; `moving` is the lifetime of a mark
        at the end.
        """
        pieces = prompt.pieces
        steps = list(_iter_prefixes(prompt.heads["model"], pieces))
        marks = [(at, piece.mark) for at, piece in enumerate(pieces) if piece.mark]
        if moving and pieces:
            marks.append((len(pieces) - 1, moving))
        least, lookback = facts.min or _DEFAULT_MIN_TOKENS, facts.lookback or _DEFAULT_LOOKBACK
        read = max((self._find(steps, at, lookback, least) for at, _ in marks), default=0)
        written: dict[str, int] = {}
        before = read
        for at, ttl in marks:
            beginning, tokens = steps[at]
            if tokens >= least and tokens > before:
                written[ttl] = written.get(ttl, 0) + tokens - before
                before = tokens
            if tokens >= least:
                self._remember(beginning, delay)
        return CacheUsage(read, written)

    def _find(self, steps: list[tuple[bytes, int]], at: int, lookback: int, least: int) -> int:
        for beginning, tokens in reversed(steps[max(at - lookback, 0) : at + 1]):
            if self._has(beginning) and tokens >= least:
                return tokens
        return 0

    def count_automatic(self, prompt: RenderedPrompt, facts: CacheFacts, *, delay: float = 0.0) -> CacheUsage:
        """Count a prompt of an API that caches automatically, and store all its prefixes."""
        steps = list(_iter_prefixes(prompt.heads["model"], prompt.pieces))
        least = facts.min or _DEFAULT_MIN_TOKENS
        read = max((tokens for beginning, tokens in steps if self._has(beginning)), default=0)
        for beginning, _ in steps:
            self._remember(beginning, delay)
        return CacheUsage(read if read >= least else 0)

    def _has(self, beginning: bytes) -> bool:
        return self.prefixes.get(beginning, float("inf")) <= time.monotonic()

    def _remember(self, beginning: bytes, delay: float) -> None:
        self.prefixes[beginning] = min(time.monotonic() + delay, self.prefixes.get(beginning, float("inf")))

    def find_difference(self, earlier: str, prompt: RenderedPrompt) -> tuple[str, int] | None:
        """Return the part of a prompt that differs from that of an earlier answer, and the tokens from
        there; None if equal.
        """
        before = self.prompts[earlier]
        for name, key in prompt.heads.items():
            if before.heads.get(name) != key:
                return name, sum(piece.tokens for piece in prompt.pieces)
        same = [old.key == new.key for old, new in zip(before.messages, prompt.messages, strict=False)]
        if len(same) == len(before.messages) and all(same):
            return None
        at = same.index(False) if False in same else len(same)
        return "messages", sum(piece.tokens for piece in prompt.messages[at:])


def _iter_prefixes(model: bytes, pieces: list[PromptPiece]) -> Iterator[tuple[bytes, int]]:
    """Yield, for the end of each piece, the hash and the tokens of everything up to there."""
    running, tokens = hashlib.sha256(model), 0
    for piece in pieces:
        running.update(piece.key)
        tokens += piece.tokens
        yield running.digest(), tokens
