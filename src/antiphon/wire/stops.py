"""Why an answer stopped: the words of each API, by a table that is closed."""

from __future__ import annotations

from antiphon import facts
from antiphon.conversation import Origin
from antiphon.errors import UnknownStop
from antiphon.wire.reply import Reply, Stop
from antiphon.wire.wording import short

_STOPS: dict[str, Stop] = {
    "done": "end",
    "tools": "tool_calls",
    "continue": "pause",
    "truncated": "length",
    "refused": "refusal",
    "malformed": "malformed",
    "failed": "failed",
    "not_done": "not_done",
}


def find_stop(api: str, word: str) -> Stop | None:
    """Return what a provider's word for the end of an answer means, or nothing where the table has no such word."""
    reason = facts.stop_reasons(api).get(word)
    if reason is None:
        return None
    return "stop_sequence" if word == "stop_sequence" else _STOPS[reason.outcome]


def unknown_stop(reply: Reply, origin: Origin) -> UnknownStop:
    """Return the error for a reply whose word is not in the table; the error keeps the reply."""
    said = f"with {short(reply.stop_reason)!r}" if reply.stop_reason else "without a reason"
    message = (
        f"{origin.provider} ended its answer {said}, which this release does not know, so the answer may be incomplete;"
        f" the error's `reply` holds it: {short(reply.text)!r}"
    )
    return UnknownStop(message, provider=origin.provider, word=reply.stop_reason, reply=reply)
