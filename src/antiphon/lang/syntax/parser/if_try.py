"""Parsing of `if` and `try`: conditions, branches and handlers."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.statements import (
    parse_caught_in_parentheses,
    parse_caught_name,
    parse_except_clause,
)
from antiphon.lang.syntax.foreign_syntax.table import SIGN_PAIR_HINTS
from antiphon.lang.syntax.parser.blocks import parse_block, parse_loop_body
from antiphon.lang.syntax.parser.cursor import MAX_CHAIN, Cursor, SyntaxErrorReported
from antiphon.lang.syntax.parser.expressions import parse_expression
from antiphon.lang.syntax.parser.primary import is_object_operand


def parse_condition(c: Cursor) -> n.Expr:
    """Parse the condition of `if` or `while`. After an error in it, parsing continues at the block."""
    first, depth, nested = c.at, c.depth, c.nested
    try:
        if c.kinds[first] == "{" and not is_object_operand(c):
            c.fail_unexpected("an expression before the block", "write the condition: `if x > 1 { … }`")
        node = parse_expression(c)
        if c.kinds[c.at] == "=":
            pair = c.values[c.at] + c.values[c.at + 1]
            hint = SIGN_PAIR_HINTS.get(pair, "write `==`")
            c.report("V0112", "`=` assigns; a condition compares", c.at, hint)
            c.at += 1 + (pair in SIGN_PAIR_HINTS)
            right = parse_expression(c)
            return n.Binary(node.start, right.end, "==", node, right, node.end)
        return node
    except SyntaxErrorReported:
        c.depth, c.nested = depth, nested
        return _skip_to_block(c, first)


def _skip_to_block(c: Cursor, first: int) -> n.Expr:
    at = c.at
    while c.kinds[at] not in ("{", "}", "end") and (at not in c.fresh or at == first):
        at += 1
    if c.kinds[at] != "{":
        raise SyntaxErrorReported
    c.at = at
    c.record_lost_names(first)
    return n.BadExpr(c.starts[first], max(c.starts[first], c.ends[at - 1]))


def parse_if(c: Cursor) -> n.Statement:
    """Parse `if c { … } else if d { … } else { … }`; its keyword is the current token."""
    was_told = c.has_reported_indentation
    root = _parse_one_if(c)
    # The whole statement was then reported already.
    is_told = c.has_reported_indentation and not was_told
    last = root
    for _ in range(MAX_CHAIN):
        kind = c.kinds[c.at]
        if kind == "name" and c.values[c.at] in ("elif", "elseif", "elsif"):
            if not is_told:
                c.report("V0110", f"there is no `{c.values[c.at]}` here", c.at, "write `else if`")
        elif kind != "else":
            break
        else:
            c.at += 1
            if c.kinds[c.at] != "if" and not _report_missing_if(c):
                last.otherwise = parse_block(c)
                break
        last.otherwise = last = _parse_one_if(c)
    else:
        c.fail_too_long(c.at)
    node: n.Block | n.If | None = root
    while isinstance(node, n.If):
        node.end = c.ends[c.at - 1]
        node = node.otherwise
    return root


def _report_missing_if(c: Cursor) -> bool:
    """Return True and report it if a condition and a block follow `else` without `if`."""
    at = c.at
    while at not in c.fresh and c.kinds[at] not in ("{", "}", ";", ":", "end"):
        at += 1
    if at == c.at or at in c.fresh or c.kinds[at] != "{":
        return False
    c.report("V0101", f"expected `{{` or `if` after `else`, found {c.found()}", c.at, "write `else if … { … }`")
    c.at -= 1
    return True


def _parse_one_if(c: Cursor) -> n.If:
    start = c.starts[c.at]
    c.at += 1
    condition = parse_condition(c)
    then = parse_block(c)
    return n.If(start, then.end, condition, then)


def parse_try(c: Cursor) -> n.Statement:
    """Parse `try { … } catch error { … } finally { … }`; its keyword is the current token."""
    start, was_told = c.starts[c.at], c.has_reported_indentation
    c.at += 1
    node = n.Try(start, start, parse_loop_body(c), None, None)
    is_told = c.has_reported_indentation and not was_told
    while c.values[c.at] in ("except", "rescue") and c.kinds[c.at] == "name":
        parse_except_clause(c, node, is_told)
    if c.kinds[c.at] == "else" and node.handler is not None:
        if not is_told:
            c.report("V0109", "a `try` has no `else` here", c.at, "put it at the end of the block of `try`")
        c.at += 1
        parse_loop_body(c)
    if c.kinds[c.at] not in ("catch", "finally") and node.handler is None:
        c.fail_unexpected("`catch` and a block", "write `try { … } catch error { … }`")
    if c.kinds[c.at] == "catch":
        c.at += 1
        if c.kinds[c.at] == "(":
            parse_caught_in_parentheses(c, node)
        elif c.kinds[c.at] not in ("{", ":"):
            parse_caught_name(c, node)
        node.handler = parse_loop_body(c)
    if c.kinds[c.at] == "finally":
        c.at += 1
        node.last = parse_loop_body(c)
    node.end = c.ends[c.at - 1]
    return node
