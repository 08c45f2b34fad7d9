"""Reading what other languages write in expressions: told once, and read as what was meant where that is clear."""

from __future__ import annotations

import re
from collections.abc import Callable

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.cursor import Cursor, Unreadable
from antiphon.lang.syntax.habits import (
    FOLLOWING,
    NAMES,
    PAIRS_OF_SIGNS,
    PREFIXES,
    SIGNS_ALONE,
    SIGNS_BEHIND,
    STRING_PREFIXES,
    VALUES,
)
from antiphon.lang.syntax.tokens import PAIRS
from antiphon.lang.syntax.type_parser import read_type

#: What an operand begins with that can follow no name on its line.
OPERANDS = frozenset(
    ("name", "text", "quote", "number", "true", "false", "null", "do", "vibe", "ask", "py", "function")
)
#: Kinds of token that such a word or sign can be.
_BEHIND = frozenset(("name", "if", "for", "|"))
#: Words that stand before parentheses, and what follows those then.
_BEFORE_BRACKET = {"ts": "{", "switch": "{", "when": "{", "async": "=>"}
_REGEX = re.compile(r"/(?![*/ ])(?:\\.|\[[^\]\r\n]*\]|[^/\\\[\r\n])+/[a-z]*")
_Read = Callable[[Cursor], n.Expr]


def begins_prefix(c: Cursor, at: int) -> bool:
    """Whether the word there stands before a value, as no name can here."""
    word, after = c.values[at], c.kinds[at + 1]
    if at + 1 in c.fresh:
        return False
    if word in STRING_PREFIXES:
        return after in ("text", "quote") and c.ends[at] == c.starts[at + 1]
    if word == "lambda":
        return after == "name" or (after == ":" and c.kinds[at - 1] == "=")
    if word in _BEFORE_BRACKET and after == "(":
        return c.kinds[c.partner(at + 1) + 1] == _BEFORE_BRACKET[word]
    if word == "async":
        return after in ("do", "vibe") or (after == "name" and c.kinds[at + 2] == "=>")
    if word == "ts":
        return False
    return word in PREFIXES and after in OPERANDS


def read_prefixed(c: Cursor, read: _Read) -> n.Expr:
    """A word of another language and the value after it; the word stands here."""
    at = c.at
    word = c.values[at]
    c.at = at + 1
    if word in STRING_PREFIXES:
        _tell(c, at, f"`{word}` before a string", STRING_PREFIXES[word])
        return read(c)
    both = f"{word} {c.values[at + 1]}" if c.kinds[at + 1] in ("name", "do", "vibe") else ""
    if word == "new" and c.values[at + 1].endswith(("Error", "Exception")):
        both = "new Error"
    _tell(c, at, f"`{word}`", with_parameters(c, at, PREFIXES.get(both) or PREFIXES[word]))
    if word == "lambda":
        return _skip_lambda(c, at)
    if word == "ts":
        c.at = c.partner(c.partner(at + 1) + 1) + 1
        return n.BadExpr(c.starts[at], c.ends[c.at - 1])
    c.deepen(at)
    value = read(c)
    c.depth -= 1
    if word == "new" and c.kinds[c.at] == "<":
        _skip_to_call(c)
    if word in ("switch", "when") and c.kinds[c.at] == "{":
        c.at = c.partner(c.at) + 1 or c.at + 1
    return value if word in ("await", "async") else _unread(c, at)


def with_parameters(c: Cursor, at: int, hint: str) -> str:
    """What to write for a block of another language, with the variables that it names: `py(a, b) { … }`."""
    taken = _PARAMETERS.match(c.text, c.ends[at])
    return hint.replace("`py(x)", f"`py{taken[0]}") if taken else hint


_PARAMETERS = re.compile(r"\((?:[^\W\d]\w*(?:, ?[^\W\d]\w*)*)?\)(?= ?\{)")


def follows_habit(c: Cursor, kind: str) -> bool:
    """Whether after a value there is a word that other languages write there."""
    return kind in _BEHIND and c.values[c.at] in FOLLOWING and c.at not in c.fresh


def read_following(c: Cursor, left: n.Expr, start: int, read: _Read) -> n.Expr:
    """`x if c else y`, `x for x in xs`, `x as T`, `x instanceof T`; the word stands here."""
    at = c.at
    word = c.values[at]
    if word in ("unless", "of", "then"):
        return left
    if word == "if" and not _has_else(c, at):
        return left
    _tell(c, at, f"`{word}` after a value", FOLLOWING[word])
    c.at = at + 1
    if word == "for":
        _skip_to_closer(c)
        return n.BadExpr(start, c.ends[c.at - 1])
    if word == "as" or word == "satisfies":
        if c.kinds[c.at] == "const":
            c.at += 1
        else:
            read_type(c)
        return left
    if word == "if":
        c.deepen(at)
        condition = read(c)
        colon = c.expect("else", "`else` and the other value")
        other = read(c)
        c.depth -= 1
        return n.Conditional(start, c.ends[c.at - 1], condition, left, other, c.starts[at], c.starts[colon])
    c.deepen(at)
    read(c)
    c.depth -= 1
    return n.BadExpr(start, c.ends[c.at - 1])


def read_foreign_value(c: Cursor) -> n.Expr:
    """`True`, `None`, `undefined`; the word stands here."""
    at = c.at
    right = VALUES[c.kinds[at]]
    c.report("V0110", f"there is no `{c.kinds[at]}` here", at, f"write `{right}`")
    c.at = at + 1
    if right == "null":
        return n.NullLit(c.starts[at], c.ends[at])
    return n.BoolLit(c.starts[at], c.ends[at], right == "true")


def read_behind(c: Cursor, node: n.Expr, start: int) -> n.Expr:
    """`x!`, which is null nowhere, and `println!(…)`, as they are written elsewhere."""
    at = c.at
    c.at = at + 1
    is_called = isinstance(node, n.Name) and c.kinds[c.at] == "(" and c.at not in c.fresh
    hint = NAMES.get(c.values[at - 1], "leave it out") if is_called else SIGNS_BEHIND["!"]
    c.report("V0109", "there is no `!` after a value here", at, hint)
    return n.BadExpr(start, c.ends[at])


def read_question(c: Cursor, left: n.Expr, start: int, at: int, read: _Read) -> n.Expr:
    """`x ?: y` and `x?`, as they are written elsewhere."""
    sign = "?:" if c.kinds[at + 1] == ":" else "?"
    c.report("V0109", f"there is no `{sign}` here", at, SIGNS_BEHIND[sign])
    if sign == "?":
        return left
    c.at += 1
    c.deepen(at)
    right = read(c)
    c.depth -= 1
    return n.Binary(start, c.ends[c.at - 1], "??", left, right, c.starts[at])


def is_do_while(c: Cursor, at: int) -> bool:
    """Whether a `do { … } while` begins there."""
    closer = c.partner(at + 1) if c.kinds[at] == "do" and c.kinds[at + 1] == "{" else -1
    return closer > 0 and c.kinds[closer + 1] == "while"


def read_do_while(c: Cursor, at: int, read: _Read) -> n.Expr:
    """`do { … } while (c)`, whose first word stands at `at`."""
    hint = "write `while true { … if not (condition) { break } }`"
    c.report("V0109", "there is no `do { … } while` here", at, hint)
    c.at = c.partner(at + 1) + 2
    read(c)
    return _unread(c, at)


def read_no_operand(c: Cursor) -> n.Expr:
    """No expression begins here: say so, or what was meant."""
    at, kinds = c.at, c.kinds
    if kinds[at] == "." and kinds[at + 1] == "number" and c.ends[at] == c.starts[at + 1]:
        c.report("V0106", "a number does not begin with `.`", at, f"write `0.{c.values[at + 1]}`")
        c.at = at + 2
        return n.NumberLit(c.starts[at], c.ends[at + 1], 0)
    refuse_pair(c, at)
    if kinds[at] == "function":
        return _read_function_value(c)
    if kinds[at] == "/" and (end := _regex_end(c, at)) > 0:
        return _read_regex(c, end)
    hint = SIGNS_ALONE.get(kinds[at], "")
    if kinds[at - 1] in ("and", "or") and kinds[at] in ("<", ">", "<=", ">=", "==", "!="):
        hint = "each side is whole: write `a > 1 and a < 10`"
    if kinds[at] == "+" and at in c.fresh:
        hint = "the operator ends the line before: `… +`"
    if kinds[at - 1] == "..":
        hint = "both ends belong to a range: `for i in 3 { … }` is 0, 1, 2, and `1..3` is 1, 2, 3"
    return c.unexpected("an expression", hint)


def refuse_pair(c: Cursor, at: int) -> None:
    """Give up where two signs stand side by side, around `at`, that are one in another language."""
    for first in (at - 1, at - 2, at):
        if first < 0 or c.ends[first] != c.starts[first + 1]:
            continue
        sign = c.values[first] + c.values[first + 1]
        if sign == "::" and c.kinds[first + 2] != "name":
            # Those of a slice.
            continue
        if sign in PAIRS_OF_SIGNS and c.kinds[first] not in ("text", "piece"):
            c.report("V0109", f"there is no `{sign}` here", first, PAIRS_OF_SIGNS[sign])
            raise Unreadable


def _read_function_value(c: Cursor) -> n.Expr:
    """`function(x) { … }` and `function f(x) { … }` as a value; the word stands here."""
    at = c.at
    _tell(c, at, "`function` without a name", PREFIXES["function"])
    c.at += 1 + (c.kinds[at + 1] == "name")
    if c.kinds[c.at] != "(":
        raise Unreadable
    c.at = c.partner(c.at) + 1 or c.at + 1
    if c.kinds[c.at] != "{":
        raise Unreadable
    c.at = c.partner(c.at) + 1 or c.at + 1
    return _unread(c, at)


def _regex_end(c: Cursor, at: int) -> int:
    """Where the regular expression ends that a `/` begins, with its flags; 0 if none does on its line."""
    found = _REGEX.match(c.text, c.starts[at])
    return found.end() if found else 0


def _read_regex(c: Cursor, end: int) -> n.Expr:
    """`/ab+c/gi`; what was found wrong in it is not."""
    at, start = c.at, c.starts[c.at]
    c.diagnostics[:] = [each for each in c.diagnostics if not start <= each.start < end]
    c.report_span("V0109", "there are no regular expressions of their own here", start, end, SIGNS_ALONE["/"])
    while c.starts[c.at] < end and c.kinds[c.at] != "end":
        c.at += 1
    return _unread(c, at)


def _tell(c: Cursor, at: int, what: str, hint: str) -> None:
    c.report("V0109", f"there is no {what} here", at, hint)


def _unread(c: Cursor, at: int) -> n.BadExpr:
    return n.BadExpr(c.starts[at], c.ends[c.at - 1])


def _skip_lambda(c: Cursor, at: int) -> n.Expr:
    from antiphon.lang.syntax.expression_parser import read_expression

    while c.kinds[c.at] != ":" and c.kinds[c.at] != "end" and c.at not in c.fresh:
        c.at += 1
    c.at += c.kinds[c.at] == ":"
    c.deepen(at)
    read_expression(c)
    c.depth -= 1
    return _unread(c, at)


def _skip_to_call(c: Cursor) -> None:
    """`<text, number>()`, as it follows a class elsewhere."""
    at = c.at
    while at not in c.fresh and c.kinds[at] not in ("(", "end", ";", "}"):
        at += 1
    if c.kinds[at] == "(" and c.partner(at) > 0:
        c.at = c.partner(at) + 1


def _has_else(c: Cursor, at: int) -> bool:
    """Whether an `else` follows before the line or the bracket ends."""
    at += 1
    while at not in c.fresh and (kind := c.kinds[at]) not in (")", "]", "}", ",", ";", "end", "}hole", "{"):
        if kind == "else":
            return True
        at = (c.partner(at) if kind in PAIRS else -1) + 1 or at + 1
    return False


def _skip_to_closer(c: Cursor) -> None:
    """Go to the end of the bracket we are in, or of the line outside one."""
    at = c.at
    while (kind := c.kinds[at]) not in (")", "]", "}", "end", "}hole") and (c.nested or at not in c.fresh):
        at = (c.partner(at) if kind in PAIRS else -1) + 1 or at + 1
    c.at = at
