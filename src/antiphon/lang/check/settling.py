"""Report values that can change where they get a name of another type, which could put in what does not belong."""

from __future__ import annotations

from antiphon.lang.check.making import apart
from antiphon.lang.check.notation import general, shown
from antiphon.lang.check.sharing import agree, alternatives, is_fresh
from antiphon.lang.check.state import Checker
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import JSON, Callable, Type, is_mutable, plain
from antiphon.lang.syntax.nodes import Call, Expr, Function


def check_shared(c: Checker, node: Expr, type_: Type, wanted: Type, *, json_too: bool = False) -> None:
    """Report a value that goes into a place of another type, unless it has just been made or `json` takes a copy."""
    if not json_too and plain(wanted) == JSON:
        return
    for each in alternatives(node):
        given = type_ if each is node else each.type or JSON
        if isinstance(given, Callable):
            _check_function(c, each, given, wanted)
        elif is_mutable(given) and not agree(given, wanted) and not is_fresh(each):
            _report(c, each, given, wanted)


def check_arguments_shared(c: Checker, call: Call, function: Symbol, types: tuple[Type, ...]) -> None:
    """Report arguments that would be of another type in the function, and take note of copies it could change."""
    if function.kind in ("builtin", "import"):
        # What is built in keeps nothing, and Python gets copies.
        return
    names = function.type.names if isinstance(function.type, Callable) else ()
    given = [*enumerate(call.arguments), *((names.index(e.name), e.value) for e in call.named if e.name in names)]
    for at, node in given:
        if at < len(types) and node.type is not None:
            check_shared(c, node, node.type, types[at])
            if plain(types[at]) == JSON and is_mutable(node.type):
                c.handed.append((node, function, at))


def settle(c: Checker) -> None:
    """Look at what was put together of values of several types, and at copies that functions change."""
    for node in c.mixed:
        for part in apart(node):
            _report(c, *part)
    for node, function, at in c.handed:
        parameter = _parameter_of(function, at)
        if parameter is not None and parameter.is_changed:
            _check_copy(c, node, function, parameter)


def _parameter_of(function: Symbol, position: int) -> Symbol | None:
    node = function.node.node if isinstance(function.node, Symbol) else function.node
    return node.parameters[position].symbol if isinstance(node, Function) and position < len(node.parameters) else None


def _check_copy(c: Checker, node: Expr, function: Symbol, parameter: Symbol) -> None:
    """Report a function that changes the copy it gets as `json`: the change would be lost."""
    type_ = node.type or JSON
    if plain(parameter.type) != JSON or agree(type_, JSON) or is_fresh(node):
        return
    message = f"`{function.name}` changes `{parameter.name}`, which is `json`: of a `{general(type_)}` it has a copy"
    hint = f"declare `{parameter.name}: {shown(type_)}`, or hand over the copy: `{c.object_text_of(node)}.copy()`"
    c.report("V0331", message, node, hint)


def _check_function(c: Checker, node: Expr, type_: Callable, wanted: Type) -> None:
    """Report a function that would be called with, or would give, what is shared under another type."""
    if agree(type_, wanted):
        return
    if isinstance(wanted, Callable):
        pairs = [*zip(wanted.parameters, type_.parameters, strict=False), (type_.returns, wanted.returns)]
        if all(plain(target) == JSON or agree(source, target) for source, target in pairs):
            return
    message = f"what this function is called with, or gives, would also be of another type: `{shown(wanted)}`"
    c.report("V0331", message, node, f"declare its parameters so: it is `{shown(type_)}`")


def _report(c: Checker, node: Expr, type_: Type, wanted: Type) -> None:
    message = f"this `{general(type_)}` would also be a `{shown(wanted)}`, which may hold what it must not"
    c.report("V0331", message, node, f"take a copy: `{c.object_text_of(node)}.copy()`")
