"""Escape control and invisible characters of untrusted text before it is displayed."""

from __future__ import annotations

import re

# All of Unicode's category Cf (bidi controls, zero-width characters, tags), blank fillers and
# variation selectors.
INVISIBLE = (
    "\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
#: Also control characters except tab and newline, line and paragraph separators, lone surrogates, noncharacters.
UNPRINTABLE = f"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff{INVISIBLE}"


def escape_unprintable(text: str) -> str:
    """Replace control and invisible characters by escapes. Newlines stay and tabs become spaces."""
    if text.isascii() and text.isprintable():
        return text
    return re.sub(f"[{UNPRINTABLE}]", lambda found: escape_character(found[0]), text.replace("\t", "    "))


def escape_unprintable_line(text: str) -> str:
    """Like `escape_unprintable`, but also escape newlines, so that the text cannot imitate a line of our output."""
    return escape_unprintable(text).replace("\n", "\\n")


def escape_character(character: str) -> str:
    """Return the backslash escape of a character."""
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
