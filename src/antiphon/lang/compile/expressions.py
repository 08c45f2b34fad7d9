"""Expressions, compiled: literals, names, asking, Python, concurrency; operators and members are next door."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import (
    AI,
    Array,
    Object,
)
from antiphon.lang.compile.basics import type_of
from antiphon.lang.compile.code import Code, Site
from antiphon.lang.compile.emit import at
from antiphon.lang.compile.members import Members
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.source import Source


class Expressions(Members):
    """Compiles every kind of expression."""

    def __init__(self, source: Source, code: Code) -> None:
        super().__init__(source, code)
        self._compilers: dict[type, Callable[[Any], ast.expr]] = {
            n.NumberLit: self._literal,
            n.BoolLit: self._literal,
            n.NullLit: self._null,
            n.TextLit: self._text,
            n.Name: self._name,
            n.ArrayLit: self._array,
            n.ObjectLit: self._object,
            n.Unary: self.unary,
            n.Binary: self.binary_chain,
            n.Range: self.range,
            n.Member: self.postfix,
            n.Index: self.postfix,
            n.Slice: self.postfix,
            n.Call: self.postfix,
            n.Ask: self._ask,
            n.AskHuman: self._human,
            n.PyBlock: self._python,
            n.AsyncFor: self._async_for,
        }

    def expr(self, node: n.Expr) -> ast.expr:
        """Compile an expression."""
        return self._compilers[type(node)](node)

    # Literals and names

    def _literal(self, node: n.NumberLit | n.BoolLit) -> ast.expr:
        return self.constant(node.value, self.place(node))

    def _null(self, node: n.NullLit) -> ast.expr:
        return self.constant(None, self.place(node))

    def _text(self, node: n.TextLit) -> ast.expr:
        place = self.place(node)
        parts = node.parts
        if not parts or (len(parts) == 1 and type(parts[0]) is str):
            return self.constant(parts[0] if parts else "", place)
        values: list[ast.expr] = []
        for part in parts:
            if isinstance(part, str):
                values.append(self.constant(part, place))
            else:
                values.append(at(ast.FormattedValue(self.as_text(part.value), -1, None), place))
        return at(ast.JoinedStr(values), place)

    def _name(self, node: n.Name) -> ast.expr:
        symbol, place = node.symbol, self.place(node)
        if symbol is None:
            return self.constant(None, place)
        value = self.name(self.python_name(symbol), place)
        return self.call("_vwait", [value], place) if symbol.is_async else value

    def python_name(self, symbol: Symbol) -> str:
        """What a symbol is called in Python."""
        if symbol.kind == "builtin":
            return f"_vb_{symbol.name}"
        return symbol.python

    def _array(self, node: n.ArrayLit) -> ast.expr:
        inner = node.type.item if isinstance(node.type, Array) else None
        return at(ast.List([self.cast(item, inner) for item in node.items], ast.Load()), self.place(node))

    def _object(self, node: n.ObjectLit) -> ast.expr:
        fields = node.type.fields if isinstance(node.type, Object) else {}
        keys = [self.constant(entry.key, self.place(entry)) for entry in node.entries]
        values = [
            self.cast(entry.value, fields[entry.key].type if entry.key in fields else None) for entry in node.entries
        ]
        return at(ast.Dict(list(keys), values), self.place(node))

    # Asking, Python, concurrency

    def _ask(self, node: n.Ask) -> ast.expr:
        return self.runtime("ask", self.ask_arguments(node), self.place(node))

    def ask_arguments(self, node: n.Ask) -> list[ast.expr]:
        """What an ask needs: its site, the prompt, the model."""
        self.asked = True
        place = self.place(node)
        context = node.context or "default"
        by_default = node.says_model and node.model is None
        first, last = self.private_span
        hidden = self.hidden.get(node.start, ("",) if first <= node.start < last else ())
        site = Site(node.kind, context, node.wanted, node.start, node.end, by_default, hidden)
        model = self.expr(node.model) if node.model is not None else self.constant(None, place)
        return [self.constant(self.code.add_site(site), place), self.as_text(node.prompt), model]

    def _human(self, node: n.AskHuman) -> ast.expr:
        self.asked = True
        place = self.place(node)
        site = Site("ask", "none", node.wanted, node.start, node.end)
        return self.runtime(
            "ask_human", [self.constant(self.code.add_site(site), place), self.as_text(node.prompt)], place
        )

    def _python(self, node: n.PyBlock) -> ast.expr:
        place = self.place(node)
        name = self.code.add_python(self.source, node)
        arguments = [self.call("_vplain", [self.expr(each)], place) for each in node.parameters]
        return self.call("_vfrompython", [self.call(name, arguments, place)], place)

    def _async_for(self, node: n.AsyncFor) -> ast.expr:
        place = self.place(node)
        body = self.async_body(node)
        return self.runtime("gather", [self.name(body, place), self.iterable(node.iterable)], place)

    def async_body(self, node: n.AsyncFor) -> str:
        """Compile the body of an `async for` to a function, defined before the statement; gives its name."""
        raise NotImplementedError

    def iterable(self, node: n.Expr) -> ast.expr:
        """What a `for` goes through."""
        type_ = type_of(node)
        if isinstance(node, n.Range):
            return self.span(node)
        if isinstance(type_, Array):
            return self.expr(node)
        value = self.expr(node)
        if isinstance(type_, AI):
            # An answer declared as an array is one; of any other the checker has complained.
            value = self.call("_vunwrap", [value], self.place(node))
        return self.call("_viter", [value], self.place(node))
