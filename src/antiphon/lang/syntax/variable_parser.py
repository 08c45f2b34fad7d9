"""Reading variables: `let` and `const`, their values, and the patterns that take one apart."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.cursor import Cursor, Unreadable
from antiphon.lang.syntax.expression_parser import read_expression
from antiphon.lang.syntax.habits import NAMED, TYPES
from antiphon.lang.syntax.tokens import WORDS
from antiphon.lang.syntax.type_parser import read_description, read_type

#: What may follow the name of a variable or a parameter, and its type.
_AFTER_NAME = frozenset(("=", ":", ";", ",", ")", "{"))


def read_variable(
    c: Cursor, start: int, private: bool = False, asynchronous: bool = False, exported: bool = False
) -> n.Statement:
    """`let` or `const`, whose word stands here."""
    is_const = c.kinds[c.at] == "const"
    c.at += 1
    if takes_private(c) and not private:
        private = True
        c.at += 1
    if c.kinds[c.at] in ("{", "["):
        pattern = read_pattern(c)
        value = _read_pattern_value(c)
        return n.Destructure(start, c.ends[c.at - 1], is_const, pattern, value, private, asynchronous, exported)
    name = read_own_name(c)
    declared = value = None
    depth = c.depth
    try:
        declared = read_declared(c, name)
        if c.kinds[c.at] == "=" and c.at not in c.fresh:
            c.at += 1
            value = read_expression(c)
    except Unreadable:
        value = _unreadable_value(c, name, depth)
    end = c.ends[c.at - 1]
    starts = c.starts
    return n.Let(start, end, is_const, c.values[name], declared, value, private, asynchronous, exported, starts[name])


def read_own_name(c: Cursor, what: str = "a name") -> int:
    """The name of a variable; a type or `mut` before it belongs to another language."""
    at = c.at
    if c.kinds[at + 1] == "name" and at + 1 not in c.fresh and c.kinds[at + 2] in _AFTER_NAME:
        word, right = c.values[at], TYPES.get(c.values[at].lower(), c.values[at])
        if word == "mut" or right != word or word in NAMED:
            named = c.values[at + 1] if word == "mut" else f"{c.values[at + 1]}: {right}"
            c.report("V0109", f"there is no `{word}` before a name here", at, f"write `{named}`")
            c.at += 1
    return c.name(what)


def read_declared(c: Cursor, name: int) -> n.TypeNode | None:
    """The type of a variable or a parameter, if one is written behind its name."""
    leave_question(c)
    if read_type_behind(c, name):
        return read_type(c)
    if c.kinds[c.at] != ":":
        return None
    c.at += 1
    declared = read_type(c)
    leave_question(c)
    return declared


def read_type_behind(c: Cursor, name: int) -> bool:
    """Whether a type follows the name without a `:`, as in Go."""
    at = c.at
    if c.kinds[at] != "name" or at in c.fresh or not (c.values[at] in NAMED or c.values[at].lower() in TYPES):
        return False
    right = TYPES.get(c.values[at].lower(), c.values[at])
    c.report("V0109", "a type stands behind a `:`", at, f"write `{c.values[name]}: {right}`")
    return True


def takes_private(c: Cursor) -> bool:
    """Whether the word here says that what follows it is private, and is no name itself."""
    at = c.at
    follows = c.kinds[at + 1] in ("name", "{", "[") and at + 1 not in c.fresh
    return c.values[at] == "private" and c.kinds[at] == "name" and follows


def leave_question(c: Cursor) -> None:
    """`x?: number`, as other languages say that it may be left out."""
    if c.kinds[c.at] == "?" and (c.kinds[c.at + 1] in _AFTER_NAME or c.kinds[c.at - 1] == "?"):
        c.report("V0109", "only a field of a type may have a `?`", c.at, "write `x: number | null = null`")
        c.at += 1


def read_value(c: Cursor) -> n.Expr:
    """What is assigned. If it cannot be read, the rest of the statement counts all the same."""
    first, depth = c.at, c.depth
    try:
        return read_expression(c)
    except Unreadable:
        return _unreadable_value(c, first, depth)


def _unreadable_value(c: Cursor, first: int, depth: int) -> n.BadExpr:
    c.depth, c.nested = depth, False
    c.recover(first)
    return n.BadExpr(c.starts[first], max(c.starts[first], c.ends[c.at - 1]))


def _read_pattern_value(c: Cursor) -> n.Expr:
    if c.kinds[c.at] != "=":
        c.unexpected("`=` and what to take apart")
    c.at += 1
    return read_value(c)


def read_pattern(c: Cursor) -> n.Pattern | n.ArrayPattern:
    """`{ name: text }` or `[a, b]`, which takes a value apart."""
    if c.kinds[c.at] == "{":
        return _read_pattern(c)
    start = c.starts[c.at]
    items = c.listed("]", _read_pattern_item)
    return n.ArrayPattern(start, c.ends[c.at - 1], items)


def _read_pattern_item(c: Cursor) -> n.PatternItem:
    if c.kinds[c.at] == "...":
        hint = "take the rest as a slice: `const rest = xs[1:]`"
        c.report("V0151", "a pattern has a name for each item, and none for the rest", c.at, hint)
        c.at += 1
    name = c.name("a name")
    declared = None
    if c.kinds[c.at] == ":":
        c.at += 1
        declared = read_type(c)
    return n.PatternItem(c.starts[name], c.ends[c.at - 1], c.values[name], declared)


def _read_pattern(c: Cursor) -> n.Pattern:
    start = c.starts[c.at]
    fields = c.listed("}", _read_pattern_field, by_line=True)
    return n.Pattern(start, c.ends[c.at - 1], fields)


def _read_pattern_field(c: Cursor) -> n.PatternField:
    if c.kinds[c.at] == "...":
        hint = "name each field that is needed; the others stay in the object"
        c.report("V0151", "a pattern has a name for each field, and none for the rest", c.at, hint)
        c.at += 1
    at = c.at
    start = c.starts[at]
    private = c.values[at] == "private" and c.kinds[at + 1] in WORDS and at + 1 not in c.fresh
    c.at += private
    name = c.word("a field name")
    field = n.PatternField(start, c.ends[name], c.values[name], is_private=private)
    field.name_start = c.starts[name]
    if c.kinds[c.at] == ":":
        c.at += 1
        if _is_nested_pattern(c):
            field.nested = _read_pattern(c)
        else:
            field.declared = read_type(c)
    if field.nested is None and c.kinds[name] != "name":
        c.reserved(name, "a name")
    field.description = read_description(c)
    if c.kinds[c.at] == "=":
        c.at += 1
        field.default = read_expression(c)
        field.description = read_late_description(c, "a field", field.name) or field.description
    field.end = c.ends[c.at - 1]
    return field


def read_late_description(c: Cursor, what: str, name: str) -> str:
    """A description behind the default, where that of an input stands."""
    at = c.at
    text = read_description(c)
    if text:
        c.report(
            "V0128", f"the description of {what} stands before its default", at, f'write `{name}: … "{text[:40]}" = …`'
        )
    return text


def _is_nested_pattern(c: Cursor) -> bool:
    if c.kinds[c.at] != "{" or c.kinds[c.at + 1] == "[":
        return False
    closer = c.partner(c.at)
    return closer < 0 or c.kinds[closer + 1] not in ("[", "|")
