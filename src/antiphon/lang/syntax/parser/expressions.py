"""Parsing of expressions by the binding powers of their operators (a Pratt parser)."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.expressions import (
    is_foreign_postfix,
    is_foreign_prefix,
    parse_foreign_postfix,
    parse_postfix_exclamation,
    parse_prefixed_value,
    parse_question_mark,
    reject_operand,
)
from antiphon.lang.syntax.foreign_syntax.table import NAMED_ARGUMENT_HINTS, PREFIX_WORD_HINTS, STRING_PREFIX_HINTS
from antiphon.lang.syntax.parser.blocks import parse_function_body
from antiphon.lang.syntax.parser.cursor import MAX_CHAIN, MAX_DEPTH, Cursor, SyntaxErrorReported
from antiphon.lang.syntax.parser.match import is_match_start, parse_match_expression
from antiphon.lang.syntax.parser.types import parse_number_token, parse_type
from antiphon.lang.syntax.tokens import WORD_KINDS

#: The binding power of each operator.
_BINDING_POWERS = {
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
NOT_POWER, _COMPARISON_POWER, _RANGE_POWER, ADDITIVE_POWER, UNARY_POWER, _EXPONENT_POWER = 4, 5, 6, 7, 9, 10
#: Binding powers of operators that are not plain left-associative `Binary` nodes.
_SPECIAL_POWERS = frozenset((0, _COMPARISON_POWER, _RANGE_POWER, _EXPONENT_POWER))
_POSTFIX_SIGNS = frozenset((".", "?.", "(", "["))
#: Tokens that may follow an object where a block could be: operators on it, or the block itself.
AFTER_OBJECT = frozenset(("{", *_POSTFIX_SIGNS, *_BINDING_POWERS))
#: Operators that continue the previous line when they begin one.
_CONTINUING_OPERATORS = frozenset(("??", "?", "and", "or"))
#: Operand parsers by the kind of the first token, and the loop under `async`; `parser.primary` fills it.
OPERAND_PARSERS: dict[str, Callable[[Cursor], n.Expr]] = {}
#: Tokens that begin no value and end one.
_VALUE_ENDS = frozenset((")", "]", "}", ",", ";", "end", "}hole", "."))
_FOREIGN_WORDS = PREFIX_WORD_HINTS.keys() | STRING_PREFIX_HINTS.keys()
_SPECIAL_WORDS = _FOREIGN_WORDS | {"async", "match"}
#: Token kinds of the foreign words that may follow a value.
_FOREIGN_FOLLOWERS = frozenset(("|", "name", "if", "for"))


def parse_expression(c: Cursor, level: int = 0) -> n.Expr:
    """Parse an expression whose operators bind at least as tightly as `level`."""
    kinds = c.kinds
    start = c.starts[c.at]
    left = parse_operand(c)
    chain = 0
    while True:
        at = c.at
        kind = kinds[at]
        power = _BINDING_POWERS.get(kind, -1)
        if power < level or (at in c.fresh and not _continues_line(c, kind)):
            if level == 0 and kind in _FOREIGN_FOLLOWERS and is_foreign_postfix(c, kind):
                return parse_foreign_postfix(c, left, start, parse_expression)
            return left
        chain += 1
        if chain > MAX_CHAIN:
            c.fail_too_long(at)
        if power in _SPECIAL_POWERS:
            left = _parse_special_operator(c, left, start, power)
        else:
            c.at = at + 1
            right = parse_expression(c, power + 1)
            left = n.Binary(start, c.ends[c.at - 1], kind, left, right, c.starts[at])


def _continues_line(c: Cursor, kind: str) -> bool:
    """Return True if an operator at the start of a line continues the previous one; in an object it may be a key."""
    return c.kinds[c.at + 1] != ":" if c.nested else kind in _CONTINUING_OPERATORS


def _is_operator_next(c: Cursor, power: int) -> bool:
    """Return True if an operator of this binding power comes next."""
    kind = c.kinds[c.at]
    return _BINDING_POWERS.get(kind) == power and (c.at not in c.fresh or _continues_line(c, kind))


def parse_operand(c: Cursor) -> n.Expr:
    """Parse an operand: a name, literal, bracket or prefix form, with its postfix operations."""
    at = c.at
    kind = c.kinds[at]
    node: n.Expr
    if kind == "name":
        c.at = at + 1
        name = c.values[at]
        node = n.Name(c.starts[at], c.ends[at], name) if name not in _SPECIAL_WORDS else _parse_word(c, at, name)
        if type(node) is n.AsyncFor:
            return node
    elif kind == "text":
        c.at = at + 1
        start, value = c.starts[at], c.values[at]
        node = n.TextLit(start, c.ends[at], [value] if value else [], c.text[start])
    elif kind == "number":
        c.at = at + 1
        node = n.NumberLit(c.starts[at], c.ends[at], parse_number_token(c, at))
    elif kind in OPERAND_PARSERS:
        node = OPERAND_PARSERS[kind](c)
    else:
        return reject_operand(c)
    if c.kinds[c.at] in _POSTFIX_SIGNS or c.kinds[c.at] == "!":
        return _parse_postfix(c, node, c.starts[at])
    return node


def _parse_word(c: Cursor, at: int, word: str) -> n.Expr:
    """Parse a name that may be a keyword of this or another language; it is already consumed."""
    if word == "async" and c.kinds[at + 1] == "for" and (c.nested or at + 1 not in c.fresh):
        return OPERAND_PARSERS["async"](c)
    if word in _FOREIGN_WORDS and is_foreign_prefix(c, at):
        c.at = at
        return parse_prefixed_value(c, parse_operand)
    if word == "match" and is_match_start(c, at):
        return parse_match_expression(c, parse_expression)
    return n.Name(c.starts[at], c.ends[at], word)


def _parse_postfix(c: Cursor, node: n.Expr, start: int) -> n.Expr:
    kinds = c.kinds
    chain = 0
    while True:
        chain += 1
        if chain > MAX_CHAIN:
            c.fail_too_long(c.at)
        at = c.at
        kind = kinds[at]
        if kind == ".":
            node = _parse_member(c, node, start)
        elif kind == "?.":
            node = _parse_optional_step(c, node, start)
        elif kind == "!" and at not in c.fresh:
            node = parse_postfix_exclamation(c, node, start)
        elif kind not in _POSTFIX_SIGNS or (at in c.fresh and not c.nested):
            return node
        elif kind == "(":
            node = _parse_call(c, node, start)
        else:
            node = _parse_index(c, node, start)


def _parse_member(c: Cursor, node: n.Expr, start: int, optional: bool = False) -> n.Member:
    sign = c.at
    c.at = sign + 1
    if c.kinds[sign + 1] != "name" and sign + 1 in c.fresh:
        c.fail_unexpected(f"a member name after `{c.kinds[sign]}`")
    if c.kinds[sign + 1] in ("text", "quote"):
        c.fail_unexpected(f"a member name after `{c.kinds[sign]}`", "write `+` to join texts")
    if c.kinds[sign + 1] == "number":
        c.fail_unexpected(f"a member name after `{c.kinds[sign]}`", f"write `[{c.values[sign + 1]}]`")
    name = c.word(f"a member name after `{c.kinds[sign]}`")
    return n.Member(start, c.ends[name], node, c.values[name], c.starts[name], optional)


def _parse_optional_step(c: Cursor, node: n.Expr, start: int) -> n.Expr:
    """Parse `object?.name` or `object?.[index]`."""
    after = c.kinds[c.at + 1]
    if after == "[":
        c.at += 1
        return _parse_index(c, node, start, True)
    if after == "(":
        c.fail_unexpected(
            "a member name or `[` after `?.`", "only members and items are reached so; compare with `null`"
        )
    return _parse_member(c, node, start, True)


def _parse_call(c: Cursor, node: n.Expr, start: int) -> n.Call:
    """Parse the arguments of a call, of which the last may be named."""
    arguments: list[n.Expr] = []
    named: list[n.Argument] = []
    for each in c.listed(")", _parse_argument):
        if isinstance(each, n.Argument):
            named.append(each)
            continue
        if named:
            hint = "first come those without names, in their order"
            c.report_span("V0150", "an argument without a name follows one that has one", each.start, each.end, hint)
        arguments.append(each)
    return n.Call(start, c.ends[c.at - 1], node, arguments, named)


def _parse_argument(c: Cursor) -> n.Expr | n.Argument:
    at = c.at
    if c.kinds[at + 1] == "=" and c.kinds[at] == "name":
        c.report(
            "V0109",
            "an argument has its name before a `:`",
            at + 1,
            NAMED_ARGUMENT_HINTS.get(c.values[at]) or f"write `{c.values[at]}: …`",
        )
    elif c.kinds[at + 1] != ":" or c.kinds[at] not in WORD_KINDS:
        if c.kinds[at] in ("...", "*", "**"):
            hint = "a function takes so many arguments as it has parameters; give it an array"
            c.report("V0151", "`...` puts the items of one array into another, not into a call", at, hint)
            c.at += 1
        return parse_expression(c)
    c.at = at + 2
    value = parse_expression(c)
    return n.Argument(c.starts[at], c.ends[c.at - 1], c.values[at], value)


def _parse_index(c: Cursor, node: n.Expr, start: int, optional: bool = False) -> n.Expr:
    opener, depth, nested = c.at, c.depth, c.nested
    if depth >= MAX_DEPTH:
        c.fail_too_deep(opener)
    c.depth, c.nested, c.at = depth + 1, True, opener + 1
    parts: list[n.Expr | None] = []
    try:
        parts = _parse_index_parts(c)
        if c.kinds[c.at] == "]":
            c.at += 1
        else:
            c.report_unclosed(opener, "]")
    except SyntaxErrorReported:
        c.leave(opener)
        parts = parts or [n.BadExpr(c.ends[opener], c.starts[c.at - 1])]
    c.depth, c.nested = depth, nested
    end = c.ends[c.at - 1]
    if len(parts) == 1:
        return n.Index(start, end, node, cast(n.Expr, parts[0]), optional)
    first, last, step = (*parts, None)[:3]
    return n.Slice(start, end, node, first, last, step, optional)


def _parse_index_parts(c: Cursor) -> list[n.Expr | None]:
    parts: list[n.Expr | None] = [None if c.kinds[c.at] == ":" else parse_expression(c)]
    while c.kinds[c.at] == ":" and len(parts) < 3:
        c.at += 1
        parts.append(None if c.kinds[c.at] in ("]", ":") else parse_expression(c))
    return parts


def _parse_special_operator(c: Cursor, left: n.Expr, start: int, power: int) -> n.Expr:
    """Parse an operator that is not plainly left-associative, or a foreign sign."""
    at = c.at
    kind = c.kinds[at]
    c.at = at + 1
    if power == 0:
        return _parse_conditional(c, left, start, at)
    if power == _EXPONENT_POWER:
        right = parse_nested_expression(c, at, UNARY_POWER)
        return n.Binary(start, c.ends[c.at - 1], kind, left, right, c.starts[at])
    if kind == "is":
        return _parse_is_test(c, left, start, at)
    if kind == "not":
        return _parse_not_in(c, left, start, at)
    right = parse_expression(c, power + 1)
    if power == _RANGE_POWER:
        node = n.Range(start, c.ends[c.at - 1], left, right)
    else:
        node = n.Binary(start, c.ends[c.at - 1], kind, left, right, c.starts[at])
    if _is_operator_next(c, power):
        return _parse_comparison_chain(c, node, right, start, power)
    return node


def _parse_comparison_chain(c: Cursor, node: n.Expr, middle: n.Expr, start: int, power: int) -> n.Expr:
    """Report `a < b < c`, which becomes `a < b and b < c`, and `a..b..c`, which has no meaning."""
    at = c.at
    kind = c.kinds[at]
    hint = "write `a < b and b < c`" if power == _COMPARISON_POWER else "a range has two ends"
    c.report("V0113", f"`{kind}` cannot follow another in one chain", at, hint)
    c.at = at + 1
    # The middle is in the tree once: a copy in each of many nested chains would make walks exponential.
    again = n.BadExpr(middle.start, middle.end)
    if kind in ("is", "not"):
        c.enter_nesting(at)
        other = (_parse_is_test if kind == "is" else _parse_not_in)(c, again, middle.start, at)
        c.depth -= 1
        return n.Binary(start, c.ends[c.at - 1], "and", node, other)
    right = parse_expression(c, power + 1)
    end = c.ends[c.at - 1]
    if power == _RANGE_POWER:
        return n.BadExpr(start, end)
    return n.Binary(start, end, "and", node, n.Binary(middle.start, end, kind, again, right, c.starts[at]))


def _parse_conditional(c: Cursor, left: n.Expr, start: int, at: int) -> n.Expr:
    """Parse `c ? a : b`. Each branch is a whole expression, so nested conditionals group to the right."""
    if c.kinds[at] == "=>":
        return parse_lambda_after_arrow(c, left, start, at)
    if c.kinds[at + 1] == ":" or c.kinds[at + 1] in _VALUE_ENDS:
        return parse_question_mark(c, left, start, at, parse_expression)
    then = parse_nested_expression(c, at, 0)
    if c.kinds[c.at] != ":" and at + 1 in c.fresh:
        c.at = at + 1
        return parse_question_mark(c, left, start, at, parse_expression)
    if c.kinds[c.at] != ":" and c.at in c.fresh:
        c.report("V0101", "this `?` has no `:` and other value behind it", at, "write `condition ? a : b`")
        raise SyntaxErrorReported
    if c.kinds[c.at] != ":":
        c.fail_unexpected("`:` and the other value", "write `condition ? a : b`")
    colon = c.at
    c.at += 1
    otherwise = parse_nested_expression(c, colon, 0)
    return n.Conditional(start, c.ends[c.at - 1], left, then, otherwise, c.starts[at], c.starts[colon])


def _parse_is_test(c: Cursor, left: n.Expr, start: int, at: int) -> n.Expr:
    """Parse `x is text`; the keyword is already consumed."""
    negated = c.kinds[c.at] == "not"
    if negated:
        c.report("V0109", "there is no `is not` here", c.at, "write `not x is …`")
        c.at += 1
    tested = parse_type(c)
    node = n.Is(start, c.ends[c.at - 1], left, tested, c.starts[at])
    if _is_operator_next(c, _COMPARISON_POWER):
        return _parse_comparison_chain(c, node, left, start, _COMPARISON_POWER)
    return n.Unary(start, node.end, "not", node) if negated else node


def _parse_not_in(c: Cursor, left: n.Expr, start: int, at: int) -> n.Expr:
    """Report and parse `x not in xs`, as in Python; the `not` is already consumed."""
    if c.kinds[c.at] != "in":
        c.at = at
        c.fail_unexpected("an operator")
    c.report("V0109", "there is no `not in` here", at, "write `not x in xs`")
    c.at += 1
    right = parse_expression(c, _COMPARISON_POWER + 1)
    found = n.Binary(start, c.ends[c.at - 1], "in", left, right, c.starts[at])
    return n.Unary(start, found.end, "not", found)


def parse_nested_expression(c: Cursor, at: int, level: int) -> n.Expr:
    """Parse an operand of the sign at `at`, one nesting level deeper."""
    if c.depth >= MAX_DEPTH:
        c.fail_too_deep(at)
    c.depth += 1
    node = parse_expression(c, level)
    c.depth -= 1
    return node


def is_lambda_start(c: Cursor) -> bool:
    """Return True if the `(` here opens the parameters of a lambda."""
    kinds, at = c.kinds, c.at + 1
    if kinds[at] == ")":
        return kinds[at + 1] == "=>"
    follows = kinds[at + 1]
    if kinds[at] != "name" or follows in (",", ":"):
        return kinds[at] == "name"
    return follows in (")", "=") and kinds[c.matching_bracket(c.at) + 1] == "=>"


def parse_lambda(c: Cursor) -> n.Lambda | n.BadExpr:
    """Parse `(a, b: number) => body`."""
    start = c.starts[c.at]
    wrong = len(c.diagnostics)
    parameters = c.listed(")", _parse_lambda_parameter)
    if c.kinds[c.at] == ":":
        hint = "leave it out: what a function without a name gives is found from its body"
        c.report("V0140", "the result of a function without a name has no type of its own", c.at, hint)
        c.at += 1
        parse_type(c)
    hint = "a function without a name is `(a, b) => …`, and several values are an array: `[a, b]`"
    arrow = c.expect("=>", "`=>` and what the function gives", hint)
    is_read = len(c.diagnostics) == wrong
    node = _parse_lambda_body(c, start, parameters, arrow)
    return node if is_read else n.BadExpr(node.start, node.end)


def parse_lambda_after_arrow(c: Cursor, left: n.Expr, start: int, arrow: int) -> n.Expr:
    """Parse `x => body`, whose arrow is already consumed."""
    if type(left) is not n.Name or left.start != start:
        hint = "write `x => …` or `(a, b) => …`"
        if isinstance(left, n.ObjectLit):
            hint = "take the whole, and its fields by name: `x => x.name`"
        c.report("V0140", "before `=>` stand the names of parameters", arrow, hint)
        raise SyntaxErrorReported
    return _parse_lambda_body(c, start, [n.Parameter(left.start, left.end, left.name)], arrow)


def _parse_lambda_body(c: Cursor, start: int, parameters: list[n.Parameter], arrow: int) -> n.Lambda:
    if c.depth >= MAX_DEPTH:
        c.fail_too_deep(arrow)
    c.depth += 1
    if c.kinds[c.at] == "{" and c.kinds[c.at + 2] == ":" and c.kinds[c.at + 1] in ("name", "text"):
        hint = "write `x => ({ … })`: a brace after the arrow begins a block"
        c.report("V0140", "an object that a function gives stands in parentheses", c.at, hint)
        body = parse_expression(c)
    else:
        body = parse_function_body(c) if c.kinds[c.at] == "{" else parse_expression(c)
    c.depth -= 1
    return n.Lambda(start, body.end, parameters, body)


def _parse_lambda_parameter(c: Cursor) -> n.Parameter:
    at = c.name("the name of a parameter")
    node = n.Parameter(c.starts[at], c.ends[at], c.values[at])
    if c.kinds[c.at] == ":":
        c.at += 1
        node.declared = parse_type(c)
    if c.kinds[c.at] == "=":
        hint = "declare a `function` with a name, or work it out in the body: `x ?? …`"
        c.report("V0140", "a parameter of a function without a name has no default", c.at, hint)
        c.at += 1
        parse_expression(c)
    node.end = c.ends[c.at - 1]
    return node
