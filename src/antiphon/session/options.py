"""Validation of a session's arguments when it is created, not when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, get_args

from antiphon._base.did_you_mean import suggest_name
from antiphon.conversation import Conversation
from antiphon.effects.budget import LIMIT_ALIASES, Limits
from antiphon.errors import OptionError
from antiphon.session.context_window import Context
from antiphon.session.human_input import HumanInput
from antiphon.session.typed_output import OutputStrategy
from antiphon.tools import Policy
from antiphon.wire import ModelSettings

#: Arguments of other libraries, and ours.
ARGUMENT_ALIASES = {
    **dict.fromkeys(("instructions", "system_prompt", "system_message", "prompt", "state_modifier"), "system"),
    **dict.fromkeys(("output_type", "result_type", "response_model", "response_format", "schema"), "returns"),
    **dict.fromkeys(("messages", "history", "message_history", "chat_history"), "conversation"),
    **dict.fromkeys(("model_name", "model_id", "llm"), "model"),
    **dict.fromkeys(("toolsets", "functions", "mcp_servers"), "tools"),
    **dict.fromkeys(("retries", "output_retries", "result_retries"), "attempts"),
    **dict.fromkeys(("usage_limits",), "limits"),
    **dict.fromkeys(("model_settings",), "settings"),
    **dict.fromkeys(("dependencies", "context_data"), "deps"),
    **dict.fromkeys(("memory", "checkpointer"), "store"),
    **dict.fromkeys(("session_id", "thread_id", "conversation_id"), "id"),
    **dict.fromkeys(("output_validators", "validators", "output_guardrails"), "check"),
    **dict.fromkeys(("input_guardrails",), "before_request"),
    **dict.fromkeys(("tool_input_guardrails",), "before_call"),
    **dict.fromkeys(("tool_output_guardrails",), "after_call"),
    **dict.fromkeys(("reasoning_effort", "effort", "thinking"), "reasoning"),
    **dict.fromkeys(("max_completion_tokens",), "max_tokens"),
    **dict.fromkeys(("stop_sequences",), "stop"),
}
#: Arguments that are something else here.
_ELSEWHERE = {
    **dict.fromkeys(("stream", "streaming"), "`stream(…)` streams"),
    "model_settings": "write each setting itself, such as `temperature=0.2`",
    **dict.fromkeys(("verbose", "debug"), "`for event in session.stream(…)` shows what happens"),
}


#: Arguments of `connect`, which a session does not take.
_MODEL_ARGUMENTS = ("key", "url", "provider", "retry", "timeout", "proxy")


_SESSION_ARGUMENTS = ("conversation", "deps", "store", "id")
#: Arguments of `connect` in other libraries, and ours.
_CONNECT_ALIASES = {
    **dict.fromkeys(("api_key",), "key"),
    **dict.fromkeys(("base_url", "api_base"), "url"),
    **dict.fromkeys(("max_retries", "num_retries"), "retry"),
    **dict.fromkeys(("request_timeout",), "timeout"),
}


def describe_foreign_argument(name: str, known: Iterable[str]) -> str:
    """Return what to write instead of an argument of another library; empty if it is none."""
    ours = ARGUMENT_ALIASES.get(name)
    if ours is not None and ours in known:
        return f"did you mean `{ours}`?"
    if name in LIMIT_ALIASES and name not in ModelSettings.__annotations__ and name not in _MODEL_ARGUMENTS:
        return f"write `limits=Limits({LIMIT_ALIASES[name]}=…)`"
    if name in _CONNECT_ALIASES:
        return f"`connect(NAME, {_CONNECT_ALIASES[name]}=…)` makes a model with it"
    return _ELSEWHERE.get(name, "")


def check_model_choice(model: object) -> None:
    """Raise an OptionError for a value that is neither a model, nor its name, nor a function that returns one."""
    if model is None or isinstance(model, str) or callable(model) or callable(getattr(model, "achat", None)):
        return
    raise OptionError(
        "`model` is a name such as 'openai/gpt-5', a model of `connect(…)`, or a function of the dependencies that "
        f"returns one of them, not {model!r:.80}"
    )


def check_session_arguments(given: Mapping[str, Any]) -> None:
    """Raise an OptionError for the first invalid argument of a session."""
    for name, value in given.items():
        fits, wanted = _ARGUMENT_CHECKS[name]
        if not (value is None and name not in _REQUIRED_ARGUMENTS) and not fits(value):
            raise OptionError(f"`{name}` is {wanted}, not {value!r:.80}")


def check_request_options(options: Mapping[str, Any], others: Iterable[str] = ()) -> None:
    """Raise an OptionError for an invalid request option. `others` are names that may have been meant, too."""
    for name in options:
        if name in ModelSettings.__annotations__:
            continue
        if hint := describe_foreign_argument(name, (*others, *_SESSION_ARGUMENTS, *ModelSettings.__annotations__)):
            raise OptionError(f"there is no option `{name}`; {hint}")
        if name in _MODEL_ARGUMENTS:
            raise OptionError(f"there is no option `{name}` here; `connect(NAME, {name}=…)` makes a model with it")
        if near := suggest_name(name, others):
            raise OptionError(f"there is no option `{name}`; did you mean `{near}`?")
    if options:
        from antiphon.providers.model import merge_options
        from antiphon.wire.options import Options

        merge_options(Options(), options)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_path(value: object) -> bool:
    return isinstance(value, str | PathLike)


def _is_journal(value: object) -> bool:
    return callable(getattr(value, "begin_request", None)) and callable(getattr(value, "resume", None))


def _is_store(value: object) -> bool:
    return callable(getattr(value, "open_session", None))


def _is_human_input(value: object) -> bool:
    return isinstance(value, HumanInput) or callable(value)


def _is_strategy(value: object) -> bool:
    return value in get_args(OutputStrategy)


def _make_type_check(kind: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kind)


_REQUIRED_ARGUMENTS = ("settings", "attempts", "raise_tool_bugs", "name", "id")
#: For each argument: the check, and the description of a valid value.
_ARGUMENT_CHECKS: dict[str, tuple[Callable[[object], bool], str]] = {
    "conversation": (_make_type_check(Conversation), "a `Conversation`, such as `Conversation.load(FILE)` gives"),
    "policy": (_make_type_check(Policy), "a `Policy`, such as `Policy([Rule('allow', 'read_*')])`"),
    "people": (_is_human_input, "a function that answers a `Question`, or a `HumanInput`"),
    "settings": (_make_type_check(Mapping), "an object of request options, such as `{'temperature': 0.2}`"),
    "limits": (_make_type_check(Limits), "a `Limits`, such as `Limits(requests=10)`"),
    "strategy": (_is_strategy, f"one of {', '.join(map(repr, get_args(OutputStrategy)))}"),
    "attempts": (_is_count, "a whole number from 0 on"),
    "raise_tool_bugs": (_make_type_check(bool), "True or False"),
    "context": (_make_type_check(Context), "a `Context`, such as `Context(fill=0.9)`, or None"),
    "name": (_make_type_check(str), "a text"),
    "journal": (_is_journal, "a `Journal`"),
    "store": (_is_store, "a `Store`, such as `Store('sessions.db')`"),
    "id": (_make_type_check(str), "a text"),
    "record": (_is_path, "the path of a file"),
    "replay": (_is_path, "the path of a file"),
}
