"""What one of the four APIs would reject in a history, and the history with that put right."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from antiphon._json import loads
from antiphon._shape import arr, obj, string
from antiphon.conversation import Change, Conversation
from antiphon.errors import AntiphonError
from antiphon.formats.finding import Finding
from antiphon.formats.images import find_large, mend_images
from antiphon.formats.mending import advice, anthropic, chat, gemini, mend, responses
from antiphon.wire import APIS, Options, Target, rules, wire
from antiphon.wire.reading import Reading
from antiphon.wire.rules import Violation

LISTS = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input", "gemini": "contents"}

#: What reading a body and writing it again does about rules that no change of the conversation tells of.
_BY_WRITING = {
    "O9": "the image goes into a message of the user",
    "R3": "the reasoning is dropped",
    "R4": "the reasoning is dropped",
    "R6": "the id is left out",
    "R7": "the id is left out",
    "R9": "only one of them keeps its id",
    "R11": "the item is dropped",
    "G2": "a content of the user is put before it",
    "G4": "the documented stand-in for a signature is put there",
}
_BEHIND = "it is put behind its call"
#: A model that has the rules which hold for some only.
_STRICT = {"anthropic": "claude-opus-4-5", "gemini": "gemini-3-pro-preview"}
#: Where mending one thing uncovers another, this is often enough.
_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Checkup:
    """What was found, what the provider says to the body as it is, and the body repaired."""

    findings: list[Finding]
    violations: list[Violation]
    body: Any
    conversation: Conversation


def examine(body: Any, api: str, provider: str | None = None) -> Checkup:
    """Check a history, or a whole request, and repair a copy of it."""
    key = _key(body, api)
    given, _ = responses.with_items(body) if api == "openai-responses" else (body, [])
    violations = _check(_whole(given, api), api, provider)
    prepared, changes = _prepare(body, api)
    whole = _whole(prepared, api)
    findings: dict[Finding, None] = {}
    broken = _check(whole, api, provider)
    for _ in range(_ROUNDS):
        mended = mend(whole, api, broken, bare=not key)
        if broken or mended:
            broken = _check(whole, api, provider)
        reading = read_body(whole, api)
        read = _found(reading, whole, api)
        gone: list[Finding] = []
        if read or broken:
            written = _rewritten(whole, reading, api)
            still = _check(written, api, provider)
            gone = _gone(broken, still, [*findings, *mended, *read])
            if read or gone:
                whole, broken = written, still
        findings |= dict.fromkeys([*mended, *read, *gone])
        if not (mended or read or gone):
            break
    else:
        reading = read_body(whole, api)
    left = [Finding(v.code, v.param, v.message, advice(v.code), "", False) for v in broken]
    after = {key: whole[LISTS[api]], **_without(whole, LISTS[api])} if key else whole[LISTS[api]]
    left += _large_images(whole, api)
    all_findings = [*map(Finding.of, changes), *findings, *left]
    return Checkup(all_findings, violations, _in_order(body, after), reading.conversation)


def _key(body: Any, api: str) -> str:
    """Return the field that the messages are in; "" where the body is nothing but them."""
    return next((key for key in (LISTS[api], "messages") if key in obj(body)), "")


def _whole(body: Any, api: str) -> dict[str, Any]:
    """Return a body as a request with its messages in the API's own field."""
    key = _key(body, api)
    return {LISTS[api]: obj(body)[key], **_without(body, key)} if key else {LISTS[api]: body}


def _prepare(body: Any, api: str) -> tuple[Any, list[Change]]:
    """Return a copy of a body without what no rule names and no conversation has a place for, and what was done."""
    body = deepcopy(body)
    changes: list[Change] = []
    if api == "openai-responses":
        body, moved = responses.with_items(body)
        found = "a message of Chat Completions, with calls or a result"
        changes += [Change("bad-item", where, found, "it becomes items of this API") for where in moved]
    key = _key(body, api)
    items = arr(body[key]) if key else arr(body)
    if api == "openai-chat":
        items, moved = chat.with_calls(items)
        found = "a call or a result as a block of Anthropic's Messages API"
        changes += [Change("bad-item", where, found, "it becomes one of this API") for where in moved]
        if moved:
            body = {**body, key: items} if key else items
    if api == "gemini":
        places = gemini.drop_empty_text(items)
        changes += [Change("empty-text", where, "a part with empty text", "it is dropped") for where in places]
    return body, [*changes, *mend_images(items, api)]


def _large_images(body: dict[str, Any], api: str) -> list[Finding]:
    return [
        Finding("large-image", where, f"an image of {size:,} bytes, more than 5 MB", "make it smaller", "", False)
        for where, size in find_large(arr(body.get(LISTS[api])), api)
    ]


def _without(body: Any, key: str) -> dict[str, Any]:
    return {name: value for name, value in obj(body).items() if name != key}


def _in_order(body: Any, after: Any) -> Any:
    """The fields in the order the file has them."""
    new = obj(after)
    if not new:
        return after
    return {key: new[key] for key in (*obj(body), *new) if key in new}


def read_body(body: Any, api: str) -> Reading:
    """A history as a conversation in which nothing is open, with all that had to be changed for it."""
    body, prepared = _prepare(body, api)
    model = string(obj(body).get("model"))
    reading = wire(api).read(body, Target(APIS[api], api, model).origin)
    conversation, more = reading.conversation.repair()
    if reading.last:
        more = [replace(change, where=reading.last) for change in more]
    return replace(reading, conversation=conversation, changes=[*prepared, *reading.changes, *more])


def check_history(body: dict[str, Any], api: str) -> list[Violation]:
    """What the owner of an API would reject in a history."""
    return _check(body, api, None)


def _check(body: dict[str, Any], api: str, provider: str | None) -> list[Violation]:
    """A history is not yet a request: that it names no model, no limit and no thinking is no fault of it.

    Where no model is named, it must do for most: none of Anthropic's but the newest take system messages, and one at
    the start is a habit from elsewhere; and with Gemini, signatures tell that the model is one that wants them.
    """
    needed: dict[str, Any] = {"model": "unknown"}
    if api == "anthropic":
        needed["max_tokens"] = 1
        needed |= {} if "max_tokens" in body else {"thinking": {"type": "adaptive"}}
    found = rules.check(needed | body, api, provider=provider)
    if body.get("model"):
        return found
    wanted = "A13" if anthropic.begins_with_system(body) else "G4" if gemini.is_signed(body) else ""
    if not wanted or wanted[0] != api[0].upper():
        return found
    more = rules.check(needed | body, api, _STRICT[api], provider=provider)
    return [*found, *(each for each in more if each.code == wanted and each not in found)]


def _found(reading: Reading, body: dict[str, Any], api: str) -> list[Finding]:
    split = {"anthropic": anthropic.split_results, "gemini": gemini.split_results}.get(api)
    joined = [
        Finding("split-results", where, f"the results of one turn are in {count} messages", "they become one message")
        for where, count in (split(body) if split else [])
    ]
    spoken = {"anthropic": anthropic.split_calls, "gemini": gemini.split_calls}.get(api)
    joined += [
        Finding("split-calls", where, "the model speaks before its calls are answered", "both are one turn")
        for where in (spoken(body) if spoken else [])
    ]
    joined += [
        Finding("misplaced-result", where, f"the result of call {id!r} is not right behind it", _BEHIND, id)
        for where, id in (responses.late_results(body) if api == "openai-responses" else [])
    ]
    return [*map(Finding.of, reading.changes), *joined]


def _rewritten(body: dict[str, Any], reading: Reading, api: str) -> dict[str, Any]:
    """The body with the messages the conversation makes; the request's other fields say on what terms."""
    target = Target(APIS[api], api, string(body.get("model")))
    try:
        data = obj(loads(wire(api).encode(reading.conversation, target, Options(cache=False, extra=reading.rest)).body))
    except AntiphonError:
        data = wire(api).history(reading.conversation, target)
    # A conversation in which nothing is left has no list.
    new = body | {LISTS[api]: data.get(LISTS[api], [])}
    if api == "anthropic":
        anthropic.restore_marks(body, new)
    return new


def _gone(before: Iterable[Violation], after: Iterable[Violation], known: list[Finding]) -> list[Finding]:
    """What writing alone put right, and no change tells of."""
    left = {violation.code for violation in after}
    read = any(not each.code[-1].isdigit() for each in known)
    told = {each.code for each in known}
    found: list[Finding] = []
    for violation in before:
        code = violation.code
        if code in left or code in told or (read and code not in _BY_WRITING):
            continue
        action = _BY_WRITING.get(code, "it is written anew, as the API takes it")
        found.append(Finding(code, violation.param, violation.message, action))
    return found
