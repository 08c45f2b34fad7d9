"""Parsing of lambdas: `x => x * 2`, `(a, b: number) => { … }`."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.parser.blocks import parse_function_body
from antiphon.lang.syntax.parser.cursor import MAX_DEPTH, Cursor, SyntaxErrorReported
from antiphon.lang.syntax.parser.types import parse_type


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
    from antiphon.lang.syntax.parser.expressions import parse_expression

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
    from antiphon.lang.syntax.parser.expressions import parse_expression

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
