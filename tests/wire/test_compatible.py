"""Recorded traffic of servers that speak an API of OpenAI and are not OpenAI: what they sent is read, what they took
is written again."""

import json
from typing import Any

import pytest

from antiphon import ToolResult
from antiphon.errors import RequestRejected
from antiphon.providers import PROVIDERS
from antiphon.wire import Options, Profile, Reply, Target, wire
from antiphon.wire.openai_chat.reasoning import REASONING_FIELDS
from tests.recordings import compatible_exchanges
from tests.wire.test_openai_chat import bare, normal

APIS = ("openai-chat", "openai-responses")


def recorded(api: str) -> list[dict[str, Any]]:
    return [exchange for exchange in compatible_exchanges() if exchange["api"] == api]


def target_of(exchange: dict[str, Any]) -> Target:
    provider = PROVIDERS[exchange["provider"]]
    profile = provider.profile if provider.api == exchange["api"] else Profile()
    return Target(provider.name, exchange["api"], exchange["request"]["model"], profile)


def streamed(stream: bytes, target: Target, size: int) -> Reply:
    decoder = wire(target.api).Decoder(target.origin)
    for at in range(0, len(stream), size):
        decoder.feed(stream[at : at + size])
    return decoder.reply()


def answer(exchange: dict[str, Any], target: Target) -> Reply:
    if not isinstance(exchange["response"], str):
        return wire(target.api).decode(exchange["response"], target.origin)
    stream = exchange["response"].encode()
    reply, *others = [streamed(stream, target, size) for size in (len(stream), 1000, 7, 1)]
    assert all(other == reply for other in others), exchange["id"]
    return reply


@pytest.mark.parametrize("api", APIS)
def test_every_answer_is_read_and_the_conversation_goes_on(api: str) -> None:
    for exchange in recorded(api):
        target = target_of(exchange)
        if exchange["status"] != 200:
            assert wire(api).parse_error(exchange["response"]).message, exchange["id"]
            continue
        reply = answer(exchange, target)
        assert reply.parts, exchange["id"]
        conversation = wire(api).read(exchange["request"], target.origin).conversation
        conversation.add_reply(reply.parts)
        conversation.add_tool_results([ToolResult(call.id, "done") for call in conversation.open_calls])
        conversation.add_user("go on")
        assert conversation.ready()
        sent = json.loads(wire(api).encode(conversation, target, Options()).body)
        if api == "openai-chat" and isinstance(exchange["response"], dict):
            message = exchange["response"]["choices"][0]["message"]
            assert_goes_back(message, sent["messages"], target)


def assert_goes_back(message: dict[str, Any], messages: list[dict[str, Any]], target: Target) -> None:
    back = next(each for each in reversed(messages) if each["role"] == "assistant" and each["content"] != "Understood.")
    given = next((name for name in target.profile.reasoning_fields if message.get(name)), None)
    if given and given != "content":
        assert back[given] == message[given]
    text = message.get("content") or ""
    # What was written for the model to go on from is one message with what it wrote.
    assert (back["content"] or "").endswith(text) if isinstance(text, str) else back["content"] == text
    calls = message.get("tool_calls") or []
    called = [(call["id"], {"arguments": "{}"} | call["function"]) for call in calls]
    assert [(call["id"], call["function"]) for call in back.get("tool_calls") or []] == called


def test_every_chat_request_is_read_without_complaint_and_written_again() -> None:
    for exchange in recorded("openai-chat"):
        request, target = exchange["request"], target_of(exchange)
        reading = wire("openai-chat").read(request, target.origin)
        assert reading.changes == [], exchange["id"]
        again = wire("openai-chat").encode(reading.conversation, target, Options(extra=reading.rest)).body
        assert same(json.loads(again), target) == same(request, target), exchange["id"]


def same(request: dict[str, Any], target: Target) -> dict[str, Any]:
    """A request in one of the forms that mean the same to the server."""
    data = normal({**request, "messages": [_message(message, target) for message in request["messages"]]})
    # Mistral takes the user's words after results as well; the encoder does not rely on it.
    data["messages"] = [message for message in data["messages"] if message.get("content") != "Understood."]
    if any(_shows_images(message) for message in request["messages"]):
        # They are shown to the model in a message of their own.
        data["messages"] = [message for message in data["messages"] if message["role"] not in ("tool", "user")]
    return data


def _shows_images(message: dict[str, Any]) -> bool:
    content = message.get("content")
    inside = message["role"] == "tool" and isinstance(content, list)
    return inside or "Image in the result of call" in json.dumps(content)


def _message(message: dict[str, Any], target: Target) -> dict[str, Any]:
    message = bare(message)
    content = message.get("content")
    if message["role"] != "assistant":
        return message
    if isinstance(content, list) and [part["type"] for part in content] == ["text"]:
        content = content[0]["text"]
    thinking = next(
        (
            message[name]
            for name in (*target.profile.reasoning_fields, *REASONING_FIELDS)
            if name in REASONING_FIELDS and message.get(name)
        ),
        None,
    )
    kept = {k: v for k, v in message.items() if k not in (*REASONING_FIELDS, "content", "tool_calls")}
    calls = [{k: v for k, v in call.items() if k != "index"} for call in message.get("tool_calls", [])]
    return kept | {"content": content or "", "thinking": thinking or "", "tool_calls": calls}


@pytest.mark.parametrize("api", APIS)
def test_every_rejection_is_the_error_that_its_words_mean(api: str) -> None:
    for exchange in recorded(api):
        if exchange["status"] == 400 and "context length" in json.dumps(exchange["response"]):
            with pytest.raises(RequestRejected, match="compact"):
                wire("openai-chat").decode(exchange["response"], target_of(exchange).origin)
