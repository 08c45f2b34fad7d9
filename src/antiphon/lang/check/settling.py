"""Values that can change, where they get another name: refused where that could put in what the first does not expect.

What a function does with its parameters is known when all of them are checked; so calls are settled at the end.
"""

from __future__ import annotations

from antiphon.lang.check.aliases import CHANGED, KEPT, OWN, READ, fate_of, parameter_of, parameters_of, trace
from antiphon.lang.check.making import apart, is_copied, lends
from antiphon.lang.check.names import declared_here
from antiphon.lang.check.notation import general, shown
from antiphon.lang.check.sharing import agree, alternatives, constant_of, holder_of, is_fresh
from antiphon.lang.check.state import Checker
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import JSON, Array, Callable, Type, is_mutable, plain
from antiphon.lang.syntax.nodes import Call, Expr, Lambda


def check_shared(c: Checker, node: Expr, type_: Type, wanted: Type, *, json_too: bool = False) -> None:
    """A value that goes into a place of another type, which has it for good; where that is json, it is a copy."""
    if not json_too and plain(wanted) == JSON:
        return
    for each in alternatives(node):
        given = type_ if each is node else each.type or JSON
        if isinstance(given, Callable):
            check_function_shared(c, each, given, wanted)
        elif is_mutable(given) and not agree(given, wanted) and not (is_copied(each) and lends(given, wanted)):
            _report(c, each, given, wanted)


def check_function_shared(c: Checker, node: Expr, type_: Callable, wanted: Type) -> None:
    """What a function is called with, or gives, is shared too; of one whose body is here, it is known later how."""
    if agree(type_, wanted):
        return
    if (own := parameters_of(node)) and isinstance(wanted, Callable) and agree(type_.returns, wanted.returns):
        c.lent.append((node, type_, wanted, own))
        return
    _report_function(c, node, type_, wanted)


def check_taken(c: Checker, node: Expr, symbol: Symbol) -> None:
    """What belongs to a constant does not change under the name of a variable either."""
    if constant_of(node) is not None and is_mutable(symbol.type) and not _is_read_anew(node, symbol.type):
        c.taken.append((node, symbol))


def check_arguments_shared(c: Checker, call: Call, function: Symbol, types: tuple[Type, ...]) -> None:
    """What is handed to a function may have another type if the function only reads it."""
    names = function.type.names if isinstance(function.type, Callable) else ()
    given = [*enumerate(call.arguments), *((names.index(e.name), e.value) for e in call.named if e.name in names)]
    for at, node in given:
        for each in alternatives(node) if at < len(types) else ():
            if isinstance(each.type, Callable):
                check_function_shared(c, each, each.type, types[at])
            elif each.type is not None and is_mutable(each.type):
                c.handed.append((each, function, at, types[at]))


def settle(c: Checker) -> None:
    """Look at what was handed to functions, and at loops through constants."""
    mixed = [(each, parts, Symbol("", "let", JSON)) for each in c.mixed if (parts := apart(each))]
    if not c.handed and not c.looped and not c.taken and not c.lent and not mixed:
        return
    trace(c.module.statements, {id(node): held for node, _, held in mixed})
    for node, parts, held in mixed:
        for part in parts if isinstance(node, Lambda) or fate_of(held) > READ else ():
            _report(c, *part)
    for node, function, at, wanted in c.handed:
        parameter = parameter_of(function, at)
        if parameter is not None:
            _settle_argument(c, node, function, parameter, wanted)
    for node, type_, wanted, own in c.lent:
        pairs = zip(wanted.parameters, own, strict=False)
        # Where json is kept, it is a copy.
        if any(not agree(given, p.type) and fate_of(p) >= (OWN if p.type == JSON else KEPT) for given, p in pairs):
            _report_function(c, node, type_, wanted)
    for node, symbol in (*c.looped, *c.taken):
        constant = constant_of(node)
        if constant is not None and _would_change(node, symbol):
            message = f"`{constant.name}` is a constant, and under the name `{symbol.name}` it would be changed"
            hint = f"take a copy: `{c.object_text_of(node)}.copy()`"
            c.report("V0402", message, node, hint, declared_here(constant))


def _would_change(node: Expr, symbol: Symbol) -> bool:
    """Whether what a constant has is changed by a variable. What is new may change, but for what it has of it."""
    is_part = symbol.source is not None or holder_of(node) is not None
    return fate_of(symbol) >= (OWN if is_part else CHANGED)


def _settle_argument(c: Checker, node: Expr, function: Symbol, parameter: Symbol, wanted: Type | None) -> None:
    constant = constant_of(node)
    if constant is not None:
        if _would_change(node, parameter) and not _is_read_anew(node, parameter.type):
            message = f"`{constant.name}` is a constant, and `{function.name}` would change it"
            hint = f"declare it with `let`, or give it a copy: `{c.object_text_of(node)}.copy()`"
            c.report("V0402", message, node, hint, declared_here(constant))
        elif wanted is not None and not lends(node.type or JSON, wanted):
            _report(c, node, node.type or JSON, wanted)
        return
    type_ = node.type or JSON
    if wanted is None:
        # Its items are what is handed over.
        kind = plain(type_)
        type_, wanted = kind.item if isinstance(kind, Array) else JSON, parameter.type
    if agree(type_, wanted) or is_fresh(node):
        return
    fate = fate_of(parameter)
    if plain(wanted) == JSON and fate >= OWN:
        message = (
            f"`{function.name}` changes `{parameter.name}`, which is `json`: of a `{general(type_)}` it has a copy"
        )
        hint = f"declare `{parameter.name}: {shown(type_)}`, or hand over the copy: `{c.object_text_of(node)}.copy()`"
        c.report("V0331", message, node, hint)
    elif plain(wanted) != JSON and fate >= KEPT:
        _report(c, node, type_, wanted)


def _report_function(c: Checker, node: Expr, type_: Callable, wanted: Type) -> None:
    message = f"what this function is called with, or gives, would also be of another type: `{shown(wanted)}`"
    c.report("V0331", message, node, f"declare its parameters so: it is `{shown(type_)}`")


def _is_read_anew(node: Expr, wanted: Type) -> bool:
    """Whether json goes into a type, which makes a copy of it."""
    return plain(node.type or JSON) == JSON and plain(wanted) != JSON


def _report(c: Checker, node: Expr, type_: Type, wanted: Type) -> None:
    message = f"this `{general(type_)}` would also be a `{shown(wanted)}`, which may hold what it must not"
    c.report("V0331", message, node, f"take a copy: `{c.object_text_of(node)}.copy()`")
