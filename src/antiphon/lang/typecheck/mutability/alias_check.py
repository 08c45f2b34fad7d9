"""Reports of aliases of mutable values whose type would allow inserting values that the original type forbids."""

from __future__ import annotations

from antiphon.lang.syntax.nodes import Call, Expr, Function
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.mutability.freshness import find_mismatched_shares
from antiphon.lang.typecheck.mutability.invariance import can_share, is_fresh_value, iterate_alternatives
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short
from antiphon.lang.typecheck.types import JSON, CallableType, Type, is_mutable, strip_ai_result


def check_alias(c: Checker, node: Expr, type_: Type, wanted: Type, *, json_too: bool = False) -> None:
    """Report a mutable value that is aliased under another type, unless it is fresh or `json` takes a copy."""
    if not json_too and strip_ai_result(wanted) == JSON:
        return
    for each in iterate_alternatives(node):
        given = type_ if each is node else each.type or JSON
        if isinstance(given, CallableType):
            _check_function_alias(c, each, given, wanted)
        elif is_mutable(given) and not can_share(given, wanted) and not is_fresh_value(each):
            _report_alias(c, each, given, wanted)


def check_argument_aliases(c: Checker, call: Call, function: Symbol, types: tuple[Type, ...]) -> None:
    """Report arguments that the function would alias under another type, and record those passed as json."""
    if function.kind in ("builtin", "import"):
        # Built-in functions keep no references, and Python gets copies.
        return
    names = function.type.names if isinstance(function.type, CallableType) else ()
    given = [*enumerate(call.arguments), *((names.index(e.name), e.value) for e in call.named if e.name in names)]
    for at, node in given:
        if at < len(types) and node.type is not None:
            check_alias(c, node, node.type, types[at])
            if strip_ai_result(types[at]) == JSON and is_mutable(node.type):
                c.json_arguments.append((node, function, at))


def check_recorded_aliases(c: Checker) -> None:
    """Check the recorded combined values, and the json copies that functions mutate."""
    for node in c.combined_values:
        for part in find_mismatched_shares(node):
            _report_alias(c, *part)
    for node, function, at in c.json_arguments:
        parameter = _find_parameter(function, at)
        if parameter is not None and parameter.is_changed:
            _check_mutated_copy(c, node, function, parameter)


def _find_parameter(function: Symbol, position: int) -> Symbol | None:
    node = function.node.node if isinstance(function.node, Symbol) else function.node
    return node.parameters[position].symbol if isinstance(node, Function) and position < len(node.parameters) else None


def _check_mutated_copy(c: Checker, node: Expr, function: Symbol, parameter: Symbol) -> None:
    """Report a function that mutates the copy it gets as `json`: the change would be lost."""
    type_ = node.type or JSON
    if strip_ai_result(parameter.type) != JSON or can_share(type_, JSON) or is_fresh_value(node):
        return
    message = (
        f"`{function.name}` changes `{parameter.name}`, which is `json`: of a"
        f" `{format_type_general(type_)}` it has a copy"
    )
    hint = (
        f"declare `{parameter.name}: {format_type_short(type_)}`, or hand over the copy:"
        f" `{c.receiver_text(node)}.copy()`"
    )
    c.report("V0331", message, node, hint)


def _check_function_alias(c: Checker, node: Expr, type_: CallableType, wanted: Type) -> None:
    """Report a function whose arguments or result would be aliased under another type."""
    if can_share(type_, wanted):
        return
    if isinstance(wanted, CallableType):
        pairs = [*zip(wanted.parameters, type_.parameters, strict=False), (type_.returns, wanted.returns)]
        if all(strip_ai_result(target) == JSON or can_share(source, target) for source, target in pairs):
            return
    message = (
        f"what this function is called with, or gives, would also be of another type: `{format_type_short(wanted)}`"
    )
    c.report("V0331", message, node, f"declare its parameters so: it is `{format_type_short(type_)}`")


def _report_alias(c: Checker, node: Expr, type_: Type, wanted: Type) -> None:
    message = (
        f"this `{format_type_general(type_)}` would also be a `{format_type_short(wanted)}`,"
        f" which may hold what it must not"
    )
    c.report("V0331", message, node, f"take a copy: `{c.receiver_text(node)}.copy()`")
