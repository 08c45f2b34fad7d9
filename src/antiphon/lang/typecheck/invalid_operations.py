"""Reports of calls that can only fail: ordering unordered values, or counting values without a length."""

from __future__ import annotations

from antiphon.lang.syntax.nodes import Call, Expr, Member
from antiphon.lang.typecheck.assignability import is_assignable
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.dynamic_fields import get_literal_keys
from antiphon.lang.typecheck.integer_constants import check_integer
from antiphon.lang.typecheck.iteration import refine_initial_items
from antiphon.lang.typecheck.nullability import require_non_null
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short, hint_fields
from antiphon.lang.typecheck.types import (
    BOOLEAN,
    JSON,
    MODEL,
    NEVER,
    NULL,
    NUMBER,
    TEXT,
    TOOL,
    Array,
    CallableType,
    Object,
    Type,
    get_operand_type,
    is_nullable,
)
from antiphon.lang.typecheck.unions import inhabited_options

#: The positions of integer arguments, by method.
_INTEGER_ARGUMENTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("repeat", "insert", "remove", "padStart", "padEnd", "round", "toFixed"), (0,)),
    "slice": (0, 1),
}
_ORDERED_TYPES: tuple[Type, ...] = (NUMBER, TEXT, JSON, NEVER)
_TYPES_WITHOUT_LENGTH: tuple[Type, ...] = (NUMBER, BOOLEAN, NULL, MODEL, TOOL)


def check_method_call(c: Checker, call: Call, node: Member, receiver: Type) -> None:
    """Report arguments that are known to be wrong, and items that a method cannot order."""
    for at in _INTEGER_ARGUMENTS.get(node.name, ()):
        if at < len(call.arguments):
            check_integer(c, call.arguments[at], f"this argument of `{node.name}`")
    if not isinstance(receiver, Array):
        return
    receiver = refine_initial_items(node, receiver)
    where = node.name_start, node.name_start + len(node.name)
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


def check_len_argument(c: Checker, node: Expr) -> None:
    """Report `len` of a value without a length."""
    if node.type is None:
        return
    kind = get_operand_type(require_non_null(c, node, node.type))
    if kind in _TYPES_WITHOUT_LENGTH or isinstance(kind, CallableType):
        c.report("V0302", f"`len` counts characters, items or fields, found `{format_type_general(kind)}`", node)


def _check_sort_field(c: Checker, by: Expr, item: Type) -> None:
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
            hint = c.meant(name, kind.fields) or hint_fields(kind)
            c.report("V0306", f"`{format_type_general(kind)}` has no field `{name}`", by, hint)
        elif not _has_order(field.read):
            c.report(
                "V0302", f"`sort` compares numbers or texts, and `{name}` is `{format_type_general(field.read)}`", by
            )
            return


def _has_order(type_: Type) -> bool:
    return not is_nullable(type_) and get_operand_type(type_) in _ORDERED_TYPES
