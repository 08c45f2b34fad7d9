"""What all compiled expressions are made with: types at the border, conditions, text, values evaluated once."""

from __future__ import annotations

import ast
from typing import cast

from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import (
    AI,
    BOOLEAN,
    JSON,
    NUMBER,
    TEXT,
    Type,
    Union,
    assignable,
    base,
    plain,
)
from antiphon.lang.compile.code import Code
from antiphon.lang.compile.emit import Emitter, Place, at
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.source import Source

_IS = ast.Is()


class Basics(Emitter):
    """The common ground. `code` collects what the running module needs besides its Python code."""

    def __init__(self, source: Source, code: Code) -> None:
        super().__init__(source)
        self.code = code
        #: Definitions that must stand before the statement that is being compiled.
        self.before: list[ast.stmt] = []
        #: Whether the function that is being compiled asks a model, or changes what models are shown.
        self.asked = False
        #: The loop variables that count.
        self.counters: set[Symbol] = set()
        #: What of the answers of asks is private, by where the asks begin.
        self.hidden: dict[int, tuple[str, ...]] = {}
        #: From where to where the value of the private variable goes that is being compiled.
        self.private_span = (0, 0)
        self._temporaries = 0

    def expr(self, node: n.Expr) -> ast.expr:
        """Compile an expression."""
        raise NotImplementedError

    def postfix(self, node: n.Member | n.Index | n.Slice | n.Call, lenient: bool = False) -> ast.expr:
        """Compile a chain of members, items and calls."""
        raise NotImplementedError

    def cast(self, node: n.Expr, wanted: Type | None) -> ast.expr:
        """An expression where a type is wanted; looked at when the program runs, unless it is known to fit."""
        value = self.expr(node)
        return self.fitted(value, type_of(node), wanted, self.place(node))

    def fitted(self, value: ast.expr, given: Type, wanted: Type | None, place: Place) -> ast.expr:
        """A value of one type where another is wanted."""
        if wanted is None or assignable(given, wanted, certain=True):
            return value
        if isinstance(wanted, AI):
            if isinstance(given, AI):
                return value
            wanted = wanted.inner
        if wanted == JSON:
            return value
        return self.call("_vas", [value, self.name(self.code.type_name(wanted), place)], place)

    def condition(self, node: n.Expr) -> ast.expr:
        """A condition of `if`, `while`, `and`, `or`, `not`."""
        type_ = type_of(node)
        if base(type_) == BOOLEAN:
            return self.expr(node)
        place = self.place(node)
        if type_ == JSON or isinstance(type_, AI):
            return self.call("_vcond", [self.lenient(node)], place)
        return self.call("_vcond" if BOOLEAN in _options(type_) else "_vpresent", [self.lenient(node)], place)

    def lenient(self, node: n.Expr) -> ast.expr:
        """An expression in which a missing field is null: before `??`, compared with null, as a condition."""
        if type(node) in (n.Member, n.Index):
            return self.postfix(cast(n.Member, node), lenient=True)
        return self.expr(node)

    def temporary(self) -> str:
        """A name that nothing else has."""
        self._temporaries += 1
        return f"_v{self._temporaries}"

    def as_text(self, node: n.Expr) -> ast.expr:
        """An expression as `print` would show it."""
        value, type_ = self.expr(node), type_of(node)
        kind = base(type_)
        if kind == TEXT and not isinstance(type_, AI):
            return value
        place = self.place(node)
        if kind == NUMBER and isinstance(value, ast.Name) and not isinstance(type_, AI):
            # Whole numbers, by far the most, need no call.
            own = at(ast.Attribute(value, "__class__", ast.Load()), place)
            test = self.compare(own, _IS, self.name("_vint", place), place)
            return self.either(test, value, self.call("_vtext", [value], place), place)
        return self.call("_vtext", [value], place)

    def once(self, value: ast.expr, place: Place, keep: bool = False) -> tuple[ast.expr, ast.expr]:
        """A value where it is evaluated, and where it is read again; a variable is read again unless `keep` is set."""
        if isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and not keep):
            return value, value
        name = self.temporary()
        return self.named(name, value, place), self.name(name, place)

    def class_of(self, value: ast.expr, place: Place) -> ast.expr:
        """The class of a value."""
        return at(ast.Attribute(value, "__class__", ast.Load()), place)

    def is_a(self, value: ast.expr, kind: str, place: Place) -> tuple[ast.expr, ast.expr]:
        """A test whether a value is just a list or dict of Python's, and the value as it is read after it."""
        first, value = self.once(value, place)
        return self.compare(self.class_of(first, place), _IS, self.name(kind, place), place), value


def type_of(node: n.Expr) -> Type:
    """The type the checker found; `json` where it found none."""
    return node.type if node.type is not None else JSON


def _options(type_: Type) -> tuple[Type, ...]:
    inner = plain(type_)
    return inner.options if isinstance(inner, Union) else (inner,)
