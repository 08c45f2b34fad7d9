"""Python's syntax tree. Each piece takes the place in the program that tracebacks and debuggers will show."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

#: Line, column, end line and end column of a piece of Python, pointing into the program.
Place = tuple[int, int, int, int]
_LOAD = ast.Load()
_STORE = ast.Store()


def at(node: Any, place: Place) -> Any:
    """A node of Python's, put in its place."""
    node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = place
    return node


def name(id: str, place: Place) -> ast.expr:
    """A name that is read."""
    return at(ast.Name(id, _LOAD), place)


def target(id: str, place: Place) -> ast.expr:
    """A name that is assigned."""
    return at(ast.Name(id, _STORE), place)


def constant(value: Any, place: Place) -> ast.expr:
    """A literal."""
    return at(ast.Constant(value), place)


def call(function: str, arguments: Sequence[ast.expr], place: Place) -> ast.expr:
    """A call of one of the names that every program has."""
    return at(ast.Call(at(ast.Name(function, _LOAD), place), list(arguments), []), place)


def call_of(function: ast.expr, arguments: Sequence[ast.expr], place: Place) -> ast.expr:
    """A call of anything."""
    return at(ast.Call(function, list(arguments), []), place)


def method(value: ast.expr, name: str, arguments: Sequence[ast.expr], place: Place) -> ast.expr:
    """A call of a method of a Python object."""
    line, column = place[:2]
    # A name that ended on a later line would be taken for the place of the call.
    called = at(ast.Attribute(value, name, _LOAD), (line, column, line, column))
    return at(ast.Call(called, list(arguments), []), place)


def runtime(function: str, arguments: Sequence[ast.expr], place: Place) -> ast.expr:
    """A call of the run's own object."""
    return method(name("_vrt", place), function, arguments, place)


def last_of(values: list[ast.expr], place: Place) -> ast.expr:
    """All of them are evaluated, and the last is given."""
    if len(values) == 1:
        return values[0]
    return item(at(ast.Tuple(values, ast.Load()), place), constant(-1, place), place)


def item(value: ast.expr, key: ast.expr, place: Place) -> ast.expr:
    """`value[key]`."""
    return at(ast.Subscript(value, key, _LOAD), place)


def part(value: ast.expr, bounds: Sequence[ast.expr | None], place: Place) -> ast.expr:
    """`value[first:last:step]`."""
    return item(value, at(ast.Slice(*bounds), place), place)


def binary(left: ast.expr, operator: ast.operator, right: ast.expr, place: Place) -> ast.expr:
    """`left operator right`."""
    return at(ast.BinOp(left, operator, right), place)


def compare(left: ast.expr, operator: ast.cmpop, right: ast.expr, place: Place) -> ast.expr:
    """`left operator right`, of comparisons."""
    return at(ast.Compare(left, [operator], [right]), place)


def either(test: ast.expr, then: ast.expr, otherwise: ast.expr, place: Place) -> ast.expr:
    """`then if test else otherwise`."""
    return at(ast.IfExp(test, then, otherwise), place)


def negation(value: ast.expr, place: Place) -> ast.expr:
    """`not value`."""
    return at(ast.UnaryOp(ast.Not(), value), place)


def named(id: str, value: ast.expr, place: Place) -> ast.expr:
    """`(id := value)`."""
    return at(ast.NamedExpr(at(ast.Name(id, _STORE), place), value), place)


def assign(id: str, value: ast.expr, place: Place) -> ast.stmt:
    """`id = value`."""
    return at(ast.Assign([at(ast.Name(id, _STORE), place)], value), place)


def item_target(value: ast.expr, key: ast.expr, place: Place) -> ast.Subscript:
    """`value[key]` that is assigned."""
    return at(ast.Subscript(value, key, _STORE), place)


def assign_item(value: ast.expr, key: ast.expr, new: ast.expr, place: Place) -> ast.stmt:
    """`value[key] = new`."""
    return at(ast.Assign([item_target(value, key, place)], new), place)


def attribute(value: ast.expr, name: str, place: Place) -> ast.expr:
    """`value.name`, of a Python object."""
    return at(ast.Attribute(value, name, _LOAD), place)


def assign_attribute(value: ast.expr, name: str, new: ast.expr, place: Place) -> ast.stmt:
    """`value.name = new`."""
    return at(ast.Assign([at(ast.Attribute(value, name, _STORE), place)], new), place)


def expression(value: ast.expr, place: Place) -> ast.stmt:
    """An expression as a statement."""
    return at(ast.Expr(value), place)


def privately(body: list[ast.stmt], place: Place) -> ast.stmt:
    """`with _vrt.privately(): body`."""
    return at(ast.With([ast.withitem(runtime("privately", [], place))], body), place)


def function(name: str, arguments: ast.arguments, body: list[ast.stmt], place: Place) -> ast.stmt:
    """`def name(arguments): body`."""
    return at(ast.FunctionDef(name, arguments, body, []), place)


def arguments(names: Sequence[str], defaults: Sequence[ast.expr], place: Place) -> ast.arguments:
    """The parameters of a function; the defaults are those of the last ones."""
    return ast.arguments([], [at(ast.arg(name), place) for name in names], None, [], [], None, list(defaults))
