"""Reading what is asked of others: of a model (`do`, `vibe`), a human (`ask`), Python (`py`), or many (`async for`)."""

from __future__ import annotations

import re
from typing import cast

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.block_parser import read_loop_body
from antiphon.lang.syntax.cursor import Cursor, Unreadable
from antiphon.lang.syntax.expression_parser import ADDITIVE, read_deeper, read_expression
from antiphon.lang.syntax.habit_expressions import is_do_while, read_do_while
from antiphon.lang.syntax.habits import ASKED, BEFORE_MODELS, FOLLOWING
from antiphon.lang.syntax.tokens import RESERVED

_CONTEXTS = frozenset(("default", "local", "none"))
_PYTHON_NAMES = re.compile(r"\s*(?:([^\W\d]\w*)\s*(,|\Z)|\Z)")


def read_ask_model(c: Cursor) -> n.Expr:
    """`do "…" model default`; the word stands here."""
    at = c.at
    if is_do_while(c, at):
        return read_do_while(c, at, read_expression)
    c.at = at + 1
    _refuse_other_prompts(c, at)
    prompt = read_deeper(c, at, ADDITIVE)
    node = n.Ask(c.starts[at], c.ends[c.at - 1], "do" if c.kinds[at] == "do" else "vibe", prompt)
    if _is_name_here(c) and c.values[c.at] not in _CONTEXTS and c.values[c.at] not in FOLLOWING:
        if c.values[c.at] in BEFORE_MODELS and _is_model_at(c, c.at + 1):
            c.report("V0109", f"there is no `{c.values[c.at]}` here", c.at, 'name the model alone: `do "…" m`')
            c.at += 1
        if c.kinds[c.at] == "name":
            _take_model(c, node)
    if c.kinds[c.at] == "{" and c.at not in c.fresh and c.kinds[c.at + 1] == "name" and c.kinds[c.at + 2] == ":":
        hint = "settings are those of a model: declare `model m = { name: …, temperature: 0 }`, and ask it by its name"
        c.unexpected("the end of the statement", hint)
    if _is_name_here(c) and c.values[c.at] in _CONTEXTS:
        node.context = cast(n.Context, c.values[c.at])
        node.end = c.ends[c.at]
        c.at += 1
    return node


def _refuse_other_prompts(c: Cursor, at: int) -> None:
    """`do` without a prompt, `do.x` and `do(prompt: "…")`: no expression follows the word at `at`."""
    after = at + 1
    word = c.values[at]
    if c.kinds[after] == "end":
        c.unexpected("a prompt", f'write `{word} "…"`')
    if after in c.fresh and not c.nested and c.kinds[after] not in ("text", "quote"):
        c.report("V0101", f"expected a prompt after `{word}`, found the end of the line", at, f'write `{word} "…"`')
        raise Unreadable
    if c.kinds[after] == ".":
        c.unexpected("a prompt", ASKED["."].replace("do", word))
    has_name = c.kinds[after] == "(" and c.kinds[after + 1] == "name" and c.kinds[after + 2] in (":", "=")
    if has_name and c.kinds[c.partner(after) + 1] != "=>":
        c.report("V0109", f"`{word}` is no function, and takes no arguments", after, ASKED[":"].replace("do", word))
        raise Unreadable


def _is_name_here(c: Cursor) -> bool:
    return c.kinds[c.at] == "name" and c.at not in c.fresh


def _is_model_at(c: Cursor, at: int) -> bool:
    is_value = c.kinds[at] == "{" or (c.kinds[at] == "name" and c.values[at] not in _CONTEXTS)
    return is_value and at not in c.fresh


def _take_model(c: Cursor, node: n.Ask) -> None:
    at = c.at
    node.end = c.ends[at]
    if c.values[at] == "model":
        node.says_model = True
    else:
        node.model = n.Name(c.starts[at], c.ends[at], c.values[at])
    c.at = at + 1


def read_ask_human(c: Cursor) -> n.Expr:
    """`ask "…"`; the word stands here."""
    at = c.at
    c.at = at + 1
    _refuse_other_prompts(c, at)
    prompt = read_deeper(c, at, ADDITIVE)
    return n.AskHuman(c.starts[at], c.ends[c.at - 1], prompt)


def read_python(c: Cursor) -> n.Expr:
    """`py(a, b) { … }`, which is one token."""
    at = c.at
    part = c.tokens.python[at]
    c.at = at + 1
    names: list[n.Name] = []
    place = part.names_start
    while place < part.names_end:
        match = _PYTHON_NAMES.match(c.text, place, part.names_end)
        if match is None or (match[1] or "") in RESERVED:
            hint = "give it values by name, as in `py(a, b) { … }`"
            c.report_span("V0101", "expected names between the parentheses of `py`", place, part.names_end, hint)
            break
        if match[1]:
            names.append(n.Name(match.start(1), match.end(1), match[1]))
        place = match.end()
    return n.PyBlock(c.starts[at], c.ends[at], names, c.values[at], part.code_start, part.is_pure)


def read_async_for(c: Cursor) -> n.Expr:
    """`async for x in xs { … }`; the `async` is taken already."""
    start = c.starts[c.at - 1]
    c.at += 1
    name = c.name("the name of each item", "take it apart in the block: `const { … } = item`")
    word = c.expect("in", "`in` and what to go through")
    iterable = read_deeper(c, name, 0)
    body = read_loop_body(c)
    return n.AsyncFor(start, body.end, c.values[name], iterable, body, c.starts[name], c.starts[word])
