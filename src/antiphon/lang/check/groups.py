"""Groups of regular expressions that are written out: which take part in every match, and so are never null."""

from __future__ import annotations

import re

from antiphon.lang.check.types import NUMBER, TEXT, Array, Field, Literal, Map, Object, Type, Union, nullable, plain


def _match(group: Type) -> Object:
    fields = {"text": TEXT, "groups": Array(group), "names": Map(group), "start": NUMBER, "end": NUMBER}
    return Object({name: Field(type_) for name, type_ in fields.items()}, "Match")


#: What a pattern found; and what one found of which every group takes part.
MATCH, _WHOLE = _match(nullable(TEXT)), _match(TEXT)

#: Escapes, sets of characters, brackets with what may follow on them, and `|`; compiled where the first is met.
_PIECE = (
    r"(?s)\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\|"
    r"|(?P<open>\((?:\?(?:P<\w+>|:|<?=|[aimsu]+\)|[^)]?))?)|(?P<close>\)(?:[?*]|\{0|\{,)?)"
)


def found_by(pattern: Type | None, found: Type) -> Type:
    """What a pattern of this type finds, where any pattern finds that: with groups that are there, if they must be."""
    said = plain(pattern) if pattern is not None else None
    if not isinstance(said, Literal) or not isinstance(said.value, str) or not _all_take_part(said.value):
        return found
    return Array(_WHOLE) if isinstance(found, Array) else nullable(_WHOLE) if isinstance(found, Union) else found


def _all_take_part(pattern: str) -> bool:
    """Whether no group can be left out; where that is not plain to see, it may be."""
    # Of each bracket that is open: whether it is a group, whether groups are in it, whether it has a `|`.
    levels = [[False, False, False]]
    for piece in re.finditer(_PIECE, pattern):
        text = piece[0]
        if opened := piece["open"]:
            if opened.startswith("(?") and opened[-1] == ")":
                continue
            if opened not in ("(", "(?:", "(?=", "(?<=") and not opened.startswith("(?P<"):
                return False
            levels.append([opened == "(" or opened.startswith("(?P<"), False, False])
        elif piece["close"]:
            if len(levels) == 1 or not _closed(levels, optional=len(text) > 1):
                return False
        elif text == "|":
            levels[-1][2] = True
    return len(levels) == 1 and not (levels[0][1] and levels[0][2])


def _closed(levels: list[list[bool]], *, optional: bool) -> bool:
    """Close a bracket; false if a group in it, or it itself, may be left out."""
    is_group, has_groups, has_choice = levels.pop()
    levels[-1][1] = levels[-1][1] or is_group or has_groups
    return not (has_groups and has_choice) and not (optional and (is_group or has_groups))
