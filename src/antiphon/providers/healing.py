"""Refusals that name their cure: the fact that a refusal teaches, and the state that it changes.

Only what the library chose itself is cured. What the caller set is an OptionRefused with the server's words.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from antiphon import facts
from antiphon._json import loads
from antiphon._shape import obj, string
from antiphon.conversation import Conversation
from antiphon.errors import ContextOverflow, NotFound, OptionRefused, ProviderError, RequestRejected, StatusError
from antiphon.wire import Healed, Options, Request, Target

if TYPE_CHECKING:
    from antiphon.facts import Cure, Facts

log = logging.getLogger("antiphon.providers")

_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_KIND = re.compile(r"thinking\.type\.(\w+)|\b(adaptive|between_tools|enabled|disabled)\b", re.IGNORECASE)
_EFFORT = re.compile(rf"\b({'|'.join(_EFFORTS)})\b", re.IGNORECASE)
#: What stands before the values that a server takes.
_SUPPORTED = re.compile(
    r"(?:supported values|must be one of|should be|expected one of|use)\b(.*)", re.IGNORECASE | re.S
)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a refusal teaches: a fact by its dotted name and its new value, and what the request is changed by."""

    fact: str
    value: Any
    action: str
    said: str


def read_refusal(error: ProviderError, target: Target, request: Request) -> Lesson | None:
    """Return what a refusal teaches, or nothing where it names no cure."""
    if not isinstance(error, RequestRejected | NotFound) or isinstance(error, ContextOverflow):
        return None
    cure = next((cure for cure in facts.cures(target.api) if _matches(cure, error)), None)
    if cure is None:
        return None
    fact, value = _read_value(cure, error.text, target.facts, _sent_effort(request))
    return Lesson(fact, value, cure.action, error.text)


def _matches(cure: Cure, error: StatusError) -> bool:
    same = error.status == cure.status or (cure.status == 400 and error.status == 422)
    return same and cure.pattern.search(error.text) is not None


def _read_value(cure: Cure, text: str, known: Facts, sent: str) -> tuple[str, Any]:
    """Return the fact and its new value, as far as the table or the server's words tell it."""
    if cure.value is not None:
        return cure.fact, cure.value
    if cure.fact == "thinking.kinds":
        return _read_thinking(text, known)
    if cure.fact == "efforts":
        listed = _SUPPORTED.search(text)
        allowed = _EFFORT.findall(listed[1].lower()) if listed else []
        rest = allowed or [word for word in known.efforts or _EFFORTS if word != sent]
        return "efforts", [word for word in _EFFORTS if word in rest]
    return cure.fact, None


def _read_thinking(text: str, known: Facts) -> tuple[str, Any]:
    """Return how thinking is turned on or off instead: the kind that the text names after the one that it refuses."""
    refused, *named = [string(one or other).lower() for one, other in _KIND.findall(text)] or ["enabled"]
    named = [kind for kind in named if kind != refused]
    if refused in ("disabled", "between_tools"):
        ways = [kind for kind in named if kind in ("disabled", "between_tools")]
        return "thinking.off", ways[0] if ways else "lowest"
    kinds = named or [kind for kind in known.thinking.kinds or ("adaptive", "enabled") if kind != refused]
    return "thinking.kinds", [kind for kind in dict.fromkeys(kinds) if kind != "disabled"]


def _sent_effort(request: Request) -> str:
    body = obj(loads(request.body))
    found = (
        obj(body.get("output_config")).get("effort"),
        obj(body.get("reasoning")).get("effort"),
        body.get("reasoning_effort"),
        obj(obj(body.get("generationConfig")).get("thinkingConfig")).get("thinkingLevel"),
    )
    return next((value.lower() for value in found if isinstance(value, str)), "")


def find_option(lesson: Lesson, options: Options, request: Request) -> str:
    """Return the name of the option by which the caller asked for what was refused; empty where the library did."""
    for name in _names_in(options.extra):
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
    # How thinking is asked for is the library's choice; how much of it is the caller's.
    is_amount = isinstance(options.reasoning, int) and head in ("efforts", "thinking")
    is_word = head == "efforts" and options.reasoning is not None and options.reasoning == _sent_effort(request)
    return "reasoning" if is_amount or is_word else ""


def _names_in(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in cast(Mapping[object, object], value).items():
            yield str(name)
            yield from _names_in(inner)


def learn_lesson(lesson: Lesson, target: Target, conversation: Conversation) -> Healed | None:
    """Set the fact for this process, or the state of the conversation, and return what changed, if anything did."""
    state, origin = conversation.state, target.origin
    was: Any
    match lesson.action:
        case "forget_container":
            was, now = obj(state.of(origin).get("container")).get("id"), None
            state.keep(origin, container=None)
        case "drop_block":
            was, now = bool(state.of(origin).get("drop_block")), True
            state.keep(origin, drop_block=True)
            if target.facts.bound_thinking not in ("refuses", "by_account"):
                facts.learn(target.provider, target.model, lesson.fact, lesson.value, said=lesson.said)
        case _ if lesson.value is None:
            return None
        case _:
            was, now = fact_of(target.facts, lesson.fact), lesson.value
            facts.learn(target.provider, target.model, lesson.fact, now, said=lesson.said)
    name = "drop_block" if lesson.action == "drop_block" else lesson.fact
    return Healed(f"{target.provider}/{target.model}", name, was, now, lesson.said)


def fact_of(known: Facts, name: str) -> Any:
    """Return the value of a fact by its dotted name."""
    value: Any = known
    for step in name.split("."):
        value = cast(Mapping[str, Any], value).get(step) if isinstance(value, Mapping) else getattr(value, step, None)
    return value


def warn_of(healed: Healed) -> None:
    """Log what was changed, and how to keep it."""
    if healed.fact in ("container", "drop_block"):
        log.warning("%s: %s is now %r for this conversation: %s", healed.model, healed.fact, healed.now, healed.said)
        return
    log.warning(
        "%s: the fact `%s` was %r and is now %r, until this process ends: %s. `antiphon models learn` keeps it.",
        *(healed.model, healed.fact, healed.was, healed.now, healed.said),
    )


def refuse_option(option: str, lesson: Lesson, provider: str) -> OptionRefused:
    """Return the error for a refusal of what the caller asked for."""
    message = f"{provider} refuses what `{option}` asks for: {lesson.said}; leave it out, or give it another value"
    return OptionRefused(message, fact=lesson.fact, now=lesson.value, said=lesson.said)


def forget_expired(conversation: Conversation, target: Target) -> Healed | None:
    """Forget a container that has expired, which the provider would refuse, and return the notice of it."""
    container = obj(conversation.state.of(target.origin).get("container"))
    expires = string(container.get("expires_at"))
    try:
        when = datetime.fromisoformat(expires) if expires else None
    except ValueError:
        return None
    if when is None or when.replace(tzinfo=when.tzinfo or UTC) > datetime.now(UTC):
        return None
    conversation.state.keep(target.origin, container=None)
    said = f"the container expired at {expires}, and its files are lost"
    return Healed(f"{target.provider}/{target.model}", "container", container.get("id"), None, said)
