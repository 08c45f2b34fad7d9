"""Answers that take several requests: how each is continued, and how the steps become one reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from antiphon.conversation import AssistantPart, ProviderPayload, Reasoning, Text, ToolCall
from antiphon.errors import ContinuationFailed, ProviderError, UnknownStop
from antiphon.wire import APIS, Options, Reply, Target

#: Default maximum number of steps of one answer.
DEFAULT_CONTINUATIONS = 20


@dataclass(slots=True)
class Pending:
    """The stored id of a background response. With an `id`, the response is fetched instead of requested again."""

    id: str
    #: Keeps another id; an empty one forgets it.
    note: Callable[[str], object]


class ContinuationStep(NamedTuple):
    """The next step of an unfinished answer.

    `resend` repeats the request with the answer so far appended, `token` repeats it with a token.
    `changes` are changed options.
    """

    kind: Literal["resend", "token"]
    changes: Mapping[str, Any] = MappingProxyType({})


def plan_continuation(reply: Reply, target: Target, options: Options) -> ContinuationStep | None:
    """Return how an answer that paused continues, or None if it cannot be continued."""
    spec = APIS[target.api]
    if spec.continuation_field:
        # A token with an exhausted budget needs a higher budget, which only the caller may set.
        token = reply.state.continuation_token
        return (
            ContinuationStep("token", {"extra": {**options.extra, spec.continuation_field: token}}) if token else None
        )
    # Only a person can answer a request for approval.
    is_open = reply.stop_reason not in ("mcp_approval_request", *spec.background_statuses)
    # Calls are answered first; their results continue the answer.
    return ContinuationStep("resend", {"continues": True}) if is_open and not reply.tool_calls else None


def is_background_response(reply: Reply, target: Target) -> bool:
    """Return whether a response is still in progress and can be fetched by its id."""
    return reply.stop_reason in APIS[target.api].background_statuses and bool(reply.id)


def join_replies(first: Reply, second: Reply, kind: str) -> Reply:
    """Return two steps of an answer as one reply."""
    parts = _join_parts(first.parts, second.parts, seamless=kind == "token")
    stop = second.stop
    if stop == "end" and any(isinstance(part, ToolCall) for part in parts):
        stop = "tool_calls"
    usage = first.usage.plus(second.usage)
    window = second.window
    if kind == "token" and first.window is not None:
        # The prompt is the same each time, so it is counted once.
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
    """Return the parts of both. `seamless` parts continue in the middle of a text."""
    if not (seamless and first and second):
        return first + second
    match first[-1], second[0]:
        case Text() as before, Text() as after if _is_plain_text(before) and _is_plain_text(after):
            return (*first[:-1], _join_texts(before, after), *second[1:])
        case Reasoning(text=before, native=ProviderPayload() as old), Reasoning(
            text=after, native=ProviderPayload() as new
        ) if set(old.data) == set(new.data) == {"text", "thought"}:
            joined = ProviderPayload(old.origin, {**old.data, "text": before + after})
            return (*first[:-1], Reasoning(before + after, joined), *second[1:])
        case _:
            return first + second


def _is_plain_text(text: Text) -> bool:
    return text.native is None or set(text.native.data) == {"text"}


def _join_texts(first: Text, second: Text) -> Text:
    """Return two pieces of one text. Citations of the second are shifted."""
    by = len(first.text)
    moved = [
        each if each.start is None or each.end is None else replace(each, start=each.start + by, end=each.end + by)
        for each in second.citations
    ]
    text, kept = first.text + second.text, first.native or second.native
    return Text(text, kept and ProviderPayload(kept.origin, {"text": text}), (*first.citations, *moved))


def make_step_error(whole: Reply, error: ProviderError, provider: str, kind: str) -> ProviderError:
    """Return the error for a failed step. It keeps what the earlier steps said."""
    if isinstance(error, UnknownStop):
        error.reply = join_replies(whole, error.reply, kind)
        return error
    message = (
        f"{provider} did not finish its answer: step {whole.hops + 1} failed ({error}); the error's `reply` holds"
        " what came before"
    )
    partial = whole.text + getattr(error, "partial", "")
    return ContinuationFailed(message, provider=provider, partial=partial, reply=whole)


def make_step_limit_error(whole: Reply, provider: str, limit: int) -> ContinuationFailed:
    """Return the error for an answer that is unfinished after the allowed number of steps."""
    message = (
        f"{provider} has not finished its answer after {whole.hops} steps, and `continuations` allows {limit} more than"
        " one; the error's `reply` holds what it said"
    )
    return ContinuationFailed(message, provider=provider, partial=whole.text, reply=whole)


def make_fetch_error(reply: Reply, error: ProviderError, provider: str) -> ContinuationFailed:
    """Return the error for a background response that could not be fetched."""
    message = f"response {reply.id} of {provider} could not be fetched: {error}; the error's `reply` holds its id"
    return ContinuationFailed(message, provider=provider, partial=reply.text, reply=reply)


def make_wait_error(whole: Reply, provider: str, seconds: float) -> ContinuationFailed:
    """Return the error for a background response that took longer than allowed."""
    message = (
        f"{provider} has not finished response {whole.id} after {seconds:g} s; it may still do so, and `max_seconds` of"
        " `connect` allows a longer wait"
    )
    return ContinuationFailed(message, provider=provider, partial=whole.text, reply=whole)
