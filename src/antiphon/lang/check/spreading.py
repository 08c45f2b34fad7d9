"""`...value` in arrays and objects."""

from __future__ import annotations

from antiphon.lang.check.fitting import assignable, join
from antiphon.lang.check.notation import general
from antiphon.lang.check.settling import check_shared
from antiphon.lang.check.state import Checker
from antiphon.lang.check.types import (
    JSON,
    TEXT,
    Array,
    Field,
    Map,
    Object,
    Type,
    base,
    is_mutable,
    may_be_null,
    plain,
    widen,
    without_null,
)
from antiphon.lang.syntax.nodes import Spread


def spread_items(c: Checker, node: Spread, wanted: Type | None = None) -> Type:
    """The type of the items that are put in."""
    kind = _there(c, node, c.expr(node.value, wanted), "[]")
    if isinstance(kind, Array):
        return widen(kind.item) if wanted is None and not is_mutable(kind.item) else kind.item
    if kind != JSON:
        hint = "the fields of an object go into an object: `{ ...o }`" if isinstance(kind, Object) else ""
        hint = f'its characters are `...{c.object_text_of(node.value)}.split("")`' if kind is TEXT else hint
        c.report("V0362", f"only an array can be put into an array, found `{general(kind)}`", node.value, hint)
    return JSON


def check_items(c: Checker, node: Spread, goal: Array) -> None:
    """That the items fit those that are wanted."""
    item = spread_items(c, node, goal)
    if not assignable(item, goal.item):
        c.mismatch(node.value, Array(item), goal, "")
    else:
        check_shared(c, node.value, item, goal.item)


def check_values(c: Checker, node: Spread, goal: Map) -> None:
    """That what is put into a map fits it."""
    kind = _there(c, node, c.expr(node.value, goal), "{}")
    values = [kind.value] if isinstance(kind, Map) else [each.type for each in _fields(kind).values()]
    if not isinstance(kind, Map | Object) and kind != JSON:
        c.report("V0362", f"only a map or an object can be put into a map, found `{general(kind)}`", node.value)
    for each in values:
        if not assignable(each, goal.value):
            c.mismatch(node.value, each, goal.value, "")
            return
        check_shared(c, node.value, each, goal.value)


def _fields(type_: Type) -> dict[str, Field]:
    return type_.fields if isinstance(type_, Object) else {}


def spread_fields(c: Checker, node: Spread, fields: dict[str, Field], goal: Object | None) -> bool:
    """Put in the fields of an object; false if which they are is known only when it runs."""
    kind = _there(c, node, c.expr(node.value), "{}")
    if not isinstance(kind, Object):
        if kind != JSON and not isinstance(kind, Map):
            hint = "the items of an array go into an array: `[...xs]`" if isinstance(kind, Array) else ""
            c.report("V0362", f"only an object can be put into an object, found `{general(kind)}`", node.value, hint)
        return False
    for name, field in kind.fields.items():
        before = fields.get(name)
        if field.optional and before is not None:
            fields[name] = Field(join(before.type, field.type), before.optional, field.description)
        else:
            fields[name] = field
        wanted = goal.fields.get(name) if goal is not None else None
        if wanted is not None and not assignable(field.type, wanted.type):
            c.mismatch(node.value, field.type, wanted.type, name)
        elif wanted is not None:
            check_shared(c, node.value, field.type, wanted.type)
    return True


def _there(c: Checker, node: Spread, type_: Type, empty: str) -> Type:
    """What is put in; it must be there."""
    if may_be_null(type_):
        hint = f"write `...({c.text_of(node.value)} ?? {empty})`"
        c.report("V0362", f"what may be null cannot be put in, `{general(type_)}`", node.value, hint)
    return base(without_null(plain(type_)))
