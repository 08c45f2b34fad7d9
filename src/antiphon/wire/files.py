"""The files APIs of providers: requests that upload a file, and their answers.

Sources: the types of anthropic 2.8, openai 3.49 and google-genai 3.1, read on 2026-11-20.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_object, as_string
from antiphon.conversation import File, Media


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """The answer to an upload. `poll` is the path to ask until the file is ready, or "" if it is."""

    id: str
    expires: float | None = None
    poll: str = ""
    is_failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileForm:
    """The form of an API's uploads: the path of requests, the providers that have them, and the answers.

    `origin` is the account that files belong to. With `is_resumable` a first request announces the file, and its
    answer names the address of the second one.
    """

    origin: str
    providers: tuple[str, ...]
    path: str
    #: Fields of the form besides the file.
    fields: Mapping[str, str]
    is_resumable: bool = False
    decode: Callable[[dict[str, Any]], UploadedFile]


def make_upload_name(part: Media) -> str:
    """Return the name for an uploaded file: its own without characters that headers and systems give meaning to."""
    from mimetypes import guess_extension

    plain = re.sub(r'[\x00-\x1f\x7f"\\/<>:|?*]', "_", part.name).strip()[:200]
    return plain or part.kind + (guess_extension(part.media_type) or "")


def encode_multipart(part: Media, fields: Mapping[str, str]) -> tuple[bytes, dict[str, str]]:
    """Return the body of a form with a file, and its headers."""
    content = part.content
    boundary = f"antiphon-{part.sha256}"
    lines: list[bytes] = []
    for name, value in fields.items():
        lines.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode())
    head = f'Content-Disposition: form-data; name="file"; filename="{make_upload_name(part)}"'
    lines += [f"--{boundary}\r\n{head}\r\nContent-Type: {part.media_type}\r\n\r\n".encode(), content]
    lines.append(f"\r\n--{boundary}--\r\n".encode())
    return b"".join(lines), {"content-type": f"multipart/form-data; boundary={boundary}"}


def encode_announcement(part: Media) -> tuple[bytes, dict[str, str]]:
    """Return the request that begins a resumable upload: its body, and its headers."""
    headers = {
        "x-goog-upload-protocol": "resumable",
        "x-goog-upload-command": "start",
        "x-goog-upload-header-content-length": str(part.size),
        "x-goog-upload-header-content-type": part.media_type,
    }
    return dump_json({"file": {"display_name": make_upload_name(part)}}).encode(), headers


#: The headers of the request with the bytes of a resumable upload.
RESUMABLE_HEADERS = {
    "content-type": "application/octet-stream",
    "x-goog-upload-command": "upload, finalize",
    "x-goog-upload-offset": "0",
}
#: The header of the answer to an announcement that names the address for the bytes.
UPLOAD_URL_HEADER = "x-goog-upload-url"


def make_file(form: FileForm, part: Media, uploaded: UploadedFile) -> File:
    """Return the file that an upload made."""
    return File(uploaded.id, form.origin, part.media_type, part.name, uploaded.expires)


def _parse_time(value: object) -> float | None:
    """Return a time of an answer in seconds since 1970; None if there is none."""
    from datetime import datetime

    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    # Google writes nanoseconds, which Python does not read.
    text = re.sub(r"\.(\d{6})\d+", r".\1", as_string(value)).replace("Z", "+00:00")
    try:
        return datetime.fromisoformat(text).timestamp() if text else None
    except ValueError:
        return None


def _decode_plain(data: dict[str, Any]) -> UploadedFile:
    is_failed = data.get("status") == "error"
    return UploadedFile(as_string(data.get("id")), _parse_time(data.get("expires_at")), is_failed=is_failed)


def _decode_google(data: dict[str, Any]) -> UploadedFile:
    file = as_object(data.get("file")) or data
    name, state = as_string(file.get("name")), as_string(file.get("state"))
    poll = f"/v1beta/{name}" if state == "PROCESSING" and re.fullmatch(r"files/[\w-]+", name) else ""
    return UploadedFile(as_string(file.get("uri")), _parse_time(file.get("expirationTime")), poll, state == "FAILED")


ANTHROPIC_FILES = FileForm(
    origin="anthropic", providers=("anthropic",), path="/v1/files", fields={}, decode=_decode_plain
)
OPENAI_FILES = FileForm(
    origin="openai",
    providers=("openai", "openai-chat"),
    path="/files",
    fields={"purpose": "user_data"},
    decode=_decode_plain,
)
GOOGLE_FILES = FileForm(
    origin="google",
    providers=("google", "google-interactions"),
    path="/upload/v1beta/files",
    fields={},
    is_resumable=True,
    decode=_decode_google,
)
