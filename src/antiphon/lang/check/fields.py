"""Fields of objects that are reached by a key which only the running program knows, or by a method."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from antiphon.lang.check.fitting import either, join
from antiphon.lang.check.notation import fields_of, general
from antiphon.lang.check.sharing import agree
from antiphon.lang.check.state import Checker
from antiphon.lang.check.types import JSON, TEXT, Array, Field, Literal, Object, Type, Union, is_data, nullable
from antiphon.lang.syntax.nodes import Call, Expr, Index, Member

#: Of objects with more fields it is not worked out what they have in common.
_FEW_FIELDS = 12


def keyed_type(c: Checker, node: Index, kind: Object) -> Type:
    """What `object[key]` is: a field that the key names, or what all fields have in common."""
    keys = keys_of(node.index)
    if keys is None:
        return common_type(kind)
    found: Type | None = None
    for key in keys:
        field = kind.fields.get(key)
        if field is None:
            hint = c.meant(key, kind.fields) or fields_of(kind)
            if not kind.name:
                hint += f"; for other keys declare a map, `{{ [text]: {general(common_type(kind))} }}`"
            c.report("V0306", f"`{general(kind)}` has no field `{key}`", node.index, hint)
            return JSON
        found = field.read if found is None else join(found, field.read)
    is_safe = found is not None and all(agree(kind.fields[key].read, found) for key in keys)
    return found if found is not None and is_safe else JSON


def check_keyed_slot(c: Checker, node: Index, kind: Object) -> None:
    """What is assigned to a field that only the running program knows must fit all of them."""
    keys = keys_of(node.index)
    fields = [kind.fields[each] for each in keys if each in kind.fields] if keys is not None else kind.fields.values()
    types = [each.read for each in fields]
    if any(each != types[0] for each in types[1:]):
        message = f"which field this is, is not known, and the fields of `{general(kind)}` are of different types"
        c.report("V0309", message, node.index, "name the field, or declare the object as `json`")


def common_type(kind: Object) -> Type:
    """One type for the values of all fields."""
    return _together(kind, join)


def any_type(kind: Object) -> Type:
    """The same where one after the other is looked at: of several kinds, each is one of them."""
    return _together(kind, either)


def _together(kind: Object, join: Callable[[Type, Type], Type]) -> Type:
    if not 0 < len(kind.fields) <= _FEW_FIELDS:
        return JSON
    types = [each.read for each in kind.fields.values()]
    found = reduce(join, types)
    # What they have in common is no type by which each of them may be changed: then they are copied.
    if all(agree(each, found) for each in types):
        return found
    return JSON if all(map(is_data, types)) else Union(tuple(dict.fromkeys(types)))


def method_type(c: Checker, call: Call, node: Member, kind: Object) -> Type | None:
    """What a method gives that looks into the fields of an object; nothing for the others."""
    if node.name == "values":
        return Array(common_type(kind))
    if node.name == "entries":
        return Array(Object({"key": Field(TEXT), "value": Field(common_type(kind))}))
    if node.name == "get" and call.arguments:
        return _got(call, kind)
    if node.name == "remove" and call.arguments:
        return _removed(c, call, node, kind)
    return None


def _got(call: Call, kind: Object) -> Type:
    keys = keys_of(call.arguments[0])
    # One that may be missing is not null: then it is the default.
    found = common_type(Object({name: Field(each.type) for name, each in kind.fields.items()}))
    if keys is not None and len(keys) == 1:
        field = kind.fields.get(keys[0])
        if field is not None and not field.optional:
            return field.type
        found = field.type if field is not None else JSON
    if found == JSON:
        return JSON
    if len(call.arguments) == 1:
        return nullable(found)
    default = call.arguments[1].type
    return join(found, default) if default is not None else JSON


def _removed(c: Checker, call: Call, node: Member, kind: Object) -> Type:
    keys = keys_of(call.arguments[0])
    fields = [kind.fields.get(each) for each in keys] if keys is not None else [*kind.fields.values()]
    if any(each is None or not each.optional for each in fields) or not fields:
        where = node.name_start, node.name_start + len(node.name)
        message = f"a field that every `{general(kind)}` has cannot be removed"
        c.report("V0332", message, where, "declare it optional, `name?: text`, or the object as `json`")
        return JSON
    return common_type(Object({str(at): each for at, each in enumerate(fields) if each is not None}))


def keys_of(node: Expr) -> list[str] | None:
    """The fields that a key may name, where its type tells."""
    type_ = node.type
    options = type_.options if isinstance(type_, Union) else (type_,)
    found = [each.value for each in options if isinstance(each, Literal) and isinstance(each.value, str)]
    return found if len(found) == len(options) else None
