"""Parsing of blocks: sequences of statements, and recovery after an unreadable one."""

from __future__ import annotations

from collections.abc import Callable

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import DiagnosticLabel
from antiphon.lang.syntax.foreign_syntax.table import BEFORE_BLOCK_HINTS, COLON_BLOCK_HINTS
from antiphon.lang.syntax.foreign_syntax.trailing import hint_trailing_tokens
from antiphon.lang.syntax.parser.cursor import MAX_CHAIN, MAX_DEPTH, Cursor, SyntaxErrorReported

#: How deeply loops and `try` may be nested in one function; Python allows 20.
_MAX_LOOPS = 16
#: Keywords that continue a statement, and the first words of the lines that they may continue.
_CONTINUATIONS = {"else": ("if", "else", "}"), "catch": ("try",), "finally": ("try", "catch", "}")}
#: The maximum height of one statement's tree.
_MAX_HEIGHT = MAX_CHAIN + 5 * MAX_DEPTH
#: Statement parsers by the kind of the first token, and the default under ""; `source_parser` fills it.
STATEMENT_PARSERS: dict[str, Callable[[Cursor], n.Statement]] = {}


def parse_statement(c: Cursor) -> n.Statement:
    """Parse one statement, without its terminator."""
    return (STATEMENT_PARSERS.get(c.kinds[c.at]) or STATEMENT_PARSERS[""])(c)


def parse_statements(c: Cursor, within: int = -1, opener: int = -1) -> list[n.Statement]:
    """Parse statements up to a closing brace or the end, or up to a line indented no deeper than `within`.

    In the block that `opener` begins, they also end before the `else` of its `if` and the `catch` of its `try`.
    """
    kinds, fresh = c.kinds, c.fresh
    out: list[n.Statement] = []
    while True:
        first = c.at
        kind = kinds[first]
        if within >= 0 and first in fresh and get_indentation(c, first) <= within:
            return out
        if kind == "}" or kind == "end":
            if kind == "end" or not c.ignored_closing_braces:
                return out
            c.ignored_closing_braces -= 1
            c.at = first + 1
            continue
        if kind == ";":
            c.at = first + 1
            continue
        if kind in _CONTINUATIONS and opener >= 0 and c.kinds[find_line_start(c, opener)] in _CONTINUATIONS[kind]:
            return out
        depth, loops = c.depth, c.loops
        try:
            statement = parse_statement(c)
            at = c.at
            if at - first > MAX_CHAIN:
                _check_height(c, statement)
            out.append(statement)
            if at not in fresh and kinds[at] != ";" and kinds[at] != "}":
                _reject_run_on(c, first)
        except SyntaxErrorReported:
            c.depth, c.nested, c.loops = depth, False, loops
            c.skip_statement(first)
            out.append(n.BadStatement(c.starts[first], max(c.ends[c.at - 1], c.starts[first])))


def _check_height(c: Cursor, statement: n.Statement) -> None:
    """Report a statement whose nested chains make its tree too high for recursion. Blocks are counted separately."""
    place = _find_part_below(statement, _MAX_HEIGHT)
    if place is not None:
        hint = "split it: put a part of it into a variable"
        c.report_span("V0116", "the chains in this are too long together", place.start, place.end, hint)
        raise SyntaxErrorReported


def _reject_run_on(c: Cursor, first: int) -> None:
    """Report what follows a statement on its line; the statement begins with the token `first`."""
    at = c.at
    if c.kinds[at] in (")", "]"):
        skip_stray_bracket(c)
        return
    c.report("V0127", f"expected the end of the statement, found {c.found()}", at, hint_trailing_tokens(c, first))
    raise SyntaxErrorReported


def skip_stray_bracket(c: Cursor) -> None:
    """Skip a closing bracket that closes nothing, and report it."""
    value = c.values[c.at]
    if c.ignored_closing_braces and value == "}":
        c.ignored_closing_braces -= 1
    else:
        c.report("V0108", f"this `{value}` closes nothing", c.at, "remove it, or add what opens it")
    c.at += 1


def parse_block(c: Cursor) -> n.Block:
    """Parse `{ … }`. An unclosed block ends with the file."""
    opener, depth, nested = c.at, c.depth, c.nested
    if c.kinds[opener] != "{":
        return _parse_block_without_brace(c)
    if depth >= MAX_DEPTH:
        c.fail_too_deep(opener)
    c.depth, c.nested, c.at = depth + 1, False, opener + 1
    statements = parse_statements(c, opener=opener)
    if c.kinds[c.at] == "}":
        c.at += 1
    else:
        label = DiagnosticLabel(c.starts[opener], c.ends[opener], "opened here")
        message = f"expected `}}` to close a block, found {c.found()}"
        c.report("V0107", message, c.at, "add the missing `}`", (label,))
    c.depth, c.nested = depth, nested
    return n.Block(c.starts[opener], c.ends[c.at - 1], statements)


def get_indentation(c: Cursor, at: int) -> int:
    """Return the indentation of a token's line."""
    start = c.starts[find_line_start(c, at)]
    return start - c.text.rfind("\n", 0, start) - 1


def find_line_start(c: Cursor, at: int) -> int:
    """Return the index of the first token on a token's line."""
    while at > 0 and at not in c.fresh:
        at -= 1
    return at


def skip_indented_block(c: Cursor, first: int) -> None:
    """Skip a statement, its block, and the indented lines that follow a `:`."""
    c.skip_statement(first)
    is_indented = c.kinds[c.at - 1] == ":"
    while is_indented and c.kinds[c.at] not in ("end", "}") and get_indentation(c, c.at) > get_indentation(c, first):
        line = c.at
        c.at = line + 1
        c.skip_statement(line)


def _parse_indented_block(c: Cursor, colon: int) -> n.Block:
    """Parse `:` and indented lines, as a block in Python; only the first one is reported."""
    if not c.has_reported_indentation:
        c.has_reported_indentation = True
        word = c.kinds[find_line_start(c, colon)]
        hint = COLON_BLOCK_HINTS.get(word, "a block stands in `{` and `}`")
        c.report("V0109", "a block does not begin with `:` here", colon, hint)
    c.enter_nesting(colon)
    c.at = colon + 1
    if c.at in c.fresh:
        statements = parse_statements(c, get_indentation(c, colon))
    else:
        statements = [parse_statement(c)]
    c.depth -= 1
    return n.Block(c.starts[colon], max(c.ends[c.at - 1], c.ends[colon]), statements)


def _parse_block_without_brace(c: Cursor) -> n.Block:
    at = c.at
    if c.kinds[at] == ":":
        return _parse_indented_block(c, at)
    if c.values[at] == "then" and c.kinds[at] == "name":
        c.report("V0109", "there is no `then` here", at, "a block stands in `{` and `}`")
        c.at = at + 1
        return _parse_bare_block(c)
    hint = BEFORE_BLOCK_HINTS.get(c.kinds[at], "a block stands in `{` and `}`")
    c.report("V0101", f"expected `{{`, found {c.found()}", at, hint)
    if c.kinds[at] in ("end", "}"):
        return n.Block(c.starts[at], c.starts[at], [])
    if at not in c.fresh:
        return _parse_bare_block(c)
    if c.has_stray_brace(at):
        c.ignored_closing_braces += 1
    return n.Block(c.starts[at], c.starts[at], [])


def _parse_bare_block(c: Cursor) -> n.Block:
    c.enter_nesting(c.at)
    statement = parse_statement(c)
    c.depth -= 1
    return n.Block(statement.start, statement.end, [statement])


def parse_function_body(c: Cursor) -> n.Block:
    """Parse the block of a function, in which the nesting of loops is counted from zero."""
    loops, c.loops = c.loops, 0
    body = parse_block(c)
    c.loops = loops
    return body


def parse_loop_body(c: Cursor) -> n.Block:
    """Parse the block of a loop or `try`, whose nesting depth Python limits in one function."""
    c.loops += 1
    if c.loops == _MAX_LOOPS + 1:
        hint = "put the inner ones into a function of their own"
        c.report("V0117", f"more than {_MAX_LOOPS} loops and `try` stand inside each other", c.at, hint)
    body = parse_block(c)
    c.loops -= 1
    return body


def _find_part_below(node: n.Node, limit: int) -> n.Node | None:
    """Return a part nested in more than `limit` others, if there is one. Blocks in the node do not count."""
    level = [node]
    for _ in range(limit):
        level = [part for each in level for part in n.children(each) if not isinstance(part, n.Block)]
        if not level:
            return None
    return level[0]
