"""Rate limits that processes share in a file: requests and tokens per minute, and what is told of a wait."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from antiphon import Session, Store
from antiphon.durable import RateLimits
from antiphon.effects import AskModel, EffectCall, ModelReplied, Outcome, ReadClock
from antiphon.errors import NotReadyError
from antiphon.fakes import Answer, Fake
from antiphon.session import RequestDelayed, RequestStarted
from antiphon.terminal import LiveView
from antiphon.views import RunViews, event_json
from antiphon.wire import Reply, Usage
from tests.session.scripted import Scripted

SONNET = "anthropic/claude-sonnet-5"
ASKED = EffectCall("1", AskModel(SONNET, "", ()))
OTHER = EffectCall("1", AskModel("anthropic/claude-opus-4-5", "", ()))


def replied(tokens: int) -> Outcome:
    return Outcome(ModelReplied(Reply((), "end", usage=Usage(tokens // 2, tokens - tokens // 2))))


@pytest.fixture(params=["file", "memory", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "memory":
        return ":memory:"
    return str(tmp_path / "a.db") if request.param == "file" else request.getfixturevalue("postgres")


def test_requests_of_all_that_share_it_are_apart(location: str, tmp_path: Path):
    name = f"*sonnet*{tmp_path.name}"
    asked = EffectCall("1", AskModel(f"x/sonnet{tmp_path.name}", "", ()))
    limits = [RateLimits(location, {name: 1}) for _ in range(2)]
    began = time.monotonic()
    delays = [limits[number % 2].delay(asked) for number in range(4)]
    elapsed = time.monotonic() - began
    assert delays[0] == 0
    for number, delay in enumerate(delays):
        assert number * 60 - elapsed - 0.01 <= delay <= number * 60 + 0.01
    assert limits[0].delay(EffectCall("1", AskModel("other", "", ()))) == 0
    assert limits[0].delay(EffectCall("1", ReadClock())) == 0


def test_tokens_of_a_minute_may_be_used_at_once_and_then_wait(location: str, tmp_path: Path):
    # The database in memory belongs to the process, so that names are those of this test.
    model = f"x/{tmp_path.name}"
    asked = EffectCall("1", AskModel(model, "", ()))
    first, second = [RateLimits(location, tokens_per_minute={model: 600}) for _ in range(2)]
    began = time.monotonic()
    assert first.delay(asked) <= 0
    first.handle_performed(asked, replied(500))
    assert second.delay(asked) <= 0
    second.handle_performed(asked, replied(1_000))
    delay = first.delay(asked)
    assert 90 - (time.monotonic() - began) - 0.01 <= delay <= 90.01


def test_a_pattern_is_one_limit_for_all_its_models(tmp_path: Path):
    limits = RateLimits(tmp_path / "a.db", {"anthropic/*": 1}, tokens_per_minute={SONNET: 1})
    assert limits.delay(ASKED) == 0
    assert limits.delay(OTHER) > 50
    limits.handle_performed(OTHER, replied(1_000))
    limits.handle_performed(ASKED, Outcome(error=ValueError("failed")))
    assert limits.delay(ASKED) < 130


def test_another_process_shares_it(tmp_path: Path):
    limits = RateLimits(tmp_path / "a.db", {"*": 1})
    assert limits.delay(ASKED) == 0
    code = (
        "import sys; from antiphon.durable import RateLimits; from antiphon.effects import AskModel, EffectCall;"
        "print(RateLimits(sys.argv[1], {'*': 1}).delay(EffectCall('1', AskModel('m', '', ()))))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 0 < float(done.stdout) <= 60
    assert limits.delay(ASKED) > 60 - 60 + float(done.stdout)


def test_a_session_waits_and_tells_why(tmp_path: Path):
    limits = RateLimits(tmp_path / "a.db", {"*": 1_200})
    with Fake(["One.", "Two."]) as fake, limits.enforce():
        session = Session(fake.connect(SONNET))
        session.vibe("One?")
        # A busy machine may take longer than one wait, so reserve many moments ahead.
        for _ in range(60):
            limits.delay(EffectCall("1", AskModel("x", "", ())))
        run = session.start("Two?")
        assert run.wait() == "Two."
    events = list(run.events())
    (delayed,) = [each for each in events if isinstance(each.body, RequestDelayed)]
    assert (delayed.body.number, delayed.body.reason) == (1, f"the limit of requests per minute to {SONNET}")
    assert 0 < delayed.body.seconds <= 3.1
    assert event_json(delayed)["type"] == "request_delayed"
    started = next(each for each in events if isinstance(each.body, RequestStarted))
    assert started.seq < delayed.seq
    views = RunViews()
    for event in events[: events.index(delayed) + 1]:
        view = views.take(event)
    assert view.activity == "waiting for a rate limit"
    console = Console(record=True, width=160, force_terminal=False)
    with LiveView(console) as live:
        for event in events:
            live.show(event)
    assert "the limit of requests per minute" in console.export_text()


def test_tokens_of_a_session_count_once_although_it_is_replayed(tmp_path: Path):
    limits = RateLimits(tmp_path / "limits.db", tokens_per_minute={"*": 600})
    with Fake([Answer("One.", usage=(1_000, 200))]) as fake:
        for _ in range(3):
            with (
                limits.enforce(),
                Session(fake.connect(SONNET), store=Store(tmp_path / "a.db"), id="x") as session,
            ):
                assert session.vibe("One?") == "One."
    assert 0 < limits.delay(ASKED) <= 60


def test_a_saved_session_waits_and_is_not_suspended(tmp_path: Path):
    limits = RateLimits(tmp_path / "a.db", {"*": 6_000})
    with limits.enforce(), Session(Scripted("ho"), store=Store(tmp_path / "a.db"), id="x") as session:
        assert session.vibe("hi") == "ho"


@pytest.mark.parametrize("settings", [{"per_minute": {"x": 0}}, {"tokens_per_minute": {"x": -1}}])
def test_a_limit_is_more_than_nothing(settings: dict[str, Any]):
    with pytest.raises(NotReadyError, match="must be more than 0"):
        RateLimits(":memory:", **settings)
