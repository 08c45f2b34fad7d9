"""What the four APIs' modules have in common: their shape, and how answers are cut into pieces."""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from antiphon._json import dumps
from antiphon._shape import arr, obj
from antiphon.facts import Facts
from antiphon.fakes.cache import PromptCache
from antiphon.fakes.errors import Refusal
from antiphon.fakes.script import Account, Answer, Cite, Received
from antiphon.wire.rules.subject import identify_subject

_ALPHANUMERIC = string.ascii_letters + string.digits


#: The words of a model that thinks, and shows it, where the script has none.
THOUGHT = "Let me think."


@dataclass(slots=True)
class Memory:
    """Holds what a fake knows beyond the request: who asks, the cache, and what was stored or not yet said."""

    account: Account = "new"
    cache: PromptCache = field(default_factory=PromptCache)
    #: What is left to say, by the token that continues it.
    continued: dict[str, Continuation] = field(default_factory=dict[str, "Continuation"])
    #: Responses that are made in the background, with the states that are told before the last.
    background: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    responses: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    items: dict[str, Any] = field(default_factory=dict[str, Any])
    reasoning_of: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Continuation:
    """An answer that goes on: the request that it belongs to, and its rest, or nothing where the script knows it."""

    request: bytes
    most: int | None
    rest: Answer | None


@dataclass(frozen=True, slots=True)
class Speaker:
    """One API: what it refuses, whom it echoes, and an answer as its body and as its stream's events."""

    refusal: Callable[[Received, Memory], Refusal | None]
    last_text: Callable[[Any], str]
    reply: Callable[[Answer, Received, Memory], dict[str, Any]]
    events: Callable[[Answer, Received, dict[str, Any]], list[bytes]]


def known_facts(api: str, model: str) -> Facts:
    """Return the facts about a model of the owner of an API; none of them where it is not known."""
    return identify_subject(api, model, provider=None, platform="", headers=None).facts


def token(length: int, alphabet: str = _ALPHANUMERIC) -> str:
    """Random characters for an id."""
    return "".join(secrets.choice(alphabet) for _ in range(length))


def pieces(text: str, count: int = 3) -> list[str]:
    """The text in about `count` pieces, none of them empty."""
    size = max(-(-len(text) // count), 1)
    return [text[at : at + size] for at in range(0, len(text), size)]


def arguments(answer: Answer) -> list[str]:
    """The JSON text of each call's arguments, the last one broken where the answer says so."""
    texts = [dumps(dict(call.arguments)) for call in answer.calls]
    if texts and answer.malformed:
        texts[-1] = texts[-1][:-1]
    elif texts and answer.stop == "length":
        texts[-1] = texts[-1][: max(len(texts[-1]) * 2 // 3, 1)]
    return texts


def span(cite: Cite, text: str) -> tuple[int, int]:
    """Return where the words that a source is cited for begin and end in a text; all of it where they are not in it."""
    start = text.find(cite.quote) if cite.quote else 0
    return (start, start + len(cite.quote)) if cite.quote and start >= 0 else (0, len(text))


def is_broken(answer: Answer) -> bool:
    """Whether the last call does not arrive whole."""
    return bool(answer.calls) and (answer.malformed or answer.stop == "length")


def usage(answer: Answer, received: Received) -> tuple[int, int]:
    """Input and output tokens: as scripted, or four characters to a token."""
    if answer.usage is not None:
        return answer.usage
    said = len(answer.text) + len(answer.reasoning) + sum(map(len, arguments(answer)))
    return len(dumps(received.body)) // 4 + 1, said // 4 + 1


def reasoning_tokens(answer: Answer, output: int) -> int:
    """How many of the output tokens were thinking."""
    return min(len(answer.reasoning) // 4 + 1, output) if answer.reasoning else 0


def event(data: dict[str, Any], name: str = "") -> bytes:
    """One server-sent event."""
    return (f"event: {name}\n" if name else "").encode() + b"data: " + dumps(data).encode() + b"\n\n"


def text_of(content: object, *types: str) -> str:
    """The text of a message's content, which is a string or a list of parts of which some are text."""
    if isinstance(content, str):
        return content
    parts = [obj(part) for part in arr(content)]
    return "\n".join(str(part["text"]) for part in parts if part.get("type") in types and part.get("text"))
