"""Compile control flow: conditions, loops, `return`, `yield`, `throw` and `try`."""

from __future__ import annotations

import ast
from typing import NoReturn

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.compiler import Compiler, evaluate_once, get_expression_type, has_plain_type
from antiphon.lang.codegen.destructuring import compile_pattern
from antiphon.lang.codegen.functions import compile_block, compile_suite, list_pattern_symbols
from antiphon.lang.codegen.literals import compile_as_text
from antiphon.lang.codegen.loops import compile_entries, compile_iterable
from antiphon.lang.codegen.operators import compile_condition, record_counter
from antiphon.lang.codegen.purity import is_ask_free
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t


def compile_if(c: Compiler, node: n.If) -> list[ast.stmt]:
    """Compile `if … else …`."""
    chain: list[n.If] = [node]
    while isinstance(chain[-1].otherwise, n.If):
        chain.append(chain[-1].otherwise)
    parts = [(each, compile_condition(c, each.condition), compile_suite(c, each.then)) for each in chain]
    last = chain[-1].otherwise
    otherwise = compile_suite(c, last) if isinstance(last, n.Block) else []
    for each, test, then in reversed(parts):
        otherwise = [set_location(ast.If(test, then, otherwise), c.place(each))]
    return otherwise


def compile_for(c: Compiler, node: n.For) -> list[ast.stmt]:
    """Compile `for name in iterable { … }`."""
    place = c.place(node)
    items = compile_iterable(c, node.iterable) if node.value is None else compile_entries(c, node)
    if node.pattern is not None:
        return _compile_for_pattern(c, node, node.pattern, items, place)
    if node.symbol is None:
        return []
    c.scope.loops += 1
    c.declare_symbol(node.symbol, node.name_start)
    c.scope.loops -= 1
    record_counter(c, node.symbol, node.iterable)
    target = emit.make_target(node.symbol.python, c.between(node.name_start, node.name_start + len(node.name)))
    if node.value is not None and node.value.symbol is not None:
        c.scope.loops += 1
        c.declare_symbol(node.value.symbol, node.value.start)
        c.scope.loops -= 1
        value = emit.make_target(node.value.symbol.python, c.place(node.value))
        target = set_location(ast.Tuple([target, value], ast.Store()), place)
    loop = set_location(ast.For(target, items, _compile_loop_body(c, node), []), place)
    return _wrap_loop_mode(c, node.mode, loop, place)


def _compile_for_pattern(
    c: Compiler, node: n.For, pattern: n.Pattern | n.ArrayPattern, items: ast.expr, place: SourceLocation
) -> list[ast.stmt]:
    """Compile `for {name} in iterable { … }`: each item is destructured before the body."""
    here, held = c.place(pattern), c.make_temporary()
    type_ = get_expression_type(node.iterable)
    given = type_.item if isinstance(type_, t.Array) else t.JSON
    c.scope.loops += 1
    for symbol in list_pattern_symbols(pattern):
        c.declare_symbol(symbol, symbol.start)
    c.scope.loops -= 1
    apart = compile_pattern(c, pattern, emit.make_name(held, here), given, here)
    body = [*apart, *_compile_loop_body(c, node)]
    return _wrap_loop_mode(
        c, node.mode, set_location(ast.For(emit.make_target(held, here), items, body, []), place), place
    )


def compile_while(c: Compiler, node: n.While) -> list[ast.stmt]:
    """Compile `while condition { … }`.

    The condition is tested inside an endless loop: Python 3.11 optimizes a running loop only if its jump back
    is unconditional.
    """
    place = c.place(node)
    test = compile_condition(c, node.condition)
    inside = set_location(
        ast.If(test, _compile_loop_body(c, node), [set_location(ast.Break(), c.place(node.condition))]), place
    )
    loop = set_location(ast.While(emit.make_constant(True, place), [inside], []), place)
    return _wrap_loop_mode(c, node.mode, loop, place)


def _compile_loop_body(c: Compiler, node: n.For | n.While) -> list[ast.stmt]:
    c.scope.loops += 1
    body = compile_suite(c, node.body)
    c.scope.loops -= 1
    if node.mode is None or node.mode.kind != "forget":
        return body
    c.asked = True
    place, mark = c.place(node.mode), c.make_temporary()
    forget = emit.make_expression_statement(
        emit.make_runtime_call("forget", [emit.make_name(mark, place)], place), place
    )
    return [
        emit.make_assignment(mark, emit.make_runtime_call("mark_history", [], place), place),
        set_location(ast.Try(body, [], [], [forget]), place),
    ]


def _wrap_loop_mode(c: Compiler, mode: n.LoopMode | None, loop: ast.stmt, place: SourceLocation) -> list[ast.stmt]:
    if mode is None or mode.kind != "compress":
        return [loop]
    c.asked = True
    here, mark = c.place(mode), c.make_temporary()
    how = compile_as_text(c, mode.how) if mode.how is not None else emit.make_constant(None, here)
    model = c.expr(mode.model) if mode.model is not None else emit.make_constant(None, here)
    compress = emit.make_runtime_call("compress", [emit.make_name(mark, here), how, model], here)
    return [
        emit.make_assignment(mark, emit.make_runtime_call("mark_history", [], here), place),
        loop,
        emit.make_expression_statement(compress, here),
    ]


def compile_return(c: Compiler, node: n.Return) -> list[ast.stmt]:
    """Compile `return value`."""
    place = c.place(node)
    value = None if node.value is None else c.cast(node.value, c.scope.returns)
    return [set_location(ast.Return(value), place)]


def compile_yield(c: Compiler, node: n.Yield) -> list[ast.stmt]:
    """Compile `yield value`."""
    place = c.place(node)
    value = emit.make_call("unwrap_answer", [c.cast(node.value, c.scope.yields)], place)
    return [
        emit.make_expression_statement(
            emit.make_method_call(emit.make_name(c.scope.result_list, place), "append", [value], place), place
        )
    ]


def compile_throw(c: Compiler, node: n.Throw) -> list[ast.stmt]:
    """Compile `throw value`."""
    place, value = c.place(node), c.cast(node.value, t.JSON)
    if has_plain_type(node.value, t.TEXT):
        # A thrown text is its own message.
        thrown = emit.make_call("UserError", [*evaluate_once(c, value, place)], place)
    else:
        thrown = emit.make_call("make_thrown_error", [value], place)
    return [set_location(ast.Raise(thrown, None), place)]


def compile_try(c: Compiler, node: n.Try) -> list[ast.stmt]:
    """Compile `try { … } catch e { … } finally { … }`."""
    place = c.place(node)
    body = compile_suite(c, node.body)
    clauses = [_compile_handler(c, node, node.handler, place)] if node.handler is not None else []
    last = compile_suite(c, node.last) if node.last is not None else []
    return [set_location(ast.Try(body, clauses, [], last), place)]


def _compile_handler(c: Compiler, node: n.Try, block: n.Block, place: SourceLocation) -> ast.ExceptHandler:
    held = c.make_temporary()
    handler: list[ast.stmt] = []
    if node.symbol is not None:
        c.declare_symbol(node.symbol, node.name_start)
        error = emit.make_name(held, place)
        if node.symbol.used or not is_ask_free(c, block):
            handler.append(
                emit.make_assignment(node.symbol.python, emit.make_call("make_error_value", [error], place), place)
            )
        else:
            # Drop the chain of earlier errors, which nobody can read any more.
            handler.append(emit.make_attribute_assignment(error, "__context__", emit.make_constant(None, place), place))
    handler += compile_suite(c, block)
    return set_location(ast.ExceptHandler(emit.make_name("_v_Exception", place), held, handler), place)


def compile_expression_statement(c: Compiler, node: n.ExprStatement) -> list[ast.stmt]:
    """Compile an expression used as a statement."""
    return [emit.make_expression_statement(c.expr(node.value), c.place(node))]


def compile_break(c: Compiler, node: n.Break) -> list[ast.stmt]:
    """Compile `break`."""
    return [set_location(ast.Break(), c.place(node))]


def compile_continue(c: Compiler, node: n.Continue) -> list[ast.stmt]:
    """Compile `continue`; an iteration of `async for` is a function, and returns the values yielded so far."""
    place = c.place(node)
    if c.scope.result_list and not c.scope.loops:
        return [set_location(ast.Return(emit.make_name(c.scope.result_list, place)), place)]
    return [set_location(ast.Continue(), place)]


def compile_inner_block(c: Compiler, node: n.Block) -> list[ast.stmt]:
    """Compile a block used as a statement."""
    return compile_block(c, node.statements)


def reject_unreadable(_: Compiler, node: n.BadExpr | n.BadStatement) -> NoReturn:
    """Raise an `AssertionError`: a program with syntax errors is never compiled."""
    raise AssertionError(f"compiling what could not be read, at {node.start}")
