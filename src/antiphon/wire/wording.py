"""What servers say, as words that fit into a message."""

from __future__ import annotations

import re

_LONGEST = 1_000
_HEAD, _TAIL = 700, 200
#: As much of a page as is looked at: its reason stands near its beginning.
_PAGE = 20_000
_HIDDEN = r"(?is)<!--.*?(?:-->|\Z)|<(script|style|svg)\b.*?(?:</\1\s*>|\Z)"
#: Anything that a key can be made of: of ASCII all but blanks, quotes and angle brackets.
_LAST_WORD, _FIRST_WORD = r"[!#-&(-;=?-~]+\Z", r"\A[!#-&(-;=?-~]+"
_TAG = r"<[^<>]*>?"


def short(text: str) -> str:
    """The text, or its beginning and its end where it is long."""
    if len(text) <= _LONGEST:
        return text.strip()
    # Not in the middle of a word, however long: half a key would not be recognised as one any more.
    head, tail = re.sub(_LAST_WORD, "", text[:_HEAD]), re.sub(_FIRST_WORD, "", text[-_TAIL:])
    left_out = len(text) - len(head) - len(tail)
    return f"{head.strip()} … ({left_out:,} characters left out) … {tail.strip()}".strip()


def is_page(content: bytes) -> bool:
    """Whether an answer is a web page, or XML, and no JSON."""
    return content[:200].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def page_text(content: bytes) -> str:
    """The words of an answer that is no JSON, without the markup of a web page."""
    if not is_page(content):
        return short(content.decode("utf-8", "replace"))
    import html

    words = re.sub(_TAG, " ", re.sub(_HIDDEN, " ", content[:_PAGE].decode("utf-8", "replace")))
    return short(" ".join(html.unescape(words).split()))
