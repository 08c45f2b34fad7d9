"""Conversion of server messages into text short enough for an error message."""

from __future__ import annotations

import re

_MAX_LENGTH = 1_000
_HEAD, _TAIL = 700, 200
#: Number of bytes of a page to read: the reason is near its beginning.
_MAX_PAGE = 20_000
_INVISIBLE_MARKUP = r"(?is)<!--.*?(?:-->|\Z)|<(script|style|svg)\b.*?(?:</\1\s*>|\Z)"
#: Characters that a key may contain: ASCII except blanks, quotes and angle brackets.
_LAST_WORD, _FIRST_WORD = r"[!#-&(-;=?-~]+\Z", r"\A[!#-&(-;=?-~]+"
_TAG = r"<[^<>]*>?"


def truncate_server_text(text: str) -> str:
    """Return the text, or its beginning and end if it is long."""
    if len(text) <= _MAX_LENGTH:
        return text.strip()
    # Never cut inside a word, however long: half a key would not be recognised for redaction.
    head, tail = re.sub(_LAST_WORD, "", text[:_HEAD]), re.sub(_FIRST_WORD, "", text[-_TAIL:])
    left_out = len(text) - len(head) - len(tail)
    return f"{head.strip()} … ({left_out:,} characters left out) … {tail.strip()}".strip()


def is_markup(content: bytes) -> bool:
    """Return whether an answer is a web page or XML instead of JSON."""
    return content[:200].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def extract_message(content: bytes) -> str:
    """Return the text of an answer that is no JSON, without markup."""
    if not is_markup(content):
        return truncate_server_text(content.decode("utf-8", "replace"))
    import html

    words = re.sub(_TAG, " ", re.sub(_INVISIBLE_MARKUP, " ", content[:_MAX_PAGE].decode("utf-8", "replace")))
    return truncate_server_text(" ".join(html.unescape(words).split()))
