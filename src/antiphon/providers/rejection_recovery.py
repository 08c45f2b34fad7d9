"""Recovery from rejections with a known fix: the fact that a rejection teaches, and the state that it
changes.

Only the library's own choices are changed. A rejected option of the caller raises OptionRefused
with the server's message.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from antiphon import facts
from antiphon._base.json import load_json
from antiphon._base.json_access import as_object, as_string
from antiphon.conversation import Conversation
from antiphon.errors import ContextOverflow, NotFound, OptionRefused, ProviderError, RequestRejected, StatusError
from antiphon.wire import EncodedRequest, Healed, Options, Target

if TYPE_CHECKING:
    from antiphon.facts import Facts, RejectionFix

log = logging.getLogger("antiphon.providers")

_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_THINKING_KIND = re.compile(r"thinking\.type\.(\w+)|\b(adaptive|between_tools|enabled|disabled)\b", re.IGNORECASE)
_EFFORT_WORD = re.compile(rf"\b({'|'.join(_EFFORTS)})\b", re.IGNORECASE)
#: Text before the values that a server accepts.
_SUPPORTED_VALUES = re.compile(
    r"(?:supported values|must be one of|should be|expected one of|use)\b(.*)", re.IGNORECASE | re.S
)


@dataclass(frozen=True, slots=True)
class LearnedFact:
    """A fact that a rejection teaches, by dotted name and new value, and how the request changes."""

    fact: str
    value: Any
    action: str
    said: str


def parse_rejection(error: ProviderError, target: Target, request: EncodedRequest) -> LearnedFact | None:
    """Return what a rejection teaches, or None if it has no known fix."""
    if not isinstance(error, RequestRejected | NotFound) or isinstance(error, ContextOverflow):
        return None
    cure = next((cure for cure in facts.cures(target.api) if _is_matching_fix(cure, error)), None)
    if cure is None:
        return None
    fact, value = _parse_new_value(cure, error.text, target.facts, _get_sent_effort(request))
    return LearnedFact(fact, value, cure.action, error.text)


def _is_matching_fix(cure: RejectionFix, error: StatusError) -> bool:
    same = error.status == cure.status or (cure.status == 400 and error.status == 422)
    return same and cure.pattern.search(error.text) is not None


def _parse_new_value(cure: RejectionFix, text: str, known: Facts, sent: str) -> tuple[str, Any]:
    """Return the fact and its new value, from the table or from the server's message."""
    if cure.value is not None:
        return cure.fact, cure.value
    if cure.fact == "thinking.kinds":
        return _parse_thinking_kind(text, known)
    if cure.fact == "efforts":
        listed = _SUPPORTED_VALUES.search(text)
        allowed = _EFFORT_WORD.findall(listed[1].lower()) if listed else []
        rest = allowed or [word for word in known.efforts or _EFFORTS if word != sent]
        return "efforts", [word for word in _EFFORTS if word in rest]
    return cure.fact, None


def _parse_thinking_kind(text: str, known: Facts) -> tuple[str, Any]:
    """Return the kind of thinking that the message names after the rejected one."""
    refused, *named = [as_string(one or other).lower() for one, other in _THINKING_KIND.findall(text)] or ["enabled"]
    named = [kind for kind in named if kind != refused]
    if refused in ("disabled", "between_tools"):
        ways = [kind for kind in named if kind in ("disabled", "between_tools")]
        return "thinking.off", ways[0] if ways else "lowest"
    kinds = named or [kind for kind in known.thinking.kinds or ("adaptive", "enabled") if kind != refused]
    return "thinking.kinds", [kind for kind in dict.fromkeys(kinds) if kind != "disabled"]


def _get_sent_effort(request: EncodedRequest) -> str:
    body = as_object(load_json(request.body))
    found = (
        as_object(body.get("output_config")).get("effort"),
        as_object(body.get("reasoning")).get("effort"),
        body.get("reasoning_effort"),
        as_object(as_object(body.get("generationConfig")).get("thinkingConfig")).get("thinkingLevel"),
    )
    return next((value.lower() for value in found if isinstance(value, str)), "")


def find_rejected_option(lesson: LearnedFact, options: Options, request: EncodedRequest) -> str:
    """Return the caller's option that was rejected, or "" if the library chose it."""
    for name in _iter_names(options.extra):
        if len(name) > 3 and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", lesson.said, re.IGNORECASE):
            return "extra"
    head = lesson.fact.partition(".")[0]
    if head == "forced_choice" and options.tool_choice not in (None, "auto", "none"):
        return "tool_choice"
    if head == "sampling":
        return next((name for name in ("temperature", "top_p") if getattr(options, name) is not None), "")
    if head.startswith("schema") and options.output_schema is not None:
        return "output_schema"
    if head == "parallel" and options.parallel_tool_calls is not None:
        return "parallel_tool_calls"
    # The library chooses how thinking is requested; the caller chooses how much.
    is_amount = isinstance(options.reasoning, int) and head in ("efforts", "thinking")
    is_word = head == "efforts" and options.reasoning is not None and options.reasoning == _get_sent_effort(request)
    return "reasoning" if is_amount or is_word else ""


def _iter_names(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in cast(Mapping[object, object], value).items():
            yield str(name)
            yield from _iter_names(inner)


def apply_learned_fact(lesson: LearnedFact, target: Target, conversation: Conversation) -> Healed | None:
    """Store the fact for this process, or in the conversation's state. Return the correction, if any."""
    state, origin = conversation.state, target.origin
    was: Any
    match lesson.action:
        case "forget_container":
            was, now = as_object(state.get(origin, {}).get("container")).get("id"), None
            state.keep(origin, container=None)
        case "drop_block":
            was, now = bool(state.get(origin, {}).get("drop_block")), True
            state.keep(origin, drop_block=True)
            if target.facts.bound_thinking not in ("refuses", "by_account"):
                facts.learn(target.provider, target.model, lesson.fact, lesson.value, said=lesson.said)
        case _ if lesson.value is None:
            return None
        case _:
            was, now = get_fact(target.facts, lesson.fact), lesson.value
            facts.learn(target.provider, target.model, lesson.fact, now, said=lesson.said)
    name = "drop_block" if lesson.action == "drop_block" else lesson.fact
    return Healed(f"{target.provider}/{target.model}", name, was, now, lesson.said)


def get_fact(known: Facts, name: str) -> Any:
    """Return the value of a fact by its dotted name."""
    value: Any = known
    for step in name.split("."):
        value = cast(Mapping[str, Any], value).get(step) if isinstance(value, Mapping) else getattr(value, step, None)
    return value


def log_correction(healed: Healed) -> None:
    """Log what was changed, and how to keep it."""
    if healed.fact in ("container", "drop_block"):
        log.warning("%s: %s is now %r for this conversation: %s", healed.model, healed.fact, healed.now, healed.said)
        return
    log.warning(
        "%s: the fact `%s` was %r and is now %r, until this process ends: %s. `antiphon setup models learn` keeps it.",
        *(healed.model, healed.fact, healed.was, healed.now, healed.said),
    )


def make_option_error(option: str, lesson: LearnedFact, provider: str) -> OptionRefused:
    """Return the error for a rejected option of the caller."""
    message = f"{provider} refuses what `{option}` asks for: {lesson.said}; leave it out, or give it another value"
    return OptionRefused(message, fact=lesson.fact, now=lesson.value, said=lesson.said)


def drop_expired_container(conversation: Conversation, target: Target) -> Healed | None:
    """Drop an expired container, which the provider would reject, and return the correction, if any."""
    container = as_object(conversation.state.get(target.origin, {}).get("container"))
    expires = as_string(container.get("expires_at"))
    try:
        when = datetime.fromisoformat(expires) if expires else None
    except ValueError:
        return None
    if when is None or when.replace(tzinfo=when.tzinfo or UTC) > datetime.now(UTC):
        return None
    conversation.state.keep(target.origin, container=None)
    said = f"the container expired at {expires}, and its files are lost"
    return Healed(f"{target.provider}/{target.model}", "container", container.get("id"), None, said)
