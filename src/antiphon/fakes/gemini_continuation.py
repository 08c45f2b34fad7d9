"""Gemini answers over several replies: continuation tokens, and validation of the requests that use them."""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

from antiphon._base.json_access import as_integer, as_object
from antiphon.facts import Facts
from antiphon.fakes.api_base import Continuation, ServerState, split_text
from antiphon.fakes.script import Answer, Received
from antiphon.fakes.signatures import hash_json
from antiphon.fakes.vendors import ErrorReply, make_random_id

_TOKEN_FIELDS = ("continuationToken", "continuation_token")


def read_continuation_token(received: Received) -> str:
    """Return the token with which a request continues an answer, or ""."""
    body = as_object(received.body)
    return str(next((body[name] for name in _TOKEN_FIELDS if body.get(name)), ""))


def check_continuation_token(received: Received, memory: ServerState) -> ErrorReply | None:
    """Return the error for a token that is unknown, or sent with a different request."""
    given = read_continuation_token(received)
    if not given:
        return None
    left = memory.continuations.get(_normalize_token(given))
    if left is None or left.request != _hash_request(received):
        return ErrorReply("Invalid continuation token: send the request unchanged, with the token of its last reply.")
    most = _read_output_limit(received)
    if left.rest is None and (most is None or left.most is None or most <= left.most):
        return ErrorReply(
            "Invalid continuation token: maxOutputTokens must be higher than in the request that was cut."
        )
    return None


def resume_answer(received: Received, memory: ServerState) -> Answer | None:
    """Return the remainder of the answer that a request continues; `None` if the script supplies it."""
    left = memory.continuations.pop(_normalize_token(read_continuation_token(received)), None)
    return left.rest if left else None


def split_answer(
    answer: Answer, received: Received, memory: ServerState, facts: Facts
) -> tuple[Answer, dict[str, Any]]:
    """Return the part of an answer for this reply, and the fields that announce a continuation."""
    if facts.continuation != "token":
        return answer, {}
    if answer.hops > 1 and answer.text:
        first, *others = split_text(answer.text, answer.hops)
        if others:
            rest = dataclasses.replace(answer, text="".join(others), hops=answer.hops - 1, reasoning="")
            # Without a limit for all replies, the limit of a single reply is reached.
            word = "CONTINUATION" if _read_output_limit(received) is not None else "MAX_TOKENS"
            said = dataclasses.replace(answer, text=first, calls=(), citations=(), hops=1)
            return said, {"finishReason": word, "continuationToken": _store_continuation(received, memory, rest)}
    if answer.ending == "length":
        return answer, {"continuationToken": _store_continuation(received, memory, None)}
    return answer, {}


def _store_continuation(received: Received, memory: ServerState, rest: Answer | None) -> str:
    made = base64.b64encode(make_random_id(24).encode()).decode()
    memory.continuations[_normalize_token(made)] = Continuation(
        _hash_request(received), _read_output_limit(received), rest
    )
    return made


def _normalize_token(given: str) -> str:
    """Return a token in the standard base64 alphabet: SDKs may use either one."""
    return given.replace("-", "+").replace("_", "/").rstrip("=")


def _get_generation_config(body: dict[str, Any]) -> dict[str, Any]:
    return as_object(body.get("generationConfig") or body.get("generation_config"))


def _read_output_limit(received: Received) -> int | None:
    config = _get_generation_config(as_object(received.body))
    return as_integer(config.get("maxOutputTokens") or config.get("max_output_tokens"))


def _hash_request(received: Received) -> bytes:
    """Return the hash of everything in a request that must not change: all but the token and the limit."""
    body = {key: value for key, value in as_object(received.body).items() if key not in _TOKEN_FIELDS}
    limits = ("maxOutputTokens", "max_output_tokens")
    config = {key: value for key, value in _get_generation_config(body).items() if key not in limits}
    rest = {key: value for key, value in body.items() if key not in ("generationConfig", "generation_config")}
    return hash_json([received.model, rest, config])
