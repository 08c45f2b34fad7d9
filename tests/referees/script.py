"""Scripted answers of a referee server.

A script is a list of `Answer`s, or of functions that make one of a request. Each accepted request takes the next one,
a refused request takes none. When the script is over, the server says "Done.". Build answers with the functions below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that the model makes."""

    name: str
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply of the model, in no vendor's words."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    #: A value that is given in the form that the request asks for: native schema, return tools, or JSON text.
    value: Any = None
    gives_value: bool = False
    #: The vendor's own stop word; empty means that the content decides.
    stop: str = ""
    #: Fields of the vendor's reply that take the place of the usual ones.
    extra: Mapping[str, Any] = field(default_factory=dict)
    #: The vendor's own blocks, items or parts, which stand before the text.
    blocks: tuple[Mapping[str, Any], ...] = ()
    #: An HTTP error in place of a reply.
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


#: A line of a script: an answer, or a function that makes one of the request's body.
Line = Answer | Callable[[Mapping[str, Any]], Answer]


def say(text: str, stop: str = "", **extra: Any) -> Answer:
    """Answer with text, and with a vendor's stop word where one is given."""
    return Answer(text=text, stop=stop, extra=extra)


def call(*calls: Call, text: str = "", stop: str = "") -> Answer:
    """Call tools, all in one reply."""
    return Answer(text=text, calls=calls, stop=stop)


def give(value: Any, stop: str = "") -> Answer:
    """Answer with a value in the form that the request asks for."""
    return Answer(value=value, gives_value=True, stop=stop)


def show(*blocks: Mapping[str, Any], text: str = "", stop: str = "", **extra: Any) -> Answer:
    """Answer with the vendor's own blocks, then text."""
    return Answer(text=text, blocks=blocks, stop=stop, extra=extra)


def fail(status: int, message: str, **headers: str) -> Answer:
    """Answer with an HTTP error."""
    return Answer(text=message, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()})
