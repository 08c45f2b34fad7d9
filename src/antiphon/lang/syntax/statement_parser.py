"""Reading statements, and going on after one that cannot be read."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.block_parser import (
    STARTS,
    line_start,
    read_block,
    read_function_body,
    read_statements,
    skip_stray,
)
from antiphon.lang.syntax.branch_parser import read_if, read_try
from antiphon.lang.syntax.cursor import Cursor, Unreadable
from antiphon.lang.syntax.declaration_parser import (
    read_import,
    read_input,
    read_model,
    read_returns,
    read_type_declaration,
)
from antiphon.lang.syntax.expression_parser import read_expression
from antiphon.lang.syntax.function_parser import read_function
from antiphon.lang.syntax.habit_statements import (
    begins_foreign,
    begins_typed,
    read_foreign_statement,
    read_typed,
)
from antiphon.lang.syntax.habits import ENDS
from antiphon.lang.syntax.loop_parser import read_for, read_while
from antiphon.lang.syntax.match_parser import begins_match, read_match_statement
from antiphon.lang.syntax.tokens import ASSIGNMENTS, RESERVED
from antiphon.lang.syntax.type_parser import read_plain_text, read_type
from antiphon.lang.syntax.variable_parser import read_value, read_variable

#: Words that begin a statement and are names elsewhere.
_SOFT_STARTS = frozenset(("private", "async", "model", "type", "tool", "test", "input", "returns"))
#: What a type begins with that can follow no name.
_TYPE_STARTS = frozenset(("name", "null", "text", "quote", "number", "true", "false", "{"))
#: What a module cannot give to others.
_OF_THE_PROGRAM = frozenset(("test", "input", "returns"))


def read_program(c: Cursor) -> n.Program:
    """The tree of the whole text."""
    statements: list[n.Statement] = []
    while True:
        statements += read_statements(c)
        if c.kinds[c.at] == "end":
            break
        skip_stray(c)
    return n.Program(0, len(c.text), statements, c.tokens.comments, c.lost)


def read_only_type(c: Cursor) -> n.TypeNode:
    """The type that the whole text is."""
    c.nested = True
    try:
        node = read_type(c)
        if c.kinds[c.at] != "end":
            c.unexpected("the end of the type")
    except Unreadable:
        return n.TypeName(0, len(c.text), "json")
    return node


def _read_assign(c: Cursor, target: n.Expr, start: int) -> n.Statement:
    at = c.at
    if c.values[at] == ":=":
        # Whether it declares or assigns is not said, so it may be either.
        c.at = at + 1
        read_value(c)
        c.lose(at - 1)
        return n.BadStatement(start, c.ends[c.at - 1])
    if not isinstance(target, n.Name | n.Member | n.Index) or _is_reached(target):
        message = "this cannot be assigned to"
        hint = "assign to a name, a member or an index"
        if isinstance(target, n.ArrayLit):
            hint = "take it apart into new names: `const [a, b] = …`; variables are assigned one by one"
        if _is_reached(target):
            hint = "what `?.` reaches may not be there: compare with `null` before"
        if not isinstance(target, n.BadExpr):
            c.report_span("V0114", message, target.start, target.end, hint)
        c.at = at + 1
        value = read_value(c)
        c.lose(line_start(c, at))
        return n.BadStatement(start, value.end)
    c.at = at + 1
    value = read_value(c)
    return n.Assign(start, c.ends[c.at - 1], target, c.kinds[at], value)


def _is_reached(target: n.Expr) -> bool:
    """Whether a `?.` stands in a path."""
    while isinstance(target, n.Member | n.Index | n.Slice):
        if target.optional:
            return True
        target = target.object
    return False


def _read_plain_variable(c: Cursor) -> n.Statement:
    if c.values[c.at + 1] == "enum" and c.kinds[c.at + 2] == "name":
        c.at += 1
        return read_foreign_statement(c)
    return read_variable(c, c.starts[c.at])


def _read_sign(c: Cursor) -> n.Statement:
    """`@description "…"` where it is not before the block of a tool; any other `@` begins nothing."""
    at = c.at
    if c.values[at + 1] not in ("description", "param") or c.kinds[at + 2] not in ("text", "quote", "name"):
        return _read_plain(c)
    hint = 'write it behind the parameters, before the `{`: `tool name(x: text) @description "…" { … }`'
    c.report("V0121", f"`@{c.values[at + 1]}` stands between the parameters of a tool and its block", at, hint)
    c.told_description = True
    raise Unreadable


def _read_plain_function(c: Cursor) -> n.Statement:
    return read_function(c, c.starts[c.at])


def _read_soft_statement(c: Cursor, word: str, start: int = -1, exported: bool = False) -> n.Statement | None:
    """A statement that begins with a word which is a name elsewhere; `None` if it is a name here."""
    at = c.at
    start = start if start >= 0 else c.starts[at]
    follows = c.kinds[at + 1] if at + 1 not in c.fresh else ""
    if word in ("private", "async"):
        return _read_modified(c, start, exported)
    if word == "test":
        return _read_test(c, start) if follows in ("text", "quote") else None
    if word == "input" and follows in RESERVED and c.kinds[at + 2] == ":":
        return read_input(c, start)
    if word == "returns":
        return read_returns(c, start) if follows in _TYPE_STARTS else None
    if word == "tool" and follows in ("name", "function"):
        return read_function(c, start, True, exported)
    if follows != "name":
        return None
    if word == "model":
        return read_model(c, start, exported)
    if word == "type":
        return read_type_declaration(c, start, exported)
    return read_input(c, start)


def _read_modified(c: Cursor, start: int, exported: bool) -> n.Statement | None:
    """`private` and `async`, in either order, before `let` or `const`; `private` before `input`."""
    at, seen = c.at, set[str]()
    if _is_private_input(c):
        c.at += 1
        return read_input(c, start, private=True)
    while c.values[at] in ("private", "async") and c.kinds[at] == "name" and c.values[at] not in seen:
        if seen and at in c.fresh:
            return None
        seen.add(c.values[at])
        at += 1
    if seen and c.values[at] in ("def", "fn", "func", "fun") and begins_foreign(c, at):
        c.at = at
        return read_foreign_statement(c, exported, start)
    if c.kinds[at] == "function" and at not in c.fresh:
        word = c.values[at - 1]
        hint = "leave it out: a program waits for each answer by itself" if word == "async" else "leave it out"
        c.report("V0109", f"there is no `{word} function` here", at - 1, hint)
        c.at = at
        return read_function(c, start, False, exported)
    if seen == {"async"} and c.kinds[at] in ("do", "vibe") and at not in c.fresh and not exported:
        c.at = at
        value = read_value(c)
        return n.Started(start, c.ends[c.at - 1], value)
    if c.kinds[at] not in ("let", "const") or at in c.fresh:
        return None
    c.at = at
    return read_variable(c, start, "private" in seen, "async" in seen, exported)


def _is_private_input(c: Cursor) -> bool:
    at = c.at
    if c.values[at : at + 2] != ["private", "input"] or c.kinds[at + 1 : at + 3] != ["name", "name"]:
        return False
    return not {at + 1, at + 2} & c.fresh


def _read_export(c: Cursor) -> n.Statement:
    start = c.starts[c.at]
    c.at += 1
    kind = c.kinds[c.at]
    if kind in ("let", "const"):
        return read_variable(c, start, exported=True)
    if kind == "function":
        return read_function(c, start, exported=True)
    if kind == "name" and c.values[c.at] in _SOFT_STARTS - _OF_THE_PROGRAM and not _is_private_input(c):
        declared = _read_soft_statement(c, c.values[c.at], start, True)
        if declared is not None:
            return declared
    if c.values[c.at] == "default":
        hint = "give it a name: `export function name() { … }`, `export const name = …`"
        c.report("V0109", "there is no `export default` here", c.at, hint)
        c.at += 1
        return _read_export_default(c, start)
    if kind == "name" and begins_foreign(c, c.at):
        return read_foreign_statement(c, True, start)
    expected = "`let`, `const`, `function`, `tool`, `model` or `type`"
    c.report(
        "V0122",
        f"expected {expected} after `export`, found {c.found()}",
        c.at,
        "write it before each declaration: `export const name = …`",
    )
    raise Unreadable


def _read_export_default(c: Cursor, start: int) -> n.Statement:
    if c.kinds[c.at] == "function" and c.kinds[c.at + 1] == "name":
        return read_function(c, start, exported=True)
    raise Unreadable


def _read_break(c: Cursor) -> n.Statement:
    c.at += 1
    return n.Break(c.starts[c.at - 1], c.ends[c.at - 1])


def _read_continue(c: Cursor) -> n.Statement:
    c.at += 1
    return n.Continue(c.starts[c.at - 1], c.ends[c.at - 1])


def _read_return(c: Cursor) -> n.Statement:
    at = c.at
    c.at = at + 1
    if at + 1 in c.fresh or c.kinds[at + 1] in (";", "}", ","):
        return n.Return(c.starts[at], c.ends[at])
    value = read_expression(c)
    return n.Return(c.starts[at], c.ends[c.at - 1], value)


def _read_throw(c: Cursor) -> n.Statement:
    start = c.starts[c.at]
    c.at += 1
    if c.at in c.fresh or c.kinds[c.at] in (";", "}"):
        hint = 'write `throw "what is wrong"`; in a `catch error { … }`, `throw error`'
        c.report("V0101", "expected what to throw after `throw`", c.at - 1, hint)
        raise Unreadable
    value = read_expression(c)
    return n.Throw(start, c.ends[c.at - 1], value)


def _read_yield(c: Cursor) -> n.Statement:
    start = c.starts[c.at]
    c.at += 1
    value = read_expression(c)
    return n.Yield(start, c.ends[c.at - 1], value)


def _read_test(c: Cursor, start: int) -> n.Statement:
    c.at += 1
    name = read_plain_text(c, "the name of a test")
    body = read_function_body(c)
    return n.Test(start, body.end, name, body)


def _lost_part(c: Cursor) -> n.Statement:
    word = c.kinds[c.at]
    before = "if" if word == "else" else "try"
    c.report("V0101", f"this `{word}` has no `{before}` before it", c.at, f"it follows the `}}` of `{before}`")
    raise Unreadable


def _read_stray_statement(c: Cursor) -> n.Statement:
    at = c.at
    skip_stray(c)
    return n.BadStatement(c.starts[at], c.ends[at])


def _read_named(c: Cursor) -> n.Statement:
    """A statement that begins with a name, which may be a word of the language here."""
    if c.values[c.at] == "match" and begins_match(c, c.at):
        return _read_match(c)
    if c.values[c.at] in _SOFT_STARTS:
        declared = _read_soft_statement(c, c.values[c.at])
        if declared is not None:
            return declared
    if begins_foreign(c, c.at):
        return read_foreign_statement(c)
    if begins_typed(c, c.at):
        return read_typed(c)
    if c.values[c.at] in ENDS and c.diagnostics and c.at + 1 in c.fresh:
        # What it ends was told already.
        c.at += 1
        return n.BadStatement(c.starts[c.at - 1], c.ends[c.at - 1])
    return _read_plain(c)


def _read_match(c: Cursor) -> n.Statement:
    c.at += 1
    node = read_match_statement(c, read_expression)
    return node if isinstance(node, n.MatchStatement) else n.ExprStatement(node.start, node.end, node)


def _read_plain(c: Cursor) -> n.Statement:
    """An expression on its own, or an assignment to one."""
    start = c.starts[c.at]
    target = read_expression(c)
    at = c.at
    if c.kinds[at] in ASSIGNMENTS and at not in c.fresh:
        return _read_assign(c, target, start)
    return n.ExprStatement(start, c.ends[at - 1], target)


def _read_braces(c: Cursor) -> n.Statement:
    """A block; or an object, which may be what a program gives: no statement goes on with `:` or `,` there."""
    at = c.at
    is_object = c.kinds[at + 1] in ("name", "text") and c.kinds[at + 2] in (":", ",") and at + 2 not in c.fresh
    return _read_plain(c) if is_object else read_block(c)


STARTS.update(
    {
        "let": _read_plain_variable,
        "const": _read_plain_variable,
        "if": read_if,
        "for": read_for,
        "while": read_while,
        "break": _read_break,
        "continue": _read_continue,
        "return": _read_return,
        "throw": _read_throw,
        "yield": _read_yield,
        "try": read_try,
        "function": _read_plain_function,
        "import": read_import,
        "export": _read_export,
        "{": _read_braces,
        "else": _lost_part,
        "catch": _lost_part,
        "finally": _lost_part,
        ")": _read_stray_statement,
        "]": _read_stray_statement,
        "name": _read_named,
        "@": _read_sign,
        "": _read_plain,
    }
)
