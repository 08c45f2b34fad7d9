"""Parsing of primary expressions by their first token: a sign, a bracket, a quote or a keyword."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.expressions import parse_foreign_constant, reject_sign_pair
from antiphon.lang.syntax.foreign_syntax.table import FOREIGN_CONSTANTS, OBJECT_ENTRY_HINTS
from antiphon.lang.syntax.parser.cursor import MAX_DEPTH, Cursor, SyntaxErrorReported
from antiphon.lang.syntax.parser.expressions import (
    AFTER_OBJECT,
    NOT_POWER,
    OPERAND_PARSERS,
    UNARY_POWER,
    is_lambda_start,
    parse_expression,
    parse_lambda,
    parse_nested_expression,
)
from antiphon.lang.syntax.parser.model_calls import (
    parse_ask_human,
    parse_ask_model,
    parse_async_for,
    parse_python_block,
)
from antiphon.lang.syntax.parser.types import parse_plain_text


def is_object_operand(c: Cursor) -> bool:
    """Return True if the `{` here begins an object in an expression, and not the block that should follow one."""
    after = c.matching_bracket(c.at) + 1
    return after > 0 and after not in c.fresh and c.kinds[after] in AFTER_OBJECT


def _parse_negative(c: Cursor) -> n.Expr:
    at = c.at
    c.at = at + 1
    if (at in c.fresh or not at) and c.kinds[at + 1] == "-" and c.text[c.starts[at] : c.starts[at] + 3] == "-- ":
        c.report("V0111", "a comment does not begin with `--`", at, "write `//`")
        raise SyntaxErrorReported
    if c.kinds[at + 1] == "{":
        reject_sign_pair(c, at)
    operand = parse_nested_expression(c, at, UNARY_POWER)
    return n.Unary(c.starts[at], c.ends[c.at - 1], "-", operand)


def _parse_not(c: Cursor) -> n.Expr:
    at = c.at
    c.at = at + 1
    operand = parse_nested_expression(c, at, NOT_POWER)
    return n.Unary(c.starts[at], c.ends[c.at - 1], "not", operand)


def _parse_exclamation(c: Cursor) -> n.Expr:
    at = c.at
    c.report("V0109", "there is no `!` here", at, "write `not`")
    c.at = at + 1
    operand = parse_nested_expression(c, at, UNARY_POWER)
    return n.Unary(c.starts[at], c.ends[c.at - 1], "not", operand)


def _parse_boolean(c: Cursor) -> n.Expr:
    at = c.at
    c.at = at + 1
    return n.BoolLit(c.starts[at], c.ends[at], c.kinds[at] == "true")


def _parse_null(c: Cursor) -> n.Expr:
    at = c.at
    c.at = at + 1
    return n.NullLit(c.starts[at], c.ends[at])


def _parse_parenthesis(c: Cursor) -> n.Expr:
    opener, depth, nested = c.at, c.depth, c.nested
    if depth >= MAX_DEPTH:
        c.fail_too_deep(opener)
    if is_lambda_start(c):
        return parse_lambda(c)
    c.depth, c.nested, c.at = depth + 1, True, opener + 1
    try:
        node = parse_expression(c)
        if c.kinds[c.at] == ")":
            c.at += 1
        elif c.kinds[c.at] == "," and c.matching_bracket(opener) > 0:
            is_asked = c.kinds[opener - 1] in ("do", "vibe", "ask")
            hint = 'name the model behind it, `do "…" m`; tools and settings are those of a model' if is_asked else ""
            c.report("V0109", "there are no tuples here", opener, hint or "write an array: `[a, b]`")
            raise SyntaxErrorReported
        else:
            c.report_unclosed(opener, ")")
    except SyntaxErrorReported:
        c.leave(opener)
        node = n.BadExpr(c.starts[opener], c.ends[c.at - 1])
    c.depth, c.nested = depth, nested
    return node


def _parse_array(c: Cursor) -> n.Expr:
    start = c.starts[c.at]
    items = c.listed("]", _parse_array_item)
    return n.ArrayLit(start, c.ends[c.at - 1], items)


def _parse_array_item(c: Cursor) -> n.Expr | n.Spread:
    return _parse_spread(c) if c.kinds[c.at] == "..." else parse_expression(c)


def _parse_spread(c: Cursor) -> n.Spread:
    at = c.at
    c.at = at + 1
    value = parse_expression(c)
    return n.Spread(c.starts[at], c.ends[c.at - 1], value)


def _parse_object(c: Cursor) -> n.ObjectLit:
    start, wrong = c.starts[c.at], len(c.diagnostics)
    entries = c.listed("}", _parse_object_entry, by_line=True)
    if len(c.diagnostics) > wrong and (
        _has_unreadable_value(entries) or any(not each.is_habit for each in c.diagnostics[wrong:])
    ):
        # Its other fields are unknown.
        entries.append(n.Spread(start, start, n.BadExpr(start, start)))
    return n.ObjectLit(start, c.ends[c.at - 1], entries)


def _has_unreadable_value(entries: list[n.ObjectEntry | n.Spread]) -> bool:
    """Return True if a field's value was unreadable."""
    return any(isinstance(each.value, n.BadExpr) for each in entries)


def _parse_object_entry(c: Cursor) -> n.ObjectEntry | n.Spread:
    at = c.at
    kind = c.kinds[at]
    if kind == "...":
        return _parse_spread(c)
    start, key = c.starts[at], c.values[at]
    if kind == "text":
        c.at = at + 1
    elif kind == "quote":
        key = parse_plain_text(c, "a key")
    elif kind == "number":
        hint = (
            f'write `"{key}"`: the keys of an object are texts' if c.kinds[at + 1] == ":" else OBJECT_ENTRY_HINTS[","]
        )
        c.report("V0109", "a number is no key here", at, hint)
        c.at = at + 1
    elif kind in OBJECT_ENTRY_HINTS and kind != "name":
        c.fail_unexpected("a key", OBJECT_ENTRY_HINTS[kind])
    else:
        c.word("a key")
    after = c.kinds[c.at]
    if after == ":":
        c.at += 1
        value = parse_expression(c)
        return n.ObjectEntry(start, c.ends[c.at - 1], key, value, kind == "text")
    if after == "(" and c.kinds[c.matching_bracket(c.at) + 1] != "{":
        c.fail_unexpected("`,` or `}`", "add the `}` that is missing before it")
    if kind != "name" or (after in OBJECT_ENTRY_HINTS and after != "," and c.at not in c.fresh):
        c.fail_unexpected(
            "`:` and a value", OBJECT_ENTRY_HINTS.get(after, "" if after != "}" else OBJECT_ENTRY_HINTS[","])
        )
    end = c.ends[at]
    return n.ObjectEntry(start, end, key, n.Name(start, end, key), False, True)


def _parse_interpolated_text(c: Cursor) -> n.Expr:
    opener = c.at
    quote = c.values[opener]
    parts: list[str | n.Interpolation] = []
    c.at = opener + 1
    while (kind := c.kinds[c.at]) != "endquote":
        if kind == "piece":
            parts.append(c.values[c.at])
            c.at += 1
        else:
            parts.append(_parse_interpolation(c))
    c.at += 1
    return n.TextLit(c.starts[opener], c.ends[c.at - 1], parts, quote)


def _parse_interpolation(c: Cursor) -> n.Interpolation:
    opener, depth, nested = c.at, c.depth, c.nested
    if depth >= MAX_DEPTH:
        c.fail_too_deep(opener)
    c.depth, c.nested, c.at = depth + 1, True, opener + 1
    try:
        if c.kinds[c.at] == "}hole":
            hint = "write an expression in it, or `\\${` for the two signs themselves"
            c.report("V0125", "there is nothing in this `${}`", opener, hint)
            raise SyntaxErrorReported
        value = parse_expression(c)
        if c.kinds[c.at] != "}hole":
            c.fail_unexpected("`}`")
        c.at += 1
    except SyntaxErrorReported:
        c.leave(opener)
        value = n.BadExpr(c.ends[opener], c.starts[c.at - 1])
    c.depth, c.nested = depth, nested
    return n.Interpolation(c.starts[opener], c.ends[c.at - 1], value, c.kinds[opener] == "${")


OPERAND_PARSERS.update(
    {
        "-": _parse_negative,
        "not": _parse_not,
        "!": _parse_exclamation,
        "true": _parse_boolean,
        "false": _parse_boolean,
        "null": _parse_null,
        "(": _parse_parenthesis,
        "[": _parse_array,
        "{": _parse_object,
        "quote": _parse_interpolated_text,
        "do": parse_ask_model,
        "vibe": parse_ask_model,
        "ask": parse_ask_human,
        "py": parse_python_block,
        "async": parse_async_for,
    }
    | dict.fromkeys(FOREIGN_CONSTANTS, parse_foreign_constant)
)
