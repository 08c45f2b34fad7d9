"""An encoded request: its body, its own headers, and the prompt that it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from antiphon.conversation import AssistantPart
from antiphon.wire.prompt import Prompt

#: Binds the thinking in the parts of a reply to the request.
ThinkingBinder = Callable[[Sequence[AssistantPart]], tuple[AssistantPart, ...]]


@dataclass(frozen=True, slots=True)
class EncodedRequest:
    """The body of a request, and headers that are sent besides those of the connection."""

    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    prompt: Prompt | None = field(default=None, repr=False, compare=False)
    bind: ThinkingBinder = field(default=tuple, repr=False, compare=False)
    #: Texts in the body that must never be shown.
    secrets: tuple[str, ...] = field(default=(), repr=False)


#: Headers whose values are lists, so that a request may add to those of the connection.
_LIST_HEADERS = frozenset({"anthropic-beta"})


def merge_headers(given: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Return the connection's headers merged with those of a request. Values of list headers are joined."""
    merged = {name.lower(): value for name, value in given.items()}
    for name, value in more.items():
        name = name.lower()
        if name in _LIST_HEADERS and merged.get(name):
            words = [word.strip() for word in f"{merged[name]},{value}".split(",")]
            value = ",".join(dict.fromkeys(word for word in words if word))
        merged[name] = value
    return merged
