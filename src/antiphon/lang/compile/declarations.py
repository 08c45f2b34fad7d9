"""Variables, patterns and models, compiled."""

from __future__ import annotations

import ast

from antiphon.lang.check.inputs import constant, is_required
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import JSON, Type, is_data, plain, widen
from antiphon.lang.compile import emit
from antiphon.lang.compile.asks import ask_arguments
from antiphon.lang.compile.calls import bare_call, evaluated_before
from antiphon.lang.compile.code import Given
from antiphon.lang.compile.computing import is_quiet
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.functions import async_body
from antiphon.lang.compile.iteration import iterable
from antiphon.lang.compile.patterns import private_fields, taken_apart
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.syntax import nodes as n


def let(c: Compiler, node: n.Let) -> list[ast.stmt]:
    """`let`, `const`."""
    place, symbol = c.place(node), node.symbol
    if symbol is None:
        return []
    hide(c, symbol, node.value)
    if node.is_async and node.value is not None:
        value = _started(c, node.value, symbol.type)
    else:
        value = emit.constant(None, place) if node.value is None else c.cast(node.value, symbol.type)
        if symbol.is_global and is_data(symbol.type):
            value = _input(c, symbol, value, place)
    return sealed(symbol.is_private and not is_quiet(c, node.value), [c.bind(symbol, value, place)], place)


def started(c: Compiler, node: n.Started) -> list[ast.stmt]:
    """`async do …` on its own: whoever waits for what was started waits for it too."""
    return [emit.expression(_started(c, node.value, node.value.type or JSON), c.place(node))]


def sealed(is_private: bool, body: list[ast.stmt], place: Place) -> list[ast.stmt]:
    """What assigns a variable: all that is done for one that is private is nobody's business."""
    return [emit.privately(body, place)] if is_private else body


def hide(c: Compiler, symbol: Symbol | None, value: n.Expr | None) -> None:
    """Answers that go into a private variable are not remembered. Rounds of `async for` are forgotten anyway."""
    if symbol is not None and symbol.is_private and value is not None and not isinstance(value, n.AsyncFor):
        c.private_span = value.start, value.end


def _input(c: Compiler, symbol: Symbol, value: ast.expr, place: Place) -> ast.expr:
    """The value, unless whoever runs the program gives another."""
    # A constant's type may be the one value that is written there.
    type_ = widen(plain(symbol.type))
    c.code.inputs[symbol.name] = Given(symbol.name, type_, symbol.start, symbol.end, symbol.is_private)
    return _given(symbol.name, value, place) if symbol.name in c.given else value


def _given(name: str, otherwise: ast.expr, place: Place) -> ast.expr:
    key = emit.constant(name, place)
    given = emit.compare(key, ast.In(), emit.name("_vinputs", place), place)
    return emit.either(given, emit.runtime("input", [key], place), otherwise, place)


def input_(c: Compiler, node: n.Input) -> list[ast.stmt]:
    """`input name: type = default`."""
    place, symbol = c.place(node), node.symbol
    if symbol is None:
        return []
    type_, required = symbol.type, is_required(symbol.type, node.default)
    default = None if node.default is None else constant(node.default)
    c.code.inputs[node.name] = Given(
        node.name, type_, symbol.start, symbol.end, node.is_private, node.description, True, required, default
    )
    if required:
        value = emit.runtime("input", [emit.constant(node.name, place)], place)
    else:
        otherwise = emit.constant(None, place) if node.default is None else c.cast(node.default, type_)
        value = _given(node.name, otherwise, place)
    return [c.bind(symbol, value, place)]


def _started(c: Compiler, node: n.Expr, wanted: Type) -> ast.expr:
    """The value of an `async let`: what it waits for is evaluated now, the rest happens meanwhile."""
    place = c.place(node)
    type_ = emit.name(c.code.type_name(plain(wanted)), place)
    c.asked = True
    if isinstance(node, n.Ask):
        return emit.runtime("start_ask", ask_arguments(c, node), place)
    if isinstance(node, n.AsyncFor):
        body = async_body(c, node)
        function = emit.name("_vrt", place)
        gather = at(ast.Attribute(function, "gather", ast.Load()), place)
        return emit.runtime("start", [type_, gather, emit.name(body, place), iterable(c, node.iterable)], place)
    if isinstance(node, n.Call) and isinstance(node.callee, n.Name) and node.callee.symbol is not None:
        before, called = evaluated_before(bare_call(c, node))
        started = emit.runtime("start", [type_, called.func, *called.args], place)
        return emit.last_of([*before, started], place)
    return c.cast(node, wanted)


def destructure(c: Compiler, node: n.Destructure) -> list[ast.stmt]:
    """`const { name: text } = value`, `const [a, b] = value`."""
    place, name = c.place(node), c.temporary()
    hidden = c.hidden[node.value.start] = private_fields(node.pattern)
    given: Type = JSON
    if node.is_async and isinstance(node.value, n.Ask):
        value = emit.call("_vwait", [emit.runtime("start_ask", ask_arguments(c, node.value), place)], place)
    else:
        value, given = c.expr(node.value), type_of(node.value)
    if isinstance(node.pattern, n.ArrayPattern) and not hidden:
        return taken_apart(c, node.pattern, value, given, c.place(node.value))
    out = sealed(bool(hidden), [emit.assign(name, value, place)], place)
    return out + taken_apart(c, node.pattern, emit.name(name, place), given, c.place(node.value))


def model(c: Compiler, node: n.ModelDecl) -> list[ast.stmt]:
    """`model m = { … }`."""
    place = c.place(node)
    if node.symbol is None:
        return []
    name = emit.constant(node.name, place)
    return [c.bind(node.symbol, emit.runtime("model", [name, c.expr(node.settings)], place), place)]


def nothing(_: Compiler, __: n.Function | n.TypeDecl | n.Import | n.Returns) -> list[ast.stmt]:
    """What its block or module has compiled before its statements, or the checker alone needs."""
    return []
