"""Requests of many conversations that begin alike: one goes first, the others find the beginning in the cache."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock

from antiphon.conversation import Origin
from antiphon.wire import Target
from antiphon.wire.prompt import BYTES_PER_TOKEN, Prompt

#: How long a request waits for another one, in seconds, and how often it looks.
PATIENCE = 60.0
INTERVAL = 0.02
#: How long a beginning that nobody uses is taken to be in the cache, in seconds.
_KEPT = 240.0
#: How many prompts are compared, and how many bytes of their messages.
_MOST = 32
_COMPARED = 1_000_000
#: What is worth waiting for where the provider caches prompts of any size, in tokens.
_LEAST = 1024


@dataclass(slots=True, eq=False)
class Opening:
    """The first prompt of a conversation; `is_sent` once the provider has begun to answer it, or failed to."""

    origin: Origin
    prompt: Prompt
    head: bytes
    head_bytes: int
    messages: bytes
    used_at: float = 0.0
    is_sent: bool = False


class Prewarming:
    """Lets the first of several requests that begin alike go alone until its answer begins.

    Models share one: `model.prewarming = Prewarming()`. It is safe for threads and for event loops.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._under_way: list[Opening] = []
        self._sent: deque[Opening] = deque(maxlen=_MOST)

    def enter(self, opening: Opening, target: Target) -> Opening | None:
        """Note that a request is sent now. Return the one to wait for instead, if its beginning is to be cached."""
        now = time.monotonic()
        with self._lock:
            known = [each for each in self._sent if now - each.used_at < _KEPT]
            nearest = max(known, key=lambda each: _shared(each, opening, target), default=None)
            cached = 0 if nearest is None else _shared(nearest, opening, target)
            if nearest is not None and cached:
                nearest.used_at = now
            least = target.facts.cache.min or _LEAST
            for each in self._under_way[:_MOST]:
                if _shared(each, opening, target) - cached >= least:
                    return each
            self._under_way.append(opening)
            return None

    def leave(self, opening: Opening) -> None:
        """Note that the answer to a request has begun, or will not come."""
        with self._lock:
            if opening in self._under_way:
                self._under_way.remove(opening)
                opening.used_at, opening.is_sent = time.monotonic(), True
                self._sent.append(opening)


def make_opening(prompt: Prompt | None, target: Target) -> Opening | None:
    """Return a prompt as it is compared with others; nothing where the provider is not known to cache it."""
    known = target.facts.cache
    if prompt is None or known.kind not in ("marks", "auto") or known.min is None:
        return None
    if prompt.tokens < (known.min or _LEAST):
        return None
    head = "\0".join(f"{name}\0{text}" for name, text in prompt.head.items()).encode()
    messages = b"".join(prompt.messages.pieces)[:_COMPARED] if known.kind == "auto" else b""
    return Opening(target.origin, prompt, sha256(head).digest(), len(head), messages)


def _shared(before: Opening, opening: Opening, target: Target) -> int:
    """Return about how many tokens of a prompt the cache has once it has an earlier one."""
    if before.origin != opening.origin or before.head != opening.head:
        return 0
    if target.facts.cache.kind == "auto":
        return (before.head_bytes + _common(before.messages, opening.messages)) // BYTES_PER_TOKEN
    # The cache is marked behind the head and at the end of the earlier prompt.
    is_whole = opening.prompt.find_change(before.prompt) is None
    return before.prompt.tokens if is_whole else before.head_bytes // BYTES_PER_TOKEN


def _common(one: bytes, other: bytes) -> int:
    """Return how many bytes two texts have in common at their beginning."""
    most, low, step = min(len(one), len(other)), 0, 256
    while step:
        if low + step <= most and one[low : low + step] == other[low : low + step]:
            low, step = low + step, step * 2
        else:
            step //= 2
    return low
