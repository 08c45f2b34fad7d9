"""Failures are told apart by what the providers say."""

import pytest

from antiphon import Conversation
from antiphon.errors import ContextOverflow, RequestRejected
from antiphon.fakes import Fail, Fake


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("anthropic/claude-sonnet-5", "prompt is too long: 210000 tokens > 200000 maximum"),
        (
            "google/gemini-3-pro",
            "The input token count (210000) exceeds the maximum number of tokens allowed (200000).",
        ),
    ],
)
def test_a_conversation_that_is_too_long_is_recognised_by_words_and_its_size_is_known(
    antiphon_fake: Fake, model: str, words: str
) -> None:
    conversation = Conversation()
    conversation.add_user("Hello.")
    antiphon_fake.play(Fail(400, words))
    with pytest.raises(ContextOverflow) as caught:
        antiphon_fake.connect(model).chat(conversation)
    assert (caught.value.tokens, caught.value.limit) == (210_000, 200_000)
    antiphon_fake.play(Fail(400, "the prompt is bad"))
    with pytest.raises(RequestRejected) as other:
        antiphon_fake.connect(model).chat(conversation)
    assert not isinstance(other.value, ContextOverflow)
