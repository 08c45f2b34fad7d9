"""Compile lambdas and the array methods that take functions.

A lambda is a Python function defined before the statement that contains it. `map` and `filter`
become comprehensions of Python if their lambda asks no model.
"""

from __future__ import annotations

import ast

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.compiler import Compiler, get_expression_type, is_plain_type
from antiphon.lang.codegen.functions import (
    compile_suite,
    declare_outer_names,
    function_scope,
    record_variables,
    wrap_with_history,
)
from antiphon.lang.codegen.loops import capture_iteration
from antiphon.lang.codegen.purity import is_ask_free
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.methods import (
    ARRAY_METHODS,
    METHODS_WITH_POSITION,
    K,
    T,
    U,
    parse_signature_type,
    substitute_type,
)
from antiphon.lang.typecheck.symbols import Symbol

#: Methods that become comprehensions if their function asks no model.
_COMPREHENSION_METHODS = frozenset(("map", "filter"))
#: Nodes that a comprehension may contain: none of them asks anyone.
_COMPREHENSION_NODES = frozenset(
    (
        *(
            n.NumberLit,
            n.TextLit,
            n.Interpolation,
            n.BoolLit,
            n.NullLit,
            n.Name,
            n.ArrayLit,
            n.ObjectLit,
            n.ObjectEntry,
        ),
        *(n.Unary, n.Binary, n.Member, n.Index, n.Slice, n.Call, n.Conditional, n.Is),
    )
)


def compile_lambda(c: Compiler, node: n.Lambda) -> ast.expr:
    """Compile `(a, b) => …`."""
    return capture_iteration(c, _define_lambda(c, node), node, c.place(node))


def compile_function_name(c: Compiler, node: n.Name, symbol: Symbol) -> ast.expr:
    """Compile a function's name used as a value; calls of tools and Python functions go through the runtime."""
    place = c.place(node)
    if symbol.kind == "builtin":
        return emit.make_name(f"_vb_{symbol.name}", place)
    value = c.read(symbol, place)
    signature = get_expression_type(node)
    if symbol.kind in ("tool", "import") and isinstance(signature, t.CallableType):
        returns = c.make_type_name(signature.returns, place)
        return emit.make_runtime_call("wrap_function", [value, returns], place)
    return value


def compile_array_method(
    c: Compiler, node: n.Call, name: str, value: ast.expr, item: t.Type, place: SourceLocation
) -> ast.expr:
    """Compile a method of an array that takes a function."""
    first = node.arguments[0]
    if (
        name in _COMPREHENSION_METHODS
        and isinstance(first, n.Lambda)
        and _can_be_comprehension(c, first)
        and not _binds_names(c, value)
    ):
        return _compile_comprehension(c, node, first, name, value, place)
    arguments = compile_method_arguments(c, node, name, item)
    key_type = first.type.returns if isinstance(first.type, t.CallableType) else t.JSON
    if name == "sortBy" and (is_plain_type(key_type, t.NUMBER) or is_plain_type(key_type, t.TEXT)):
        key = set_location(ast.keyword("key", arguments[0]), place)
        return set_location(ast.Call(emit.make_name("_v_sorted", place), [value], [key]), place)
    return emit.make_global_call(f"_vm_array_{name}", [value, *arguments], place)


def compile_method_arguments(c: Compiler, node: n.Call, name: str, item: t.Type) -> list[ast.expr]:
    """Compile the arguments of a method that takes a function, which it calls immediately."""
    out: list[ast.expr] = []
    for argument, kind in zip(node.arguments, ARRAY_METHODS[name].parameters, strict=False):
        type_, found = parse_signature_type(kind), get_expression_type(argument)
        if not isinstance(type_, t.CallableType):
            # Its type follows from the type of the whole call.
            out.append(c.cast(argument, node.type if type_ is U else None))
            continue
        value = _define_lambda(c, argument) if isinstance(argument, n.Lambda) else c.expr(argument)
        place = c.place(argument)
        if isinstance(found, t.CallableType):
            value = _adapt_function(c, value, argument, found, type_, item, node.type)
            if name in METHODS_WITH_POSITION and found.required == len(type_.parameters) + 1:
                value = emit.make_call("pass_positions", [value], place)
        out.append(value)
    return out


def _adapt_function(
    c: Compiler,
    value: ast.expr,
    argument: n.Expr,
    found: t.CallableType,
    wanted: t.CallableType,
    item: t.Type,
    result: t.Type | None,
) -> ast.expr:
    """Wrap a function whose signature is looser than the method needs, so that arguments and results are checked."""
    made = result.item if isinstance(result, t.Array) and len(wanted.parameters) == 1 else result
    known: dict[t.Type, t.Type] = {T: item, U: made or t.JSON, K: found.returns}
    returns = substitute_type(wanted.returns, known)
    if isinstance(argument, n.Lambda):
        # Its result fits already; its parameters may have declared types.
        returns = found.returns
        if not any(each.declared for each in argument.parameters):
            return value
    called = (*wanted.parameters, t.NUMBER)[: max(found.required, len(wanted.parameters))]
    goal = t.CallableType(tuple(substitute_type(each, known) for each in called), len(called), returns)
    return c.convert_value(value, found, goal, c.place(argument))


def _define_lambda(c: Compiler, node: n.Lambda) -> ast.expr:
    """Define a Python function for a lambda and return its name."""
    place, name = c.place(node), f"_vfn{c.make_temporary()[2:]}"
    asked, c.asked = c.asked, False
    signature = node.type
    with function_scope(c, node) as scope:
        scope.returns = signature.returns if isinstance(signature, t.CallableType) else None
        for each in node.parameters:
            if each.symbol is not None:
                c.declare_symbol(each.symbol, each.start)
        names = [each.symbol.python for each in node.parameters if each.symbol is not None]
        body = _compile_body(c, node)
        if c.asked:
            body = wrap_with_history(c, body, place)
        body = [*declare_outer_names(c, place), *body]
        record_variables(c, name, place)
    c.asked = asked
    c.before.append(emit.make_function(name, emit.make_arguments(names, (), place), body, place))
    return emit.make_name(name, place)


def _compile_body(c: Compiler, node: n.Lambda) -> list[ast.stmt]:
    if isinstance(node.body, n.Block):
        return compile_suite(c, node.body)
    value = c.cast(node.body, c.scope.returns)
    before, c.before = c.before, []
    return [*before, set_location(ast.Return(value), c.place(node.body))]


def _compile_comprehension(
    c: Compiler, call: n.Call, node: n.Lambda, name: str, value: ast.expr, place: SourceLocation
) -> ast.expr:
    from antiphon.lang.codegen.operators import compile_condition, record_counter

    assert not isinstance(node.body, n.Block)
    symbols = [each.symbol for each in node.parameters if each.symbol is not None]
    for symbol, parameter in zip(symbols, node.parameters, strict=True):
        c.declare_symbol(symbol, parameter.start)
    record_counter(c, symbols[0], n.get_step_receiver(call))
    each = _make_comprehension_clause(c, node, symbols, value, place)
    signature = node.type
    assert isinstance(signature, t.CallableType)
    if name == "map":
        return set_location(ast.ListComp(c.cast(node.body, signature.returns), [each]), place)
    each.ifs.append(compile_condition(c, node.body) if signature.returns == t.BOOLEAN else c.expr(node.body))
    item = emit.make_name(symbols[0].python, c.place(node.parameters[0]))
    return set_location(ast.ListComp(item, [each]), place)


def _make_comprehension_clause(
    c: Compiler, node: n.Lambda, symbols: list[Symbol], value: ast.expr, place: SourceLocation
) -> ast.comprehension:
    """Return `for item in value`, or `for position, item in enumerate(value)`."""
    targets = [
        emit.make_target(symbol.python, c.place(each)) for symbol, each in zip(symbols, node.parameters, strict=True)
    ]
    if len(symbols) == 1:
        return ast.comprehension(targets[0], value, [], 0)
    c.integer_variables.add(symbols[1])
    c.nonnegative_variables.add(symbols[1])
    pair = set_location(ast.Tuple(targets[::-1], ast.Store()), place)
    return ast.comprehension(pair, emit.make_call("enumerate", [value], place), [], 0)


def _can_be_comprehension(c: Compiler, node: n.Lambda) -> bool:
    if isinstance(node.body, n.Block) or any(each.declared is not None for each in node.parameters):
        return False
    return all(
        isinstance(each, n.TypeNode) or type(each) in _COMPREHENSION_NODES for each in n.walk(node.body)
    ) and is_ask_free(c, node.body)


def _binds_names(c: Compiler, value: ast.expr) -> bool:
    """Return True if an expression binds names, which Python forbids in the iterable of a comprehension.

    The result is cached per node, so that each step of a chain does not search the steps before it again.
    """
    todo: list[ast.AST] = [value]
    binds = False
    while todo and not binds:
        each = todo.pop()
        known = c.binding.get(each)
        binds = known or isinstance(each, ast.NamedExpr)
        if known is None:
            todo.extend(ast.iter_child_nodes(each))
    c.binding[value] = binds
    return binds
