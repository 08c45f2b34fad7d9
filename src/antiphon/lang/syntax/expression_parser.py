"""Reading expressions, by the binding powers of their operators (a Pratt parser)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn, cast

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.block_parser import read_loop_body
from antiphon.lang.syntax.cursor import MAX_CHAIN, MAX_DEPTH, Cursor, Unreadable
from antiphon.lang.syntax.habit_expressions import (
    begins_prefix,
    follows_habit,
    read_following,
    read_function_value,
    read_prefixed,
    read_regex,
    regex_end,
)
from antiphon.lang.syntax.habits import (
    ARGUMENTS,
    ENTRIES,
    FOLLOWING,
    NAMES,
    PAIRS_OF_SIGNS,
    PREFIXES,
    SIGNS_ALONE,
    SIGNS_BEHIND,
    STRING_PREFIXES,
    VALUES,
)
from antiphon.lang.syntax.lambda_parser import begins_lambda, read_arrow, read_lambda
from antiphon.lang.syntax.match_parser import begins_match, read_match
from antiphon.lang.syntax.tokens import RESERVED, WORDS
from antiphon.lang.syntax.type_parser import number_value, read_plain_text, read_type

#: How tightly each operator binds.
_POWERS = {
    "?": 0,
    "=>": 0,
    "??": 1,
    "or": 2,
    "and": 3,
    "..": 6,
    "+": 7,
    "-": 7,
    "*": 8,
    "/": 8,
    "%": 8,
    "**": 10,
} | dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in", "is", "not"), 5)
_NOT, _COMPARISON, _RANGE, _ADDITIVE, _UNARY, _POWER = 4, 5, 6, 7, 9, 10
#: Powers whose operators make no plain left-leaning `Binary`.
_SPECIAL = frozenset((0, _COMPARISON, _RANGE, _POWER))
_POSTFIX = frozenset((".", "?.", "(", "["))
#: Operators that go on with the line before when they begin one.
_GOING_ON = frozenset(("??", "?", "and", "or"))
_AFTER = frozenset(("{", *_POWERS))
_CONTEXTS = frozenset(("default", "local", "none"))
#: What no value begins with, and others end before.
_ENDS = frozenset((")", "]", "}", ",", ";", "end", "}hole", "."))
_FOREIGN_WORDS = PREFIXES.keys() | STRING_PREFIXES.keys()
_WORDS = _FOREIGN_WORDS | {"async", "match"}
#: What words of other languages are that follow on a value.
_MAY_FOLLOW = frozenset(("|", "name", "if", "for"))
_PYTHON_NAMES = re.compile(r"\s*(?:([^\W\d]\w*)\s*(,|\Z)|\Z)")


def read_expression(c: Cursor, level: int = 0) -> n.Expr:
    """An expression of operators that bind at least as tightly as `level`."""
    kinds = c.kinds
    start = c.starts[c.at]
    left = read_operand(c)
    chain = 0
    while True:
        at = c.at
        kind = kinds[at]
        power = _POWERS.get(kind, -1)
        if power < level or (at in c.fresh and not _goes_on(c, kind)):
            if level == 0 and kind in _MAY_FOLLOW and follows_habit(c, kind):
                return read_following(c, left, start, read_expression)
            return left
        chain += 1
        if chain > MAX_CHAIN:
            c.too_long(at)
        if power in _SPECIAL:
            left = _read_special(c, left, start, power)
        else:
            c.at = at + 1
            right = read_expression(c, power + 1)
            left = n.Binary(start, c.ends[c.at - 1], kind, left, right, c.starts[at])


def _goes_on(c: Cursor, kind: str) -> bool:
    """Whether a line that begins with this operator belongs to the one before; in an object it may be a key."""
    return c.kinds[c.at + 1] != ":" if c.nested else kind in _GOING_ON


def _follows(c: Cursor, power: int) -> bool:
    """Whether an operator that binds so tightly comes next."""
    kind = c.kinds[c.at]
    return _POWERS.get(kind) == power and (c.at not in c.fresh or _goes_on(c, kind))


def read_operand(c: Cursor) -> n.Expr:
    """What operators stand between: a name, a literal, a bracket or a prefix form, and what follows on it."""
    at = c.at
    kind = c.kinds[at]
    node: n.Expr
    if kind == "name":
        c.at = at + 1
        name = c.values[at]
        node = n.Name(c.starts[at], c.ends[at], name) if name not in _WORDS else _read_word(c, at, name)
        if type(node) is n.AsyncFor:
            return node
    elif kind == "text":
        c.at = at + 1
        start, value = c.starts[at], c.values[at]
        node = n.TextLit(start, c.ends[at], [value] if value else [], c.text[start])
    elif kind == "number":
        c.at = at + 1
        node = n.NumberLit(c.starts[at], c.ends[at], number_value(c, at))
    elif kind in _PREFIX:
        node = _PREFIX[kind](c)
    else:
        return _no_operand(c)
    if c.kinds[c.at] in _POSTFIX or c.kinds[c.at] == "!":
        return _read_postfix(c, node, c.starts[at])
    return node


def _read_word(c: Cursor, at: int, word: str) -> n.Expr:
    """A name that may be a word of ours or of another language here; it is taken already."""
    if word == "async" and c.kinds[at + 1] == "for":
        return _read_async_for(c)
    if word in _FOREIGN_WORDS and begins_prefix(c, at):
        c.at = at
        return read_prefixed(c, read_operand)
    if word == "match" and begins_match(c, at):
        return read_match(c, read_expression)
    return n.Name(c.starts[at], c.ends[at], word)


def _read_postfix(c: Cursor, node: n.Expr, start: int) -> n.Expr:
    kinds = c.kinds
    chain = 0
    while True:
        chain += 1
        if chain > MAX_CHAIN:
            c.too_long(c.at)
        at = c.at
        kind = kinds[at]
        if kind == ".":
            node = _read_member(c, node, start)
        elif kind == "?.":
            node = _read_optional(c, node, start)
        elif kind == "!" and at not in c.fresh:
            node = _read_behind(c, node, start)
        elif kind not in _POSTFIX or (at in c.fresh and not c.nested):
            return node
        elif kind == "(":
            node = _read_call(c, node, start)
        else:
            node = _read_index(c, node, start)


def _read_member(c: Cursor, node: n.Expr, start: int, optional: bool = False) -> n.Member:
    sign = c.at
    c.at = sign + 1
    if c.kinds[sign + 1] != "name" and sign + 1 in c.fresh:
        c.unexpected(f"a member name after `{c.kinds[sign]}`")
    if c.kinds[sign + 1] in ("text", "quote"):
        c.unexpected(f"a member name after `{c.kinds[sign]}`", "write `+` to join texts")
    if c.kinds[sign + 1] == "number":
        c.unexpected(f"a member name after `{c.kinds[sign]}`", f"write `[{c.values[sign + 1]}]`")
    name = c.word(f"a member name after `{c.kinds[sign]}`")
    return n.Member(start, c.ends[name], node, c.values[name], c.starts[name], optional)


def _read_optional(c: Cursor, node: n.Expr, start: int) -> n.Expr:
    """`object?.name`, `object?.[index]`."""
    after = c.kinds[c.at + 1]
    if after == "[":
        c.at += 1
        return _read_index(c, node, start, True)
    if after == "(":
        c.unexpected("a member name or `[` after `?.`", "only members and items are reached so; compare with `null`")
    return _read_member(c, node, start, True)


def _read_behind(c: Cursor, node: n.Expr, start: int) -> n.Expr:
    """`x!`, which is null nowhere, and `println!(…)`, as they are written elsewhere."""
    at = c.at
    c.at = at + 1
    is_called = isinstance(node, n.Name) and c.kinds[c.at] == "(" and c.at not in c.fresh
    hint = NAMES.get(c.values[at - 1], "leave it out") if is_called else SIGNS_BEHIND["!"]
    c.report("V0109", "there is no `!` after a value here", at, hint)
    return n.BadExpr(start, c.ends[at])


def _read_call(c: Cursor, node: n.Expr, start: int) -> n.Call:
    """Arguments, of which the last may have names."""
    arguments: list[n.Expr] = []
    named: list[n.Argument] = []
    for each in c.listed(")", _read_argument):
        if isinstance(each, n.Argument):
            named.append(each)
            continue
        if named:
            hint = "first come those without names, in their order"
            c.report_span("V0150", "an argument without a name follows one that has one", each.start, each.end, hint)
        arguments.append(each)
    return n.Call(start, c.ends[c.at - 1], node, arguments, named)


def _read_argument(c: Cursor) -> n.Expr | n.Argument:
    at = c.at
    if c.kinds[at + 1] == "=" and c.kinds[at] == "name":
        c.report(
            "V0109",
            "an argument has its name before a `:`",
            at + 1,
            ARGUMENTS.get(c.values[at]) or f"write `{c.values[at]}: …`",
        )
    elif c.kinds[at + 1] != ":" or c.kinds[at] not in WORDS:
        if c.kinds[at] in ("...", "*", "**"):
            hint = "a function takes so many arguments as it has parameters; give it an array"
            c.report("V0151", "`...` puts the items of one array into another, not into a call", at, hint)
            c.at += 1
        return read_expression(c)
    c.at = at + 2
    value = read_expression(c)
    return n.Argument(c.starts[at], c.ends[c.at - 1], c.values[at], value)


def _read_index(c: Cursor, node: n.Expr, start: int, optional: bool = False) -> n.Expr:
    opener, depth, nested = c.at, c.depth, c.nested
    if depth >= MAX_DEPTH:
        c.too_deep(opener)
    c.depth, c.nested, c.at = depth + 1, True, opener + 1
    parts: list[n.Expr | None] = []
    try:
        parts = _read_index_parts(c)
        if c.kinds[c.at] == "]":
            c.at += 1
        else:
            c.unclosed(opener, "]")
    except Unreadable:
        c.leave(opener)
        parts = parts or [n.BadExpr(c.ends[opener], c.starts[c.at - 1])]
    c.depth, c.nested = depth, nested
    end = c.ends[c.at - 1]
    if len(parts) == 1:
        return n.Index(start, end, node, cast(n.Expr, parts[0]), optional)
    first, last, step = (*parts, None)[:3]
    return n.Slice(start, end, node, first, last, step, optional)


def _read_index_parts(c: Cursor) -> list[n.Expr | None]:
    parts: list[n.Expr | None] = [None if c.kinds[c.at] == ":" else read_expression(c)]
    while c.kinds[c.at] == ":" and len(parts) < 3:
        c.at += 1
        parts.append(None if c.kinds[c.at] in ("]", ":") else read_expression(c))
    return parts


def _read_special(c: Cursor, left: n.Expr, start: int, power: int) -> n.Expr:
    """Operators that are not simply left-leaning, and signs of other languages."""
    at = c.at
    kind = c.kinds[at]
    c.at = at + 1
    if power == 0:
        return _read_choice(c, left, start, at)
    if power == _POWER:
        right = _read_deeper(c, at, _UNARY)
        return n.Binary(start, c.ends[c.at - 1], kind, left, right, c.starts[at])
    if kind == "is":
        return _read_is(c, left, start, at)
    if kind == "not":
        return _read_not_in(c, left, start, at)
    right = read_expression(c, power + 1)
    if power == _RANGE:
        node = n.Range(start, c.ends[c.at - 1], left, right)
    else:
        node = n.Binary(start, c.ends[c.at - 1], kind, left, right, c.starts[at])
    if _follows(c, power):
        return _read_chain(c, node, right, start, power)
    return node


def _read_chain(c: Cursor, node: n.Expr, middle: n.Expr, start: int, power: int) -> n.Expr:
    """`a < b < c`, which is read as `a < b and b < c`, and `a..b..c`, which means nothing."""
    at = c.at
    kind = c.kinds[at]
    hint = "write `a < b and b < c`" if power == _COMPARISON else "a range has two ends"
    c.report("V0113", f"`{kind}` cannot follow another in one chain", at, hint)
    c.at = at + 1
    # The middle stands in the tree once: twice in each of many such would take those who walk it for ever.
    again = n.BadExpr(middle.start, middle.end)
    if kind in ("is", "not"):
        other = (_read_is if kind == "is" else _read_not_in)(c, again, middle.start, at)
        return n.Binary(start, c.ends[c.at - 1], "and", node, other)
    right = read_expression(c, power + 1)
    end = c.ends[c.at - 1]
    if power == _RANGE:
        return n.BadExpr(start, end)
    return n.Binary(start, end, "and", node, n.Binary(middle.start, end, kind, again, right, c.starts[at]))


def _read_choice(c: Cursor, left: n.Expr, start: int, at: int) -> n.Expr:
    """`c ? a : b`. What follows either sign is a whole expression, so the last of several belongs to the nearest."""
    if c.kinds[at] == "=>":
        return read_arrow(c, left, start, at)
    if c.kinds[at + 1] == ":" or c.kinds[at + 1] in _ENDS:
        return _read_question(c, left, start, at)
    then = _read_deeper(c, at, 0)
    if c.kinds[c.at] != ":" and at + 1 in c.fresh:
        c.at = at + 1
        return _read_question(c, left, start, at)
    if c.kinds[c.at] != ":":
        c.unexpected("`:` and the other value", "write `condition ? a : b`")
    colon = c.at
    c.at += 1
    otherwise = _read_deeper(c, colon, 0)
    return n.Conditional(start, c.ends[c.at - 1], left, then, otherwise, c.starts[at], c.starts[colon])


def _read_question(c: Cursor, left: n.Expr, start: int, at: int) -> n.Expr:
    """`x ?: y` and `x?`, as they are written elsewhere."""
    sign = "?:" if c.kinds[at + 1] == ":" else "?"
    c.report("V0109", f"there is no `{sign}` here", at, SIGNS_BEHIND[sign])
    if sign == "?":
        return left
    c.at += 1
    right = _read_deeper(c, at, 0)
    return n.Binary(start, c.ends[c.at - 1], "??", left, right, c.starts[at])


def _read_is(c: Cursor, left: n.Expr, start: int, at: int) -> n.Expr:
    """`x is text`; the word is taken already."""
    negated = c.kinds[c.at] == "not"
    if negated:
        c.report("V0109", "there is no `is not` here", c.at, "write `not x is …`")
        c.at += 1
    tested = read_type(c)
    node = n.Is(start, c.ends[c.at - 1], left, tested, c.starts[at])
    if _follows(c, _COMPARISON):
        return _read_chain(c, node, left, start, _COMPARISON)
    return n.Unary(start, node.end, "not", node) if negated else node


def _read_not_in(c: Cursor, left: n.Expr, start: int, at: int) -> n.Expr:
    """`x not in xs`, as it is written elsewhere; the `not` is taken already."""
    if c.kinds[c.at] != "in":
        c.at = at
        c.unexpected("an operator")
    c.report("V0109", "there is no `not in` here", at, "write `not x in xs`")
    c.at += 1
    right = read_expression(c, _COMPARISON + 1)
    found = n.Binary(start, c.ends[c.at - 1], "in", left, right, c.starts[at])
    return n.Unary(start, found.end, "not", found)


def begins_with_object(c: Cursor) -> bool:
    """Whether the `{` here begins an object of an expression, and not the block that should follow one."""
    after = c.partner(c.at) + 1
    return after > 0 and after not in c.fresh and (c.kinds[after] in _POSTFIX or c.kinds[after] in _AFTER)


def _read_deeper(c: Cursor, at: int, level: int) -> n.Expr:
    """An operand that belongs to the sign at `at`."""
    if c.depth >= MAX_DEPTH:
        c.too_deep(at)
    c.depth += 1
    node = read_expression(c, level)
    c.depth -= 1
    return node


def _read_negative(c: Cursor) -> n.Expr:
    at = c.at
    c.at = at + 1
    if (at in c.fresh or not at) and c.kinds[at + 1] == "-" and c.text[c.starts[at] : c.starts[at] + 3] == "-- ":
        c.report("V0111", "a comment does not begin with `--`", at, "write `//`")
        raise Unreadable
    if c.kinds[at + 1] == "{" and (pair := _pair_of_signs(c, at)) >= 0:
        _refuse_pair(c, pair)
    operand = _read_deeper(c, at, _UNARY)
    return n.Unary(c.starts[at], c.ends[c.at - 1], "-", operand)


def _read_not(c: Cursor) -> n.Expr:
    at = c.at
    c.at = at + 1
    operand = _read_deeper(c, at, _NOT)
    return n.Unary(c.starts[at], c.ends[c.at - 1], "not", operand)


def _read_exclamation(c: Cursor) -> n.Expr:
    at = c.at
    c.report("V0109", "there is no `!` here", at, "write `not`")
    c.at = at + 1
    operand = _read_deeper(c, at, _UNARY)
    return n.Unary(c.starts[at], c.ends[c.at - 1], "not", operand)


def _read_boolean(c: Cursor) -> n.Expr:
    at = c.at
    c.at = at + 1
    return n.BoolLit(c.starts[at], c.ends[at], c.kinds[at] == "true")


def _read_null(c: Cursor) -> n.Expr:
    at = c.at
    c.at = at + 1
    return n.NullLit(c.starts[at], c.ends[at])


def _read_foreign_value(c: Cursor) -> n.Expr:
    at = c.at
    right = VALUES[c.kinds[at]]
    c.report("V0110", f"there is no `{c.kinds[at]}` here", at, f"write `{right}`")
    c.at = at + 1
    if right == "null":
        return n.NullLit(c.starts[at], c.ends[at])
    return n.BoolLit(c.starts[at], c.ends[at], right == "true")


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
            c.report("V0109", "there are no tuples here", opener, "write an array: `[a, b]`")
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


def read_object(c: Cursor) -> n.ObjectLit:
    """An object literal."""
    start = c.starts[c.at]
    entries = c.listed("}", _read_entry, by_line=True)
    return n.ObjectLit(start, c.ends[c.at - 1], entries)


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


def _is_do_while(c: Cursor, at: int) -> bool:
    closer = c.partner(at + 1) if c.kinds[at] == "do" and c.kinds[at + 1] == "{" else -1
    return closer > 0 and c.kinds[closer + 1] == "while"


def _read_do_while(c: Cursor, at: int) -> n.Expr:
    hint = "write `while true { … if not (condition) { break } }`"
    c.report("V0109", "there is no `do { … } while` here", at, hint)
    c.at = c.partner(at + 1) + 2
    read_expression(c)
    return n.BadExpr(c.starts[at], c.ends[c.at - 1])


def _read_ask_model(c: Cursor) -> n.Expr:
    at = c.at
    if _is_do_while(c, at):
        return _read_do_while(c, at)
    c.at = at + 1
    prompt = _read_deeper(c, at, _ADDITIVE)
    node = n.Ask(c.starts[at], c.ends[c.at - 1], "do" if c.kinds[at] == "do" else "vibe", prompt)
    if _is_name_here(c) and c.values[c.at] not in _CONTEXTS and c.values[c.at] not in FOLLOWING:
        _take_model(c, node)
    if _is_name_here(c) and c.values[c.at] in _CONTEXTS:
        node.context = cast(n.Context, c.values[c.at])
        node.end = c.ends[c.at]
        c.at += 1
    return node


def _is_name_here(c: Cursor) -> bool:
    return c.kinds[c.at] == "name" and c.at not in c.fresh


def _take_model(c: Cursor, node: n.Ask) -> None:
    at = c.at
    node.end = c.ends[at]
    if c.values[at] == "model":
        node.says_model = True
    else:
        node.model = n.Name(c.starts[at], c.ends[at], c.values[at])
    c.at = at + 1


def _read_ask_human(c: Cursor) -> n.Expr:
    at = c.at
    c.at = at + 1
    prompt = _read_deeper(c, at, _ADDITIVE)
    return n.AskHuman(c.starts[at], c.ends[c.at - 1], prompt)


def _read_python(c: Cursor) -> n.Expr:
    at = c.at
    part = c.tokens.python[at]
    c.at = at + 1
    names: list[n.Name] = []
    place = part.names_start
    while place < part.names_end:
        match = _PYTHON_NAMES.match(c.text, place, part.names_end)
        if match is None or (match[1] or "") in RESERVED:
            hint = "give it values by name, as in `py(a, b) { … }`"
            c.report_span("V0101", "expected names between the parentheses of `py`", place, part.names_end, hint)
            break
        if match[1]:
            names.append(n.Name(match.start(1), match.end(1), match[1]))
        place = match.end()
    return n.PyBlock(c.starts[at], c.ends[at], names, c.values[at], part.code_start, part.is_pure)


def _read_async_for(c: Cursor) -> n.Expr:
    """`async for x in xs { … }`; the `async` is taken already."""
    start = c.starts[c.at - 1]
    c.at += 1
    name = c.name("the name of each item", "take it apart in the block: `const { … } = item`")
    word = c.expect("in", "`in` and what to go through")
    iterable = _read_deeper(c, name, 0)
    body = read_loop_body(c)
    return n.AsyncFor(start, body.end, c.values[name], iterable, body, c.starts[name], c.starts[word])


def _no_operand(c: Cursor) -> n.Expr:
    """No expression begins here: say so, or what was meant."""
    at, kinds = c.at, c.kinds
    if kinds[at] == "." and kinds[at + 1] == "number" and c.ends[at] == c.starts[at + 1]:
        c.report("V0106", "a number does not begin with `.`", at, f"write `0.{c.values[at + 1]}`")
        c.at = at + 2
        return n.NumberLit(c.starts[at], c.ends[at + 1], 0)
    if (pair := _pair_of_signs(c, at)) >= 0:
        _refuse_pair(c, pair)
    if kinds[at] == "function":
        return read_function_value(c)
    if kinds[at] == "/" and (end := regex_end(c, at)) > 0:
        return read_regex(c, end)
    hint = SIGNS_ALONE.get(kinds[at], "")
    if kinds[at - 1] == "..":
        hint = "both ends belong to a range: `for i in 3 { … }` is 0, 1, 2, and `1..3` is 1, 2, 3"
    return c.unexpected("an expression", hint)


def _refuse_pair(c: Cursor, pair: int) -> NoReturn:
    sign = c.values[pair] + c.values[pair + 1]
    c.report("V0109", f"there is no `{sign}` here", pair, PAIRS_OF_SIGNS[sign])
    raise Unreadable


def _pair_of_signs(c: Cursor, at: int) -> int:
    """Where two signs stand side by side that are one in another language, around `at`; -1 if nowhere."""
    for first in (at - 1, at - 2, at):
        if first < 0 or c.ends[first] != c.starts[first + 1]:
            continue
        if c.values[first] + c.values[first + 1] in PAIRS_OF_SIGNS and c.kinds[first] not in ("text", "piece"):
            return first
    return -1


#: What begins with each kind of token.
_PREFIX: dict[str, Callable[[Cursor], n.Expr]] = {
    "-": _read_negative,
    "not": _read_not,
    "!": _read_exclamation,
    "true": _read_boolean,
    "false": _read_boolean,
    "null": _read_null,
    "(": _read_parenthesis,
    "[": _read_array,
    "{": read_object,
    "quote": _read_text_with_holes,
    "do": _read_ask_model,
    "vibe": _read_ask_model,
    "ask": _read_ask_human,
    "py": _read_python,
} | dict.fromkeys(VALUES, _read_foreign_value)
