"""Attribution of text to its authors, such that no author can imitate another one.

An agent's text becomes `[Chat from @name]: …`, and each further line begins with `> `, whatever its line
breaks are. A line without that mark belongs to someone else. Human text stays as it is. If it looks like
an attribution, it is attributed to `@human`. Therefore the authors can be recovered exactly.
"""

from __future__ import annotations

import re
import unicodedata

from antiphon._base.escape import INVISIBLE

#: The author whose chat is the human's own input and carries no attribution.
HUMAN_AUTHOR = "@human"

_LINE_BREAKS = "\n\v\f\r\x1c-\x1f\x85\u2028\u2029"
# Strings, not compiled patterns: `re` compiles each on first use, and most programs have one author.
_LINE_BREAK = f"\r\n|[{_LINE_BREAKS}]"
_ATTRIBUTION_PREFIX = r"\[Chat from (@[A-Za-z0-9_.-]{1,64})\]: "
_ATTRIBUTED_TEXT = (
    rf"{_ATTRIBUTION_PREFIX}([^{_LINE_BREAKS}]*(?:(?:\r\n|[{_LINE_BREAKS}])> [^{_LINE_BREAKS}]*)*)(?:\n\n|\Z)"
)
_CONTINUATION = f"(\r\n|[{_LINE_BREAKS}])> "
_NEXT_ATTRIBUTION = rf"\n\n(?={_ATTRIBUTION_PREFIX})"
# Characters that are invisible or combine with the letter before them.
_INVISIBLE_OR_COMBINING = f"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u0300-\u036f\u20d0-\u20ff\u2800{INVISIBLE}]"
_LOOK_ALIKES = str.maketrans(
    "сϲᴄ\u217dһհʜаαɑᴀтτᴛƒꜰгᴦʀоοօᴏ0мᴍ∶ː꞉։׃",
    "cccchhhaaaatttffrrrooooomm:::::",
)
_OPENING_BRACKETS, _CLOSING_BRACKETS = r"\[({<|⟦⁅【〔〖〘〚「『❲⦋⟨《〈«‹⌈⌊", r"\])}>|⟧⁆】〕〗〙〛」』❳⦌⟩》〉»›⌉⌋"
_ATTRIBUTION_LOOKALIKE = (
    rf"(?:^|[{_LINE_BREAKS}])(?:[^\w{_LINE_BREAKS}]{{0,40}}chat[^\w{_LINE_BREAKS}]{{0,9}}from"
    rf"|[^\w{_LINE_BREAKS}]{{0,40}}[{_OPENING_BRACKETS}][^{_LINE_BREAKS}]{{0,120}}?@[^{_LINE_BREAKS}]{{0,120}}?[{_CLOSING_BRACKETS}][^\w{_LINE_BREAKS}]{{0,9}}:)"
)


def attribute_text(author: str, text: str) -> str:
    """Return the text marked as written by this author."""
    return f"[Chat from {author}]: {re.sub(_LINE_BREAK, lambda found: found[0] + '> ', text)}"


def escape_human_text(text: str) -> str:
    """Return human text unchanged, or attributed to `@human` if a line of it looks like an attribution."""
    if text.isascii() and "@" not in text and text.replace("\n", "").isprintable():
        # Without invisible characters and names, only these words together look like an attribution.
        lowered = text.lower()
        if "chat" not in lowered or "from" not in lowered:
            return text
    return attribute_text(HUMAN_AUTHOR, text) if re.search(_ATTRIBUTION_LOOKALIKE, _fold_lookalikes(text)) else text


def parse_attributions(text: str) -> list[tuple[str, str]]:
    """Split a text into pairs of author and text. Blank lines separate the texts."""
    pieces: list[tuple[str, str]] = []
    said, following = re.compile(_ATTRIBUTED_TEXT), re.compile(_NEXT_ATTRIBUTION)
    place = 0
    while place < len(text):
        if found := said.match(text, place):
            pieces.append((found[1], re.sub(_CONTINUATION, r"\1", found[2])))
            place = found.end()
        else:
            found = following.search(text, place)
            end = found.start() if found else len(text)
            pieces.append((HUMAN_AUTHOR, text[place:end]))
            place = end + 2
    return pieces


def _fold_lookalikes(text: str) -> str:
    """Normalize look-alike letters and signs, and remove invisible characters."""
    if text.isascii():
        return re.sub(_INVISIBLE_OR_COMBINING, "", text.lower())
    folded = unicodedata.normalize("NFKD", text).casefold().translate(_LOOK_ALIKES)
    return re.sub(_INVISIBLE_OR_COMBINING, "", folded)
