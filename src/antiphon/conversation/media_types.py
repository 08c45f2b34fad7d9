"""Media types: which one bytes have, and which names mean the same."""

from __future__ import annotations

#: Magic bytes: offset, bytes, media type. The first that match decide.
_MAGIC_BYTES = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (4, b"ftyphei", "image/heic"),
    (4, b"ftyphev", "image/heic"),
    (4, b"ftypmif1", "image/heif"),
    (4, b"ftypmsf1", "image/heif"),
    (4, b"ftypavif", "image/avif"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"\xff\xf3", "audio/mpeg"),
    (0, b"\xff\xf2", "audio/mpeg"),
    (0, b"\xff\xf1", "audio/aac"),
    (0, b"\xff\xf9", "audio/aac"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "audio/ogg"),
    (8, b"AIFF", "audio/aiff"),
    (8, b"AIFC", "audio/aiff"),
    (4, b"ftypM4A", "audio/mp4"),
    (4, b"ftypqt", "video/quicktime"),
    (4, b"ftyp3g", "video/3gpp"),
    (4, b"ftyp", "video/mp4"),
    (8, b"AVI ", "video/x-msvideo"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"FLV\x01", "video/x-flv"),
    (0, b"\0\0\x01\xba", "video/mpeg"),
    (0, b"\0\0\x01\xb3", "video/mpeg"),
    (0, b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "video/x-ms-wmv"),
)
#: A PDF may begin a little later.
_PDF, _PDF_WITHIN = b"%PDF-", 1024
#: The number of bytes that show a media type.
HEAD_BYTES = _PDF_WITHIN + len(_PDF)
#: Names of the same type. Containers hold audio or video, which their first bytes do not tell.
_SAME_TYPES = {
    "image/heif": "image/heic",
    "audio/mp3": "audio/mpeg",
    "audio/mpga": "audio/mpeg",
    "audio/wave": "audio/wav",
    "audio/x-wav": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/x-flac": "audio/flac",
    "audio/x-aac": "audio/aac",
    "audio/x-aiff": "audio/aiff",
    **dict.fromkeys(("audio/ogg", "audio/opus", "audio/vorbis", "video/ogg", "application/ogg"), "ogg"),
    **dict.fromkeys(("audio/mp4", "audio/m4a", "audio/x-m4a", "video/mp4", "video/x-m4v"), "mp4"),
    **dict.fromkeys(("video/quicktime", "video/mov", "video/3gpp", "audio/3gpp", "video/3gpp2"), "mp4"),
    **dict.fromkeys(("audio/webm", "video/webm", "video/x-matroska", "audio/x-matroska"), "webm"),
    **dict.fromkeys(("video/x-msvideo", "video/avi", "video/msvideo"), "avi"),
    **dict.fromkeys(("video/mpeg", "video/mpg", "video/mpegps"), "mpeg"),
    **dict.fromkeys(("video/x-ms-wmv", "video/wmv"), "wmv"),
    **dict.fromkeys(("video/x-flv", "video/flv"), "flv"),
}
#: Types that are text although their names do not begin with `text/`.
_TEXT_TYPES = frozenset(
    f"application/{name}"
    for name in ("json", "xml", "yaml", "x-yaml", "toml", "javascript", "x-javascript", "typescript", "sql", "x-sh")
)


def normalize_type(media_type: str) -> str:
    """Return one name for all names of a media type, for comparisons."""
    plain = media_type.partition(";")[0].strip().lower()
    return _SAME_TYPES.get(plain, plain)


#: The normalized types that `detect_type` can tell.
DETECTED_TYPES = frozenset(normalize_type(kind) for _, _, kind in _MAGIC_BYTES) | {"application/pdf"}


def detect_type(head: bytes) -> str:
    """Return the media type of a file that begins with these bytes, or "" if it is unknown."""
    for place, start, kind in _MAGIC_BYTES:
        if head.startswith(start, place):
            return kind
    return "application/pdf" if _PDF in head[:HEAD_BYTES] else ""


def is_text_type(media_type: str) -> bool:
    """Return whether files of this type are text."""
    plain = media_type.partition(";")[0].strip().lower()
    is_application = plain.startswith("application/") and plain.endswith(("+json", "+xml"))
    return plain.startswith("text/") or plain in _TEXT_TYPES or is_application


def find_type_conflict(media_type: str, head: bytes) -> str:
    """Return why a file that begins with these bytes is not of this type, or "" if it may be."""
    stated, actual = normalize_type(media_type), detect_type(head)
    if stated == normalize_type(actual) or not (actual or stated in DETECTED_TYPES):
        return ""
    if is_text_type(media_type) and not actual.startswith(("application/", "image/png", "image/jpeg", "image/gif")):
        # Text may begin with the few letters of another type, such as "BM".
        return ""
    found = f"are {actual}; give it that type" if actual else "are none; was it read whole, as bytes?"
    return f"it is called {media_type.lower()}, but its bytes {found}"


def guess_type_by_name(name: str) -> str:
    """Return the media type that a file name stands for, or "" if it is unknown."""
    from mimetypes import guess_type

    suffix = name.rpartition(".")[2].lower()
    # The tables of some systems lack these.
    known = {
        "md": "text/markdown",
        "webp": "image/webp",
        "heic": "image/heic",
        "m4a": "audio/mp4",
        "toml": "text/plain",
    }
    return known.get(suffix) or guess_type(name, strict=False)[0] or ""
