"""The cache of prompts: what of a prompt was seen before, counted in tokens, and why something was not."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from antiphon.facts import Cache
from antiphon.fakes.prompts import Piece, Prompt

_LOOKBACK = 20
_LEAST = 1024


@dataclass(frozen=True, slots=True)
class Counted:
    """The tokens of a prompt that were read from the cache, and those written to it by lifetime."""

    read: int = 0
    written: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(slots=True)
class PromptCache:
    """The beginnings of prompts that a fake has seen, and its last prompts by the id of the answer.

    A beginning can be read once an answer to it has begun: each is kept with the time of that.
    """

    beginnings: dict[bytes, float] = field(default_factory=dict[bytes, float])
    prompts: dict[str, Prompt] = field(default_factory=dict[str, Prompt])

    def count_marked(self, prompt: Prompt, facts: Cache, *, moving: str = "", delay: float = 0.0) -> Counted:
        """Count a prompt with marks; `moving` is the lifetime of a mark on the last piece. Remember what is marked.

        The answer begins after a `delay` in seconds.
        """
        pieces = prompt.pieces
        steps = list(_steps(prompt.heads["model"], pieces))
        marks = [(at, piece.mark) for at, piece in enumerate(pieces) if piece.mark]
        if moving and pieces:
            marks.append((len(pieces) - 1, moving))
        least, lookback = facts.min or _LEAST, facts.lookback or _LOOKBACK
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
        return Counted(read, written)

    def _find(self, steps: list[tuple[bytes, int]], at: int, lookback: int, least: int) -> int:
        for beginning, tokens in reversed(steps[max(at - lookback, 0) : at + 1]):
            if self._has(beginning) and tokens >= least:
                return tokens
        return 0

    def count_automatic(self, prompt: Prompt, facts: Cache, *, delay: float = 0.0) -> Counted:
        """Count a prompt of an API that caches by itself, and remember all of it."""
        steps = list(_steps(prompt.heads["model"], prompt.pieces))
        least = facts.min or _LEAST
        read = max((tokens for beginning, tokens in steps if self._has(beginning)), default=0)
        for beginning, _ in steps:
            self._remember(beginning, delay)
        return Counted(read if read >= least else 0)

    def _has(self, beginning: bytes) -> bool:
        return self.beginnings.get(beginning, float("inf")) <= time.monotonic()

    def _remember(self, beginning: bytes, delay: float) -> None:
        self.beginnings[beginning] = min(time.monotonic() + delay, self.beginnings.get(beginning, float("inf")))

    def find_difference(self, earlier: str, prompt: Prompt) -> tuple[str, int] | None:
        """Return what of a prompt differs from the one before an answer, and the tokens behind; None where nothing."""
        before = self.prompts[earlier]
        for name, key in prompt.heads.items():
            if before.heads.get(name) != key:
                return name, sum(piece.tokens for piece in prompt.pieces)
        same = [old.key == new.key for old, new in zip(before.messages, prompt.messages, strict=False)]
        if len(same) == len(before.messages) and all(same):
            return None
        at = same.index(False) if False in same else len(same)
        return "messages", sum(piece.tokens for piece in prompt.messages[at:])


def _steps(model: bytes, pieces: list[Piece]) -> Iterator[tuple[bytes, int]]:
    """Yield, for the end of each piece, the hash of all up to there and its tokens."""
    running, tokens = hashlib.sha256(model), 0
    for piece in pieces:
        running.update(piece.key)
        tokens += piece.tokens
        yield running.digest(), tokens
