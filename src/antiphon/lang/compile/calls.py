"""Calls of functions and tools, compiled: by a name, or of what an expression gives; and their arguments."""

from __future__ import annotations

import ast

from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import AI, JSON, TEXT, Map, Object, Type, base
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.compile import emit
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.guards import once
from antiphon.lang.compile.members import is_sequence
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.compile.views import picked
from antiphon.lang.syntax import nodes as n


def call(c: Compiler, node: n.Call) -> ast.expr:
    """A call of a function or tool by its name."""
    signature, symbol = type_of(node.callee), node.callee.symbol if isinstance(node.callee, n.Name) else None
    value = bare_call(c, node)
    if symbol is not None and symbol.kind == "import" and isinstance(signature, Signature):
        # What a function of Python is annotated with is a promise, not a fact.
        return c.fitted(value, JSON, signature.returns, c.place(node))
    return value


def bare_call(c: Compiler, node: n.Call) -> ast.expr:
    """The same, with nothing known of what Python gives."""
    place = c.place(node)
    callee = node.callee
    symbol = callee.symbol if isinstance(callee, n.Name) else None
    if symbol is None:
        return emit.constant(None, place)
    if symbol.kind == "builtin" and symbol.name == "assert" and type(node.arguments[0]) is n.Binary:
        return _assertion(c, node.arguments[0], node.arguments[1:], place)
    if symbol.kind == "builtin" and symbol.name == "len" and _is_counted(node.arguments):
        return emit.call("_vpylen", [c.expr(node.arguments[0])], place)
    signature = type_of(callee)
    signature = signature if isinstance(signature, Signature) else None
    arguments = call_arguments(c, node, signature, symbol)
    if symbol.kind == "builtin" and symbol.name == "len" and not isinstance(type_of(node.arguments[0]), AI):
        arguments = [picked(arguments[0], base(type_of(node.arguments[0])), place)]
    if node.named:
        return _call_named(c, node, symbol, arguments, place)
    if signature is not None and signature.gives == "wanted" and symbol.kind == "function":
        type_ = emit.name(c.code.type_name(type_of(node)), place)
        return emit.call("_vreadas", [emit.name(symbol.python, place), type_, *arguments], place)
    return _call_symbol(c, symbol, arguments, place)


def _is_counted(arguments: list[n.Expr]) -> bool:
    return len(arguments) == 1 and (
        is_sequence(type_of(arguments[0])) or isinstance(type_of(arguments[0]), Object | Map)
    )


def call_value(c: Compiler, node: n.Call, value: ast.expr, place: Place) -> ast.expr:
    """A call of a function that some expression gives."""
    type_ = type_of(node.callee)
    if not isinstance(type_, Signature):
        return emit.runtime("call", [value, *call_arguments(c, node, None)], place)
    return emit.call_of(value, call_arguments(c, node, type_), place)


def call_arguments(
    c: Compiler, node: n.Call, signature: Signature | None, symbol: Symbol | None = None
) -> list[ast.expr]:
    """The arguments of a call in their order, each as the type that its parameter has."""
    wanted: list[Type | None] = []
    if signature is not None and not signature.unchecked:
        wanted = list(signature.parameters)
        if signature.variadic:
            wanted += [signature.parameters[-1]] * (len(node.arguments) - len(wanted))
    wanted += [None] * (len(node.arguments) - len(wanted))
    if symbol is not None and symbol.kind in ("builtin", "import"):
        # What is built in keeps nothing, and Python gets copies.
        return [c.lend(each, type_) for each, type_ in zip(node.arguments, wanted, strict=False)]
    return [c.cast(each, type_) for each, type_ in zip(node.arguments, wanted, strict=False)]


def _call_named(c: Compiler, node: n.Call, symbol: Symbol, arguments: list[ast.expr], place: Place) -> ast.expr:
    """A call with named arguments: of a function of the language they are put in their places."""
    signature = symbol.type if isinstance(symbol.type, Signature) else None
    known = signature is not None and not signature.unchecked
    types = dict(zip(signature.names, signature.parameters, strict=False)) if signature is not None and known else {}
    given = {each.name: c.cast(each.value, types.get(each.name)) for each in node.named}
    if symbol.kind in ("tool", "import"):
        names = at(ast.Dict([emit.constant(name, place) for name in given], list(given.values())), place)
        function = emit.name(symbol.python, place)
        return emit.runtime("call_named", [function, names, *arguments], place)
    before: list[ast.expr] = []
    if not all(isinstance(each, ast.Constant | ast.Name) for each in (*arguments, *given.values())):
        # They are evaluated as they are written, whatever their places are.
        pairs = [once(c, each, place, keep=True) for each in (*arguments, *given.values())]
        before = [first for first, _ in pairs]
        arguments = [again for _, again in pairs[: len(arguments)]]
        given = dict(zip(given, [again for _, again in pairs[len(arguments) :]], strict=True))
    names = [name for name in types if name in given]
    last = max(list(types).index(name) for name in names) + 1 if names else 0
    missing = emit.name("_vmissing", place)
    placed = [*arguments, *(given.get(name, missing) for name in list(types)[len(arguments) : last])]
    value = _call_symbol(c, symbol, placed, place)
    return emit.last_of([*before, value], place)


def evaluated_before(value: ast.expr) -> tuple[list[ast.expr], ast.Call]:
    """Of a call that was compiled, what is evaluated before it, and the call itself."""
    before: list[ast.expr] = []
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Tuple):
        *before, value = value.value.elts
    assert isinstance(value, ast.Call)
    return before, value


#: Operators of which an assertion tells both sides.
_TOLD = frozenset(("==", "!=", "<", "<=", ">", ">=", "in"))


def _assertion(c: Compiler, node: n.Expr, message: list[n.Expr], place: Place) -> ast.expr:
    """An assertion that compares: both sides are told where it does not hold. What `and` joins are several."""
    told = [c.cast(each, TEXT) for each in message]
    if type(node) is n.Binary and node.op == "and" and all(isinstance(each, ast.Constant) for each in told):
        both = [_assertion(c, each, message, place) for each in (node.left, node.right)]
        return emit.last_of(both, place)
    if type(node) is not n.Binary or node.op not in _TOLD:
        return emit.call("_vb_assert", [c.lend(node, None), *told], place)
    return emit.call("_vb_assertThat", [emit.constant(node.op, place), *_sides(c, node, place), *told], place)


def _sides(c: Compiler, node: n.Binary, place: Place) -> list[ast.expr]:
    from antiphon.lang.compile.chains import lenient

    if node.op == "in":
        return [c.expr(node.left), picked(c.expr(node.right), base(type_of(node.right)), place)]
    return [lenient(c, node.left), lenient(c, node.right)]


def _call_symbol(c: Compiler, symbol: Symbol, arguments: list[ast.expr], place: Place) -> ast.expr:
    """A call of what a name stands for."""
    if symbol.kind == "builtin":
        c.asked = c.asked or symbol.name == "note"
        return emit.call(f"_vb_{symbol.name}", arguments, place)
    function = c.read(symbol, place)
    if symbol.is_async:
        function = emit.call("_vwait", [function], place)
    if symbol.kind in ("tool", "import"):
        # What is not of the language is reached through the run: its calls are effects.
        return emit.runtime("call", [function, *arguments], place)
    return emit.call_of(function, arguments, place)
