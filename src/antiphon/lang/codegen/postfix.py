"""Compile chains of members, items, slices and calls of any length, from the left end.

Method calls become Python's own operations, functions of the runtime, or a lookup at run time.
"""

from __future__ import annotations

import ast
from typing import Any, cast

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.arithmetic import compile_rounding
from antiphon.lang.codegen.calls import compile_arguments, compile_call, compile_value_call
from antiphon.lang.codegen.compiler import (
    Compiler,
    can_evaluate_first,
    get_expression_type,
    make_class_test,
    make_not_null_test,
)
from antiphon.lang.codegen.lambdas import compile_array_method, compile_method_arguments
from antiphon.lang.codegen.loops import compile_range_iterable
from antiphon.lang.codegen.members import (
    check_field_name,
    compile_index,
    compile_item,
    compile_member,
    compile_slice,
    copy_untyped_fields,
    drop_null_fields,
    hide_extra_fields,
    is_number_or_absent,
    is_python_sequence,
)
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.invariance import has_immutable_items
from antiphon.lang.typecheck.method_calls import find_field_function, is_generic_call
from antiphon.lang.typecheck.methods import METHODS_WITH_FUNCTION, get_methods, name_kind, resolve_signature_type

#: Methods of objects that read all fields.
_FIELD_READING_METHODS = frozenset(("keys", "values", "entries", "has", "get", "len"))


def compile_method(c: Compiler, node: n.Call, value: ast.expr, place: SourceLocation) -> ast.expr:
    """Compile `value.name(…)`: a function in a field, a method of a known type, or a lookup at run time."""
    callee = cast(n.Member, node.callee)
    type_, name = get_expression_type(callee.object), callee.name
    type_ = t.remove_null(type_) if callee.optional else type_
    if (function := find_field_function(type_, name)) is not None:
        value = emit.make_call("unwrap_answer", [value], place) if isinstance(type_, t.AIResultType) else value
        called = emit.make_item(value, emit.make_constant(name, place), place)
        return emit.make_value_call(called, compile_arguments(c, node, function), place)
    known = get_methods(type_)
    if known is None and name in METHODS_WITH_FUNCTION and is_generic_call(name, node):
        arguments = compile_method_arguments(c, node, name, t.JSON)
        return emit.make_call("call_method", [value, emit.make_constant(name, place), *arguments], place)
    if known is None and node.named:
        names = [emit.make_constant(each.name, place) for each in node.named]
        given = set_location(
            ast.Dict(list[ast.expr | None](names), [c.cast(each.value, t.JSON) for each in node.named]), place
        )
        arguments = [c.cast(each, t.JSON) for each in node.arguments]
        return emit.make_runtime_call(
            "call_member_named", [value, emit.make_constant(name, place), given, *arguments], place
        )
    if known is None and _is_imported_name(callee.object):
        # A method of a Python class or module is an effect, like a call of a Python function.
        arguments = [c.cast(each, t.JSON) for each in node.arguments]
        return emit.make_runtime_call("call_member", [value, emit.make_constant(name, place), *arguments], place)
    if known is None or name not in known or isinstance(t.get_base_type(type_), t.Union):
        return _compile_dynamic_method(c, name, value, [c.cast(each, t.JSON) for each in node.arguments], place)
    if isinstance(type_, t.AIResultType):
        value, type_ = emit.make_call("unwrap_answer", [value], place), type_.inner
    kind = t.get_base_type(type_)
    if isinstance(kind, t.Array) and name in METHODS_WITH_FUNCTION and is_generic_call(name, node):
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
    looks = isinstance(kind, t.Object) and name in ("values", "entries", "get")
    return copy_untyped_fields(called, cast(t.Object, kind), get_expression_type(node), place) if looks else called


def _is_imported_name(node: n.Expr) -> bool:
    return type(node) is n.Name and node.symbol is not None and node.symbol.kind == "import"


def _get_named_object(kind: t.Type, method: str) -> t.Object | None:
    """Return the object type whose field name a method takes as an argument, or None."""
    if method == "sort" and isinstance(kind, t.Array):
        kind = t.get_base_type(kind.item)
    elif method != "remove":
        return None
    return kind if isinstance(kind, t.Object) else None


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
    c: Compiler, node: n.Call, kind: t.Type, value: ast.expr, arguments: list[ast.expr], place: SourceLocation
) -> ast.expr | None:
    """Compile a method to an operation of Python that is faster than the runtime's function; None if there is none."""
    name = cast(n.Member, node.callee).name
    if name == "slice" and is_python_sequence(kind) and all(map(is_number_or_absent, node.arguments)):
        bounds = [compile_index(c, each, given, place) for each, given in zip(node.arguments, arguments, strict=True)]
        return emit.make_slice(value, [*bounds, *[None] * (2 - len(bounds))], place)
    if kind == t.NUMBER and name in ("floor", "ceil", "round"):
        return compile_rounding(c, name, n.get_step_receiver(node), value, arguments, place)
    is_scalar_array = isinstance(kind, t.Array) and kind.item in (t.TEXT, t.NUMBER)
    if (name == "includes" and (kind == t.TEXT or is_scalar_array)) or (
        name == "has" and isinstance(kind, t.Map | t.Object)
    ):
        if can_evaluate_first(arguments[0], value):
            return emit.make_comparison(arguments[0], _IN, value, place)
        return emit.make_call("contains", [value, *arguments], place)
    if name == "split" and (not arguments or (isinstance(arguments[0], ast.Constant) and arguments[0].value)):
        return emit.make_method_call(value, "split", arguments, place)
    if name == "copy" and isinstance(kind, t.Array) and has_immutable_items(kind):
        return emit.make_call("list", [value], place)
    if name == "push":
        return emit.make_method_call(value, "append", arguments, place)
    if is_scalar_array and (name in _SCALAR_METHODS if not arguments else name == "indexOf"):
        return emit.make_global_call(f"_vm_scalars_{name}", [value, *arguments], place)
    return None


def compile_postfix(c: Compiler, node: n.Member | n.Index | n.Slice | n.Call, leniently: bool = False) -> ast.expr:
    """Compile a chain of members, items and calls, from its left end."""
    steps: list[Any] = []
    here: Any = node
    while True:
        kind = here.__class__
        if kind is n.Call:
            if type(here.callee) is n.Name:
                break
            steps.append(here)
            here = here.callee.object if type(here.callee) is n.Member else here.callee
        elif kind in (n.Member, n.Index, n.Slice):
            steps.append(here)
            here = here.object
        else:
            break
    steps.reverse()
    first = n.is_optional_step(steps[0]) if steps else False
    if type(here) is n.Call:
        value = compile_call(c, here)
    elif type(here) is n.Range and _is_iterating_method(steps[0]):
        value = compile_range_iterable(c, here)
    else:
        value = compile_lenient(c, here) if first else c.expr(here)
    return _compile_steps(c, steps, value, leniently)


def _is_iterating_method(step: Any) -> bool:
    """Return True if a step is an array method that only iterates, and so needs no array."""
    return type(step) is n.Call and type(step.callee) is n.Member and step.callee.name in METHODS_WITH_FUNCTION


def _compile_steps(c: Compiler, steps: list[Any], value: ast.expr, leniently: bool) -> ast.expr:
    """Compile the steps that follow a value.

    Where `?.` finds null, the remaining steps are skipped; a field before `?.` may be missing.
    """
    tests: list[tuple[ast.expr, SourceLocation]] = []
    optional = [*map(n.is_optional_step, steps), False]
    for number, step in enumerate(steps):
        if optional[number]:
            place = c.place(step)
            test, value = make_not_null_test(c, value, place, n.get_step_receiver(step))
            tests.append((test, place))
        value = _compile_step(c, step, value, leniently or optional[number] or optional[number + 1])
    for test, place in reversed(tests):
        value = emit.make_conditional(test, value, emit.make_constant(None, place), place)
    return value


def compile_lenient(c: Compiler, node: n.Expr) -> ast.expr:
    """Compile an expression in which a missing field is null: before `??`, compared with null, as a condition."""
    if type(node) in (n.Member, n.Index):
        return compile_postfix(c, cast(n.Member, node), leniently=True)
    return c.expr(node)


def _compile_step(c: Compiler, node: Any, value: ast.expr, lenient: bool) -> ast.expr:
    place = c.place(node)
    kind = node.__class__
    if kind is n.Call:
        return (compile_method if type(node.callee) is n.Member else compile_value_call)(c, node, value, place)
    if kind is n.Member:
        return compile_member(c, node, value, lenient, place)
    if kind is n.Index:
        return compile_item(c, node, value, lenient, place)
    return compile_slice(c, node, value, place)
