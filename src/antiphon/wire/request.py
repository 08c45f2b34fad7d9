"""A request as it is sent: its body, the headers that belong to it alone, and the prompt that it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from antiphon.conversation import AssistantPart
from antiphon.wire.prompt import Prompt

#: Gives the parts of the reply with their thinking bound to the request.
Bind = Callable[[Sequence[AssistantPart]], tuple[AssistantPart, ...]]


@dataclass(frozen=True, slots=True)
class Request:
    """The body of a request, and headers that go with it besides those of the connection."""

    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    prompt: Prompt | None = field(default=None, repr=False, compare=False)
    bind: Bind = field(default=tuple, repr=False, compare=False)


#: Headers whose values are lists, so that one request may add to what the connection says.
_LISTS = frozenset({"anthropic-beta"})


def merge_headers(given: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Return the connection's headers with those of one request; values of list headers are joined, each once."""
    merged = {name.lower(): value for name, value in given.items()}
    for name, value in more.items():
        name = name.lower()
        if name in _LISTS and merged.get(name):
            words = [word.strip() for word in f"{merged[name]},{value}".split(",")]
            value = ",".join(dict.fromkeys(word for word in words if word))
        merged[name] = value
    return merged
