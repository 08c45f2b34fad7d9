"""Parsing of control flow: conditions, `if`, `try`, `for`, `while`, and the mode of a loop."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.statements import (
    parse_caught_in_parentheses,
    parse_caught_name,
    parse_except_clause,
    parse_foreign_for_head,
)
from antiphon.lang.syntax.foreign_syntax.table import LOOP_MODE_HINTS, POSTFIX_WORD_HINTS, SIGN_PAIR_HINTS
from antiphon.lang.syntax.parser.blocks import parse_block, parse_loop_body
from antiphon.lang.syntax.parser.cursor import MAX_CHAIN, Cursor, SyntaxErrorReported
from antiphon.lang.syntax.parser.declarations import parse_pattern
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


_LOOP_MODES = frozenset(("verbose", "forget", "compress"))


def parse_for(c: Cursor) -> n.Statement:
    """Parse `for x in xs { … } verbose`; its keyword is the current token."""
    start = c.starts[c.at]
    c.at += 1
    pattern = value = None
    name, name_start = "", c.starts[c.at]
    closes, iterable = False, None
    if c.kinds[c.at] == "(":
        head, second, iterable, closes = parse_foreign_for_head(c)
        name, name_start = head.name, head.start
        value = n.ForValue(second.start, second.end, second.name) if second is not None else None
    elif c.kinds[c.at] in ("{", "["):
        pattern = parse_pattern(c)
    else:
        if c.values[c.at] == "each" and c.kinds[c.at + 1] == "name":
            c.report("V0109", "there is no `for each` here", c.at, "write `for x in xs { … }`")
            c.at += 1
        if c.kinds[c.at] in ("let", "const") and c.kinds[c.at + 1] == "name":
            c.report("V0109", f"there is no `{c.values[c.at]}` in a `for` here", c.at, "write `for x in xs { … }`")
            c.at += 1
        at = c.name("the name of each item", "write `for item in items { … }`")
        name, name_start = c.values[at], c.starts[at]
        value = _parse_for_value(c) if c.kinds[c.at] == "," else None
    word = c.at
    if iterable is None:
        word = _parse_in(c)
        iterable = parse_condition(c)
        c.at += closes and c.kinds[c.at] == ")"
    _report_early_mode(c)
    body = parse_loop_body(c)
    mode = _parse_loop_mode(c)
    end = c.ends[c.at - 1]
    return n.For(start, end, name, iterable, body, mode, name_start, value, pattern, c.starts[word])


def _parse_in(c: Cursor) -> int:
    if c.values[c.at] == "of":
        c.report("V0109", "there is no `of` here", c.at, POSTFIX_WORD_HINTS["of"])
        c.at += 1
        return c.at - 1
    hint = "write `for i in 1..3 { … }` (1, 2, 3)" if c.kinds[c.at] == "=" else "write `for item in items { … }`"
    return c.expect("in", "`in` and what to go through", hint)


def _parse_for_value(c: Cursor) -> n.ForValue:
    c.at += 1
    at = c.name("the name of each value", "write `for key, value in map { … }`")
    return n.ForValue(c.starts[at], c.ends[at], c.values[at])


def parse_while(c: Cursor) -> n.Statement:
    """Parse `while c { … }`; its keyword is the current token."""
    start = c.starts[c.at]
    c.at += 1
    condition = parse_condition(c)
    _report_early_mode(c)
    body = parse_loop_body(c)
    mode = _parse_loop_mode(c)
    return n.While(start, c.ends[c.at - 1], condition, body, mode)


def _report_early_mode(c: Cursor) -> None:
    """Report the mode of a loop that is written before its block."""
    if c.values[c.at] in LOOP_MODE_HINTS and c.kinds[c.at + 1] == "{":
        word = c.values[c.at]
        c.report("V0109", f"`{word}` stands behind the block of a loop", c.at, f"write `{{ … }} {word}`")
        c.at += 1


def _parse_loop_mode(c: Cursor) -> n.LoopMode | None:
    at = c.at
    word = c.values[at]
    if word not in _LOOP_MODES or at in c.fresh:
        return None
    c.at = at + 1
    mode = n.LoopMode(c.starts[at], c.ends[at], word)
    if word == "compress" and c.kinds[c.at] == "(" and c.at not in c.fresh:
        _set_mode_arguments(c, mode, c.listed(")", parse_expression))
        mode.end = c.ends[c.at - 1]
    return mode


def _set_mode_arguments(c: Cursor, mode: n.LoopMode, arguments: list[n.Expr]) -> None:
    """Set the instruction and the model of a `compress` mode; a lone name is the model."""
    last = arguments[-1] if arguments else None
    if isinstance(last, n.Name):
        mode.model = last
        arguments = arguments[:-1]
    if len(arguments) == 1:
        mode.how = arguments[0]
    elif arguments:
        message = "`compress` takes how to sum up, and then a model"
        hint = 'write `compress("how", model)`'
        c.report_span("V0101", message, arguments[1].start, arguments[1].end, hint)
