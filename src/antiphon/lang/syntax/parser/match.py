"""Parsing of `match value { "low", "mid" => …, is number => …, else => … }`."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import DiagnosticLabel
from antiphon.lang.syntax.foreign_syntax.around_names import is_type_name
from antiphon.lang.syntax.parser.blocks import parse_block, parse_statement, skip_indented_block
from antiphon.lang.syntax.parser.cursor import MAX_CHAIN, MAX_DEPTH, Cursor, SyntaxErrorReported
from antiphon.lang.syntax.parser.types import parse_type

#: First tokens of a value that cannot follow a name, so that `match` before them is the keyword.
_VALUE_STARTS = frozenset(
    ("name", "text", "quote", "number", "true", "false", "null", "do", "vibe", "ask", "py", "not")
)
#: First tokens of an arm's pattern.
_PATTERN_STARTS = frozenset(("text", "quote", "number", "-", "true", "false", "null"))
#: Hints for tokens that follow an arm's values in place of the arrow.
_ARM_HINTS = {
    "..": "an arm has its values one by one, `1, 2, 3 => …`; for a range write `if … { … } else if … { … }`",
    "or": "write `,` between values: `1, 2 => …`",
    "if": "an arm is for values or types alone: write `if … { … } else if … { … }`",
    "and": "an arm is for values or types alone: write `if … { … } else if … { … }`",
    "{": 'write `"low" => { … }`',
}
#: Statements that may follow `=>` without braces.
_BRACELESS_STATEMENT = n.ExprStatement | n.Assign | n.Return | n.Throw | n.Break | n.Continue | n.Yield | n.BadStatement


def is_match_start(c: Cursor, at: int) -> bool:
    """Return True if the name `match` there is the keyword: a value follows it, and then arms."""
    after = at + 1
    if after in c.fresh:
        return False
    if c.kinds[after] != "(":
        return c.kinds[after] in _VALUE_STARTS
    # It could be a call of a function named `match`, before a block.
    brace = c.matching_bracket(after) + 1
    first = c.kinds[brace + 1] if brace and c.kinds[brace] == "{" else ""
    is_foreign = bool(first) and c.values[brace + 1] in ("case", "default", "_")
    return first in _PATTERN_STARTS or first in ("is", "else") or is_foreign


def parse_match_expression(c: Cursor, read_value: Callable[[Cursor], n.Expr]) -> n.Match | n.BadExpr:
    """Parse a `match` whose arms are values; its keyword is already consumed."""
    return cast(n.Match, _parse_match(c, read_value, is_statement=False))


def parse_match_statement(c: Cursor, read_value: Callable[[Cursor], n.Expr]) -> n.Match | n.MatchStatement | n.BadExpr:
    """Parse a `match` that begins a statement; its keyword is already consumed.

    It is an expression if every arm is one.
    """
    return _parse_match(c, read_value, is_statement=True)


def _parse_match(
    c: Cursor, read_value: Callable[[Cursor], n.Expr], is_statement: bool
) -> n.Match | n.MatchStatement | n.BadExpr:
    start, depth, nested = c.starts[c.at - 1], c.depth, c.nested
    c.enter_nesting(c.at - 1)
    value = read_value(c)
    c.depth = depth
    opener = c.at
    if c.kinds[opener] == ":" and opener + 1 in c.fresh:
        return _skip_python_cases(c, start, opener)
    if c.kinds[opener] != "{":
        c.fail_unexpected("`{` and the arms", 'write `match value { "low" => …, else => … }`')
    if depth >= MAX_DEPTH:
        c.fail_too_deep(opener)
    c.depth, c.nested, c.at = depth + 1, False, opener + 1
    arms: list[n.Arm] = []
    try:
        arms = _parse_arms(c, opener, read_value, is_statement)
    except SyntaxErrorReported:
        c.leave(opener)
        c.depth, c.nested = depth, nested
        return n.BadExpr(start, c.ends[c.at - 1])
    c.depth, c.nested = depth, nested
    end = c.ends[c.at - 1]
    if not arms or not any(isinstance(each.body, n.Block) for each in arms):
        return n.Match(start, end, value, arms, c.starts[opener])
    for each in arms:
        if not isinstance(each.body, n.Block):
            body = each.body
            one = body if isinstance(body, n.Throw) else n.ExprStatement(body.start, body.end, body)
            each.body = n.Block(body.start, body.end, [one])
    return n.MatchStatement(start, end, value, arms, c.starts[opener])


def _skip_python_cases(c: Cursor, start: int, colon: int) -> n.BadExpr:
    """Report and skip `match x:` and its indented lines, as in Python."""
    c.report("V0109", "a `match` does not begin with `:` here", colon, 'write `match value { "low" => …, else => … }`')
    c.has_reported_indentation = True
    c.at = colon + 1
    skip_indented_block(c, colon)
    return n.BadExpr(start, c.ends[c.at - 1])


def _parse_arms(c: Cursor, opener: int, read_value: Callable[[Cursor], n.Expr], is_statement: bool) -> list[n.Arm]:
    arms: list[n.Arm] = []
    while c.kinds[c.at] != "}":
        if c.kinds[c.at] == "end":
            label = DiagnosticLabel(c.starts[opener], c.ends[opener], "opened here")
            c.report("V0107", "expected `}` to close a `match`, found the end of the file", c.at, "add it", (label,))
            raise SyntaxErrorReported
        if len(arms) > MAX_CHAIN:
            c.fail_too_long(c.at)
        arms.append(_parse_arm(c, read_value, is_statement))
        if c.kinds[c.at] == ",":
            c.at += 1
        elif c.kinds[c.at] != "}" and c.at not in c.fresh:
            hint = "write `,`, or a new line" if c.kinds[c.at] == ";" else "write `{ … }` around several statements"
            c.fail_unexpected("`,` or the end of the line after an arm", hint)
    c.at += 1
    return arms


def _parse_arm(c: Cursor, read_value: Callable[[Cursor], n.Expr], is_statement: bool) -> n.Arm:
    start = c.starts[c.at]
    patterns: list[n.TypeNode] = []
    is_else = c.kinds[c.at] == "else" or (c.values[c.at] in ("default", "_") and c.kinds[c.at + 1] == "=>")
    if is_else:
        if c.kinds[c.at] != "else":
            c.report("V0110", f"there is no `{c.values[c.at]}` here", c.at, "write `else => …`")
        c.at += 1
    else:
        patterns = _parse_patterns(c)
    arrow = c.at
    c.expect("=>", "`=>` and what is done then", _ARM_HINTS.get(c.kinds[arrow], 'write `"low" => …`'))
    body = _parse_arm_body(c, read_value, is_statement)
    return n.Arm(start, c.ends[c.at - 1], patterns, body, is_else, c.starts[arrow])


def _parse_patterns(c: Cursor) -> list[n.TypeNode]:
    patterns = [_parse_pattern(c)]
    while c.kinds[c.at] == ",":
        c.at += 1
        patterns.append(_parse_pattern(c))
    return patterns


def _parse_pattern(c: Cursor) -> n.TypeNode:
    kind = c.kinds[c.at]
    if kind == "is":
        c.at += 1
        return parse_type(c, in_arm=True)
    if kind == "name" and c.values[c.at] == "case":
        c.report("V0110", "there is no `case` here", c.at, 'write `"low" => …`, and last `else => …`')
        if c.kinds[c.at + 2] != "=>":
            raise SyntaxErrorReported
        c.at += 1
        kind = c.kinds[c.at]
    if kind not in _PATTERN_STARTS:
        word = c.values[c.at] if kind == "name" else "T"
        hint = f"values are written out; a type is `is {word}`, and all others are `else`"
        if kind == "name" and not is_type_name(word) and not word[:1].isupper():
            hint = "values are written out, types are `is number`; for variables write `if … { … } else if … { … }`"
        if kind != "name" or c.kinds[c.at + 1] == "if":
            hint = "an arm is for values or types alone: write `if … { … } else if … { … }`"
        c.fail_unexpected('a value such as `"low"`, `is` and a type, or `else`', hint)
    return parse_type(c, in_arm=True)


def _is_object_start(c: Cursor, at: int) -> bool:
    """Return True if a brace opens an object; where a value is expected, no block can follow."""
    first, second = c.kinds[at + 1], c.kinds[at + 2]
    return first in ("}", "...") or second == ":" or (first == "name" and (second in (",", "}") or at + 2 in c.fresh))


def _parse_arm_body(
    c: Cursor, read_value: Callable[[Cursor], n.Expr], is_statement: bool
) -> n.Expr | n.Throw | n.Block:
    at = c.at
    if not is_statement:
        if c.kinds[at] == "{" and not _is_object_start(c, at):
            hint = "for statements, let `match` stand on its own"
            c.report("V0152", "an arm of a `match` that is a value is one too, and no block", at, hint)
            parse_block(c)
            return n.BadExpr(c.starts[at], c.ends[c.at - 1])
        return cast(n.Throw, parse_statement(c)) if c.kinds[at] == "throw" else read_value(c)
    if c.kinds[at] == "{":
        return parse_block(c)
    statement = parse_statement(c)
    if isinstance(statement, n.ExprStatement):
        return statement.value
    if not isinstance(statement, _BRACELESS_STATEMENT):
        c.report_span("V0152", "this needs braces after `=>`", statement.start, statement.end, "write `=> { … }`")
    return n.Block(statement.start, statement.end, [statement])
