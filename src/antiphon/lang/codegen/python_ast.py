"""Constructors for nodes of Python's syntax tree, each with the location in the program that tracebacks show."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

#: Line, column, end line and end column in the program of a node of Python's tree.
SourceLocation = tuple[int, int, int, int]
_LOAD = ast.Load()
_STORE = ast.Store()
_IS = ast.Is()


def set_location(node: Any, place: SourceLocation) -> Any:
    """Set the location of a Python node and return the node."""
    node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = place
    return node


def make_name(id: str, place: SourceLocation) -> ast.expr:
    """Return a name that is read."""
    return set_location(ast.Name(id, _LOAD), place)


def make_target(id: str, place: SourceLocation) -> ast.expr:
    """Return a name that is assigned."""
    return set_location(ast.Name(id, _STORE), place)


def make_constant(value: Any, place: SourceLocation) -> ast.expr:
    """Return a literal."""
    return set_location(ast.Constant(value), place)


def make_call(function: str, arguments: Sequence[ast.expr], place: SourceLocation) -> ast.expr:
    """Return a call of a function of Python or the runtime by its own name; modules find it under a prefix."""
    return make_global_call(f"_v_{function}", arguments, place)


def make_global_call(function: str, arguments: Sequence[ast.expr], place: SourceLocation) -> ast.expr:
    """Return a call of a global function by its name."""
    return set_location(ast.Call(set_location(ast.Name(function, _LOAD), place), list(arguments), []), place)


def make_value_call(function: ast.expr, arguments: Sequence[ast.expr], place: SourceLocation) -> ast.expr:
    """Return a call of the function that an expression evaluates to."""
    return set_location(ast.Call(function, list(arguments), []), place)


def make_method_call(value: ast.expr, name: str, arguments: Sequence[ast.expr], place: SourceLocation) -> ast.expr:
    """Return a call of a method of a Python object."""
    line, column = place[:2]
    # Python would report a call at the line where the method's name ends, if that is a later one.
    called = set_location(ast.Attribute(value, name, _LOAD), (line, column, line, column))
    return set_location(ast.Call(called, list(arguments), []), place)


def make_runtime_call(function: str, arguments: Sequence[ast.expr], place: SourceLocation) -> ast.expr:
    """Return a call of a method of the module's runtime object, `_vrt`."""
    return make_method_call(make_name("_vrt", place), function, arguments, place)


def make_sequence(values: list[ast.expr], place: SourceLocation) -> ast.expr:
    """Return an expression that evaluates all values and has the last one's value."""
    if len(values) == 1:
        return values[0]
    return make_item(set_location(ast.Tuple(values, ast.Load()), place), make_constant(-1, place), place)


def make_item(value: ast.expr, key: ast.expr, place: SourceLocation) -> ast.expr:
    """Return `value[key]`."""
    return set_location(ast.Subscript(value, key, _LOAD), place)


def make_slice(value: ast.expr, bounds: Sequence[ast.expr | None], place: SourceLocation) -> ast.expr:
    """Return `value[first:last:step]`."""
    return make_item(value, set_location(ast.Slice(*bounds), place), place)


def make_binary(left: ast.expr, operator: ast.operator, right: ast.expr, place: SourceLocation) -> ast.expr:
    """Return `left operator right`."""
    return set_location(ast.BinOp(left, operator, right), place)


def make_comparison(left: ast.expr, operator: ast.cmpop, right: ast.expr, place: SourceLocation) -> ast.expr:
    """Return the comparison `left operator right`."""
    return set_location(ast.Compare(left, [operator], [right]), place)


def make_class_comparison(value: ast.expr, kind: str, place: SourceLocation, operator: ast.cmpop = _IS) -> ast.expr:
    """Return `value.__class__ is kind`."""
    return make_comparison(make_attribute(value, "__class__", place), operator, make_name(f"_v_{kind}", place), place)


def make_conditional(test: ast.expr, then: ast.expr, otherwise: ast.expr, place: SourceLocation) -> ast.expr:
    """Return `then if test else otherwise`."""
    return set_location(ast.IfExp(test, then, otherwise), place)


def make_not(value: ast.expr, place: SourceLocation) -> ast.expr:
    """Return `not value`."""
    return set_location(ast.UnaryOp(ast.Not(), value), place)


def make_named_expression(id: str, value: ast.expr, place: SourceLocation) -> ast.expr:
    """Return `(id := value)`."""
    return set_location(ast.NamedExpr(set_location(ast.Name(id, _STORE), place), value), place)


def make_assignment(id: str, value: ast.expr, place: SourceLocation) -> ast.stmt:
    """Return `id = value`."""
    return set_location(ast.Assign([set_location(ast.Name(id, _STORE), place)], value), place)


def make_item_target(value: ast.expr, key: ast.expr, place: SourceLocation) -> ast.Subscript:
    """Return `value[key]` as the target of an assignment."""
    return set_location(ast.Subscript(value, key, _STORE), place)


def make_item_assignment(value: ast.expr, key: ast.expr, new: ast.expr, place: SourceLocation) -> ast.stmt:
    """Return `value[key] = new`."""
    return set_location(ast.Assign([make_item_target(value, key, place)], new), place)


def make_attribute(value: ast.expr, name: str, place: SourceLocation) -> ast.expr:
    """Return `value.name` of a Python object."""
    return set_location(ast.Attribute(value, name, _LOAD), place)


def make_attribute_assignment(value: ast.expr, name: str, new: ast.expr, place: SourceLocation) -> ast.stmt:
    """Return `value.name = new`."""
    return set_location(ast.Assign([set_location(ast.Attribute(value, name, _STORE), place)], new), place)


def make_expression_statement(value: ast.expr, place: SourceLocation) -> ast.stmt:
    """Return an expression as a statement."""
    return set_location(ast.Expr(value), place)


def make_private_block(body: list[ast.stmt], place: SourceLocation) -> ast.stmt:
    """Return `with _vrt.private_effects(): body`."""
    return set_location(ast.With([ast.withitem(make_runtime_call("private_effects", [], place))], body), place)


def make_function(name: str, arguments: ast.arguments, body: list[ast.stmt], place: SourceLocation) -> ast.stmt:
    """Return `def name(arguments): body`."""
    return set_location(ast.FunctionDef(name, arguments, body, []), place)


def make_arguments(names: Sequence[str], defaults: Sequence[ast.expr], place: SourceLocation) -> ast.arguments:
    """Return the parameters of a function; the defaults belong to the last ones."""
    return ast.arguments([], [set_location(ast.arg(name), place) for name in names], None, [], [], None, list(defaults))
