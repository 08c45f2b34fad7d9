"""Functions as values, and the methods of arrays that take them, compiled.

A function without a name is a Python function that is defined before the statement it stands in. `map` and `filter` of
one that only computes are comprehensions of Python.
"""

from __future__ import annotations

import ast

from antiphon.lang.check.generic_methods import WITH_POSITION
from antiphon.lang.check.methods import ARRAY_METHODS, K, T, U, put, written_type
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import AI, BOOLEAN, JSON, NUMBER, TEXT, Array, Type, base
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.compile import emit
from antiphon.lang.compile.computing import only_computes
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.functions import function_scope, outer_names, remember, suite, with_history
from antiphon.lang.compile.guards import once
from antiphon.lang.compile.rounds import of_this_round
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.syntax import nodes as n

#: Methods that are loops of Python, where their function only computes.
_AS_LOOPS = frozenset(("map", "filter", "find", "some", "every", "count", "sum", "groupBy"))
#: What a comprehension may be made of: it asks nobody, and calls nothing of which that is not known.
_PLAIN = frozenset(
    (
        *(n.NumberLit, n.TextLit, n.Hole, n.BoolLit, n.NullLit, n.Name, n.ArrayLit, n.ObjectLit, n.Entry),
        *(n.Unary, n.Binary, n.Member, n.Index, n.Slice, n.Call, n.Conditional, n.Is),
    )
)


def lambda_(c: Compiler, node: n.Lambda) -> ast.expr:
    """`(a, b) => …`."""
    return of_this_round(c, _defined(c, node), node, c.place(node))


def function_name(c: Compiler, node: n.Name, symbol: Symbol) -> ast.expr:
    """The name of a function, where it is a value: what is not of the language is reached through the run."""
    place = c.place(node)
    if symbol.kind == "builtin":
        return emit.name(f"_vb_{symbol.name}", place)
    value = c.read(symbol, place)
    signature = type_of(node)
    if symbol.kind in ("tool", "import") and isinstance(signature, Signature):
        returns = emit.name(c.code.type_name(signature.returns), place)
        return emit.runtime("function", [value, returns], place)
    return value


def array_method(c: Compiler, node: n.Call, name: str, value: ast.expr, item: Type, place: Place) -> ast.expr:
    """A method of an array that takes a function."""
    first = node.arguments[0]
    if name in _AS_LOOPS and isinstance(first, n.Lambda) and _is_plain(c, first, name) and not _binds(c, value):
        return _comprehension(c, node, first, name, value, place)
    arguments = method_arguments(c, node, name, item)
    if name == "sortBy" and isinstance(first.type, Signature) and _has_order(first.type.returns):
        key = at(ast.keyword("key", arguments[0]), place)
        return at(ast.Call(emit.name("_vsorted", place), [value], [key]), place)
    slow = emit.call(f"_vm_array_{name}", [value, *arguments], place)
    if name in ("min", "max") and isinstance(first.type, Signature) and _has_order(first.type.returns):
        return _extreme(c, name, value, arguments[0], place)
    return slow


def _extreme(c: Compiler, name: str, value: ast.expr, function: ast.expr, place: Place) -> ast.expr:
    """`min` and `max` by what a function gives: Python's own where there is an item."""
    if not isinstance(function, ast.Name):
        return emit.call(f"_vm_array_{name}", [value, function], place)
    items, again = once(c, value, place)
    key = at(ast.keyword("key", function), place)
    found = at(ast.Call(emit.name(f"_v{name}", place), [again], [key]), place)
    return emit.either(items, found, emit.call(f"_vm_array_{name}", [again, function], place), place)


def _has_order(type_: Type) -> bool:
    return base(type_) in (NUMBER, TEXT) and not isinstance(type_, AI)


def method_arguments(c: Compiler, node: n.Call, name: str, item: Type) -> list[ast.expr]:
    """The arguments of a method that takes a function, which it calls on the spot."""
    out: list[ast.expr] = []
    for argument, kind in zip(node.arguments, ARRAY_METHODS[name].parameters, strict=False):
        type_, found = written_type(kind), type_of(argument)
        if not isinstance(type_, Signature):
            # What it is to be, the type of the whole call says.
            out.append(c.cast(argument, node.type if type_ is U else None))
            continue
        value = _defined(c, argument) if isinstance(argument, n.Lambda) else c.expr(argument)
        place = c.place(argument)
        if isinstance(found, Signature):
            value = _adapted(c, value, argument, found, type_, item, node.type)
            if name in WITH_POSITION and found.required == len(type_.parameters) + 1:
                value = emit.call("_vpositions", [value], place)
        out.append(value)
    return out


def _adapted(
    c: Compiler, value: ast.expr, argument: n.Expr, found: Signature, wanted: Signature, item: Type, result: Type | None
) -> ast.expr:
    """A function that promises less than the method needs: what goes in and comes out is looked at."""
    made = result.item if isinstance(result, Array) and len(wanted.parameters) == 1 else result
    known: dict[Type, Type] = {T: item, U: made or JSON, K: found.returns}
    returns = put(wanted.returns, known)
    if isinstance(argument, n.Lambda):
        # What it gives fits already; what it takes may be declared.
        returns = found.returns
        if not any(each.declared for each in argument.parameters):
            return value
    called = (*wanted.parameters, NUMBER)[: max(found.required, len(wanted.parameters))]
    goal = Signature(tuple(put(each, known) for each in called), len(called), returns)
    return c.fitted(value, found, goal, c.place(argument))


def _defined(c: Compiler, node: n.Lambda) -> ast.expr:
    """The name of the Python function that is made of one without a name."""
    place, name = c.place(node), f"_vfn{c.temporary()[2:]}"
    asked, c.asked = c.asked, False
    signature = node.type
    with function_scope(c, node) as scope:
        scope.returns = signature.returns if isinstance(signature, Signature) else None
        names = _parameters(c, node)
        body = _body(c, node)
        if c.asked:
            body = with_history(c, body, place)
        body = [*outer_names(c, place), *body]
        remember(c, name, place)
    c.asked = asked
    c.before.append(emit.function(name, emit.arguments(names, (), place), body, place))
    return emit.name(name, place)


def _parameters(c: Compiler, node: n.Lambda) -> list[str]:
    for each in node.parameters:
        if each.symbol is not None:
            c.declare(each.symbol, each.start)
    return [each.symbol.python for each in node.parameters if each.symbol is not None]


def _body(c: Compiler, node: n.Lambda) -> list[ast.stmt]:
    if isinstance(node.body, n.Block):
        return suite(c, node.body)
    value = c.cast(node.body, c.scope.returns)
    before, c.before = c.before, []
    return [*before, at(ast.Return(value), c.place(node.body))]


def _comprehension(c: Compiler, call: n.Call, node: n.Lambda, name: str, value: ast.expr, place: Place) -> ast.expr:
    from antiphon.lang.compile.operators import condition, note_counter

    assert not isinstance(node.body, n.Block)
    symbols = [each.symbol for each in node.parameters if each.symbol is not None]
    for symbol, parameter in zip(symbols, node.parameters, strict=True):
        c.declare(symbol, parameter.start)
    note_counter(c, symbols[0], n.reached(call))
    items, value = once(c, value, place) if name == "groupBy" else (value, value)
    each = _through(c, node, symbols, value, place)
    signature = node.type
    assert isinstance(signature, Signature)
    if name in ("map", "sum"):
        made = at(ast.ListComp(c.cast(node.body, signature.returns), [each]), place)
        return made if name == "map" else emit.call("_vsum", [made], place)
    if name == "groupBy":
        keys = at(ast.ListComp(c.cast(node.body, signature.returns), [each]), place)
        return emit.call("_vgrouped", [items, keys], place)
    test = condition(c, node.body) if signature.returns == BOOLEAN else c.expr(node.body)
    if name in ("some", "every"):
        tests = at(ast.GeneratorExp(test, [each]), place)
        return emit.call("_vany" if name == "some" else "_vall", [tests], place)
    each.ifs.append(test)
    item = emit.name(symbols[0].python, c.place(node.parameters[0]))
    if name == "find":
        return emit.call("_vnext", [at(ast.GeneratorExp(item, [each]), place), emit.constant(None, place)], place)
    made = at(ast.ListComp(item, [each]), place)
    return made if name == "filter" else emit.call("_vpylen", [made], place)


def _through(c: Compiler, node: n.Lambda, symbols: list[Symbol], value: ast.expr, place: Place) -> ast.comprehension:
    """`for item in value`, or with its position."""
    targets = [emit.target(symbol.python, c.place(each)) for symbol, each in zip(symbols, node.parameters, strict=True)]
    if len(symbols) == 1:
        return ast.comprehension(targets[0], value, [], 0)
    c.counters.add(symbols[1])
    c.naturals.add(symbols[1])
    pair = at(ast.Tuple(targets[::-1], ast.Store()), place)
    return ast.comprehension(pair, emit.call("_venumerate", [value], place), [], 0)


def _is_plain(c: Compiler, node: n.Lambda, name: str) -> bool:
    wanted = {"sum": NUMBER, "groupBy": TEXT}.get(name)
    if wanted is not None and not (isinstance(node.type, Signature) and node.type.returns == wanted):
        return False
    if isinstance(node.body, n.Block) or any(each.declared is not None for each in node.parameters):
        return False
    return all(isinstance(each, n.TypeNode) or type(each) in _PLAIN for each in n.walk(node.body)) and only_computes(
        c, node.body
    )


def _binds(c: Compiler, value: ast.expr) -> bool:
    """Whether names are bound in it, which Python allows nowhere in what a comprehension goes through.

    What a chain has looked at is not looked at again by its next step.
    """
    todo: list[ast.AST] = [value]
    binds = False
    while todo and not binds:
        each = todo.pop()
        known = c.binding.get(each)
        binds = known or isinstance(each, ast.NamedExpr)
        if known is None:
            todo.extend(ast.iter_child_nodes(each))
    c.binding[value] = binds
    return binds
