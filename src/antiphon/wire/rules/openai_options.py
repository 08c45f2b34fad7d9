"""What OpenAI's models, and those of servers that speak its APIs, take of the options.

Both APIs have the same rules in other places: `O` codes are of Chat Completions, `R` codes of Responses.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon._shape import obj, string
from antiphon.wire.rules.reading import is_object, kind, literal
from antiphon.wire.rules.subject import Subject
from antiphon.wire.rules.violation import Violation

_SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs")
#: The value of a sampling parameter that changes nothing, which Chat Completions takes everywhere.
_DEFAULTS: dict[str, object] = {"temperature": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0}


def listed(values: tuple[str, ...]) -> str:
    """Write values as OpenAI's errors list them."""
    quoted = [f"'{value}'" for value in values]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return ", ".join(quoted[:-1]) + f", and {quoted[-1]}"


def effective_effort(effort: object, subject: Subject) -> str | None:
    """Return the effort that a request is answered with: as given, or the model's default; None where unknown."""
    return effort if isinstance(effort, str) else subject.facts.effort_default


def effort_violations(code: str, effort: object, path: str, subject: Subject) -> Iterator[Violation]:
    """Yield the refusal of an effort that the model does not have in this API."""
    known = subject.facts.efforts
    if not isinstance(effort, str) or known is None:
        return
    if not known:
        text = f"Unsupported parameter: '{path}' is not supported with this model."
        yield Violation(code, text, path, "unsupported_parameter")
        return
    if effort not in known:
        text = f"Unsupported value: '{path}' does not support '{effort[:64]}' with this model. Supported values are: "
        yield Violation(code, f"{text}{listed(known)}.", path, "unsupported_value")


def sampling_violations(
    code: str, request: dict[str, object], effort: str | None, subject: Subject, *, defaults: bool
) -> Iterator[Violation]:
    """Yield the refusal of sampling parameters; `defaults` says that their default values are taken."""
    sampling = subject.facts.sampling
    reasons = sampling == "only_without_reasoning" and effort not in (None, "none")
    if sampling != "no" and not reasons:
        return
    for name in _SAMPLING:
        value = request.get(name)
        if value is None or value is False:
            continue
        if not defaults or name not in _DEFAULTS:
            text = f"Unsupported parameter: '{name}' is not supported with this model."
            yield Violation(code, text, name, "unsupported_parameter")
        elif value != _DEFAULTS[name]:
            text = (
                f"Unsupported value: '{name}' does not support {literal(value)} with this model. "
                f"Only the default ({_DEFAULTS[name]}) value is supported."
            )
            yield Violation(code, text, name, "unsupported_value")


def cache_violations(code: str, request: dict[str, object], ttls: tuple[str, ...]) -> Iterator[Violation]:
    """Yield what is wrong with the options of the cache."""
    options = request.get("prompt_cache_options")
    if not is_object(options):
        return
    if request.get("prompt_cache_retention") is not None:
        text = "Invalid request: 'prompt_cache_retention' and 'prompt_cache_options' cannot be used together."
        yield Violation(code, text, "prompt_cache_options", "invalid_value")
    ttl = options.get("ttl")
    if ttl is not None and ttl not in ttls:
        text = f"Invalid value: '{string(ttl)[:64]}'. Supported values are: {listed(ttls)}."
        yield Violation(code, text, "prompt_cache_options.ttl", "invalid_value")
    compared = options.get("comparison_response_id")
    if compared is not None and not string(compared).startswith("resp"):
        path = "prompt_cache_options.comparison_response_id"
        text = f"Invalid '{path}': '{string(compared)[:64]}'. Expected an ID that begins with 'resp'."
        yield Violation(code, text, path, "invalid_value")


def is_forced(choice: object) -> bool:
    """Return whether a choice of tools makes the model call one."""
    if is_object(choice):
        return kind(choice) != "allowed_tools" or obj(choice.get("allowed_tools") or choice).get("mode") == "required"
    return choice == "required"


def choice_violations(code: str, request: dict[str, object], subject: Subject) -> Iterator[Violation]:
    """Yield the refusal of a forced call by servers that do not take it, or not while the model thinks."""
    choice = request.get("tool_choice")
    forced = subject.facts.forced_choice
    if not is_forced(choice):
        return
    thinks = kind(request.get("thinking")) != "disabled" and subject.facts.thinking.default in ("on", "always")
    if forced == "not_while_thinking" and (thinks or kind(request.get("thinking")) == "enabled"):
        yield Violation(code, "Thinking mode does not support this tool_choice", "tool_choice")
    elif forced == "no" or (forced == "no_required" and choice == "required"):
        yield Violation(code, f"tool_choice '{kind(choice) or choice}' is not supported by this model", "tool_choice")
