"""Entry points of the parser, text to tree, and the parsing of statements."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import Diagnostic
from antiphon.lang.syntax.foreign_syntax.statements import (
    is_foreign_statement_start,
    is_typed_variable_start,
    parse_foreign_statement,
    parse_typed_variable,
)
from antiphon.lang.syntax.foreign_syntax.table import FOREIGN_BLOCK_ENDS
from antiphon.lang.syntax.lexer import tokenize_program
from antiphon.lang.syntax.parser.blocks import (
    STATEMENT_PARSERS,
    find_line_start,
    parse_block,
    parse_function_body,
    parse_statements,
    skip_stray_bracket,
)
from antiphon.lang.syntax.parser.control_flow import parse_for, parse_if, parse_try, parse_while
from antiphon.lang.syntax.parser.cursor import Cursor, SyntaxErrorReported
from antiphon.lang.syntax.parser.declarations import (
    parse_import,
    parse_input_declaration,
    parse_model_declaration,
    parse_returns_declaration,
    parse_type_declaration,
    parse_value,
    parse_variable,
)
from antiphon.lang.syntax.parser.expressions import parse_expression
from antiphon.lang.syntax.parser.functions import parse_function
from antiphon.lang.syntax.parser.match import is_match_start, parse_match_statement
from antiphon.lang.syntax.parser.types import parse_plain_text, parse_type
from antiphon.lang.syntax.source import Source
from antiphon.lang.syntax.tokens import ASSIGNMENT_OPERATORS, RESERVED_WORDS, Tokens


def parse_source(source: Source, tokens: Tokens | None = None) -> tuple[n.Program, list[Diagnostic]]:
    """Return the tree of a program and all syntax errors, ordered by position. Never raises.

    Pass `tokens` if you need them as well.
    """
    cursor = Cursor(source, tokenize_program(source.text) if tokens is None else tokens)
    program = parse_program(cursor)
    return program, _sort_by_position(cursor.diagnostics)


def parse_type_source(source: Source) -> tuple[n.TypeNode, list[Diagnostic]]:
    """Parse a type that is a whole text, such as `{ name: text, age: number }`. Never raises."""
    cursor = Cursor(source, tokenize_program(source.text))
    return parse_standalone_type(cursor), _sort_by_position(cursor.diagnostics)


def is_incomplete_source(text: str) -> bool:
    """Return True if the only error of a text is that it ends too early, so that an interactive prompt reads on."""
    tokens = tokenize_program(text)
    if tokens.open_ended:
        return True
    cursor = Cursor(Source("", text), tokens)
    parse_program(cursor)
    return cursor.is_text_incomplete


def _sort_by_position(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    return sorted(diagnostics, key=lambda each: each.start)


#: Contextual keywords that begin a statement.
CONTEXTUAL_KEYWORDS = frozenset(("private", "async", "model", "type", "tool", "test", "input", "returns"))
#: First tokens of a type that cannot follow a name.
_TYPE_STARTS = frozenset(("name", "null", "text", "quote", "number", "true", "false", "{"))
#: Statements that cannot be exported.
_NOT_EXPORTABLE = frozenset(("test", "input", "returns"))


def parse_program(c: Cursor) -> n.Program:
    """Parse the whole text as a program."""
    statements: list[n.Statement] = []
    while True:
        statements += parse_statements(c)
        if c.kinds[c.at] == "end":
            break
        skip_stray_bracket(c)
    return n.Program(0, len(c.text), statements, c.tokens.comments, c.lost)


def parse_standalone_type(c: Cursor) -> n.TypeNode:
    """Parse the whole text as a type."""
    c.nested = True
    try:
        node = parse_type(c)
        if c.kinds[c.at] != "end":
            c.fail_unexpected("the end of the type")
    except SyntaxErrorReported:
        return n.TypeName(0, len(c.text), "json")
    return node


def _parse_assign(c: Cursor, target: n.Expr, start: int) -> n.Statement:
    at = c.at
    if c.values[at] == ":=":
        # `:=` may declare or assign, so the name is recorded as lost.
        c.at = at + 1
        parse_value(c)
        c.record_lost_names(at - 1)
        return n.BadStatement(start, c.ends[c.at - 1])
    if not isinstance(target, n.Name | n.Member | n.Index) or _has_optional_step(target):
        message = "this cannot be assigned to"
        hint = "assign to a name, a member or an index"
        if isinstance(target, n.ArrayLit):
            hint = "take it apart into new names: `const [a, b] = …`; variables are assigned one by one"
        if _has_optional_step(target):
            hint = "what `?.` reaches may not be there: compare with `null` before"
        if not isinstance(target, n.BadExpr):
            c.report_span("V0114", message, target.start, target.end, hint)
        c.at = at + 1
        value = parse_value(c)
        c.record_lost_names(find_line_start(c, at))
        return n.BadStatement(start, value.end)
    c.at = at + 1
    value = parse_value(c)
    return n.Assign(start, c.ends[c.at - 1], target, c.kinds[at], value)


def _has_optional_step(target: n.Expr) -> bool:
    """Return True if a path contains `?.`."""
    while isinstance(target, n.Member | n.Index | n.Slice):
        if target.optional:
            return True
        target = target.object
    return False


def _parse_variable_statement(c: Cursor) -> n.Statement:
    if c.values[c.at + 1] == "enum" and c.kinds[c.at + 2] == "name":
        c.at += 1
        return parse_foreign_statement(c)
    return parse_variable(c, c.starts[c.at])


def _parse_at_sign(c: Cursor) -> n.Statement:
    """Report `@description "…"` that is not before the block of a tool; any other `@` begins no statement."""
    at = c.at
    if c.values[at + 1] not in ("description", "param") or c.kinds[at + 2] not in ("text", "quote", "name"):
        return _parse_expression_statement(c)
    hint = 'write it behind the parameters, before the `{`: `tool name(x: text) @description "…" { … }`'
    c.report("V0121", f"`@{c.values[at + 1]}` stands between the parameters of a tool and its block", at, hint)
    c.has_reported_description = True
    raise SyntaxErrorReported


def _parse_function_statement(c: Cursor) -> n.Statement:
    return parse_function(c, c.starts[c.at])


def _parse_contextual_statement(c: Cursor, word: str, start: int = -1, exported: bool = False) -> n.Statement | None:
    """Parse a statement that begins with a contextual keyword, or return None if the word is a name here."""
    at = c.at
    start = start if start >= 0 else c.starts[at]
    follows = c.kinds[at + 1] if at + 1 not in c.fresh else ""
    if word in ("private", "async"):
        return _parse_modified_declaration(c, start, exported)
    if word == "test":
        return _parse_test(c, start) if follows in ("text", "quote") else None
    if word == "input" and follows in RESERVED_WORDS and c.kinds[at + 2] == ":":
        return parse_input_declaration(c, start)
    if word == "returns":
        return parse_returns_declaration(c, start) if follows in _TYPE_STARTS else None
    if word == "tool" and follows in ("name", "function"):
        return parse_function(c, start, True, exported)
    if follows != "name":
        return None
    if word == "model":
        return parse_model_declaration(c, start, exported)
    if word == "type":
        return parse_type_declaration(c, start, exported)
    return parse_input_declaration(c, start)


def _parse_modified_declaration(c: Cursor, start: int, exported: bool) -> n.Statement | None:
    """Parse `private` and `async`, in either order, before `let` or `const`, or `private` before `input`."""
    at, seen = c.at, set[str]()
    if _is_private_input(c):
        c.at += 1
        return parse_input_declaration(c, start, private=True)
    while c.values[at] in ("private", "async") and c.kinds[at] == "name" and c.values[at] not in seen:
        if seen and at in c.fresh:
            return None
        seen.add(c.values[at])
        at += 1
    if seen and c.values[at] in ("def", "fn", "func", "fun") and is_foreign_statement_start(c, at):
        c.at = at
        return parse_foreign_statement(c, exported, start)
    if c.kinds[at] == "function" and at not in c.fresh:
        word = c.values[at - 1]
        hint = "leave it out: a program waits for each answer by itself" if word == "async" else "leave it out"
        c.report("V0109", f"there is no `{word} function` here", at - 1, hint)
        c.at = at
        return parse_function(c, start, False, exported)
    if seen == {"async"} and c.kinds[at] in ("do", "vibe") and at not in c.fresh and not exported:
        c.at = at
        value = parse_value(c)
        return n.AsyncAsk(start, c.ends[c.at - 1], value)
    if c.kinds[at] not in ("let", "const") or at in c.fresh:
        return None
    c.at = at
    return parse_variable(c, start, "private" in seen, "async" in seen, exported)


def _is_private_input(c: Cursor) -> bool:
    at = c.at
    if c.values[at : at + 2] != ["private", "input"] or c.kinds[at + 1 : at + 3] != ["name", "name"]:
        return False
    return not {at + 1, at + 2} & c.fresh


def _parse_export(c: Cursor) -> n.Statement:
    start = c.starts[c.at]
    c.at += 1
    kind = c.kinds[c.at]
    if kind in ("let", "const"):
        return parse_variable(c, start, exported=True)
    if kind == "function":
        return parse_function(c, start, exported=True)
    if kind == "name" and c.values[c.at] in CONTEXTUAL_KEYWORDS - _NOT_EXPORTABLE and not _is_private_input(c):
        declared = _parse_contextual_statement(c, c.values[c.at], start, True)
        if declared is not None:
            return declared
    if c.values[c.at] == "default":
        hint = "give it a name: `export function name() { … }`, `export const name = …`"
        c.report("V0109", "there is no `export default` here", c.at, hint)
        c.at += 1
        if c.kinds[c.at] == "function" and c.kinds[c.at + 1] == "name":
            return parse_function(c, start, exported=True)
        raise SyntaxErrorReported
    if kind == "name" and is_foreign_statement_start(c, c.at):
        return parse_foreign_statement(c, True, start)
    expected = "`let`, `const`, `function`, `tool`, `model` or `type`"
    c.report(
        "V0122",
        f"expected {expected} after `export`, found {c.found()}",
        c.at,
        "write it before each declaration: `export const name = …`",
    )
    raise SyntaxErrorReported


def _parse_break(c: Cursor) -> n.Statement:
    c.at += 1
    return n.Break(c.starts[c.at - 1], c.ends[c.at - 1])


def _parse_continue(c: Cursor) -> n.Statement:
    c.at += 1
    return n.Continue(c.starts[c.at - 1], c.ends[c.at - 1])


def _parse_return(c: Cursor) -> n.Statement:
    at = c.at
    c.at = at + 1
    if at + 1 in c.fresh or c.kinds[at + 1] in (";", "}", ","):
        return n.Return(c.starts[at], c.ends[at])
    value = parse_expression(c)
    return n.Return(c.starts[at], c.ends[c.at - 1], value)


def _parse_throw(c: Cursor) -> n.Statement:
    start = c.starts[c.at]
    c.at += 1
    if c.at in c.fresh or c.kinds[c.at] in (";", "}"):
        hint = 'write `throw "what is wrong"`; in a `catch error { … }`, `throw error`'
        c.report("V0101", "expected what to throw after `throw`", c.at - 1, hint)
        raise SyntaxErrorReported
    value = parse_expression(c)
    return n.Throw(start, c.ends[c.at - 1], value)


def _parse_yield(c: Cursor) -> n.Statement:
    start = c.starts[c.at]
    c.at += 1
    value = parse_expression(c)
    return n.Yield(start, c.ends[c.at - 1], value)


def _parse_test(c: Cursor, start: int) -> n.Statement:
    c.at += 1
    name = parse_plain_text(c, "the name of a test")
    body = parse_function_body(c)
    return n.Test(start, body.end, name, body)


def _reject_orphan_clause(c: Cursor) -> n.Statement:
    word = c.kinds[c.at]
    before = "if" if word == "else" else "try"
    c.report("V0101", f"this `{word}` has no `{before}` before it", c.at, f"it follows the `}}` of `{before}`")
    raise SyntaxErrorReported


def _parse_stray_statement(c: Cursor) -> n.Statement:
    at = c.at
    skip_stray_bracket(c)
    return n.BadStatement(c.starts[at], c.ends[at])


def _parse_statement_with_name(c: Cursor) -> n.Statement:
    """Parse a statement that begins with a name, which may be a contextual keyword."""
    if c.values[c.at] == "match" and is_match_start(c, c.at):
        c.at += 1
        node = parse_match_statement(c, parse_expression)
        return node if isinstance(node, n.MatchStatement) else n.ExprStatement(node.start, node.end, node)
    if c.values[c.at] in CONTEXTUAL_KEYWORDS:
        declared = _parse_contextual_statement(c, c.values[c.at])
        if declared is not None:
            return declared
    if is_foreign_statement_start(c, c.at):
        return parse_foreign_statement(c)
    if is_typed_variable_start(c, c.at):
        return parse_typed_variable(c)
    if c.values[c.at] in FOREIGN_BLOCK_ENDS and c.diagnostics and c.at + 1 in c.fresh:
        # The block that it ends was already reported.
        c.at += 1
        return n.BadStatement(c.starts[c.at - 1], c.ends[c.at - 1])
    return _parse_expression_statement(c)


def _parse_expression_statement(c: Cursor) -> n.Statement:
    """Parse an expression statement or an assignment."""
    start = c.starts[c.at]
    target = parse_expression(c)
    at = c.at
    if c.kinds[at] in ASSIGNMENT_OPERATORS and at not in c.fresh:
        return _parse_assign(c, target, start)
    return n.ExprStatement(start, c.ends[at - 1], target)


def _parse_block_or_object(c: Cursor) -> n.Statement:
    """Parse a block, or an object: there `:` or `,` follows the first word, which no statement allows."""
    at = c.at
    is_object = c.kinds[at + 1] in ("name", "text") and c.kinds[at + 2] in (":", ",") and at + 2 not in c.fresh
    return _parse_expression_statement(c) if is_object else parse_block(c)


STATEMENT_PARSERS.update(
    {
        "let": _parse_variable_statement,
        "const": _parse_variable_statement,
        "if": parse_if,
        "for": parse_for,
        "while": parse_while,
        "break": _parse_break,
        "continue": _parse_continue,
        "return": _parse_return,
        "throw": _parse_throw,
        "yield": _parse_yield,
        "try": parse_try,
        "function": _parse_function_statement,
        "import": parse_import,
        "export": _parse_export,
        "{": _parse_block_or_object,
        "else": _reject_orphan_clause,
        "catch": _reject_orphan_clause,
        "finally": _reject_orphan_clause,
        ")": _parse_stray_statement,
        "]": _parse_stray_statement,
        "name": _parse_statement_with_name,
        "@": _parse_at_sign,
        "": _parse_expression_statement,
    }
)
