"""Methods, compiled: of a receiver whose type is known, or of one of which nothing is known."""

from __future__ import annotations

import ast
from typing import cast

from antiphon.lang.check.generic_methods import WITH_FUNCTION, is_generic
from antiphon.lang.check.members import field_function
from antiphon.lang.check.methods import kind_word, methods_of, signature_type
from antiphon.lang.check.types import AI, JSON, Array, Object, Type, Union, base, without_null
from antiphon.lang.compile import emit
from antiphon.lang.compile.calls import call_arguments
from antiphon.lang.compile.direct_methods import direct_method
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.function_values import array_method, method_arguments
from antiphon.lang.compile.guards import is_a
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.compile.views import named_field, of_fields, picked, there
from antiphon.lang.syntax import nodes as n

#: Methods of objects that look at all fields.
_LOOKING = frozenset(("keys", "values", "entries", "has", "get", "len"))


def method(c: Compiler, node: n.Call, value: ast.expr, place: Place) -> ast.expr:
    """`value.name(…)`: a function that is a field, a method of a known type, or whatever the running program finds."""
    callee = cast(n.Member, node.callee)
    type_, name = type_of(callee.object), callee.name
    type_ = without_null(type_) if callee.optional else type_
    if (function := field_function(type_, name)) is not None:
        value = emit.call("_vunwrap", [value], place) if isinstance(type_, AI) else value
        called = emit.item(value, emit.constant(name, place), place)
        return emit.call_of(called, call_arguments(c, node, function), place)
    known = methods_of(type_)
    if known is None and name in WITH_FUNCTION and is_generic(name, node):
        arguments = method_arguments(c, node, name, JSON)
        return emit.call("_vcall", [value, emit.constant(name, place), *arguments], place)
    if known is None and node.named:
        names = [emit.constant(each.name, place) for each in node.named]
        given = at(ast.Dict(list[ast.expr | None](names), [c.cast(each.value, JSON) for each in node.named]), place)
        arguments = [c.cast(each, JSON) for each in node.arguments]
        return emit.runtime("call_member_named", [value, emit.constant(name, place), given, *arguments], place)
    if known is None and _is_imported(callee.object):
        # What a class or a module of Python does is an effect, as a call of its functions is.
        arguments = [c.cast(each, JSON) for each in node.arguments]
        return emit.runtime("call_member", [value, emit.constant(name, place), *arguments], place)
    if known is None or name not in known or isinstance(base(type_), Union):
        return _dynamic_method(c, name, value, [c.cast(each, JSON) for each in node.arguments], place)
    if isinstance(type_, AI):
        value, type_ = emit.call("_vunwrap", [value], place), type_.inner
    kind = base(type_)
    if isinstance(kind, Array) and name in WITH_FUNCTION and is_generic(name, node):
        return array_method(c, node, name, value, kind.item, place)
    wanted = _parameter_types(known[name].parameters, kind)
    arguments = [c.cast(each, type_) for each, type_ in zip(node.arguments, wanted, strict=False)]
    if name in _LOOKING:
        value = there(value, kind, place) if name == "get" else picked(value, kind, place)
    elif (named := _named_by(kind, name)) is not None:
        arguments = [named_field(each, named, place) for each in arguments]
    direct = direct_method(c, node, kind, value, arguments, place)
    if direct is not None:
        return direct
    called = emit.call(f"_vm_{kind_word(kind)}_{name}", [value, *arguments], place)
    looks = isinstance(kind, Object) and name in ("values", "entries", "get")
    return of_fields(called, cast(Object, kind), type_of(node), place) if looks else called


def _is_imported(node: n.Expr) -> bool:
    return type(node) is n.Name and node.symbol is not None and node.symbol.kind == "import"


def _named_by(kind: Type, method: str) -> Object | None:
    """The object of which a method takes the name of a field."""
    if method == "sort" and isinstance(kind, Array):
        kind = base(kind.item)
    elif method != "remove":
        return None
    return kind if isinstance(kind, Object) else None


def _dynamic_method(c: Compiler, name: str, value: ast.expr, arguments: list[ast.expr], place: Place) -> ast.expr:
    key = emit.constant(name, place)
    if name != "push" or len(arguments) != 1:
        return emit.call("_vcall", [value, key, *arguments], place)
    test, value = is_a(c, value, "_vlist", place)
    push = emit.method(value, "append", arguments, place)
    return emit.either(test, push, emit.call("_vcall", [value, key, *arguments], place), place)


def _parameter_types(names: tuple[str, ...], receiver: Type) -> list[Type]:
    return [signature_type(each, receiver) for each in names]
