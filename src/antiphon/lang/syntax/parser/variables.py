"""Parsing of variables: `let` and `const`, their values, and destructuring patterns."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.names import (
    report_missing_colon,
    skip_optional_field_mark,
    skip_optional_parameter_mark,
    skip_type_before_name,
)
from antiphon.lang.syntax.parser.cursor import Cursor, SyntaxErrorReported
from antiphon.lang.syntax.parser.expressions import parse_expression
from antiphon.lang.syntax.parser.types import parse_description, parse_type
from antiphon.lang.syntax.tokens import WORD_KINDS


def parse_variable(
    c: Cursor, start: int, private: bool = False, asynchronous: bool = False, exported: bool = False
) -> n.Statement:
    """Parse `let` or `const`, whose keyword is the current token."""
    is_const = c.kinds[c.at] == "const"
    c.at += 1
    if is_private_modifier(c) and not private:
        private = True
        c.at += 1
    if c.kinds[c.at] in ("{", "["):
        pattern = parse_pattern(c)
        value = _parse_pattern_value(c)
        return n.Destructure(start, c.ends[c.at - 1], is_const, pattern, value, private, asynchronous, exported)
    if c.kinds[c.at] == "(":
        c.fail_unexpected("a name", "fields are taken with `const {name: text} = …`, items with `const [a, b] = …`")
    name = parse_declared_name(c)
    declared = value = None
    depth = c.depth
    try:
        declared = parse_declared_type(c, name)
        if c.kinds[c.at] == "=" and c.at not in c.fresh:
            c.at += 1
            value = parse_expression(c)
    except SyntaxErrorReported:
        value = _recover_value(c, name, depth)
    end = c.ends[c.at - 1]
    starts = c.starts
    return n.Let(start, end, is_const, c.values[name], declared, value, private, asynchronous, exported, starts[name])


def parse_declared_name(c: Cursor, what: str = "a name") -> int:
    """Parse the name of a variable; report and skip a type or `mut` before it."""
    skip_type_before_name(c)
    return c.name(what)


def parse_declared_type(c: Cursor, name: int) -> n.TypeNode | None:
    """Parse the type after the name of a variable or a parameter, if there is one."""
    skip_optional_parameter_mark(c, name)
    if report_missing_colon(c, name):
        return parse_type(c)
    if c.kinds[c.at] != ":":
        return None
    c.at += 1
    declared = parse_type(c)
    skip_optional_parameter_mark(c, name)
    return declared


def is_private_modifier(c: Cursor) -> bool:
    """Return True if the current word is the modifier `private`, and not a name itself."""
    at = c.at
    follows = c.kinds[at + 1] in ("name", "{", "[") and at + 1 not in c.fresh
    return c.values[at] == "private" and c.kinds[at] == "name" and follows


def parse_value(c: Cursor) -> n.Expr:
    """Parse an assigned value. If it is unreadable, the rest of the statement is kept."""
    first, depth = c.at, c.depth
    try:
        return parse_expression(c)
    except SyntaxErrorReported:
        return _recover_value(c, first, depth)


def _recover_value(c: Cursor, first: int, depth: int) -> n.BadExpr:
    c.depth, c.nested = depth, False
    c.skip_statement(first)
    return n.BadExpr(c.starts[first], max(c.starts[first], c.ends[c.at - 1]))


def _parse_pattern_value(c: Cursor) -> n.Expr:
    if c.kinds[c.at] == ":":
        hint = "write the types in it: `const {name: text, age: number} = …`"
        c.report("V0109", "a pattern has no type behind it", c.at, hint)
        raise SyntaxErrorReported
    if c.kinds[c.at] != "=":
        c.fail_unexpected("`=` and what to take apart", "write `const {name: text} = …`")
    c.at += 1
    return parse_value(c)


def parse_pattern(c: Cursor) -> n.Pattern | n.ArrayPattern:
    """Parse `{ name: text }` or `[a, b]`, which destructures a value."""
    if c.kinds[c.at] == "{":
        return _parse_object_pattern(c)
    start = c.starts[c.at]
    items = c.listed("]", _parse_pattern_item)
    return n.ArrayPattern(start, c.ends[c.at - 1], items)


def _parse_pattern_item(c: Cursor) -> n.PatternItem:
    if c.kinds[c.at] == "...":
        hint = "take the rest as a slice: `const rest = xs[1:]`"
        c.report("V0151", "a pattern has a name for each item, and none for the rest", c.at, hint)
        c.at += 1
    name = c.name("a name")
    declared = None
    if c.kinds[c.at] == ":":
        c.at += 1
        declared = parse_type(c)
    return n.PatternItem(c.starts[name], c.ends[c.at - 1], c.values[name], declared)


def _parse_object_pattern(c: Cursor) -> n.Pattern:
    start = c.starts[c.at]
    fields = c.listed("}", _parse_pattern_field, by_line=True)
    return n.Pattern(start, c.ends[c.at - 1], fields)


def _parse_pattern_field(c: Cursor) -> n.PatternField:
    if c.kinds[c.at] == "...":
        return _parse_rest_field(c)
    at = c.at
    start = c.starts[at]
    private = c.values[at] == "private" and c.kinds[at + 1] in WORD_KINDS and at + 1 not in c.fresh
    c.at += private
    before = skip_type_before_name(c)
    name = c.word("a field name")
    field = n.PatternField(start, c.ends[name], c.values[name], before, is_private=private)
    field.name_start = c.starts[name]
    skip_optional_field_mark(c, name)
    if report_missing_colon(c, name):
        field.declared = parse_type(c)
    elif c.kinds[c.at] == ":":
        c.at += 1
        if _is_nested_pattern(c):
            field.nested = _parse_object_pattern(c)
        else:
            field.declared = parse_type(c)
        skip_optional_field_mark(c, name)
    _skip_field_alias(c, field)
    if field.nested is None and c.kinds[name] != "name":
        c.report_reserved_word(name, "a name")
    field.description = parse_description(c)
    if c.kinds[c.at] == "=":
        c.at += 1
        field.default = parse_expression(c)
        field.description = parse_late_description(c, "a field", field.name) or field.description
    field.end = c.ends[c.at - 1]
    return field


def _parse_rest_field(c: Cursor) -> n.PatternField:
    """Report and parse `...rest`, which is JavaScript's pattern for the other fields."""
    hint = "name each field that is needed; the others stay in the object"
    c.report("V0151", "a pattern has a name for each field, and none for the rest", c.at, hint)
    name = c.at + 1
    c.at = name + (c.kinds[name] == "name")
    start, end = c.starts[name], c.ends[c.at - 1]
    return n.PatternField(start, end, c.values[name], n.TypeName(start, end, "json"), name_start=start)


def _skip_field_alias(c: Cursor, field: n.PatternField) -> None:
    """Report and skip `name as other`: a field cannot be renamed in a pattern."""
    if c.values[c.at] != "as" or c.kinds[c.at + 1] != "name":
        return
    other = c.values[c.at + 1]
    hint = f"for another name write `const {other} = x.{field.name}`"
    c.report("V0109", "a field keeps its name in a pattern", c.at, hint)
    c.lost.add(other)
    c.at += 2
    if field.declared is None:
        field.declared = n.TypeName(field.start, field.end, "json")


def parse_late_description(c: Cursor, what: str, name: str) -> str:
    """Parse and report a description after a default, which only an input has there."""
    at = c.at
    text = parse_description(c)
    if text:
        c.report(
            "V0128", f"the description of {what} stands before its default", at, f'write `{name}: … "{text[:40]}" = …`'
        )
    return text


def _is_nested_pattern(c: Cursor) -> bool:
    if c.kinds[c.at] != "{" or c.kinds[c.at + 1] == "[":
        return False
    closer = c.matching_bracket(c.at)
    return closer < 0 or c.kinds[closer + 1] not in ("[", "|")
