"""Rules about the options that a Claude model accepts: tools, thinking, effort, sampling, size (A27 to
A30, A44 to A47).

All of them follow from the facts about the model. An unknown fact yields no violation.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon._base.json_access import as_object, as_string
from antiphon.wire.rules.json_access import get_type_tag, is_json_dict
from antiphon.wire.rules.subject import CheckSubject
from antiphon.wire.rules.violation import Violation

#: From this API version on, no model accepts sampling parameters, not even at their default values.
NO_SAMPLING_SINCE = "2026-10-21"
CLAUDE_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_SAMPLING_FIELDS = ("temperature", "top_p", "top_k")
_THINKING_KINDS = ("adaptive", "between_tools", "disabled", "enabled")
_FORCED_CHOICES = ("any", "tool")
_MIN_BUDGET = 1024
_INTERLEAVED_BETA = "interleaved-thinking-"
_LONG_OUTPUT_BETA = "output-300k-"


def find_anthropic_option_violations(request: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of the rules about a request's options."""
    yield from _check_tool_choice(request, subject)
    yield from _check_thinking(request, subject)
    yield from _check_effort(request, subject)
    yield from _check_sampling(request, subject)
    yield from _check_max_tokens(request, subject)
    yield from _check_cache_warming(request)
    yield from _check_diagnostics(request)


def find_anthropic_effort_violations(effort: object, path: str, subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of A29: an effort that the model does not have."""
    efforts = subject.facts.efforts
    if effort is None or efforts is None:
        return
    if not efforts:
        yield Violation("A29", "This model does not support the effort parameter.", path)
    elif effort not in efforts:
        known = ", ".join(efforts)
        text = f"This model does not support effort level '{effort}'. Supported levels: {known}."
        yield Violation("A29", text, path)


def _check_tool_choice(request: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    choice = get_type_tag(request.get("tool_choice"))
    if choice in _FORCED_CHOICES and subject.facts.forced_choice == "no":
        text = f"tool_choice: type '{choice}' is not supported by this model. Use 'auto' or 'none'."
        yield Violation("A27", text, "tool_choice")


def _check_thinking(request: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of A28, and of A46 if a budget is given."""
    given = request.get("thinking")
    if not is_json_dict(given):
        return
    mode = get_type_tag(given)
    if mode not in _THINKING_KINDS:
        tags = ", ".join(f"'{known}'" for known in _THINKING_KINDS)
        text = f"thinking: Input tag '{mode}' found using 'type' does not match any of the expected tags: {tags}"
        yield Violation("A28", text, "thinking")
    elif (taken := _accepted_kinds(subject)) and mode not in taken:
        yield Violation("A28", _format_rejected_kind(mode, taken), "thinking")
    elif mode == "enabled":
        yield from _check_budget(request, given.get("budget_tokens"), subject)


def _accepted_kinds(subject: CheckSubject) -> tuple[str, ...]:
    """Return the kinds that turn thinking on and the one that turns it off, or () if unknown."""
    thinking = subject.facts.thinking
    if not thinking.kinds or thinking.off is None:
        return ()
    return (*thinking.kinds, thinking.off)


def _format_rejected_kind(mode: str, kinds: tuple[str, ...]) -> str:
    if mode == "adaptive":
        return "adaptive thinking is not supported on this model"
    text = f'"thinking.type.{mode}" is not supported for this model.'
    if mode == "enabled" and "adaptive" in kinds:
        text += ' Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
    return text


def _check_budget(request: dict[str, object], budget: object, subject: CheckSubject) -> Iterator[Violation]:
    path = "thinking.enabled.budget_tokens"
    if not isinstance(budget, int) or isinstance(budget, bool):
        yield Violation("A46", f"{path}: Field required", path)
        return
    if budget < _MIN_BUDGET:
        yield Violation("A46", f"{path}: Input should be greater than or equal to {_MIN_BUDGET}", path)
    most = request.get("max_tokens")
    interleaved = any(beta.startswith(_INTERLEAVED_BETA) for beta in subject.betas)
    if isinstance(most, int) and most <= budget and not interleaved:
        yield Violation("A46", "`max_tokens` must be greater than `thinking.budget_tokens`.", "max_tokens")


def _check_effort(request: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of A29, including the maximum effort while thinking is off."""
    path = "output_config.effort"
    effort = as_object(request.get("output_config")).get("effort")
    yield from find_anthropic_effort_violations(effort, path, subject)
    mode = get_type_tag(request.get("thinking"))
    cap = (subject.facts.effort_caps or {}).get(mode)
    if cap in CLAUDE_EFFORTS and effort in CLAUDE_EFFORTS and CLAUDE_EFFORTS.index(effort) > CLAUDE_EFFORTS.index(cap):
        text = f"{path}: '{effort}' is not supported with \"thinking.type.{mode}\". The highest level is '{cap}'."
        yield Violation("A29", text, path)


def _check_sampling(request: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    if subject.api_version < NO_SAMPLING_SINCE and subject.facts.sampling != "no":
        return
    for name in _SAMPLING_FIELDS:
        if request.get(name) is not None:
            yield Violation("A30", f"`{name}` is deprecated for this model.", name)


def _check_max_tokens(request: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of A45: more output tokens than the model has."""
    wanted, most = request.get("max_tokens"), subject.facts.max_output
    long = any(beta.startswith(_LONG_OUTPUT_BETA) for beta in subject.betas)
    if isinstance(wanted, int) and most is not None and wanted > most and not long:
        text = (
            f"max_tokens: {_format_number(wanted)} > {most}, which is the maximum allowed number of output tokens for "
        )
        yield Violation("A45", text + subject.model, "max_tokens")


def _format_number(number: int) -> str:
    # Python refuses to format integers beyond some thousand digits.
    return str(number) if abs(number) < 10**18 else "a number"


def _check_cache_warming(request: dict[str, object]) -> Iterator[Violation]:
    """Yield violations of A44: options that a request with zero tokens, which only fills the cache, may
    not have.
    """
    if request.get("max_tokens") != 0 or isinstance(request.get("max_tokens"), bool):
        return
    beside = {
        "stream": request.get("stream") is True,
        "thinking.enabled": get_type_tag(request.get("thinking")) == "enabled",
        "output_config.format": is_json_dict(as_object(request.get("output_config")).get("format")),
        "tool_choice": get_type_tag(request.get("tool_choice")) in _FORCED_CHOICES,
    }
    for name, is_there in beside.items():
        if is_there:
            yield Violation("A44", f"max_tokens: 0 is not supported together with `{name}`", "max_tokens")


def _check_diagnostics(request: dict[str, object]) -> Iterator[Violation]:
    path = "diagnostics.previous_message_id"
    previous = as_object(request.get("diagnostics")).get("previous_message_id")
    if previous is not None and not as_string(previous).startswith("msg_"):
        yield Violation("A47", f"{path}: String should match pattern '^msg_'", path)
