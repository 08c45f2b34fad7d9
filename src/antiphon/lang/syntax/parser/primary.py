"""Parsing of primary expressions by their first token: a sign, a bracket, a quote or a keyword.

The keywords call out of the program: models (`do`, `vibe`), the human (`ask`), Python (`py`) and `async for`.
"""

from __future__ import annotations

import re
from typing import cast

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.expressions import (
    is_do_while,
    parse_do_while,
    parse_foreign_constant,
    reject_sign_pair,
)
from antiphon.lang.syntax.foreign_syntax.table import (
    AFTER_PROMPT_HINTS,
    FOREIGN_CONSTANTS,
    OBJECT_ENTRY_HINTS,
    POSTFIX_WORD_HINTS,
    WORDS_BEFORE_MODEL,
)
from antiphon.lang.syntax.parser.blocks import parse_loop_body
from antiphon.lang.syntax.parser.cursor import MAX_DEPTH, Cursor, SyntaxErrorReported
from antiphon.lang.syntax.parser.expressions import (
    ADDITIVE_POWER,
    AFTER_OBJECT,
    NOT_POWER,
    OPERAND_PARSERS,
    UNARY_POWER,
    is_lambda_start,
    parse_expression,
    parse_lambda,
    parse_nested_expression,
)
from antiphon.lang.syntax.parser.types import parse_plain_text
from antiphon.lang.syntax.tokens import RESERVED_WORDS

_CONTEXTS = frozenset(("default", "local", "none"))
_PYTHON_NAMES = re.compile(r"\s*(?:([^\W\d]\w*)\s*(,|\Z)|\Z)")


def parse_ask_model(c: Cursor) -> n.Expr:
    """Parse `do "…" model default`; its keyword is the current token."""
    at = c.at
    if is_do_while(c, at):
        return parse_do_while(c, at, parse_expression)
    c.at = at + 1
    _reject_missing_prompt(c, at)
    prompt = parse_nested_expression(c, at, ADDITIVE_POWER)
    node = n.ModelCall(c.starts[at], c.ends[c.at - 1], "do" if c.kinds[at] == "do" else "vibe", prompt)
    if _is_name_on_line(c) and c.values[c.at] not in _CONTEXTS and c.values[c.at] not in POSTFIX_WORD_HINTS:
        if c.values[c.at] in WORDS_BEFORE_MODEL and _is_model_name(c, c.at + 1):
            c.report("V0109", f"there is no `{c.values[c.at]}` here", c.at, 'name the model alone: `do "…" m`')
            c.at += 1
        if c.kinds[c.at] == "name":
            _set_model(c, node)
    if c.kinds[c.at] == "{" and c.at not in c.fresh and c.kinds[c.at + 1] == "name" and c.kinds[c.at + 2] == ":":
        hint = "settings are those of a model: declare `model m = { name: …, temperature: 0 }`, and ask it by its name"
        c.fail_unexpected("the end of the statement", hint)
    if _is_name_on_line(c) and c.values[c.at] in _CONTEXTS:
        node.context = cast(n.Context, c.values[c.at])
        node.end = c.ends[c.at]
        c.at += 1
    return node


def _reject_missing_prompt(c: Cursor, at: int) -> None:
    """Reject `do` without a prompt, `do.x` and `do(prompt: "…")`; the keyword is at `at`."""
    after = at + 1
    word = c.values[at]
    if c.kinds[after] == "end":
        c.fail_unexpected("a prompt", f'write `{word} "…"`')
    if after in c.fresh and not c.nested and c.kinds[after] not in ("text", "quote"):
        c.report("V0101", f"expected a prompt after `{word}`, found the end of the line", at, f'write `{word} "…"`')
        raise SyntaxErrorReported
    if c.kinds[after] == ".":
        c.fail_unexpected("a prompt", AFTER_PROMPT_HINTS["."].replace("do", word))
    has_name = c.kinds[after] == "(" and c.kinds[after + 1] == "name" and c.kinds[after + 2] in (":", "=")
    if has_name and c.kinds[c.matching_bracket(after) + 1] != "=>":
        c.report(
            "V0109",
            f"`{word}` is no function, and takes no arguments",
            after,
            AFTER_PROMPT_HINTS[":"].replace("do", word),
        )
        raise SyntaxErrorReported


def _is_name_on_line(c: Cursor) -> bool:
    return c.kinds[c.at] == "name" and c.at not in c.fresh


def _is_model_name(c: Cursor, at: int) -> bool:
    is_value = c.kinds[at] == "{" or (c.kinds[at] == "name" and c.values[at] not in _CONTEXTS)
    return is_value and at not in c.fresh


def _set_model(c: Cursor, node: n.ModelCall) -> None:
    at = c.at
    node.end = c.ends[at]
    if c.values[at] == "model":
        node.says_model = True
    else:
        node.model = n.Name(c.starts[at], c.ends[at], c.values[at])
    c.at = at + 1


def parse_ask_human(c: Cursor) -> n.Expr:
    """Parse `ask "…"`; its keyword is the current token."""
    at = c.at
    c.at = at + 1
    _reject_missing_prompt(c, at)
    prompt = parse_nested_expression(c, at, ADDITIVE_POWER)
    return n.AskHuman(c.starts[at], c.ends[c.at - 1], prompt)


def parse_python_block(c: Cursor) -> n.Expr:
    """Parse `py(a, b) { … }`, which is one token."""
    at = c.at
    part = c.tokens.python[at]
    c.at = at + 1
    names: list[n.Name] = []
    place = part.names_start
    while place < part.names_end:
        match = _PYTHON_NAMES.match(c.text, place, part.names_end)
        if match is None or (match[1] or "") in RESERVED_WORDS:
            hint = "give it values by name, as in `py(a, b) { … }`"
            c.report_span("V0101", "expected names between the parentheses of `py`", place, part.names_end, hint)
            break
        if match[1]:
            names.append(n.Name(match.start(1), match.end(1), match[1]))
        place = match.end()
    return n.PyBlock(c.starts[at], c.ends[at], names, c.values[at], part.code_start, part.is_pure)


def parse_async_for(c: Cursor) -> n.Expr:
    """Parse `async for x in xs { … }`; the `async` is already consumed."""
    start = c.starts[c.at - 1]
    c.at += 1
    name = c.name("the name of each item", "take it apart in the block: `const { … } = item`")
    word = c.expect("in", "`in` and what to go through")
    iterable = parse_nested_expression(c, name, 0)
    body = parse_loop_body(c)
    return n.AsyncFor(start, body.end, c.values[name], iterable, body, c.starts[name], c.starts[word])


def is_object_operand(c: Cursor) -> bool:
    """Return True if the `{` here begins an object in an expression, and not the block that should follow one."""
    after = c.matching_bracket(c.at) + 1
    return after > 0 and after not in c.fresh and c.kinds[after] in AFTER_OBJECT


def _parse_negative(c: Cursor) -> n.Expr:
    at = c.at
    c.at = at + 1
    if (at in c.fresh or not at) and c.kinds[at + 1] == "-" and c.text[c.starts[at] : c.starts[at] + 3] == "-- ":
        c.report("V0111", "a comment does not begin with `--`", at, "write `//`")
        raise SyntaxErrorReported
    if c.kinds[at + 1] == "{":
        reject_sign_pair(c, at)
    operand = parse_nested_expression(c, at, UNARY_POWER)
    return n.Unary(c.starts[at], c.ends[c.at - 1], "-", operand)


def _parse_not(c: Cursor) -> n.Expr:
    at, power = c.at, NOT_POWER
    if c.kinds[at] == "!":
        c.report("V0109", "there is no `!` here", at, "write `not`")
        power = UNARY_POWER
    c.at = at + 1
    operand = parse_nested_expression(c, at, power)
    return n.Unary(c.starts[at], c.ends[c.at - 1], "not", operand)


def _parse_boolean(c: Cursor) -> n.Expr:
    at = c.at
    c.at = at + 1
    return n.BoolLit(c.starts[at], c.ends[at], c.kinds[at] == "true")


def _parse_null(c: Cursor) -> n.Expr:
    at = c.at
    c.at = at + 1
    return n.NullLit(c.starts[at], c.ends[at])


def _parse_parenthesis(c: Cursor) -> n.Expr:
    opener, depth, nested = c.at, c.depth, c.nested
    if depth >= MAX_DEPTH:
        c.fail_too_deep(opener)
    if is_lambda_start(c):
        return parse_lambda(c)
    c.depth, c.nested, c.at = depth + 1, True, opener + 1
    try:
        node = parse_expression(c)
        if c.kinds[c.at] == ")":
            c.at += 1
        elif c.kinds[c.at] == "," and c.matching_bracket(opener) > 0:
            is_asked = c.kinds[opener - 1] in ("do", "vibe", "ask")
            hint = 'name the model behind it, `do "…" m`; tools and settings are those of a model' if is_asked else ""
            c.report("V0109", "there are no tuples here", opener, hint or "write an array: `[a, b]`")
            raise SyntaxErrorReported
        else:
            c.report_unclosed(opener, ")")
    except SyntaxErrorReported:
        c.leave(opener)
        node = n.BadExpr(c.starts[opener], c.ends[c.at - 1])
    c.depth, c.nested = depth, nested
    return node


def _parse_array(c: Cursor) -> n.Expr:
    start = c.starts[c.at]
    items = c.listed("]", _parse_array_item)
    return n.ArrayLit(start, c.ends[c.at - 1], items)


def _parse_array_item(c: Cursor) -> n.Expr | n.Spread:
    return _parse_spread(c) if c.kinds[c.at] == "..." else parse_expression(c)


def _parse_spread(c: Cursor) -> n.Spread:
    at = c.at
    c.at = at + 1
    value = parse_expression(c)
    return n.Spread(c.starts[at], c.ends[c.at - 1], value)


def _parse_object(c: Cursor) -> n.ObjectLit:
    start, wrong = c.starts[c.at], len(c.diagnostics)
    entries = c.listed("}", _parse_object_entry, by_line=True)
    if len(c.diagnostics) > wrong and (
        any(isinstance(each.value, n.BadExpr) for each in entries)
        or any(not each.is_habit for each in c.diagnostics[wrong:])
    ):
        # Its other fields are unknown.
        entries.append(n.Spread(start, start, n.BadExpr(start, start)))
    return n.ObjectLit(start, c.ends[c.at - 1], entries)


def _parse_object_entry(c: Cursor) -> n.ObjectEntry | n.Spread:
    at = c.at
    kind = c.kinds[at]
    if kind == "...":
        return _parse_spread(c)
    start, key = c.starts[at], c.values[at]
    if kind == "text":
        c.at = at + 1
    elif kind == "quote":
        key = parse_plain_text(c, "a key")
    elif kind == "number":
        hint = (
            f'write `"{key}"`: the keys of an object are texts' if c.kinds[at + 1] == ":" else OBJECT_ENTRY_HINTS[","]
        )
        c.report("V0109", "a number is no key here", at, hint)
        c.at = at + 1
    elif kind in OBJECT_ENTRY_HINTS and kind != "name":
        c.fail_unexpected("a key", OBJECT_ENTRY_HINTS[kind])
    else:
        c.word("a key")
    after = c.kinds[c.at]
    if after == ":":
        c.at += 1
        value = parse_expression(c)
        return n.ObjectEntry(start, c.ends[c.at - 1], key, value, kind == "text")
    if after == "(" and c.kinds[c.matching_bracket(c.at) + 1] != "{":
        c.fail_unexpected("`,` or `}`", "add the `}` that is missing before it")
    if kind != "name" or (after in OBJECT_ENTRY_HINTS and after != "," and c.at not in c.fresh):
        c.fail_unexpected(
            "`:` and a value", OBJECT_ENTRY_HINTS.get(after, "" if after != "}" else OBJECT_ENTRY_HINTS[","])
        )
    end = c.ends[at]
    return n.ObjectEntry(start, end, key, n.Name(start, end, key), False, True)


def _parse_interpolated_text(c: Cursor) -> n.Expr:
    opener = c.at
    quote = c.values[opener]
    parts: list[str | n.Interpolation] = []
    c.at = opener + 1
    while (kind := c.kinds[c.at]) != "endquote":
        if kind == "piece":
            parts.append(c.values[c.at])
            c.at += 1
        else:
            parts.append(_parse_interpolation(c))
    c.at += 1
    return n.TextLit(c.starts[opener], c.ends[c.at - 1], parts, quote)


def _parse_interpolation(c: Cursor) -> n.Interpolation:
    opener, depth, nested = c.at, c.depth, c.nested
    if depth >= MAX_DEPTH:
        c.fail_too_deep(opener)
    c.depth, c.nested, c.at = depth + 1, True, opener + 1
    try:
        if c.kinds[c.at] == "}hole":
            hint = "write an expression in it, or `\\${` for the two signs themselves"
            c.report("V0125", "there is nothing in this `${}`", opener, hint)
            raise SyntaxErrorReported
        value = parse_expression(c)
        if c.kinds[c.at] != "}hole":
            c.fail_unexpected("`}`")
        c.at += 1
    except SyntaxErrorReported:
        c.leave(opener)
        value = n.BadExpr(c.ends[opener], c.starts[c.at - 1])
    c.depth, c.nested = depth, nested
    return n.Interpolation(c.starts[opener], c.ends[c.at - 1], value, c.kinds[opener] == "${")


OPERAND_PARSERS.update(
    {
        "-": _parse_negative,
        "not": _parse_not,
        "!": _parse_not,
        "true": _parse_boolean,
        "false": _parse_boolean,
        "null": _parse_null,
        "(": _parse_parenthesis,
        "[": _parse_array,
        "{": _parse_object,
        "quote": _parse_interpolated_text,
        "do": parse_ask_model,
        "vibe": parse_ask_model,
        "ask": parse_ask_human,
        "py": parse_python_block,
        "async": parse_async_for,
    }
    | dict.fromkeys(FOREIGN_CONSTANTS, parse_foreign_constant)
)
