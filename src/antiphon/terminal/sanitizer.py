"""Sanitizing of text for a terminal: control sequences and invisible characters become escapes.

All text from data passes through here before it reaches the terminal, and is checked again just before it is
printed. This module does not depend on rich.
"""

from __future__ import annotations

import re

from antiphon._base.escape import UNPRINTABLE, escape_character

#: Width of a tab stop.
TAB_WIDTH = 4
#: More combining marks than this on one letter are not legitimate text.
_MAX_COMBINING_MARKS = 4

_UNSEEN_PATTERN = re.compile(f"[{UNPRINTABLE}]")
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_PILED_MARKS = re.compile(f"({_MARK}{{{_MAX_COMBINING_MARKS}}})({_MARK}+)")
# A single variation selector only affects appearance, and terminals disagree about its width.
_VARIATION_SELECTOR = re.compile(f"(?<=[^\\s{UNPRINTABLE}])[\ufe0e\ufe0f](?![\ufe00-\ufe0f])")
# The same holds for a joiner between two emoji, or between letters of a script that needs it (Arabic, Indic).
_JOINED = "[\u0620-\u06d3\u0900-\u0dff\u2190-\u2bff\U0001f000-\U0001faff]"
_JOINER = re.compile(f"(?<={_JOINED})[\u200c\u200d](?={_JOINED})")
_SGR_SEQUENCE = re.compile(r"\x1b\[[0-9;:]*m")


def sanitize_text(text: str, encoding: str = "utf-8", *, exact: bool = False) -> str:
    """Return the text with dangerous or invisible characters as visible escapes; newlines stay.

    Tabs become spaces. Characters that the terminal's encoding lacks are escaped as well. Variation selectors
    and joiners are dropped, unless the text must be `exact`, as for approvals.
    """
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    if "\t" in text:
        text = text.expandtabs(TAB_WIDTH)
    if text.isascii():
        return _UNSEEN_PATTERN.sub(_escape_match, text)
    if not exact:
        text = _JOINER.sub("", _VARIATION_SELECTOR.sub("", text))
    text = _PILED_MARKS.sub(
        lambda found: found[1] + "".join(map(escape_character, found[2])), _UNSEEN_PATTERN.sub(_escape_match, text)
    )
    return text if is_unicode_encoding(encoding) else text.encode(encoding, "backslashreplace").decode(encoding)


def sanitize_line(text: str, limit: int = 2000, encoding: str = "utf-8", *, exact: bool = False) -> str:
    """Return the text as one sanitized line, with newlines escaped; characters beyond the limit are counted."""
    shown = sanitize_text(text[:limit].replace("\r\n", "\n"), encoding, exact=exact).replace("\n", "\\n")
    return shown if len(text) <= limit else f"{shown}[+{len(text) - limit:,} characters]"


def is_sanitized(text: str) -> bool:
    """Return whether `safe` would change nothing in a line but tabs."""
    return _UNSEEN_PATTERN.search(text) is None


def strip_colors(text: str) -> str:
    """Return terminal output without the sequences that only set colours."""
    return _SGR_SEQUENCE.sub("", text) if "\x1b" in text else text


def is_unicode_encoding(encoding: str) -> bool:
    """Return whether an encoding has every character."""
    return encoding.lower().replace("_", "-").startswith("utf")


def _escape_match(found: re.Match[str]) -> str:
    return escape_character(found[0])
