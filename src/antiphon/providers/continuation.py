"""Answers that come in several steps: how each step is asked for, and how all of them become one reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from antiphon.conversation import AssistantPart, Native, Reasoning, Text, ToolCall
from antiphon.errors import ContinuationFailed, ProviderError, UnknownStop
from antiphon.wire import Options, Reply, Target

#: The most steps of one answer, unless `connect` says otherwise.
CONTINUATIONS = 20
#: Words of OpenAI for a response that is still being made.
_BACKGROUND = ("queued", "in_progress")


@dataclass(slots=True)
class Pending:
    """Where the id of a response in the background is kept. With an `id`, it is fetched and not asked for again."""

    id: str
    #: Keeps another id; an empty one forgets it.
    note: Callable[[str], object]


class Hop(NamedTuple):
    """The next step of an unfinished answer.

    `resend` repeats the request with the answer so far behind it, `token` repeats it unchanged with a token. `changes`
    are those of the options.
    """

    kind: Literal["resend", "token"]
    changes: Mapping[str, Any] = MappingProxyType({})


def plan_hop(reply: Reply, target: Target, options: Options) -> Hop | None:
    """Return how an answer goes on, or nothing where it has ended or cannot be continued from here."""
    if target.api == "gemini":
        # A token that comes with a spent budget would want a higher one; the budget is the caller's to raise.
        token = reply.state.continuation_token if reply.stop == "pause" else ""
        return Hop("token", {"extra": {**options.extra, "continuationToken": token}}) if token else None
    # A request for approval is a person's to answer.
    is_open = reply.stop == "pause" and reply.stop_reason not in ("mcp_approval_request", *_BACKGROUND)
    # Calls are answered first; the answer goes on with their results.
    return Hop("resend", {"continues": True}) if is_open and not reply.tool_calls else None


def is_background(reply: Reply, target: Target) -> bool:
    """Whether a response is still being made, and can be fetched by its id."""
    return target.api == "openai-responses" and reply.stop_reason in _BACKGROUND and bool(reply.id)


def join_replies(first: Reply, second: Reply, kind: str) -> Reply:
    """Return two steps of an answer as one reply."""
    parts = _join_parts(first.parts, second.parts, seamless=kind == "token")
    stop = second.stop
    if stop == "end" and any(isinstance(part, ToolCall) for part in parts):
        stop = "tool_calls"
    usage = first.usage.plus(second.usage)
    window = second.window
    if kind == "token" and first.window is not None:
        # The prompt is the same each time, and only the first one counts.
        window = first.window + (second.usage.output_tokens or 0)
    return replace(
        second,
        parts=parts,
        stop=stop,
        usage=usage,
        window=window,
        state=first.state.joined(second.state),
        hops=first.hops + 1,
    )


def _join_parts(
    first: tuple[AssistantPart, ...], second: tuple[AssistantPart, ...], *, seamless: bool
) -> tuple[AssistantPart, ...]:
    """Return the parts of both; `seamless` ones go on in the middle of a text."""
    if not (seamless and first and second):
        return first + second
    match first[-1], second[0]:
        case Text() as before, Text() as after if _is_running(before) and _is_running(after):
            return (*first[:-1], _join_texts(before, after), *second[1:])
        case Reasoning(text=before, native=Native() as old), Reasoning(text=after, native=Native() as new) if (
            set(old.data) == set(new.data) == {"text", "thought"}
        ):
            joined = Native(old.origin, {**old.data, "text": before + after})
            return (*first[:-1], Reasoning(before + after, joined), *second[1:])
        case _:
            return first + second


def _is_running(text: Text) -> bool:
    return text.native is None or set(text.native.data) == {"text"}


def _join_texts(first: Text, second: Text) -> Text:
    """Return two pieces of one text; the citations of the second move along with it."""
    by = len(first.text)
    moved = [
        each if each.start is None or each.end is None else replace(each, start=each.start + by, end=each.end + by)
        for each in second.citations
    ]
    text, kept = first.text + second.text, first.native or second.native
    return Text(text, kept and Native(kept.origin, {"text": text}), (*first.citations, *moved))


def broken_off(whole: Reply, error: ProviderError, provider: str, kind: str) -> ProviderError:
    """Return the error for a step that failed; it keeps what the steps before it said."""
    if isinstance(error, UnknownStop):
        error.reply = join_replies(whole, error.reply, kind)
        return error
    message = (
        f"{provider} did not finish its answer: step {whole.hops + 1} failed ({error}); the error's `reply` holds"
        " what came before"
    )
    partial = whole.text + getattr(error, "partial", "")
    return ContinuationFailed(message, provider=provider, partial=partial, reply=whole)


def too_many(whole: Reply, provider: str, limit: int) -> ContinuationFailed:
    """Return the error for an answer that is not finished after as many steps as are allowed."""
    message = (
        f"{provider} has not finished its answer after {whole.hops} steps, and `continuations` allows {limit} more than"
        " one; the error's `reply` holds what it said"
    )
    return ContinuationFailed(message, provider=provider, partial=whole.text, reply=whole)


def not_fetched(reply: Reply, error: ProviderError, provider: str) -> ContinuationFailed:
    """Return the error for a response in the background that could not be fetched."""
    message = f"response {reply.id} of {provider} could not be fetched: {error}; the error's `reply` holds its id"
    return ContinuationFailed(message, provider=provider, partial=reply.text, reply=reply)


def too_late(whole: Reply, provider: str, seconds: float) -> ContinuationFailed:
    """Return the error for a response in the background that was waited for as long as is allowed."""
    message = (
        f"{provider} has not finished response {whole.id} after {seconds:g} s; it may still do so, and `max_seconds` of"
        " `connect` allows a longer wait"
    )
    return ContinuationFailed(message, provider=provider, partial=whole.text, reply=whole)
