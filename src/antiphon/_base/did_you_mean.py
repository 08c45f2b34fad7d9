"""Suggestions for misspelled names, and hints for names of other libraries that a class does not have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from itertools import islice
from typing import Any, NoReturn, TypeVar

#: Only this many names are compared, however many a program has.
MAX_NAMES = 4000
_Class = TypeVar("_Class", bound=type)


def suggest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, or None if no name is close enough."""
    allowed = 1 if len(name) < 5 else 2 if len(name) < 8 else 3
    if len(name) > 60:
        return None
    lowered, best = name.lower(), None
    for each in islice(known, MAX_NAMES):
        if abs(len(each) - len(name)) > allowed or each == name or (each.startswith("_") and not name.startswith("_")):
            continue
        distance = _compute_edit_distance(lowered, each.lower(), allowed)
        if distance <= allowed and distance < len(name):
            best, allowed = each, distance - 1
            if distance == 0:
                break
    return best


def _compute_edit_distance(first: str, second: str, most: int) -> int:
    """Return the edit distance between two words, where swapping two adjacent letters counts as one edit.

    Once the distance exceeds `most`, return any number greater than `most`.
    """
    if first == second:
        return 0
    if len(set(first) ^ set(second)) > 2 * most:
        return most + 1
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        above, before, row = before, row, [i]
        for j, b in enumerate(second, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and b == first[i - 2]:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]


def make_hinting_getattr(hints: Mapping[str, str]) -> Callable[[object, str], NoReturn]:
    """Return a `__getattr__` that raises an AttributeError with what to write instead.

    Assign it where type checkers do not see it, so that they report unknown attributes. `hasattr` and `copy` see the
    same as without it.
    """

    def __getattr__(self: object, name: str) -> NoReturn:
        if name.startswith("_") or hasattr(type(self), name):
            # A property of that name failed, or has no value yet: its own error tells more.
            object.__getattribute__(self, name)
        raise AttributeError(describe_missing_attribute(type(self), name, hints), obj=self)

    return __getattr__


def describe_missing_attribute(owner: type, name: str, hints: Mapping[str, str]) -> str:
    """Return the message for an attribute that a class does not have."""
    message = f"{owner.__name__!r} object has no attribute {name!r}"
    hint = hints.get(name)
    if not hint and (near := suggest_name(name, (each for each in dir(owner) if not each.startswith("_")))):
        hint = f"did you mean `{near}`?"
    return f"{message}; {hint}" if hint else message


def hint_arguments(hints: Mapping[str, str], usage: str = "") -> Callable[[_Class], _Class]:
    """Make calls of a class with wrong arguments fail with a TypeError that says what to write instead.

    `hints` are for arguments of other libraries. `usage` is how the class is called, or what to call in its place.
    """

    def decorate(cls: _Class) -> _Class:
        init: Callable[..., None] = cls.__init__  # type: ignore[misc]
        known = list(inspect.signature(init).parameters)[1:]

        @wraps(init)
        def __init__(self: object, *args: Any, **given: Any) -> None:
            try:
                init(self, *args, **given)
            except TypeError as error:
                if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                    # The call was right: the error is from within.
                    raise
                unknown = next((name for name in given if name not in known), "")
                raise TypeError(_describe_call(cls.__name__, unknown, known, hints, usage) or str(error)) from None

        cls.__init__ = __init__  # type: ignore[misc]
        return cls

    return decorate


def _describe_call(owner: str, unknown: str, known: list[str], hints: Mapping[str, str], usage: str) -> str:
    if not unknown:
        return f"`{owner}` is not called like this; write `{usage}`" if usage else ""
    hint = hints.get(unknown)
    if not hint:
        near = suggest_name(unknown, known)
        instead = f"write `{usage}`" if usage else f"there are {', '.join(known)}"
        hint = f"did you mean `{near}`?" if near else instead
    return f"`{owner}` has no argument `{unknown}`; {hint}"


#: Names that users look for in `antiphon` itself, and the package that has them.
HOMES = {
    **dict.fromkeys(("Fake", "Fail", "Answer", "call", "echo"), "fakes"),
    **dict.fromkeys(("Journal", "Dispatcher", "RateLimits"), "durable"),
    **dict.fromkeys(("Policy", "Rule", "Tool", "WebSearch", "CodeExecution", "MCPServer"), "tools"),
    **dict.fromkeys(("HumanInput", "Context", "NeedsHuman", "LimitReached", "NoAnswer", "Question"), "session"),
    **dict.fromkeys(("Retry", "NO_RETRY", "resolve", "register_provider"), "providers"),
    **dict.fromkeys(("Middleware", "Budget", "perform"), "effects"),
    **dict.fromkeys(("load_configuration",), "config"),
    **dict.fromkeys(("instrument", "export_telemetry"), "telemetry"),
    **dict.fromkeys(("Team", "TeamSettings"), "team"),
    **dict.fromkeys(("RateLimited", "ProviderError", "ConfigurationError", "OptionError", "RequestRejected"), "errors"),
}
_CALLS_ELSEWHERE = {
    **dict.fromkeys(("completion", "complete", "generate", "chat", "ask", "responses"), "Session(NAME).chat(TEXT)"),
    **dict.fromkeys(
        ("OpenAI", "AsyncOpenAI", "Anthropic", "ChatOpenAI", "ChatAnthropic", "LLM", "Client"), "connect(NAME)"
    ),
    **dict.fromkeys(("init_chat_model", "get_model", "model"), "connect(NAME)"),
    **dict.fromkeys(("ModelMessage", "Message", "Messages"), "Conversation()"),
    **dict.fromkeys(("UsageLimits",), "Limits(…)"),
    **dict.fromkeys(("RunContext",), "ToolContext"),
    **dict.fromkeys(("embedding", "embeddings"), "embed(TEXTS, model=NAME)"),
}


def describe_missing_export(name: str, known: list[str]) -> str:
    """Return the message for a name that the package `antiphon` does not have."""
    message = f"module 'antiphon' has no attribute {name!r}"
    if name in HOMES:
        return f"{message}; write `from antiphon.{HOMES[name]} import {name}`"
    if name in _CALLS_ELSEWHERE:
        return f"{message}; write `antiphon.{_CALLS_ELSEWHERE[name]}`"
    near = None if name.startswith("_") else suggest_name(name, known)
    return f"{message}; did you mean `{near}`?" if near else message
