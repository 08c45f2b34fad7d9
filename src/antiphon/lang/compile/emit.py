"""Python's syntax tree, made with the positions of the program's own source."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from antiphon.lang.syntax.nodes import Node
from antiphon.lang.syntax.source import Source

#: Line, column, end line and end column of a piece of Python, pointing into the program.
Place = tuple[int, int, int, int]
_LOAD = ast.Load()
_STORE = ast.Store()


class Emitter:
    """Makes nodes of Python's tree. Each takes the place that tracebacks and debuggers will show."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._starts = source.line_starts
        self._is_ascii = source.text.isascii()
        #: The line looked at last, and where it begins and ends.
        self._line, self._low, self._high = 0, 0, -1

    def place(self, node: Node) -> Place:
        """Where a node stands."""
        start, end = node.start, node.end
        low = self._low
        if low <= start and end < self._high:
            # The line of the node before it: so it is for most.
            return self._line, start - low, self._line, end - low
        return self.between(start, end)

    def between(self, start: int, end: int) -> Place:
        """The place of a span."""
        if not self._is_ascii:
            return (*self.source.python_place(start), *self.source.python_place(end))
        starts = self._starts
        line = bisect_right(starts, start)
        begin = starts[line - 1]
        self._line, self._low = line, begin
        self._high = starts[line] if line < len(starts) else len(self.source.text) + 1
        if end < self._high:
            return line, start - begin, line, end - begin
        last = bisect_right(starts, end)
        return line, start - begin, last, end - starts[last - 1]

    def name(self, id: str, place: Place) -> ast.expr:
        """A name that is read."""
        return _at(ast.Name(id, _LOAD), place)

    def target(self, id: str, place: Place) -> ast.expr:
        """A name that is assigned."""
        return _at(ast.Name(id, _STORE), place)

    def constant(self, value: Any, place: Place) -> ast.expr:
        """A literal."""
        return _at(ast.Constant(value), place)

    def call(self, function: str, arguments: Sequence[ast.expr], place: Place) -> ast.expr:
        """A call of one of the names that every program has."""
        return _at(ast.Call(_at(ast.Name(function, _LOAD), place), list(arguments), []), place)

    def call_of(self, function: ast.expr, arguments: Sequence[ast.expr], place: Place) -> ast.expr:
        """A call of anything."""
        return _at(ast.Call(function, list(arguments), []), place)

    def method(self, value: ast.expr, name: str, arguments: Sequence[ast.expr], place: Place) -> ast.expr:
        """A call of a method of a Python object."""
        return _at(ast.Call(_at(ast.Attribute(value, name, _LOAD), place), list(arguments), []), place)

    def runtime(self, name: str, arguments: Sequence[ast.expr], place: Place) -> ast.expr:
        """A call of the run's own object."""
        return self.method(self.name("_vrt", place), name, arguments, place)

    def item(self, value: ast.expr, key: ast.expr, place: Place) -> ast.expr:
        """`value[key]`."""
        return _at(ast.Subscript(value, key, _LOAD), place)

    def binary(self, left: ast.expr, operator: ast.operator, right: ast.expr, place: Place) -> ast.expr:
        """`left operator right`."""
        return _at(ast.BinOp(left, operator, right), place)

    def compare(self, left: ast.expr, operator: ast.cmpop, right: ast.expr, place: Place) -> ast.expr:
        """`left operator right`, of comparisons."""
        return _at(ast.Compare(left, [operator], [right]), place)

    def either(self, test: ast.expr, then: ast.expr, otherwise: ast.expr, place: Place) -> ast.expr:
        """`then if test else otherwise`."""
        return _at(ast.IfExp(test, then, otherwise), place)

    def negation(self, value: ast.expr, place: Place) -> ast.expr:
        """`not value`."""
        return _at(ast.UnaryOp(ast.Not(), value), place)

    def named(self, id: str, value: ast.expr, place: Place) -> ast.expr:
        """`(id := value)`."""
        return _at(ast.NamedExpr(_at(ast.Name(id, _STORE), place), value), place)

    def assign(self, id: str, value: ast.expr, place: Place) -> ast.stmt:
        """`id = value`."""
        return _at(ast.Assign([_at(ast.Name(id, _STORE), place)], value), place)

    def assign_item(self, value: ast.expr, key: ast.expr, new: ast.expr, place: Place) -> ast.stmt:
        """`value[key] = new`."""
        return _at(ast.Assign([_at(ast.Subscript(value, key, _STORE), place)], new), place)

    def expression(self, value: ast.expr, place: Place) -> ast.stmt:
        """An expression as a statement."""
        return _at(ast.Expr(value), place)

    def function(self, name: str, arguments: ast.arguments, body: list[ast.stmt], place: Place) -> ast.stmt:
        """`def name(arguments): body`."""
        return _at(ast.FunctionDef(name, arguments, body, []), place)

    def arguments(self, names: Sequence[str], defaults: Sequence[ast.expr], place: Place) -> ast.arguments:
        """The parameters of a function; the defaults are those of the last ones."""
        return ast.arguments([], [_at(ast.arg(name), place) for name in names], None, [], [], None, list(defaults))


def _at(node: Any, place: Place) -> Any:
    node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = place
    return node


at = _at
