"""Rows that begin alike: one goes first, and the others read the beginning from the provider's cache."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

import antiphon as library
from antiphon.conversation import Conversation
from antiphon.durable import Journal
from antiphon.errors import ProviderError
from antiphon.fakes import Answer, Fail, Fake
from antiphon.fakes.script import Received
from antiphon.lang.runtime import Host
from antiphon.providers import NO_RETRY
from antiphon.providers.model import Model
from antiphon.providers.prewarming import Prewarming

RULES = "Answer with one word. " * 800
PROGRAM = f'let n: number = 0\nmodel m = {{ name: "default", system: "{RULES}" }}\nvibe `Name the number {{n}}.` m\n'
CLAUDE, GPT, GEMINI = "anthropic/claude-sonnet-5-5", "openai/gpt-5", "google/gemini-3-flash"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs.db"))
    monkeypatch.chdir(tmp_path)


def slow(_: Received) -> Answer:
    return Answer("ok", delay=0.2)


def asked(fake: Fake, model: str, prewarming: Prewarming | None, *, system: str = RULES, count: int = 5) -> list[Any]:
    """The replies to so many conversations that begin together, or their errors."""

    async def all_of_them() -> list[Any]:
        one = fake.connect(model, retry=NO_RETRY)
        one.prewarming = prewarming
        talks = [Conversation(system) for _ in range(count)]
        for number, talk in enumerate(talks):
            talk.add_user(f"Name the number {number}.")
        async with one:
            return await asyncio.gather(*(one.achat(talk) for talk in talks), return_exceptions=True)

    return asyncio.run(all_of_them())


def read(replies: list[Any]) -> list[int]:
    return sorted(reply.usage.cache_read_tokens or 0 for reply in replies)


@pytest.mark.parametrize("model", [CLAUDE, GPT, GEMINI])
def test_all_but_the_first_read_the_beginning_from_the_cache(model: str):
    with Fake(slow) as fake:
        first, *others = read(asked(fake, model, Prewarming()))
    assert first == 0
    assert all(tokens > 4000 for tokens in others)


@pytest.mark.parametrize("model", [CLAUDE, GPT, GEMINI])
def test_without_it_each_one_pays_for_the_beginning(model: str):
    with Fake(slow) as fake:
        assert read(asked(fake, model, None)) == [0] * 5


def test_a_beginning_that_is_too_short_for_the_cache_is_not_waited_for():
    all_there = threading.Barrier(5)

    def answer_together(_: Received) -> str:
        all_there.wait(60)
        return "ok"

    with Fake(answer_together) as fake:
        assert len(read(asked(fake, CLAUDE, Prewarming(), system="Be brief."))) == 5


def test_when_the_first_fails_the_others_go_on_together():
    steps: list[Any] = [Fail(500), *[Answer("ok", delay=0.1)] * 4]
    with Fake(steps) as fake:
        replies = asked(fake, CLAUDE, Prewarming())
    assert [isinstance(each, ProviderError) for each in replies] == [True, False, False, False, False]


def test_a_first_request_that_is_given_up_keeps_nobody_waiting():
    async def talk_to(model: Model) -> str:
        given_up, kept = Conversation(RULES), Conversation(RULES)
        given_up.add_user("1")
        kept.add_user("2")
        first = asyncio.create_task(model.achat(given_up))
        await asyncio.sleep(0.1)
        second = asyncio.create_task(model.achat(kept))
        await asyncio.sleep(0.1)
        first.cancel()
        return (await asyncio.wait_for(second, 5)).text

    with Fake([Answer("late", delay=30), "ok"]) as fake:
        model = fake.connect(CLAUDE)
        model.prewarming = Prewarming()
        assert asyncio.run(talk_to(model)) == "ok"


def test_rows_share_their_beginning_and_keep_it_for_an_hour(tmp_path: Path):
    with Fake(slow) as fake:
        program = tmp_path / "p.vibe"
        program.write_text(PROGRAM, encoding="utf-8")

        def connect(name: str, **_: Any) -> Model:
            return fake.connect(name)

        def host(performers: Any) -> Host:
            return Host(
                write=lambda _: None,
                performers=performers,
                default_model=lambda: CLAUDE,
                connect=connect,
            )

        rows = [{"n": number} for number in range(6)]
        results = list(library.map(program, rows, journal=Journal(), hosts=host))
        assert [each.number for each in results] == [1, 2, 3, 4, 5, 6]
        assert [each.outcome for each in results] == ["done"] * 6, results
        bodies = [each.body for each in fake.requests]
        costs = [each.cost or 0 for each in results]
    assert [body["system"][0]["cache_control"]["ttl"] for body in bodies] == ["1h"] * 6
    assert [body["cache_control"] for body in bodies] == [{"type": "ephemeral"}] * 6
    # One row writes the beginning, and the others read it.
    assert max(costs) > 5 * min(costs)
    assert len([cost for cost in costs if cost > 2 * min(costs)]) == 1


def test_a_lifetime_that_is_asked_for_stays():
    with Fake(slow) as fake:
        model = fake.connect(CLAUDE, cache="5m")
        model.prewarming = Prewarming()
        talk = Conversation(RULES)
        talk.add_user("1")
        model.chat(talk)
        assert fake.requests[0].body["system"][0]["cache_control"]["ttl"] == "5m"
