"""The four fakes over plain HTTP: what they take, and what they refuse in whose words."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from antiphon.fakes import Fake, echo
from tests.fakes.conftest import HEADERS

OK = ""
PATHS = {
    "anthropic": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-3-pro-preview:generateContent",
}
DUMMY = "context_engineering_is_the_way_to_go"
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}


def text(role: str, said: Any) -> dict[str, Any]:
    return {"role": role, "content": said}


USER = text("user", "Weather?")
SAID = text("assistant", "Wet.")


# Anthropic: a message of calls, a message of results.
def uses(*ids: str, **fields: Any) -> dict[str, Any]:
    return text("assistant", [{"type": "tool_use", "id": i, "name": "weather", "input": {}} | fields for i in ids])


def gives(*ids: str, **fields: Any) -> dict[str, Any]:
    return text("user", [{"type": "tool_result", "tool_use_id": i, "content": "rain"} | fields for i in ids])


def thinks(signature: str | None) -> dict[str, Any]:
    block = {"type": "thinking", "thinking": "Hm."} | ({} if signature is None else {"signature": signature})
    return text("assistant", [block, {"type": "tool_use", "id": "a", "name": "weather", "input": {}}])


# Chat: a message of calls, and one message for each result.
def calls(*ids: str, **function: Any) -> dict[str, Any]:
    made = {"name": "weather", "arguments": "{}"} | function
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": i, "type": "function", "function": made} for i in ids],
    }


def tool(call_id: str, content: Any = "rain") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


# Responses: items.
def item(call_id: str, **fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "weather", "arguments": "{}"} | fields


def output(call_id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "rain"}


def reasons(content: str) -> dict[str, Any]:
    return {"type": "reasoning", "summary": [], "encrypted_content": content}


# Gemini: contents. The first call of a step is signed.
def content(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def model(count: int = 1, signed: int = 0, signature: str = DUMMY) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"functionCall": {"name": "weather", "args": {}}} for _ in range(count)]
    if signed >= 0:
        parts[signed]["thoughtSignature"] = signature
    return content("model", *parts)


def responds(count: int = 1, response: Any = None) -> dict[str, Any]:
    part = {"functionResponse": {"name": "weather", "response": response or {"result": "rain"}}}
    return content("user", *[part] * count)


HI = content("user", {"text": "Weather?"})
WELL = content("model", {"text": "Wet."})

MISSING_A = "`tool_use` ids were found without `tool_result` blocks immediately after: "
MISSING_O = "did not have response messages: "
ORPHAN_A = "unexpected `tool_use_id` found in `tool_result` blocks: a"
ORPHAN_O = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'"
ORPHAN_R = "No tool call found for function call output with call_id a."
COUNT_G = "number of function response parts is equal to the number of function call parts"
PLACE_G = "function response turn comes immediately after a function call turn"

Case = tuple[str, str, list[dict[str, Any]], str]
CASES: list[Case] = [
    ("one call", "anthropic", [USER, uses("a"), gives("a")], OK),
    ("one call", "openai-chat", [USER, calls("a"), tool("a")], OK),
    ("one call", "openai-responses", [USER, item("a"), output("a")], OK),
    ("one call", "gemini", [HI, model(), responds()], OK),
    ("parallel calls", "anthropic", [USER, uses("a", "b"), gives("a", "b")], OK),
    ("parallel calls", "openai-chat", [USER, calls("a", "b"), tool("b"), tool("a")], OK),
    ("parallel calls", "openai-responses", [USER, item("a"), item("b"), output("a"), output("b")], OK),
    ("parallel calls", "gemini", [HI, model(2), responds(2)], OK),
    ("sequential calls", "anthropic", [USER, uses("a"), gives("a"), uses("b"), gives("b"), SAID, USER], OK),
    ("sequential calls", "openai-chat", [USER, calls("a"), tool("a"), calls("b"), tool("b"), SAID, USER], OK),
    ("sequential calls", "openai-responses", [USER, item("a"), output("a"), item("b"), output("b"), SAID, USER], OK),
    ("sequential calls", "gemini", [HI, model(), responds(), model(), responds(), WELL, HI], OK),
    ("missing result", "anthropic", [USER, uses("a"), USER], f"messages.1: {MISSING_A}a."),
    ("missing result", "openai-chat", [USER, calls("a"), USER], f"{MISSING_O}a"),
    ("missing result", "openai-responses", [USER, item("a"), USER], "No tool output found for function call a."),
    ("missing result", "gemini", [HI, model(), HI], COUNT_G),
    ("partial results", "anthropic", [USER, uses("a", "b"), gives("a")], f"messages.1: {MISSING_A}b."),
    ("partial results", "openai-chat", [USER, calls("a", "b"), tool("a")], f"{MISSING_O}b"),
    ("partial results", "openai-responses", [USER, item("a"), item("b"), output("a")], "function call b."),
    ("partial results", "gemini", [HI, model(2), responds()], COUNT_G),
    ("orphan at the head", "anthropic", [gives("a"), SAID, USER], f"messages.0.content.0: {ORPHAN_A}"),
    ("orphan at the head", "openai-chat", [tool("a"), USER], ORPHAN_O),
    ("orphan at the head", "openai-responses", [output("a"), USER], ORPHAN_R),
    ("orphan at the head", "gemini", [responds(), WELL, HI], PLACE_G),
    ("orphan in the middle", "anthropic", [USER, SAID, gives("a")], f"messages.2.content.0: {ORPHAN_A}"),
    ("orphan in the middle", "openai-chat", [USER, SAID, tool("a")], ORPHAN_O),
    ("orphan in the middle", "openai-responses", [USER, SAID, output("a")], ORPHAN_R),
    ("orphan in the middle", "gemini", [HI, WELL, responds()], PLACE_G),
    ("call at the head", "gemini", [model(), responds()], "function call turn comes immediately after a user turn"),
    ("two results", "anthropic", [USER, uses("a"), gives("a", "a")], "each tool_use must have a single result"),
    ("two results", "gemini", [HI, model(), responds(2)], COUNT_G),
    ("an id twice", "anthropic", [USER, uses("a", "a"), gives("a")], "ids must be unique"),
    ("an id again", "anthropic", [USER, uses("a"), gives("a"), uses("a"), gives("a")], ""),
    ("text before results", "anthropic", [USER, uses("a"), USER, gives("a")], MISSING_A),
    ("user between results", "openai-chat", [USER, calls("a", "b"), tool("a"), USER, tool("b")], f"{MISSING_O}b"),
    (
        "empty text",
        "anthropic",
        [text("user", [{"type": "text", "text": ""}])],
        "text content blocks must be non-empty",
    ),
    ("empty message", "anthropic", [text("user", ""), SAID, USER], "all messages must have non-empty content"),
    ("null content", "openai-chat", [text("user", None)], "expected a string, got null"),
    ("null content", "openai-chat", [USER, calls("a"), tool("a", None)], "expected a string, got null"),
    (
        "empty tool_calls",
        "openai-chat",
        [USER, SAID | {"tool_calls": []}, USER],
        "'messages[1].tool_calls': empty array",
    ),
    ("long id", "openai-chat", [USER, calls("a" * 41), tool("a" * 41)], "maximum length 40, but got a string with"),
    ("long id", "openai-responses", [USER, item("a" * 65), output("a" * 65)], "maximum length 64"),
    ("bad id", "anthropic", [USER, uses("a:0"), gives("a:0")], "should match pattern '^[a-zA-Z0-9_-]+$'"),
    ("bad item id", "openai-responses", [USER, item("a", id="call_a"), output("a")], "ID that begins with 'fc'"),
    ("no name", "anthropic", [USER, uses("a", name=""), gives("a")], "tool_use.name: String should have at least 1"),
    ("no name", "openai-chat", [USER, calls("a", name=""), tool("a")], "function.name': empty string"),
    ("arguments as text", "anthropic", [USER, uses("a", input="{}"), gives("a")], "Input should be a valid dictionary"),
    (
        "arguments as object",
        "openai-chat",
        [USER, calls("a", arguments={}), tool("a")],
        "expected a string, but got an",
    ),
    ("arguments as object", "openai-responses", [USER, item("a", arguments={}), output("a")], "expected a string"),
    ("stripped signature", "anthropic", [USER, thinks(None), gives("a")], "thinking.signature: Field required"),
    ("foreign signature", "anthropic", [USER, thinks("RXE="), gives("a")], "content.0: Invalid `signature` in"),
    ("foreign signature", "openai-responses", [USER, reasons("gAAAAABx"), SAID, USER], "gAAA...AABx could not be veri"),
    ("foreign signature", "gemini", [HI, model(signature="RXE="), responds()], "Thought signature is not valid"),
    ("stripped signature", "gemini", [HI, model(signed=-1), responds()], "missing a thought_signature"),
    ("signature on the wrong part", "gemini", [HI, model(2, signed=1), responds(2)], "missing a thought_signature"),
    ("older turns unsigned", "gemini", [HI, model(signed=-1), responds(), WELL, HI], OK),
    (
        "response is a list",
        "gemini",
        [HI, model(), responds(1, [1])],
        "Proto field is not repeating, cannot start list",
    ),
    ("ends on assistant", "anthropic", [USER, SAID], "The conversation must end with a user message."),
    ("ends on assistant", "gemini", [HI, WELL], "ends with a user role or a function response"),
    (
        "image in an error",
        "anthropic",
        [USER, uses("a"), gives("a", is_error=True, content=[IMAGE])],
        "must be type `text`",
    ),
    ("nothing", "anthropic", [], "messages: at least one message is required"),
    ("nothing", "openai-chat", [], "Invalid 'messages': empty array"),
    ("nothing", "gemini", [], "contents is not specified"),
]


def body(api: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    match api:
        case "anthropic":
            return {"model": "claude-opus-4-8", "max_tokens": 100, "messages": messages}
        case "openai-chat":
            return {"model": "gpt-5.4", "messages": messages}
        case "openai-responses":
            return {"model": "gpt-5.4", "input": messages}
        case _:
            return {"contents": messages}


@pytest.mark.parametrize(("name", "api", "messages", "words"), CASES, ids=[f"{c[1]}: {c[0]}" for c in CASES])
def test_case(http: httpx2.Client, fake: Fake, name: str, api: str, messages: list[Any], words: str) -> None:
    fake.play(*[] if words else [echo])
    response = http.post(PATHS[api], json=body(api, messages))
    assert response.status_code == (400 if words else 200), response.text
    assert words in (response.json()["error"]["message"] if words else OK), name
    assert bool(fake.requests[0].rejected) == bool(words)
    assert (fake.requests[0].api, fake.requests[0].body) == (api, body(api, messages))


def test_envelopes(http: httpx2.Client) -> None:
    error = http.post(PATHS["anthropic"], json=body("anthropic", []))
    assert error.json() == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "messages: at least one message is required"},
        "request_id": error.headers["request-id"],
    }
    assert http.post(PATHS["openai-chat"], json=body("openai-chat", [USER, calls("a"), USER])).json()["error"] == {
        "message": "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
        "'tool_call_id'. The following tool_call_ids did not have response messages: a",
        "type": "invalid_request_error",
        "param": "messages.[2].role",
        "code": None,
    }
    long = http.post(PATHS["openai-responses"], json=body("openai-responses", [USER, item(""), output("")]))
    assert (long.json()["error"]["param"], long.json()["error"]["code"]) == ("input[1].call_id", "empty_string")
    listed = http.post(PATHS["gemini"], json=body("gemini", [HI, model(), responds(1, [1])])).json()["error"]
    assert (listed["code"], listed["status"]) == (400, "INVALID_ARGUMENT")
    assert listed["details"][0]["@type"] == "type.googleapis.com/google.rpc.BadRequest"
    assert listed["details"][0]["fieldViolations"][0]["description"] == listed["message"]
    assert "details" not in http.post(PATHS["gemini"], json=body("gemini", [HI, WELL])).json()["error"]


@pytest.mark.parametrize(
    ("api", "status", "words"),
    [
        ("anthropic", 401, "x-api-key header is required"),
        ("openai-chat", 401, "You didn't provide an API key."),
        ("openai-responses", 401, "You didn't provide an API key."),
        ("gemini", 403, "unregistered callers"),
    ],
)
def test_a_missing_key(fake: Fake, api: str, status: int, words: str) -> None:
    for headers in ({}, {"authorization": "Bearer"}):
        response = httpx2.post(fake.url + PATHS[api], json=body(api, [USER]), headers=headers)
        assert response.status_code == status
        assert words in response.json()["error"]["message"]
    assert words in fake.requests[0].rejected


def test_keys_are_never_kept(http: httpx2.Client, fake: Fake) -> None:
    fake.play(echo, echo)
    url = fake.url + PATHS["gemini"] + "?key=s3cret"
    assert httpx2.post(url, json=body("gemini", [HI])).status_code == 200
    http.post(PATHS["anthropic"], json=body("anthropic", [USER]), headers={"x-api-key": "s3cret"})
    http.post(PATHS["openai-chat"], content=b"?", headers={"authorization": "Bearer s3cret"})
    http.post(PATHS["openai-chat"], content=b"?", headers={"cookie": "session=s3cret", "api-key": "s3cret"})
    assert len(fake.requests) == 4
    assert "s3cret" not in repr(fake.requests)


@pytest.mark.parametrize("api", PATHS)
def test_bodies_that_are_no_json(http: httpx2.Client, fake: Fake, api: str) -> None:
    response = http.post(PATHS[api], content=b'{"model": ')
    assert response.status_code == 400
    assert "JSON" in response.json()["error"]["message"]
    assert fake.requests[0].body is None


@pytest.mark.parametrize("api", PATHS)
def test_bodies_of_any_shape_are_answered(api: str) -> None:
    key = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input", "gemini": "contents"}[api]
    odd: list[Any] = [None, 5, "x", [], {}, [[]], [None], [{"role": []}], [{"type": {}, "id": []}]]
    odd += [
        [{"role": "user", "content": [1, {"type": "thinking", "signature": []}], "parts": [{"thoughtSignature": []}]}]
    ]
    with Fake(echo) as fake, httpx2.Client(base_url=fake.url, headers=HEADERS) as http:
        for value in odd:
            for made in (value, body(api, []) | {key: value}, {"model": value, key: [], "previous_response_id": value}):
                response = http.post(PATHS[api], json=made)
                assert response.status_code in (200, 400), (made, response.text)


def test_anthropic_wants_its_version(served: Fake) -> None:
    url = served.base_url("anthropic") + PATHS["anthropic"]
    response = httpx2.post(url, json=body("anthropic", [USER]), headers={"x-api-key": "key"})
    assert (response.status_code, "anthropic-version" in response.text) == (400, True)


def test_other_addresses_are_not_found(served: Fake) -> None:
    for path, headers, words in (
        ("/v1/complete", {"x-api-key": "key"}, '"not_found_error"'),
        ("/v1/audio/speech", {}, "Invalid URL (POST /v1/audio/speech)"),
        ("/v1beta/models/gemini-3-pro:countTokens", {}, '"NOT_FOUND"'),
    ):
        response = httpx2.post(served.url + path, headers=headers)
        assert response.status_code == 404
        assert words in response.text
