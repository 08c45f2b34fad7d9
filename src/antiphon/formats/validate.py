"""Validation of a history and its images against one API's rules, and its repair."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from antiphon._base.json import load_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import Conversation, RepairAction
from antiphon.conversation.media_types import DETECTED_TYPES, detect_type, normalize_type
from antiphon.errors import AntiphonError
from antiphon.formats.fixes import fix_violations, get_fixer, get_manual_advice
from antiphon.formats.issue import Finding
from antiphon.wire import APIS, HistoryForm, ImagePlace, Options, Target, get_api_spec, rules, wire
from antiphon.wire.history_reader import ReadHistory
from antiphon.wire.rules import Violation

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
#: Maximum passes: fixing one issue may uncover another.
_MAX_PASSES = 6


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """The result of a validation: issues, violations of the original body, and the repaired body."""

    findings: list[Finding]
    violations: list[Violation]
    body: Any
    conversation: Conversation


def validate_body(
    body: Any, api: str, provider: str | None = None, known: ReadHistory | None = None
) -> ValidationResult:
    """Validate a history or a complete request, and repair a copy of it. `known` is what reading the body gave."""
    key = _find_message_field(body, api)
    given, _ = get_fixer(api).convert(body)
    violations = find_history_violations(_to_request(given, api), api, provider)
    prepared, changes = _normalize_body(body, api)
    whole = _to_request(prepared, api)
    findings: dict[Finding, None] = {}
    broken = find_history_violations(whole, api, provider) if changes else violations
    if changes or key != APIS[api].history.field:
        known = None
    for _ in range(_MAX_PASSES):
        mended = fix_violations(whole, api, broken, bare=not key)
        if mended:
            broken = find_history_violations(whole, api, provider)
        reading = read_repaired(whole, api) if mended or known is None else known
        known = None
        read = _collect_issues(reading, whole, api)
        gone: list[Finding] = []
        if read or broken:
            written = _encode_again(whole, reading, api)
            still = find_history_violations(written, api, provider)
            gone = _find_fixed(broken, still, [*findings, *mended, *read])
            if read or gone:
                whole, broken = written, still
        findings |= dict.fromkeys([*mended, *read, *gone])
        if not (mended or read or gone):
            break
    else:
        reading = read_repaired(whole, api)
    left = [Finding(v.code, v.param, v.message, get_manual_advice(v.code), "", False) for v in broken]
    field = APIS[api].history.field
    after = {key: whole[field], **_drop_field(whole, field)} if key else whole[field]
    left += _find_large_images(whole, api)
    all_findings = [*map(Finding.of, changes), *findings, *left]
    return ValidationResult(all_findings, violations, _restore_field_order(body, after), reading.conversation)


def _find_message_field(body: Any, api: str) -> str:
    """Return the field that holds the messages, or "" if the body is only the list."""
    return next((key for key in (APIS[api].history.field, "messages") if key in as_object(body)), "")


def _to_request(body: Any, api: str) -> dict[str, Any]:
    """Return a body as a request with its messages in the API's own field."""
    key, field = _find_message_field(body, api), APIS[api].history.field
    return {field: as_object(body)[key], **_drop_field(body, key)} if key else {field: body}


def _normalize_body(body: Any, api: str) -> tuple[Any, list[RepairAction]]:
    """Return a copy of a body without foreign or empty content, and the changes made."""
    fixer = get_fixer(api)
    body, converted = fixer.convert(_copy_json(body))
    key = _find_message_field(body, api)
    items, cleaned = fixer.clean(as_array(body[key]) if key else as_array(body))
    if cleaned:
        body = {**body, key: items} if key else items
    return body, [*converted, *cleaned, *fix_images(items, api)]


def _copy_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy_json(item) for key, item in cast(dict[str, Any], value).items()}
    return [_copy_json(item) for item in cast(list[Any], value)] if isinstance(value, list) else value


def _find_large_images(body: dict[str, Any], api: str) -> list[Finding]:
    return [
        Finding("large-image", where, f"an image of {size:,} bytes, more than 5 MB", "make it smaller", "", False)
        for where, size in find_large_images(as_array(body.get(APIS[api].history.field)), api)
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
    reading = wire(api).read(body, Target(APIS[api].owner, api, model).origin)
    conversation, more = reading.conversation.repair()
    if reading.last:
        more = [replace(change, where=reading.last) for change in more]
    return replace(reading, conversation=conversation, changes=[*prepared, *reading.changes, *more])


def find_history_violations(body: dict[str, Any], api: str, provider: str | None = None) -> list[Violation]:
    """Return what a provider, by default the owner of the API, would reject in a history.

    The history need not name model, limit or thinking. Without a model, it must suit most models.
    """
    fixer = get_fixer(api)
    found = rules.check({"model": "unknown"} | fixer.complete(body) | body, api, provider=provider)
    if body.get("model"):
        return found
    return [*found, *(each for each in fixer.check_strictly(body, provider) if each not in found)]


def _collect_issues(reading: ReadHistory, body: dict[str, Any], api: str) -> list[Finding]:
    fixer = get_fixer(api)
    joined = [
        Finding("split-results", where, f"the results of one turn are in {count} messages", "they become one message")
        for where, count in fixer.find_split_results(body)
    ]
    joined += [
        Finding("split-calls", where, "the model speaks before its calls are answered", "both are one turn")
        for where in fixer.find_split_calls(body)
    ]
    joined += [
        Finding("misplaced-result", where, f"the result of call {id!r} is not right behind it", _MOVED_BEHIND_CALL, id)
        for where, id in fixer.find_late_results(body)
    ]
    return [*map(Finding.of, reading.changes), *joined]


def _encode_again(body: dict[str, Any], reading: ReadHistory, api: str) -> dict[str, Any]:
    """Return the body with the messages encoded again from the conversation."""
    target = Target(APIS[api].owner, api, as_string(body.get("model")))
    try:
        data = as_object(
            load_json(wire(api).encode(reading.conversation, target, Options(cache=False, extra=reading.rest)).body)
        )
    except AntiphonError:
        data = wire(api).history(reading.conversation, target)
    # An empty conversation has no list.
    field = APIS[api].history.field
    new = body | {field: data.get(field, [])}
    get_fixer(api).restore_marks(body, new)
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


_DATA_URL = re.compile(r"data:(image/[^;,\s]*)(?:;[^,;]*)*;base64,(.*)", re.DOTALL | re.IGNORECASE)
_BLANK = re.compile(r"\s+")
_WEB_SAFE = str.maketrans("-_", "+/")
#: Fields with a call's arguments, in which nothing is an image.
_ARGUMENT_FIELDS = ("input", "args", "arguments")
_EQUIVALENT_TYPES = {"image/heic", "image/heif"}
UNREADABLE_IMAGE_TEXT = "[an image that could not be read]"


@dataclass(frozen=True, slots=True)
class ImageFault:
    """A fault of an image, and the corrected image. Without `data` the image is unreadable."""

    found: str
    action: str
    data: str = ""
    media_type: str = ""


def find_image_fault(data: str, media_type: str) -> ImageFault | None:
    """Return what is wrong with an image's bytes, or None."""
    if inner := _DATA_URL.fullmatch(data):
        data, told = inner[2], "a data URL in place of base64"
    else:
        told = ""
    plain = _BLANK.sub("", data).translate(_WEB_SAFE).rstrip("=")
    plain += "=" * (-len(plain) % 4)
    try:
        content = binascii.a2b_base64(plain.encode(), strict_mode=True)
    except (binascii.Error, UnicodeEncodeError):
        return _make_unreadable_fault("its data is not base64")
    found = detect_type(content)
    kind = found if found.startswith("image/") else ""
    if (not kind and normalize_type(media_type) in (*DETECTED_TYPES, "image/jpg")) or not content:
        return _make_unreadable_fault(f"its bytes are no image of type {media_type!r}")
    if kind and _is_truncated(kind, content):
        return _make_unreadable_fault("its data is cut off")
    if kind and kind != media_type and {kind, media_type} != _EQUIVALENT_TYPES:
        return ImageFault(f"an image of type {media_type!r} whose bytes are {kind}", f"it becomes {kind}", plain, kind)
    if plain != data or told:
        what = told or "base64 that is not written as the standard has it"
        return ImageFault(f"an image: {what}", "it is written anew", plain, media_type)
    return None


def _make_unreadable_fault(reason: str) -> ImageFault:
    return ImageFault(f"an image: {reason}", "a line of text takes its place")


def _is_truncated(kind: str, content: bytes) -> bool:
    """Return whether an image lacks its end."""
    match kind:
        case "image/png":
            return b"IEND" not in content
        case "image/jpeg":
            return b"\xff\xd9" not in content
        case "image/webp":
            return len(content) < int.from_bytes(content[4:8], "little") + 8
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _ImageReference:
    """An image in a body: its data, its place, and the container of its block."""

    where: str
    data: str
    media_type: str
    place: ImagePlace
    holder: Any
    key: str | int


def fix_images(items: list[Any], api: str) -> list[RepairAction]:
    """Fix the images of a list of messages in place and return the changes."""
    changes: list[RepairAction] = []
    form = get_api_spec(api).history
    for image in _iter_images(items, form):
        data = image.data.translate(_WEB_SAFE) if form.web_safe_base64 else image.data
        fault = find_image_fault(data, image.media_type)
        if fault is None:
            continue
        if fault.data:
            place = image.place
            if place.type_key:
                place.holder.update({place.key: fault.data, place.type_key: fault.media_type})
            else:
                place.holder[place.key] = f"data:{fault.media_type};base64,{fault.data}"
        else:
            image.holder[image.key] = {**form.text_block, "text": UNREADABLE_IMAGE_TEXT}
        changes.append(RepairAction("bad-image", image.where, fault.found, fault.action))
    return changes


def find_large_images(items: list[Any], api: str) -> list[tuple[str, int]]:
    """Return the location and the bytes of images that are larger than the API accepts."""
    form = get_api_spec(api).history
    if (most := form.max_image_size) is None:
        return []
    return [(image.where, len(image.data)) for image in _iter_images(items, form) if len(image.data) > most]


def _iter_images(items: list[Any], form: HistoryForm) -> Iterator[_ImageReference]:
    for number, item in enumerate(items):
        yield from _iter_nested_images(item, form, f"{form.entry} {number}")


def _iter_nested_images(value: Any, form: HistoryForm, where: str) -> Iterator[_ImageReference]:
    """Yield the images at any depth of a message. Collect a container's entries before one is changed."""
    places: list[tuple[Any, Any]] = []
    if isinstance(value, list):
        places = [(key, each) for key, each in enumerate(cast(list[Any], value)) if isinstance(each, dict | list)]
    elif isinstance(value, dict):
        entries = cast(dict[str, Any], value).items()
        places = [(k, each) for k, each in entries if isinstance(each, dict | list) and k not in _ARGUMENT_FIELDS]
    for key, each in places:
        if isinstance(each, dict) and (place := form.find_image(cast(dict[str, Any], each))):
            if found := _read_image(place):
                yield _ImageReference(where, *found, place, value, key)
        else:
            yield from _iter_nested_images(each, form, where)


def _read_image(place: ImagePlace) -> tuple[str, str] | None:
    """Return the base64 data and the type of an image, or None if it is not in the body."""
    given = place.holder.get(place.key)
    if place.type_key:
        # Reading the message reports data that is empty or no text.
        return (given, as_string(place.holder.get(place.type_key))) if isinstance(given, str) and given else None
    found = _DATA_URL.fullmatch(as_string(given))
    return (found[2], found[1]) if found else None
