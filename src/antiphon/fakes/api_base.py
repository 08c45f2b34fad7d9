"""Shared parts of the fake APIs: their interface, and helpers to split answers into pieces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_object
from antiphon.facts import Facts
from antiphon.fakes.files import Files, StoredFile
from antiphon.fakes.prompt_cache import PromptCache
from antiphon.fakes.prompt_pieces import RenderedPrompt
from antiphon.fakes.script import AccountAge, Answer, Cite, Received
from antiphon.fakes.vendors import ErrorReply, FakeVendor
from antiphon.wire import ApiSpec
from antiphon.wire.rules import check
from antiphon.wire.rules.subject import identify_subject

#: The displayed thinking of a model, if the script gives none.
DEFAULT_THOUGHT = "Let me think."


@dataclass(slots=True)
class ServerState:
    """The state of a fake across requests: the account, the cache, stored responses and continuations."""

    account: AccountAge = "new"
    #: The keys that are accepted, or none if every key is.
    keys: set[str] = field(default_factory=set[str])
    cache: PromptCache = field(default_factory=PromptCache)
    #: Remainders of answers, by continuation token.
    continuations: dict[str, Continuation] = field(default_factory=dict[str, "Continuation"])
    #: Background responses, with the states that are still to be reported.
    background: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    #: Uploaded files by their ids; those of Google by their names.
    files: Files = field(default_factory=dict[str, StoredFile])
    responses: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    items: dict[str, Any] = field(default_factory=dict[str, Any])
    reasoning_by_item: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Continuation:
    """An answer to be continued: the hash of its request, and its remainder, or `None` if the script
    supplies it.
    """

    request: bytes
    most: int | None
    rest: Answer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeApi:
    """The functions of one API: validate a request, read it, and build a reply as body and as events."""

    spec: ApiSpec
    vendor: FakeVendor
    refusal: Callable[[Received, ServerState], ErrorReply | None]
    read_last_text: Callable[[Any], str]
    #: Return the schema that a request wants its answer in, or an empty one.
    read_schema: Callable[[dict[str, Any]], dict[str, Any]]
    reply: Callable[[Answer, Received, ServerState], dict[str, Any]]
    events: Callable[[Answer, Received, dict[str, Any]], list[bytes]]
    #: Return the events as one JSON array, the form of a stream without events.
    join_array: Callable[[list[bytes]], list[bytes]] | None = None
    #: How stored responses are found, by method and path below the path of the API.
    stored: Mapping[tuple[str, str], Callable[[str, ServerState], dict[str, Any] | None]] = field(
        default_factory=dict[tuple[str, str], Any]
    )


def find_known_facts(api: str, model: str) -> Facts:
    """Return the facts about a model of an API's owner; empty facts if the model is unknown."""
    return identify_subject(api, model, provider=None, platform="", headers=None).facts


def find_broken_rule(received: Received, api: str, body: object = None) -> ErrorReply | None:
    """Return the error for the first rule that a request breaks; `body` is used in place of its own."""
    for violation in check(received.body if body is None else body, api, received.model, headers=received.headers):
        return ErrorReply(violation.message, 400, violation.param, violation.error_code)
    return None


def find_last_text(entries: object, field: str, value: str, *types: str) -> str:
    """Return the text of the last entry that has text and this value in a field."""
    chosen = [each for each in map(as_object, as_array(entries)) if each.get(field) == value]
    return next(filter(None, (_join_text_parts(each.get("content"), *types) for each in reversed(chosen))), "")


def count_cached(answer: Answer, memory: ServerState, prompt: RenderedPrompt, facts: Facts, tokens: int) -> int:
    """Return how many of a prompt's tokens an automatic cache had, and cache the prompt."""
    counted = memory.cache.count_automatic(prompt, facts.cache, delay=answer.delay)
    return 0 if answer.usage is not None else min(counted.read, tokens)


def split_text(text: str, count: int = 3) -> list[str]:
    """Split a text into about `count` pieces, none of them empty."""
    size = max(-(-len(text) // count), 1)
    return [text[at : at + size] for at in range(0, len(text), size)]


def format_call_arguments(answer: Answer) -> list[str]:
    """Return each call's arguments as JSON text, the last one broken if the answer says so."""
    texts = [dump_json(dict(call.arguments)) for call in answer.calls]
    if texts and answer.malformed:
        texts[-1] = texts[-1][:-1]
    elif texts and answer.stop == "length":
        texts[-1] = texts[-1][: max(len(texts[-1]) * 2 // 3, 1)]
    return texts


def find_citation_span(cite: Cite, text: str) -> tuple[int, int]:
    """Return where the cited words begin and end in a text; all of it if they do not occur."""
    start = text.find(cite.quote) if cite.quote else 0
    return (start, start + len(cite.quote)) if cite.quote and start >= 0 else (0, len(text))


def has_broken_call(answer: Answer) -> bool:
    """Return whether the last call is incomplete."""
    return bool(answer.calls) and (answer.malformed or answer.stop == "length")


def count_tokens(answer: Answer, received: Received) -> tuple[int, int]:
    """Return input and output tokens: as scripted, or estimated at four characters a token."""
    if answer.usage is not None:
        return answer.usage
    said = len(answer.text) + len(answer.reasoning) + sum(map(len, format_call_arguments(answer)))
    return len(dump_json(received.body)) // 4 + 1, said // 4 + 1


def count_reasoning_tokens(answer: Answer, output: int) -> int:
    """Return how many of the output tokens are reasoning."""
    return min(len(answer.reasoning) // 4 + 1, output) if answer.reasoning else 0


def format_sse_event(data: dict[str, Any], name: str = "") -> bytes:
    """Return one server-sent event."""
    return (f"event: {name}\n" if name else "").encode() + b"data: " + dump_json(data).encode() + b"\n\n"


def _join_text_parts(content: object, *types: str) -> str:
    """Return the text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = [as_object(part) for part in as_array(content)]
    return "\n".join(str(part["text"]) for part in parts if part.get("type") in types and part.get("text"))
