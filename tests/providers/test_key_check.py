"""A key is tried at its provider before it is stored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from antiphon.errors import AuthenticationFailed, ConfigurationError, ProviderError
from antiphon.fakes import Fail, Fake
from antiphon.providers.key_check import check_key_works
from antiphon.providers.registry import PROVIDERS, Provider

KEY = "sk-of-the-tests-1234567890"


def at(fake: Fake, name: str) -> Provider:
    return replace(PROVIDERS[name], url=fake.base_url(PROVIDERS[name].api))


@pytest.mark.parametrize("name", ["anthropic", "openai", "openai-chat", "google", "google-interactions", "mistral"])
def test_a_key_that_the_provider_accepts_passes_and_costs_no_answer(antiphon_fake: Fake, name: str):
    check_key_works(at(antiphon_fake, name), KEY, {})
    assert antiphon_fake.requests == []


@pytest.mark.parametrize(("name", "status"), [("anthropic", 401), ("openai", 401), ("google", 400)])
def test_a_rejected_key_is_told_in_the_words_of_the_provider_without_the_key(
    antiphon_fake: Fake, name: str, status: int
):
    antiphon_fake.play(Fail(status, f"API key {KEY} not valid"))
    with pytest.raises(AuthenticationFailed) as failed:
        check_key_works(at(antiphon_fake, name), KEY, {})
    assert str(failed.value) == f"{name} rejects this key: API key [redacted] not valid"


@pytest.mark.parametrize("status", [403, 404, 429, 500])
def test_other_answers_do_not_tell(antiphon_fake: Fake, status: int):
    antiphon_fake.play(Fail(status))
    with pytest.raises(ProviderError) as failed:
        check_key_works(at(antiphon_fake, "openai"), KEY, {})
    assert failed.value.status == status  # type: ignore[attr-defined]


def test_an_address_that_nobody_answers_at_does_not_tell():
    with pytest.raises(ProviderError, match="the connection to openai at"):
        check_key_works(replace(PROVIDERS["openai"], url="http://127.0.0.1:1/v1"), KEY, {})
    with pytest.raises(ConfigurationError, match="azure has no address"):
        check_key_works(PROVIDERS["azure"], KEY, {})
