"""Groups of regular expression literals: those that take part in every match are never null."""

from __future__ import annotations

import re

from antiphon.lang.typecheck.types import (
    NUMBER,
    TEXT,
    Array,
    Literal,
    Map,
    Object,
    ObjectField,
    Type,
    Union,
    make_nullable,
    strip_ai_result,
)


def _make_match_type(group: Type) -> Object:
    fields = {"text": TEXT, "groups": Array(group), "names": Map(group), "start": NUMBER, "end": NUMBER}
    return Object({name: ObjectField(type_) for name, type_ in fields.items()}, "Match")


#: The type of a match, and of one in which every group takes part.
MATCH_TYPE, _COMPLETE_MATCH_TYPE = _make_match_type(make_nullable(TEXT)), _make_match_type(TEXT)

#: Escapes, character sets, brackets with their quantifiers, and `|`; compiled on first use.
_REGEX_TOKEN = (
    r"(?s)\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\|"
    r"|(?P<open>\((?:\?(?:P<\w+>|:|<?=|[aimsu]+\)|[^)]?))?)|(?P<close>\)(?:[?*]|\{0|\{,)?)"
)


def infer_match_result(pattern: Type | None, found: Type) -> Type:
    """Return the result type of a search: with non-null groups, if every group of the pattern takes part in a match."""
    said = strip_ai_result(pattern) if pattern is not None else None
    if not isinstance(said, Literal) or not isinstance(said.value, str) or not _has_only_required_groups(said.value):
        return found
    return (
        Array(_COMPLETE_MATCH_TYPE)
        if isinstance(found, Array)
        else make_nullable(_COMPLETE_MATCH_TYPE)
        if isinstance(found, Union)
        else found
    )


def _has_only_required_groups(pattern: str) -> bool:
    """Return True if no group can be skipped; False where that is not obvious."""
    # For each open bracket: whether it is a group, whether it contains groups, whether it has a `|`.
    levels = [[False, False, False]]
    for piece in re.finditer(_REGEX_TOKEN, pattern):
        text = piece[0]
        if opened := piece["open"]:
            if opened.startswith("(?") and opened[-1] == ")":
                continue
            if opened not in ("(", "(?:", "(?=", "(?<=") and not opened.startswith("(?P<"):
                return False
            levels.append([opened == "(" or opened.startswith("(?P<"), False, False])
        elif piece["close"]:
            if len(levels) == 1 or not _close_bracket(levels, optional=len(text) > 1):
                return False
        elif text == "|":
            levels[-1][2] = True
    return len(levels) == 1 and not (levels[0][1] and levels[0][2])


def _close_bracket(levels: list[list[bool]], *, optional: bool) -> bool:
    """Close a bracket. Return False if it, or a group in it, may be skipped."""
    is_group, has_groups, has_choice = levels.pop()
    levels[-1][1] = levels[-1][1] or is_group or has_groups
    return not (has_groups and has_choice) and not (optional and (is_group or has_groups))
