"""Uses of known types that can only fail: putting in order what has none, counting what has no length."""

from __future__ import annotations

from antiphon.lang.check.fields import keys_of
from antiphon.lang.check.fitting import assignable
from antiphon.lang.check.iteration import first_items
from antiphon.lang.check.notation import fields_of, general, shown
from antiphon.lang.check.null import present
from antiphon.lang.check.parts import options
from antiphon.lang.check.state import Checker
from antiphon.lang.check.types import (
    BOOLEAN,
    JSON,
    MODEL,
    NEVER,
    NULL,
    NUMBER,
    TEXT,
    TOOL,
    Array,
    Callable,
    Object,
    Type,
    may_be_null,
    operand,
)
from antiphon.lang.check.whole import check_whole
from antiphon.lang.syntax.nodes import Call, Expr, Member

#: Arguments of methods that are whole numbers, by their positions.
_WHOLE: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("repeat", "insert", "remove", "padStart", "padEnd", "round", "toFixed"), (0,)),
    "slice": (0, 1),
}
_ORDERED: tuple[Type, ...] = (NUMBER, TEXT, JSON, NEVER)
_UNCOUNTED: tuple[Type, ...] = (NUMBER, BOOLEAN, NULL, MODEL, TOOL)


def check_method(c: Checker, call: Call, node: Member, receiver: Type) -> None:
    """Arguments that are known to be wrong, and items that a method cannot put in order."""
    for at in _WHOLE.get(node.name, ()):
        if at < len(call.arguments):
            check_whole(c, call.arguments[at], f"this argument of `{node.name}`")
    if not isinstance(receiver, Array):
        return
    receiver = first_items(node, receiver)
    where = node.name_start, node.name_start + len(node.name)
    if node.name == "sum" and not assignable(receiver.item, NUMBER):
        c.report("V0302", f"`sum` adds numbers, found `{shown(receiver)}`", where, _some(receiver))
    elif node.name == "sort" and call.arguments:
        _check_field(c, call.arguments[0], receiver.item)
    elif node.name in ("sort", "min", "max") and not call.arguments and not _has_order(receiver.item):
        by_field = node.name == "sort" and isinstance(receiver.item, Object)
        hint = 'name a field: `sort("name")`' if by_field else _some(receiver)
        c.report("V0302", f"`{node.name}` compares numbers or texts, found `{general(receiver)}`", where, hint)


def _some(receiver: Array) -> str:
    """How to take the items of one kind out of several."""
    kinds = [each for each in (NUMBER, TEXT) if each in options(receiver.item)]
    return (
        f"take some of the items: `filter(x => x is {shown(kinds[0])})`"
        if len(options(receiver.item)) > 1 and kinds
        else ""
    )


def check_length(c: Checker, node: Expr) -> None:
    """`len` of what has no length."""
    if node.type is None:
        return
    kind = operand(present(c, node, node.type))
    if kind in _UNCOUNTED or isinstance(kind, Callable):
        c.report("V0302", f"`len` counts characters, items or fields, found `{general(kind)}`", node)


def _check_field(c: Checker, by: Expr, item: Type) -> None:
    kind = operand(item)
    if kind is JSON or kind is NEVER:
        return
    if not isinstance(kind, Object):
        c.report("V0302", f"only objects are sorted by a field, found `{general(item)}`", by, "leave out the field")
        return
    if may_be_null(item):
        c.report("V0302", f"an item may be null, and null has no fields: `{general(item)}`", by)
    for name in keys_of(by) or kind.fields:
        field = kind.fields.get(name)
        if field is None:
            hint = c.meant(name, kind.fields) or fields_of(kind)
            c.report("V0306", f"`{general(kind)}` has no field `{name}`", by, hint)
        elif not _has_order(field.read):
            c.report("V0302", f"`sort` compares numbers or texts, and `{name}` is `{general(field.read)}`", by)
            return


def _has_order(type_: Type) -> bool:
    return not may_be_null(type_) and operand(type_) in _ORDERED
