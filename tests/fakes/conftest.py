from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from antiphon.fakes import Fake

HEADERS = {
    "x-api-key": "key",
    "authorization": "Bearer key",
    "x-goog-api-key": "key",
    "anthropic-version": "2023-06-01",
}


@pytest.fixture(scope="session")
def served() -> Iterator[Fake]:
    """One fake for all tests: clients of the vendors' SDKs are dear."""
    with Fake() as fake:
        yield fake


@pytest.fixture
def fake(served: Fake) -> Iterator[Fake]:
    served.requests.clear()
    yield served
    assert served._script.take(None) is None, "the test did not use up its script"


@pytest.fixture(scope="session")
def http(served: Fake) -> Iterator[httpx2.Client]:
    """A plain client with every API's key."""
    with httpx2.Client(base_url=served.url, headers=HEADERS) as client:
        yield client
