"""Validation of a session's arguments when it is created, not when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, get_args

from antiphon._base.did_you_mean import suggest_name
from antiphon.conversation import Conversation
from antiphon.effects.budget import Limits
from antiphon.errors import OptionError
from antiphon.session.context_window import Context
from antiphon.session.human_input import HumanInput
from antiphon.session.typed_output import OutputStrategy
from antiphon.tools import Policy
from antiphon.wire import ModelSettings

#: Names that users try instead of the fields of `Limits`.
_LIMIT_ALIASES = {
    "max_turns": "requests",
    "max_requests": "requests",
    "max_calls": "tool_calls",
    "max_tool_calls": "tool_calls",
    "max_output_tokens": "output_tokens",
    "max_cost": "cost",
    "max_seconds": "seconds",
}


#: Arguments of `connect`, which a session does not take.
_MODEL_ARGUMENTS = ("key", "url", "provider", "retry", "timeout", "proxy")


def check_session_arguments(given: Mapping[str, Any]) -> None:
    """Raise an OptionError for the first invalid argument of a session."""
    for name, value in given.items():
        fits, wanted = _ARGUMENT_CHECKS[name]
        if not (value is None and name not in _REQUIRED_ARGUMENTS) and not fits(value):
            raise OptionError(f"`{name}` is {wanted}, not {value!r:.80}")


def check_request_options(options: Mapping[str, Any], others: Iterable[str] = ()) -> None:
    """Raise an OptionError for an invalid request option. `others` are names that may have been meant, too."""
    for name in options:
        if name in _LIMIT_ALIASES:
            raise OptionError(f"there is no option `{name}`; write `limits=Limits({_LIMIT_ALIASES[name]}=…)`")
        if name in _MODEL_ARGUMENTS:
            raise OptionError(f"there is no option `{name}` here; `connect(NAME, {name}=…)` makes a model with it")
        if name not in ModelSettings.__annotations__ and (near := suggest_name(name, others)):
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
    "before_request": (callable, "a function of the conversation"),
    "after_reply": (callable, "a function of the reply"),
    "name": (_make_type_check(str), "a text"),
    "journal": (_is_journal, "a `Journal`"),
    "store": (_is_store, "a `Store`"),
    "id": (_make_type_check(str), "a text"),
    "record": (_is_path, "the path of a file"),
    "replay": (_is_path, "the path of a file"),
}
