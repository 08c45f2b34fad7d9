"""Names and ids that one API takes and others do not: they go back as they came to where they came from."""

from __future__ import annotations

import re

from antiphon.conversation import ToolCall, legal_id


def is_universal(id: str, name: str) -> bool:
    """Whether a call's id and name are legal everywhere, so that the call itself need not be kept for them."""
    return legal_id(id) == id and ToolCall.read("id", name, {}).name == name


def own_id(call: ToolCall, theirs: str, legal: re.Pattern[str]) -> str:
    """The id under which a provider knows the call: its own if it is legal there and the call was not renamed."""
    if not theirs or theirs == call.id:
        return call.id
    return theirs if legal_id(theirs) == call.id and legal.fullmatch(theirs) else call.id
