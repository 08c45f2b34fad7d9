"""Parsing of calls out of the program: models (`do`, `vibe`), the human (`ask`), Python (`py`) and `async for`."""

from __future__ import annotations

import re
from typing import cast

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.expressions import is_do_while, parse_do_while
from antiphon.lang.syntax.foreign_syntax.table import AFTER_PROMPT_HINTS, POSTFIX_WORD_HINTS, WORDS_BEFORE_MODEL
from antiphon.lang.syntax.parser.blocks import parse_loop_body
from antiphon.lang.syntax.parser.cursor import Cursor, SyntaxErrorReported
from antiphon.lang.syntax.parser.expressions import ADDITIVE_POWER, parse_expression, parse_nested_expression
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
