"""Asking models and the human, Python blocks, and `async for`."""

from __future__ import annotations

from antiphon.lang.check.fitting import assignable
from antiphon.lang.check.iteration import is_private, item_type
from antiphon.lang.check.names import model_name, resolve
from antiphon.lang.check.narrowing import run
from antiphon.lang.check.notation import general, shown
from antiphon.lang.check.null import check_sent, present
from antiphon.lang.check.parts import options
from antiphon.lang.check.python_code import first_error
from antiphon.lang.check.state import Checker, Frame
from antiphon.lang.check.types import (
    AI,
    AI_NAMES,
    BOOLEAN,
    JSON,
    MODEL,
    NEVER,
    PROMPT,
    TEXT,
    TOOL,
    Array,
    Object,
    Type,
    has_function,
    is_mutable,
    operand,
    plain,
)
from antiphon.lang.syntax.nodes import Ask, AskHuman, AsyncFor, Expr, PyBlock


def ask(c: Checker, node: Ask, wanted: Type | None) -> Type:
    """`do prompt model context`: an AI result of the type the place wants."""
    _check_prompt(c, node.prompt)
    if node.model is not None:
        model_name(c, node.model)
    if node.context in ("default", "local"):
        c.shows_variables = True
    node.wanted = _answer(c, node, wanted)
    for each in options(node.wanted) if node.wanted is not None else ():
        if isinstance(each, Object) and each.name:
            _check_names(c, node, each)
    # The model may call tools of the program.
    run(c, node)
    return wanted if wanted is not None and has_function(wanted) else AI(node.wanted or JSON)


def _check_names(c: Checker, node: Ask, wanted: Object) -> None:
    """Of a pattern, fields become variables; but members of an answer are reached through the result."""
    for name in AI_NAMES:
        if name in wanted.fields:
            message = (
                f"an answer cannot be a `{wanted.name}`: its field `{name}` could not be told from the result's own"
            )
            c.report(
                "V0418", message, node, f"give the field another name, or take it apart: `const {{ {name}: … }} = …`"
            )


def ask_human(c: Checker, node: AskHuman, wanted: Type | None) -> Type:
    """`ask prompt`: text, or the type the place wants."""
    _check_prompt(c, node.prompt)
    node.wanted = _answer(c, node, wanted)
    return wanted if wanted is not None and has_function(wanted) else node.wanted or TEXT


def python_block(c: Checker, node: PyBlock, _: Type | None) -> Type:
    """`py(a, b) { … }`: whatever Python makes of the variables."""
    for each in node.parameters:
        symbol = resolve(c, each)
        each.type = symbol.type if symbol is not None else JSON
        if symbol is not None and (symbol.kind == "type" or not assignable(each.type, JSON)):
            c.report("V0609", f"`{each.name}` cannot be handed to Python: it is no data", each)
    if c.untrusted:
        c.report("V0603", "Python is not allowed by --untrusted", (node.start, node.start + (4 if node.is_pure else 2)))
        return JSON
    error = first_error(node.code, [each.name for each in node.parameters])
    if error is not None:
        message, offset = error
        start = min(node.code_start + offset, node.end)
        c.report("V0608", f"this is not Python: {message}", (start, min(start + 1, node.end)))
    return JSON


def async_for(c: Checker, node: AsyncFor, wanted: Type | None) -> Type:
    """`async for x in xs { yield … }`: an array of what is yielded."""
    item = item_type(c, node.iterable, c.expr(node.iterable))
    goal = plain(wanted) if wanted is not None else None
    frame, outer = Frame(node, c.frame, None, is_async_for=True), c.frame
    frame.wanted = goal.item if isinstance(goal, Array) else None
    c.frame = frame
    symbol = node.symbol = c.symbol(
        node.name, "loop", item, node.name_start, node.body.start, private=is_private(node.iterable)
    )
    symbol.until, symbol.is_global = node.body.end, False
    run(c, node.body)
    c.block(node.body, (symbol,))
    c.frame = outer
    if frame.wanted is None and frame.yields is not None and is_mutable(frame.yields):
        c.mixed.append(node)
    return Array(frame.yields or NEVER)


def _check_prompt(c: Checker, node: Expr) -> None:
    type_ = present(c, node, c.expr(node))
    check_sent(c, node)
    kind = operand(type_)
    if kind is not TEXT and kind is not JSON:
        hint = f'put it into a text: `"${{{c.text_of(node)}}}"`' if assignable(type_, JSON) else ""
        if kind is BOOLEAN:
            hint = 'a prompt that is chosen stands in parentheses: `do (c ? "…" : "…")`'
        c.report("V0314", f"a prompt is text, found `{general(kind)}`", node, hint)


def _answer(c: Checker, node: Ask | AskHuman, wanted: Type | None) -> Type | None:
    """What an answer is expected to be; nothing in particular where the place takes anything."""
    if wanted is None:
        return None
    type_ = plain(wanted)
    if type_ is PROMPT:
        return TEXT
    if has_function(type_):
        c.report("V0342", f"nobody can answer with a function, and `{shown(type_)}` is wanted", node)
        return None
    if type_ in (JSON, NEVER, MODEL, TOOL):
        return None
    return type_
