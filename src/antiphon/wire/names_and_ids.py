"""Tool names and call ids: each provider gets back its own, also where other APIs do not accept them."""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import count
from typing import Any

from antiphon.conversation import ToolCall, is_valid_tool_name, normalize_call_id


def is_universally_legal(id: str, name: str) -> bool:
    """Return whether a call's id and name are legal in every API, so its original need not be kept."""
    return normalize_call_id(id) == id and is_valid_tool_name(name)


def make_unique_name(name: str, taken: Container[str]) -> str:
    """Return the name, with a number appended if it is already taken."""
    if name not in taken:
        return name
    return next(free for n in count(2) if (free := f"{name[:58]}_{n}") not in taken)


def choose_tool_name(name: str, theirs: object, legal: re.Pattern[str]) -> str:
    """Return the name under which a provider knows a tool: its own if the API accepts it, else ours.

    Calls, results, declarations and choices all use this, so that a tool has one name in a request.
    """
    return theirs if isinstance(theirs, str) and legal.fullmatch(theirs) else name


def use_legal_name(declaration: dict[str, Any], name: str, legal: re.Pattern[str]) -> dict[str, Any]:
    """Return a provider's own declaration of a tool, under a name that its API accepts."""
    theirs = declaration.get("name")
    if not isinstance(theirs, str) or legal.fullmatch(theirs):
        return declaration
    return declaration | {"name": name}


def choose_call_id(call: ToolCall, theirs: object, legal: re.Pattern[str]) -> str:
    """Return the id under which a provider knows the call: its own if it is legal and the call was not
    renamed.
    """
    if not isinstance(theirs, str) or not theirs or theirs == call.id:
        return call.id
    return theirs if normalize_call_id(theirs) == call.id and legal.fullmatch(theirs) else call.id
