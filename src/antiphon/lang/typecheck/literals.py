"""Literals: numbers, strings with interpolations, arrays and objects."""

from __future__ import annotations

from antiphon.lang.syntax.diagnostics import DiagnosticLabel
from antiphon.lang.syntax.nodes import (
    ArrayLit,
    BadExpr,
    BoolLit,
    Expr,
    Interpolation,
    Name,
    NullLit,
    NumberLit,
    ObjectEntry,
    ObjectLit,
    Spread,
    TextLit,
)
from antiphon.lang.typecheck.assignability import is_assignable, join_types
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.lint import warn_of_double_braces, warn_of_plain_braces
from antiphon.lang.typecheck.mutability.freshness import widen_fresh
from antiphon.lang.typecheck.names import check_interpolation, infer_tool_name
from antiphon.lang.typecheck.nullability import check_prompt_values
from antiphon.lang.typecheck.spread import (
    add_spread_fields,
    check_spread_items,
    check_spread_values,
    infer_spread_items,
)
from antiphon.lang.typecheck.type_printer import format_type_short, hint_fields
from antiphon.lang.typecheck.types import (
    JSON,
    NEVER,
    NULL,
    PROMPT,
    TEXT,
    Array,
    CallableType,
    Literal,
    Map,
    Object,
    ObjectField,
    Type,
    Union,
    is_json_data,
    is_mutable,
    strip_ai_result,
    union_options,
)

_TRUE, _FALSE = Literal(True), Literal(False)
#: Composite types, and the depth and size beyond which a nested value is typed as json.
_COMPOSITE_CLASSES = (Array, Object)
_MAX_DEPTH, _MAX_SIZE = 12, 100


def infer_number(c: Checker, node: NumberLit, _: Type | None) -> Type:
    """Return the literal type of `42`."""
    return c.get_number_literal(node.value)


def infer_boolean(_: Checker, node: BoolLit, __: Type | None) -> Type:
    """Return the literal type of `true` or `false`."""
    return _TRUE if node.value else _FALSE


def infer_null(_: Checker, __: NullLit, ___: Type | None) -> Type:
    """Return the type of `null`."""
    return NULL


def infer_bad_expression(_: Checker, __: BadExpr, ___: Type | None) -> Type:
    """Return json for an unreadable expression."""
    return JSON


def infer_text(c: Checker, node: TextLit, wanted: Type | None) -> Type:
    """Return the type of a string: a literal type, or text if it has interpolations."""
    parts = node.parts
    if not parts:
        return c.get_text_literal("")
    for part in parts:
        if isinstance(part, str) and ("{" in part or "$" in part):
            warn_of_plain_braces(c, node)
            break
    if len(parts) == 1 and type(parts[0]) is str:
        return c.get_text_literal(parts[0])
    for part in parts:
        if isinstance(part, Interpolation):
            check_interpolation(c, part)
            if not part.dollar:
                warn_of_double_braces(c, part)
    if wanted is PROMPT:
        check_prompt_values(c, node)
    return TEXT


def infer_array(c: Checker, node: ArrayLit, wanted: Type | None) -> Type:
    """Return the type of `[a, b]`: each item is checked against the expected type, or the items are joined."""
    goal = _find_wanted_type(wanted, Array)
    if isinstance(goal, Array):
        for item in node.items:
            if isinstance(item, Spread):
                check_spread_items(c, item, goal)
                continue
            tool = infer_tool_name(c, item) if type(item) is Name and not isinstance(goal.item, CallableType) else None
            if tool is None:
                c.want(item, goal.item, "")
            elif goal.item is not tool:
                c.report_mismatch(item, tool, goal.item, "")
        return wanted if wanted is not None and not isinstance(wanted, Union) else goal
    type_: Type = NEVER
    for item in node.items:
        if isinstance(item, Spread):
            type_ = (
                join_types(type_, infer_spread_items(c, item)) if type_ is not NEVER else infer_spread_items(c, item)
            )
            continue
        found = infer_tool_name(c, item) if type(item) is Name else None
        held = found or widen_fresh(item, _limit_nested_type(c.expr(item)), whole=False)
        type_ = held if type_ is NEVER else type_ if held is type_ else join_types(type_, held)
    if wanted is None and len(node.items) > 1 and is_mutable(type_):
        c.combined_values.append(node)
    return Array(type_)


def infer_object(c: Checker, node: ObjectLit, wanted: Type | None) -> Type:
    """Return the type of `{a: 1}`: the expected type, which each field must fit, or one of just these fields."""
    goal = _find_wanted_object(c, node, wanted) or _find_wanted_type(wanted, Map)
    if isinstance(goal, Map):
        _index_entries(c, node)
        for entry in node.entries:
            if isinstance(entry, Spread):
                check_spread_values(c, entry, goal)
            else:
                c.want(entry.value, goal.value, entry.key)
        return goal
    if isinstance(goal, Object):
        return goal if _check_object_fields(c, node, goal) else JSON
    _index_entries(c, node)
    fields: dict[str, ObjectField] = {}
    known = True
    for entry in node.entries:
        if isinstance(entry, Spread):
            known = add_spread_fields(c, entry, fields, None) and known
            if wanted is None:
                c.combined_values.append(node)
        else:
            fields[entry.key] = ObjectField(_limit_nested_type(c.expr(entry.value)))
    return Object(fields) if known else JSON


def _find_wanted_object(c: Checker, node: ObjectLit, wanted: Type | None) -> Object | None:
    """Return the only object type among the expected options; of several, the one that fits the written entries."""
    fitting = [each for each in union_options(wanted) if isinstance(each, Object)] if wanted is not None else []
    for rule in (_can_match_values, _has_matching_keys):
        if len(fitting) > 1:
            fitting = [each for each in fitting if rule(c, node, each)]
    return fitting[0] if len(fitting) == 1 else None


def _can_match_values(c: Checker, node: ObjectLit, option: Object) -> bool:
    for entry in node.entries:
        field = option.fields.get(entry.key) if isinstance(entry, ObjectEntry) else None
        said = _infer_written_literal(c, entry.value) if field is not None else None
        if field is not None and said is not None and not is_assignable(said, field.read):
            return False
    return True


def _infer_written_literal(c: Checker, node: Expr) -> Type | None:
    """Return the type of a literal value, as in `kind: "circle"`, or None."""
    match node:
        case TextLit(parts=[str() as said]):
            return c.get_text_literal(said)
        case NumberLit():
            return c.get_number_literal(node.value)
        case BoolLit():
            return _TRUE if node.value else _FALSE
        case _:
            return None


def _has_matching_keys(_: Checker, node: ObjectLit, option: Object) -> bool:
    keys = {entry.key for entry in node.entries if isinstance(entry, ObjectEntry)}
    whole = len(keys) == len(node.entries)
    return keys <= option.fields.keys() and not (
        whole and any(not field.optional and name not in keys for name, field in option.fields.items())
    )


def _find_wanted_type(wanted: Type | None, kind: type[Array | Map]) -> Type | None:
    """Return the only array or map type among the expected options, or None."""
    if wanted is None:
        return None
    options = [strip_ai_result(wanted)]
    if isinstance(options[0], Union):
        options = list(options[0].options)
    fitting = [each for each in options if isinstance(each, kind)]
    if len(fitting) > 1 and kind is Map:
        # A literal is fresh, so it may have the widest of the map types.
        fitting = [each for each in fitting if all(is_assignable(other, each, certain=True) for other in fitting)]
    return fitting[0] if len(fitting) == 1 else None


def _check_object_fields(c: Checker, node: ObjectLit, goal: Object) -> bool:
    """Check the fields against the expected ones. Return False if the fields are known only at run time."""
    seen = _index_entries(c, node)
    spread: dict[str, ObjectField] = {}
    known = True
    for entry in node.entries:
        if isinstance(entry, Spread):
            known = add_spread_fields(c, entry, spread, goal) and known
            continue
        field = goal.fields.get(entry.key)
        if field is None:
            meant = c.nearest(entry.key, (each for each in goal.fields if each not in seen))
            hint = f"did you mean `{meant}`?" if meant else hint_fields(goal)
            c.report("V0313", f"`{format_type_short(goal)}` has no field `{entry.key}`", _key_span(entry), hint)
            c.expr(entry.value)
            if meant:
                seen[meant] = entry
        else:
            c.want(entry.value, field.read if field.optional else field.type, entry.key)
    there = {*seen, *(name for name, field in spread.items() if not field.optional)}
    missing = [f"`{name}`" for name, field in goal.fields.items() if not field.optional and name not in there]
    if missing and known:
        what = "the field" if len(missing) == 1 else "the fields"
        fields = ", ".join(f"{each[:-1]}: …`" for each in missing[:5])
        hint = f"write {fields} in it; a field that may be absent is declared with `?`"
        c.report(
            "V0312",
            f"{what} {', '.join(missing)} of `{format_type_short(goal)}` {_choose_verb(missing)} missing",
            node,
            hint,
        )
    return known


def _choose_verb(items: list[str]) -> str:
    return "is" if len(items) == 1 else "are"


def _key_span(entry: ObjectEntry) -> tuple[int, int]:
    return entry.start, min(entry.end, entry.start + len(entry.key) + 2 * entry.quoted)


def _index_entries(c: Checker, node: ObjectLit) -> dict[str, ObjectEntry]:
    """Return the entries by key; report a key that is there twice."""
    seen: dict[str, ObjectEntry] = {}
    for entry in node.entries:
        if isinstance(entry, Spread):
            continue
        first = seen.setdefault(entry.key, entry)
        if first is not entry:
            where = (DiagnosticLabel(*_key_span(first), "first here"),)
            c.report(
                "V0318", f"the field `{entry.key}` is there twice", _key_span(entry), "leave one of them out", where
            )
    return seen


def _limit_nested_type(type_: Type) -> Type:
    """Return the type of a nested value, or json if it is too large."""
    type_ = strip_ai_result(type_)
    return (
        JSON
        if isinstance(type_, _COMPOSITE_CLASSES)
        and is_json_data(type_)
        and _measure_type(type_, _MAX_DEPTH) > _MAX_SIZE
        else type_
    )


def _measure_type(type_: Type, depth: int) -> int:
    if depth == 0:
        return _MAX_SIZE + 1
    if isinstance(type_, Array):
        return 1 + _measure_type(type_.item, depth - 1)
    if not isinstance(type_, Object) or type_.name:
        return 1
    total = 1
    for field in type_.fields.values():
        total += _measure_type(field.type, depth - 1)
        if total > _MAX_SIZE:
            break
    return total
