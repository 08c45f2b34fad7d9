"""Calls of methods."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.assignability import is_assignable
from antiphon.lang.typecheck.calls import (
    check_call_arguments,
    infer_arguments,
    infer_function_call,
    reject_named_arguments,
)
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.constants import check_integer
from antiphon.lang.typecheck.dynamic_fields import get_literal_keys, infer_object_method
from antiphon.lang.typecheck.fix_hints import report_unknown_method
from antiphon.lang.typecheck.generic_methods import METHODS_WITH_FUNCTION, infer_generic_method, is_generic_call
from antiphon.lang.typecheck.iteration import refine_initial_items
from antiphon.lang.typecheck.methods import (
    ARRAY_METHODS,
    MAP_METHODS,
    OBJECT_METHODS,
    MethodSignature,
    get_methods,
    resolve_signature_type,
)
from antiphon.lang.typecheck.reporter import get_name_span
from antiphon.lang.typecheck.side_effects import ALL_ITEMS, members_changed_by_index
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short, hint_fields
from antiphon.lang.typecheck.types import (
    JSON,
    NEVER,
    NUMBER,
    TEXT,
    Array,
    CallableType,
    Map,
    Object,
    Type,
    get_operand_type,
    is_nullable,
    remove_null,
    strip_ai_result,
)
from antiphon.lang.typecheck.unions import inhabited_options

_MUTATING_METHODS = frozenset(
    n for table in (ARRAY_METHODS, MAP_METHODS, OBJECT_METHODS) for n, m in table.items() if m.mutates
)
#: The positions of integer arguments, by method.
_INTEGER_ARGUMENTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("repeat", "insert", "remove", "padStart", "padEnd", "round", "toFixed"), (0,)),
    "slice": (0, 1),
}
_ORDERED_TYPES: tuple[Type, ...] = (NUMBER, TEXT, JSON, NEVER)


def infer_method_call(
    c: Checker, call: n.Call, node: n.Member, type_: Type, root: Symbol | None, wanted: Type | None
) -> Type:
    receiver = strip_ai_result(type_)
    if is_nullable(receiver):
        receiver = strip_ai_result(c.require_non_null(node.object, type_, f"{node.name}(…)"))
    kind = get_operand_type(receiver)
    if isinstance(kind, Object) and (function := find_field_function(kind, node.name)) is not None:
        if is_nullable(c.narrowing.get_type(node, _read_field_type(receiver, node.name))):
            hint = f"test `{c.quote(node)} != null` before"
            c.report("V0311", f"`{node.name}` may be null, and cannot be called", node, hint)
        return infer_function_call(c, call, function, node.name, get_name_span(node))
    table = get_methods(receiver)
    method = table.get(node.name) if table is not None else None
    if node.name in _MUTATING_METHODS and (method.mutates if method is not None else kind is JSON):
        record_mutation(c, root, node, f"and `{node.name}` would change it")
    if method is not None:
        found = _infer_builtin_method(c, call, node, method, kind, wanted)
        if method.mutates:
            c.narrowing.invalidate_members(_mutated_members(call, kind))
        return found
    is_known = not (
        isinstance(node.object, n.Name) and (node.object.symbol is None or node.object.symbol.is_unreadable)
    )
    if kind is JSON and is_known and node.name in METHODS_WITH_FUNCTION and is_generic_call(node.name, call):
        infer_generic_method(c, call, node, Array(JSON), None)
        return JSON
    infer_arguments(c, call)
    if kind is not JSON:
        # Methods of the language have no named parameters; json may be a Python object.
        reject_named_arguments(c, call, node.name)
    if node.name in _MUTATING_METHODS:
        c.narrowing.invalidate_members(_mutated_members(call, JSON))
    if kind is not JSON:
        report_unknown_method(c, node, type_, receiver, table or {})
    return JSON


def _mutated_members(call: n.Call, receiver: Type) -> set[str]:
    """Return the members that a mutating method may change."""
    if isinstance(receiver, Array) or not call.arguments:
        return {ALL_ITEMS}
    return {ALL_ITEMS, *members_changed_by_index(call.arguments[0])}


def _read_field_type(type_: Type, name: str) -> Type:
    kind = get_operand_type(type_)
    return kind.fields[name].read if isinstance(kind, Object) else JSON


def find_field_function(type_: Type, name: str) -> CallableType | None:
    """Return the function that a field of an object holds, if any; it takes precedence over a method of that name."""
    kind = get_operand_type(type_)
    field = kind.fields.get(name) if isinstance(kind, Object) else None
    function = remove_null(field.type) if field is not None else None
    return function if isinstance(function, CallableType) else None


def _infer_builtin_method(
    c: Checker, call: n.Call, node: n.Member, method: MethodSignature, receiver: Type, wanted: Type | None
) -> Type:
    if isinstance(receiver, Array) and receiver.item is NEVER:
        # The item type of an empty array is unknown.
        receiver = Array(JSON)
    if isinstance(receiver, Array) and is_generic_call(node.name, call):
        return infer_generic_method(c, call, node, receiver, wanted)
    types = tuple(resolve_signature_type(each, receiver) for each in method.parameters)
    where = get_name_span(node)
    how = [*call.arguments, *call.named]
    if node.name == "sort" and how and (call.named or isinstance(how[0], n.Lambda)):
        infer_arguments(c, call)
        hint = "write `sortBy(x => …)`, with what to sort by; `-x` turns the order of numbers around"
        c.report("V0341", "`sort` takes no function, and no names", how[0], hint, is_habit=True)
        return receiver
    if node.name == "remove" and isinstance(receiver, Array) and how and _is_known_text(c, how[0]):
        infer_arguments(c, call)
        hint = "write `xs.remove(xs.indexOf(x))`, or `xs = xs.filter(y => y != x)`"
        c.report("V0301", "`remove` takes the position of an item, and not the item", how[0], hint)
        return receiver.item
    check_call_arguments(c, call, node.name, where, types, method.required)
    _check_arguments(c, call, node, receiver)
    if isinstance(receiver, Map) and node.name == "get" and len(call.arguments) == 2:
        return receiver.value
    known = infer_object_method(c, call, node, receiver) if isinstance(receiver, Object) else None
    return resolve_signature_type(method.returns, receiver) if known is None else known


def _is_known_text(c: Checker, node: object) -> bool:
    """Return True if a value is a text literal or a variable of type text."""
    symbol = c.scopes.find(node.name) if isinstance(node, n.Name) else None
    return isinstance(node, n.TextLit) or (symbol is not None and get_operand_type(symbol.type) is TEXT)


def record_mutation(c: Checker, root: Symbol | None, node: n.Member | n.Index, what: str) -> None:
    """Record that a variable's value is mutated; report one that is outside of the enclosing `async for`."""
    if root is None:
        return
    root.is_changed = True
    if c.scopes.is_outside_async_for(root):
        message = f"`{root.name}` is outside this `async for`, {what}"
        c.report("V0505", message, node, "its iterations run at the same time; `yield` what each of them gives")


def _check_arguments(c: Checker, call: n.Call, node: n.Member, receiver: Type) -> None:
    """Report arguments that are known to be wrong, and items that a method cannot order."""
    for at in _INTEGER_ARGUMENTS.get(node.name, ()):
        if at < len(call.arguments):
            check_integer(c, call.arguments[at], f"this argument of `{node.name}`")
    if not isinstance(receiver, Array):
        return
    receiver = refine_initial_items(node, receiver)
    where = get_name_span(node)
    if node.name == "sum" and not is_assignable(receiver.item, NUMBER):
        c.report("V0302", f"`sum` adds numbers, found `{format_type_short(receiver)}`", where, _hint_filter(receiver))
    elif node.name == "sort" and call.arguments:
        _check_sort_field(c, call.arguments[0], receiver.item)
    elif node.name in ("sort", "min", "max") and not call.arguments and not _has_order(receiver.item):
        by_field = node.name == "sort" and isinstance(receiver.item, Object)
        hint = 'name a field: `sort("name")`' if by_field else _hint_filter(receiver)
        c.report(
            "V0302", f"`{node.name}` compares numbers or texts, found `{format_type_general(receiver)}`", where, hint
        )


def _hint_filter(receiver: Array) -> str:
    """Return a hint to filter the items of one kind."""
    kinds = [each for each in (NUMBER, TEXT) if each in inhabited_options(receiver.item)]
    return (
        f"take some of the items: `filter(x => x is {format_type_short(kinds[0])})`"
        if len(inhabited_options(receiver.item)) > 1 and kinds
        else ""
    )


def _check_sort_field(c: Checker, by: n.Expr, item: Type) -> None:
    kind = get_operand_type(item)
    if kind is JSON or kind is NEVER:
        return
    if not isinstance(kind, Object):
        c.report(
            "V0302",
            f"only objects are sorted by a field, found `{format_type_general(item)}`",
            by,
            "leave out the field",
        )
        return
    if is_nullable(item):
        c.report("V0302", f"an item may be null, and null has no fields: `{format_type_general(item)}`", by)
    for name in get_literal_keys(by) or kind.fields:
        field = kind.fields.get(name)
        if field is None:
            hint = c.hint_similar(name, kind.fields) or hint_fields(kind)
            c.report("V0306", f"`{format_type_general(kind)}` has no field `{name}`", by, hint)
        elif not _has_order(field.read):
            c.report(
                "V0302", f"`sort` compares numbers or texts, and `{name}` is `{format_type_general(field.read)}`", by
            )
            return


def _has_order(type_: Type) -> bool:
    return not is_nullable(type_) and get_operand_type(type_) in _ORDERED_TYPES
