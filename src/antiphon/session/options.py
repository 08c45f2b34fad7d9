"""The options of a session, checked when they are given rather than when they are first used."""

from __future__ import annotations

from collections.abc import Mapping
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
        if value is None and name in _OPTIONAL:
            continue
        if not _FITS[name](value):
            raise OptionError(f"`{name}` is {_WANTED[name]}, not {value!r:.80}")


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


def _keeps(value: object) -> bool:
    return callable(getattr(value, "begin_ask", None)) and callable(getattr(value, "go_on", None))


_OPTIONAL = frozenset(
    (
        "conversation",
        "policy",
        "people",
        "limits",
        "strategy",
        "context",
        "before_request",
        "journal",
        "record",
        "replay",
    )
)
_WANTED = {
    "system": "a text",
    "conversation": "a `Conversation`, such as `Conversation.load(FILE)` gives",
    "policy": "a `Policy`, such as `Policy([Rule('allow', 'read_*')])`",
    "people": "a function that answers a `Question`, or a `People`",
    "limits": "a `Limits`, such as `Limits(turns=10)`",
    "strategy": f"one of {', '.join(map(repr, get_args(Strategy)))}",
    "attempts": "a whole number from 0 on",
    "raise_tool_bugs": "True or False",
    "context": "a `Context`, such as `Context(fill=0.9)`, or None",
    "before_request": "a function of the conversation",
    "name": "a text",
    "journal": "a `Journal`",
    "record": "the path of a file",
    "replay": "the path of a file",
}
_FITS: dict[str, Any] = {
    "system": lambda value: isinstance(value, str),
    "conversation": lambda value: isinstance(value, Conversation),
    "policy": lambda value: isinstance(value, Policy),
    "people": lambda value: isinstance(value, People) or callable(value),
    "limits": lambda value: isinstance(value, Limits),
    "strategy": lambda value: value in get_args(Strategy),
    "attempts": _is_count,
    "raise_tool_bugs": lambda value: isinstance(value, bool),
    "context": lambda value: isinstance(value, Context),
    "before_request": callable,
    "name": lambda value: isinstance(value, str),
    "journal": _keeps,
    "record": _is_file,
    "replay": _is_file,
}
