"""The items of a response: encrypted reasoning that is bound to its prompt, messages, and calls."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from antiphon._shape import obj
from antiphon.facts import Facts
from antiphon.fakes.prompts import Piece, Prompt
from antiphon.fakes.script import Answer, Cite, ServerCall
from antiphon.fakes.signing import digest, opened, seal
from antiphon.fakes.speaker import arguments, span, token

_HEX = "0123456789abcdef"
_FERNET = "gAAAAAB"
_PURPOSE = "reasoning"
#: What of the head of a prompt reasoning is bound to.
_BINDING = ("tools", "instructions")


@dataclass(frozen=True, slots=True)
class Made:
    """All that the items of a response are made from."""

    answer: Answer
    body: dict[str, Any]
    family: str
    prompt: Prompt
    model: str
    facts: Facts

    def make_id(self, prefix: str) -> str:
        """Return an id of this response."""
        return f"{prefix}_{self.family}{token(18, _HEX)}"


def make_output(made: Made) -> Iterator[dict[str, Any]]:
    """Yield the items of a response."""
    answer = made.answer
    if _reasons(made):
        yield _reasoning(made)
    yield from (dict(block) for block in answer.blocks)
    for used in answer.server_calls:
        yield _server_item(used, made)
    if answer.text or answer.refusal:
        yield _message(made)
    for call, text in zip(answer.calls, arguments(answer), strict=True):
        yield {
            "id": made.make_id("fc"),
            "type": "function_call",
            "status": "completed",
            "arguments": text,
            "call_id": call.id or f"call_{token(24)}",
            "name": call.name,
        }


def _reasons(made: Made) -> bool:
    effort = obj(made.body.get("reasoning")).get("effort")
    if effort == "none":
        return False
    if made.answer.reasoning:
        return True
    says = made.answer.text or made.answer.calls or made.answer.refusal
    return bool(says and made.facts.efforts and (effort or made.facts.effort_default) not in (None, "none"))


def _reasoning(made: Made) -> dict[str, Any]:
    item_id = made.make_id("rs")
    text = made.answer.reasoning
    before = _hash_before(made.prompt.messages)
    sealed = seal(_PURPOSE, item_id, made.facts.name or made.model, _head(made.prompt), before)
    summary = [{"type": "summary_text", "text": text}] if text else []
    return {
        "id": item_id,
        "type": "reasoning",
        "content": [],
        "summary": summary,
        "encrypted_content": _FERNET + sealed,
    }


def _message(made: Made) -> dict[str, Any]:
    answer = made.answer
    part: dict[str, Any] = {"type": "refusal", "refusal": answer.refusal}
    if not answer.refusal:
        notes = [_citation(each, answer.text) for each in answer.citations]
        part = {"type": "output_text", "annotations": notes, "logprobs": [], "text": answer.text}
    return {
        "id": made.make_id("msg"),
        "type": "message",
        "status": "completed",
        "content": [part],
        "role": "assistant",
    }


def _citation(cite: Cite, text: str) -> dict[str, Any]:
    start, end = span(cite, text)
    return {"type": "url_citation", "url": cite.url, "title": cite.title, "start_index": start, "end_index": end}


def _server_item(used: ServerCall, made: Made) -> dict[str, Any]:
    """Return the call of a server's tool. The API has one item for the call and its result."""
    state = "completed" if used.is_done else "in_progress"
    if used.tool == "web_search":
        item_id = used.id or made.make_id("ws")
        sources = [{"type": "url", "url": each.url} for each in used.sources]
        action: dict[str, Any] = {"type": "search", "query": "", "sources": sources} | dict(used.input)
        return {"id": item_id, "type": "web_search_call", "status": state, "action": action}
    item_id = used.id or made.make_id("ci")
    return {"id": item_id, "type": f"{used.tool}_call", "status": state, **used.input, "results": used.result}


def is_issued(item: dict[str, Any]) -> bool:
    """Return whether encrypted reasoning is of this server. Its id may be left out but not be another."""
    sealed = _open(item)
    return sealed is not None and (not item.get("id") or sealed[0] == digest(item["id"]))


def _open(item: dict[str, Any]) -> list[bytes] | None:
    content = item.get("encrypted_content")
    if not isinstance(content, str) or not content.startswith(_FERNET):
        return None
    return opened(_PURPOSE, content.removeprefix(_FERNET))


def find_removed(prompt: Prompt, model: str, facts: Facts) -> Iterator[dict[str, Any]]:
    """Yield the reasoning of a prompt that the model does not read, as `input_transformations` tells it."""
    if facts.bound_thinking != "drops":
        return
    running = hashlib.sha256()
    for piece in prompt.messages:
        sealed = _open(piece.data) if piece.kind == "reasoning" else None
        if piece.kind != "reasoning":
            running.update(piece.key)
        elif sealed is not None and (reason := _mismatch(sealed, prompt, model, facts, running.hexdigest())):
            yield {"id": piece.data.get("id"), "action": "removed", "reason": reason}


def _mismatch(sealed: list[bytes], prompt: Prompt, model: str, facts: Facts, before: str) -> str:
    _, maker, head, prefix = sealed
    if maker != digest(facts.name or model):
        return "model_mismatch"
    return "" if head == digest(_head(prompt)) and prefix == digest(before) else "prefix_mismatch"


def _head(prompt: Prompt) -> str:
    return "".join(prompt.heads[name].hex() for name in _BINDING)


def _hash_before(pieces: list[Piece]) -> str:
    running = hashlib.sha256()
    for piece in pieces:
        if piece.kind != "reasoning":
            running.update(piece.key)
    return running.hexdigest()
