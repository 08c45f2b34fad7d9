"""Faults by chance: the same ones for the same seed, and a client that tries again gets through."""

from __future__ import annotations

import time

import pytest

from antiphon import Conversation
from antiphon.errors import AntiphonError, OptionError, StreamCut
from antiphon.fakes import Fake, Faults, echo
from antiphon.providers import NO_RETRY, Retry

MODEL = "anthropic/claude-sonnet-5-5"


def outcomes(faults: Faults, count: int = 40) -> list[str]:
    """How each of some requests ends that is not tried again."""
    with Fake(echo, faults=faults) as fake:
        model = fake.connect(MODEL, retry=NO_RETRY)
        return [outcome(model) for _ in range(count)]


def outcome(model: object) -> str:
    try:
        model.chat(Conversation().add_user("Hi."))  # type: ignore[attr-defined]
    except AntiphonError as error:
        return type(error).__name__
    return "answer"


def test_the_same_seed_makes_the_same_faults() -> None:
    faults = Faults(rate_limits=0.2, errors=0.2, seed=3)
    first = outcomes(faults)
    assert first == outcomes(faults)
    assert {"RateLimited", "ServerFailed", "answer"} == set(first)
    assert first != outcomes(Faults(rate_limits=0.2, errors=0.2, seed=4))


def test_failures_in_a_row_have_an_end() -> None:
    assert outcomes(Faults(errors=1.0), 6) == ["ServerFailed", "ServerFailed", "answer"] * 2
    assert outcomes(Faults(rate_limits=1.0, in_a_row=1), 4) == ["RateLimited", "answer"] * 2


def test_a_client_that_tries_again_plays_the_script_in_order() -> None:
    texts = [f"Answer {number}." for number in range(12)]
    with Fake(texts, faults=Faults(rate_limits=0.3, errors=0.3, retry_after=0, seed=1)) as fake:
        model = fake.connect(MODEL, retry=Retry(first_wait=0))
        assert [model.chat(Conversation().add_user("Hi.")).text for _ in texts] == texts
        assert len(fake.requests) > len(texts)


def test_a_stream_breaks_off_and_its_answer_comes_again() -> None:
    with Fake(["A long story of a fox."], faults=Faults(cuts=1.0, in_a_row=1)) as fake:
        model = fake.connect(MODEL, retry=NO_RETRY)
        conversation = Conversation().add_user("Tell.")
        with pytest.raises(StreamCut), model.stream(conversation) as stream:
            list(stream)
        with model.stream(conversation) as stream:
            list(stream)
        assert stream.reply.text == "A long story of a fox."


def test_the_first_byte_is_late() -> None:
    with Fake(echo, faults=Faults(slow=1.0, slow_seconds=0.3)) as fake:
        begun = time.monotonic()
        fake.connect(MODEL).chat(Conversation().add_user("Hi."))
        assert time.monotonic() - begun >= 0.3
    with Fake(echo, faults=Faults(latency=0.2)) as fake:
        begun = time.monotonic()
        fake.connect(MODEL).chat(Conversation().add_user("Hi."))
        assert time.monotonic() - begun >= 0.2


@pytest.mark.parametrize(
    "given", [{"errors": -0.1}, {"errors": True}, {"errors": 0.6, "cuts": 0.6}, {"seed": "x"}, {"slow_seconds": None}]
)
def test_shares_are_checked(given: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        Faults(**given)  # type: ignore[arg-type]


def test_faults_are_faults() -> None:
    with pytest.raises(OptionError, match="Faults"):
        Fake(faults=0.5)  # type: ignore[arg-type]
