"""Who said what, in a text that models read: nothing anybody says can pass for what somebody else said.

An agent's text is `[Chat from @name]: …`, and every further line of it begins with `> `, whatever its line breaks are.
What follows the first line break without that sign is somebody else's. Text of the human stands as it is; where it
looks like an attribution anywhere, it is attributed too, to `@human`. So who said what can be read back exactly.
"""

from __future__ import annotations

import re
import unicodedata

from antiphon._printable import INVISIBLE

#: The author whose chat is the human's own input and carries no attribution.
HUMAN = "@human"

_BREAKS = "\n\v\f\r\x1c-\x1f\x85\u2028\u2029"
# Texts, not patterns: `re` compiles each at its first use, and most programs have one author.
_BREAK = f"\r\n|[{_BREAKS}]"
_HEAD = r"\[Chat from (@[A-Za-z0-9_.-]{1,64})\]: "
_SAID = rf"{_HEAD}([^{_BREAKS}]*(?:(?:\r\n|[{_BREAKS}])> [^{_BREAKS}]*)*)(?:\n\n|\Z)"
_CONTINUED = f"(\r\n|[{_BREAKS}])> "
_NEXT = rf"\n\n(?={_HEAD})"
# What the eye does not see, or sees as part of the letter before it.
_UNSEEN = f"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u0300-\u036f\u20d0-\u20ff\u2800{INVISIBLE}]"
_LOOK_ALIKES = str.maketrans(
    "сϲᴄ\u217dһհʜаαɑᴀтτᴛƒꜰгᴦʀоοօᴏ0мᴍ∶ː꞉։׃",
    "cccchhhaaaatttffrrrooooomm:::::",
)
_OPEN, _CLOSE = r"\[({<|⟦⁅【〔〖〘〚「『❲⦋⟨《〈«‹⌈⌊", r"\])}>|⟧⁆】〕〗〙〛」』❳⦌⟩》〉»›⌉⌋"
_ATTRIBUTION = (
    rf"(?:^|[{_BREAKS}])(?:[^\w{_BREAKS}]{{0,40}}chat[^\w{_BREAKS}]{{0,9}}from"
    rf"|[^\w{_BREAKS}]{{0,40}}[{_OPEN}][^{_BREAKS}]{{0,120}}?@[^{_BREAKS}]{{0,120}}?[{_CLOSE}][^\w{_BREAKS}]{{0,9}}:)"
)


def attributed(author: str, text: str) -> str:
    """The text as this author's."""
    return f"[Chat from {author}]: {re.sub(_BREAK, lambda found: found[0] + '> ', text)}"


def unattributed(text: str) -> str:
    """The human's text: as it is, unless somebody might take a line of it for an attribution."""
    if text.isascii() and "@" not in text and text.replace("\n", "").isprintable():
        # Without invisible characters and names, only these words together look like an attribution.
        lowered = text.lower()
        if "chat" not in lowered or "from" not in lowered:
            return text
    return attributed(HUMAN, text) if re.search(_ATTRIBUTION, _folded(text)) else text


def read_attributed(text: str) -> list[tuple[str, str]]:
    """Who said what, in pieces of text that were put together with a blank line between them."""
    pieces: list[tuple[str, str]] = []
    said, following = re.compile(_SAID), re.compile(_NEXT)
    place = 0
    while place < len(text):
        if found := said.match(text, place):
            pieces.append((found[1], re.sub(_CONTINUED, r"\1", found[2])))
            place = found.end()
        else:
            found = following.search(text, place)
            end = found.start() if found else len(text)
            pieces.append((HUMAN, text[place:end]))
            place = end + 2
    return pieces


def _folded(text: str) -> str:
    """The text with letters and signs that look alike made the same, and without what is not seen."""
    if text.isascii():
        return re.sub(_UNSEEN, "", text.lower())
    folded = unicodedata.normalize("NFKD", text).casefold().translate(_LOOK_ALIKES)
    return re.sub(_UNSEEN, "", folded)
