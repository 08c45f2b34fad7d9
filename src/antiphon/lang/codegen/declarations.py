"""Compile declarations of variables, inputs and models, and assignments to names, members and items."""

from __future__ import annotations

import ast

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.calls import compile_ask_arguments, compile_unchecked_call, split_compiled_call
from antiphon.lang.codegen.code_object import ProgramInput
from antiphon.lang.codegen.compiler import Compiler, get_expression_type, has_plain_type
from antiphon.lang.codegen.destructuring import compile_pattern, list_private_fields
from antiphon.lang.codegen.functions import compile_async_body
from antiphon.lang.codegen.loops import compile_iterable
from antiphon.lang.codegen.members import check_field_name, compile_index
from antiphon.lang.codegen.operators import compile_operation
from antiphon.lang.codegen.purity import is_pure_expression
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import is_assignable
from antiphon.lang.typecheck.constants import evaluate_constant
from antiphon.lang.typecheck.declarations import is_required_input
from antiphon.lang.typecheck.symbols import Symbol


def compile_let(c: Compiler, node: n.Let) -> list[ast.stmt]:
    """Compile `let` and `const`."""
    place, symbol = c.place(node), node.symbol
    if symbol is None:
        return []
    mark_private_span(c, symbol, node.value)
    if node.is_async and node.value is not None:
        value = _compile_async_value(c, node.value, symbol.type)
    else:
        value = emit.make_constant(None, place) if node.value is None else c.cast(node.value, symbol.type)
        if symbol.is_global and t.is_json_data(symbol.type):
            value = _register_variable_input(c, symbol, value, place)
    return wrap_if_private(
        symbol.is_private and not is_pure_expression(c, node.value), [c.bind(symbol, value, place)], place
    )


def compile_async_ask(c: Compiler, node: n.AsyncAsk) -> list[ast.stmt]:
    """Compile `async do …` as a statement; the end of the program waits for it."""
    return [
        emit.make_expression_statement(_compile_async_value(c, node.value, node.value.type or t.JSON), c.place(node))
    ]


def wrap_if_private(is_private: bool, body: list[ast.stmt], place: SourceLocation) -> list[ast.stmt]:
    """Return an assignment, inside a block of private effects if its variable is private."""
    return [emit.make_private_block(body, place)] if is_private else body


def mark_private_span(c: Compiler, symbol: Symbol | None, value: n.Expr | None) -> None:
    """Mark the answers that go into a private variable, so that the history does not keep them.

    The history of `async for` iterations is discarded anyway.
    """
    if symbol is not None and symbol.is_private and value is not None and not isinstance(value, n.AsyncFor):
        c.private_span = value.start, value.end


def _register_variable_input(c: Compiler, symbol: Symbol, value: ast.expr, place: SourceLocation) -> ast.expr:
    """Register a top-level variable as an input, and return its value or the one the caller passes."""
    # The type of a constant may be a literal type of its one value.
    type_ = t.widen_type(t.strip_ai_result(symbol.type))
    c.code.inputs[symbol.name] = ProgramInput(symbol.name, type_, symbol.start, symbol.end, symbol.is_private)
    return _emit_input_or(symbol.name, value, place) if symbol.name in c.given else value


def _emit_input_lookup(name: str, place: SourceLocation) -> ast.expr:
    return emit.make_item(emit.make_name("_vinputs", place), emit.make_constant(name, place), place)


def _emit_input_or(name: str, otherwise: ast.expr, place: SourceLocation) -> ast.expr:
    """Return the value that the caller passes for a name, or else another."""
    inputs = emit.make_name("_vinputs", place)
    given = emit.make_comparison(emit.make_constant(name, place), ast.In(), inputs, place)
    return emit.make_conditional(given, _emit_input_lookup(name, place), otherwise, place)


def compile_input(c: Compiler, node: n.Input) -> list[ast.stmt]:
    """Compile `input name: type = default`."""
    place, symbol = c.place(node), node.symbol
    if symbol is None:
        return []
    type_, required = symbol.type, is_required_input(symbol.type, node.default)
    default = None if node.default is None else evaluate_constant(node.default)
    c.code.inputs[node.name] = ProgramInput(
        node.name, type_, symbol.start, symbol.end, node.is_private, node.description, True, required, default
    )
    if required:
        value = _emit_input_lookup(node.name, place)
    else:
        otherwise = emit.make_constant(None, place) if node.default is None else c.cast(node.default, type_)
        value = _emit_input_or(node.name, otherwise, place)
    return [c.bind(symbol, value, place)]


def _compile_async_value(c: Compiler, node: n.Expr, wanted: t.Type) -> ast.expr:
    """Compile the value of an `async let`: arguments are evaluated now, the call runs concurrently."""
    place = c.place(node)
    type_ = c.make_type_name(t.strip_ai_result(wanted), place)
    c.asked = True
    if isinstance(node, n.ModelCall):
        return emit.make_runtime_call("start_ask", compile_ask_arguments(c, node), place)
    if isinstance(node, n.AsyncFor):
        body = compile_async_body(c, node)
        function = emit.make_name("_vrt", place)
        gather = set_location(ast.Attribute(function, "gather", ast.Load()), place)
        return emit.make_runtime_call(
            "start_call", [type_, gather, emit.make_name(body, place), compile_iterable(c, node.iterable)], place
        )
    if isinstance(node, n.Call) and isinstance(node.callee, n.Name) and node.callee.symbol is not None:
        before, called = split_compiled_call(compile_unchecked_call(c, node))
        started = emit.make_runtime_call("start_call", [type_, called.func, *called.args], place)
        return emit.make_sequence([*before, started], place)
    return c.cast(node, wanted)


def compile_destructure(c: Compiler, node: n.Destructure) -> list[ast.stmt]:
    """Compile `const { name: text } = value` and `const [a, b] = value`."""
    place, name = c.place(node), c.make_temporary()
    hidden = c.hidden[node.value.start] = list_private_fields(node.pattern)
    given: t.Type = t.JSON
    if node.is_async and isinstance(node.value, n.ModelCall):
        value = emit.make_call(
            "wait_for_value", [emit.make_runtime_call("start_ask", compile_ask_arguments(c, node.value), place)], place
        )
    else:
        value, given = c.expr(node.value), get_expression_type(node.value)
    if isinstance(node.pattern, n.ArrayPattern) and not hidden:
        return compile_pattern(c, node.pattern, value, given, c.place(node.value))
    out = wrap_if_private(bool(hidden), [emit.make_assignment(name, value, place)], place)
    return out + compile_pattern(c, node.pattern, emit.make_name(name, place), given, c.place(node.value))


def compile_model(c: Compiler, node: n.ModelDecl) -> list[ast.stmt]:
    """Compile `model m = { … }`."""
    place = c.place(node)
    if node.symbol is None:
        return []
    name = emit.make_constant(node.name, place)
    return [c.bind(node.symbol, emit.make_runtime_call("declare_model", [name, c.expr(node.settings)], place), place)]


def compile_nothing(_: Compiler, __: n.Function | n.TypeDecl | n.Import | n.Returns) -> list[ast.stmt]:
    """Return no statements: the declaration was hoisted, or only the type checker needs it."""
    return []


_COMPOUND_OPERATORS = {"+=": "+", "-=": "-", "*=": "*", "/=": "/", "%=": "%"}


def compile_assignment(c: Compiler, node: n.Assign) -> list[ast.stmt]:
    """Compile `target = value`."""
    target = node.target
    if isinstance(target, n.Name):
        return _compile_name_assignment(c, node, target)
    return _compile_item_assignment(c, node, target)


def _compile_name_assignment(c: Compiler, node: n.Assign, target: n.Name) -> list[ast.stmt]:
    symbol, place = target.symbol, c.place(node)
    if symbol is None:
        return []
    mark_private_span(c, symbol, node.value)
    is_seen = symbol.is_private and not is_pure_expression(c, node.value)
    if node.op == "=":
        return wrap_if_private(is_seen, [c.bind(symbol, c.cast(node.value, symbol.type), place)], place)
    both = n.Binary(node.start, node.end, _COMPOUND_OPERATORS[node.op], target, node.value)
    value = c.convert_value(
        compile_operation(c, both, None), _get_result_type(both), t.strip_ai_result(symbol.type), place
    )
    return wrap_if_private(is_seen, [c.bind(symbol, value, place)], place)


def _compile_item_assignment(c: Compiler, node: n.Assign, target: n.Member | n.Index) -> list[ast.stmt]:
    place = c.place(node)
    root = n.get_root_symbol(target)
    mark_private_span(c, root, node.value)
    holder, key = c.expr(target.object), _compile_key(c, target, place)
    if node.op == "=":
        value = c.cast(node.value, get_expression_type(target))
        out = _emit_store(c, target, holder, key, value, place)
    else:
        out = _compile_compound_assignment(c, node, target, holder, key, place)
    return wrap_if_private(root is not None and root.is_private, out, place)


def _compile_key(c: Compiler, target: n.Member | n.Index, place: SourceLocation) -> ast.expr:
    """Compile the key by which Python finds the member or item."""
    if isinstance(target, n.Member):
        return emit.make_constant(target.name, place)
    key = c.expr(target.index)
    if isinstance(kind := t.get_base_type(get_expression_type(target.object)), t.Object):
        return check_field_name(key, kind, place)
    if isinstance(get_expression_type(target.object), t.Array) and _has_python_assignment(target):
        return compile_index(c, target.index, key, place)
    return key


def _has_python_assignment(target: n.Member | n.Index) -> bool:
    """Return True if Python's own item assignment does what the language says."""
    type_ = get_expression_type(target.object)
    if isinstance(target, n.Member):
        return isinstance(type_, t.Object)
    if isinstance(type_, t.Map):
        return has_plain_type(target.index, t.TEXT)
    return isinstance(type_, t.Array) and has_plain_type(target.index, t.NUMBER)


def _compile_compound_assignment(
    c: Compiler, node: n.Assign, target: n.Member | n.Index, holder: ast.expr, key: ast.expr, place: SourceLocation
) -> list[ast.stmt]:
    """Compile `target += value` and the like for a member or an item."""
    both = n.Binary(node.start, node.end, _COMPOUND_OPERATORS[node.op], target, node.value)
    result, wanted = _get_result_type(both), get_expression_type(target)
    if (
        _has_python_assignment(target)
        and result == wanted
        and result in (t.NUMBER, t.TEXT)
        and both.op in ("+", "-", "*")
    ):
        value = compile_operation(c, both, emit.make_item(holder, key, place))
        assert isinstance(value, ast.BinOp)
        return [set_location(ast.AugAssign(emit.make_item_target(holder, key, place), value.op, value.right), place)]
    held, index = c.make_temporary(), c.make_temporary()
    out = [emit.make_assignment(held, holder, place), emit.make_assignment(index, key, place)]
    holder, key = emit.make_name(held, place), emit.make_name(index, place)
    read = (
        emit.make_item(holder, key, place)
        if _has_python_assignment(target)
        else emit.make_call("get_item", [holder, key], place)
    )
    value = c.convert_value(compile_operation(c, both, read), result, wanted, place)
    return out + _emit_store(c, target, holder, key, value, place)


def _emit_store(
    c: Compiler, target: n.Member | n.Index, holder: ast.expr, key: ast.expr, value: ast.expr, place: SourceLocation
) -> list[ast.stmt]:
    if _has_python_assignment(target):
        return [emit.make_item_assignment(holder, key, value, place)]
    if isinstance(target, n.Index):
        # The value is evaluated first, as in Python.
        new = c.make_temporary()
        put = emit.make_call("set_item", [holder, key, emit.make_name(new, place)], place)
        return [emit.make_assignment(new, value, place), emit.make_expression_statement(put, place)]
    return _emit_member_store(c, holder, key, value, place)


def _emit_member_store(
    c: Compiler, holder: ast.expr, key: ast.expr, value: ast.expr, place: SourceLocation
) -> list[ast.stmt]:
    """Compile `holder.key = value` for a holder of unknown type: direct for a plain dict."""
    held, new = c.make_temporary(), c.make_temporary()
    test = emit.make_class_comparison(emit.make_name(held, place), "dict", place)
    slow = emit.make_call("set_member", [emit.make_name(held, place), key, emit.make_name(new, place)], place)
    quick = emit.make_item_assignment(emit.make_name(held, place), key, emit.make_name(new, place), place)
    return [
        emit.make_assignment(new, value, place),
        emit.make_assignment(held, holder, place),
        set_location(ast.If(test, [quick], [emit.make_expression_statement(slow, place)]), place),
    ]


def _get_result_type(both: n.Binary) -> t.Type:
    """Return the type of the operation in a compound assignment."""
    one, two = t.get_base_type(get_expression_type(both.left)), t.get_base_type(get_expression_type(both.right))
    if both.op == "+" and t.TEXT in (one, two):
        return t.TEXT
    if one == two and one == t.NUMBER:
        return one
    if both.op == "+" and isinstance(one, t.Array) and is_assignable(two, one, certain=True):
        return one
    return t.JSON
