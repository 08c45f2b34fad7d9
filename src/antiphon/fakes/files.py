"""The files APIs of the fake servers: uploads, and references to uploaded files in messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from typing import Any, cast

from antiphon._base.json_access import as_object, as_string
from antiphon.fakes.vendors import ErrorReply, make_random_id

#: The purpose of the requests of a batch, which are no messages.
BATCH_PURPOSE = "batch"
_PURPOSES = ("assistants", "batch", "fine-tune", "vision", "user_data", "evals")
_FORBIDDEN_IN_NAMES = re.compile(r'[<>:"|?*\\/\x00-\x1f]')
#: What the blocks of Anthropic that refer to a file may hold.
_BLOCK_TYPES = {"image": ("image/",), "document": ("application/pdf", "text/plain")}


@dataclass(slots=True)
class StoredFile:
    """A file that a fake server keeps. `is_ready` is False while it is processed. Only batches keep their content."""

    origin: str
    name: str
    media_type: str
    size: int
    is_ready: bool = True
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class UploadAnswer:
    """The answer to an upload: a body, or headers and no body. `received` is what was sent, for `Fake.requests`."""

    received: dict[str, Any]
    body: dict[str, Any] | None = None
    headers: Mapping[str, str] | None = None


Files = dict[str, StoredFile]


def receive_form(origin: str, media_type: str, raw: bytes, files: Files) -> UploadAnswer | ErrorReply:
    """Keep a file that was sent as a form, as Anthropic and OpenAI take it."""
    parts = _parse_form(media_type, raw)
    part = parts.get("file")
    name = "" if part is None else str(part.get_filename() or "")
    if part is None or not name:
        return ErrorReply("file: Field required" if origin == "anthropic" else "'file' is a required property")
    content, purpose = _get_content(part), _get_content(parts["purpose"]).decode() if "purpose" in parts else ""
    if origin == "openai" and purpose not in _PURPOSES:
        wrong = f"{purpose!r} is not one of {list(_PURPOSES)} - 'purpose'"
        said = wrong if purpose else "'purpose' is a required property"
        return ErrorReply(said, param="purpose")
    if origin == "anthropic" and (len(name) > 255 or _FORBIDDEN_IN_NAMES.search(name)):
        return ErrorReply("file: the filename has forbidden characters, or more than 255")
    if not content and purpose != BATCH_PURPOSE:
        return ErrorReply("file: the file is empty")
    kept = StoredFile(origin, name, part.get_content_type(), len(content))
    kept.content = content if purpose == BATCH_PURPOSE else None
    received = {"filename": name, "media_type": kept.media_type, "bytes": kept.size, "purpose": purpose}
    id = f"file_011C{make_random_id(20)}" if origin == "anthropic" else f"file-{make_random_id(22)}"
    files[id] = kept
    return UploadAnswer(received, _describe_file(id, kept, purpose))


def is_batch_form(media_type: str, raw: bytes) -> bool:
    """Return whether a form uploads the requests of a batch."""
    purpose = _parse_form(media_type, raw).get("purpose")
    return purpose is not None and _get_content(purpose).decode(errors="replace") == BATCH_PURPOSE


def _describe_file(id: str, file: StoredFile, purpose: str) -> dict[str, Any]:
    shared: dict[str, Any] = {"id": id, "filename": file.name, "expires_at": None}
    if file.origin == "anthropic":
        about = {"mime_type": file.media_type, "size_bytes": file.size, "created_at": "2026-11-20T00:00:00Z"}
        return {"type": "file", **shared, **about, "downloadable": False}
    about = {"bytes": file.size, "created_at": 1795132800, "purpose": purpose, "status": "processed"}
    return {"object": "file", **shared, **about}


def _parse_form(media_type: str, raw: bytes) -> dict[str, Message]:
    if not media_type.startswith("multipart/form-data"):
        return {}
    whole = message_from_bytes(b"Content-Type: " + media_type.encode() + b"\r\n\r\n" + raw)
    parts = [part for part in whole.walk() if not part.is_multipart()]
    return {str(part.get_param("name", header="content-disposition")): part for part in parts}


def _get_content(part: Message) -> bytes:
    return cast(bytes, part.get_payload(decode=True))


def receive_announced(
    headers: Mapping[str, str], body: Mapping[str, Any], raw: bytes, url: str, id: str, files: Files
) -> UploadAnswer | ErrorReply:
    """Keep a file that is announced first, as Google takes it. `id` is that of an announced one."""
    command = headers.get("x-goog-upload-command", "")
    if not id:
        size, media_type = (headers.get(f"x-goog-upload-header-content-{name}", "") for name in ("length", "type"))
        if headers.get("x-goog-upload-protocol") != "resumable" or command != "start" or not size.isdecimal():
            return ErrorReply("Request contains an invalid argument.")
        about = as_object(body.get("file"))
        name = as_string(about.get("display_name") or about.get("displayName"))
        id = make_random_id(12, "abcdefghijklmnopqrstuvwxyz0123456789")
        files[f"files/{id}"] = StoredFile("google", name, media_type, int(size), is_ready=False)
        address = {"x-goog-upload-url": f"{url}?upload_id={id}", "x-goog-upload-status": "active"}
        return UploadAnswer({"display_name": name, "media_type": media_type, "bytes": int(size)}, None, address)
    kept = files.get(f"files/{id}")
    if kept is None or command != "upload, finalize" or headers.get("x-goog-upload-offset") != "0":
        return ErrorReply("Upload has already been terminated.")
    if len(raw) != kept.size:
        return ErrorReply(f"{len(raw)} bytes were uploaded, and {kept.size} announced")
    # Videos are processed before they can be used.
    kept.is_ready = not kept.media_type.startswith("video/")
    file = {"file": describe_google_file(id, kept)}
    return UploadAnswer({"upload_id": id, "bytes": len(raw)}, file, {"x-goog-upload-status": "final"})


def describe_google_file(id: str, file: StoredFile) -> dict[str, Any]:
    """Return a file as Google's API describes it."""
    return {
        "name": f"files/{id}",
        "displayName": file.name,
        "mimeType": file.media_type,
        "sizeBytes": str(file.size),
        "createTime": "2026-11-20T00:00:00.123456789Z",
        "expirationTime": "2099-11-22T00:00:00.123456789Z",
        "uri": f"https://generativelanguage.googleapis.com/v1beta/files/{id}",
        "state": "ACTIVE" if file.is_ready else "PROCESSING",
        "source": "UPLOADED",
    }


def find_file_error(origin: str, body: object, files: Files) -> ErrorReply | None:
    """Return the error for a reference to a file that this account does not have, or that does not fit its place."""
    find = {"anthropic": _find_anthropic_error, "openai": _find_openai_error, "google": _find_google_error}[origin]
    return next((found for block in _iter_objects(body) if (found := find(block, files)) is not None), None)


def _find_anthropic_error(block: dict[str, Any], files: Files) -> ErrorReply | None:
    source = as_object(block.get("source"))
    if source.get("type") != "file":
        return None
    id, kept = as_string(source.get("file_id")), _find(files, as_string(source.get("file_id")), "anthropic")
    if kept is None:
        return ErrorReply(f"File not found: {id}", 404)
    if not kept.media_type.startswith(_BLOCK_TYPES.get(as_string(block.get("type")), ("",))):
        return ErrorReply(f"file {id} has the type {kept.media_type}, which this block does not take")
    return None


def _find_openai_error(block: dict[str, Any], files: Files) -> ErrorReply | None:
    held = as_object(block.get("file")) if block.get("type") == "file" else block
    is_file = block.get("type") in ("file", "input_file", "input_image")
    id = as_string(held.get("file_id")) if is_file else ""
    return ErrorReply(f"File with id '{id}' not found.", 404) if id and not _find(files, id, "openai") else None


def _find_google_error(block: dict[str, Any], files: Files) -> ErrorReply | None:
    uri = as_string(as_object(block.get("fileData")).get("fileUri")) or as_string(block.get("uri"))
    found = re.search(r"//generativelanguage\.googleapis\.com/v1(?:beta)?/(files/([\w-]+))$", uri)
    if found is None:
        return None
    kept = _find(files, found[1], "google")
    if kept is None:
        return make_google_missing_error(found[2])
    return None if kept.is_ready else ErrorReply(f"The File {found[2]} is not in an ACTIVE state.")


def make_google_missing_error(id: str) -> ErrorReply:
    """Return the error of Google's API for a file that the account does not have."""
    return ErrorReply(f"You do not have permission to access the File {id} or it may not exist.", 403)


def _find(files: Files, id: str, origin: str) -> StoredFile | None:
    kept = files.get(id)
    return kept if kept is not None and kept.origin == origin else None


def _iter_objects(value: object) -> Iterator[dict[str, Any]]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            held = cast(dict[str, Any], each)
            yield held
            waiting += held.values()
        elif isinstance(each, list):
            waiting += cast(list[object], each)
