"""What a Claude model takes of the options: tools, thinking, effort, sampling, size (A27 to A30, A44 to A47).

All of it follows from the facts about the model; a fact that is not known says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon._shape import obj, string
from antiphon.wire.rules.reading import is_object, kind
from antiphon.wire.rules.subject import Subject
from antiphon.wire.rules.violation import Violation

#: Since this version no model takes sampling parameters, not even at their default values.
NO_SAMPLING_SINCE = "2026-10-21"
EFFORTS = ("low", "medium", "high", "xhigh", "max")
_SAMPLING = ("temperature", "top_p", "top_k")
_KINDS = ("adaptive", "between_tools", "disabled", "enabled")
_FORCED = ("any", "tool")
_LEAST_BUDGET = 1024
_INTERLEAVED = "interleaved-thinking-"
_LONG_OUTPUT = "output-300k-"


def option_violations(request: dict[str, object], subject: Subject) -> Iterator[Violation]:
    """Yield what the model refuses of a request's options."""
    yield from _tool_choice(request, subject)
    yield from _thinking(request, subject)
    yield from _effort(request, subject)
    yield from _sampling(request, subject)
    yield from _size(request, subject)
    yield from _warming(request)
    yield from _diagnostics(request)


def effort_violations(effort: object, path: str, subject: Subject) -> Iterator[Violation]:
    """Yield A29 for an effort that the model does not have."""
    efforts = subject.facts.efforts
    if effort is None or efforts is None:
        return
    if not efforts:
        yield Violation("A29", "This model does not support the effort parameter.", path)
    elif effort not in efforts:
        known = ", ".join(efforts)
        text = f"This model does not support effort level '{effort}'. Supported levels: {known}."
        yield Violation("A29", text, path)


def _tool_choice(request: dict[str, object], subject: Subject) -> Iterator[Violation]:
    choice = kind(request.get("tool_choice"))
    if choice in _FORCED and subject.facts.forced_choice == "no":
        text = f"tool_choice: type '{choice}' is not supported by this model. Use 'auto' or 'none'."
        yield Violation("A27", text, "tool_choice")


def _thinking(request: dict[str, object], subject: Subject) -> Iterator[Violation]:
    """A28, and A46 where a budget is given."""
    given = request.get("thinking")
    if not is_object(given):
        return
    mode = kind(given)
    if mode not in _KINDS:
        tags = ", ".join(f"'{known}'" for known in _KINDS)
        text = f"thinking: Input tag '{mode}' found using 'type' does not match any of the expected tags: {tags}"
        yield Violation("A28", text, "thinking")
    elif (taken := _kinds_taken(subject)) and mode not in taken:
        yield Violation("A28", _refused_kind(mode, taken), "thinking")
    elif mode == "enabled":
        yield from _budget(request, given.get("budget_tokens"), subject)


def _kinds_taken(subject: Subject) -> tuple[str, ...]:
    """Return the kinds that turn thinking on, and the one that turns it off; empty where they are not known."""
    thinking = subject.facts.thinking
    if not thinking.kinds or thinking.off is None:
        return ()
    return (*thinking.kinds, thinking.off)


def _refused_kind(mode: str, kinds: tuple[str, ...]) -> str:
    if mode == "adaptive":
        return "adaptive thinking is not supported on this model"
    text = f'"thinking.type.{mode}" is not supported for this model.'
    if mode == "enabled" and "adaptive" in kinds:
        text += ' Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
    return text


def _budget(request: dict[str, object], budget: object, subject: Subject) -> Iterator[Violation]:
    path = "thinking.enabled.budget_tokens"
    if not isinstance(budget, int) or isinstance(budget, bool):
        yield Violation("A46", f"{path}: Field required", path)
        return
    if budget < _LEAST_BUDGET:
        yield Violation("A46", f"{path}: Input should be greater than or equal to {_LEAST_BUDGET}", path)
    most = request.get("max_tokens")
    interleaved = any(beta.startswith(_INTERLEAVED) for beta in subject.betas)
    if isinstance(most, int) and most <= budget and not interleaved:
        yield Violation("A46", "`max_tokens` must be greater than `thinking.budget_tokens`.", "max_tokens")


def _effort(request: dict[str, object], subject: Subject) -> Iterator[Violation]:
    """A29, and its cap while thinking is turned off."""
    path = "output_config.effort"
    effort = obj(request.get("output_config")).get("effort")
    yield from effort_violations(effort, path, subject)
    mode = kind(request.get("thinking"))
    cap = (subject.facts.effort_caps or {}).get(mode)
    if cap in EFFORTS and effort in EFFORTS and EFFORTS.index(effort) > EFFORTS.index(cap):
        text = f"{path}: '{effort}' is not supported with \"thinking.type.{mode}\". The highest level is '{cap}'."
        yield Violation("A29", text, path)


def _sampling(request: dict[str, object], subject: Subject) -> Iterator[Violation]:
    if subject.api_version < NO_SAMPLING_SINCE and subject.facts.sampling != "no":
        return
    for name in _SAMPLING:
        if request.get(name) is not None:
            yield Violation("A30", f"`{name}` is deprecated for this model.", name)


def _size(request: dict[str, object], subject: Subject) -> Iterator[Violation]:
    """A45."""
    wanted, most = request.get("max_tokens"), subject.facts.max_output
    long = any(beta.startswith(_LONG_OUTPUT) for beta in subject.betas)
    if isinstance(wanted, int) and most is not None and wanted > most and not long:
        text = f"max_tokens: {_digits(wanted)} > {most}, which is the maximum allowed number of output tokens for "
        yield Violation("A45", text + subject.model, "max_tokens")


def _digits(number: int) -> str:
    # Python refuses to print integers beyond some thousand digits.
    return str(number) if abs(number) < 10**18 else "a number"


def _warming(request: dict[str, object]) -> Iterator[Violation]:
    """A44: no tokens are asked for when only the cache is to be filled."""
    if request.get("max_tokens") != 0 or isinstance(request.get("max_tokens"), bool):
        return
    beside = {
        "stream": request.get("stream") is True,
        "thinking.enabled": kind(request.get("thinking")) == "enabled",
        "output_config.format": is_object(obj(request.get("output_config")).get("format")),
        "tool_choice": kind(request.get("tool_choice")) in _FORCED,
    }
    for name, is_there in beside.items():
        if is_there:
            yield Violation("A44", f"max_tokens: 0 is not supported together with `{name}`", "max_tokens")


def _diagnostics(request: dict[str, object]) -> Iterator[Violation]:
    path = "diagnostics.previous_message_id"
    previous = obj(request.get("diagnostics")).get("previous_message_id")
    if previous is not None and not string(previous).startswith("msg_"):
        yield Violation("A47", f"{path}: String should match pattern '^msg_'", path)
