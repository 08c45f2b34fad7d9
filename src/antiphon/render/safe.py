"""Text from results made harmless: what a terminal would obey, or an eye would miss, is written as an escape.

Everything that comes from data goes through here before it meets the terminal, and what comes out is looked at again
just before it is printed. Nothing here knows about rich.
"""

from __future__ import annotations

import re

from antiphon._printable import UNSEEN, escaped

#: Width of a tab stop.
TAB = 4
#: More marks than this above and below one letter are not writing.
_MARKS = 4

_unseen = re.compile(f"[{UNSEEN}]")
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_piled = re.compile(f"({_MARK}{{{_MARKS}}})({_MARK}+)")
# One selector after something visible only chooses how that looks, and terminals disagree about its width.
_chosen_look = re.compile(f"(?<=[^\\s{UNSEEN}])[\ufe0e\ufe0f](?![\ufe00-\ufe0f])")
# So does a joiner between two emoji, and between two letters of a script that needs it (Arabic, those of India).
_JOINED = "[\u0620-\u06d3\u0900-\u0dff\u2190-\u2bff\U0001f000-\U0001faff]"
_joiner = re.compile(f"(?<={_JOINED})[\u200c\u200d](?={_JOINED})")
_sgr = re.compile(r"\x1b\[[0-9;:]*m")


def safe(text: str, encoding: str = "utf-8", *, exact: bool = False) -> str:
    """The text with everything dangerous or invisible as an escape such as `\\x1b`; newlines stay, tabs are spaces.

    Characters that the encoding of the terminal lacks are escaped as well. What only chooses how a character looks is
    left out, unless the text is to be `exact`, as one is that somebody decides about.
    """
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    if "\t" in text:
        text = text.expandtabs(TAB)
    if text.isascii():
        return _unseen.sub(_escape, text)
    if not exact:
        text = _joiner.sub("", _chosen_look.sub("", text))
    text = _piled.sub(lambda found: found[1] + "".join(map(escaped, found[2])), _unseen.sub(_escape, text))
    return text if is_utf8(encoding) else text.encode(encoding, "backslashreplace").decode(encoding)


def safe_line(text: str, limit: int = 2000, encoding: str = "utf-8", *, exact: bool = False) -> str:
    """The same in one line, newlines as escapes; what is beyond the limit is counted, not shown."""
    shown = safe(text[:limit].replace("\r\n", "\n"), encoding, exact=exact).replace("\n", "\\n")
    return shown if len(text) <= limit else f"{shown}[+{len(text) - limit:,} characters]"


def is_safe(text: str) -> bool:
    """Whether there is nothing in a line that `safe` would change but tabs."""
    return _unseen.search(text) is None


def without_colors(text: str) -> str:
    """Text that a program wrote for a terminal, without the sequences that only choose colours."""
    return _sgr.sub("", text) if "\x1b" in text else text


def is_utf8(encoding: str) -> bool:
    """Whether an encoding has every character."""
    return encoding.lower().replace("_", "-").startswith("utf")


def _escape(found: re.Match[str]) -> str:
    return escaped(found[0])
