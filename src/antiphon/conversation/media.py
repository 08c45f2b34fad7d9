"""Images, documents, audio and video as parts of messages, and files that a provider keeps."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import ClassVar, Self

from antiphon._base.files import read_named_file
from antiphon.conversation.media_types import (
    DETECTED_TYPES,
    HEAD_BYTES,
    detect_type,
    find_type_conflict,
    guess_type_by_name,
    is_text_type,
    normalize_type,
)
from antiphon.conversation.provider_payload import ProviderPayload, clean_fields
from antiphon.errors import ContentError

_FAMILIES = ("image/", "audio/", "video/")
_URL_STARTS = ("http://", "https://", "gs://")


@dataclass(frozen=True, slots=True)
class File:
    """A file that a provider keeps for an account, as `Model.upload` returns it.

    `origin` is the account's provider: `anthropic`, `openai` or `google`. `id` is the file's id there, for Google
    its URI. `expires` is when the provider deletes it, in seconds since 1970.
    """

    id: str
    origin: str
    media_type: str = ""
    name: str = ""
    expires: float | None = None

    def __post_init__(self) -> None:
        clean_fields(self, "id", "origin", "media_type", "name")
        if not self.id.strip() or not self.origin.strip():
            raise ContentError("a file has an `id` and an `origin`, such as File('file_011C', 'anthropic')")

    @property
    def label(self) -> str:
        """A short description, such as "the file report.pdf"."""
        return f"the file {_shorten(self.name or self.id)}"

    @property
    def description(self) -> str:
        """The name and the type for people, and who keeps it."""
        return ", ".join(filter(None, (_shorten(self.name or self.id), self.media_type, f"kept by {self.origin}")))


@dataclass(frozen=True, slots=True)
class Media:
    """A file in a message: base64 `data` with its `media_type`, or a `url` that the provider fetches.

    `files` are copies that providers keep. A provider that has one is sent its id in place of the data.
    """

    data: str = ""
    media_type: str = ""
    url: str = ""
    native: ProviderPayload | None = None
    name: str = ""
    files: tuple[File, ...] = ()

    #: The word for it, an example of its type, and the beginnings of its types; none if all others.
    kind: ClassVar[str] = "document"
    _example: ClassVar[str] = "application/pdf"
    _families: ClassVar[tuple[str, ...]] = ()
    #: Whether the type is compared with the bytes at once. Histories hold images of wrong types.
    _is_strict: ClassVar[bool] = True

    def __post_init__(self) -> None:
        clean_fields(self, "media_type", "url", "name")
        what = f"{'an' if self.kind[0] in 'aeiou' else 'a'} {self.kind}"
        self._check_source(what)
        if self.media_type:
            self._check_family(what)
        if not self.data:
            return
        content = self._decode(what)
        if not self.media_type:
            object.__setattr__(self, "media_type", _detect_content_type(content, self.name))
            if not self.media_type:
                raise ContentError(
                    f"the bytes of {what} tell no type; give it a `media_type`, such as {self._example!r}"
                )
            self._check_family(what)
        if self._is_strict:
            _check_content(content, self.media_type, what)

    def _check_source(self, what: str) -> None:
        name = self.kind.capitalize()
        if not isinstance(self.data, str):
            given = type(self.data).__name__
            raise ContentError(f"{what}'s `data` is base64 text, not {given}; see `{name}.from_bytes`")
        if bool(self.data) == bool(self.url):
            raise ContentError(f"{what} has either `data` (base64) or a `url`")
        if self.url and self._is_strict and not self.url.startswith(_URL_STARTS):
            raise ContentError(
                f"{what}'s `url` begins with https://, not {self.url[:40]!r}; `{name}.from_path` reads a file"
            )

    def _check_family(self, what: str) -> None:
        """Raise a ContentError for a type of another part. Images by URL may have any."""
        kind = self.media_type.lower()
        is_own = kind.startswith(self._families) if self._families else "/" in kind and not kind.startswith(_FAMILIES)
        if not is_own and (self.data or self._is_strict):
            raise ContentError(f"{what}'s `media_type` looks like {self._example!r}, not {self.media_type!r}")

    def _decode(self, what: str) -> bytes:
        try:
            return binascii.a2b_base64(self.data.encode(), strict_mode=True)
        except (binascii.Error, UnicodeEncodeError) as error:
            helper = f"`{self.kind.capitalize()}.from_bytes`"
            raise ContentError(f"{what}'s `data` is base64: {error}; see {helper}") from None

    @classmethod
    def from_bytes(cls, content: bytes, media_type: str = "", name: str = "") -> Self:
        """Return a part made of the bytes of its file. The bytes tell the type, if it is not given."""
        if not isinstance(content, bytes | bytearray | memoryview):
            raise ContentError(f"the content of a {cls.kind} is bytes, not {type(content).__name__}")
        return cls(data=base64.b64encode(content).decode(), media_type=media_type, name=name)

    @classmethod
    def from_path(cls, path: str | PathLike[str], media_type: str = "", name: str = "") -> Self:
        """Return a part made of a file, named after it. Its bytes tell the type, or else its name."""
        try:
            content = read_named_file(path)
        except (OSError, ValueError) as error:
            raise ContentError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
        name = name or fspath(path).replace("\\", "/").rpartition("/")[2]
        if not content:
            raise ContentError(f"{path} is empty")
        try:
            return cls.from_bytes(content, media_type, name)
        except ContentError as error:
            raise ContentError(f"{path}: {error}") from None

    @classmethod
    def from_url(cls, url: str, media_type: str = "", name: str = "") -> Self:
        """Return a part that the provider fetches itself."""
        return cls(url=url, media_type=media_type, name=name)

    @property
    def content(self) -> bytes:
        """The bytes of the file; empty for a URL."""
        return base64.b64decode(self.data)

    @property
    def size(self) -> int:
        """The number of bytes of the file; 0 for a URL."""
        return len(self.data) * 3 // 4 - self.data[-2:].count("=")

    @property
    def sha256(self) -> str:
        """The hash of the bytes, which tells files apart."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def label(self) -> str:
        """A short description, such as "the document report.pdf"."""
        word = "audio file" if self.kind == "audio" else self.kind
        if self.name:
            return f"the {word} {_shorten(self.name)}"
        where = f" at {self.url[:500]}" if self.url and not self.url.startswith("data:") else ""
        return f"{'an' if word[0] in 'aeiou' else 'a'} {word}{where}"

    @property
    def description(self) -> str:
        """The name or address, the type and the size for people."""
        where = self.url[:500] if not self.url.startswith("data:") else ""
        words = (_shorten(self.name) or where or self.kind, self.media_type, _format_size(self.size))
        return ", ".join(filter(None, words))

    def find_file(self, origin: str) -> File | None:
        """Return the newest copy that a provider keeps, or None."""
        return next((file for file in reversed(self.files) if file.origin == origin), None)

    def with_file(self, file: File) -> Self:
        """Return the part with one more copy that a provider keeps."""
        return replace(self, files=(*self.files, file))


@dataclass(frozen=True, slots=True)
class Image(Media):
    """An image as base64 `data` with its `media_type`, or as a `url` that the provider fetches."""

    kind: ClassVar[str] = "image"
    _example: ClassVar[str] = "image/png"
    _families: ClassVar[tuple[str, ...]] = ("image/",)
    _is_strict: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Document(Media):
    """A document: a PDF, a text, or another type that the provider reads.

    `title` is shown to the model; `citations` asks the model to cite it. Both are for APIs that have them.
    """

    title: str = ""
    citations: bool = False

    def __post_init__(self) -> None:
        clean_fields(self, "title")
        Media.__post_init__(self)

    @property
    def is_text(self) -> bool:
        """True if the bytes are known and are text."""
        return bool(self.data) and is_text_type(self.media_type)

    @property
    def text(self) -> str:
        """The text of a text document; empty for any other."""
        return self.content.decode("utf-8-sig") if self.is_text else ""


@dataclass(frozen=True, slots=True)
class Audio(Media):
    """A recording as base64 `data` with its `media_type`, or as a `url` that the provider fetches."""

    kind: ClassVar[str] = "audio"
    _example: ClassVar[str] = "audio/wav"
    _families: ClassVar[tuple[str, ...]] = ("audio/",)


@dataclass(frozen=True, slots=True)
class Video(Media):
    """A video as base64 `data` with its `media_type`, or as a `url` that the provider fetches."""

    kind: ClassVar[str] = "video"
    _example: ClassVar[str] = "video/mp4"
    _families: ClassVar[tuple[str, ...]] = ("video/",)


#: The parts that are files.
MediaPart = Image | Document | Audio | Video | File


def make_media(content: bytes, name: str = "", media_type: str = "") -> Image | Document | Audio | Video:
    """Return a file as the part of its type, which its bytes tell, or else its name."""
    chosen = media_type or _detect_content_type(content, name)
    classes: dict[str, type[Image | Audio | Video]] = {"image": Image, "audio": Audio, "video": Video}
    made = classes.get(chosen.partition("/")[0], Document)
    return made.from_bytes(content, chosen, name)


def _detect_content_type(content: bytes, name: str) -> str:
    """Return the type of a file by its bytes, then by its name, then as text; "" if none of them tells."""
    if found := detect_type(content[:HEAD_BYTES]):
        return found
    is_text = bool(content) and _is_text(content)
    guessed = guess_type_by_name(name)
    # The bytes of these would have told.
    is_possible = normalize_type(guessed) not in DETECTED_TYPES and (is_text or not is_text_type(guessed))
    return guessed if guessed and is_possible else "text/plain" if is_text else ""


def _shorten(name: str) -> str:
    """Return a name in one line of at most 200 characters."""
    return " ".join(name.split())[:200]


def _format_size(size: int) -> str:
    if not size:
        return ""
    return f"{size / 1e6:.1f} MB" if size >= 1_000_000 else f"{max(size // 1000, 1):,} kB"


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _check_content(content: bytes, media_type: str, what: str) -> None:
    """Raise a ContentError if the bytes are not of this type."""
    if problem := find_type_conflict(media_type, content[:HEAD_BYTES]):
        raise ContentError(f"{what} cannot be used: {problem}")
    if is_text_type(media_type) and not _is_text(content):
        raise ContentError(f"{what} cannot be used: it is called {media_type}, but it is not text in UTF-8")
