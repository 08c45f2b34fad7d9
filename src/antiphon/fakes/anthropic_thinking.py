"""Anthropic's thinking: signed, readable by some models, and bound to all that stands before it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from antiphon._shape import arr, obj
from antiphon.facts import Facts
from antiphon.fakes.prompts import Piece, Prompt
from antiphon.fakes.script import Account
from antiphon.fakes.signing import digest, opened, seal

_PURPOSE = "thinking"
_BOUND = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the '
    "`thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
)
_MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must "
    "remain as they were in the original response."
)
_SYSTEM_DIFFERS = " The `system` prompt differs from the one this block was created with."


@dataclass(frozen=True, slots=True)
class Finding:
    """A block that is not taken as it came: `fault` refuses the request, else it is dropped or let pass."""

    path: str
    fault: str = ""
    action: str = ""
    reason: str = ""


def sign_thinking(text: str, prompt: Prompt, model: str, facts: Facts, dropped: frozenset[str]) -> str:
    """Return the signature of thinking that begins the answer to a prompt; `dropped` are the blocks not read of it."""
    before, last = _ending([piece for piece in prompt.messages if piece.path not in dropped])
    system, tools = prompt.heads["system"], prompt.heads["tools"]
    return seal(_PURPOSE, text, facts.name or model, system.hex(), tools.hex(), before, last)


def examine_thinking(body: dict[str, Any], prompt: Prompt, facts: Facts, account: Account) -> Iterator[Finding]:
    """Yield what becomes of the thinking of a request; nothing of a block that is as it was issued."""
    binds = facts.bound_thinking == "refuses" or (facts.bound_thinking == "by_account" and account == "new")
    lets_pass = facts.bound_thinking == "by_account" and not binds
    drops = obj(obj(body.get("thinking")).get("block_binding")).get("prefix_mismatch_behavior") == "drop_block"
    latest = _latest(body)
    running, last = hashlib.sha256(), ""
    for piece in prompt.messages:
        if piece.kind == "compaction":
            running, last = hashlib.sha256(), ""
        if piece.kind == "redacted_thinking":
            # No fake ever redacts, so whatever comes is foreign.
            yield Finding(piece.path, "Invalid `data` in `redacted_thinking` block")
        elif piece.kind != "thinking":
            running.update(piece.key)
        else:
            finding = _examine(piece, prompt, facts, running.hexdigest(), last, is_latest=piece.path.startswith(latest))
            if finding is None or (finding.reason == "prefix_mismatch" and not (binds or drops)):
                last = str(piece.data.get("signature"))
            if finding is None:
                continue
            if finding.reason != "prefix_mismatch":
                yield finding
            elif drops:
                yield Finding(piece.path, action="thinking_dropped", reason=finding.reason)
            elif binds:
                yield finding
            elif lets_pass:
                yield Finding(piece.path, action="thinking_mismatch_allowed", reason=finding.reason)


def _examine(piece: Piece, prompt: Prompt, facts: Facts, before: str, last: str, *, is_latest: bool) -> Finding | None:
    sealed = opened(_PURPOSE, piece.data.get("signature"))
    altered = sealed is not None and sealed[0] != digest(piece.data.get("thinking"))
    if sealed is None or (altered and not is_latest):
        return Finding(piece.path, "Invalid `signature` in `thinking` block")
    if altered:
        return Finding(piece.path, _MODIFIED)
    _, maker, system, tools, prefix, predecessor = sealed
    if not _reads(maker, prompt, facts):
        return Finding(piece.path, action="thinking_dropped", reason="model_mismatch")
    # From the front blocks may be left out, so one without any before it fits wherever it was made.
    chained = not last or predecessor == digest(last)
    if system != digest(prompt.heads["system"].hex()):
        return Finding(piece.path, _BOUND + _SYSTEM_DIFFERS, reason="prefix_mismatch")
    if tools != digest(prompt.heads["tools"].hex()) or prefix != digest(before) or not chained:
        return Finding(piece.path, _BOUND, reason="prefix_mismatch")
    return None


def _reads(maker: bytes, prompt: Prompt, facts: Facts) -> bool:
    if maker in (digest(facts.name), prompt.heads["model"]):
        return True
    return any(maker == digest(name) for name in facts.reads_thinking_of or ())


def _ending(pieces: list[Piece]) -> tuple[str, str]:
    """Return the hash of all pieces that are no thinking, and the signature of the last thinking."""
    running, last = hashlib.sha256(), ""
    for piece in pieces:
        if piece.kind == "compaction":
            running, last = hashlib.sha256(), ""
        if piece.kind == "thinking":
            last = str(piece.data.get("signature"))
        elif piece.kind != "redacted_thinking":
            running.update(piece.key)
    return running.hexdigest(), last


def _latest(body: dict[str, Any]) -> str:
    """Return where the blocks of the last message of the assistant begin."""
    roles = [obj(message).get("role") for message in arr(body.get("messages"))]
    at = max((index for index, role in enumerate(roles) if role == "assistant"), default=-1)
    return f"messages.{at}.content."


def is_thinking(body: dict[str, Any], facts: Facts) -> bool | None:
    """Return whether the model thinks in its answer: `None` where it does not by default and nobody asked."""
    mode = obj(body.get("thinking")).get("type")
    if mode == "disabled" or obj(body.get("tool_choice")).get("type") in ("any", "tool"):
        return False
    if mode in ("adaptive", "enabled"):
        return True
    return True if mode is None and facts.thinking.default in ("on", "always") else None


def is_shown(body: dict[str, Any], facts: Facts) -> bool:
    """Return whether a model that thinks without words of the script shows some."""
    return (obj(body.get("thinking")).get("display") or facts.thinking.display) == "summarized"
