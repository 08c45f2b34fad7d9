"""Reading blocks: statements one after another, and going on after one that cannot be read."""

from __future__ import annotations

from collections.abc import Callable

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.cursor import MAX_CHAIN, MAX_DEPTH, Cursor, Unreadable
from antiphon.lang.syntax.diagnostics import Label
from antiphon.lang.syntax.habit_behind import hint_behind
from antiphon.lang.syntax.habits import BEFORE_BLOCKS, BLOCKS

#: How many loops and `try` may stand inside each other in one function; Python itself takes 20.
_MAX_LOOPS = 16
#: Words that go on with a statement, and those that its line may begin with.
_GOES_ON = {"else": ("if", "else", "}"), "catch": ("try",), "finally": ("try", "catch", "}")}
#: How high the tree of one statement may be.
_MAX_HEIGHT = MAX_CHAIN + 5 * MAX_DEPTH
#: What reads a statement, by the kind of its first token, and under no kind any other; `statement_parser` fills it in.
STARTS: dict[str, Callable[[Cursor], n.Statement]] = {}


def read_statement(c: Cursor) -> n.Statement:
    """One statement, without what ends it."""
    return (STARTS.get(c.kinds[c.at]) or STARTS[""])(c)


def read_statements(c: Cursor, within: int = -1, opener: int = -1) -> list[n.Statement]:
    """Statements up to a closing brace or the end; or up to a line that is not further in than `within`.

    In the block that `opener` begins, they end too before the `else` of its `if`, and the `catch` of its `try`.
    """
    kinds, fresh = c.kinds, c.fresh
    out: list[n.Statement] = []
    while True:
        first = c.at
        kind = kinds[first]
        if within >= 0 and first in fresh and indentation(c, first) <= within:
            return out
        if kind == "}" or kind == "end":
            if kind == "end" or not c.owed:
                return out
            c.owed -= 1
            c.at = first + 1
            continue
        if kind == ";":
            c.at = first + 1
            continue
        if kind in _GOES_ON and opener >= 0 and c.kinds[line_start(c, opener)] in _GOES_ON[kind]:
            return out
        depth, loops = c.depth, c.loops
        try:
            statement = read_statement(c)
            at = c.at
            if at - first > MAX_CHAIN:
                _check_height(c, statement)
            out.append(statement)
            if at not in fresh and kinds[at] != ";" and kinds[at] != "}":
                _run_on(c, first)
        except Unreadable:
            c.depth, c.nested, c.loops = depth, False, loops
            c.recover(first)
            out.append(n.BadStatement(c.starts[first], max(c.ends[c.at - 1], c.starts[first])))


def _check_height(c: Cursor, statement: n.Statement) -> None:
    """Long chains inside each other make a tree too high for those who walk it. Blocks count on their own."""
    place = _part_beyond(statement, _MAX_HEIGHT)
    if place is not None:
        hint = "split it: put a part of it into a variable"
        c.report_span("V0116", "the chains in this are too long together", place.start, place.end, hint)
        raise Unreadable


def _run_on(c: Cursor, first: int) -> None:
    """Something follows on its line the statement that begins with the token `first`."""
    at = c.at
    if c.kinds[at] in (")", "]"):
        skip_stray(c)
        return
    c.report("V0127", f"expected the end of the statement, found {c.found()}", at, hint_behind(c, first))
    raise Unreadable


def skip_stray(c: Cursor) -> None:
    """A closing bracket that closes nothing."""
    value = c.values[c.at]
    if c.owed and value == "}":
        c.owed -= 1
    else:
        c.report("V0108", f"this `{value}` closes nothing", c.at, "remove it, or add what opens it")
    c.at += 1


def read_block(c: Cursor) -> n.Block:
    """`{ … }`. One that is never closed ends with the file."""
    opener, depth, nested = c.at, c.depth, c.nested
    if c.kinds[opener] != "{":
        return _read_block_without_brace(c)
    if depth >= MAX_DEPTH:
        c.too_deep(opener)
    c.depth, c.nested, c.at = depth + 1, False, opener + 1
    statements = read_statements(c, opener=opener)
    if c.kinds[c.at] == "}":
        c.at += 1
    else:
        label = Label(c.starts[opener], c.ends[opener], "opened here")
        message = f"expected `}}` to close a block, found {c.found()}"
        c.report("V0107", message, c.at, "add the missing `}`", (label,))
    c.depth, c.nested = depth, nested
    return n.Block(c.starts[opener], c.ends[c.at - 1], statements)


def indentation(c: Cursor, at: int) -> int:
    """How far in the line of a token begins."""
    start = c.starts[line_start(c, at)]
    return start - c.text.rfind("\n", 0, start) - 1


def line_start(c: Cursor, at: int) -> int:
    """The first token of the line of another."""
    while at > 0 and at not in c.fresh:
        at -= 1
    return at


def skip_indented(c: Cursor, first: int) -> None:
    """Go over a statement, its block, and the lines further in that follow a `:`."""
    c.recover(first)
    is_indented = c.kinds[c.at - 1] == ":"
    while is_indented and c.kinds[c.at] not in ("end", "}") and indentation(c, c.at) > indentation(c, first):
        line = c.at
        c.at = line + 1
        c.recover(line)


def _read_indented(c: Cursor, colon: int) -> n.Block:
    """`:` and lines further in, as Python writes a block; told of the first one only."""
    if not c.told_indented:
        c.told_indented = True
        word = c.kinds[line_start(c, colon)]
        hint = BLOCKS.get(word, "a block stands in `{` and `}`")
        c.report("V0109", "a block does not begin with `:` here", colon, hint)
    c.deepen(colon)
    c.at = colon + 1
    if c.at in c.fresh:
        statements = read_statements(c, indentation(c, colon))
    else:
        statements = [read_statement(c)]
    c.depth -= 1
    return n.Block(c.starts[colon], max(c.ends[c.at - 1], c.ends[colon]), statements)


def _read_block_without_brace(c: Cursor) -> n.Block:
    at = c.at
    if c.kinds[at] == ":":
        return _read_indented(c, at)
    if c.values[at] == "then" and c.kinds[at] == "name":
        c.report("V0109", "there is no `then` here", at, "a block stands in `{` and `}`")
        c.at = at + 1
        return _bare_block(c)
    hint = BEFORE_BLOCKS.get(c.kinds[at], "a block stands in `{` and `}`")
    c.report("V0101", f"expected `{{`, found {c.found()}", at, hint)
    if c.kinds[at] in ("end", "}"):
        return n.Block(c.starts[at], c.starts[at], [])
    if at not in c.fresh:
        return _bare_block(c)
    if c.has_stray_brace(at):
        c.owed += 1
    return n.Block(c.starts[at], c.starts[at], [])


def _bare_block(c: Cursor) -> n.Block:
    c.deepen(c.at)
    statement = read_statement(c)
    c.depth -= 1
    return n.Block(statement.start, statement.end, [statement])


def read_function_body(c: Cursor) -> n.Block:
    """The block of a function, in which loops are counted anew."""
    loops, c.loops = c.loops, 0
    body = read_block(c)
    c.loops = loops
    return body


def read_loop_body(c: Cursor) -> n.Block:
    """A block of which Python allows only so many in one function."""
    c.loops += 1
    if c.loops == _MAX_LOOPS + 1:
        hint = "put the inner ones into a function of their own"
        c.report("V0117", f"more than {_MAX_LOOPS} loops and `try` stand inside each other", c.at, hint)
    body = read_block(c)
    c.loops -= 1
    return body


def _part_beyond(node: n.Node, limit: int) -> n.Node | None:
    """A part that more than `limit` others stand around, if there is one. Blocks in the node do not count."""
    level = [node]
    for _ in range(limit):
        level = [part for each in level for part in n.children(each) if not isinstance(part, n.Block)]
        if not level:
            return None
    return level[0]
