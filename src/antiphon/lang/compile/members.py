"""Members, items, methods and calls, compiled: a chain of any length, from its left end."""

from __future__ import annotations

import ast
from typing import Any, cast

from antiphon.lang.check.methods import methods_of
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import (
    AI,
    AI_NAMES,
    JSON,
    NUMBER,
    TEXT,
    Array,
    Object,
    Simple,
    Type,
    base,
)
from antiphon.lang.compile.basics import type_of
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.operators import Operators
from antiphon.lang.syntax import nodes as n

_IN = ast.In()
#: Methods that are Python's own where the type is known: of text, and of arrays.
_TEXT_DIRECT = {"upper": "upper", "lower": "lower", "trim": "strip", "startsWith": "startswith", "endsWith": "endswith"}


class Members(Operators):
    """Compiles chains of members, items and calls."""

    def postfix(self, node: n.Member | n.Index | n.Slice | n.Call, lenient: bool = False) -> ast.expr:
        """A chain of members, items and calls, from its left end."""
        steps: list[Any] = []
        here: Any = node
        while True:
            kind = here.__class__
            if kind is n.Call:
                if type(here.callee) is not n.Member:
                    break
                steps.append(here)
                here = here.callee.object
            elif kind in (n.Member, n.Index, n.Slice):
                steps.append(here)
                here = here.object
            else:
                break
        value = self._call(here) if type(here) is n.Call else self.expr(here)
        for step in reversed(steps):
            value = self._step(step, value, lenient)
        return value

    def _step(self, node: Any, value: ast.expr, lenient: bool) -> ast.expr:
        place = self.place(node)
        kind = node.__class__
        if kind is n.Call:
            return self._method(node, value, place)
        if kind is n.Member:
            return self._member(node, value, lenient, place)
        if kind is n.Index:
            return self._index(node, value, lenient, place)
        bounds = [
            self.expr(each) if each else self.constant(None, place) for each in (node.first, node.last, node.step)
        ]
        return self.call("_vpart", [value, *bounds], place)

    def _member(self, node: n.Member, value: ast.expr, lenient: bool, place: Place) -> ast.expr:
        type_, name = type_of(node.object), node.name
        key = self.constant(name, place)
        if isinstance(type_, AI):
            if name in AI_NAMES:
                return self.call("_vai", [value, key], place)
            value, type_ = self.call("_vunwrap", [value], place), type_.inner
        kind = base(type_)
        if isinstance(kind, Object) and name in kind.fields:
            if kind.fields[name].optional:
                return self.method(value, "get", [key], place)
            return self.item(value, key, place)
        if name == "length" and (kind == TEXT or isinstance(kind, Array | Object)):
            return self.call("_vpylen", [value], place)
        if lenient:
            return self.call("_voptional", [value, key], place)
        test, value = self.is_a(value, "_vdict", place)
        there = at(ast.BoolOp(ast.And(), [test, self.compare(key, _IN, value, place)]), place)
        return self.either(there, self.item(value, key, place), self.call("_vmember", [value, key], place), place)

    def _index(self, node: n.Index, value: ast.expr, lenient: bool, place: Place) -> ast.expr:
        key, type_ = self.expr(node.index), type_of(node.object)
        sequence = isinstance(type_, Array) or (base(type_) == TEXT and not isinstance(type_, AI))
        if sequence and type_of(node.index) != JSON and base(type_of(node.index)) == NUMBER:
            return self.item(value, self.whole(node.index, key, place), place)
        if isinstance(key, ast.Constant) and key.value.__class__ is int and not lenient:
            test, value = self.is_a(value, "_vlist", place)
            return self.either(test, self.item(value, key, place), self.call("_vitem", [value, key], place), place)
        return self.call("_voptionalitem" if lenient else "_vitem", [value, key], place)

    def whole(self, node: n.Expr, key: ast.expr, place: Place) -> ast.expr:
        """A number as an index: one that is whole but was computed with fractions, such as 0.5 * 4, is one too."""
        if self._is_whole(node):
            return key
        test, key = self.is_a(key, "_vint", place)
        return self.either(test, key, self.call("_vwhole", [key], place), place)

    def _is_whole(self, node: n.Expr) -> bool:
        """Whether a number is an integer, as far as that can be seen."""
        match node:
            case n.NumberLit(value=value):
                return type(value) is int
            case n.Unary(operand=operand):
                return self._is_whole(operand)
            case n.Name(symbol=symbol):
                return symbol is not None and symbol in self.counters
            case n.Binary(op="+" | "-" | "*"):
                return self._is_whole(node.left) and self._is_whole(node.right)
            case _:
                return False

    def _method(self, node: n.Call, value: ast.expr, place: Place) -> ast.expr:
        callee = cast(n.Member, node.callee)
        type_, name = type_of(callee.object), callee.name
        known = methods_of(type_)
        if known is None or name not in known:
            return self._dynamic_method(name, value, [self.expr(each) for each in node.arguments], place)
        if isinstance(type_, AI):
            value, type_ = self.call("_vunwrap", [value], place), type_.inner
        kind = base(type_)
        wanted = _parameter_types(known[name].parameters, kind)
        arguments = [self.cast(each, type_) for each, type_ in zip(node.arguments, wanted, strict=False)]
        direct = self._direct_method(kind, name, value, arguments, place)
        return direct or self.call(f"_vm_{_receiver(kind)}_{name}", [value, *arguments], place)

    def _dynamic_method(self, name: str, value: ast.expr, arguments: list[ast.expr], place: Place) -> ast.expr:
        key = self.constant(name, place)
        if name != "push" or len(arguments) != 1:
            return self.call("_vcall", [value, key, *arguments], place)
        test, value = self.is_a(value, "_vlist", place)
        push = self.method(value, "append", arguments, place)
        return self.either(test, push, self.call("_vcall", [value, key, *arguments], place), place)

    def _direct_method(
        self, kind: Type, name: str, value: ast.expr, arguments: list[ast.expr], place: Place
    ) -> ast.expr | None:
        """The same as Python's own method, where there is one."""
        if name == "len":
            return self.call("_vpylen", [value], place)
        if kind == TEXT and name in _TEXT_DIRECT:
            return self.method(value, _TEXT_DIRECT[name], arguments, place)
        if kind == TEXT and name == "includes":
            return self.compare(arguments[0], _IN, value, place)
        if isinstance(kind, Array) and name == "push":
            return self.method(value, "append", arguments, place)
        if isinstance(kind, Array) and name == "join" and base(kind.item) == TEXT and len(arguments) == 1:
            return self.method(arguments[0], "join", [value], place) if kind.item == TEXT else None
        return None

    def _call(self, node: n.Call) -> ast.expr:
        """A call of a function or tool by its name."""
        place = self.place(node)
        callee = node.callee
        symbol = callee.symbol if isinstance(callee, n.Name) else None
        if symbol is None:
            return self.constant(None, place)
        signature = _signature(symbol)
        wanted: list[Type | None] = []
        if signature is not None and not signature.unchecked:
            wanted = list(signature.parameters)
            if signature.variadic:
                wanted += [signature.parameters[-1]] * (len(node.arguments) - len(wanted))
        wanted += [None] * (len(node.arguments) - len(wanted))
        arguments = [self.cast(each, type_) for each, type_ in zip(node.arguments, wanted, strict=False)]
        value = self.call_symbol(symbol, arguments, place)
        if symbol.kind == "import" and signature is not None:
            # What a function of Python is annotated with is a promise, not a fact.
            value = self.fitted(value, JSON, signature.returns, place)
        return value

    def call_symbol(self, symbol: Symbol, arguments: list[ast.expr], place: Place) -> ast.expr:
        """A call of what a name stands for."""
        if symbol.kind == "builtin":
            self.asked = self.asked or symbol.name == "note"
            return self.call(f"_vb_{symbol.name}", arguments, place)
        function = self.name(symbol.python, place)
        if symbol.kind in ("tool", "import"):
            # What is not of the language is reached through the run: its calls are effects.
            return self.runtime("call", [function, *arguments], place)
        return self.call_of(function, arguments, place)


def _parameter_types(names: tuple[str, ...], receiver: Type) -> list[Type]:
    from antiphon.lang.check.methods import signature_type

    return [signature_type(each, receiver) for each in names]


def _receiver(kind: Type) -> str:
    if isinstance(kind, Array):
        return "array"
    if isinstance(kind, Object):
        return "object"
    assert isinstance(kind, Simple)
    return kind.name


def _signature(symbol: Symbol) -> Any:
    from antiphon.lang.check.types import Callable as Signature

    return symbol.type if isinstance(symbol.type, Signature) else None
