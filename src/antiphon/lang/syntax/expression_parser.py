"""Reading expressions, by the binding powers of their operators (a Pratt parser)."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.cursor import MAX_CHAIN, MAX_DEPTH, Cursor, Unreadable
from antiphon.lang.syntax.habit_expressions import (
    begins_prefix,
    follows_habit,
    read_behind,
    read_following,
    read_no_operand,
    read_prefixed,
    read_question,
)
from antiphon.lang.syntax.habits import ARGUMENTS, PREFIXES, STRING_PREFIXES
from antiphon.lang.syntax.lambda_parser import read_arrow
from antiphon.lang.syntax.match_parser import begins_match, read_match
from antiphon.lang.syntax.tokens import WORDS
from antiphon.lang.syntax.type_parser import number_value, read_type

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
NOT, _COMPARISON, _RANGE, ADDITIVE, UNARY, _POWER = 4, 5, 6, 7, 9, 10
#: Powers whose operators make no plain left-leaning `Binary`.
_SPECIAL = frozenset((0, _COMPARISON, _RANGE, _POWER))
_POSTFIX = frozenset((".", "?.", "(", "["))
#: What follows an object that stands where a block could: what goes on with it, or the block itself.
AFTER_OBJECT = frozenset(("{", *_POSTFIX, *_POWERS))
#: Operators that go on with the line before when they begin one.
_GOING_ON = frozenset(("??", "?", "and", "or"))
#: What reads an operand, by the kind of its first token, and under `async` the loop; `operand_parser` fills it in.
BEGINNINGS: dict[str, Callable[[Cursor], n.Expr]] = {}
#: What no value begins with, and others end before.
_ENDS = frozenset((")", "]", "}", ",", ";", "end", "}hole", "."))
_FOREIGN_WORDS = PREFIXES.keys() | STRING_PREFIXES.keys()
_WORDS = _FOREIGN_WORDS | {"async", "match"}
#: What words of other languages are that follow on a value.
_MAY_FOLLOW = frozenset(("|", "name", "if", "for"))


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
    elif kind in BEGINNINGS:
        node = BEGINNINGS[kind](c)
    else:
        return read_no_operand(c)
    if c.kinds[c.at] in _POSTFIX or c.kinds[c.at] == "!":
        return _read_postfix(c, node, c.starts[at])
    return node


def _read_word(c: Cursor, at: int, word: str) -> n.Expr:
    """A name that may be a word of ours or of another language here; it is taken already."""
    if word == "async" and c.kinds[at + 1] == "for" and (c.nested or at + 1 not in c.fresh):
        return BEGINNINGS["async"](c)
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
            node = read_behind(c, node, start)
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
        right = read_deeper(c, at, UNARY)
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
        c.deepen(at)
        other = (_read_is if kind == "is" else _read_not_in)(c, again, middle.start, at)
        c.depth -= 1
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
        return read_question(c, left, start, at, read_expression)
    then = read_deeper(c, at, 0)
    if c.kinds[c.at] != ":" and at + 1 in c.fresh:
        c.at = at + 1
        return read_question(c, left, start, at, read_expression)
    if c.kinds[c.at] != ":" and c.at in c.fresh:
        c.report("V0101", "this `?` has no `:` and other value behind it", at, "write `condition ? a : b`")
        raise Unreadable
    if c.kinds[c.at] != ":":
        c.unexpected("`:` and the other value", "write `condition ? a : b`")
    colon = c.at
    c.at += 1
    otherwise = read_deeper(c, colon, 0)
    return n.Conditional(start, c.ends[c.at - 1], left, then, otherwise, c.starts[at], c.starts[colon])


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


def read_deeper(c: Cursor, at: int, level: int) -> n.Expr:
    """An operand that belongs to the sign at `at`."""
    if c.depth >= MAX_DEPTH:
        c.too_deep(at)
    c.depth += 1
    node = read_expression(c, level)
    c.depth -= 1
    return node
