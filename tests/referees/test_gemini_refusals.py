"""Documented refusals of generateContent, each with its words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.referees.bodies import EMPTY, SCHEMA, closed, post
from tests.referees.gemini_server import GeminiServer


@pytest.fixture(scope="module")
def gemini() -> Iterator[GeminiServer]:
    with GeminiServer() as server:
        yield server


def content(role: str, *parts: Any) -> dict[str, Any]:
    """Return a content of Gemini's."""
    return {"role": role, "parts": list(parts)}


ASK = content("user", {"text": "Hi"})
MADE = {"functionCall": {"name": "w", "args": {}}}
SKIPPED = {**MADE, "thoughtSignature": "skip_thought_signature_validator"}
GAVE = {"functionResponse": {"name": "w", "response": {"result": "x"}}}
DECLARED = {"tools": [{"functionDeclarations": [{"name": "w", "parametersJsonSchema": EMPTY}]}]}
JSON = {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}


def config(**more: Any) -> dict[str, Any]:
    """Return a generationConfig."""
    return {"generationConfig": more}


def think(**more: Any) -> dict[str, Any]:
    """Return a thinkingConfig."""
    return config(thinkingConfig=more)


GEMINI: list[tuple[str, dict[str, Any], str]] = [
    ("gemini-4-argon", think(thinkingLevel="minimal"), "MINIMAL is not supported"),
    ("gemini-4-argon", think(thinkingLevel="xhigh"), "XHIGH is not supported"),
    ("gemini-4-hydrogen", think(thinkingBudget=100), "Thinking budget is not supported"),
    ("gemini-3.8-flash", think(thinkingLevel="minimal"), "MINIMAL is not supported"),
    (
        "gemini-3.8-flash",
        think(thinkingLevel="low", thinkingBudget=100),
        "only one of thinking budget and thinking level",
    ),
    ("gemini-2.5-flash", think(thinkingLevel="low"), "Thinking level is not supported"),
    ("gemini-2.5-pro", think(thinkingBudget=0), "thinking budget 0 is invalid"),
    ("gemini-2.5-flash", think(thinkingBudget=30_000), "thinking budget 30000 is invalid"),
    ("gemini-3.8-flash", config(maxOutputTokens=65_537), "supported range"),
    ("gemini-3.8-flash", {"contents": []}, "contents is not specified"),
    ("gemini-3.8-flash", {"contents": [content("user")]}, "must not be empty"),
    ("gemini-3.8-flash", {"contents": [content("assistant", {"text": "x"})]}, "valid role: user, model"),
    ("gemini-3.8-flash", {"contents": [ASK, content("model", {"text": "x"})]}, "end with a user role"),
    (
        "gemini-3.8-flash",
        {"contents": [ASK, content("model", SKIPPED, MADE), content("user", GAVE)]},
        "number of function response parts",
    ),
    (
        "gemini-3.8-flash",
        {"contents": [content("model", SKIPPED), content("user", GAVE)]},
        "comes immediately after a user turn",
    ),
    (
        "gemini-3.8-flash",
        {"contents": [ASK, content("model", {"text": "x"}), content("user", GAVE)]},
        "immediately after a function call turn",
    ),
    (
        "gemini-3.8-flash",
        {"contents": [ASK, content("model", MADE), content("user", GAVE)]},
        "missing a thought_signature",
    ),
    (
        "gemini-4-argon",
        {"contents": [ASK, content("model", MADE, SKIPPED), content("user", GAVE, GAVE)]},
        "missing a thought_signature",
    ),
    (
        "gemini-4-argon",
        {"contents": [ASK, content("model", {**MADE, "thoughtSignature": "eHh4"}), content("user", GAVE)]},
        "signature is not valid",
    ),
    (
        "gemini-4-argon",
        {"contents": [ASK, content("model", {**MADE, "thoughtSignature": "?"}), content("user", GAVE)]},
        "Base64 decoding failed",
    ),
    (
        "gemini-3.8-flash",
        {
            "contents": [
                ASK,
                content("model", SKIPPED),
                content("user", {"functionResponse": {"name": "w", "response": ["x"]}}),
            ]
        },
        "cannot start list",
    ),
    ("gemini-2.5-flash", {**DECLARED, **config(**JSON)}, "response mime type: 'application/json' is unsupported"),
    ("gemini-2.5-flash", {"tools": [*DECLARED["tools"], {"googleSearch": {}}]}, "cannot be combined"),
    ("gemini-3.8-flash", config(responseJsonSchema=SCHEMA), "responseMimeType must be"),
    ("gemini-3.8-flash", config(**{**JSON, "responseJsonSchema": closed(a={"const": "x"})}), 'Unknown name "const"'),
    (
        "gemini-3.8-flash",
        config(**{**JSON, "responseJsonSchema": closed(a={"type": "integer", "exclusiveMinimum": 0})}),
        "exclusiveMinimum",
    ),
    (
        "gemini-3.8-flash",
        {"tools": [{"functionDeclarations": [{"name": "w", "parameters": SCHEMA}]}]},
        'Unknown name "additionalProperties"',
    ),
    (
        "gemini-3.8-flash",
        {**DECLARED, "toolConfig": {"functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["w"]}}},
        "only be set when function calling mode is ANY or VALIDATED",
    ),
    (
        "gemini-3.8-flash",
        {**DECLARED, "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["v"]}}},
        "not declared",
    ),
    ("gemini-3.8-flash", config(max_tokens=9), "SDK types"),
    ("gemini-3.8-flash", {"messages": []}, 'Unknown name "messages"'),
    ("gemini-4-argon", {"cachedContent": "cachedContents/1"}, "Explicit context caching is not supported"),
    ("gemini-2.5-flash", {"cachedContent": "cachedContents/1", **DECLARED}, "CachedContent can not be used"),
    ("gemini-3.8-flash", {"continuationToken": "eA=="}, "not supported on this model"),
    ("gemini-4-argon", {"continuationToken": "eA=="}, "not valid or has expired"),
]


@pytest.mark.parametrize(("model", "change", "words"), GEMINI)
def test_gemini_refuses(gemini: GeminiServer, model: str, change: dict[str, Any], words: str) -> None:
    url = f"{gemini.root}/v1beta/models/{model}:generateContent"
    status, answer = post(url, {"contents": [ASK], **change}, {"x-goog-api-key": "k"})
    assert status == 400
    assert words in answer["error"]["message"]


@pytest.mark.parametrize(
    ("model", "change"),
    [
        ("gemini-4-hydrogen", think(thinkingLevel="xhigh")),
        ("gemini-4-argon", {**DECLARED, **config(**JSON)}),
        ("gemini-2.5-flash", {**DECLARED, "contents": [ASK, content("model", MADE), content("user", GAVE)]}),
        ("gemini-4-argon", {"contents": [ASK, content("model", SKIPPED, MADE), content("user", GAVE, GAVE)]}),
        (
            "gemini-4-argon",
            {"contents": [ASK, content("model", MADE), content("user", GAVE), content("model", {"text": "x"}), ASK]},
        ),
    ],
)
def test_gemini_accepts(gemini: GeminiServer, model: str, change: dict[str, Any]) -> None:
    url = f"{gemini.root}/v1beta/models/{model}:generateContent"
    assert post(url, {"contents": [ASK], **change}, {"x-goog-api-key": "k"})[0] == 200
