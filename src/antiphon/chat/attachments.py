"""Attachments: files, URLs and standard input, whose type is detected by their first bytes.

Text goes into the message. Images, documents, audio and video are parts of it, for models that accept them.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from antiphon._base.code_fences import fence_text
from antiphon._base.files import open_named_file
from antiphon.conversation import Audio, Document, Image, MediaPart, Text, UserPart, Video, make_media
from antiphon.conversation.media_types import detect_type
from antiphon.errors import ContentError

if TYPE_CHECKING:
    from antiphon.wire import Target

#: The largest file. What does not fit into a request is uploaded first, where the provider keeps files.
MAX_ATTACHMENT_BYTES = 100_000_000
#: The largest text: it is sent within the request, and no model reads more.
_MAX_TEXT_BYTES = 20_000_000
_FETCH_SECONDS = 60.0
_PDF_TYPE = "application/pdf"
#: Documents that only their names tell.
_OFFICE_TYPES = ("application/vnd.", "application/msword", "application/rtf", "application/epub")


@dataclass(frozen=True, slots=True)
class Attachment:
    """An attachment: a text, or an image or another file, with its name in the message."""

    name: str
    content: str | Image | Document | Audio | Video

    @property
    def text(self) -> str:
        """The text for the message; empty for images and other files."""
        if not isinstance(self.content, str):
            return ""
        return f"{self.name}:\n{fence_text(self.content)}"


def is_web_url(named: str) -> bool:
    """Return whether this is a URL: it begins like `https://`."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", named) is not None


def make_attachment(name: str, data: bytes, *, is_page: bool = False) -> Attachment:
    """Return an attachment from bytes; a ContentError if no model accepts them. A web page is reduced to its text."""
    if len(data) > MAX_ATTACHMENT_BYTES:
        raise ContentError(
            f"{name!r} has more than {MAX_ATTACHMENT_BYTES // 1_000_000} MB, which no provider takes; make it smaller"
        )
    text = _decode_text(data)
    if text is None:
        return Attachment(name, _make_file(name, data))
    if len(data) > _MAX_TEXT_BYTES:
        raise ContentError(f"{name!r} has more than {_MAX_TEXT_BYTES // 1_000_000} MB of text; make it smaller")
    if not text.strip():
        raise ContentError(f"{name!r} is empty")
    if is_page:
        from antiphon.tools.builtin.html_to_text import html_to_text

        text = html_to_text(text, name)
    return Attachment(name, text)


def _decode_text(data: bytes) -> str | None:
    """Return the bytes as text, or None for an image, a PDF and anything else that is no text."""
    if data[:8].startswith((b"%PDF-", b"GIF8")) or detect_type(data) == _PDF_TYPE:
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _make_file(name: str, data: bytes) -> Image | Document | Audio | Video:
    named = name.partition("?")[0].replace("\\", "/").rpartition("/")[2][:100]
    try:
        made = make_media(data, named)
    except ContentError:
        made = None
    # What has none of the known types could be anything.
    if made is None or not (detect_type(data) or made.media_type.startswith(_OFFICE_TYPES)):
        raise ContentError(
            f"{name!r} is neither text (UTF-8) nor an image (PNG, JPEG, GIF, WebP) nor a PDF, audio or video"
        )
    return made


def read_attachment(path: str) -> Attachment:
    """Read an attachment from a file."""
    try:
        with open_named_file(path) as file:
            # A device may be endless.
            data = file.read(MAX_ATTACHMENT_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ContentError(f"cannot read {path!r}: {getattr(error, 'strerror', None) or error}") from None
    return make_attachment(path, data)


def fetch_attachment(url: str) -> Attachment:
    """Fetch an attachment from a URL. Private networks are rejected; this machine must be named explicitly."""
    from antiphon.tools import ToolFailure

    async def fetched() -> tuple[bytes, bool]:
        async with asyncio.timeout(_FETCH_SECONDS):
            return await _download(url)

    try:
        data, is_page = asyncio.run(fetched())
    except TimeoutError:
        raise ContentError(f"{url!r:.200} did not answer within {_FETCH_SECONDS:g} seconds") from None
    except ToolFailure as error:
        hint = " (`curl … | antiphon ask … -a -` sends it all the same)" if "private network" in str(error) else ""
        raise ContentError(
            f"{url!r:.200} cannot be sent along: {str(error).partition('; it is fetched')[0]}{hint}"
        ) from None
    return make_attachment(url, data, is_page=is_page)


async def _download(url: str) -> tuple[bytes, bool]:
    from antiphon.tools import ToolFailure
    from antiphon.tools.builtin.web import open_response

    async with open_response(url, ("*", *_list_local_hosts(url))) as (response, _):
        if not response.is_success:
            raise ToolFailure(f"the server answered {response.status_code} {response.reason_phrase}".rstrip())
        size = response.headers.get("content-length", "")
        if size.isdecimal() and int(size) > MAX_ATTACHMENT_BYTES:
            raise ToolFailure(f"it has more than {MAX_ATTACHMENT_BYTES // 1_000_000} MB")
        data = bytearray()
        async for piece in response.aiter_bytes():
            data += piece
            if len(data) > MAX_ATTACHMENT_BYTES:
                break
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        return bytes(data), kind in ("text/html", "application/xhtml+xml")


def _list_local_hosts(url: str) -> list[str]:
    """Return this machine as a permitted host if the URL itself names it; other names and redirects do not count."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        is_own = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return []
    return [f"[{host}]:{port}" if ":" in host else f"{host}:{port}"] if is_own else []


# What a model is given


def load_attachment_part(source: str | bytes, name: str, target: Target | None) -> UserPart:
    """Return a file, a URL or bytes with a `name` as a part of a message."""
    if isinstance(source, bytes):
        attachment = make_attachment(name, source)
    else:
        attachment = fetch_attachment(source) if is_web_url(source) else read_attachment(source)
    return make_attachment_part(attachment, target) or Text(attachment.text)


def make_attachment_part(sent: Attachment, target: Target | None) -> MediaPart | None:
    """The part of a message that an attachment is; a text has none.

    An error says why the model cannot be given it.
    """
    from antiphon.wire.media import find_media_problem

    part = sent.content
    if isinstance(part, str):
        return None
    if target is not None and (reason := find_media_problem(part, target)):
        hint = " (`pdftotext FILE - | antiphon ask …` sends its text)" if is_pdf(part) else ""
        raise ContentError(f"{sent.name!r} cannot be sent to {target.provider}/{target.model}: {reason}{hint}")
    return part


def is_pdf(part: MediaPart) -> bool:
    """Return whether this is a PDF."""
    return isinstance(part, Document) and part.media_type == "application/pdf"
