"""Anthropic's thinking blocks: signed, readable by some models, and bound to the preceding prompt."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from antiphon._base.json_access import as_array, as_object
from antiphon.facts import Facts
from antiphon.fakes.prompt_pieces import PromptPiece, RenderedPrompt
from antiphon.fakes.script import AccountAge
from antiphon.fakes.signatures import hash_json, sign_values, verify_token

_SEAL_PURPOSE = "thinking"
_BOUND_MESSAGE = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the '
    "`thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
)
_MODIFIED_MESSAGE = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must "
    "remain as they were in the original response."
)
_SYSTEM_DIFFERS_MESSAGE = " The `system` prompt differs from the one this block was created with."


@dataclass(frozen=True, slots=True)
class ThinkingFinding:
    """A thinking block that is not accepted as it is: `fault` rejects the request; else it is dropped or
    allowed.
    """

    path: str
    fault: str = ""
    action: str = ""
    reason: str = ""


def sign_thinking(text: str, prompt: RenderedPrompt, model: str, facts: Facts, dropped: frozenset[str]) -> str:
    """Return the signature of thinking that begins the answer to a prompt; `dropped` are ignored blocks."""
    before, last = _hash_prefix([piece for piece in prompt.messages if piece.path not in dropped])
    system, tools = prompt.heads["system"], prompt.heads["tools"]
    return sign_values(_SEAL_PURPOSE, text, facts.name or model, system.hex(), tools.hex(), before, last)


def examine_thinking(
    body: dict[str, Any], prompt: RenderedPrompt, facts: Facts, account: AccountAge
) -> Iterator[ThinkingFinding]:
    """Yield a finding for each thinking block of a request that differs from the issued one."""
    binds = facts.bound_thinking == "refuses" or (facts.bound_thinking == "by_account" and account == "new")
    lets_pass = facts.bound_thinking == "by_account" and not binds
    drops = (
        as_object(as_object(body.get("thinking")).get("block_binding")).get("prefix_mismatch_behavior") == "drop_block"
    )
    latest = _latest_path(body)
    running, last = hashlib.sha256(), ""
    for piece in prompt.messages:
        if piece.kind == "compaction":
            running, last = hashlib.sha256(), ""
        if piece.kind == "redacted_thinking":
            # A fake never redacts, so any redacted block is foreign.
            yield ThinkingFinding(piece.path, "Invalid `data` in `redacted_thinking` block")
        elif piece.kind != "thinking":
            running.update(piece.key)
        else:
            finding = _examine_block(
                piece, prompt, facts, running.hexdigest(), last, is_latest=piece.path.startswith(latest)
            )
            if finding is None or (finding.reason == "prefix_mismatch" and not (binds or drops)):
                last = str(piece.data.get("signature"))
            if finding is None:
                continue
            if finding.reason != "prefix_mismatch":
                yield finding
            elif drops:
                yield ThinkingFinding(piece.path, action="thinking_dropped", reason=finding.reason)
            elif binds:
                yield finding
            elif lets_pass:
                yield ThinkingFinding(piece.path, action="thinking_mismatch_allowed", reason=finding.reason)


def _examine_block(
    piece: PromptPiece, prompt: RenderedPrompt, facts: Facts, before: str, last: str, *, is_latest: bool
) -> ThinkingFinding | None:
    sealed = verify_token(_SEAL_PURPOSE, piece.data.get("signature"))
    altered = sealed is not None and sealed[0] != hash_json(piece.data.get("thinking"))
    if sealed is None or (altered and not is_latest):
        return ThinkingFinding(piece.path, "Invalid `signature` in `thinking` block")
    if altered:
        return ThinkingFinding(piece.path, _MODIFIED_MESSAGE)
    _, maker, system, tools, prefix, predecessor = sealed
    if not _can_read(maker, prompt, facts):
        return ThinkingFinding(piece.path, action="thinking_dropped", reason="model_mismatch")
    # Leading blocks may be left out, so a block without a predecessor is valid.
    chained = not last or predecessor == hash_json(last)
    if system != hash_json(prompt.heads["system"].hex()):
        return ThinkingFinding(piece.path, _BOUND_MESSAGE + _SYSTEM_DIFFERS_MESSAGE, reason="prefix_mismatch")
    if tools != hash_json(prompt.heads["tools"].hex()) or prefix != hash_json(before) or not chained:
        return ThinkingFinding(piece.path, _BOUND_MESSAGE, reason="prefix_mismatch")
    return None


def _can_read(maker: bytes, prompt: RenderedPrompt, facts: Facts) -> bool:
    if maker in (hash_json(facts.name), prompt.heads["model"]):
        return True
    return any(maker == hash_json(name) for name in facts.reads_thinking_of or ())


def _hash_prefix(pieces: list[PromptPiece]) -> tuple[str, str]:
    """Return the hash of all pieces except thinking, and the signature of the last thinking."""
    running, last = hashlib.sha256(), ""
    for piece in pieces:
        if piece.kind == "compaction":
            running, last = hashlib.sha256(), ""
        if piece.kind == "thinking":
            last = str(piece.data.get("signature"))
        elif piece.kind != "redacted_thinking":
            running.update(piece.key)
    return running.hexdigest(), last


def _latest_path(body: dict[str, Any]) -> str:
    """Return the path prefix of the blocks in the last assistant message."""
    roles = [as_object(message).get("role") for message in as_array(body.get("messages"))]
    at = max((index for index, role in enumerate(roles) if role == "assistant"), default=-1)
    return f"messages.{at}.content."


def is_thinking(body: dict[str, Any], facts: Facts) -> bool | None:
    """Return whether the model thinks in its answer; `None` if it does not by default and was not asked to."""
    mode = as_object(body.get("thinking")).get("type")
    if mode == "disabled" or as_object(body.get("tool_choice")).get("type") in ("any", "tool"):
        return False
    if mode in ("adaptive", "enabled"):
        return True
    return True if mode is None and facts.thinking.default in ("on", "always") else None


def is_thinking_shown(body: dict[str, Any], facts: Facts) -> bool:
    """Return whether the model displays its thinking when the script gives no text for it."""
    return (as_object(body.get("thinking")).get("display") or facts.thinking.display) == "summarized"
