"""How long is waited before a request is made again, by what a provider asks for."""

from __future__ import annotations

from email.utils import formatdate
from typing import Any

import httpx2
import pytest

from antiphon import Conversation, connect
from antiphon.errors import RateLimited, RequestRejected
from antiphon.providers import NO_RETRY, Retry


def limited(**headers: str) -> RateLimited:
    """The error of a request that is answered with a 429 and these headers."""

    def answer(_: httpx2.Request) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx2.Response(429, headers=named, json={"error": {"message": "Slowly."}})

    model = connect("openai-chat/gpt-5.4", key="k", transport=httpx2.MockTransport(answer), retry=NO_RETRY)
    with pytest.raises(RateLimited) as caught:
        model.chat(Conversation().add_user("Hi"))
    return caught.value


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "2"}, 2.0),
        ({"retry_after": "0"}, 0.0),
        ({"retry_after": "0.5"}, 0.5),
        ({"retry_after_ms": "250", "retry_after": "9"}, 0.25),
        ({"retry_after": "-5"}, None),
        ({"retry_after_ms": "-5"}, None),
        ({"retry_after_ms": "-5", "retry_after": "3"}, 3.0),
        ({"retry_after": "1e9"}, None),
        ({"retry_after": "999999999999"}, None),
        ({"retry_after": "inf"}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "soon"}, None),
        ({"retry_after": formatdate(0, usegmt=True)}, 0.0),
        ({}, None),
    ],
)
def test_a_wait_that_makes_no_sense_is_not_taken(headers: dict[str, str], seconds: float | None):
    assert limited(**headers).retry_after == seconds


def waits(attempt: int, error: Any, **settings: Any) -> list[float | None]:
    return [Retry(**settings).wait(attempt, error, 0.0) for _ in range(200)]


@pytest.mark.parametrize(("attempt", "most"), [(1, 1.0), (2, 2.0), (3, 4.0), (4, 5.0)])
def test_waits_double_up_to_a_limit_and_are_never_all_the_same(attempt: int, most: float):
    made = waits(attempt, limited(), first_wait=1.0, longest_wait=5.0)
    assert all(each is not None and most / 2 <= each <= most for each in made)
    assert len(set(made)) > 100


def test_what_a_provider_asks_for_is_waited_and_a_little_more():
    made = waits(1, limited(retry_after="7"), first_wait=1.0)
    assert all(each is not None and 7.0 < each <= 7.1 for each in made)
    assert len(set(made)) > 100


def test_the_deadline_and_the_number_of_attempts_end_the_tries():
    error = limited(retry_after="7")
    assert Retry(deadline=7.0).wait(1, error, 0.0) is None
    assert Retry(deadline=20.0).wait(1, error, 13.0) is None
    assert Retry(deadline=20.0).wait(1, error, 12.0) is not None
    assert Retry(attempts=2).wait(2, error, 0.0) is None
    assert Retry().wait(1, RequestRejected("no"), 0.0) is None
