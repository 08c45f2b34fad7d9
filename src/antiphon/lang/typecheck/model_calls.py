"""Model calls, questions to the human, Python blocks and `async for`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.python_block import dedent_code
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import inhabited_options, is_assignable
from antiphon.lang.typecheck.blocks import check_block
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.element_types import infer_loop_item, is_private_value
from antiphon.lang.typecheck.literals import check_prompt_values
from antiphon.lang.typecheck.names import check_model_reference, resolve_name
from antiphon.lang.typecheck.scopes import FunctionFrame
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short


def infer_ask_model(c: Checker, node: n.ModelCall, wanted: t.Type | None) -> t.Type:
    """Infer the type of `do prompt model context`: an AI result of the expected type."""
    _check_prompt(c, node.prompt)
    if node.model is not None:
        check_model_reference(c, node.model)
    if node.context in ("default", "local"):
        c.usage.record_shown_variables()
    node.wanted = _resolve_answer_type(c, node, wanted)
    for each in inhabited_options(node.wanted) if node.wanted is not None else ():
        if isinstance(each, t.Object) and each.name:
            _check_answer_fields(c, node, each)
    # The model may call tools of the program, which may change values.
    c.narrowing.invalidate_by_node(node)
    return wanted if wanted is not None and t.has_function(wanted) else t.AIResultType(node.wanted or t.JSON)


def _check_answer_fields(c: Checker, node: n.ModelCall, wanted: t.Object) -> None:
    """Report fields of an answer type that have the names of an AI result's own members."""
    for name in t.AI_MEMBER_NAMES:
        if name in wanted.fields:
            message = (
                f"an answer cannot be a `{wanted.name}`: its field `{name}` could not be told from the result's own"
            )
            c.report(
                "V0418", message, node, f"give the field another name, or take it apart: `const {{ {name}: … }} = …`"
            )


def infer_ask_human(c: Checker, node: n.AskHuman, wanted: t.Type | None) -> t.Type:
    """Infer the type of `ask prompt`: text, or the expected type."""
    _check_prompt(c, node.prompt)
    node.wanted = _resolve_answer_type(c, node, wanted)
    return wanted if wanted is not None and t.has_function(wanted) else node.wanted or t.TEXT


def infer_python_block(c: Checker, node: n.PyBlock, _: t.Type | None) -> t.Type:
    """Check `py(a, b) { … }`, whose result is json."""
    for each in node.parameters:
        symbol = resolve_name(c, each)
        each.type = symbol.type if symbol is not None else t.JSON
        if symbol is not None and (symbol.kind == "type" or not is_assignable(each.type, t.JSON)):
            c.report("V0609", f"`{each.name}` cannot be handed to Python: it is no data", each)
    if c.untrusted:
        c.report("V0603", "Python is not allowed by --untrusted", (node.start, node.start + (4 if node.is_pure else 2)))
        return t.JSON
    error = find_python_error(node.code, [each.name for each in node.parameters])
    if error is not None:
        message, offset = error
        start = min(node.code_start + offset, node.end)
        c.report("V0608", f"this is not Python: {message}", (start, min(start + 1, node.end)))
    return t.JSON


def infer_async_for(c: Checker, node: n.AsyncFor, wanted: t.Type | None) -> t.Type:
    """Infer the type of `async for x in xs { yield … }`: an array of the yielded values."""
    item = infer_loop_item(c, node.iterable, c.infer(node.iterable))
    goal = t.strip_ai_result(wanted) if wanted is not None else None
    frame = FunctionFrame(node, is_async_for=True, wanted_item=goal.item if isinstance(goal, t.Array) else None)
    c.scopes.enter_frame(frame)
    private = is_private_value(node.iterable)
    symbol = node.symbol = c.scopes.make_local(node.name, "loop", item, node.name_start, node.body, private)
    c.narrowing.invalidate_by_node(node.body)
    check_block(c, node.body, (symbol,))
    c.scopes.leave_frame()
    if frame.wanted_item is None and frame.yields is not None and t.is_mutable(frame.yields):
        c.aliases.record_combined(node)
    return t.Array(frame.yields or t.NEVER)


def _check_prompt(c: Checker, node: n.Expr) -> None:
    type_ = c.require_non_null(node, c.infer(node))
    check_prompt_values(c, node)
    kind = t.get_operand_type(type_)
    if kind is not t.TEXT and kind is not t.JSON:
        hint = f'put it into a text: `"${{{c.quote(node)}}}"`' if is_assignable(type_, t.JSON) else ""
        if kind is t.BOOLEAN:
            hint = 'a prompt that is chosen stands in parentheses: `do (c ? "…" : "…")`'
        c.report("V0314", f"a prompt is text, found `{format_type_general(kind)}`", node, hint)


def _resolve_answer_type(c: Checker, node: n.ModelCall | n.AskHuman, wanted: t.Type | None) -> t.Type | None:
    """Return the type that an answer must have; None where any answer is accepted."""
    if wanted is None:
        return None
    type_ = t.strip_ai_result(wanted)
    if type_ is t.PROMPT:
        return t.TEXT
    if t.has_function(type_):
        c.report("V0342", f"nobody can answer with a function, and `{format_type_short(type_)}` is wanted", node)
        return None
    if type_ in (t.JSON, t.NEVER, t.MODEL, t.TOOL):
        return None
    return type_


def find_python_error(code: str, parameters: Sequence[str] = ()) -> tuple[str, int] | None:
    """Return Python's message for the first syntax error and its offset, or None. The code is compiled, not run."""
    text, skipped = dedent_code(code)
    body = "\n".join(" " + each if each else "" for each in text.split("\n"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(f"def _({', '.join(parameters)}):\n pass\n{body}\n", "<py>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error.msg, _map_to_block_offset(code, text, (error.lineno or 3) - 3, skipped, (error.offset or 1) - 2)
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        return str(error) or "it is nested too deeply", 0
    return None


def _map_to_block_offset(code: str, text: str, line: int, skipped: int, column: int) -> int:
    """Return the offset in the block of a position in the dedented code."""
    written, read = code.split("\n"), text.split("\n")
    line = min(max(line, 0), len(read) - 1, len(written) - 1 - skipped)
    whole = written[line + skipped]
    indent = max(0, whole.find(read[line])) if read[line] else 0
    start = sum(len(each) + 1 for each in written[: line + skipped])
    return min(start + indent + max(column, 0), len(code))
