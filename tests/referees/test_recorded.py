"""Recorded traffic, which the checks of the servers must accept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.recordings import exchanges
from tests.referees import anthropic_server, gemini_checks, openai_server
from tests.referees.openai_chat import check_chat
from tests.referees.openai_responses import check_responses
from tests.referees.refusal import Refusal

# Recorded traffic: what was accepted then is accepted here, but for models that are gone by now.

GONE = {
    "anthropic": ("claude-sonnet-4-0", "claude-3-opus-latest"),
    "openai-chat": ("o3-mini", "o1-mini", "gpt-4.1-nano", "gpt-4.5-preview", "gpt-4o-search-preview"),
    "openai-responses": ("o4-mini", "gpt-4.1-nano", "computer-use-preview"),
    "gemini": ("gemini-2.0-flash", "gemini-1.5-flash", "gemini-3-pro-preview"),
}
#: The SDK's types know no null status of a call; the API takes it.
NULL_STATUS = "test_openai_responses_requires_function_call_status_none.yaml#1"


def _check_anthropic(row: dict[str, Any]) -> None:
    # Headers were not recorded: betas are not checked, and the version is the one of then.
    anthropic_server.check_request(row["request"], None, "2023-06-01")
    anthropic_server.check_types(row["request"])


def _check_chat(row: dict[str, Any]) -> None:
    check_chat(row["request"])
    openai_server.check_types("/v1/chat/completions", row["request"])


def _check_responses(row: dict[str, Any]) -> None:
    check_responses(row["request"])
    if not row["id"].endswith(NULL_STATUS):
        openai_server.check_types("/v1/responses", row["request"])


def _name_gemini(row: dict[str, Any]) -> str:
    return row["uri"].split("/models/")[1].split("?")[0].rsplit(":", 1)[0]


def _check_gemini(row: dict[str, Any]) -> None:
    gemini_checks.check_request(_name_gemini(row), row["request"])
    gemini_checks.check_types(row["request"])


@pytest.mark.parametrize(
    ("api", "check"),
    [
        ("anthropic", _check_anthropic),
        ("openai-chat", _check_chat),
        ("openai-responses", _check_responses),
        ("gemini", _check_gemini),
    ],
)
def test_recorded_requests_are_accepted(api: str, check: Callable[[dict[str, Any]], None]) -> None:
    refused: list[str] = []
    for row in exchanges(api):
        model = _name_gemini(row) if api == "gemini" else row["request"]["model"]
        if row["status"] != 200 or model in GONE[api]:
            continue
        try:
            check(row)
        except Refusal as refusal:
            refused.append(f"{row['id']} ({model}): {refusal.message[:200]}")
    assert refused == []
