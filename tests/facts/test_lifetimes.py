"""The end of a model is told before it comes, and after."""

import warnings
from collections.abc import Iterator
from datetime import date, timedelta

import pytest

from antiphon import Conversation, connect
from antiphon.errors import NotFound
from antiphon.facts import Facts, ModelLifecycle, default_model, lookup_facts, register_model
from antiphon.facts.retirement import ModelRetirementWarning, describe_retirement
from antiphon.facts.statements import forget_stated_facts
from antiphon.fakes import Fail, Fake


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    forget_stated_facts()


@pytest.mark.parametrize(
    ("day", "told"),
    [
        (date(2026, 10, 11), ""),
        (date(2026, 10, 12), "openai/gpt-5 will be shut down on 2026-12-11; use openai/gpt-6-sol"),
        (date(2026, 12, 10), "openai/gpt-5 will be shut down on 2026-12-11; use openai/gpt-6-sol"),
        (date(2026, 12, 11), "openai/gpt-5 is retired since 2026-12-11; use openai/gpt-6-sol"),
    ],
)
def test_the_end_is_told_within_sixty_days(day: date, told: str):
    assert describe_retirement("openai", "gpt-5", today=day) == told


def test_a_model_without_an_end_and_one_without_a_date():
    assert describe_retirement("openai", "gpt-6-sol") == ""
    assert describe_retirement("anthropic", "claude-sonnet-4-0").endswith("is retired; use anthropic/claude-sonnet-5-5")


def test_connecting_warns_once():
    soon = date.today() + timedelta(days=30)
    register_model("vllm/ending", Facts(lifecycle=ModelLifecycle(retires=soon, replaced_by="next")))
    with pytest.warns(ModelRetirementWarning, match=f"vllm/ending will be shut down on {soon}; use vllm/next"):
        connect("vllm/ending")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        connect("vllm/ending")
        connect("vllm/lasting")


def test_a_404_after_the_end_says_so_and_one_before_it_does_not():
    gone = date.today() - timedelta(days=1)
    register_model("openai-chat/gone", Facts(lifecycle=ModelLifecycle(retires=gone, replaced_by="gpt-6-sol")))
    soon = date.today() + timedelta(days=1)
    register_model("openai-chat/going", Facts(lifecycle=ModelLifecycle(retires=soon)))
    with Fake([Fail(404), Fail(404)]) as fake, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        conversation = Conversation()
        conversation.add_user("Hello.")
        with pytest.raises(NotFound, match=f"openai-chat/gone is retired since {gone}; use openai-chat/gpt-6-sol"):
            fake.connect("openai-chat/gone").chat(conversation)
        with pytest.raises(NotFound, match="check the model's name"):
            fake.connect("openai-chat/going").chat(conversation)


def test_a_default_that_has_ended_is_replaced():
    assert default_model("openai") == "openai/gpt-6.1-sol"
    ended = ModelLifecycle(retires=date(2027, 1, 1), replaced_by="gpt-7")
    register_model("openai/gpt-6.1-sol", Facts(lifecycle=ended))
    assert default_model("openai", today=date(2026, 12, 31)) == "openai/gpt-6.1-sol"
    assert default_model("openai", today=date(2027, 1, 1)) == "openai/gpt-7"
    assert default_model("vllm") is None
    assert lookup_facts("openai", "gpt-6.1-sol").default_for == "openai"
