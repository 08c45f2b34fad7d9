"""Gemini's answers over several replies: the tokens that continue them, and the requests that may."""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

from antiphon._shape import number, obj
from antiphon.facts import Facts
from antiphon.fakes.errors import Refusal
from antiphon.fakes.script import Answer, Received
from antiphon.fakes.signing import digest
from antiphon.fakes.speaker import Continuation, Memory, pieces, token

_NAMES = ("continuationToken", "continuation_token")


def token_of(received: Received) -> str:
    """Return the token with which a request continues an answer, or ""."""
    body = obj(received.body)
    return str(next((body[name] for name in _NAMES if body.get(name)), ""))


def refuse_token(received: Received, memory: Memory) -> Refusal | None:
    """Return the refusal of a token that is not known, or that comes with another request than its own."""
    given = token_of(received)
    if not given:
        return None
    left = memory.continued.get(_normal(given))
    if left is None or left.request != _request(received):
        return Refusal("Invalid continuation token: send the request unchanged, with the token of its last reply.")
    most = _limit(received)
    if left.rest is None and (most is None or left.most is None or most <= left.most):
        return Refusal("Invalid continuation token: maxOutputTokens must be higher than in the request that was cut.")
    return None


def resume_answer(received: Received, memory: Memory) -> Answer | None:
    """Return what is left of the answer that a request continues; nothing where the script has to say it."""
    left = memory.continued.pop(_normal(token_of(received)), None)
    return left.rest if left else None


def split_answer(answer: Answer, received: Received, memory: Memory, facts: Facts) -> tuple[Answer, dict[str, Any]]:
    """Return the part of an answer that goes into this reply, and how the reply says that it goes on."""
    if facts.continuation != "token":
        return answer, {}
    if answer.hops > 1 and answer.text:
        first, *others = pieces(answer.text, answer.hops)
        if others:
            rest = dataclasses.replace(answer, text="".join(others), hops=answer.hops - 1, reasoning="")
            # Without a budget for all replies, that of one is used up.
            word = "CONTINUATION" if _limit(received) is not None else "MAX_TOKENS"
            said = dataclasses.replace(answer, text=first, calls=(), citations=(), hops=1)
            return said, {"finishReason": word, "continuationToken": _keep(received, memory, rest)}
    if answer.ending == "length":
        return answer, {"continuationToken": _keep(received, memory, None)}
    return answer, {}


def _keep(received: Received, memory: Memory, rest: Answer | None) -> str:
    made = base64.b64encode(token(24).encode()).decode()
    memory.continued[_normal(made)] = Continuation(_request(received), _limit(received), rest)
    return made


def _normal(given: str) -> str:
    """Return a token in one alphabet of base64: SDKs write bytes as they like."""
    return given.replace("-", "+").replace("_", "/").rstrip("=")


def _config(body: dict[str, Any]) -> dict[str, Any]:
    return obj(body.get("generationConfig") or body.get("generation_config"))


def _limit(received: Received) -> int | None:
    config = _config(obj(received.body))
    return number(config.get("maxOutputTokens") or config.get("max_output_tokens"))


def _request(received: Received) -> bytes:
    """Return the hash of all of a request that must not change: everything but the token and the limit."""
    body = {key: value for key, value in obj(received.body).items() if key not in _NAMES}
    limits = ("maxOutputTokens", "max_output_tokens")
    config = {key: value for key, value in _config(body).items() if key not in limits}
    rest = {key: value for key, value in body.items() if key not in ("generationConfig", "generation_config")}
    return digest([received.model, rest, config])
