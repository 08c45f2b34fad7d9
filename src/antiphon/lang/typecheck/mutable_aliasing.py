"""Aliases of mutable values: reported where their type would allow values that the original type forbids."""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.invariance import (
    can_share,
    is_fresh_value,
    iterate_alternatives,
    returned_expressions,
    yielded_expressions,
)
from antiphon.lang.typecheck.reporter import Reporter
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short

#: A shared value, its type, and the type of the place that it was put into.
SharedValue = tuple[n.Expr, t.Type, t.Type]


class AliasChecker:
    """Checks where mutable values are shared. Some aliases can only be judged at the end of the program."""

    __slots__ = ("_combined_values", "_json_arguments", "_reporter")

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        #: Expressions that combine values of several types: arrays, `+`, and conditional values.
        self._combined_values: list[n.Expr] = []
        #: Arguments passed as json, with the function and the position of the parameter.
        self._json_arguments: list[tuple[n.Expr, Symbol, int]] = []

    def check(self, node: n.Expr, type_: t.Type, wanted: t.Type, *, json_too: bool = False) -> None:
        """Report a mutable value that is aliased under another type, unless it is fresh or `json` takes a copy."""
        if not json_too and t.strip_ai_result(wanted) == t.JSON:
            return
        for each in iterate_alternatives(node):
            given = type_ if each is node else each.type or t.JSON
            if isinstance(given, t.CallableType):
                self._check_function(each, given, wanted)
            elif t.is_mutable(given) and not can_share(given, wanted) and not is_fresh_value(each):
                self._report(each, given, wanted)

    def check_arguments(self, call: n.Call, function: Symbol, types: tuple[t.Type, ...]) -> None:
        """Report arguments that the function would alias under another type, and record those passed as json."""
        if function.kind in ("builtin", "import"):
            # Built-in functions keep no references, and Python gets copies.
            return
        names = function.type.names if isinstance(function.type, t.CallableType) else ()
        given = [*enumerate(call.arguments), *((names.index(e.name), e.value) for e in call.named if e.name in names)]
        for at, node in given:
            if at < len(types) and node.type is not None:
                self.check(node, node.type, types[at])
                if t.strip_ai_result(types[at]) == t.JSON and t.is_mutable(node.type):
                    self._json_arguments.append((node, function, at))

    def record_combined(self, node: n.Expr) -> None:
        """Record an expression that combines values of several types, for `check_recorded`."""
        self._combined_values.append(node)

    def check_recorded(self) -> None:
        """Check the combined values, and the json copies that functions mutate, once all types are known."""
        for node in self._combined_values:
            for part in find_mismatched_shares(node):
                self._report(*part)
        for node, function, at in self._json_arguments:
            parameter = _find_parameter(function, at)
            if parameter is not None and parameter.is_changed:
                self._check_mutated_copy(node, function, parameter)

    def _check_mutated_copy(self, node: n.Expr, function: Symbol, parameter: Symbol) -> None:
        """Report a function that mutates the copy it gets as `json`: the change would be lost."""
        type_ = node.type or t.JSON
        if t.strip_ai_result(parameter.type) != t.JSON or can_share(type_, t.JSON) or is_fresh_value(node):
            return
        message = (
            f"`{function.name}` changes `{parameter.name}`, which is `json`: of a"
            f" `{format_type_general(type_)}` it has a copy"
        )
        hint = (
            f"declare `{parameter.name}: {format_type_short(type_)}`, or hand over the copy:"
            f" `{self._reporter.quote_receiver(node)}.copy()`"
        )
        self._reporter.report("V0331", message, node, hint)

    def _check_function(self, node: n.Expr, type_: t.CallableType, wanted: t.Type) -> None:
        """Report a function whose arguments or result would be aliased under another type."""
        if can_share(type_, wanted):
            return
        if isinstance(wanted, t.CallableType):
            pairs = [*zip(wanted.parameters, type_.parameters, strict=False), (type_.returns, wanted.returns)]
            if all(t.strip_ai_result(target) == t.JSON or can_share(source, target) for source, target in pairs):
                return
        message = (
            f"what this function is called with, or gives, would also be of another type: `{format_type_short(wanted)}`"
        )
        self._reporter.report("V0331", message, node, f"declare its parameters so: it is `{format_type_short(type_)}`")

    def _report(self, node: n.Expr, type_: t.Type, wanted: t.Type) -> None:
        message = (
            f"this `{format_type_general(type_)}` would also be a `{format_type_short(wanted)}`,"
            f" which may hold what it must not"
        )
        self._reporter.report("V0331", message, node, f"take a copy: `{self._reporter.quote_receiver(node)}.copy()`")


def _find_parameter(function: Symbol, position: int) -> Symbol | None:
    node = function.node.node if isinstance(function.node, Symbol) else function.node
    return (
        node.parameters[position].symbol if isinstance(node, n.Function) and position < len(node.parameters) else None
    )


def find_mismatched_shares(node: n.Expr) -> list[SharedValue]:
    """Return the shared values in an expression that would have another type there."""
    todo, found = [*_iterate_components(node)], list[SharedValue]()
    while todo:
        each, given, wanted = todo.pop()
        if given is wanted or wanted is t.JSON or not t.is_mutable(given):
            continue
        if (inside := [*_iterate_nested(each, wanted)]) and each is not node:
            todo += inside
        elif not is_fresh_value(each) and not can_share(given, wanted):
            found.append((each, given, wanted))
    return found


def _iterate_components(node: n.Expr) -> Iterator[SharedValue]:
    """Yield the components of an array, `+`, a conditional value or `async for`, or the results of a function."""
    whole = t.strip_ai_result(node.type or t.JSON)
    match node:
        case n.Binary(op="+"):
            yield from ((each, _get_item_type(each.type), _get_item_type(whole)) for each in (node.left, node.right))
        case n.Binary():
            yield from ((each, each.type or t.JSON, whole) for each in (node.left, node.right))
        case n.Lambda() if isinstance(whole, t.CallableType):
            yield from ((each, each.type or t.JSON, whole.returns) for each in returned_expressions(node))
        case n.AsyncFor():
            yield from ((each, each.type or t.JSON, _get_item_type(whole)) for each in yielded_expressions(node))
        case _:
            yield from _iterate_nested(node, whole)


def _iterate_nested(node: n.Expr, wanted: t.Type) -> Iterator[SharedValue]:
    """Yield the values written in an array, an object or a conditional value, with their types there."""
    match node:
        case n.ArrayLit():
            items = _get_item_type(_find_only_option(wanted, t.Array))
            for item in node.items:
                if isinstance(item, n.Spread):
                    yield item.value, _get_item_type(item.value.type), items
                else:
                    yield item, item.type or t.JSON, items
        case n.ObjectLit():
            kind = _find_only_option(wanted, t.Object)
            for entry in node.entries:
                yield from _iterate_entry_fields(entry, kind.fields if isinstance(kind, t.Object) else {})
        case n.Conditional() | n.Match():
            yield from ((each, each.type or t.JSON, wanted) for each in iterate_alternatives(node))
        case _:
            pass


def _iterate_entry_fields(entry: n.ObjectEntry | n.Spread, fields: dict[str, t.ObjectField]) -> Iterator[SharedValue]:
    if isinstance(entry, n.ObjectEntry):
        given = {entry.key: entry.value.type or t.JSON}
    else:
        spread = t.strip_ai_result(entry.value.type or t.JSON)
        given = {name: each.type for name, each in spread.fields.items()} if isinstance(spread, t.Object) else {}
    for name, type_ in given.items():
        if name in fields:
            yield entry.value, type_, fields[name].type


def _find_only_option(type_: t.Type, kind: type[t.Array | t.Object]) -> t.Type | None:
    found = [each for each in t.union_options(type_) if isinstance(each, kind)]
    return found[0] if len(found) == 1 else None


def _get_item_type(type_: t.Type | None) -> t.Type:
    kind = t.strip_ai_result(type_) if type_ is not None else t.JSON
    return kind.item if isinstance(kind, t.Array) else t.JSON
