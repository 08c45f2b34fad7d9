"""Parsing of loops: `for` and `while`, and the mode that says what a model remembers of their iterations."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.statements import parse_foreign_for_head
from antiphon.lang.syntax.foreign_syntax.table import LOOP_MODE_HINTS, POSTFIX_WORD_HINTS
from antiphon.lang.syntax.parser.blocks import parse_loop_body
from antiphon.lang.syntax.parser.cursor import Cursor
from antiphon.lang.syntax.parser.expressions import parse_expression
from antiphon.lang.syntax.parser.if_try import parse_condition
from antiphon.lang.syntax.parser.variables import parse_pattern

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
