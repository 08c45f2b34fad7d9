"""The compiler's state for one module, and the tables that map each node type to its compile function."""

from __future__ import annotations

import ast
import keyword
from bisect import bisect_right
from collections.abc import Callable, Iterable, Set
from functools import cached_property
from typing import Any

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.code_object import MANGLED_PREFIX, ModuleCode, ScopeVariable
from antiphon.lang.codegen.python_ast import SourceLocation
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.source import Source
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import exposes_hidden_field, is_assignable
from antiphon.lang.typecheck.invariance import can_share, has_immutable_items, is_fresh_value
from antiphon.lang.typecheck.symbols import Symbol

MAIN_FUNCTION = "main"
#: The function that contains all others if they share variables.
WRAPPER_FUNCTION = "_varound"
_RESERVED_NAMES = {*keyword.kwlist, MAIN_FUNCTION, "__builtins__"}


def mangle_name(name: str) -> str:
    """Return the Python name of a name: itself, or mangled if Python or the compiler uses it. Injective."""
    kept = name.isidentifier() and name not in _RESERVED_NAMES and not name.startswith(("_v", "__"))
    return name if kept else f"{MANGLED_PREFIX}{name}"


def _is_captured(symbol: Symbol) -> bool:
    return symbol.is_captured or bool(symbol.assigned_in)


class FunctionScope:
    """The scope of a Python function that is being compiled: its names and variables."""

    def __init__(self, node: Any, outer: FunctionScope | None, taken: set[str]) -> None:
        self.node = node
        self.outer = outer
        self.taken = taken
        self.variables: list[ScopeVariable] = []
        self.globals: set[str] = set()
        self.outside: set[str] = set()
        self.returns: t.Type | None = None
        self.result_list = ""
        self.yields: t.Type | None = None
        #: How many loops enclose the current statement, and the variables that are new in each iteration.
        self.loops = 0
        self.loop_variables: set[str] = set()
        self._symbols_by_name: dict[str, Symbol] = {}

    def named(self, symbol: Symbol) -> str:
        """Choose a Python name for a variable: its own, unless that shadows one used here. Debuggers show it."""
        wish = mangle_name(symbol.name)
        known, number = wish, 1
        while self._is_taken(known, symbol) or self._is_used_outside(known):
            number += 1
            known = f"{wish}_{number}"
        self.taken.add(known)
        self._symbols_by_name[known] = symbol
        return known

    def _is_taken(self, name: str, symbol: Symbol) -> bool:
        """Return True if another variable has the name.

        A variable that went out of scope frees its name, unless a function captured it or the new one.
        """
        before = self._symbols_by_name.get(name)
        if before is None or _is_captured(symbol) or _is_captured(before):
            return name in self.taken
        return before.until > symbol.start

    def _is_used_outside(self, name: str) -> bool:
        outside = self.outer is not None and any(name in scope.taken for scope in self.outer.chain())
        return outside and name in self._used

    @cached_property
    def _used(self) -> set[str]:
        """Return the Python names of the variables that the function uses; outer ones are named already."""
        symbols = (each.symbol for each in n.walk(self.node) if isinstance(each, n.Name))
        return {each.python for each in symbols if each is not None}

    def chain(self) -> Iterable[FunctionScope]:
        """Yield this scope and those around it, innermost first."""
        scope: FunctionScope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer


ExprRule = Callable[["Compiler", Any], ast.expr]
StatementRule = Callable[["Compiler", Any], list[ast.stmt]]
#: Filled in by the package's `__init__`, which imports all rules.
EXPRESSION_RULES: dict[type, ExprRule] = {}
STATEMENT_RULES: dict[type, StatementRule] = {}


class Compiler:
    """The state of compiling one module; `code` collects the metadata that a run needs."""

    def __init__(self, source: Source, code: ModuleCode) -> None:
        self.source = source
        self.code = code
        #: The Python function that is being compiled.
        self.scope = FunctionScope(None, None, set())
        #: Definitions to insert before the statement that is being compiled.
        self.before: list[ast.stmt] = []
        #: Definitions of top-level functions, to insert before `main`.
        self.top: list[ast.stmt] = []
        #: The top-level variables that are locals of `main`, and those that functions share with it.
        self.own: set[Symbol] = set()
        self.shared: set[Symbol] = set()
        #: The loop variables that live in a cell, new in each iteration, for the closures made there.
        self.cell_variables: set[Symbol] = set()
        #: The ids of functions that are called only within their own loop iteration.
        self.iteration_local_functions: set[int] = set()
        #: True if top-level statements with effects, and those that ask a model, are left out.
        self.declarations_only = False
        #: True once the function being compiled asks a model, or changes the history that models see.
        self.asked = False
        #: The loop variables that are integers.
        self.integer_variables: set[Symbol] = set()
        #: The loop variables that are integers and never negative.
        self.nonnegative_variables: set[Symbol] = set()
        #: Functions known to ask nobody.
        self.ask_free_functions: set[Symbol] = set()
        #: The top-level variables whose values the caller overrides.
        self.given: Set[str] = frozenset()
        #: Cache: True for Python expressions that bind names.
        self.binding: dict[ast.AST, bool] = {}
        #: The compiled operands of each compiled quotient.
        self.quotient_operands: dict[ast.expr, tuple[ast.expr, ast.expr]] = {}
        #: The private fields of answers, by the offset of the model call.
        self.hidden: dict[int, tuple[str, ...]] = {}
        #: The span of the value being compiled that goes into a private variable.
        self.private_span: tuple[int, int] = (0, 0)
        #: True if parts of the program may run concurrently.
        self.is_concurrent = "async" in source.text
        self._temporary_count = 0
        self._line_starts = source.line_starts
        self._is_ascii = source.text.isascii()
        #: The most recently located line, and the offsets of its start and end.
        self._line, self._line_start, self._line_end = 0, 0, -1

    # The tree

    def expr(self, node: n.Expr) -> ast.expr:
        """Compile an expression."""
        return EXPRESSION_RULES[type(node)](self, node)

    def cast(self, node: n.Expr, wanted: t.Type | None) -> ast.expr:
        """Compile an expression to a value of a type; it is checked at run time unless known to fit."""
        given = get_expression_type(node)
        value = fitting = self.expr(node)
        if given is not wanted:
            place = self.place(node)
            value = self._seen(value, given, wanted, place)
            fitting = self._checked(value, given, wanted, place)
        if fitting is value and needs_json_copy(node, wanted):
            return emit.make_call(_get_copy_function(given), [value], self.place(node))
        return fitting

    def compile_borrowed(self, node: n.Expr, wanted: t.Type | None) -> ast.expr:
        """Compile an expression to a value of a type that is only read, or copied anyway."""
        return self.convert_value(self.expr(node), get_expression_type(node), wanted, self.place(node))

    def convert_value(self, value: ast.expr, given: t.Type, wanted: t.Type | None, place: SourceLocation) -> ast.expr:
        """Convert a compiled value from one type to another."""
        if given is wanted:
            return value
        return self._checked(self._seen(value, given, wanted, place), given, wanted, place)

    def _seen(self, value: ast.expr, given: t.Type, wanted: t.Type | None, place: SourceLocation) -> ast.expr:
        """Remove fields that the value's own type does not know, if the wanted type would reveal them."""
        if wanted is None or _is_dict_literal(value) or not exposes_hidden_field(given, wanted):
            return value
        types = [self.make_type_name(each, place) for each in (given, wanted)]
        return emit.make_call("narrow_to_known_fields", [value, *types], place)

    def _checked(self, value: ast.expr, given: t.Type, wanted: t.Type | None, place: SourceLocation) -> ast.expr:
        if wanted is None or (is_assignable(given, wanted, certain=True) and not _needs_argument_copies(given, wanted)):
            return value
        if isinstance(wanted, t.AIResultType):
            if isinstance(given, t.AIResultType):
                return value
            wanted = wanted.inner
        if wanted == t.JSON:
            return value
        if isinstance(given, t.CallableType) and isinstance(wanted, t.CallableType):
            types = [self.make_type_name(each, place) for each in (given, wanted)]
            return emit.make_call("adapt_function", [value, *types], place)
        return self._emit_type_check(value, wanted, place)

    def _emit_type_check(self, value: ast.expr, wanted: t.Type, place: SourceLocation) -> ast.expr:
        """Emit the check that a value has a type; the class of a text, number or boolean is tested inline."""
        classes = PYTHON_CLASSES.get(wanted, ())
        again = value
        if classes and not isinstance(value, ast.Name):
            held = self.make_temporary()
            value, again = emit.make_named_expression(held, value, place), emit.make_name(held, place)
        found = emit.make_call("convert_to_type", [again, self.make_type_name(wanted, place)], place)
        for each in reversed(classes):
            # The first test evaluates the value.
            test = emit.make_class_comparison(value if each is classes[0] else again, each, place)
            found = emit.make_conditional(test, again, found, place)
        return found

    def make_type_name(self, type_: t.Type, place: SourceLocation) -> ast.expr:
        """Return the expression that reads a type at run time."""
        return emit.make_name(self.code.type_name(type_), place)

    # Places

    def place(self, node: n.Node) -> SourceLocation:
        """Return the location of a node."""
        start, end = node.start, node.end
        low = self._line_start
        if low <= start and end < self._line_end:
            # Fast path: most nodes are on the line of the node before.
            return self._line, start - low, self._line, end - low
        return self.between(start, end)

    def between(self, start: int, end: int) -> SourceLocation:
        """Return the location of a span of offsets."""
        if not self._is_ascii:
            return (*self.source.python_position(start), *self.source.python_position(end))
        starts = self._line_starts
        line = bisect_right(starts, start)
        begin = starts[line - 1]
        self._line, self._line_start = line, begin
        self._line_end = starts[line] if line < len(starts) else len(self.source.text) + 1
        if end < self._line_end:
            return line, start - begin, line, end - begin
        last = bisect_right(starts, end)
        return line, start - begin, last, end - starts[last - 1]

    # Names

    def make_temporary(self) -> str:
        """Return a name that nothing else has."""
        self._temporary_count += 1
        return f"_v{self._temporary_count}"

    def declare_symbol(self, symbol: Symbol, since: int) -> None:
        """Give a symbol its Python name, and record it for models that are shown the frame's variables."""
        if symbol.python:
            # Declared by an earlier input of the same interactive session.
            pass
        elif self.is_global(symbol):
            symbol.python = mangle_name(symbol.name)
            self.scope.taken.add(symbol.python)
        else:
            symbol.python = self.scope.named(symbol)
        if self.scope.loops:
            self.scope.loop_variables.add(symbol.python)
        if symbol.kind in ("let", "const", "parameter", "loop", "caught"):
            seen = max(since, symbol.since)
            self.scope.variables.append(
                ScopeVariable(symbol.python, symbol.name, symbol.type, seen, symbol.until, symbol.is_private)
            )

    def is_global(self, symbol: Symbol) -> bool:
        """Return True if a variable is one of the module's globals."""
        return symbol.is_global and symbol not in self.own and symbol not in self.shared

    def read(self, symbol: Symbol, place: SourceLocation) -> ast.expr:
        """Return the expression that reads a variable."""
        value = emit.make_name(symbol.python, place)
        return emit.make_attribute(value, "value", place) if symbol in self.cell_variables else value

    def bind(self, symbol: Symbol, value: ast.expr, place: SourceLocation) -> ast.stmt:
        """Return the statement that assigns a variable."""
        if symbol in self.cell_variables:
            return emit.make_attribute_assignment(emit.make_name(symbol.python, place), "value", value, place)
        if self.is_global(symbol):
            self.scope.globals.add(symbol.python)
        elif symbol in self.shared or symbol.python not in self.scope.taken:
            self.scope.outside.add(symbol.python)
        return emit.make_assignment(symbol.python, value, place)


#: The usual Python classes of a type's values, the most likely first.
PYTHON_CLASSES: dict[t.Type, tuple[str, ...]] = {
    t.NUMBER: ("int", "float"),
    t.TEXT: ("str",),
    t.BOOLEAN: ("bool",),
}


def _needs_argument_copies(given: t.Type, wanted: t.Type) -> bool:
    """Return True if a function's arguments must be copied, because it takes `json`."""
    return isinstance(given, t.CallableType) and isinstance(wanted, t.CallableType) and not can_share(given, wanted)


def _get_copy_function(type_: t.Type) -> str:
    return "list" if isinstance(type_, t.Array) and has_immutable_items(type_) else "copy_value"


def _is_dict_literal(value: ast.expr) -> bool:
    """Return True if an object literal has exactly the fields that are written in it."""
    return isinstance(value, ast.Dict) and None not in value.keys


def get_expression_type(node: n.Expr) -> t.Type:
    """Return the type the checker inferred for an expression; `json` if it inferred none."""
    return node.type if node.type is not None else t.JSON


def has_plain_type(node: n.Expr, kind: t.Type) -> bool:
    """Return True if an expression has a basic type, and is not the answer of a model."""
    return is_plain_type(get_expression_type(node), kind)


def is_plain_type(type_: t.Type, kind: t.Type) -> bool:
    """Return True if a type is a basic one, and not that of a model's answers."""
    return t.get_base_type(type_) == kind and not isinstance(type_, t.AIResultType)


def unwrap_if_answer(node: n.Expr, value: ast.expr, place: SourceLocation) -> ast.expr:
    """Return a compiled value, taken out of its AI result if it may be one."""
    type_ = get_expression_type(node)
    may_be_answer = type_ == t.JSON or isinstance(type_, t.AIResultType)
    return emit.make_call("unwrap_answer", [value], place) if may_be_answer else value


def needs_json_copy(node: n.Expr, wanted: t.Type | None) -> bool:
    """Return True if a mutable value of a known type goes into `json`, where it could be changed freely."""
    if wanted is None or t.strip_ai_result(wanted) != t.JSON or node.type is None or not t.is_mutable(node.type):
        return False
    return not can_share(node.type, t.JSON) and not is_fresh_value(node)


def evaluate_once(c: Compiler, value: ast.expr, place: SourceLocation, keep: bool = False) -> tuple[ast.expr, ast.expr]:
    """Return a value where it is evaluated, and where it is read again.

    A variable is simply read twice, unless `keep` is set.
    """
    if isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and not keep):
        return value, value
    name = c.make_temporary()
    return emit.make_named_expression(name, value, place), emit.make_name(name, place)


def can_evaluate_first(value: ast.expr, other: ast.expr) -> bool:
    """Return True if a value may be read before an expression that is written before it."""
    if not isinstance(value, ast.Name):
        return isinstance(value, ast.Constant)
    return not any(isinstance(each, ast.Call | ast.NamedExpr) for each in ast.walk(other))


def make_class_test(c: Compiler, value: ast.expr, kind: str, place: SourceLocation) -> tuple[ast.expr, ast.expr]:
    """Return a test that a value's class is exactly `kind`, and the value as it is read afterwards."""
    first, value = evaluate_once(c, value, place)
    return emit.make_class_comparison(first, kind, place), value


def make_not_null_test(
    c: Compiler, value: ast.expr, place: SourceLocation, node: n.Expr | None = None
) -> tuple[ast.expr, ast.expr]:
    """Return a test that a value is not null, and the value as it is read afterwards.

    The value of a `node` that may be an answer is unwrapped for the test.
    """
    first, again = evaluate_once(c, value, place)
    if isinstance(first, ast.Constant):
        # Python warns about `is` with a literal.
        return emit.make_constant(first.value is not None, place), again
    first = first if node is None else unwrap_if_answer(node, first, place)
    return emit.make_comparison(first, ast.IsNot(), emit.make_constant(None, place), place), again
