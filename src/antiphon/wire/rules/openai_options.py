"""Rules about the options that OpenAI's models, and those of compatible servers, accept.

Both APIs have the same rules under different codes: `O` codes for Chat Completions, `R` codes for
Responses.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon._base.json_access import as_object, as_string
from antiphon.wire.rules.json_access import format_literal, get_type_tag, is_json_dict
from antiphon.wire.rules.subject import CheckSubject
from antiphon.wire.rules.violation import Violation

_SAMPLING_FIELDS = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs")
#: Neutral values of sampling parameters, which Chat Completions accepts for every model.
_SAMPLING_DEFAULTS: dict[str, object] = {"temperature": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0}


def format_choices(values: tuple[str, ...]) -> str:
    """Format values as OpenAI's errors list them."""
    quoted = [f"'{value}'" for value in values]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return ", ".join(quoted[:-1]) + f", and {quoted[-1]}"


def get_effective_effort(effort: object, subject: CheckSubject) -> str | None:
    """Return the effort of a request: as given, or the model's default, or None if unknown."""
    return effort if isinstance(effort, str) else subject.facts.effort_default


def find_openai_effort_violations(code: str, effort: object, path: str, subject: CheckSubject) -> Iterator[Violation]:
    """Yield a violation for an effort that the model does not have in this API."""
    known = subject.facts.efforts
    if not isinstance(effort, str) or known is None:
        return
    if not known:
        text = f"Unsupported parameter: '{path}' is not supported with this model."
        yield Violation(code, text, path, "unsupported_parameter")
        return
    if effort not in known:
        text = f"Unsupported value: '{path}' does not support '{effort[:64]}' with this model. Supported values are: "
        yield Violation(code, f"{text}{format_choices(known)}.", path, "unsupported_value")


def find_sampling_violations(
    code: str, request: dict[str, object], effort: str | None, subject: CheckSubject, *, defaults: bool
) -> Iterator[Violation]:
    """Yield violations for sampling parameters. `defaults` says that default values are accepted."""
    sampling = subject.facts.sampling
    reasons = sampling == "only_without_reasoning" and effort not in (None, "none")
    if sampling != "no" and not reasons:
        return
    for name in _SAMPLING_FIELDS:
        value = request.get(name)
        if value is None or value is False:
            continue
        if not defaults or name not in _SAMPLING_DEFAULTS:
            text = f"Unsupported parameter: '{name}' is not supported with this model."
            yield Violation(code, text, name, "unsupported_parameter")
        elif value != _SAMPLING_DEFAULTS[name]:
            text = (
                f"Unsupported value: '{name}' does not support {format_literal(value)} with this model. "
                f"Only the default ({_SAMPLING_DEFAULTS[name]}) value is supported."
            )
            yield Violation(code, text, name, "unsupported_value")


def find_openai_cache_violations(code: str, request: dict[str, object], ttls: tuple[str, ...]) -> Iterator[Violation]:
    """Yield violations about the cache options."""
    options = request.get("prompt_cache_options")
    if not is_json_dict(options):
        return
    if request.get("prompt_cache_retention") is not None:
        text = "Invalid request: 'prompt_cache_retention' and 'prompt_cache_options' cannot be used together."
        yield Violation(code, text, "prompt_cache_options", "invalid_value")
    ttl = options.get("ttl")
    if ttl is not None and ttl not in ttls:
        text = f"Invalid value: '{as_string(ttl)[:64]}'. Supported values are: {format_choices(ttls)}."
        yield Violation(code, text, "prompt_cache_options.ttl", "invalid_value")
    compared = options.get("comparison_response_id")
    if compared is not None and not as_string(compared).startswith("resp"):
        path = "prompt_cache_options.comparison_response_id"
        text = f"Invalid '{path}': '{as_string(compared)[:64]}'. Expected an ID that begins with 'resp'."
        yield Violation(code, text, path, "invalid_value")


def is_forced_choice(choice: object) -> bool:
    """Return whether a tool choice forces the model to call a tool."""
    if is_json_dict(choice):
        return (
            get_type_tag(choice) != "allowed_tools"
            or as_object(choice.get("allowed_tools") or choice).get("mode") == "required"
        )
    return choice == "required"


def find_choice_violations(code: str, request: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    """Yield a violation for a forced call if the server never accepts it, or not during thinking."""
    choice = request.get("tool_choice")
    forced = subject.facts.forced_choice
    if not is_forced_choice(choice):
        return
    thinks = get_type_tag(request.get("thinking")) != "disabled" and subject.facts.thinking.default in ("on", "always")
    if forced == "not_while_thinking" and (thinks or get_type_tag(request.get("thinking")) == "enabled"):
        yield Violation(code, "Thinking mode does not support this tool_choice", "tool_choice")
    elif forced == "no" or (forced == "no_required" and choice == "required"):
        yield Violation(
            code, f"tool_choice '{get_type_tag(choice) or choice}' is not supported by this model", "tool_choice"
        )
