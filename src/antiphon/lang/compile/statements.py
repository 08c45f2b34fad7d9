"""Statements, compiled: declarations, assignments and control."""

from __future__ import annotations

import ast

from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import AI, Array, Literal, Object, Simple, Type, base, widen
from antiphon.lang.compile.basics import type_of
from antiphon.lang.compile.code import Code
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.expressions import Expressions
from antiphon.lang.compile.naming import FunctionScope
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.source import Source

_COMPOUND = {"+=": "+", "-=": "-", "*=": "*", "/=": "/", "%=": "%"}


class Statements(Expressions):
    """Compiles statements that stand in a block."""

    def __init__(self, source: Source, code: Code) -> None:
        super().__init__(source, code)
        self.scope = FunctionScope(None, None, set())

    def body(self, block: n.Block) -> list[ast.stmt]:
        """The statements of a block, at least one."""
        raise NotImplementedError

    def declare(self, symbol: Symbol, since: int) -> None:
        """Give a symbol its Python name."""
        raise NotImplementedError

    # Declarations

    def let(self, node: n.Let) -> list[ast.stmt]:
        """`let`, `const`."""
        place, symbol = self.place(node), node.symbol
        if symbol is None:
            return []
        self._hide(symbol, node.value)
        if node.is_async and node.value is not None:
            value = self._started(node.value, symbol.type)
        else:
            value = self.constant(None, place) if node.value is None else self.cast(node.value, symbol.type)
            if symbol.is_global:
                value = self._input(symbol, value, place)
            value = self._kept(value, symbol.type, node.is_const, place)
        return [self.bind(symbol, value, place)]

    def _hide(self, symbol: Symbol | None, value: n.Expr | None) -> None:
        """Answers that go into a private variable are not remembered. Rounds of `async for` are forgotten anyway."""
        if symbol is not None and symbol.is_private and value is not None and not isinstance(value, n.AsyncFor):
            self.private_span = value.start, value.end

    def _kept(self, value: ast.expr, type_: Type, is_const: bool, place: Place) -> ast.expr:
        """A value as the variable keeps it: that of a constant cannot be changed."""
        return self.call("_vfreeze", [value], place) if is_const and not _is_scalar(type_) else value

    def _input(self, symbol: Symbol, value: ast.expr, place: Place) -> ast.expr:
        """The value, unless whoever runs the program gives another."""
        self.code.inputs.add(symbol.name)
        key = self.constant(symbol.name, place)
        given = self.compare(key, ast.In(), self.name("_vinputs", place), place)
        # A constant's type may be the one value that is written there.
        type_ = self.name(self.code.type_name(widen(_unwrapped(symbol.type))), place)
        return self.either(given, self.runtime("input", [key, type_], place), value, place)

    def bind(self, symbol: Symbol, value: ast.expr, place: Place) -> ast.stmt:
        """Assign to a variable."""
        self.touch(symbol)
        return self.assign(symbol.python, value, place)

    def touch(self, symbol: Symbol) -> None:
        """Note that this function assigns a variable of an outer one."""
        if symbol.is_global:
            self.scope.globals.add(symbol.python)
        elif symbol.python not in self.scope.taken:
            self.scope.outside.add(symbol.python)

    def _started(self, node: n.Expr, wanted: Type) -> ast.expr:
        """The value of an `async let`: what it waits for is evaluated now, the rest happens meanwhile."""
        place = self.place(node)
        type_ = self.name(self.code.type_name(_unwrapped(wanted)), place)
        self.asked = True
        if isinstance(node, n.Ask):
            return self.runtime("start_ask", self.ask_arguments(node), place)
        if isinstance(node, n.AsyncFor):
            body = self.async_body(node)
            function = self.name("_vrt", place)
            gather = at(ast.Attribute(function, "gather", ast.Load()), place)
            return self.runtime("start", [type_, gather, self.name(body, place), self.iterable(node.iterable)], place)
        if isinstance(node, n.Call) and isinstance(node.callee, n.Name) and node.callee.symbol is not None:
            called = self.expr(node)
            assert isinstance(called, ast.Call)
            return self.runtime("start", [type_, called.func, *called.args], place)
        return self.cast(node, wanted)

    def destructure(self, node: n.Destructure) -> list[ast.stmt]:
        """`const { name: text } = value`."""
        place, name = self.place(node), self.temporary()
        self.hidden[node.value.start] = tuple(each.name for each in node.pattern.fields if _is_private(each))
        if node.is_async and isinstance(node.value, n.Ask):
            value = self.call("_vwait", [self.runtime("start_ask", self.ask_arguments(node.value), place)], place)
        else:
            value = self.cast(node.value, node.pattern.type)
        out = [self.assign(name, self.call("_vunwrap", [value], place), place)]
        bindings = self._fields(node.pattern, name, node.is_const, out)
        # Everything is taken out before anything is assigned: failure assigns nothing.
        return out + [self.bind(symbol, self.name(held, place), place) for symbol, held in bindings]

    def _fields(self, pattern: n.Pattern, name: str, is_const: bool, out: list[ast.stmt]) -> list[tuple[Symbol, str]]:
        bindings: list[tuple[Symbol, str]] = []
        for each in pattern.fields:
            place = self.place(each)
            key, held = self.constant(each.name, place), self.temporary()
            value = self._field_value(each, name, key, place)
            if each.nested is not None:
                out.append(self.assign(held, value, place))
                bindings += self._fields(each.nested, held, is_const, out)
            elif each.symbol is not None:
                out.append(self.assign(held, self._kept(value, each.symbol.type, is_const, place), place))
                bindings.append((each.symbol, held))
        return bindings

    def _field_value(self, each: n.PatternField, name: str, key: ast.expr, place: Place) -> ast.expr:
        whole = self.name(name, place)
        if each.default is None:
            return self.call("_vfield", [whole, key], place)
        found = self.temporary()
        read = self.named(found, self.call("_voptional", [whole, key], place), place)
        test = self.compare(read, ast.IsNot(), self.constant(None, place), place)
        wanted = each.symbol.type if each.symbol else None
        return self.either(test, self.name(found, place), self.cast(each.default, wanted), place)

    def model(self, node: n.ModelDecl) -> list[ast.stmt]:
        """`model m = { … }`."""
        place = self.place(node)
        if node.symbol is None:
            return []
        name = self.constant(node.name, place)
        return [self.bind(node.symbol, self.runtime("model", [name, self.expr(node.settings)], place), place)]

    # Assignment

    def assign_statement(self, node: n.Assign) -> list[ast.stmt]:
        """`target = value`."""
        target = node.target
        if isinstance(target, n.Name):
            return self._assign_name(node, target)
        return self._assign_inside(node, target)

    def _assign_name(self, node: n.Assign, target: n.Name) -> list[ast.stmt]:
        symbol, place = target.symbol, self.place(node)
        if symbol is None:
            return []
        self._hide(symbol, node.value)
        if node.op == "=":
            return [self.bind(symbol, self.cast(node.value, symbol.type), place)]
        both = n.Binary(node.start, node.end, _COMPOUND[node.op], target, node.value)
        value = self.fitted(self.operation(both, None), _result(both), _unwrapped(symbol.type), place)
        return [self.bind(symbol, value, place)]

    def _assign_inside(self, node: n.Assign, target: n.Member | n.Index) -> list[ast.stmt]:
        place = self.place(node)
        out: list[ast.stmt] = []
        self._hide(n.root_symbol(target), node.value)
        holder = self.expr(target.object)
        place_type = type_of(target)
        key: ast.expr
        if isinstance(target, n.Member):
            key = self.constant(target.name, place)
        else:
            key = self.expr(target.index)
        if node.op == "=":
            value = self.cast(node.value, _assigned_type(target))
        else:
            held, index = self.temporary(), self.temporary()
            out += [self.assign(held, holder, place), self.assign(index, key, place)]
            holder, key = self.name(held, place), self.name(index, place)
            read = self.call("_vitem", [self.name(held, place), self.name(index, place)], place)
            both = n.Binary(node.start, node.end, _COMPOUND[node.op], target, node.value)
            value = self.fitted(self.operation(both, read), _result(both), place_type, place)
        return out + self._store(target, holder, key, value, place)

    def _store(
        self, target: n.Member | n.Index, holder: ast.expr, key: ast.expr, value: ast.expr, place: Place
    ) -> list[ast.stmt]:
        type_ = type_of(target.object)
        known = isinstance(type_, Object) if isinstance(target, n.Member) else isinstance(type_, Array)
        if known and isinstance(target, n.Index):
            known = base(type_of(target.index)) == Simple("number")
        if known:
            key = self.whole(target.index, key, place) if isinstance(target, n.Index) else key
            return [self.assign_item(holder, key, value, place)]
        if isinstance(target, n.Index):
            # The value comes first, as in Python.
            new = self.temporary()
            put = self.call("_vsetitem", [holder, key, self.name(new, place)], place)
            return [self.assign(new, value, place), self.expression(put, place)]
        return self._store_member(holder, key, value, place)

    def _store_member(self, holder: ast.expr, key: ast.expr, value: ast.expr, place: Place) -> list[ast.stmt]:
        """`holder.key = value` where nothing is known of the holder: quick for an object that may be changed."""
        held, new = self.temporary(), self.temporary()
        own = at(ast.Attribute(self.name(held, place), "__class__", ast.Load()), place)
        test = self.compare(own, ast.Is(), self.name("_vdict", place), place)
        slow = self.call("_vsetmember", [self.name(held, place), key, self.name(new, place)], place)
        quick = self.assign_item(self.name(held, place), key, self.name(new, place), place)
        return [
            self.assign(new, value, place),
            self.assign(held, holder, place),
            at(ast.If(test, [quick], [self.expression(slow, place)]), place),
        ]

    # Control

    def if_(self, node: n.If) -> list[ast.stmt]:
        """`if … else …`."""
        chain: list[n.If] = [node]
        while isinstance(chain[-1].otherwise, n.If):
            chain.append(chain[-1].otherwise)
        parts = [(each, self.condition(each.condition), self.body(each.then)) for each in chain]
        last = chain[-1].otherwise
        otherwise = self.body(last) if isinstance(last, n.Block) else []
        for each, test, then in reversed(parts):
            otherwise = [at(ast.If(test, then, otherwise), self.place(each))]
        return otherwise

    def for_(self, node: n.For) -> list[ast.stmt]:
        """`for name in iterable { … }`."""
        place = self.place(node)
        iterable = self.iterable(node.iterable)
        if node.symbol is None:
            return []
        self.declare(node.symbol, node.name_start)
        if isinstance(node.iterable, n.Range) or base(type_of(node.iterable)) == Simple("number"):
            self.counters.add(node.symbol)
        target = self.target(node.symbol.python, self.between(node.name_start, node.name_start + len(node.name)))
        loop = at(ast.For(target, iterable, self._loop_body(node), []), place)
        return self._with_mode(node.mode, loop, place)

    def while_(self, node: n.While) -> list[ast.stmt]:
        """`while condition { … }`."""
        place = self.place(node)
        loop = at(ast.While(self.condition(node.condition), self._loop_body(node), []), place)
        return self._with_mode(node.mode, loop, place)

    def _loop_body(self, node: n.For | n.While) -> list[ast.stmt]:
        body = self.body(node.body)
        if node.mode is None or node.mode.kind != "forget":
            return body
        self.asked = True
        place, mark = self.place(node.mode), self.temporary()
        forget = self.expression(self.runtime("forget", [self.name(mark, place)], place), place)
        return [
            self.assign(mark, self.runtime("mark", [], place), place),
            at(ast.Try(body, [], [], [forget]), place),
        ]

    def _with_mode(self, mode: n.LoopMode | None, loop: ast.stmt, place: Place) -> list[ast.stmt]:
        if mode is None or mode.kind != "compress":
            return [loop]
        self.asked = True
        here, mark = self.place(mode), self.temporary()
        how = self.as_text(mode.how) if mode.how is not None else self.constant(None, here)
        model = self.expr(mode.model) if mode.model is not None else self.constant(None, here)
        compress = self.runtime("compress", [self.name(mark, here), how, model], here)
        return [
            self.assign(mark, self.runtime("mark", [], here), place),
            loop,
            self.expression(compress, here),
        ]

    def return_(self, node: n.Return) -> list[ast.stmt]:
        """`return value`."""
        place = self.place(node)
        value = None if node.value is None else self.cast(node.value, self.scope.returns)
        return [at(ast.Return(value), place)]

    def yield_(self, node: n.Yield) -> list[ast.stmt]:
        """`yield value`."""
        place = self.place(node)
        value = self.call("_vunwrap", [self.expr(node.value)], place)
        return [self.expression(self.method(self.name(self.scope.collects, place), "append", [value], place), place)]

    def throw(self, node: n.Throw) -> list[ast.stmt]:
        """`throw value`."""
        place = self.place(node)
        return [at(ast.Raise(self.call("_vthrown", [self.expr(node.value)], place), None), place)]

    def try_(self, node: n.Try) -> list[ast.stmt]:
        """`try { … } catch e { … }`."""
        place = self.place(node)
        body = self.body(node.body)
        held = self.temporary()
        handler: list[ast.stmt] = []
        if node.symbol is not None:
            self.declare(node.symbol, node.name_start)
            caught = self.call("_vcaught", [self.name(held, place)], place)
            handler.append(self.assign(node.symbol.python, caught, place))
        handler += self.body(node.handler)
        clause = at(ast.ExceptHandler(self.name("_vcatchable", place), held, handler), place)
        return [at(ast.Try(body, [clause], [], []), place)]

    def expression_statement(self, node: n.ExprStatement) -> list[ast.stmt]:
        """An expression on its own."""
        return [self.expression(self.expr(node.value), self.place(node))]


def _is_private(field: n.PatternField) -> bool:
    if field.nested is not None:
        return any(map(_is_private, field.nested.fields))
    return field.symbol is not None and field.symbol.is_private


def _is_scalar(type_: Type) -> bool:
    kind = base(type_)
    if isinstance(kind, Literal):
        return True
    return isinstance(kind, Simple) and kind.name in ("text", "number", "boolean", "null", "prompt", "model")


def _unwrapped(type_: Type) -> Type:
    return type_.inner if isinstance(type_, AI) else type_


def _assigned_type(target: n.Member | n.Index) -> Type:
    """The type of what may be assigned to a member or an item."""
    holder = base(type_of(target.object))
    if isinstance(target, n.Member) and isinstance(holder, Object) and target.name in holder.fields:
        each = holder.fields[target.name]
        return each.read
    if isinstance(target, n.Index) and isinstance(holder, Array):
        return holder.item
    return Simple("json")


def _result(both: n.Binary) -> Type:
    """The type of a compound assignment's operation."""
    one, two = base(type_of(both.left)), base(type_of(both.right))
    if both.op == "+" and Simple("text") in (one, two):
        return Simple("text")
    if one == two and one == Simple("number"):
        return one
    if both.op == "+" and isinstance(one, Array):
        return one
    return Simple("json")
