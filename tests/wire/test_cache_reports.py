"""Reports on the provider's cache, and headers that a request adds to those of its connection."""

from __future__ import annotations

import pytest

from antiphon.conversation import Conversation
from antiphon.facts import CacheFacts
from antiphon.wire import Options, Target, Usage, wire
from antiphon.wire.cache import SentHistory, SentPrompt, build_cache_report
from antiphon.wire.reply_state import ReplyState
from antiphon.wire.request import merge_headers

KNOWN = CacheFacts(min=100, ttls=("5m", "1h"))


def sent(at: float, tokens: int | None = 1_000) -> SentPrompt:
    conversation = Conversation()
    conversation.add_user("Hi.")
    target = Target("anthropic", "anthropic", "claude-sonnet-5")
    prompt = wire("anthropic").encode(conversation, target, Options()).prompt
    assert prompt is not None
    return SentPrompt(prompt, at, tokens, "r", False, SentHistory())


@pytest.mark.parametrize(
    ("idle", "ttl", "outcome"),
    [
        (299.0, "", "missed"),
        (300.0, "", "missed"),
        (300.5, "", "expired"),
        (301.0, "1h", "missed"),
        (3_600.0, "1h", "missed"),
        (3_601.0, "1h", "expired"),
        (10_000.0, "forever", "missed"),
    ],
)
def test_a_cache_expires_after_its_lifetime(idle: float, ttl: str, outcome: str) -> None:
    report = build_cache_report(sent(50.0), None, Usage(1_000, 1, 0), ReplyState(), KNOWN, 50.0 + idle, ttl)
    assert report is not None
    assert (report.outcome, report.idle) == (outcome, idle)


@pytest.mark.parametrize(
    ("tokens", "read", "outcome"),
    [(1_000, 900, "hit"), (1_000, 899, "missed"), (99, 0, "too_short"), (100, 0, "missed"), (None, 0, "first")],
)
def test_a_hit_may_lack_a_tenth(tokens: int | None, read: int, outcome: str) -> None:
    report = build_cache_report(sent(0.0, tokens), None, Usage(1_000, 1, read), ReplyState(), KNOWN, 1.0, "")
    assert report is not None
    assert report.outcome == outcome


def test_words_of_a_list_header_are_sent_once() -> None:
    given = {"Anthropic-Beta": "a, b", "x-other": "a"}
    assert merge_headers(given, {"anthropic-beta": "b,c , a,", "X-Other": "b"}) == {
        "anthropic-beta": "a,b,c",
        "x-other": "b",
    }
    assert merge_headers({}, {"anthropic-beta": "b"}) == {"anthropic-beta": "b"}
