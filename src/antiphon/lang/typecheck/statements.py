"""Statements other than declarations. Each rule returns True if the code after it is unreachable."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.table import CATCH_HINT
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import is_assignable, join_types
from antiphon.lang.typecheck.blocks import check_block, infer_returned_value
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.destructuring import make_pattern_symbols
from antiphon.lang.typecheck.element_types import infer_loop_entry, infer_loop_item, is_private_value
from antiphon.lang.typecheck.invariance import widen_fresh
from antiphon.lang.typecheck.method_calls import find_field_function
from antiphon.lang.typecheck.methods import METHODS_WITH_FUNCTION, get_methods
from antiphon.lang.typecheck.names import check_model_reference
from antiphon.lang.typecheck.narrowing import NarrowedTypes
from antiphon.lang.typecheck.operators import check_condition, warn_constant_condition
from antiphon.lang.typecheck.scopes import FunctionFrame
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short

_LITERALS = (n.ArrayLit, n.BoolLit, n.NullLit, n.NumberLit, n.ObjectLit, n.TextLit)
_EFFECT_FREE_NODES = frozenset(
    (*_LITERALS, n.Binary, n.Is, n.Index, n.Lambda, n.Member, n.Name, n.Range, n.Slice, n.Unary)
)


def check_bad_statement(_: Checker, __: n.BadStatement) -> bool:
    """Accept an unreadable statement, which has already been reported."""
    return False


def check_expression_statement(c: Checker, node: n.ExprStatement) -> bool:
    """Check an expression statement; warn if it only computes a value."""
    before = len(c.diagnostics)
    is_last = c.scopes.current is c.scopes.module and c.scopes.module.statements[-1] is node
    wanted = c.scopes.frame.returns if is_last else None
    type_ = c.infer(node.value) if wanted is None else c.check_value(node.value, wanted, "returns")
    if (
        isinstance(type_, t.CallableType)
        and isinstance(node.value, n.Name)
        and not c.in_repl
        and len(c.diagnostics) == before
    ):
        c.report(
            "V0204", f"`{node.value.name}` is named here, and not called", node, f"call it: `{node.value.name}(…)`"
        )
    # The last value of a program is its result, if it is data.
    is_result = is_last and is_assignable(type_, t.JSON)
    is_unused = type(node.value) in _EFFECT_FREE_NODES or _is_pure_method_call(node.value)
    if is_unused and not is_result and len(c.diagnostics) == before:
        c.warn("V0704", "nothing is done with this value", node.value, _hint_unused_value(c, node))
    return False


#: Methods whose function argument only filters or orders items.
_SELECTING_METHODS = frozenset(("filter", "sortBy", "groupBy"))


def _is_pure_method_call(value: n.Expr) -> bool:
    """Return True if a call of a method changes nothing and calls no function for its side effects."""
    if not isinstance(value, n.Call) or not isinstance(value.callee, n.Member):
        return False
    if value.callee.name in METHODS_WITH_FUNCTION - _SELECTING_METHODS:
        return False
    type_ = t.strip_ai_result(value.callee.object.type or t.JSON)
    method = (get_methods(type_) or {}).get(value.callee.name)
    return method is not None and not method.mutates and find_field_function(type_, value.callee.name) is None


def _hint_unused_value(c: Checker, node: n.ExprStatement) -> str:
    value, around = node.value, c.scopes.frame.node
    if isinstance(value, n.Call) and isinstance(value.callee, n.Member) and isinstance(value.callee.object, n.Name):
        return f"it changes nothing: write `{value.callee.object.name} = {c.quote(value)}`, or give it a name"
    if isinstance(value, n.Binary) and value.op == "==":
        return "to assign, write `=`"
    if (
        isinstance(around, n.Function | n.Lambda)
        and c.scopes.current.statements
        and c.scopes.current.statements[-1] is node
    ):
        return f"write `return {c.quote(value)}` for what the function gives"
    return "leave it out, or give it a name: `const x = …`"


def check_if(c: Checker, node: n.If) -> bool:
    """Check `if … else if … else`. Iterative, since such a chain may be long."""
    ways: list[NarrowedTypes] = []
    impossible = False
    each: n.If | n.Block | None = node
    while isinstance(each, n.If):
        check_condition(c, each.condition, c.infer(each.condition, t.BOOLEAN))
        warn_constant_condition(c, each.condition)
        outside = c.narrowing.begin_branch()
        c.narrowing.narrow_by_condition(each.condition, True)
        if not check_block(c, each.then):
            ways.append(c.narrowing.facts_after_block())
        c.narrowing.restore(outside)
        impossible = c.narrowing.narrow_by_condition(each.condition, False)
        each = each.otherwise
    if each is not None and not check_block(c, each):
        ways.append(c.narrowing.facts_after_block())
    elif each is None and not impossible:
        ways.append(c.narrowing.current_facts())
    if ways:
        c.narrowing.merge(ways)
    return not ways


def check_for(c: Checker, node: n.For) -> bool:
    """Check `for x in …`, `for {name} in …` or `for key, value in …`."""
    symbols = _make_loop_symbols(c, node, c.infer(node.iterable))
    c.narrowing.invalidate_by_node(node.body)
    c.scopes.frame.loops.append(False)
    check_block(c, node.body, symbols)
    c.scopes.frame.loops.pop()
    _check_loop_mode(c, node.mode)
    return False


def _make_loop_symbols(c: Checker, node: n.For, type_: t.Type) -> list[Symbol]:
    """Return the variables of a loop: each item, its destructured fields, or each key and value."""
    private, since = is_private_value(node.iterable), node.body.start
    if node.pattern is not None:
        item = infer_loop_item(c, node.iterable, type_)
        symbols = make_pattern_symbols(c, node.pattern, item, node.iterable, "loop", since, private)
    elif node.value is not None:
        key, value = infer_loop_entry(c, node.iterable, type_)
        node.value.symbol = c.scopes.make_symbol(
            node.value.name, "loop", value, node.value.start, since, private=private
        )
        node.symbol = c.scopes.make_symbol(node.name, "loop", key, node.name_start, since, private=private)
        symbols = [node.symbol, node.value.symbol]
    else:
        item = infer_loop_item(c, node.iterable, type_)
        node.symbol = c.scopes.make_symbol(node.name, "loop", item, node.name_start, since, private=private)
        symbols = [node.symbol]
    for each in symbols:
        each.until, each.is_global = node.body.end, False
    return symbols


def check_while(c: Checker, node: n.While) -> bool:
    """Check `while …`; if its condition is always true and it has no `break`, the code after it is unreachable."""
    c.narrowing.invalidate_by_node(node)
    outside = c.narrowing.begin_branch()
    check_condition(c, node.condition, c.infer(node.condition, t.BOOLEAN))
    warn_constant_condition(c, node.condition, unless=True)
    c.narrowing.narrow_by_condition(node.condition, True)
    c.scopes.frame.loops.append(False)
    check_block(c, node.body)
    left = c.scopes.frame.loops.pop()
    c.narrowing.restore(outside)
    if not left:
        c.narrowing.narrow_by_condition(node.condition, False)
    _check_loop_mode(c, node.mode)
    return isinstance(node.condition, n.BoolLit) and node.condition.value and not left


def check_break_or_continue(c: Checker, node: n.Break | n.Continue) -> bool:
    """Check `break` or `continue`."""
    word = "break" if isinstance(node, n.Break) else "continue"
    loops = c.scopes.frame.loops
    if loops:
        loops[-1] = loops[-1] or word == "break"
    elif c.scopes.frame.is_async_for:
        if isinstance(node, n.Break):
            _report_async_for_exit(c, node, word)
    else:
        c.report(
            "V0503", f"`{word}` stands outside a loop", node, "leave it out; `return` ends a function or the program"
        )
    return True


def check_return(c: Checker, node: n.Return) -> bool:
    """Check `return value`."""
    wanted = c.scopes.frame.returns
    if c.scopes.frame.is_async_for:
        _report_async_for_exit(c, node, "return")
        wanted = None
    node.scalar = wanted is not None and not t.is_mutable(wanted)
    if wanted is None and isinstance(c.scopes.frame.node, n.Lambda):
        infer_returned_value(c, node.value)
    elif node.value is None:
        if wanted is not None and wanted != t.JSON and not t.is_nullable(wanted):
            c.report(
                "V0502",
                f"{c.scopes.frame.title} must return `{format_type_short(wanted)}`",
                node,
                "write the value after `return`",
            )
    elif wanted is None:
        c.infer(node.value)
    elif isinstance(c.scopes.frame.node, n.Lambda):
        c.check_value(node.value, wanted, "")
    else:
        c.check_value(
            node.value, wanted, f"{c.scopes.frame.node.name}()" if c.scopes.frame.node is not None else "returns"
        )
    return True


def check_yield(c: Checker, node: n.Yield) -> bool:
    """Check `yield value`."""
    frame = c.scopes.frame
    if not frame.is_async_for:
        c.infer(node.value)
        hint = "push into an array, and return that; or write `const all = async for x in xs { yield … }`"
        c.report("V0504", "`yield` stands outside an `async for`", node, hint)
        return False
    if frame.wanted_item is not None:
        c.check_value(node.value, frame.wanted_item, "")
        frame.yields = frame.wanted_item
    else:
        type_ = c.infer(node.value)
        type_ = widen_fresh(node.value, t.strip_ai_result(type_)) if not isinstance(node.value, n.NullLit) else t.NULL
        node.value.type = node.value.type or type_
        frame.yields = type_ if frame.yields is None else join_types(frame.yields, type_)
    return False


def check_throw(c: Checker, node: n.Throw) -> bool:
    """Check `throw value`."""
    type_ = c.infer(node.value)
    if not is_assignable(type_, t.JSON):
        c.report("V0301", f"only data can be thrown, found `{format_type_general(type_)}`", node.value)
    return True


def check_try(c: Checker, node: n.Try) -> bool:
    """Check `try { … } catch e { … } finally { … }`."""
    ends = check_block(c, node.body)
    if node.handler is not None:
        ends = _check_handler(c, node, node.handler) and ends
    if node.last is not None:
        _check_finally(c, node.last)
        ends = check_block(c, node.last) or ends
    return ends


def _check_handler(c: Checker, node: n.Try, handler: n.Block) -> bool:
    if node.name is None:
        return check_block(c, handler)
    symbol = node.symbol = c.scopes.make_local(node.name, "caught", t.ERROR, node.name_start, handler, False)
    ends = check_block(c, handler, (symbol,))
    if not symbol.used and node.name.endswith(("Error", "Exception")):
        message = f"`{node.name}` names every error that is caught here, and is no kind of error"
        c.warn("V0702", message, symbol, CATCH_HINT)
    return ends


def _check_finally(c: Checker, block: n.Block) -> None:
    """Report statements that leave a `finally`, as they would discard a thrown error or a returned value."""
    todo: list[tuple[n.Node, bool]] = [(block, False)]
    while todo:
        node, in_loop = todo.pop()
        if isinstance(node, n.Return) or (isinstance(node, n.Break | n.Continue) and not in_loop):
            word = type(node).__name__.lower()
            hint = "write it after the statement"
            c.report("V0530", f"`{word}` would leave a `finally`, and with it what was thrown or returned", node, hint)
        elif not isinstance(node, n.Function | n.AsyncFor):
            todo += [(each, in_loop or isinstance(node, n.For | n.While)) for each in n.children(node)]


def check_test(c: Checker, node: n.Test) -> bool:
    """Check `test "…" { … }`."""
    if not c.scopes.is_at_top_level():
        c.report("V0507", "a test stands at the top level of a file", (node.start, node.start + 4), "move it there")
    c.scopes.enter_frame(FunctionFrame(c.scopes.frame.node, is_test=True))
    check_block(c, node.body)
    c.scopes.leave_frame()
    return False


def _report_async_for_exit(c: Checker, node: n.Break | n.Return, word: str) -> None:
    c.report(
        "V0506",
        f"`{word}` would leave an `async for`",
        node,
        "its rounds run at the same time; `continue` ends one of them, `yield` gives what it has found",
    )


def _check_loop_mode(c: Checker, mode: n.LoopMode | None) -> None:
    if mode is None:
        return
    if mode.how is None and mode.model is not None and _is_text_variable(c, mode.model):
        mode.how, mode.model = mode.model, None
    if mode.how is not None:
        kind = t.get_operand_type(c.infer(mode.how))
        if kind not in (t.TEXT, t.JSON):
            c.report("V0314", f"how to compress is said in text, found `{format_type_general(kind)}`", mode.how)
    if mode.model is not None:
        check_model_reference(c, mode.model)
    if mode.kind == "compress":
        c.usage.record_shown_variables()


def _is_text_variable(c: Checker, node: n.Name) -> bool:
    symbol = c.scopes.find(node.name)
    return symbol is not None and type(symbol.type) is not t.CallableType and t.get_base_type(symbol.type) == t.TEXT
