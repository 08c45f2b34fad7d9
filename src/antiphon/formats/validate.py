"""Validation of a history against one API's rules, and its repair."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from antiphon._base.json import load_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import Conversation, RepairAction
from antiphon.errors import AntiphonError
from antiphon.formats.fixes import anthropic, fix_violations, gemini, get_manual_advice
from antiphon.formats.fixes import openai_chat as chat
from antiphon.formats.fixes import openai_responses as responses
from antiphon.formats.images import find_large_images, fix_images
from antiphon.formats.issue import Finding
from antiphon.wire import APIS, Options, Target, rules, wire
from antiphon.wire.history_reader import ReadHistory
from antiphon.wire.rules import Violation

MESSAGE_FIELDS = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input", "gemini": "contents"}

#: How decoding and encoding a body again fixes violations that no recorded change mentions.
_FIXED_BY_ENCODING = {
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
_MOVED_BEHIND_CALL = "it is put behind its call"
#: A model that has the rules which apply only to some models.
_STRICTEST_MODEL = {"anthropic": "claude-opus-4-5", "gemini": "gemini-3-pro-preview"}
#: Maximum passes: fixing one issue may uncover another.
_MAX_PASSES = 6


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """The result of a validation: issues, violations of the original body, and the repaired body."""

    findings: list[Finding]
    violations: list[Violation]
    body: Any
    conversation: Conversation


def validate_body(body: Any, api: str, provider: str | None = None) -> ValidationResult:
    """Validate a history or a complete request, and repair a copy of it."""
    key = _find_message_field(body, api)
    given, _ = responses.convert_chat_messages(body) if api == "openai-responses" else (body, [])
    violations = _check_body(_to_request(given, api), api, provider)
    prepared, changes = _normalize_body(body, api)
    whole = _to_request(prepared, api)
    findings: dict[Finding, None] = {}
    broken = _check_body(whole, api, provider)
    for _ in range(_MAX_PASSES):
        mended = fix_violations(whole, api, broken, bare=not key)
        if broken or mended:
            broken = _check_body(whole, api, provider)
        reading = read_repaired(whole, api)
        read = _collect_issues(reading, whole, api)
        gone: list[Finding] = []
        if read or broken:
            written = _encode_again(whole, reading, api)
            still = _check_body(written, api, provider)
            gone = _find_fixed(broken, still, [*findings, *mended, *read])
            if read or gone:
                whole, broken = written, still
        findings |= dict.fromkeys([*mended, *read, *gone])
        if not (mended or read or gone):
            break
    else:
        reading = read_repaired(whole, api)
    left = [Finding(v.code, v.param, v.message, get_manual_advice(v.code), "", False) for v in broken]
    after = (
        {key: whole[MESSAGE_FIELDS[api]], **_drop_field(whole, MESSAGE_FIELDS[api])}
        if key
        else whole[MESSAGE_FIELDS[api]]
    )
    left += _find_large_images(whole, api)
    all_findings = [*map(Finding.of, changes), *findings, *left]
    return ValidationResult(all_findings, violations, _restore_field_order(body, after), reading.conversation)


def _find_message_field(body: Any, api: str) -> str:
    """Return the field that holds the messages, or "" if the body is only the list."""
    return next((key for key in (MESSAGE_FIELDS[api], "messages") if key in as_object(body)), "")


def _to_request(body: Any, api: str) -> dict[str, Any]:
    """Return a body as a request with its messages in the API's own field."""
    key = _find_message_field(body, api)
    return {MESSAGE_FIELDS[api]: as_object(body)[key], **_drop_field(body, key)} if key else {MESSAGE_FIELDS[api]: body}


def _normalize_body(body: Any, api: str) -> tuple[Any, list[RepairAction]]:
    """Return a copy of a body without foreign or empty content, and the changes made."""
    body = deepcopy(body)
    changes: list[RepairAction] = []
    if api == "openai-responses":
        body, moved = responses.convert_chat_messages(body)
        found = "a message of Chat Completions, with calls or a result"
        changes += [RepairAction("bad-item", where, found, "it becomes items of this API") for where in moved]
    key = _find_message_field(body, api)
    items = as_array(body[key]) if key else as_array(body)
    if api == "openai-chat":
        items, moved = chat.convert_anthropic_blocks(items)
        found = "a call or a result as a block of Anthropic's Messages API"
        changes += [RepairAction("bad-item", where, found, "it becomes one of this API") for where in moved]
        if moved:
            body = {**body, key: items} if key else items
    if api == "gemini":
        places = gemini.drop_empty_text_parts(items)
        changes += [RepairAction("empty-text", where, "a part with empty text", "it is dropped") for where in places]
    return body, [*changes, *fix_images(items, api)]


def _find_large_images(body: dict[str, Any], api: str) -> list[Finding]:
    return [
        Finding("large-image", where, f"an image of {size:,} bytes, more than 5 MB", "make it smaller", "", False)
        for where, size in find_large_images(as_array(body.get(MESSAGE_FIELDS[api])), api)
    ]


def _drop_field(body: Any, key: str) -> dict[str, Any]:
    return {name: value for name, value in as_object(body).items() if name != key}


def _restore_field_order(body: Any, after: Any) -> Any:
    """Return the fields in the order of the original file."""
    new = as_object(after)
    if not new:
        return after
    return {key: new[key] for key in (*as_object(body), *new) if key in new}


def read_repaired(body: Any, api: str) -> ReadHistory:
    """Return a history as a conversation without open calls, with all changes made."""
    body, prepared = _normalize_body(body, api)
    model = as_string(as_object(body).get("model"))
    reading = wire(api).read(body, Target(APIS[api], api, model).origin)
    conversation, more = reading.conversation.repair()
    if reading.last:
        more = [replace(change, where=reading.last) for change in more]
    return replace(reading, conversation=conversation, changes=[*prepared, *reading.changes, *more])


def find_history_violations(body: dict[str, Any], api: str) -> list[Violation]:
    """Return what the owner of an API would reject in a history."""
    return _check_body(body, api, None)


def _check_body(body: dict[str, Any], api: str, provider: str | None) -> list[Violation]:
    """Return the violations of a history, which need not name model, limit or thinking.

    Without a model, it must suit most models: only the newest of Anthropic's take system messages, and
    with Gemini, signatures show that the model requires them.
    """
    needed: dict[str, Any] = {"model": "unknown"}
    if api == "anthropic":
        needed["max_tokens"] = 1
        needed |= {} if "max_tokens" in body else {"thinking": {"type": "adaptive"}}
    found = rules.check(needed | body, api, provider=provider)
    if body.get("model"):
        return found
    wanted = "A13" if anthropic.begins_with_system(body) else "G4" if gemini.has_signatures(body) else ""
    if not wanted or wanted[0] != api[0].upper():
        return found
    more = rules.check(needed | body, api, _STRICTEST_MODEL[api], provider=provider)
    return [*found, *(each for each in more if each.code == wanted and each not in found)]


def _collect_issues(reading: ReadHistory, body: dict[str, Any], api: str) -> list[Finding]:
    split = {"anthropic": anthropic.find_split_anthropic_results, "gemini": gemini.find_split_gemini_results}.get(api)
    joined = [
        Finding("split-results", where, f"the results of one turn are in {count} messages", "they become one message")
        for where, count in (split(body) if split else [])
    ]
    spoken = {"anthropic": anthropic.find_split_anthropic_calls, "gemini": gemini.find_split_gemini_calls}.get(api)
    joined += [
        Finding("split-calls", where, "the model speaks before its calls are answered", "both are one turn")
        for where in (spoken(body) if spoken else [])
    ]
    joined += [
        Finding("misplaced-result", where, f"the result of call {id!r} is not right behind it", _MOVED_BEHIND_CALL, id)
        for where, id in (responses.find_late_results(body) if api == "openai-responses" else [])
    ]
    return [*map(Finding.of, reading.changes), *joined]


def _encode_again(body: dict[str, Any], reading: ReadHistory, api: str) -> dict[str, Any]:
    """Return the body with the messages encoded again from the conversation."""
    target = Target(APIS[api], api, as_string(body.get("model")))
    try:
        data = as_object(
            load_json(wire(api).encode(reading.conversation, target, Options(cache=False, extra=reading.rest)).body)
        )
    except AntiphonError:
        data = wire(api).history(reading.conversation, target)
    # An empty conversation has no list.
    new = body | {MESSAGE_FIELDS[api]: data.get(MESSAGE_FIELDS[api], [])}
    if api == "anthropic":
        anthropic.restore_cache_marks(body, new)
    return new


def _find_fixed(before: Iterable[Violation], after: Iterable[Violation], known: list[Finding]) -> list[Finding]:
    """Return an issue for every violation that encoding alone fixed."""
    left = {violation.code for violation in after}
    read = any(not each.code[-1].isdigit() for each in known)
    told = {each.code for each in known}
    found: list[Finding] = []
    for violation in before:
        code = violation.code
        if code in left or code in told or (read and code not in _FIXED_BY_ENCODING):
            continue
        action = _FIXED_BY_ENCODING.get(code, "it is written anew, as the API takes it")
        found.append(Finding(code, violation.param, violation.message, action))
    return found
