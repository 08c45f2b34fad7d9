"""What is known while a module is compiled, and the tables that say which function compiles which node."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Set
from typing import Any

from antiphon.lang.check.fitting import assignable
from antiphon.lang.check.sharing import agree, holds_values
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import AI, BOOLEAN, JSON, NUMBER, TEXT, Array, Type
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.check.views import hides
from antiphon.lang.compile import emit
from antiphon.lang.compile.code import Code, Variable
from antiphon.lang.compile.copies import goes_into_json
from antiphon.lang.compile.emit import Place
from antiphon.lang.compile.naming import FunctionScope, python_name
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.source import Source

ExprRule = Callable[["Compiler", Any], ast.expr]
StatementRule = Callable[["Compiler", Any], list[ast.stmt]]
#: Filled in by the package, which knows all of them.
EXPRESSIONS: dict[type, ExprRule] = {}
STATEMENTS: dict[type, StatementRule] = {}


class Compiler:
    """One module that is being compiled. `code` collects what its run needs besides the Python code."""

    def __init__(self, source: Source, code: Code) -> None:
        self.source = source
        self.code = code
        #: The Python function that is being compiled.
        self.scope = FunctionScope(None, None, set())
        #: Definitions that must stand before the statement that is being compiled.
        self.before: list[ast.stmt] = []
        #: Definitions of functions declared at the top level, which stand before `main`.
        self.top: list[ast.stmt] = []
        #: The variables of the top level that are locals of `main`, and those that it shares with functions.
        self.own: set[Symbol] = set()
        self.shared: set[Symbol] = set()
        #: The variables that each round of a loop has anew for the functions that it makes.
        self.boxed: set[Symbol] = set()
        #: The ids of functions that nothing but their own round calls.
        self.passing: set[int] = set()
        #: Whether what the top level does is left out, and what asks a model with it.
        self.declarations_only = False
        #: Whether the function that is being compiled asks a model, or changes what models are shown.
        self.asked = False
        #: The loop variables that count.
        self.counters: set[Symbol] = set()
        #: Those of them that never are negative.
        self.naturals: set[Symbol] = set()
        #: Functions that are known to do nothing but compute.
        self.computing: set[Symbol] = set()
        #: The variables of the top level that whoever runs the program gives another value.
        self.given: Set[str] = frozenset()
        #: Whether names are bound in an expression of Python, of those that were looked at.
        self.binding: dict[ast.AST, bool] = {}
        #: What quotients are of: their operands, as they were compiled.
        self.quotients: dict[ast.expr, tuple[ast.expr, ast.expr]] = {}
        #: What of the answers of asks is private, by where the asks begin.
        self.hidden: dict[int, tuple[str, ...]] = {}
        #: From where to where the value of the private variable goes that is being compiled.
        self.private_span: tuple[int, int] = (0, 0)
        #: Whether something may run beside the rest.
        self.is_concurrent = "async" in source.text
        self._temporaries = 0
        self._starts = source.line_starts
        self._is_ascii = source.text.isascii()
        #: The line looked at last, and where it begins and ends.
        self._line, self._low, self._high = 0, 0, -1

    # The tree

    def expr(self, node: n.Expr) -> ast.expr:
        """Compile an expression."""
        return EXPRESSIONS[type(node)](self, node)

    def cast(self, node: n.Expr, wanted: Type | None) -> ast.expr:
        """An expression where a type is wanted; looked at when the program runs, unless it is known to fit."""
        given = type_of(node)
        value = fitting = self.expr(node)
        if given is not wanted:
            place = self.place(node)
            value = self._seen(value, given, wanted, place)
            fitting = self._checked(value, given, wanted, place)
        if fitting is value and goes_into_json(node, wanted):
            return emit.call(_copier(given), [value], self.place(node))
        return fitting

    def lend(self, node: n.Expr, wanted: Type | None) -> ast.expr:
        """An expression where a type is wanted, whose value is only read, or copied anyway."""
        return self.fitted(self.expr(node), type_of(node), wanted, self.place(node))

    def fitted(self, value: ast.expr, given: Type, wanted: Type | None, place: Place) -> ast.expr:
        """A value of one type where another is wanted."""
        if given is wanted:
            return value
        return self._checked(self._seen(value, given, wanted, place), given, wanted, place)

    def _seen(self, value: ast.expr, given: Type, wanted: Type | None, place: Place) -> ast.expr:
        """A value without the fields that its type does not know of, where the wanted type would show them."""
        if wanted is None or _is_written_out(value) or not hides(given, wanted):
            return value
        types = [emit.name(self.code.type_name(each), place) for each in (given, wanted)]
        return emit.call("_vseen", [value, *types], place)

    def _checked(self, value: ast.expr, given: Type, wanted: Type | None, place: Place) -> ast.expr:
        if wanted is None or (assignable(given, wanted, certain=True) and not _copies(given, wanted)):
            return value
        if isinstance(wanted, AI):
            if isinstance(given, AI):
                return value
            wanted = wanted.inner
        if wanted == JSON:
            return value
        if isinstance(given, Signature) and isinstance(wanted, Signature):
            types = [emit.name(self.code.type_name(each), place) for each in (given, wanted)]
            return emit.call("_vadapted", [value, *types], place)
        return self._as_type(value, wanted, place)

    def _as_type(self, value: ast.expr, wanted: Type, place: Place) -> ast.expr:
        """A value that has to be of a type: of a text, a number or a boolean its class says so, without a call."""
        classes = _CLASSES.get(wanted, ())
        again = value
        if classes and not isinstance(value, ast.Name):
            held = self.temporary()
            value, again = emit.named(held, value, place), emit.name(held, place)
        found = emit.call("_vas", [again, emit.name(self.code.type_name(wanted), place)], place)
        for each in reversed(classes):
            # The first of the tests evaluates it.
            tested = emit.attribute(value if each is classes[0] else again, "__class__", place)
            test = emit.compare(tested, ast.Is(), emit.name(each, place), place)
            found = emit.either(test, again, found, place)
        return found

    # Places

    def place(self, node: n.Node) -> Place:
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

    # Names

    def temporary(self) -> str:
        """A name that nothing else has."""
        self._temporaries += 1
        return f"_v{self._temporaries}"

    def declare(self, symbol: Symbol, since: int) -> None:
        """Give a symbol its Python name, and note it for those who look at the frame."""
        if symbol.python:
            # Declared by an earlier piece of the same session.
            pass
        elif self.is_global(symbol):
            symbol.python = python_name(symbol.name)
            self.scope.taken.add(symbol.python)
        else:
            symbol.python = self.scope.named(symbol)
        if self.scope.loops:
            self.scope.looped.add(symbol.python)
        if symbol.kind in ("let", "const", "parameter", "loop", "caught"):
            seen = max(since, symbol.since)
            self.scope.variables.append(
                Variable(symbol.python, symbol.name, symbol.type, seen, symbol.until, symbol.is_private)
            )

    def is_global(self, symbol: Symbol) -> bool:
        """Whether a variable is one of the module's globals."""
        return symbol.is_global and symbol not in self.own and symbol not in self.shared

    def read(self, symbol: Symbol, place: Place) -> ast.expr:
        """A variable where it is read."""
        value = emit.name(symbol.python, place)
        return emit.attribute(value, "value", place) if symbol in self.boxed else value

    def bind(self, symbol: Symbol, value: ast.expr, place: Place) -> ast.stmt:
        """Assign to a variable."""
        if symbol in self.boxed:
            return emit.assign_attribute(emit.name(symbol.python, place), "value", value, place)
        if self.is_global(symbol):
            self.scope.globals.add(symbol.python)
        elif symbol in self.shared or symbol.python not in self.scope.taken:
            self.scope.outside.add(symbol.python)
        return emit.assign(symbol.python, value, place)


#: The classes of Python that the values of a type mostly have, the likeliest first.
_CLASSES: dict[Type, tuple[str, ...]] = {NUMBER: ("_vint", "_vfloat"), TEXT: ("_vstr",), BOOLEAN: ("_vbool",)}


def _copies(given: Type, wanted: Type) -> bool:
    """Whether what a function is called with must be copied, because it takes json."""
    return isinstance(given, Signature) and isinstance(wanted, Signature) and not agree(given, wanted)


def _copier(type_: Type) -> str:
    return "_vlist" if isinstance(type_, Array) and holds_values(type_) else "_vcopy"


def _is_written_out(value: ast.expr) -> bool:
    """Whether an object has just the fields that it is written with."""
    return isinstance(value, ast.Dict) and None not in value.keys


def type_of(node: n.Expr) -> Type:
    """The type the checker found; `json` where it found none."""
    return node.type if node.type is not None else JSON
