"""Fixes for illegal function names: declaration, calls and choice get the same new name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from antiphon._base.json_access import as_string
from antiphon.conversation import ToolCall


def fix_tool_names(places: Iterable[tuple[str, dict[str, Any]]], legal: re.Pattern[str]) -> list[tuple[str, str, str]]:
    """Rename illegal names in place. Return location, finding and new name of each."""
    places = list(places)
    taken = {as_string(holder.get("name")) for _, holder in places}
    renamed: dict[str, str] = {}
    told: list[tuple[str, str, str]] = []
    for where, holder in places:
        name = as_string(holder.get("name"))
        if not name or legal.fullmatch(name):
            continue
        if name not in renamed:
            renamed[name] = _make_unused_name(ToolCall.read("id", name, {}).name, taken)
            told.append((where, f"the name {name[:80]!r}, which is not legal", f"it becomes `{renamed[name]}`"))
        holder["name"] = renamed[name]
    return told


def _make_unused_name(name: str, taken: set[str]) -> str:
    number, made = 1, name
    while made in taken:
        number += 1
        made = f"{name[:60]}_{number}"
    taken.add(made)
    return made
