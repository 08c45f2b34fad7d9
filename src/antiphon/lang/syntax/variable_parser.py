"""Reading variables: `let` and `const`, their values, and the patterns that take one apart."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.cursor import Cursor, Unreadable
from antiphon.lang.syntax.expression_parser import read_expression
from antiphon.lang.syntax.habit_names import leave_mark, leave_question, leave_type_before, read_type_behind
from antiphon.lang.syntax.tokens import WORDS
from antiphon.lang.syntax.type_parser import read_description, read_type


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
    if c.kinds[c.at] == "(":
        c.unexpected("a name", "fields are taken with `const {name: text} = …`, items with `const [a, b] = …`")
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
    leave_type_before(c)
    return c.name(what)


def read_declared(c: Cursor, name: int) -> n.TypeNode | None:
    """The type of a variable or a parameter, if one is written behind its name."""
    leave_question(c, name)
    if read_type_behind(c, name):
        return read_type(c)
    if c.kinds[c.at] != ":":
        return None
    c.at += 1
    declared = read_type(c)
    leave_question(c, name)
    return declared


def takes_private(c: Cursor) -> bool:
    """Whether the word here says that what follows it is private, and is no name itself."""
    at = c.at
    follows = c.kinds[at + 1] in ("name", "{", "[") and at + 1 not in c.fresh
    return c.values[at] == "private" and c.kinds[at] == "name" and follows


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
    if c.kinds[c.at] == ":":
        hint = "write the types in it: `const {name: text, age: number} = …`"
        c.report("V0109", "a pattern has no type behind it", c.at, hint)
        raise Unreadable
    if c.kinds[c.at] != "=":
        c.unexpected("`=` and what to take apart", "write `const {name: text} = …`")
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
        return _read_rest(c)
    at = c.at
    start = c.starts[at]
    private = c.values[at] == "private" and c.kinds[at + 1] in WORDS and at + 1 not in c.fresh
    c.at += private
    before = leave_type_before(c)
    name = c.word("a field name")
    field = n.PatternField(start, c.ends[name], c.values[name], before, is_private=private)
    field.name_start = c.starts[name]
    leave_mark(c, name)
    if read_type_behind(c, name):
        field.declared = read_type(c)
    elif c.kinds[c.at] == ":":
        c.at += 1
        if _is_nested_pattern(c):
            field.nested = _read_pattern(c)
        else:
            field.declared = read_type(c)
        leave_mark(c, name)
    _leave_alias(c, field)
    if field.nested is None and c.kinds[name] != "name":
        c.reserved(name, "a name")
    field.description = read_description(c)
    if c.kinds[c.at] == "=":
        c.at += 1
        field.default = read_expression(c)
        field.description = read_late_description(c, "a field", field.name) or field.description
    field.end = c.ends[c.at - 1]
    return field


def _read_rest(c: Cursor) -> n.PatternField:
    """`...rest`, as JavaScript takes the other fields."""
    hint = "name each field that is needed; the others stay in the object"
    c.report("V0151", "a pattern has a name for each field, and none for the rest", c.at, hint)
    name = c.at + 1
    c.at = name + (c.kinds[name] == "name")
    start, end = c.starts[name], c.ends[c.at - 1]
    return n.PatternField(start, end, c.values[name], n.TypeName(start, end, "json"), name_start=start)


def _leave_alias(c: Cursor, field: n.PatternField) -> None:
    """`name as other`: a field keeps its name here."""
    if c.values[c.at] != "as" or c.kinds[c.at + 1] != "name":
        return
    other = c.values[c.at + 1]
    hint = f"for another name write `const {other} = x.{field.name}`"
    c.report("V0109", "a field keeps its name in a pattern", c.at, hint)
    c.lost.add(other)
    c.at += 2
    if field.declared is None:
        field.declared = n.TypeName(field.start, field.end, "json")


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
