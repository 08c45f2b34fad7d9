"""Compile method calls: to Python's own operations, to functions of the runtime, or to a lookup at run time."""

from __future__ import annotations

import ast
from typing import cast

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.arithmetic import compile_rounding
from antiphon.lang.codegen.calls import compile_arguments
from antiphon.lang.codegen.compiler import (
    Compiler,
    can_evaluate_first,
    get_expression_type,
    make_class_test,
)
from antiphon.lang.codegen.lambdas import compile_array_method, compile_method_arguments
from antiphon.lang.codegen.members import (
    check_field_name,
    compile_index,
    copy_untyped_fields,
    drop_null_fields,
    hide_extra_fields,
    is_number_or_absent,
    is_python_sequence,
)
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.invariance import has_immutable_items
from antiphon.lang.typecheck.method_calls import METHODS_WITH_FUNCTION, find_field_function, is_generic_call
from antiphon.lang.typecheck.methods import get_methods, name_kind, resolve_signature_type
from antiphon.lang.typecheck.types import (
    JSON,
    NUMBER,
    TEXT,
    AIResultType,
    Array,
    Map,
    Object,
    Type,
    Union,
    get_base_type,
    remove_null,
)

#: Methods of objects that read all fields.
_FIELD_READING_METHODS = frozenset(("keys", "values", "entries", "has", "get", "len"))


def compile_method(c: Compiler, node: n.Call, value: ast.expr, place: SourceLocation) -> ast.expr:
    """Compile `value.name(…)`: a function in a field, a method of a known type, or a lookup at run time."""
    callee = cast(n.Member, node.callee)
    type_, name = get_expression_type(callee.object), callee.name
    type_ = remove_null(type_) if callee.optional else type_
    if (function := find_field_function(type_, name)) is not None:
        value = emit.make_call("unwrap_answer", [value], place) if isinstance(type_, AIResultType) else value
        called = emit.make_item(value, emit.make_constant(name, place), place)
        return emit.make_value_call(called, compile_arguments(c, node, function), place)
    known = get_methods(type_)
    if known is None and name in METHODS_WITH_FUNCTION and is_generic_call(name, node):
        arguments = compile_method_arguments(c, node, name, JSON)
        return emit.make_call("call_method", [value, emit.make_constant(name, place), *arguments], place)
    if known is None and node.named:
        names = [emit.make_constant(each.name, place) for each in node.named]
        given = set_location(
            ast.Dict(list[ast.expr | None](names), [c.cast(each.value, JSON) for each in node.named]), place
        )
        arguments = [c.cast(each, JSON) for each in node.arguments]
        return emit.make_runtime_call(
            "call_member_named", [value, emit.make_constant(name, place), given, *arguments], place
        )
    if known is None and _is_imported_name(callee.object):
        # A method of a Python class or module is an effect, like a call of a Python function.
        arguments = [c.cast(each, JSON) for each in node.arguments]
        return emit.make_runtime_call("call_member", [value, emit.make_constant(name, place), *arguments], place)
    if known is None or name not in known or isinstance(get_base_type(type_), Union):
        return _compile_dynamic_method(c, name, value, [c.cast(each, JSON) for each in node.arguments], place)
    if isinstance(type_, AIResultType):
        value, type_ = emit.make_call("unwrap_answer", [value], place), type_.inner
    kind = get_base_type(type_)
    if isinstance(kind, Array) and name in METHODS_WITH_FUNCTION and is_generic_call(name, node):
        return compile_array_method(c, node, name, value, kind.item, place)
    wanted = [resolve_signature_type(each, kind) for each in known[name].parameters]
    arguments = [c.cast(each, type_) for each, type_ in zip(node.arguments, wanted, strict=False)]
    if name in _FIELD_READING_METHODS:
        value = drop_null_fields(value, kind, place) if name == "get" else hide_extra_fields(value, kind, place)
    elif (named := _get_named_object(kind, name)) is not None:
        arguments = [check_field_name(each, named, place) for each in arguments]
    direct = compile_intrinsic(c, node, kind, value, arguments, place)
    if direct is not None:
        return direct
    called = emit.make_global_call(f"_vm_{name_kind(kind)}_{name}", [value, *arguments], place)
    looks = isinstance(kind, Object) and name in ("values", "entries", "get")
    return copy_untyped_fields(called, cast(Object, kind), get_expression_type(node), place) if looks else called


def _is_imported_name(node: n.Expr) -> bool:
    return type(node) is n.Name and node.symbol is not None and node.symbol.kind == "import"


def _get_named_object(kind: Type, method: str) -> Object | None:
    """Return the object type whose field name a method takes as an argument, or None."""
    if method == "sort" and isinstance(kind, Array):
        kind = get_base_type(kind.item)
    elif method != "remove":
        return None
    return kind if isinstance(kind, Object) else None


def _compile_dynamic_method(
    c: Compiler, name: str, value: ast.expr, arguments: list[ast.expr], place: SourceLocation
) -> ast.expr:
    key = emit.make_constant(name, place)
    if name != "push" or len(arguments) != 1:
        return emit.make_call("call_method", [value, key, *arguments], place)
    test, value = make_class_test(c, value, "list", place)
    push = emit.make_method_call(value, "append", arguments, place)
    return emit.make_conditional(test, push, emit.make_call("call_method", [value, key, *arguments], place), place)


_IN = ast.In()
#: Methods without arguments that are faster on arrays of numbers or texts than on any others.
_SCALAR_METHODS = frozenset(("sum", "sort", "unique", "min", "max"))


def compile_intrinsic(
    c: Compiler, node: n.Call, kind: Type, value: ast.expr, arguments: list[ast.expr], place: SourceLocation
) -> ast.expr | None:
    """Compile a method to an operation of Python that is faster than the runtime's function; None if there is none."""
    name = cast(n.Member, node.callee).name
    if name == "slice" and is_python_sequence(kind) and all(map(is_number_or_absent, node.arguments)):
        bounds = [compile_index(c, each, given, place) for each, given in zip(node.arguments, arguments, strict=True)]
        return emit.make_slice(value, [*bounds, *[None] * (2 - len(bounds))], place)
    if kind == NUMBER and name in ("floor", "ceil", "round"):
        return compile_rounding(c, name, n.get_step_receiver(node), value, arguments, place)
    is_scalar_array = isinstance(kind, Array) and kind.item in (TEXT, NUMBER)
    if (name == "includes" and (kind == TEXT or is_scalar_array)) or (name == "has" and isinstance(kind, Map | Object)):
        if can_evaluate_first(arguments[0], value):
            return emit.make_comparison(arguments[0], _IN, value, place)
        return emit.make_call("contains", [value, *arguments], place)
    if name == "split" and (not arguments or (isinstance(arguments[0], ast.Constant) and arguments[0].value)):
        return emit.make_method_call(value, "split", arguments, place)
    if name == "copy" and isinstance(kind, Array) and has_immutable_items(kind):
        return emit.make_call("list", [value], place)
    if name == "push":
        return emit.make_method_call(value, "append", arguments, place)
    if is_scalar_array and (name in _SCALAR_METHODS if not arguments else name == "indexOf"):
        return emit.make_global_call(f"_vm_scalars_{name}", [value, *arguments], place)
    return None
