"""Reading what is done only at times: `if` and its condition, `try` and what it catches."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.block_parser import read_block, read_loop_body
from antiphon.lang.syntax.cursor import MAX_CHAIN, Cursor, Unreadable
from antiphon.lang.syntax.expression_parser import read_expression
from antiphon.lang.syntax.habit_statements import read_caught, read_caught_in_parentheses, read_except
from antiphon.lang.syntax.habits import PAIRS_OF_SIGNS
from antiphon.lang.syntax.operand_parser import begins_with_object


def read_condition(c: Cursor) -> n.Expr:
    """What `if` and `while` ask. After a mistake in it the block is read all the same."""
    first, depth, nested = c.at, c.depth, c.nested
    try:
        if c.kinds[first] == "{" and not begins_with_object(c):
            c.unexpected("an expression before the block", "write the condition: `if x > 1 { … }`")
        node = read_expression(c)
        if c.kinds[c.at] == "=":
            pair = c.values[c.at] + c.values[c.at + 1]
            hint = PAIRS_OF_SIGNS.get(pair, "write `==`")
            c.report("V0112", "`=` assigns; a condition compares", c.at, hint)
            c.at += 1 + (pair in PAIRS_OF_SIGNS)
            right = read_expression(c)
            return n.Binary(node.start, right.end, "==", node, right, node.end)
        return node
    except Unreadable:
        c.depth, c.nested = depth, nested
        return _skip_to_block(c, first)


def _skip_to_block(c: Cursor, first: int) -> n.Expr:
    at = c.at
    while c.kinds[at] not in ("{", "}", "end") and (at not in c.fresh or at == first):
        at += 1
    if c.kinds[at] != "{":
        raise Unreadable
    c.at = at
    c.lose(first)
    return n.BadExpr(c.starts[first], max(c.starts[first], c.ends[at - 1]))


def read_if(c: Cursor) -> n.Statement:
    """`if c { … } else if d { … } else { … }`; the word stands here."""
    was_told = c.told_indented
    root = _read_one_if(c)
    # Then the whole statement was told already.
    is_told = c.told_indented and not was_told
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
            if c.kinds[c.at] != "if" and not _lacks_if(c):
                last.otherwise = read_block(c)
                break
        last.otherwise = last = _read_one_if(c)
    else:
        c.too_long(c.at)
    node: n.Block | n.If | None = root
    while isinstance(node, n.If):
        node.end = c.ends[c.at - 1]
        node = node.otherwise
    return root


def _lacks_if(c: Cursor) -> bool:
    """Whether a condition and a block follow an `else`: then the `if` is told to be missing."""
    at = c.at
    while at not in c.fresh and c.kinds[at] not in ("{", "}", ";", ":", "end"):
        at += 1
    if at == c.at or at in c.fresh or c.kinds[at] != "{":
        return False
    c.report("V0101", f"expected `{{` or `if` after `else`, found {c.found()}", c.at, "write `else if … { … }`")
    c.at -= 1
    return True


def _read_one_if(c: Cursor) -> n.If:
    start = c.starts[c.at]
    c.at += 1
    condition = read_condition(c)
    then = read_block(c)
    return n.If(start, then.end, condition, then)


def read_try(c: Cursor) -> n.Statement:
    """`try { … } catch error { … } finally { … }`; the word stands here."""
    start, was_told = c.starts[c.at], c.told_indented
    c.at += 1
    node = n.Try(start, start, read_loop_body(c), None, None)
    is_told = c.told_indented and not was_told
    while c.values[c.at] in ("except", "rescue") and c.kinds[c.at] == "name":
        read_except(c, node, is_told)
    if c.kinds[c.at] == "else" and node.handler is not None:
        if not is_told:
            c.report("V0109", "a `try` has no `else` here", c.at, "put it at the end of the block of `try`")
        c.at += 1
        read_loop_body(c)
    if c.kinds[c.at] not in ("catch", "finally") and node.handler is None:
        c.unexpected("`catch` and a block", "write `try { … } catch error { … }`")
    if c.kinds[c.at] == "catch":
        c.at += 1
        if c.kinds[c.at] == "(":
            read_caught_in_parentheses(c, node)
        elif c.kinds[c.at] not in ("{", ":"):
            read_caught(c, node)
        node.handler = read_loop_body(c)
    if c.kinds[c.at] == "finally":
        c.at += 1
        node.last = read_loop_body(c)
    node.end = c.ends[c.at - 1]
    return node
