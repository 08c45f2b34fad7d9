"""Compile the iterables of loops, and functions made in an iteration, which capture that iteration's variables.

Python has one variable for all iterations. A function that outlives its iteration gets a copy of the
loop's variables when it is made. A copy is enough for variables that have their final value by then; all
others live in a `VariableCell`, which each iteration makes afresh.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.arithmetic import is_integer
from antiphon.lang.codegen.compiler import Compiler, get_expression_type, needs_json_copy
from antiphon.lang.codegen.members import hide_extra_fields
from antiphon.lang.codegen.python_ast import SourceLocation
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.methods import METHODS_WITH_FUNCTION
from antiphon.lang.typecheck.symbols import Symbol


def compile_iterable(c: Compiler, node: n.Expr) -> ast.expr:
    """Compile what a `for` iterates over."""
    type_ = get_expression_type(node)
    if isinstance(node, n.Range):
        return compile_range_iterable(c, node)
    if isinstance(type_, t.Array):
        return c.expr(node)
    value = c.expr(node)
    if is_integer(c, node):
        return emit.make_call("range", [value], c.place(node))
    if isinstance(type_, t.AIResultType):
        # An answer declared as an array is one; the type checker has rejected all others.
        value = emit.make_call("unwrap_answer", [value], c.place(node))
    return emit.make_call("iterate_value", [value], c.place(node))


def compile_entries(c: Compiler, node: n.For) -> ast.expr:
    """Compile the keys and values that a `for` with two names iterates over.

    If the body could change the keys, the loop iterates over a snapshot.
    """
    place, type_ = c.place(node.iterable), get_expression_type(node.iterable)
    value = c.expr(node.iterable)
    if isinstance(type_, t.Map):
        value = emit.make_method_call(value, "items", [], place)
    else:
        value = hide_extra_fields(value, t.get_base_type(type_), place)
        if node.value is not None and node.value.symbol is not None and node.value.symbol.type == t.JSON:
            # The values have the type `json` in the loop.
            value = emit.make_call("copy_value", [value], place) if needs_json_copy(node.iterable, t.JSON) else value
        is_known = isinstance(type_, t.Object)
        value = (
            emit.make_method_call(value, "items", [], place)
            if is_known
            else emit.make_call("iterate_entries", [value], place)
        )
    may_change = any(_can_change_keys(each, node) for each in n.walk(node.body))
    return emit.make_call("list", [value], place) if may_change else value


def _can_change_keys(node: n.Node, loop: n.For) -> bool:
    """Return True if a node in the body of a loop may add or remove keys of its iterable."""
    if isinstance(node, n.Assign):
        return not isinstance(node.target, n.Name) and not _is_current_entry(node.target, loop)
    if not isinstance(node, n.Call):
        # A `py` block gets copies.
        return False
    if isinstance(node.callee, n.Member):
        return node.callee.name == "remove"
    return not (isinstance(node.callee, n.Name) and node.callee.symbol and node.callee.symbol.kind == "builtin")


def _is_current_entry(target: n.Member | n.Index, loop: n.For) -> bool:
    """Return True if the target is the loop's current entry, whose key exists already."""
    through = loop.iterable.symbol if isinstance(loop.iterable, n.Name) else None
    match target:
        case n.Index(object=n.Name(symbol=holder), index=n.Name(symbol=key)):
            return holder is not None and holder is through and key is loop.symbol
        case _:
            return False


def compile_range_iterable(c: Compiler, node: n.Range) -> ast.expr:
    """Compile a range that is iterated over, without making an array."""
    place, first, last = c.place(node), c.expr(node.first), c.expr(node.last)
    if not is_integer(c, node.first) or not is_integer(c, node.last):
        return emit.make_call("make_range", [first, last], place)
    end = emit.make_binary(last, ast.Add(), emit.make_constant(1, place), place)
    if isinstance(last, ast.Constant) and isinstance(last.value, int):
        end = emit.make_constant(last.value + 1, place)
    return emit.make_call("range", [first, end], place)


_Function = n.Function | n.Lambda | n.AsyncFor


def make_loop_cells(c: Compiler, statements: list[n.Statement], declared: dict[Symbol, int]) -> list[ast.stmt]:
    """Return the statements that make cells for the variables of a block in a loop that need one.

    `declared` maps each variable to the end of the statement that declares it.
    """
    c.iteration_local_functions |= _find_iteration_local_functions(c, statements)
    captured = {symbol: end for symbol, end in declared.items() if symbol.is_captured or symbol.assigned_in}
    if not captured:
        return []
    found: set[Symbol] = set()
    for function in _iter_escaping_functions(c, statements):
        found |= {
            each
            for each in _list_used_symbols(function)
            if each in captured and _needs_cell(each, function, captured[each])
        }
    out: list[ast.stmt] = []
    for symbol in sorted(found, key=lambda each: each.start):
        if symbol.kind == "function":
            # The `def` already binds the function's own Python name.
            symbol.python = c.scope.named(symbol)
            c.scope.loop_variables.add(symbol.python)
        c.cell_variables.add(symbol)
        place = c.between(symbol.start, symbol.end)
        made = emit.make_call("VariableCell", [emit.make_constant(symbol.name, place)], place)
        out.append(emit.make_assignment(symbol.python, made, place))
    return out


def capture_iteration(c: Compiler, value: ast.expr, node: _Function, place: SourceLocation) -> ast.expr:
    """Return a function that outlives its iteration, bound to this iteration's loop variables."""
    looped = (
        {name for scope in c.scope.chain() for name in scope.loop_variables}
        if id(node) not in c.iteration_local_functions
        else ()
    )
    names = sorted({each.python for each in _list_used_symbols(node) if each.python in looped}) if looped else ()
    if not names:
        return value
    constants = [emit.make_constant(each, place) for each in names]
    return emit.make_call("bind_iteration_variables", [value, *constants], place)


def _needs_cell(symbol: Symbol, function: _Function, end: int) -> bool:
    """Return True if a variable may be assigned after a function that uses it was made."""
    return symbol.is_assigned or isinstance(function, n.Function) or function.start < end


def _list_used_symbols(node: n.Node) -> set[Symbol]:
    return {each.symbol for each in n.walk(node) if isinstance(each, n.Name) and each.symbol is not None}


def _find_iteration_local_functions(c: Compiler, statements: list[n.Statement]) -> set[int]:
    """Return the ids of functions that are only called in the block itself, and so do not outlive it."""
    named = {symbol: function for each in statements for symbol, function in _iter_named_functions(each)}
    if not named or c.is_concurrent:
        return set()
    todo: list[tuple[n.Node, bool]] = [(each, False) for each in statements]
    while todo:
        node, inside = todo.pop()
        called = node.callee if isinstance(node, n.Call) and not inside else None
        inside = inside or isinstance(node, n.Function | n.Lambda)
        for each in n.children(node):
            if isinstance(each, n.Name) and each is not called and each.symbol is not None:
                named.pop(each.symbol, None)
            todo.append((each, inside))
    return set(map(id, named.values()))


def _iter_named_functions(node: n.Statement) -> Iterable[tuple[Symbol, n.Node]]:
    if isinstance(node, n.Function) and node.symbol is not None and not node.is_tool:
        yield node.symbol, node
    elif isinstance(node, n.Let) and isinstance(node.value, n.Lambda) and node.symbol is not None and node.is_const:
        yield node.symbol, node.value


def _iter_escaping_functions(c: Compiler, statements: Iterable[n.Node]) -> Iterable[_Function]:
    """Yield the functions in a block that may be called after the iteration is over."""
    todo = list(statements)
    while todo:
        node = todo.pop()
        if isinstance(node, n.Function | n.Lambda | n.AsyncFor) and id(node) not in c.iteration_local_functions:
            yield node
        on_the_spot = (
            isinstance(node, n.Call) and isinstance(node.callee, n.Member) and node.callee.name in METHODS_WITH_FUNCTION
        )
        for each in n.children(node):
            # An array method calls its function at once, and keeps no reference to it.
            todo += n.children(each) if on_the_spot and isinstance(each, n.Lambda) else (each,)
