"""Foreign syntax around the name of a variable, parameter or field: reported and skipped."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.table import BUILTIN_TYPE_NAMES, FOREIGN_TYPES
from antiphon.lang.syntax.parser.cursor import Cursor

_OPTIONAL = "only a field of a type may have a `?`"
#: Tokens that may follow the name and the type of a variable or a parameter.
_AFTER_NAME = frozenset(("=", ":", ";", ",", ")", "{", "}"))


def is_type_name(word: str) -> bool:
    """Return True if a word names a type, in this or another language."""
    return word in BUILTIN_TYPE_NAMES or (word.islower() and word in FOREIGN_TYPES)


def skip_type_before_name(c: Cursor) -> n.TypeNode | None:
    """Report and skip a type or `mut` before a name, as in `text name`. Return the type, if it is one."""
    at = c.at
    if c.kinds[at] in ("let", "const") and c.kinds[at + 1] == "name":
        c.report("V0109", f"there is no `{c.kinds[at]}` before this name", at, f"write `{c.values[at + 1]}`")
        c.at += 1
        return None
    if c.kinds[at] != "name" or c.kinds[at + 1] != "name" or at + 1 in c.fresh:
        return None
    if c.kinds[at + 2] not in _AFTER_NAME and at + 2 not in c.fresh:
        return None
    word, right = c.values[at], FOREIGN_TYPES.get(c.values[at].lower(), c.values[at])
    if word != "mut" and right == word and word not in BUILTIN_TYPE_NAMES:
        return None
    if is_type_name(c.values[at + 1]) and word != "mut":
        return None
    named = c.values[at + 1] if word == "mut" else f"{c.values[at + 1]}: {right}"
    c.report("V0109", f"there is no `{word}` before a name here", at, f"write `{named}`")
    c.at += 1
    if word == "mut":
        return None
    return n.TypeName(c.starts[at], c.ends[at], right if right in BUILTIN_TYPE_NAMES else "json")


def report_missing_colon(c: Cursor, name: int) -> bool:
    """Return True and report it if a type follows the name without a `:`, as in Go."""
    at = c.at
    if (
        c.kinds[at] != "name"
        or at in c.fresh
        or not (c.values[at] in BUILTIN_TYPE_NAMES or c.values[at].lower() in FOREIGN_TYPES)
    ):
        return False
    right = FOREIGN_TYPES.get(c.values[at].lower(), c.values[at])
    c.report("V0109", "a type stands behind a `:`", at, f"write `{c.values[name]}: {right}`")
    return True


def skip_optional_parameter_mark(c: Cursor, name: int = -1) -> None:
    """Report and skip the `?` of `x?: number`, which marks an optional variable in other languages."""
    if c.kinds[c.at] == "?" and (c.kinds[c.at + 1] in _AFTER_NAME or c.kinds[c.at - 1] == "?"):
        hint = (
            f"write `{c.values[name]}: {_find_type_at_mark(c, name)} | null = null`"
            if name >= 0
            else "write `… | null`"
        )
        c.report("V0109", _OPTIONAL, c.at, hint)
        c.at += 1


def _find_type_at_mark(c: Cursor, name: int) -> str:
    """Return the type before or after the `?` here, as it is written in this language."""
    behind = c.at + 2 if c.kinds[c.at + 1] == ":" else -1
    at = behind if c.at == name + 1 else name + 2
    word = c.values[at] if c.kinds[at] == "name" else "…"
    return FOREIGN_TYPES.get(word.lower(), word)


def skip_optional_field_mark(c: Cursor, name: int) -> None:
    """Report and skip the `?` of `name?: text` and `name: text?` in a pattern."""
    if c.kinds[c.at] == "?" and c.kinds[c.at + 1] in (":", ",", "}", "="):
        hint = f"write `{c.values[name]}: … | null`, or give it a default: `{c.values[name]}: … = …`"
        c.report("V0109", _OPTIONAL, c.at, hint)
        c.at += 1
