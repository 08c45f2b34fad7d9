"""Answers that go wrong on purpose, and failures with each API's words."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx2
import pytest

from antiphon.fakes import Answer, Fail, Fake, call, echo

ASK: dict[str, tuple[str, dict[str, Any]]] = {
    "anthropic": (
        "/v1/messages",
        {"model": "claude-opus-4-8", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    ),
    "openai-chat": ("/v1/chat/completions", {"model": "gpt-5.4", "messages": [{"role": "user", "content": "Hi"}]}),
    "openai-responses": ("/v1/responses", {"model": "gpt-5.4", "input": "Hi"}),
    "gemini": ("/v1/models/gemini-3-pro:generateContent", {"contents": [{"parts": [{"text": "Hi"}]}]}),
    "google-interactions": ("/v1beta/interactions", {"model": "gemini-3.5-flash", "input": "Hi", "store": False}),
}
#: Those of which some tests compare the answers one by one.
FOUR = ("anthropic", "openai-chat", "openai-responses", "gemini")
OSLO = call("weather", day="today", city="Oslo")


def ask(http: httpx2.Client, api: str, stream: bool = False) -> httpx2.Response:
    path, body = ASK[api]
    if api == "gemini" and stream:
        return http.post(path.replace(":g", ":streamG") + "?alt=sse", json=body)
    return http.post(path, json=body | ({"stream": True} if stream else {}))


def events(response: httpx2.Response) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


@pytest.mark.parametrize("api", ASK)
def test_an_echo_repeats_what_was_said(http: httpx2.Client, fake: Fake, api: str) -> None:
    fake.play(echo, echo)
    for stream in (False, True):
        assert "You said: Hi" in "".join(_texts(ask(http, api, stream), api, stream))
    assert [request.stream for request in fake.requests] == [False, True]


def _texts(response: httpx2.Response, api: str, stream: bool) -> list[str]:
    found: list[str] = []

    def walk(value: Any, key: str = "") -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                walk(inner, name)
        elif isinstance(value, list):
            for inner in value:
                walk(inner, key)
        elif isinstance(value, str) and key in ("text", "content", "delta"):
            found.append(value)

    for part in events(response) if stream else [response.json()]:
        if not (api == "openai-responses" and stream and not part["type"].endswith(".delta")):
            walk(part)
    return found


@pytest.mark.parametrize(
    ("api", "status", "kind"),
    [
        ("anthropic", 401, "authentication_error"),
        ("anthropic", 404, "not_found_error"),
        ("anthropic", 429, "rate_limit_error"),
        ("anthropic", 500, "api_error"),
        ("anthropic", 529, "overloaded_error"),
        ("openai-chat", 401, "invalid_api_key"),
        ("openai-chat", 404, "model_not_found"),
        ("openai-chat", 429, "rate_limit_exceeded"),
        ("openai-responses", 500, "server_error"),
        ("openai-responses", 529, "server_error"),
        ("gemini", 404, "NOT_FOUND"),
        ("gemini", 429, "RESOURCE_EXHAUSTED"),
        ("gemini", 500, "INTERNAL"),
        ("gemini", 503, "UNAVAILABLE"),
        ("google-interactions", 404, "NOT_FOUND"),
        ("google-interactions", 429, "RESOURCE_EXHAUSTED"),
        ("google-interactions", 503, "UNAVAILABLE"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_failures(http: httpx2.Client, fake: Fake, api: str, status: int, kind: str, stream: bool) -> None:
    fake.play(Fail(status, retry_after=1.5), Fail(status, "No luck."))
    response = ask(http, api, stream)
    error = response.json()["error"]
    assert response.status_code == status
    assert kind in (error.get("code"), error.get("type"), error.get("status"))
    assert error["message"]
    if api in ("gemini", "google-interactions"):
        # Google has no such header.
        assert error["details"] == [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s"}]
        assert "retry-after" not in response.headers
    else:
        assert response.headers["retry-after"] == "1.5"
        assert response.headers.get("retry-after-ms") == ("1500" if api.startswith("openai") else None)
        assert "request-id" in response.headers or "x-request-id" in response.headers
    assert ask(http, api).json()["error"]["message"] == "No luck."
    assert not fake.requests[0].rejected


@pytest.mark.parametrize("api", ASK)
def test_a_cut_connection(http: httpx2.Client, fake: Fake, api: str) -> None:
    fake.play(Answer("A long answer.", cut_after=2), Answer("A long answer.", cut_after=2), "Again.")
    with pytest.raises(httpx2.RemoteProtocolError):
        ask(http, api)
    path, body = ASK[api]
    path = path.replace(":g", ":streamG") + ("?alt=sse" if api == "gemini" else "")
    got: list[bytes] = []
    with http.stream("POST", path, json=body | {"stream": True}) as response, pytest.raises(httpx2.RemoteProtocolError):
        got.extend(response.iter_bytes())
    assert b"".join(got).count(b"data: ") == 2
    assert ask(http, api).status_code == 200


def test_a_delay(http: httpx2.Client, fake: Fake) -> None:
    fake.play(Answer("Late.", delay=0.05))
    start = time.monotonic()
    ask(http, "anthropic")
    assert time.monotonic() - start >= 0.05


@pytest.mark.parametrize(
    ("answer", "broken", "stops"),
    [
        (
            Answer(calls=[call("now"), OSLO], malformed=True),
            '{"day":"today","city":"Oslo"',
            ["tool_use", "tool_calls", "completed", "MALFORMED_FUNCTION_CALL"],
        ),
        (
            Answer(calls=[call("now"), OSLO], stop="length"),
            '{"day":"today","cit',
            ["max_tokens", "length", "incomplete", "MAX_TOKENS"],
        ),
    ],
    ids=["malformed", "cut off by the token limit"],
)
def test_broken_arguments(http: httpx2.Client, fake: Fake, answer: Answer, broken: str, stops: list[str]) -> None:
    fake.play(*[answer] * 8)
    anthropic, chat, responses, gemini = (ask(http, api).json() for api in FOUR)
    assert anthropic["content"][1]["input"] == {"day": "today"}
    assert chat["choices"][0]["message"]["tool_calls"][1]["function"]["arguments"] == broken
    assert responses["output"][1]["arguments"] == broken
    assert len(gemini["candidates"][0]["content"].get("parts", [])) == (0 if answer.malformed else 1)
    found = [anthropic["stop_reason"], chat["choices"][0]["finish_reason"], responses["status"]]
    assert [*found, gemini["candidates"][0]["finishReason"]] == stops

    anthropic, chat, responses, gemini = (events(ask(http, api, stream=True)) for api in FOUR)
    assert "".join(e["delta"]["partial_json"] for e in anthropic if e.get("index") == 1 and "delta" in e) == broken
    deltas = [c for e in chat if e["choices"] for c in e["choices"][0]["delta"].get("tool_calls", [])]
    assert "".join(c["function"]["arguments"] for c in deltas if c["index"] == 1) == broken
    grown = [e["delta"] for e in responses if e["type"].endswith("arguments.delta") and e["output_index"] == 1]
    assert "".join(grown) == broken
    assert responses[-1]["type"] == f"response.{stops[2]}"
    assert gemini[-1]["candidates"][0]["finishReason"] == stops[3]


def test_parallel_calls_at_one_index(http: httpx2.Client, fake: Fake) -> None:
    fake.play(Answer(calls=[OSLO, call("now")], same_index=True))
    chunks = [e["choices"][0]["delta"].get("tool_calls") for e in events(ask(http, "openai-chat", stream=True))]
    pieces = [one for chunk in chunks if chunk for one in chunk]
    assert {piece["index"] for piece in pieces} == {0}
    assert len({piece["id"] for piece in pieces if "id" in piece}) == 2


def test_gemini_streams_an_array_without_sse(http: httpx2.Client, fake: Fake) -> None:
    fake.play(Answer("A long answer.", calls=[OSLO]))
    path, body = ASK["gemini"]
    chunks = http.post(path.replace(":g", ":streamG"), json=body).json()
    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"
    assert chunks[3]["candidates"][0]["content"]["parts"][0]["functionCall"]["args"] == OSLO.arguments


def test_chat_gives_usage_only_when_asked(http: httpx2.Client, fake: Fake) -> None:
    fake.play("One.", "Two.")
    assert not any(chunk.get("usage") for chunk in events(ask(http, "openai-chat", stream=True)))
    path, body = ASK["openai-chat"]
    response = http.post(path, json=body | {"stream": True, "stream_options": {"include_usage": True}})
    assert events(response)[-1]["usage"]["prompt_tokens"] > 0
    assert response.text.endswith("data: [DONE]\n\n")
