"""Fields of objects that are read by a key known only at run time, or by a method."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.assignability import join_or_union, join_types
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.invariance import can_share
from antiphon.lang.typecheck.reporter import get_name_span
from antiphon.lang.typecheck.type_printer import format_type_general, hint_fields
from antiphon.lang.typecheck.types import (
    JSON,
    TEXT,
    Array,
    Literal,
    Object,
    ObjectField,
    Type,
    Union,
    is_json_data,
    make_nullable,
)

#: Objects with more fields have json as the common type.
_MAX_FIELDS = 12


def infer_keyed_field(c: Checker, node: n.Index, kind: Object) -> Type:
    """Return the type of `object[key]`: that of the named fields, or the common type of all fields."""
    keys = get_literal_keys(node.index)
    if keys is None:
        return join_field_types(kind)
    found: Type | None = None
    for key in keys:
        field = kind.fields.get(key)
        if field is None:
            hint = c.hint_similar(key, kind.fields) or hint_fields(kind)
            if not kind.name:
                hint += f"; for other keys declare a map, `{{ [text]: {format_type_general(join_field_types(kind))} }}`"
            c.report("V0306", f"`{format_type_general(kind)}` has no field `{key}`", node.index, hint)
            return JSON
        found = field.read if found is None else join_types(found, field.read)
    is_safe = found is not None and all(can_share(kind.fields[key].read, found) for key in keys)
    return found if found is not None and is_safe else JSON


def check_keyed_assignment(c: Checker, node: n.Index, kind: Object) -> None:
    """Report an assignment by a key of unknown value, unless all possible fields have the same type."""
    keys = get_literal_keys(node.index)
    fields = [kind.fields[each] for each in keys if each in kind.fields] if keys is not None else kind.fields.values()
    types = [each.read for each in fields]
    if any(each != types[0] for each in types[1:]):
        message = (
            f"which field this is, is not known, and the fields of `{format_type_general(kind)}` are of different types"
        )
        c.report("V0309", message, node.index, "name the field, or declare the object as `json`")


def join_field_types(kind: Object) -> Type:
    """Return one type for the values of all fields."""
    return _combine_field_types(kind, join_types)


def union_field_types(kind: Object) -> Type:
    """Return one type for the values of all fields, read one by one: a union if they are of several kinds."""
    return _combine_field_types(kind, join_or_union)


def _combine_field_types(kind: Object, join: Callable[[Type, Type], Type]) -> Type:
    if not 0 < len(kind.fields) <= _MAX_FIELDS:
        return JSON
    types = [each.read for each in kind.fields.values()]
    found = reduce(join, types)
    # If a field cannot be shared under the common type, the values are copied.
    if all(can_share(each, found) for each in types):
        return found
    return JSON if all(map(is_json_data, types)) else Union(tuple(dict.fromkeys(types)))


def infer_object_method(c: Checker, call: n.Call, node: n.Member, kind: Object) -> Type | None:
    """Return the result type of a method that reads the fields of an object, or None for other methods."""
    if node.name == "values":
        return Array(join_field_types(kind))
    if node.name == "entries":
        return Array(Object({"key": ObjectField(TEXT), "value": ObjectField(join_field_types(kind))}))
    if node.name == "get" and call.arguments:
        return _infer_get(call, kind)
    if node.name == "remove" and call.arguments:
        return _infer_remove(c, call, node, kind)
    return None


def _infer_get(call: n.Call, kind: Object) -> Type:
    keys = get_literal_keys(call.arguments[0])
    # A missing field is not null: the default is returned.
    found = join_field_types(Object({name: ObjectField(each.type) for name, each in kind.fields.items()}))
    if keys is not None and len(keys) == 1:
        field = kind.fields.get(keys[0])
        if field is not None and not field.optional:
            return field.type
        found = field.type if field is not None else JSON
    if found == JSON:
        return JSON
    if len(call.arguments) == 1:
        return make_nullable(found)
    default = call.arguments[1].type
    return join_types(found, default) if default is not None else JSON


def _infer_remove(c: Checker, call: n.Call, node: n.Member, kind: Object) -> Type:
    keys = get_literal_keys(call.arguments[0])
    fields = [kind.fields.get(each) for each in keys] if keys is not None else [*kind.fields.values()]
    if any(each is None or not each.optional for each in fields) or not fields:
        where = get_name_span(node)
        message = f"a field that every `{format_type_general(kind)}` has cannot be removed"
        c.report("V0332", message, where, "declare it optional, `name?: text`, or the object as `json`")
        return JSON
    return join_field_types(Object({str(at): each for at, each in enumerate(fields) if each is not None}))


def get_literal_keys(node: n.Expr) -> list[str] | None:
    """Return the fields that a key may name, if its type consists of literals, or None."""
    type_ = node.type
    options = type_.options if isinstance(type_, Union) else (type_,)
    found = [each.value for each in options if isinstance(each, Literal) and isinstance(each.value, str)]
    return found if len(found) == len(options) else None
