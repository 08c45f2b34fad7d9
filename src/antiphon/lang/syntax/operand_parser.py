"""Reading values by what they begin with: a sign, a bracket, the quote of a text with holes, or a word."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.asking_parser import read_ask_human, read_ask_model, read_async_for, read_python
from antiphon.lang.syntax.cursor import MAX_DEPTH, Cursor, Unreadable
from antiphon.lang.syntax.expression_parser import AFTER_OBJECT, BEGINNINGS, NOT, UNARY, read_deeper, read_expression
from antiphon.lang.syntax.habit_expressions import read_foreign_value, refuse_pair
from antiphon.lang.syntax.habits import ENTRIES, VALUES
from antiphon.lang.syntax.lambda_parser import begins_lambda, read_lambda
from antiphon.lang.syntax.type_parser import read_plain_text


def begins_with_object(c: Cursor) -> bool:
    """Whether the `{` here begins an object of an expression, and not the block that should follow one."""
    after = c.partner(c.at) + 1
    return after > 0 and after not in c.fresh and c.kinds[after] in AFTER_OBJECT


def _read_negative(c: Cursor) -> n.Expr:
    at = c.at
    c.at = at + 1
    if (at in c.fresh or not at) and c.kinds[at + 1] == "-" and c.text[c.starts[at] : c.starts[at] + 3] == "-- ":
        c.report("V0111", "a comment does not begin with `--`", at, "write `//`")
        raise Unreadable
    if c.kinds[at + 1] == "{":
        refuse_pair(c, at)
    operand = read_deeper(c, at, UNARY)
    return n.Unary(c.starts[at], c.ends[c.at - 1], "-", operand)


def _read_not(c: Cursor) -> n.Expr:
    at = c.at
    c.at = at + 1
    operand = read_deeper(c, at, NOT)
    return n.Unary(c.starts[at], c.ends[c.at - 1], "not", operand)


def _read_exclamation(c: Cursor) -> n.Expr:
    at = c.at
    c.report("V0109", "there is no `!` here", at, "write `not`")
    c.at = at + 1
    operand = read_deeper(c, at, UNARY)
    return n.Unary(c.starts[at], c.ends[c.at - 1], "not", operand)


def _read_boolean(c: Cursor) -> n.Expr:
    at = c.at
    c.at = at + 1
    return n.BoolLit(c.starts[at], c.ends[at], c.kinds[at] == "true")


def _read_null(c: Cursor) -> n.Expr:
    at = c.at
    c.at = at + 1
    return n.NullLit(c.starts[at], c.ends[at])


def _read_parenthesis(c: Cursor) -> n.Expr:
    opener, depth, nested = c.at, c.depth, c.nested
    if depth >= MAX_DEPTH:
        c.too_deep(opener)
    if begins_lambda(c):
        return read_lambda(c)
    c.depth, c.nested, c.at = depth + 1, True, opener + 1
    try:
        node = read_expression(c)
        if c.kinds[c.at] == ")":
            c.at += 1
        elif c.kinds[c.at] == "," and c.partner(opener) > 0:
            is_asked = c.kinds[opener - 1] in ("do", "vibe", "ask")
            hint = 'name the model behind it, `do "…" m`; tools and settings are those of a model' if is_asked else ""
            c.report("V0109", "there are no tuples here", opener, hint or "write an array: `[a, b]`")
            raise Unreadable
        else:
            c.unclosed(opener, ")")
    except Unreadable:
        c.leave(opener)
        node = n.BadExpr(c.starts[opener], c.ends[c.at - 1])
    c.depth, c.nested = depth, nested
    return node


def _read_array(c: Cursor) -> n.Expr:
    start = c.starts[c.at]
    items = c.listed("]", _read_item)
    return n.ArrayLit(start, c.ends[c.at - 1], items)


def _read_item(c: Cursor) -> n.Expr | n.Spread:
    return _read_spread(c) if c.kinds[c.at] == "..." else read_expression(c)


def _read_spread(c: Cursor) -> n.Spread:
    at = c.at
    c.at = at + 1
    value = read_expression(c)
    return n.Spread(c.starts[at], c.ends[c.at - 1], value)


def _read_object(c: Cursor) -> n.ObjectLit:
    start, wrong = c.starts[c.at], len(c.diagnostics)
    entries = c.listed("}", _read_entry, by_line=True)
    if len(c.diagnostics) > wrong and (_is_unread(entries) or any(not each.is_habit for each in c.diagnostics[wrong:])):
        # What else it has is not known.
        entries.append(n.Spread(start, start, n.BadExpr(start, start)))
    return n.ObjectLit(start, c.ends[c.at - 1], entries)


def _is_unread(entries: list[n.Entry | n.Spread]) -> bool:
    """Whether the value of a field could not be read."""
    return any(isinstance(each.value, n.BadExpr) for each in entries)


def _read_entry(c: Cursor) -> n.Entry | n.Spread:
    at = c.at
    kind = c.kinds[at]
    if kind == "...":
        return _read_spread(c)
    start, key = c.starts[at], c.values[at]
    if kind == "text":
        c.at = at + 1
    elif kind == "quote":
        key = read_plain_text(c, "a key")
    elif kind == "number":
        hint = f'write `"{key}"`: the keys of an object are texts' if c.kinds[at + 1] == ":" else ENTRIES[","]
        c.report("V0109", "a number is no key here", at, hint)
        c.at = at + 1
    elif kind in ENTRIES and kind != "name":
        c.unexpected("a key", ENTRIES[kind])
    else:
        c.word("a key")
    after = c.kinds[c.at]
    if after == ":":
        c.at += 1
        value = read_expression(c)
        return n.Entry(start, c.ends[c.at - 1], key, value, kind == "text")
    if after == "(" and c.kinds[c.partner(c.at) + 1] != "{":
        c.unexpected("`,` or `}`", "add the `}` that is missing before it")
    if kind != "name" or (after in ENTRIES and after != "," and c.at not in c.fresh):
        c.unexpected("`:` and a value", ENTRIES.get(after, "" if after != "}" else ENTRIES[","]))
    end = c.ends[at]
    return n.Entry(start, end, key, n.Name(start, end, key), False, True)


def _read_text_with_holes(c: Cursor) -> n.Expr:
    opener = c.at
    quote = c.values[opener]
    parts: list[str | n.Hole] = []
    c.at = opener + 1
    while (kind := c.kinds[c.at]) != "endquote":
        if kind == "piece":
            parts.append(c.values[c.at])
            c.at += 1
        else:
            parts.append(_read_hole(c))
    c.at += 1
    return n.TextLit(c.starts[opener], c.ends[c.at - 1], parts, quote)


def _read_hole(c: Cursor) -> n.Hole:
    opener, depth, nested = c.at, c.depth, c.nested
    if depth >= MAX_DEPTH:
        c.too_deep(opener)
    c.depth, c.nested, c.at = depth + 1, True, opener + 1
    try:
        if c.kinds[c.at] == "}hole":
            hint = "write an expression in it, or `\\${` for the two signs themselves"
            c.report("V0125", "there is nothing in this `${}`", opener, hint)
            raise Unreadable
        value = read_expression(c)
        if c.kinds[c.at] != "}hole":
            c.unexpected("`}`")
        c.at += 1
    except Unreadable:
        c.leave(opener)
        value = n.BadExpr(c.ends[opener], c.starts[c.at - 1])
    c.depth, c.nested = depth, nested
    return n.Hole(c.starts[opener], c.ends[c.at - 1], value, c.kinds[opener] == "${")


BEGINNINGS.update(
    {
        "-": _read_negative,
        "not": _read_not,
        "!": _read_exclamation,
        "true": _read_boolean,
        "false": _read_boolean,
        "null": _read_null,
        "(": _read_parenthesis,
        "[": _read_array,
        "{": _read_object,
        "quote": _read_text_with_holes,
        "do": read_ask_model,
        "vibe": read_ask_model,
        "ask": read_ask_human,
        "py": read_python,
        "async": read_async_for,
    }
    | dict.fromkeys(VALUES, read_foreign_value)
)
