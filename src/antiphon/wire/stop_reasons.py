"""Mapping of each API's stop reasons to ours, by a closed table."""

from __future__ import annotations

from antiphon import facts
from antiphon.conversation import Origin
from antiphon.errors import UnknownStop
from antiphon.wire.reply import Reply, Stop
from antiphon.wire.text_conventions import truncate_server_text

_STOP_OF_OUTCOME: dict[str, Stop] = {
    "done": "end",
    "tools": "tool_calls",
    "continue": "pause",
    "truncated": "length",
    "refused": "refusal",
    "malformed": "malformed",
    "failed": "failed",
    "not_done": "not_done",
}


def map_stop_reason(api: str, word: str) -> Stop | None:
    """Return the meaning of a provider's stop reason, or None if it is unknown."""
    reason = facts.stop_reasons(api).get(word)
    if reason is None:
        return None
    return "stop_sequence" if word == "stop_sequence" else _STOP_OF_OUTCOME[reason.outcome]


def make_unknown_stop(reply: Reply, origin: Origin) -> UnknownStop:
    """Return the error for a reply with an unknown stop reason. The error keeps the reply."""
    said = f"with {truncate_server_text(reply.stop_reason)!r}" if reply.stop_reason else "without a reason"
    message = (
        f"{origin.provider} ended its answer {said}, which this release does not know, so the answer may be incomplete;"
        f" the error's `reply` holds it: {truncate_server_text(reply.text)!r}"
    )
    return UnknownStop(message, provider=origin.provider, word=reply.stop_reason, reply=reply)
