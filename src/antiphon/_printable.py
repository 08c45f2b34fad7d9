"""Text that may hold anything, made so that it is shown and never obeyed."""

from __future__ import annotations

import re

# Everything of Unicode's category Cf (bidi controls, zero-width characters, tags), fillers that show nothing, and
# variation selectors.
INVISIBLE = (
    "\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
#: With them control characters but tab and newline, line and paragraph separators, lone surrogates and noncharacters.
UNSEEN = f"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff{INVISIBLE}"


def printable(text: str) -> str:
    """The text with all that a terminal would obey, or an eye miss, as an escape; newlines stay, tabs are spaces."""
    if text.isascii() and text.isprintable():
        return text
    return re.sub(f"[{UNSEEN}]", lambda found: escaped(found[0]), text.replace("\t", "    "))


def printable_line(text: str) -> str:
    """The same in one line: a name with a line break in it could pass for a line of ours."""
    return printable(text).replace("\n", "\\n")


def escaped(character: str) -> str:
    """How a character is written when it must not be itself."""
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
