"""Checks which images and other files a model accepts. One unsupported file would make its provider reject the
whole conversation.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from antiphon._base.code_fences import fence_text
from antiphon.conversation import (
    AssistantTurn,
    Conversation,
    DerivedKey,
    Document,
    File,
    Image,
    Media,
    MediaPart,
    Text,
    ToolResult,
    Turn,
    UserTurn,
)
from antiphon.conversation.media_types import HEAD_BYTES, find_type_conflict, normalize_type
from antiphon.errors import ContentError
from antiphon.facts.model_facts import InputLimits
from antiphon.facts.resolution import default_model
from antiphon.wire.apis import APIS
from antiphon.wire.files import FileForm
from antiphon.wire.options import Target

_PDF_TYPE = "application/pdf"
#: The part of the largest request that files may fill; the rest is for text.
_FILE_SHARE = 7 / 8
#: Files that a provider deletes within so many seconds are uploaded again.
_EXPIRY_MARGIN = 600.0
_WORDS = {"image": "images", "document": "documents", "audio": "audio", "video": "video"}


# What a model accepts


def find_media_problem(part: Media | File, target: Target) -> str:
    """Return why the model cannot be given a file and what to do, or "" if it can."""
    if isinstance(part, File):
        return _find_file_problem(part, target)
    if isinstance(part, Image):
        if not target.accepts_images():
            return f"{target.model} cannot see images; describe it, or ask a model that can"
    elif is_sent_as_text(part, target):
        return ""
    elif problem := _find_kind_problem(part, target):
        return problem
    form = APIS[target.api].media
    if part.url and part.kind not in form.url_kinds:
        return f"{APIS[target.api].title} takes no URLs of {_WORDS[part.kind]}; send its bytes"
    if not part.data:
        return ""
    # An image that came from this API is sent back unchanged.
    theirs = part.native is not None and part.native.origin.api == target.api
    return ("" if theirs else _find_type_mismatch(part)) or _find_exceeded_limit(part, target)


def is_sent_as_text(part: Media | File, target: Target) -> bool:
    """Return whether a text document becomes text for this model, because its API has no documents of text."""
    if not isinstance(part, Document) or not part.is_text:
        return False
    if part.native is not None and part.native.origin.api == target.api:
        # What came from this API is sent back unchanged.
        return False
    return not APIS[target.api].media.text_documents or not _accepts(target, "files")


def format_document_text(document: Document) -> str:
    """Return a text document as text, with its name and fences around it."""
    return f"{document.title or document.name or 'document'}:\n{fence_text(document.text)}"


def is_pdf(part: Media | File) -> bool:
    """Return whether this is a PDF; a document at a URL is one unless it says otherwise."""
    return normalize_type(part.media_type or _PDF_TYPE) == _PDF_TYPE


def fits_in_result(part: Media | File, target: Target) -> bool:
    """Return whether a tool's result may hold the file; otherwise it follows the results as the user's."""
    types = target.facts.result_media
    if types is None:
        return isinstance(part, Image) or (isinstance(part, File) and get_file_kind(part) == "image")
    kind = "text/plain" if isinstance(part, Document) and part.is_text else part.media_type
    if kind.endswith("/*"):
        return any(each.startswith(kind[:-1]) for each in types)
    return bool(types) and (not kind or normalize_type(kind) in map(normalize_type, types))


def _find_file_problem(file: File, target: Target) -> str:
    form = get_file_form(target)
    if form is None or form.origin != file.origin:
        return f"it is kept by {file.origin}, and {target.provider} cannot read it; send its bytes"
    kind = get_file_kind(file)
    if kind not in APIS[target.api].media.file_kinds:
        return f"{APIS[target.api].title} takes no uploaded {_WORDS[kind]}; send its bytes"
    return ""


def get_file_kind(file: File) -> str:
    """Return the kind of an uploaded file; one of unknown type is a document."""
    family = file.media_type.partition("/")[0]
    return family if family in ("image", "audio", "video") else "document"


def get_file_form(target: Target) -> FileForm | None:
    """Return the files API of the model's provider, or None."""
    form = APIS[target.api].media.upload
    return form if form is not None and target.provider in form.providers else None


def find_copy(part: Media | File, target: Target) -> File | None:
    """Return the copy of a file that the model's provider keeps and its API takes, or None."""
    form = get_file_form(target)
    if form is None or isinstance(part, File) or part.kind not in APIS[target.api].media.file_kinds:
        return None
    return part.find_file(form.origin)


def _accepts(target: Target, kind: str) -> bool:
    """Return whether a kind of input of the facts is accepted, as far as is known.

    If it is unknown, servers of the API's owner are asked; others mostly implement only text and images.
    """
    inputs = target.facts.inputs or {}
    if kind in inputs:
        return inputs[kind] is not None
    return target.provider == APIS[target.api].provider


def _find_kind_problem(part: Media, target: Target) -> str:
    spec, what = APIS[target.api], _WORDS[part.kind]
    kind = part.kind
    if isinstance(part, Document):
        kind, what = ("pdf", "PDFs") if is_pdf(part) else ("files", f"files of type {part.media_type}")
        if kind == "files" and not (spec.media.other_documents or part.is_text):
            return f"{spec.title} takes PDFs and text, and no {what}; convert it to one of them"
    elif kind not in spec.media.kinds:
        return f"{spec.title} takes no {what}; {_name_media_models(kind)}"
    if not _accepts(target, kind):
        hint = "send its text, or " if isinstance(part, Document) else ""
        return f"{target.model} takes no {what}; {hint}{_name_media_models(kind)}"
    if (types := spec.media.types.get(part.kind)) and normalize_type(part.media_type) not in types:
        return f"{spec.title} takes {' and '.join(types)}, and not {part.media_type}; convert it"
    return ""


def _name_media_models(kind: str) -> str:
    """Return models that take a kind of file, for a message."""
    owners = ("google",) if kind in ("audio", "video") else ("anthropic", "openai", "google")
    return f"ask a model that does, such as {' or '.join(filter(None, map(default_model, owners)))}"


def _find_type_mismatch(part: Media) -> str:
    try:
        head = binascii.a2b_base64(part.data[: HEAD_BYTES * 4 // 3 // 4 * 4].encode())
    except (binascii.Error, UnicodeEncodeError):
        head = b""
    return find_type_conflict(part.media_type, head)


def _find_exceeded_limit(part: Media, target: Target) -> str:
    stated = part.media_type.lower()
    limits = _get_limits(part, target)
    if limits and limits.types and normalize_type(stated) not in map(normalize_type, limits.types):
        is_text = isinstance(part, Document) and part.is_text
        if not (is_text and "text/plain" in limits.types):
            taken = ", ".join(each.removeprefix("image/") for each in limits.types)
            return f"{target.provider} takes {taken}, and not {stated}; convert it"
    if limits and limits.bytes and len(part.data) > limits.bytes:
        size, most = len(part.data) / 2**20, limits.bytes / 2**20
        return f"it has {size:.1f} MB as base64, and {target.provider} takes {most:g} MB; make it smaller"
    return ""


def _get_limits(part: Media, target: Target) -> InputLimits | None:
    names = {"image": "images", "document": "pdf" if is_pdf(part) else "files"}
    return (target.facts.inputs or {}).get(names.get(part.kind, part.kind))


# Messages


def check_new_media(conversation: Conversation, target: Target) -> None:
    """Raise ContentError for a file in the latest user turn that the model cannot be given.

    Earlier files and those of tools are replaced by a note to the model.
    """
    turn = conversation.turns[-1] if conversation.turns else None
    if not isinstance(turn, UserTurn) or not any(isinstance(part, MediaPart) for part in turn.parts):
        return
    for part in turn.parts:
        if isinstance(part, MediaPart) and (reason := find_media_problem(part, target)):
            sees = target.accepts_images() or not isinstance(part, Image)
            others = "" if sees else f", such as {_name_vision_models()}"
            what = "an image" if isinstance(part, Image) else part.label
            raise ContentError(
                f"{what} cannot be sent to {target.provider}/{target.model}: {reason}{others}"
                " (`conversation.undo()` takes it back)"
            )
    for part in find_uploads(conversation, target):
        if any(part is each for each in turn.parts):
            most = (target.facts.max_request_bytes or 0) / 2**20
            raise ContentError(
                f"{part.label} has {part.size / 2**20:.1f} MB, and a request to {target.provider} takes {most:g} MB in"
                " all; a session uploads it by itself, and `model.upload(part)` returns a `File` to send in its place"
            )


def _name_vision_models() -> str:
    """Return the names of models that can see images, for a message."""
    return " or ".join(filter(None, map(default_model, ("anthropic", "google"))))


def replace_unsupported_media(turn: Turn, target: Target) -> Turn:
    """Return the turn with a line of text in place of every file that the model cannot be given."""
    if isinstance(turn, UserTurn):
        parts = _replace_in_parts(turn.parts, target)
        return turn if parts is turn.parts else UserTurn(parts)
    if all(isinstance(result.content, str) for result in turn.results):
        return turn
    results = tuple(_replace_in_result(result, target) for result in turn.results)
    same = all(new is old for new, old in zip(results, turn.results, strict=True))
    return turn if same else AssistantTurn(turn.parts, results)


def _replace_in_result(result: ToolResult, target: Target) -> ToolResult:
    theirs = result.native is not None and result.native.origin.api == target.api and target.accepts_images()
    if isinstance(result.content, str) or theirs:
        return result
    parts = _replace_in_parts(result.content, target)
    return result if parts is result.content else replace(result, content=parts, native=None)


def _replace_in_parts(parts: tuple[Any, ...], target: Target) -> tuple[Any, ...]:
    if not any(isinstance(part, MediaPart) and _is_replaced(part, target) for part in parts):
        return parts
    return tuple(_media_or_text(part, target) if isinstance(part, MediaPart) else part for part in parts)


def _is_replaced(part: Media | File, target: Target) -> bool:
    return is_sent_as_text(part, target) or find_media_problem(part, target) != ""


def _media_or_text(part: Media | File, target: Target) -> Media | File | Text:
    if isinstance(part, Document) and is_sent_as_text(part, target):
        return Text(format_document_text(part))
    reason = find_media_problem(part, target)
    if reason and not isinstance(part, Image):
        # The line stays the same for ever, so it names no models that may be newer tomorrow.
        reason = reason.partition("; ")[0]
    return Text(f"[{part.label} that is not shown: {reason}]") if reason else part


def describe_omitted(conversation: Conversation, target: Target) -> tuple[str, ...]:
    """Return the files of earlier messages and of tools that the model is not shown, in order."""
    files, last = find_files(conversation), conversation.turns[-1] if conversation.turns else None
    # Those of the latest message are an error.
    asked = last.parts if isinstance(last, UserTurn) else ()
    hidden = [part for part in files if not any(part is each for each in asked) and find_media_problem(part, target)]
    return tuple(part.label for part in hidden)


# Uploads


@dataclass(slots=True)
class _FoundFiles:
    """The files of the settled turns of a conversation."""

    count: int = 0
    last: Turn | None = None
    files: list[MediaPart] = field(default_factory=list[MediaPart])


_FILES = DerivedKey[_FoundFiles]("files", grows=True)


def find_files(conversation: Conversation) -> list[MediaPart]:
    """Return all files of a conversation. Settled turns are looked at once."""
    turns = conversation.turns
    settled = max(len(turns) - 2, 0)
    known = conversation.derived.get(_FILES)
    if known is None or known.count > settled or (known.count and turns[known.count - 1] is not known.last):
        known = conversation.derived.set(_FILES, _FoundFiles())
    if known.count < settled:
        known.files += _list_files(turns[known.count : settled])
        known.count, known.last = settled, turns[settled - 1]
    return [*known.files, *_list_files(turns[settled:])]


def _list_files(turns: Iterable[Turn]) -> list[MediaPart]:
    found: list[MediaPart] = []
    for turn in turns:
        contents = [turn.parts] if isinstance(turn, UserTurn) else [each.content for each in turn.results]
        for content in contents:
            if not isinstance(content, str):
                found += [part for part in content if isinstance(part, MediaPart)]
    return found


def find_uploads(conversation: Conversation, target: Target, now: float | None = None) -> list[Media]:
    """Return the files that the request has no room for, so that they are uploaded before.

    What is sent within a request depends on earlier files only, so it stays as it is in later requests. With the time
    `now`, files that the provider is about to delete are among them.
    """
    files, form = find_files(conversation), get_file_form(target)
    if not files or form is None:
        return []
    kinds, room = APIS[target.api].media.file_kinds, (target.facts.max_request_bytes or 0) * _FILE_SHARE
    found: list[Media] = []
    used = 0
    for part in files:
        if isinstance(part, File) or not part.data or find_media_problem(part, target):
            continue
        copy = part.find_file(form.origin) if part.kind in kinds else None
        if copy is not None:
            if _is_expiring(copy, now):
                found.append(part)
        elif room and used + len(part.data) > room and part.kind in kinds and not is_sent_as_text(part, target):
            found.append(part)
        else:
            used += len(part.data)
    return found


def find_known_copy(conversation: Conversation, part: Media, target: Target, now: float | None = None) -> File | None:
    """Return a copy of the same bytes that the provider keeps since an earlier message, or None."""
    form = get_file_form(target)
    files = [each for each in find_files(conversation) if isinstance(each, Media) and each.data == part.data]
    copies = [copy for each in files if form and (copy := each.find_file(form.origin)) is not None]
    return next((copy for copy in copies if not _is_expiring(copy, now)), None)


def _is_expiring(copy: File, now: float | None) -> bool:
    return now is not None and copy.expires is not None and copy.expires < now + _EXPIRY_MARGIN


def has_expiring_files(conversation: Conversation) -> bool:
    """Return whether a provider deletes a copy of a file some day."""
    return any(copy.expires for part in find_files(conversation) if isinstance(part, Media) for copy in part.files)


def note_upload(conversation: Conversation, part: Media, file: File) -> None:
    """Note at every place of a file in a conversation that a provider keeps a copy of it."""

    def note(parts: tuple[Any, ...]) -> tuple[Any, ...]:
        if not any(isinstance(each, Media) and each.data == part.data for each in parts):
            return parts
        return tuple(
            each.with_file(file) if isinstance(each, Media) and each.data == part.data else each for each in parts
        )

    def note_in_turn(turn: Turn) -> Turn:
        if isinstance(turn, UserTurn):
            parts = note(turn.parts)
            return turn if parts is turn.parts else UserTurn(parts)
        results = tuple(
            each
            if isinstance(each.content, str) or (parts := note(each.content)) is each.content
            else replace(each, content=parts)
            for each in turn.results
        )
        same = all(new is old for new, old in zip(results, turn.results, strict=True))
        return turn if same else AssistantTurn(turn.parts, results)

    conversation.turns = tuple([note_in_turn(turn) for turn in conversation.turns])
