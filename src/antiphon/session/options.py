"""The options of a session, checked when they are given rather than when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, get_args

from antiphon.conversation import Conversation
from antiphon.errors import OptionError
from antiphon.session.context import Context
from antiphon.session.people import People
from antiphon.session.returns import Strategy
from antiphon.session.settings import Limits
from antiphon.tools import Policy

#: Names that people try for what `limits` holds.
_LIMITS = {"max_turns": "turns", "max_calls": "calls", "max_cost": "cost", "max_seconds": "seconds"}


def check_session(given: Mapping[str, Any]) -> None:
    """Raise an OptionError that names the first option of a session that is not what it has to be."""
    for name, value in given.items():
        fits, wanted = _OPTIONS[name]
        if not (value is None and name not in _REQUIRED) and not fits(value):
            raise OptionError(f"`{name}` is {wanted}, not {value!r:.80}")


def check_options(options: Mapping[str, Any]) -> None:
    """Raise an OptionError for an option of requests that is wrong."""
    for name in options:
        if name in _LIMITS:
            raise OptionError(f"there is no option `{name}`; write `limits=Limits({_LIMITS[name]}=…)`")
    if options:
        from antiphon.providers.model import changed
        from antiphon.wire.options import Options

        changed(Options(), options)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_file(value: object) -> bool:
    return isinstance(value, str | PathLike)


def _is_journal(value: object) -> bool:
    return callable(getattr(value, "begin_ask", None)) and callable(getattr(value, "go_on", None))


def _is_people(value: object) -> bool:
    return isinstance(value, People) or callable(value)


def _is_strategy(value: object) -> bool:
    return value in get_args(Strategy)


def _is(kind: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kind)


_REQUIRED = ("system", "attempts", "raise_tool_bugs", "name")
#: What tells whether a value fits, and what it has to be, in words.
_OPTIONS: dict[str, tuple[Callable[[object], bool], str]] = {
    "system": (_is(str), "a text"),
    "conversation": (_is(Conversation), "a `Conversation`, such as `Conversation.load(FILE)` gives"),
    "policy": (_is(Policy), "a `Policy`, such as `Policy([Rule('allow', 'read_*')])`"),
    "people": (_is_people, "a function that answers a `Question`, or a `People`"),
    "limits": (_is(Limits), "a `Limits`, such as `Limits(turns=10)`"),
    "strategy": (_is_strategy, f"one of {', '.join(map(repr, get_args(Strategy)))}"),
    "attempts": (_is_count, "a whole number from 0 on"),
    "raise_tool_bugs": (_is(bool), "True or False"),
    "context": (_is(Context), "a `Context`, such as `Context(fill=0.9)`, or None"),
    "before_request": (callable, "a function of the conversation"),
    "name": (_is(str), "a text"),
    "journal": (_is_journal, "a `Journal`"),
    "record": (_is_file, "the path of a file"),
    "replay": (_is_file, "the path of a file"),
}
