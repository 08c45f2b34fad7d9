"""Compile methods that Python has itself to Python's own operations."""

from __future__ import annotations

import ast
from typing import cast

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.arithmetic import compile_rounding
from antiphon.lang.codegen.compiler import Compiler
from antiphon.lang.codegen.literals import compile_number_text
from antiphon.lang.codegen.members import compile_index, is_number_or_absent, is_python_sequence
from antiphon.lang.codegen.python_ast import SourceLocation
from antiphon.lang.codegen.type_guards import can_evaluate_first, evaluate_once
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.mutability.invariance import has_immutable_items
from antiphon.lang.typecheck.types import NUMBER, TEXT, Array, Map, Object, Type, is_mutable

_IN = ast.In()
#: Methods of text that are Python's own.
_PYTHON_TEXT_METHODS = {
    "upper": "upper",
    "lower": "lower",
    "trim": "strip",
    "startsWith": "startswith",
    "endsWith": "endswith",
    "replace": "replace",
    "indexOf": "find",
}


def compile_intrinsic(
    c: Compiler, node: n.Call, kind: Type, value: ast.expr, arguments: list[ast.expr], place: SourceLocation
) -> ast.expr | None:
    """Compile a method to the equivalent operation of Python; None if there is none."""
    name = cast(n.Member, node.callee).name
    if kind == NUMBER and name == "toString":
        return compile_number_text(c, n.get_step_receiver(node), value, place)
    if name == "len":
        return emit.make_global_call("_vpylen", [value], place)
    if name == "slice" and is_python_sequence(kind) and all(map(is_number_or_absent, node.arguments)):
        bounds = [compile_index(c, each, given, place) for each, given in zip(node.arguments, arguments, strict=True)]
        return emit.make_slice(value, [*bounds, *[None] * (2 - len(bounds))], place)
    if kind == TEXT:
        return _compile_text_method(name, value, arguments, place)
    if isinstance(kind, Array):
        return _compile_array_method(c, kind, name, value, arguments, place)
    if kind == NUMBER and name in ("floor", "ceil", "round"):
        return compile_rounding(c, name, n.get_step_receiver(node), value, arguments, place)
    if isinstance(kind, Map) and name == "get":
        return emit.make_method_call(value, name, arguments, place)
    if isinstance(kind, Map | Object) and name == "keys":
        return emit.make_global_call("_vlist", [value], place)
    if isinstance(kind, Map | Object) and name == "values" and not _has_mutable_fields(kind):
        return emit.make_global_call("_vlist", [emit.make_method_call(value, name, [], place)], place)
    if isinstance(kind, Map | Object) and name == "has" and can_evaluate_first(arguments[0], value):
        return emit.make_comparison(arguments[0], _IN, value, place)
    return None


def _compile_text_method(
    name: str, value: ast.expr, arguments: list[ast.expr], place: SourceLocation
) -> ast.expr | None:
    if name in _PYTHON_TEXT_METHODS:
        return emit.make_method_call(value, _PYTHON_TEXT_METHODS[name], arguments, place)
    if name == "includes" and can_evaluate_first(arguments[0], value):
        return emit.make_comparison(arguments[0], _IN, value, place)
    if name in _PADDING_METHODS and _is_small_width(arguments[0]) and all(map(_is_one_character, arguments[1:])):
        return emit.make_method_call(value, _PADDING_METHODS[name], arguments, place)
    if name == "split":
        return _compile_split(value, arguments, place)
    if name == "repeat" and isinstance(value, ast.Name | ast.Constant):
        return _compile_repeat(value, arguments[0], place)
    return None


#: Widths up to this need no check of the resulting length.
_MAX_UNCHECKED_WIDTH = 100_000
_PADDING_METHODS = {"padStart": "rjust", "padEnd": "ljust"}


def _is_small_width(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value <= _MAX_UNCHECKED_WIDTH


def _is_one_character(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) == 1


def _compile_repeat(value: ast.expr, count: ast.expr, place: SourceLocation) -> ast.expr | None:
    """Compile `text.repeat(count)` for a small constant count, with a check of the resulting length."""
    if (
        not isinstance(count, ast.Constant)
        or type(count.value) is not int
        or not 0 < count.value <= _MAX_UNCHECKED_WIDTH
    ):
        return None
    most = emit.make_constant(_MAX_UNCHECKED_WIDTH // count.value, place)
    is_short = emit.make_comparison(emit.make_global_call("_vpylen", [value], place), ast.LtE(), most, place)
    quick, slow = (
        emit.make_binary(value, ast.Mult(), count, place),
        emit.make_global_call("_vm_text_repeat", [value, count], place),
    )
    return emit.make_conditional(is_short, quick, slow, place)


def _compile_split(value: ast.expr, arguments: list[ast.expr], place: SourceLocation) -> ast.expr | None:
    """Compile `text.split(separator)`; an empty separator, which Python rejects, gives the characters."""
    separator = arguments[0] if arguments else None
    if isinstance(separator, ast.Constant) and separator.value == "":
        return emit.make_global_call("_vlist", [value], place)
    split = emit.make_method_call(value, "split", arguments, place)
    if separator is None or isinstance(separator, ast.Constant):
        return split
    if not isinstance(separator, ast.Name) or not isinstance(value, ast.Name | ast.Constant):
        return None
    return emit.make_conditional(separator, split, emit.make_global_call("_vlist", [value], place), place)


def _compile_array_method(
    c: Compiler, kind: Array, name: str, value: ast.expr, arguments: list[ast.expr], place: SourceLocation
) -> ast.expr | None:
    if name == "push":
        return emit.make_method_call(value, "append", arguments, place)
    if name == "pop":
        return emit.make_method_call(value, name, arguments, place)
    if name == "copy" and has_immutable_items(kind):
        return emit.make_global_call("_vlist", [value], place)
    if name == "join" and kind.item == TEXT:
        separator = arguments[0] if arguments else emit.make_constant(",", place)
        return (
            emit.make_method_call(separator, "join", [value], place) if can_evaluate_first(separator, value) else None
        )
    if name == "includes" and kind.item in (TEXT, NUMBER):
        if can_evaluate_first(arguments[0], value):
            return emit.make_comparison(arguments[0], _IN, value, place)
        return emit.make_global_call("_vcontains", [value, *arguments], place)
    if name == "indexOf" and kind.item in (TEXT, NUMBER):
        return emit.make_global_call("_vplaceof", [value, *arguments], place)
    if name == "sum" and kind.item == NUMBER:
        return emit.make_global_call("_vsum", [value], place)
    if name == "sort" and kind.item in (TEXT, NUMBER) and not arguments:
        return emit.make_global_call("_vsort", [value], place)
    if name == "sort" and arguments and _has_sortable_field(kind.item, arguments[0]):
        return emit.make_global_call("_vsortfield", [value, *arguments], place)
    if name == "unique" and kind.item in (TEXT, NUMBER):
        once_each = emit.make_method_call(emit.make_name("_vdict", place), "fromkeys", [value], place)
        return emit.make_global_call("_vlist", [once_each], place)
    if name in ("min", "max") and kind.item in (TEXT, NUMBER):
        return _compile_extreme(c, name, value, place)
    return None


def _has_mutable_fields(kind: Map | Object) -> bool:
    """Return True if the values of an object's fields are mutable and must be copied."""
    return isinstance(kind, Object) and any(is_mutable(each.type) for each in kind.fields.values())


def _has_sortable_field(type_: Type, name: ast.expr) -> bool:
    """Return True if all objects of a type have a required field of that name, a number or text."""
    if not isinstance(type_, Object) or not isinstance(name, ast.Constant):
        return False
    field = type_.fields.get(str(name.value))
    return field is not None and not field.optional and field.type in (TEXT, NUMBER)


def _compile_extreme(c: Compiler, name: str, value: ast.expr, place: SourceLocation) -> ast.expr:
    first, value = evaluate_once(c, value, place)
    found, none = (
        emit.make_global_call(f"_v{name}", [value], place),
        emit.make_global_call(f"_vm_array_{name}", [value], place),
    )
    return emit.make_conditional(first, found, none, place)
