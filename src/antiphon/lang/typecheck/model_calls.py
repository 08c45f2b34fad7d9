"""Model calls, questions to the human, Python blocks and `async for`."""

from __future__ import annotations

from antiphon.lang.syntax.nodes import AskHuman, AsyncFor, Expr, ModelCall, PyBlock
from antiphon.lang.typecheck.assignability import is_assignable
from antiphon.lang.typecheck.checker import Checker, FunctionFrame
from antiphon.lang.typecheck.iteration import infer_loop_item, is_private_value
from antiphon.lang.typecheck.names import check_model_reference, resolve_name
from antiphon.lang.typecheck.narrowing import invalidate_by_node
from antiphon.lang.typecheck.nullability import check_prompt_values, require_non_null
from antiphon.lang.typecheck.python_blocks import find_python_error
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short
from antiphon.lang.typecheck.types import (
    AI_MEMBER_NAMES,
    BOOLEAN,
    JSON,
    MODEL,
    NEVER,
    PROMPT,
    TEXT,
    TOOL,
    AIResultType,
    Array,
    Object,
    Type,
    get_operand_type,
    has_function,
    is_mutable,
    strip_ai_result,
)
from antiphon.lang.typecheck.unions import inhabited_options


def infer_ask_model(c: Checker, node: ModelCall, wanted: Type | None) -> Type:
    """Infer the type of `do prompt model context`: an AI result of the expected type."""
    _check_prompt(c, node.prompt)
    if node.model is not None:
        check_model_reference(c, node.model)
    if node.context in ("default", "local"):
        c.shows_variables = True
    node.wanted = _resolve_answer_type(c, node, wanted)
    for each in inhabited_options(node.wanted) if node.wanted is not None else ():
        if isinstance(each, Object) and each.name:
            _check_answer_fields(c, node, each)
    # The model may call tools of the program, which may change values.
    invalidate_by_node(c, node)
    return wanted if wanted is not None and has_function(wanted) else AIResultType(node.wanted or JSON)


def _check_answer_fields(c: Checker, node: ModelCall, wanted: Object) -> None:
    """Report fields of an answer type that have the names of an AI result's own members."""
    for name in AI_MEMBER_NAMES:
        if name in wanted.fields:
            message = (
                f"an answer cannot be a `{wanted.name}`: its field `{name}` could not be told from the result's own"
            )
            c.report(
                "V0418", message, node, f"give the field another name, or take it apart: `const {{ {name}: … }} = …`"
            )


def infer_ask_human(c: Checker, node: AskHuman, wanted: Type | None) -> Type:
    """Infer the type of `ask prompt`: text, or the expected type."""
    _check_prompt(c, node.prompt)
    node.wanted = _resolve_answer_type(c, node, wanted)
    return wanted if wanted is not None and has_function(wanted) else node.wanted or TEXT


def infer_python_block(c: Checker, node: PyBlock, _: Type | None) -> Type:
    """Check `py(a, b) { … }`, whose result is json."""
    for each in node.parameters:
        symbol = resolve_name(c, each)
        each.type = symbol.type if symbol is not None else JSON
        if symbol is not None and (symbol.kind == "type" or not is_assignable(each.type, JSON)):
            c.report("V0609", f"`{each.name}` cannot be handed to Python: it is no data", each)
    if c.untrusted:
        c.report("V0603", "Python is not allowed by --untrusted", (node.start, node.start + (4 if node.is_pure else 2)))
        return JSON
    error = find_python_error(node.code, [each.name for each in node.parameters])
    if error is not None:
        message, offset = error
        start = min(node.code_start + offset, node.end)
        c.report("V0608", f"this is not Python: {message}", (start, min(start + 1, node.end)))
    return JSON


def infer_async_for(c: Checker, node: AsyncFor, wanted: Type | None) -> Type:
    """Infer the type of `async for x in xs { yield … }`: an array of the yielded values."""
    item = infer_loop_item(c, node.iterable, c.expr(node.iterable))
    goal = strip_ai_result(wanted) if wanted is not None else None
    frame, outer = FunctionFrame(node, c.frame, None, is_async_for=True), c.frame
    frame.wanted = goal.item if isinstance(goal, Array) else None
    c.frame = frame
    symbol = node.symbol = c.symbol(
        node.name, "loop", item, node.name_start, node.body.start, private=is_private_value(node.iterable)
    )
    symbol.until, symbol.is_global = node.body.end, False
    invalidate_by_node(c, node.body)
    c.block(node.body, (symbol,))
    c.frame = outer
    if frame.wanted is None and frame.yields is not None and is_mutable(frame.yields):
        c.combined_values.append(node)
    return Array(frame.yields or NEVER)


def _check_prompt(c: Checker, node: Expr) -> None:
    type_ = require_non_null(c, node, c.expr(node))
    check_prompt_values(c, node)
    kind = get_operand_type(type_)
    if kind is not TEXT and kind is not JSON:
        hint = f'put it into a text: `"${{{c.source_text(node)}}}"`' if is_assignable(type_, JSON) else ""
        if kind is BOOLEAN:
            hint = 'a prompt that is chosen stands in parentheses: `do (c ? "…" : "…")`'
        c.report("V0314", f"a prompt is text, found `{format_type_general(kind)}`", node, hint)


def _resolve_answer_type(c: Checker, node: ModelCall | AskHuman, wanted: Type | None) -> Type | None:
    """Return the type that an answer must have; None where any answer is accepted."""
    if wanted is None:
        return None
    type_ = strip_ai_result(wanted)
    if type_ is PROMPT:
        return TEXT
    if has_function(type_):
        c.report("V0342", f"nobody can answer with a function, and `{format_type_short(type_)}` is wanted", node)
        return None
    if type_ in (JSON, NEVER, MODEL, TOOL):
        return None
    return type_
