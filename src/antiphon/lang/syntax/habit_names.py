"""What other languages write around the name of a variable, a parameter or a field: told, and left out."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.cursor import Cursor
from antiphon.lang.syntax.habits import NAMED, TYPES

_OPTIONAL = "only a field of a type may have a `?`"
#: What may follow the name of a variable or a parameter, and its type.
_AFTER_NAME = frozenset(("=", ":", ";", ",", ")", "{", "}"))


def is_name_of_type(word: str) -> bool:
    """Whether a word is the name of a type, here or elsewhere."""
    return word in NAMED or (word.islower() and word in TYPES)


def leave_type_before(c: Cursor) -> n.TypeNode | None:
    """`text name`, `mut name`: what stands before a name elsewhere; the type, if it is one."""
    at = c.at
    if c.kinds[at] in ("let", "const") and c.kinds[at + 1] == "name":
        c.report("V0109", f"there is no `{c.kinds[at]}` before this name", at, f"write `{c.values[at + 1]}`")
        c.at += 1
        return None
    if c.kinds[at] != "name" or c.kinds[at + 1] != "name" or at + 1 in c.fresh:
        return None
    if c.kinds[at + 2] not in _AFTER_NAME and at + 2 not in c.fresh:
        return None
    word, right = c.values[at], TYPES.get(c.values[at].lower(), c.values[at])
    if word != "mut" and right == word and word not in NAMED:
        return None
    if is_name_of_type(c.values[at + 1]) and word != "mut":
        return None
    named = c.values[at + 1] if word == "mut" else f"{c.values[at + 1]}: {right}"
    c.report("V0109", f"there is no `{word}` before a name here", at, f"write `{named}`")
    c.at += 1
    return None if word == "mut" else n.TypeName(c.starts[at], c.ends[at], right if right in NAMED else "json")


def read_type_behind(c: Cursor, name: int) -> bool:
    """Whether a type follows the name without a `:`, as in Go."""
    at = c.at
    if c.kinds[at] != "name" or at in c.fresh or not (c.values[at] in NAMED or c.values[at].lower() in TYPES):
        return False
    right = TYPES.get(c.values[at].lower(), c.values[at])
    c.report("V0109", "a type stands behind a `:`", at, f"write `{c.values[name]}: {right}`")
    return True


def leave_question(c: Cursor, name: int = -1) -> None:
    """`x?: number`, as other languages say that it may be left out."""
    if c.kinds[c.at] == "?" and (c.kinds[c.at + 1] in _AFTER_NAME or c.kinds[c.at - 1] == "?"):
        hint = f"write `{c.values[name]}: {_type_here(c, name)} | null = null`" if name >= 0 else "write `… | null`"
        c.report("V0109", _OPTIONAL, c.at, hint)
        c.at += 1


def _type_here(c: Cursor, name: int) -> str:
    """The type that stands before or behind the `?` here, as it is written in this language."""
    behind = c.at + 2 if c.kinds[c.at + 1] == ":" else -1
    at = behind if c.at == name + 1 else name + 2
    word = c.values[at] if c.kinds[at] == "name" else "…"
    return TYPES.get(word.lower(), word)


def leave_mark(c: Cursor, name: int) -> None:
    """`name?: text` and `name: text?`, as other languages say that it may be missing."""
    if c.kinds[c.at] == "?" and c.kinds[c.at + 1] in (":", ",", "}", "="):
        hint = f"write `{c.values[name]}: … | null`, or give it a default: `{c.values[name]}: … = …`"
        c.report("V0109", _OPTIONAL, c.at, hint)
        c.at += 1
