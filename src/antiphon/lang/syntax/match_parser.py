"""Reading `match value { "low", "mid" => …, is number => …, else => … }`."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.block_parser import read_block, read_statement, skip_indented
from antiphon.lang.syntax.cursor import MAX_CHAIN, MAX_DEPTH, Cursor, Unreadable
from antiphon.lang.syntax.diagnostics import Label
from antiphon.lang.syntax.habit_names import is_name_of_type
from antiphon.lang.syntax.type_parser import read_type

#: What a value begins with that cannot follow a name, so that `match` before it is the word.
_VALUES = frozenset(("name", "text", "quote", "number", "true", "false", "null", "do", "vibe", "ask", "py", "not"))
#: What an arm begins with.
_PATTERNS = frozenset(("text", "quote", "number", "-", "true", "false", "null"))
#: What to write where something else than the arrow follows the values of an arm.
_IN_ARMS = {
    "..": "an arm has its values one by one, `1, 2, 3 => …`; for a range write `if … { … } else if … { … }`",
    "or": "write `,` between values: `1, 2 => …`",
    "if": "an arm is for values or types alone: write `if … { … } else if … { … }`",
    "and": "an arm is for values or types alone: write `if … { … } else if … { … }`",
    "{": 'write `"low" => { … }`',
}
#: Statements that may stand after `=>` without braces.
_SHORT = n.ExprStatement | n.Assign | n.Return | n.Throw | n.Break | n.Continue | n.Yield | n.BadStatement


def begins_match(c: Cursor, at: int) -> bool:
    """Whether the name `match` there is the word: a value follows it, and then arms."""
    after = at + 1
    if after in c.fresh:
        return False
    if c.kinds[after] != "(":
        return c.kinds[after] in _VALUES
    # It could be a call of something that is named so, before a block.
    brace = c.partner(after) + 1
    first = c.kinds[brace + 1] if brace and c.kinds[brace] == "{" else ""
    is_foreign = bool(first) and c.values[brace + 1] in ("case", "default", "_")
    return first in _PATTERNS or first in ("is", "else") or is_foreign


def read_match(c: Cursor, read_value: Callable[[Cursor], n.Expr]) -> n.Match | n.BadExpr:
    """A `match` whose arms are values; the word is taken already."""
    return cast(n.Match, _read(c, read_value, is_statement=False))


def read_match_statement(c: Cursor, read_value: Callable[[Cursor], n.Expr]) -> n.Match | n.MatchStatement | n.BadExpr:
    """A `match` that begins a statement: one of values, if every arm is one. The word is taken already."""
    return _read(c, read_value, is_statement=True)


def _read(
    c: Cursor, read_value: Callable[[Cursor], n.Expr], is_statement: bool
) -> n.Match | n.MatchStatement | n.BadExpr:
    start, depth, nested = c.starts[c.at - 1], c.depth, c.nested
    c.deepen(c.at - 1)
    value = read_value(c)
    c.depth = depth
    opener = c.at
    if c.kinds[opener] == ":" and opener + 1 in c.fresh:
        return _skip_cases(c, start, opener)
    if c.kinds[opener] != "{":
        c.unexpected("`{` and the arms", 'write `match value { "low" => …, else => … }`')
    if depth >= MAX_DEPTH:
        c.too_deep(opener)
    c.depth, c.nested, c.at = depth + 1, False, opener + 1
    arms: list[n.Arm] = []
    try:
        arms = _read_arms(c, opener, read_value, is_statement)
    except Unreadable:
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


def _skip_cases(c: Cursor, start: int, colon: int) -> n.BadExpr:
    """`match x:` and its lines further in, as Python writes it."""
    c.report("V0109", "a `match` does not begin with `:` here", colon, 'write `match value { "low" => …, else => … }`')
    c.told_indented = True
    c.at = colon + 1
    skip_indented(c, colon)
    return n.BadExpr(start, c.ends[c.at - 1])


def _read_arms(c: Cursor, opener: int, read_value: Callable[[Cursor], n.Expr], is_statement: bool) -> list[n.Arm]:
    arms: list[n.Arm] = []
    while c.kinds[c.at] != "}":
        if c.kinds[c.at] == "end":
            label = Label(c.starts[opener], c.ends[opener], "opened here")
            c.report("V0107", "expected `}` to close a `match`, found the end of the file", c.at, "add it", (label,))
            raise Unreadable
        if len(arms) > MAX_CHAIN:
            c.too_long(c.at)
        arms.append(_read_arm(c, read_value, is_statement))
        if c.kinds[c.at] == ",":
            c.at += 1
        elif c.kinds[c.at] != "}" and c.at not in c.fresh:
            hint = "write `,`, or a new line" if c.kinds[c.at] == ";" else "write `{ … }` around several statements"
            c.unexpected("`,` or the end of the line after an arm", hint)
    c.at += 1
    return arms


def _read_arm(c: Cursor, read_value: Callable[[Cursor], n.Expr], is_statement: bool) -> n.Arm:
    start = c.starts[c.at]
    patterns: list[n.TypeNode] = []
    is_else = c.kinds[c.at] == "else" or (c.values[c.at] in ("default", "_") and c.kinds[c.at + 1] == "=>")
    if is_else:
        if c.kinds[c.at] != "else":
            c.report("V0110", f"there is no `{c.values[c.at]}` here", c.at, "write `else => …`")
        c.at += 1
    else:
        patterns = _read_patterns(c)
    arrow = c.at
    c.expect("=>", "`=>` and what is done then", _IN_ARMS.get(c.kinds[arrow], 'write `"low" => …`'))
    body = _read_body(c, read_value, is_statement)
    return n.Arm(start, c.ends[c.at - 1], patterns, body, is_else, c.starts[arrow])


def _read_patterns(c: Cursor) -> list[n.TypeNode]:
    patterns = [_read_pattern(c)]
    while c.kinds[c.at] == ",":
        c.at += 1
        patterns.append(_read_pattern(c))
    return patterns


def _read_pattern(c: Cursor) -> n.TypeNode:
    kind = c.kinds[c.at]
    if kind == "is":
        c.at += 1
        return read_type(c, in_arm=True)
    if kind == "name" and c.values[c.at] == "case":
        c.report("V0110", "there is no `case` here", c.at, 'write `"low" => …`, and last `else => …`')
        if c.kinds[c.at + 2] != "=>":
            raise Unreadable
        c.at += 1
        kind = c.kinds[c.at]
    if kind not in _PATTERNS:
        word = c.values[c.at] if kind == "name" else "T"
        hint = f"values are written out; a type is `is {word}`, and all others are `else`"
        if kind == "name" and not is_name_of_type(word) and not word[:1].isupper():
            hint = "values are written out, types are `is number`; for variables write `if … { … } else if … { … }`"
        if kind != "name" or c.kinds[c.at + 1] == "if":
            hint = "an arm is for values or types alone: write `if … { … } else if … { … }`"
        c.unexpected('a value such as `"low"`, `is` and a type, or `else`', hint)
    return read_type(c, in_arm=True)


def _is_object(c: Cursor, at: int) -> bool:
    """Whether a brace opens an object; where a value stands, no block can."""
    first, second = c.kinds[at + 1], c.kinds[at + 2]
    return first in ("}", "...") or second == ":" or (first == "name" and (second in (",", "}") or at + 2 in c.fresh))


def _read_body(c: Cursor, read_value: Callable[[Cursor], n.Expr], is_statement: bool) -> n.Expr | n.Throw | n.Block:
    at = c.at
    if not is_statement:
        if c.kinds[at] == "{" and not _is_object(c, at):
            hint = "for statements, let `match` stand on its own"
            c.report("V0152", "an arm of a `match` that is a value is one too, and no block", at, hint)
            read_block(c)
            return n.BadExpr(c.starts[at], c.ends[c.at - 1])
        return cast(n.Throw, read_statement(c)) if c.kinds[at] == "throw" else read_value(c)
    if c.kinds[at] == "{":
        return read_block(c)
    statement = read_statement(c)
    if isinstance(statement, n.ExprStatement):
        return statement.value
    if not isinstance(statement, _SHORT):
        c.report_span("V0152", "this needs braces after `=>`", statement.start, statement.end, "write `=> { … }`")
    return n.Block(statement.start, statement.end, [statement])
