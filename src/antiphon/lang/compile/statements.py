"""Control, compiled: conditions, loops, leaving, failing."""

from __future__ import annotations

import ast

from antiphon.lang.check.types import AI, JSON, TEXT, Array, base
from antiphon.lang.compile import emit
from antiphon.lang.compile.computing import only_computes
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.functions import block, pattern_symbols, suite
from antiphon.lang.compile.guards import once
from antiphon.lang.compile.iteration import entries, iterable
from antiphon.lang.compile.literals import as_text
from antiphon.lang.compile.operators import condition, note_counter
from antiphon.lang.compile.patterns import taken_apart
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.syntax import nodes as n


def if_(c: Compiler, node: n.If) -> list[ast.stmt]:
    """`if … else …`."""
    chain: list[n.If] = [node]
    while isinstance(chain[-1].otherwise, n.If):
        chain.append(chain[-1].otherwise)
    parts = [(each, condition(c, each.condition), suite(c, each.then)) for each in chain]
    last = chain[-1].otherwise
    otherwise = suite(c, last) if isinstance(last, n.Block) else []
    for each, test, then in reversed(parts):
        otherwise = [at(ast.If(test, then, otherwise), c.place(each))]
    return otherwise


def for_(c: Compiler, node: n.For) -> list[ast.stmt]:
    """`for name in iterable { … }`."""
    place = c.place(node)
    items = iterable(c, node.iterable) if node.value is None else entries(c, node)
    if node.pattern is not None:
        return _for_pattern(c, node, node.pattern, items, place)
    if node.symbol is None:
        return []
    c.scope.loops += 1
    c.declare(node.symbol, node.name_start)
    c.scope.loops -= 1
    note_counter(c, node.symbol, node.iterable)
    target = emit.target(node.symbol.python, c.between(node.name_start, node.name_start + len(node.name)))
    if node.value is not None and node.value.symbol is not None:
        c.scope.loops += 1
        c.declare(node.value.symbol, node.value.start)
        c.scope.loops -= 1
        value = emit.target(node.value.symbol.python, c.place(node.value))
        target = at(ast.Tuple([target, value], ast.Store()), place)
    loop = at(ast.For(target, items, _loop_body(c, node), []), place)
    return _with_mode(c, node.mode, loop, place)


def _for_pattern(
    c: Compiler, node: n.For, pattern: n.Pattern | n.ArrayPattern, items: ast.expr, place: Place
) -> list[ast.stmt]:
    """`for {name} in iterable { … }`: each item is taken apart before the body."""
    here, held = c.place(pattern), c.temporary()
    type_ = type_of(node.iterable)
    given = type_.item if isinstance(type_, Array) else JSON
    c.scope.loops += 1
    for symbol in pattern_symbols(pattern):
        c.declare(symbol, symbol.start)
    c.scope.loops -= 1
    apart = taken_apart(c, pattern, emit.name(held, here), given, here)
    body = [*apart, *_loop_body(c, node)]
    return _with_mode(c, node.mode, at(ast.For(emit.target(held, here), items, body, []), place), place)


def while_(c: Compiler, node: n.While) -> list[ast.stmt]:
    """`while condition { … }`.

    Python 3.11 makes a loop quicker while it runs only if the jump back has no condition: so that is asked inside.
    """
    place = c.place(node)
    test = condition(c, node.condition)
    inside = at(ast.If(test, _loop_body(c, node), [at(ast.Break(), c.place(node.condition))]), place)
    loop = at(ast.While(emit.constant(True, place), [inside], []), place)
    return _with_mode(c, node.mode, loop, place)


def _loop_body(c: Compiler, node: n.For | n.While) -> list[ast.stmt]:
    c.scope.loops += 1
    body = suite(c, node.body)
    c.scope.loops -= 1
    if node.mode is None or node.mode.kind != "forget":
        return body
    c.asked = True
    place, mark = c.place(node.mode), c.temporary()
    forget = emit.expression(emit.runtime("forget", [emit.name(mark, place)], place), place)
    return [
        emit.assign(mark, emit.runtime("mark", [], place), place),
        at(ast.Try(body, [], [], [forget]), place),
    ]


def _with_mode(c: Compiler, mode: n.LoopMode | None, loop: ast.stmt, place: Place) -> list[ast.stmt]:
    if mode is None or mode.kind != "compress":
        return [loop]
    c.asked = True
    here, mark = c.place(mode), c.temporary()
    how = as_text(c, mode.how) if mode.how is not None else emit.constant(None, here)
    model = c.expr(mode.model) if mode.model is not None else emit.constant(None, here)
    compress = emit.runtime("compress", [emit.name(mark, here), how, model], here)
    return [
        emit.assign(mark, emit.runtime("mark", [], here), place),
        loop,
        emit.expression(compress, here),
    ]


def return_(c: Compiler, node: n.Return) -> list[ast.stmt]:
    """`return value`."""
    place = c.place(node)
    value = None if node.value is None else c.cast(node.value, c.scope.returns)
    return [at(ast.Return(value), place)]


def yield_(c: Compiler, node: n.Yield) -> list[ast.stmt]:
    """`yield value`."""
    place = c.place(node)
    value = emit.call("_vunwrap", [c.cast(node.value, c.scope.yields)], place)
    return [emit.expression(emit.method(emit.name(c.scope.collects, place), "append", [value], place), place)]


def throw(c: Compiler, node: n.Throw) -> list[ast.stmt]:
    """`throw value`."""
    place, value = c.place(node), c.cast(node.value, JSON)
    if base(type_of(node.value)) == TEXT and not isinstance(type_of(node.value), AI):
        # Of a text, the message is that itself.
        thrown = emit.call("_vsaid", [*once(c, value, place)], place)
    else:
        thrown = emit.call("_vthrown", [value], place)
    return [at(ast.Raise(thrown, None), place)]


def try_(c: Compiler, node: n.Try) -> list[ast.stmt]:
    """`try { … } catch e { … } finally { … }`."""
    place = c.place(node)
    body = suite(c, node.body)
    clauses = [_handler(c, node, node.handler, place)] if node.handler is not None else []
    last = suite(c, node.last) if node.last is not None else []
    return [at(ast.Try(body, clauses, [], last), place)]


def _handler(c: Compiler, node: n.Try, block: n.Block, place: Place) -> ast.ExceptHandler:
    held = c.temporary()
    handler: list[ast.stmt] = []
    if node.symbol is not None:
        c.declare(node.symbol, node.name_start)
        error = emit.name(held, place)
        if node.symbol.used or not only_computes(c, block):
            handler.append(emit.assign(node.symbol.python, emit.call("_vcaught", [error], place), place))
        else:
            # What else had gone wrong before is of no use any more.
            handler.append(emit.assign_attribute(error, "__context__", emit.constant(None, place), place))
    handler += suite(c, block)
    return at(ast.ExceptHandler(emit.name("_vcatchable", place), held, handler), place)


def expression(c: Compiler, node: n.ExprStatement) -> list[ast.stmt]:
    """An expression on its own."""
    return [emit.expression(c.expr(node.value), c.place(node))]


def break_(c: Compiler, node: n.Break) -> list[ast.stmt]:
    """`break`."""
    return [at(ast.Break(), c.place(node))]


def continue_(c: Compiler, node: n.Continue) -> list[ast.stmt]:
    """`continue`; a round of an `async for` is a function, and ends with what it has yielded."""
    place = c.place(node)
    if c.scope.collects and not c.scope.loops:
        return [at(ast.Return(emit.name(c.scope.collects, place)), place)]
    return [at(ast.Continue(), place)]


def inner_block(c: Compiler, node: n.Block) -> list[ast.stmt]:
    """A block on its own."""
    return block(c, node.statements)


def bad(_: Compiler, node: n.BadStatement) -> list[ast.stmt]:
    """A program with mistakes is never compiled."""
    raise AssertionError(f"compiling what could not be read, at {node.start}")
