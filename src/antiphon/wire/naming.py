"""Names and ids that one API takes and others do not: they go back as they came to where they came from."""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import count
from typing import Any

from antiphon.conversation import ToolCall, is_legal_name, legal_id


def is_universal(id: str, name: str) -> bool:
    """Return True if a call's id and name are legal everywhere, so that the call need not be kept for them."""
    return legal_id(id) == id and is_legal_name(name)


def free_name(name: str, taken: Container[str]) -> str:
    """The name, or the first like it that nobody has."""
    if name not in taken:
        return name
    return next(free for n in count(2) if (free := f"{name[:58]}_{n}") not in taken)


def own_name(name: str, theirs: str, legal: re.Pattern[str]) -> str:
    """The name under which a provider knows a tool: its own if the API takes it from a client, else ours.

    Calls, results, declarations and choices all ask here, so that one tool has one name in a request.
    """
    return theirs if legal.fullmatch(theirs) else name


def with_own_name(declaration: dict[str, Any], name: str, legal: re.Pattern[str]) -> dict[str, Any]:
    """A provider's own declaration of a tool, under a name that its API takes."""
    theirs = declaration.get("name")
    if not isinstance(theirs, str) or legal.fullmatch(theirs):
        return declaration
    return declaration | {"name": name}


def own_id(call: ToolCall, theirs: str, legal: re.Pattern[str]) -> str:
    """The id under which a provider knows the call: its own if it is legal there and the call was not renamed."""
    if not theirs or theirs == call.id:
        return call.id
    return theirs if legal_id(theirs) == call.id and legal.fullmatch(theirs) else call.id
