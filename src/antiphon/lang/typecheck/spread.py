"""`...value` in arrays and objects."""

from __future__ import annotations

from antiphon.lang.syntax.nodes import Spread
from antiphon.lang.typecheck.assignability import is_assignable, join_types
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.mutability.alias_check import check_alias
from antiphon.lang.typecheck.type_printer import format_type_general
from antiphon.lang.typecheck.types import (
    JSON,
    TEXT,
    Array,
    Map,
    Object,
    ObjectField,
    Type,
    get_base_type,
    is_mutable,
    is_nullable,
    remove_null,
    strip_ai_result,
    widen_type,
)


def infer_spread_items(c: Checker, node: Spread, wanted: Type | None = None) -> Type:
    """Return the type of the items that a spread inserts into an array."""
    kind = _require_spread_value(c, node, c.expr(node.value, wanted), "[]")
    if isinstance(kind, Array):
        return widen_type(kind.item) if wanted is None and not is_mutable(kind.item) else kind.item
    if kind != JSON:
        hint = "the fields of an object go into an object: `{ ...o }`" if isinstance(kind, Object) else ""
        hint = f'its characters are `...{c.receiver_text(node.value)}.split("")`' if kind is TEXT else hint
        c.report(
            "V0362", f"only an array can be put into an array, found `{format_type_general(kind)}`", node.value, hint
        )
    return JSON


def check_spread_items(c: Checker, node: Spread, goal: Array) -> None:
    """Check that the items of a spread fit the expected array."""
    item = infer_spread_items(c, node, goal)
    if not is_assignable(item, goal.item):
        c.report_mismatch(node.value, Array(item), goal, "")
    else:
        check_alias(c, node.value, item, goal.item)


def check_spread_values(c: Checker, node: Spread, goal: Map) -> None:
    """Check that the values of a spread fit the expected map."""
    kind = _require_spread_value(c, node, c.expr(node.value, goal), "{}")
    values = [kind.value] if isinstance(kind, Map) else [each.type for each in _get_fields(kind).values()]
    if not isinstance(kind, Map | Object) and kind != JSON:
        c.report(
            "V0362", f"only a map or an object can be put into a map, found `{format_type_general(kind)}`", node.value
        )
    for each in values:
        if not is_assignable(each, goal.value):
            c.report_mismatch(node.value, each, goal.value, "")
            return
        check_alias(c, node.value, each, goal.value)


def _get_fields(type_: Type) -> dict[str, ObjectField]:
    return type_.fields if isinstance(type_, Object) else {}


def add_spread_fields(c: Checker, node: Spread, fields: dict[str, ObjectField], goal: Object | None) -> bool:
    """Add the fields of a spread object to `fields`. Return False if they are known only at run time."""
    kind = _require_spread_value(c, node, c.expr(node.value), "{}")
    if not isinstance(kind, Object):
        if kind != JSON and not isinstance(kind, Map):
            hint = "the items of an array go into an array: `[...xs]`" if isinstance(kind, Array) else ""
            c.report(
                "V0362",
                f"only an object can be put into an object, found `{format_type_general(kind)}`",
                node.value,
                hint,
            )
        return False
    for name, field in kind.fields.items():
        before = fields.get(name)
        if field.optional and before is not None:
            fields[name] = ObjectField(join_types(before.type, field.type), before.optional, field.description)
        else:
            fields[name] = field
        wanted = goal.fields.get(name) if goal is not None else None
        if wanted is not None and not is_assignable(field.type, wanted.type):
            c.report_mismatch(node.value, field.type, wanted.type, name)
        elif wanted is not None:
            check_alias(c, node.value, field.type, wanted.type)
    return True


def _require_spread_value(c: Checker, node: Spread, type_: Type, empty: str) -> Type:
    """Return the base type of a spread value without null; report a nullable one."""
    if is_nullable(type_):
        hint = f"write `...({c.source_text(node.value)} ?? {empty})`"
        c.report("V0362", f"what may be null cannot be put in, `{format_type_general(type_)}`", node.value, hint)
    return get_base_type(remove_null(strip_ai_result(type_)))
