"""Parsing of foreign syntax in expressions: reported once, and parsed as the equivalent where that is clear."""

from __future__ import annotations

import re
from collections.abc import Callable

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.table import (
    FOREIGN_CONSTANTS,
    GLOBAL_NAME_HINTS,
    POSTFIX_SIGN_HINTS,
    POSTFIX_WORD_HINTS,
    PREFIX_SIGN_HINTS,
    PREFIX_WORD_HINTS,
    SIGN_PAIR_HINTS,
    STRING_PREFIX_HINTS,
)
from antiphon.lang.syntax.parser.cursor import Cursor, SyntaxErrorReported
from antiphon.lang.syntax.parser.types import parse_type
from antiphon.lang.syntax.tokens import BRACKET_PAIRS

#: First tokens of an operand that cannot follow a name on its line.
OPERAND_STARTS = frozenset(
    ("name", "text", "quote", "number", "true", "false", "null", "do", "vibe", "ask", "py", "function")
)
#: Token kinds of foreign words and signs after a value.
_POSTFIX_KINDS = frozenset(("name", "if", "for", "|"))
#: Foreign words before parentheses, and the token that must follow the parentheses.
_BEFORE_BRACKET = {"ts": "{", "switch": "{", "when": "{", "async": "=>"}
_REGEX = re.compile(r"/(?![*/ ])(?:\\.|\[[^\]\r\n]*\]|[^/\\\[\r\n])+/[a-z]*")
_ParseExpression = Callable[[Cursor], n.Expr]


def is_foreign_prefix(c: Cursor, at: int) -> bool:
    """Return True if the word there is a foreign prefix of a value, and cannot be a name."""
    word, after = c.values[at], c.kinds[at + 1]
    if at + 1 in c.fresh:
        return False
    if word in STRING_PREFIX_HINTS:
        return after in ("text", "quote") and c.ends[at] == c.starts[at + 1]
    if word == "lambda":
        return after == "name" or (after == ":" and c.kinds[at - 1] == "=")
    if word in _BEFORE_BRACKET and after == "(":
        return c.kinds[c.matching_bracket(at + 1) + 1] == _BEFORE_BRACKET[word]
    if word == "async":
        return after in ("do", "vibe") or (after == "name" and c.kinds[at + 2] == "=>")
    if word == "ts":
        return False
    return word in PREFIX_WORD_HINTS and after in OPERAND_STARTS


def parse_prefixed_value(c: Cursor, read: _ParseExpression) -> n.Expr:
    """Report a foreign word and parse the value after it; the word is the current token."""
    at = c.at
    word = c.values[at]
    c.at = at + 1
    if word in STRING_PREFIX_HINTS:
        _report_foreign(c, at, f"`{word}` before a string", STRING_PREFIX_HINTS[word])
        return read(c)
    both = f"{word} {c.values[at + 1]}" if c.kinds[at + 1] in ("name", "do", "vibe") else ""
    if word == "new" and c.values[at + 1].endswith(("Error", "Exception")):
        both = "new Error"
    _report_foreign(
        c, at, f"`{word}`", fill_block_parameters(c, at, PREFIX_WORD_HINTS.get(both) or PREFIX_WORD_HINTS[word])
    )
    if word == "lambda":
        return _skip_lambda(c, at)
    if word == "ts":
        c.at = c.matching_bracket(c.matching_bracket(at + 1) + 1) + 1
        return n.BadExpr(c.starts[at], c.ends[c.at - 1])
    c.enter_nesting(at)
    value = read(c)
    c.depth -= 1
    if word == "new" and c.kinds[c.at] == "<":
        _skip_type_arguments(c)
    if word in ("switch", "when") and c.kinds[c.at] == "{":
        c.at = c.matching_bracket(c.at) + 1 or c.at + 1
    return value if word in ("await", "async") else _make_bad_expression(c, at)


def fill_block_parameters(c: Cursor, at: int, hint: str) -> str:
    """Return a hint with the parameters of the foreign block filled in: `py(a, b) { … }`."""
    taken = _PARAMETERS.match(c.text, c.ends[at])
    return hint.replace("`py(x)", f"`py{taken[0]}") if taken else hint


_PARAMETERS = re.compile(r"\((?:[^\W\d]\w*(?:, ?[^\W\d]\w*)*)?\)(?= ?\{)")


def is_foreign_postfix(c: Cursor, kind: str) -> bool:
    """Return True if a foreign word follows the value."""
    return kind in _POSTFIX_KINDS and c.values[c.at] in POSTFIX_WORD_HINTS and c.at not in c.fresh


def parse_foreign_postfix(c: Cursor, left: n.Expr, start: int, read: _ParseExpression) -> n.Expr:
    """Report and parse `x if c else y`, `x for x in xs`, `x as T` or `x instanceof T`."""
    at = c.at
    word = c.values[at]
    if word in ("unless", "of", "then"):
        return left
    if word == "if" and not _has_else(c, at):
        return left
    _report_foreign(c, at, f"`{word}` after a value", POSTFIX_WORD_HINTS[word])
    c.at = at + 1
    if word == "for":
        _skip_to_closer(c)
        return n.BadExpr(start, c.ends[c.at - 1])
    if word == "as" or word == "satisfies":
        if c.kinds[c.at] == "const":
            c.at += 1
        else:
            parse_type(c)
        return left
    if word == "if":
        c.enter_nesting(at)
        condition = read(c)
        colon = c.expect("else", "`else` and the other value")
        other = read(c)
        c.depth -= 1
        return n.Conditional(start, c.ends[c.at - 1], condition, left, other, c.starts[at], c.starts[colon])
    c.enter_nesting(at)
    read(c)
    c.depth -= 1
    return n.BadExpr(start, c.ends[c.at - 1])


def parse_foreign_constant(c: Cursor) -> n.Expr:
    """Report and parse `True`, `None` or `undefined`, which is the current token."""
    at = c.at
    right = FOREIGN_CONSTANTS[c.kinds[at]]
    c.report("V0110", f"there is no `{c.kinds[at]}` here", at, f"write `{right}`")
    c.at = at + 1
    if right == "null":
        return n.NullLit(c.starts[at], c.ends[at])
    return n.BoolLit(c.starts[at], c.ends[at], right == "true")


def parse_postfix_exclamation(c: Cursor, node: n.Expr, start: int) -> n.Expr:
    """Report the `!` of `x!` (not null) and of `println!(…)`."""
    at = c.at
    c.at = at + 1
    is_called = isinstance(node, n.Name) and c.kinds[c.at] == "(" and c.at not in c.fresh
    hint = GLOBAL_NAME_HINTS.get(c.values[at - 1], "leave it out") if is_called else POSTFIX_SIGN_HINTS["!"]
    c.report("V0109", "there is no `!` after a value here", at, hint)
    return n.BadExpr(start, c.ends[at])


def parse_question_mark(c: Cursor, left: n.Expr, start: int, at: int, read: _ParseExpression) -> n.Expr:
    """Report and parse `x ?: y` and `x?`."""
    sign = "?:" if c.kinds[at + 1] == ":" else "?"
    c.report("V0109", f"there is no `{sign}` here", at, POSTFIX_SIGN_HINTS[sign])
    if sign == "?":
        return left
    c.at += 1
    c.enter_nesting(at)
    right = read(c)
    c.depth -= 1
    return n.Binary(start, c.ends[c.at - 1], "??", left, right, c.starts[at])


def is_do_while(c: Cursor, at: int) -> bool:
    """Return True if a `do { … } while` begins there."""
    closer = c.matching_bracket(at + 1) if c.kinds[at] == "do" and c.kinds[at + 1] == "{" else -1
    return closer > 0 and c.kinds[closer + 1] == "while"


def parse_do_while(c: Cursor, at: int, read: _ParseExpression) -> n.Expr:
    """Report and skip `do { … } while (c)`, whose first word is at `at`."""
    hint = "write `while true { … if not (condition) { break } }`"
    c.report("V0109", "there is no `do { … } while` here", at, hint)
    c.at = c.matching_bracket(at + 1) + 2
    read(c)
    return _make_bad_expression(c, at)


def reject_operand(c: Cursor) -> n.Expr:
    """Report that no expression begins here, with a hint at what was meant."""
    at, kinds = c.at, c.kinds
    if kinds[at] == "." and kinds[at + 1] == "number" and c.ends[at] == c.starts[at + 1]:
        c.report("V0106", "a number does not begin with `.`", at, f"write `0.{c.values[at + 1]}`")
        c.at = at + 2
        return n.NumberLit(c.starts[at], c.ends[at + 1], 0)
    reject_sign_pair(c, at)
    if kinds[at] == "function":
        return _skip_function_value(c)
    if kinds[at] == "/" and (end := _find_regex_end(c, at)) > 0:
        return _skip_regex(c, end)
    hint = PREFIX_SIGN_HINTS.get(kinds[at], "")
    if kinds[at - 1] in ("and", "or") and kinds[at] in ("<", ">", "<=", ">=", "==", "!="):
        hint = "each side is whole: write `a > 1 and a < 10`"
    if kinds[at] == "+" and at in c.fresh:
        hint = "the operator ends the line before: `… +`"
    if kinds[at - 1] == "..":
        hint = "both ends belong to a range: `for i in 3 { … }` is 0, 1, 2, and `1..3` is 1, 2, 3"
    return c.fail_unexpected("an expression", hint)


def reject_sign_pair(c: Cursor, at: int) -> None:
    """Raise if two adjacent signs around `at` are one sign of another language."""
    for first in (at - 1, at - 2, at):
        if first < 0 or c.ends[first] != c.starts[first + 1]:
            continue
        sign = c.values[first] + c.values[first + 1]
        if sign == "::" and c.kinds[first + 2] != "name":
            # These are the colons of a slice.
            continue
        if sign in SIGN_PAIR_HINTS and c.kinds[first] not in ("text", "piece"):
            c.report("V0109", f"there is no `{sign}` here", first, SIGN_PAIR_HINTS[sign])
            raise SyntaxErrorReported


def _skip_function_value(c: Cursor) -> n.Expr:
    """Report and skip `function(x) { … }` or `function f(x) { … }` as a value; the word is the current token."""
    at = c.at
    _report_foreign(c, at, "`function` without a name", PREFIX_WORD_HINTS["function"])
    c.at += 1 + (c.kinds[at + 1] == "name")
    if c.kinds[c.at] != "(":
        raise SyntaxErrorReported
    c.at = c.matching_bracket(c.at) + 1 or c.at + 1
    if c.kinds[c.at] != "{":
        raise SyntaxErrorReported
    c.at = c.matching_bracket(c.at) + 1 or c.at + 1
    return _make_bad_expression(c, at)


def _find_regex_end(c: Cursor, at: int) -> int:
    """Return the offset after the regular expression that a `/` begins, or 0 if there is none on its line."""
    found = _REGEX.match(c.text, c.starts[at])
    return found.end() if found else 0


def _skip_regex(c: Cursor, end: int) -> n.Expr:
    """Report and skip `/ab+c/gi`, and drop the diagnostics inside it."""
    at, start = c.at, c.starts[c.at]
    c.diagnostics[:] = [each for each in c.diagnostics if not start <= each.start < end]
    c.report_span("V0109", "there are no regular expressions of their own here", start, end, PREFIX_SIGN_HINTS["/"])
    while c.starts[c.at] < end and c.kinds[c.at] != "end":
        c.at += 1
    return _make_bad_expression(c, at)


def _report_foreign(c: Cursor, at: int, what: str, hint: str) -> None:
    c.report("V0109", f"there is no {what} here", at, hint)


def _make_bad_expression(c: Cursor, at: int) -> n.BadExpr:
    return n.BadExpr(c.starts[at], c.ends[c.at - 1])


def _skip_lambda(c: Cursor, at: int) -> n.Expr:
    from antiphon.lang.syntax.parser.expressions import parse_expression

    while c.kinds[c.at] != ":" and c.kinds[c.at] != "end" and c.at not in c.fresh:
        c.at += 1
    c.at += c.kinds[c.at] == ":"
    c.enter_nesting(at)
    parse_expression(c)
    c.depth -= 1
    return _make_bad_expression(c, at)


def _skip_type_arguments(c: Cursor) -> None:
    """Skip `<text, number>()`, which follows a class in other languages."""
    at = c.at
    while at not in c.fresh and c.kinds[at] not in ("(", "end", ";", "}"):
        at += 1
    if c.kinds[at] == "(" and c.matching_bracket(at) > 0:
        c.at = c.matching_bracket(at) + 1


def _has_else(c: Cursor, at: int) -> bool:
    """Return True if an `else` follows before the line or the bracket ends."""
    at += 1
    while at not in c.fresh and (kind := c.kinds[at]) not in (")", "]", "}", ",", ";", "end", "}hole", "{"):
        if kind == "else":
            return True
        at = (c.matching_bracket(at) if kind in BRACKET_PAIRS else -1) + 1 or at + 1
    return False


def _skip_to_closer(c: Cursor) -> None:
    """Skip to the end of the enclosing bracket, or to the end of the line outside of brackets."""
    at = c.at
    while (kind := c.kinds[at]) not in (")", "]", "}", "end", "}hole") and (c.nested or at not in c.fresh):
        at = (c.matching_bracket(at) if kind in BRACKET_PAIRS else -1) + 1 or at + 1
    c.at = at
