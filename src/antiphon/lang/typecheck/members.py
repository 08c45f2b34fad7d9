"""Members, indexes, slices and method calls."""

from __future__ import annotations

from typing import Any

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import find_common_field, inhabited_options
from antiphon.lang.typecheck.calls import (
    hint_not_callable,
    infer_arguments,
    infer_function_call,
    infer_name_call,
    merge_callables,
    reject_named_arguments,
)
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.constants import check_integer, evaluate_constant_number
from antiphon.lang.typecheck.element_types import infer_keyed_field
from antiphon.lang.typecheck.fix_hints import hint_index, report_unknown_member
from antiphon.lang.typecheck.method_calls import infer_method_call
from antiphon.lang.typecheck.operators import ASK_NODES, get_counted_value
from antiphon.lang.typecheck.reporter import get_name_span
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short, hint_fields

_POSTFIX_NODES = frozenset((n.Member, n.Index, n.Slice, n.Call))
#: The type of a method that is not called.
_METHOD_TYPE = t.CallableType((), 0, t.JSON, is_unchecked=True)


def infer_postfix(c: Checker, node: n.Member | n.Index | n.Slice | n.Call, wanted: t.Type | None) -> t.Type:
    """Infer the type of `a.b[i](x).c` from the left. Iterative, since such chains may be long."""
    parts: list[Any] = [node]
    inner: Any = node
    while True:
        inner = inner.callee if type(inner) is n.Call else inner.object
        if type(inner) not in _POSTFIX_NODES:
            break
        parts.append(inner)
    # The variable whose value a mutation would change.
    root: Symbol | None = None
    if type(inner) is n.Name and type(parts[-1]) is n.Call:
        call = parts.pop()
        type_ = call.type = infer_name_call(c, call, inner, None if parts else wanted)
    else:
        type_ = c.infer(inner)
        root = inner.symbol if type(inner) is n.Name else None
        if root is not None and root.kind == "import" and type(type_) is t.CallableType:
            # A name imported from Python may be a class with arbitrary members.
            type_ = inner.type = t.JSON
    skips = False
    while parts:
        each = parts.pop()
        if type(each) is not n.Call and each.optional:
            skips = t.is_nullable(type_) or skips
            type_ = _check_optional_step(c, each, type_)
        if type(each) is n.Member and parts and type(parts[-1]) is n.Call:
            call = parts.pop()
            each.type = _METHOD_TYPE
            type_ = call.type = infer_method_call(c, call, each, type_, root, None if parts else wanted)
            root = None
        else:
            type_ = each.type = _STEP_RULES[type(each)](c, each, type_)
            root = root if type(each) in (n.Member, n.Index) else None
    return t.make_nullable(type_) if skips else type_


def _check_optional_step(c: Checker, node: n.Member | n.Index | n.Slice, type_: t.Type) -> t.Type:
    """Return the type that `?.` reads from, without null; warn if it is never null."""
    before = node.object if isinstance(node.object, n.Member | n.Index | n.Slice) and node.object.optional else None
    is_said = before is not None and not t.is_nullable(before.object.type or t.NULL)
    if t.strip_ai_result(type_) != t.JSON and not t.is_nullable(type_) and not is_said:
        hint = "write `.`" if isinstance(node, n.Member) else "leave out `?.`"
        c.warn("V0705", f"what stands before `?.` is `{format_type_general(type_)}` and never null", node.object, hint)
    return t.remove_null(type_)


def _has_field(type_: t.Type, name: str) -> bool:
    kind = t.get_operand_type(type_)
    return isinstance(kind, t.Object) and name in kind.fields


def infer_member(c: Checker, node: n.Member, type_: t.Type) -> t.Type:
    """Return the type of a member of a value."""
    if type(type_) is t.AIResultType:
        if node.name == "value":
            return type_.inner
        if (own := t.AI_MEMBERS.get(node.name)) is not None:
            return own
        if node.name in ("err", "errDetails") and not _has_field(type_, node.name):
            where = get_name_span(node)
            hint = f"write `try {{ … }} catch error {{ … }}`; a field of the answer called so is `.value.{node.name}`"
            c.report("V0306", f"an answer has no `{node.name}`: what goes wrong is thrown", where, hint, is_habit=True)
            return t.JSON
    type_ = c.require_non_null(node.object, type_, node.name)
    kind = t.get_operand_type(type_)
    if kind is t.JSON:
        return t.JSON
    if isinstance(kind, t.Object) and (field := kind.fields.get(node.name)) is not None:
        found = field.read
        return c.narrowing.get_type(node, found)
    if isinstance(kind, t.Union) and (common := find_common_field(kind, node.name)) is not None:
        return c.narrowing.get_type(node, common)
    if node.name == "length" and (
        isinstance(kind, t.Object)
        or all(each is t.TEXT or isinstance(each, t.Array | t.Map) for each in inhabited_options(kind))
    ):
        return t.NUMBER
    report_unknown_member(c, node, type_, kind)
    return t.JSON


def infer_index(c: Checker, node: n.Index, type_: t.Type) -> t.Type:
    """Return the type of an item of a value, narrowed."""
    found = infer_item_slot(c, node, type_)
    return c.narrowing.get_type(node, found)


def infer_item_slot(c: Checker, node: n.Index, type_: t.Type) -> t.Type:
    """Return the declared type of an item of a value, without narrowing."""
    type_ = c.require_non_null(node.object, type_)
    kind = t.get_operand_type(type_)
    by_number = type(node.index) in ASK_NODES and (kind is t.TEXT or type(kind) is t.Array)
    index = c.require_non_null(node.index, c.infer(node.index, t.NUMBER if by_number else None))
    if kind is t.JSON:
        return t.JSON
    wanted = t.get_operand_type(index)
    if isinstance(kind, t.Array) or kind is t.TEXT:
        if wanted is not t.NUMBER and wanted is not t.JSON:
            hint = hint_index(c, node, kind)
            c.report(
                "V0309",
                f"`{format_type_general(kind)}` is indexed by number, found `{format_type_short(wanted)}`",
                node.index,
                hint,
            )
        check_integer(c, node.index, "an index")
        if (of := get_counted_value(node.index)) is not None and c.quote(of) == c.quote(node.object) != "x":
            hint = f"the last one is `{c.quote(node.object)}[-1]`"
            c.warn("V0710", "positions begin with 0, and this one is behind the last", node.index, hint)
        return kind.item if isinstance(kind, t.Array) else t.TEXT
    if isinstance(kind, t.Map):
        if wanted is not t.TEXT and wanted is not t.JSON:
            is_name = wanted is t.NUMBER and not isinstance(node.index, n.NumberLit)
            hint = (
                f"write `{c.quote_receiver(node.index)}.toString()`" if is_name else f'write `"{c.quote(node.index)}"`'
            )
            c.report("V0309", f"the keys of a map are text, found `{format_type_short(wanted)}`", node.index, hint)
        return kind.value
    if isinstance(kind, t.Object):
        if wanted is not t.TEXT and wanted is not t.JSON:
            c.report(
                "V0309",
                f"an object is indexed by text, found `{format_type_short(wanted)}`",
                node.index,
                hint_fields(kind),
            )
        return infer_keyed_field(c, node, kind)
    hint = "arrays, text, objects and json can be indexed"
    if isinstance(kind, t.CallableType):
        hint = f"call it: `{c.quote(node.object)}({c.quote(node.index)})`"
    c.report("V0309", f"`{format_type_general(type_)}` has no items", node.object, hint)
    return t.JSON


def infer_slice(c: Checker, node: n.Slice, type_: t.Type) -> t.Type:
    """Return the type of a slice of an array or a text."""
    type_ = c.require_non_null(node.object, type_)
    for each in (node.first, node.last, node.step):
        if each is None:
            continue
        bound = c.infer(each)
        if t.get_operand_type(bound) not in (t.NUMBER, t.JSON) and bound is not t.NULL:
            c.report("V0309", f"the bounds of a slice are numbers, found `{format_type_general(bound)}`", each)
        check_integer(c, each, "the bound of a slice")
    if node.step is not None and evaluate_constant_number(node.step) == 0:
        c.report("V0309", "the step of a slice cannot be 0", node.step)
    kind = t.get_operand_type(type_)
    if kind is t.TEXT or kind is t.JSON or isinstance(kind, t.Array):
        return kind
    c.report("V0309", f"`{format_type_general(type_)}` has no slices", node.object, "arrays and text can be sliced")
    return t.JSON


def _infer_value_call(c: Checker, node: n.Call, type_: t.Type) -> t.Type:
    """Return the type of a call of a value that is neither a name nor a method."""
    if type(type_) is t.Union:
        type_ = node.callee.type = merge_callables(type_)
    if isinstance(type_, t.CallableType):
        return infer_function_call(c, node, type_, "the function", (node.callee.start, node.callee.end))
    infer_arguments(c, node)
    reject_named_arguments(c, node, "it")
    c.narrowing.invalidate_by_unknown_call()
    if t.strip_ai_result(type_) != t.JSON:
        hint = hint_not_callable(c, node, type_)
        c.report("V0311", f"a value of type `{format_type_general(type_)}` cannot be called", node.callee, hint)
    return t.JSON


_STEP_RULES: dict[type, Any] = {
    n.Member: infer_member,
    n.Index: infer_index,
    n.Slice: infer_slice,
    n.Call: _infer_value_call,
}
