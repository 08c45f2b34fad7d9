"""Images are looked at before they are sent: one that a provider refuses would spoil the whole conversation."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Any

import pytest

from antiphon import Conversation, ToolCall, ToolSpec, connect
from antiphon.conversation import Image
from antiphon.errors import ContentError
from antiphon.facts import Facts, register_model
from antiphon.fakes import Fake

MODELS = [
    "anthropic/claude-sonnet-5",
    "openai-chat/gpt-4o",
    "openai/gpt-5",
    "google/gemini-3-pro",
    "google-interactions/gemini-3.5-flash",
]
every_model = pytest.mark.parametrize("name", MODELS)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
JPEG = b"\xff\xd8\xff\xe0" + bytes(20)
WEBP = b"RIFF\0\0\0\0WEBPVP8 " + bytes(20)


def image(content: bytes, kind: str) -> Image:
    return Image(b64encode(content).decode(), f"image/{kind}")


WRONG = [
    (image(JPEG, "png"), "it is called image/png, but its bytes are image/jpeg; give it that type"),
    (image(JPEG, "jpg"), "image/jpeg; give it that type"),
    (image(PNG, "webp"), "image/png; give it that type"),
    (image(WEBP, "svg+xml"), "image/webp; give it that type"),
    (image(b"WEBP" + bytes(20), "webp"), "bytes are none"),
    (image(b"\0\0\0\x20ftypavif" + bytes(20), "png"), "image/avif; give it that type"),
    (image(b"ftypavif" + bytes(20), "avif"), "bytes are none"),
    (image(b"\0\0\0\x20ftypheic" + bytes(20), "png"), "image/heic; give it that type"),
    (image(b"<html>", "png"), "it is called image/png, but its bytes are none; was it read whole"),
    (image(b"hi", "gif"), "bytes are none"),
    (image(b"<svg/>", "svg+xml"), "takes png, jpeg, .* and not image/svg.xml; convert it"),
]


def with_result(shown: Image) -> Conversation:
    conversation = Conversation(tools=[ToolSpec("look")])
    conversation.add_user("Look.")
    conversation.add_assistant(ToolCall("c1", "look"))
    conversation.add_tool_result("c1", ["Here:", shown])
    return conversation


@every_model
@pytest.mark.parametrize(("wrong", "why"), WRONG)
def test_a_false_image_of_the_user_is_refused_and_nothing_is_lost(
    antiphon_fake: Fake, name: str, wrong: Image, why: str
) -> None:
    antiphon_fake.play("Good day.", "Fine.")
    model = antiphon_fake.connect(name)
    conversation = Conversation()
    conversation.add_user("Hello.")
    model.chat(conversation)
    conversation.add_user(["What is this?", wrong])
    with pytest.raises(ContentError, match=why) as caught:
        model.chat(conversation)
    assert "`conversation.undo()` takes it back" in str(caught.value)
    with pytest.raises(ContentError):
        model.stream(conversation)
    assert len(antiphon_fake.requests) == 1
    conversation.undo()
    conversation.add_user("Never mind.")
    assert model.chat(conversation).text == "Fine."


@every_model
@pytest.mark.parametrize(("wrong", "why"), WRONG)
def test_a_tools_false_image_is_a_line_that_says_why(antiphon_fake: Fake, name: str, wrong: Image, why: str) -> None:
    antiphon_fake.play("I cannot see it.")
    model = antiphon_fake.connect(name)
    conversation = with_result(wrong)
    body = model.request(conversation).decode()
    assert wrong.data not in body
    assert re.search(rf"\[an image that is not shown: .*{why}", body)
    assert model.chat(conversation).text


@every_model
@pytest.mark.parametrize("good", [image(PNG, "png"), image(JPEG, "jpeg"), image(WEBP, "webp"), image(PNG, "PNG")])
def test_a_true_image_is_sent_as_it_is(name: str, good: Image) -> None:
    model = connect(name, key="any")
    conversation = Conversation()
    conversation.add_user(good)
    if good.media_type == "image/PNG":
        assert model.request(conversation)
    assert good.data in model.request(conversation).decode()
    assert good.data in model.request(with_result(good)).decode()


@pytest.mark.parametrize(
    ("name", "most"), [("anthropic/claude-sonnet-5", 5), ("groq/llama", 4), ("mistral/pixtral-large", 10)]
)
def test_a_large_image_is_refused_where_it_is_too_large(name: str, most: int) -> None:
    model = connect(name, key="any")
    for size, fits in ((most * 2**20, True), (most * 2**20 + 4, False)):
        large = Image("iVBORw0KGgoA" + "A" * (size - 12), "image/png")
        conversation = Conversation()
        conversation.add_user(large)
        if fits:
            assert len(model.request(conversation)) > size
            continue
        with pytest.raises(ContentError, match=rf"MB as base64, and \w+ takes {most} MB; make it smaller"):
            model.request(conversation)
        assert len(model.request(with_result(large))) < 5_000
        assert len(connect("vllm/any").request(conversation)) > size


BLIND: list[tuple[str, dict[str, Any]]] = [("deepseek/deepseek-chat", {}), ("ollama/blind-model", {})]


@pytest.mark.parametrize(("name", "settings"), BLIND)
def test_a_model_that_cannot_see_is_not_asked_about_an_image(name: str, settings: dict[str, Any]) -> None:
    register_model("ollama/blind-*", Facts(inputs={"images": None}))
    model = connect(name, key="any", **settings)
    for picture in (image(PNG, "png"), Image(url="https://example.com/a.png")):
        conversation = Conversation()
        conversation.add_user(["What is this?", picture])
        with pytest.raises(ContentError, match="cannot see images; describe it, or ask a model that can"):
            model.chat(conversation)
        assert "cannot see images" in model.request(with_result(picture)).decode()
        # What another model has answered stays in the history, as words.
        conversation.add_assistant("A dot.")
        conversation.add_user("Thanks.")
        assert "cannot see images" in model.request(conversation).decode()
