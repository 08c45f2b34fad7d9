"""Members, indexes, slices and method calls."""

from __future__ import annotations

from typing import Any

from antiphon.lang.syntax.nodes import Call, Index, Lambda, Member, Name, NumberLit, Slice, TextLit
from antiphon.lang.typecheck.calls import (
    check_call_arguments,
    hint_not_callable,
    infer_arguments,
    infer_function_call,
    infer_name_call,
    merge_callables,
    reject_named_arguments,
)
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.dynamic_fields import infer_keyed_field, infer_object_method
from antiphon.lang.typecheck.fix_hints import hint_index
from antiphon.lang.typecheck.generic_methods import METHODS_WITH_FUNCTION, infer_generic_method, is_generic_call
from antiphon.lang.typecheck.integer_constants import check_integer, evaluate_constant_number
from antiphon.lang.typecheck.invalid_operations import check_method_call
from antiphon.lang.typecheck.methods import (
    ARRAY_METHODS,
    MAP_METHODS,
    OBJECT_METHODS,
    MethodSignature,
    get_methods,
    resolve_signature_type,
)
from antiphon.lang.typecheck.narrowing import get_narrowed_type, invalidate_by_unknown_call, invalidate_members
from antiphon.lang.typecheck.nullability import require_non_null
from antiphon.lang.typecheck.operators import ASK_NODES, get_counted_value
from antiphon.lang.typecheck.side_effects import ALL_ITEMS, members_changed_by_index
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short, hint_fields
from antiphon.lang.typecheck.types import (
    AI_MEMBERS,
    JSON,
    NEVER,
    NULL,
    NUMBER,
    TEXT,
    AIResultType,
    Array,
    CallableType,
    Map,
    Object,
    Type,
    Union,
    get_operand_type,
    is_nullable,
    make_nullable,
    remove_null,
    strip_ai_result,
)
from antiphon.lang.typecheck.unions import find_common_field, inhabited_options
from antiphon.lang.typecheck.unknown_member import report_unknown_member, report_unknown_method

_POSTFIX_NODES = frozenset((Member, Index, Slice, Call))
#: The type of a method that is not called.
_METHOD_TYPE = CallableType((), 0, JSON, is_unchecked=True)
_MUTATING_METHODS = frozenset(
    n for table in (ARRAY_METHODS, MAP_METHODS, OBJECT_METHODS) for n, m in table.items() if m.mutates
)


def infer_postfix(c: Checker, node: Member | Index | Slice | Call, wanted: Type | None) -> Type:
    """Infer the type of `a.b[i](x).c` from the left. Iterative, since such chains may be long."""
    parts: list[Any] = [node]
    inner: Any = node
    while True:
        inner = inner.callee if type(inner) is Call else inner.object
        if type(inner) not in _POSTFIX_NODES:
            break
        parts.append(inner)
    # The variable whose value a mutation would change.
    root: Symbol | None = None
    if type(inner) is Name and type(parts[-1]) is Call:
        call = parts.pop()
        type_ = call.type = infer_name_call(c, call, inner, None if parts else wanted)
    else:
        type_ = c.expr(inner)
        root = inner.symbol if type(inner) is Name else None
        if root is not None and root.kind == "import" and type(type_) is CallableType:
            # A name imported from Python may be a class with arbitrary members.
            type_ = inner.type = JSON
    skips = False
    while parts:
        each = parts.pop()
        if type(each) is not Call and each.optional:
            skips = is_nullable(type_) or skips
            type_ = _check_optional_step(c, each, type_)
        if type(each) is Member and parts and type(parts[-1]) is Call:
            call = parts.pop()
            each.type = _METHOD_TYPE
            type_ = call.type = _infer_method_call(c, call, each, type_, root, None if parts else wanted)
            root = None
        else:
            type_ = each.type = _STEP_RULES[type(each)](c, each, type_)
            root = root if type(each) in (Member, Index) else None
    return make_nullable(type_) if skips else type_


def _check_optional_step(c: Checker, node: Member | Index | Slice, type_: Type) -> Type:
    """Return the type that `?.` reads from, without null; warn if it is never null."""
    before = node.object if isinstance(node.object, Member | Index | Slice) and node.object.optional else None
    is_said = before is not None and not is_nullable(before.object.type or NULL)
    if strip_ai_result(type_) != JSON and not is_nullable(type_) and not is_said:
        hint = "write `.`" if isinstance(node, Member) else "leave out `?.`"
        c.warn("V0705", f"what stands before `?.` is `{format_type_general(type_)}` and never null", node.object, hint)
    return remove_null(type_)


def _has_field(type_: Type, name: str) -> bool:
    kind = get_operand_type(type_)
    return isinstance(kind, Object) and name in kind.fields


def infer_member(c: Checker, node: Member, type_: Type) -> Type:
    """Return the type of a member of a value."""
    if type(type_) is AIResultType:
        if node.name == "value":
            return type_.inner
        if (own := AI_MEMBERS.get(node.name)) is not None:
            return own
        if node.name in ("err", "errDetails") and not _has_field(type_, node.name):
            where = node.name_start, node.name_start + len(node.name)
            hint = f"write `try {{ … }} catch error {{ … }}`; a field of the answer called so is `.value.{node.name}`"
            c.report("V0306", f"an answer has no `{node.name}`: what goes wrong is thrown", where, hint, is_habit=True)
            return JSON
    type_ = require_non_null(c, node.object, type_, node.name)
    kind = get_operand_type(type_)
    if kind is JSON:
        return JSON
    if isinstance(kind, Object) and (field := kind.fields.get(node.name)) is not None:
        found = field.read
        return get_narrowed_type(c, node, found) if c.narrowed_types else found
    if isinstance(kind, Union) and (common := find_common_field(kind, node.name)) is not None:
        return get_narrowed_type(c, node, common) if c.narrowed_types else common
    if node.name == "length" and (isinstance(kind, Object) or all(map(_has_length, inhabited_options(kind)))):
        return NUMBER
    report_unknown_member(c, node, type_, kind)
    return JSON


def _has_length(type_: Type) -> bool:
    return type_ is TEXT or isinstance(type_, Array | Map)


def infer_index(c: Checker, node: Index, type_: Type) -> Type:
    """Return the type of an item of a value, narrowed."""
    found = infer_item_slot(c, node, type_)
    return get_narrowed_type(c, node, found) if c.narrowed_types else found


def infer_item_slot(c: Checker, node: Index, type_: Type) -> Type:
    """Return the declared type of an item of a value, without narrowing."""
    type_ = require_non_null(c, node.object, type_)
    kind = get_operand_type(type_)
    by_number = type(node.index) in ASK_NODES and (kind is TEXT or type(kind) is Array)
    index = require_non_null(c, node.index, c.expr(node.index, NUMBER if by_number else None))
    if kind is JSON:
        return JSON
    wanted = get_operand_type(index)
    if isinstance(kind, Array) or kind is TEXT:
        if wanted is not NUMBER and wanted is not JSON:
            hint = hint_index(c, node, kind)
            c.report(
                "V0309",
                f"`{format_type_general(kind)}` is indexed by number, found `{format_type_short(wanted)}`",
                node.index,
                hint,
            )
        check_integer(c, node.index, "an index")
        if (of := get_counted_value(node.index)) is not None and c.source_text(of) == c.source_text(node.object) != "x":
            hint = f"the last one is `{c.source_text(node.object)}[-1]`"
            c.warn("V0710", "positions begin with 0, and this one is behind the last", node.index, hint)
        return kind.item if isinstance(kind, Array) else TEXT
    if isinstance(kind, Map):
        if wanted is not TEXT and wanted is not JSON:
            is_name = wanted is NUMBER and not isinstance(node.index, NumberLit)
            hint = (
                f"write `{c.receiver_text(node.index)}.toString()`"
                if is_name
                else f'write `"{c.source_text(node.index)}"`'
            )
            c.report("V0309", f"the keys of a map are text, found `{format_type_short(wanted)}`", node.index, hint)
        return kind.value
    if isinstance(kind, Object):
        if wanted is not TEXT and wanted is not JSON:
            c.report(
                "V0309",
                f"an object is indexed by text, found `{format_type_short(wanted)}`",
                node.index,
                hint_fields(kind),
            )
        return infer_keyed_field(c, node, kind)
    hint = "arrays, text, objects and json can be indexed"
    if isinstance(kind, CallableType):
        hint = f"call it: `{c.source_text(node.object)}({c.source_text(node.index)})`"
    c.report("V0309", f"`{format_type_general(type_)}` has no items", node.object, hint)
    return JSON


def infer_slice(c: Checker, node: Slice, type_: Type) -> Type:
    """Return the type of a slice of an array or a text."""
    type_ = require_non_null(c, node.object, type_)
    for each in (node.first, node.last, node.step):
        if each is None:
            continue
        bound = c.expr(each)
        if get_operand_type(bound) not in (NUMBER, JSON) and bound is not NULL:
            c.report("V0309", f"the bounds of a slice are numbers, found `{format_type_general(bound)}`", each)
        check_integer(c, each, "the bound of a slice")
    if node.step is not None and evaluate_constant_number(node.step) == 0:
        c.report("V0309", "the step of a slice cannot be 0", node.step)
    kind = get_operand_type(type_)
    if kind is TEXT or kind is JSON or isinstance(kind, Array):
        return kind
    c.report("V0309", f"`{format_type_general(type_)}` has no slices", node.object, "arrays and text can be sliced")
    return JSON


def record_mutation(c: Checker, root: Symbol | None, node: Member | Index, what: str) -> None:
    """Record that a variable's value is mutated; report one that is outside of the enclosing `async for`."""
    if root is None:
        return
    root.is_changed = True
    if c.is_outside_async_for(root):
        message = f"`{root.name}` is outside this `async for`, {what}"
        c.report("V0505", message, node, "its iterations run at the same time; `yield` what each of them gives")


def _infer_value_call(c: Checker, node: Call, type_: Type) -> Type:
    """Return the type of a call of a value that is neither a name nor a method."""
    if type(type_) is Union:
        type_ = node.callee.type = merge_callables(type_)
    if isinstance(type_, CallableType):
        return infer_function_call(c, node, type_, "the function", (node.callee.start, node.callee.end))
    infer_arguments(c, node)
    reject_named_arguments(c, node, "it")
    invalidate_by_unknown_call(c)
    if strip_ai_result(type_) != JSON:
        hint = hint_not_callable(c, node, type_)
        c.report("V0311", f"a value of type `{format_type_general(type_)}` cannot be called", node.callee, hint)
    return JSON


_STEP_RULES: dict[type, Any] = {Member: infer_member, Index: infer_index, Slice: infer_slice, Call: _infer_value_call}


def _infer_method_call(
    c: Checker, call: Call, node: Member, type_: Type, root: Symbol | None, wanted: Type | None
) -> Type:
    receiver = strip_ai_result(type_)
    if is_nullable(receiver):
        receiver = strip_ai_result(require_non_null(c, node.object, type_, f"{node.name}(…)"))
    kind = get_operand_type(receiver)
    if isinstance(kind, Object) and (function := find_field_function(kind, node.name)) is not None:
        if is_nullable(get_narrowed_type(c, node, _read_field_type(receiver, node.name))):
            hint = f"test `{c.source_text(node)} != null` before"
            c.report("V0311", f"`{node.name}` may be null, and cannot be called", node, hint)
        return infer_function_call(c, call, function, node.name, (node.name_start, node.name_start + len(node.name)))
    table = get_methods(receiver)
    method = table.get(node.name) if table is not None else None
    if node.name in _MUTATING_METHODS and (method.mutates if method is not None else kind is JSON):
        record_mutation(c, root, node, f"and `{node.name}` would change it")
    if method is not None:
        found = _infer_builtin_method(c, call, node, method, kind, wanted)
        if method.mutates:
            invalidate_members(c, _mutated_members(call, kind))
        return found
    is_known = not (isinstance(node.object, Name) and (node.object.symbol is None or node.object.symbol.is_unreadable))
    if kind is JSON and is_known and node.name in METHODS_WITH_FUNCTION and is_generic_call(node.name, call):
        infer_generic_method(c, call, node, Array(JSON), None)
        return JSON
    infer_arguments(c, call)
    if kind is not JSON:
        # Methods of the language have no named parameters; json may be a Python object.
        reject_named_arguments(c, call, node.name)
    if node.name in _MUTATING_METHODS:
        invalidate_members(c, _mutated_members(call, JSON))
    if kind is not JSON:
        report_unknown_method(c, node, type_, receiver, table or {})
    return JSON


def _mutated_members(call: Call, receiver: Type) -> set[str]:
    """Return the members that a mutating method may change."""
    if isinstance(receiver, Array) or not call.arguments:
        return {ALL_ITEMS}
    return {ALL_ITEMS, *members_changed_by_index(call.arguments[0])}


def _read_field_type(type_: Type, name: str) -> Type:
    kind = get_operand_type(type_)
    return kind.fields[name].read if isinstance(kind, Object) else JSON


def find_field_function(type_: Type, name: str) -> CallableType | None:
    """Return the function that a field of an object holds, if any; it takes precedence over a method of that name."""
    kind = get_operand_type(type_)
    field = kind.fields.get(name) if isinstance(kind, Object) else None
    function = remove_null(field.type) if field is not None else None
    return function if isinstance(function, CallableType) else None


def _infer_builtin_method(
    c: Checker, call: Call, node: Member, method: MethodSignature, receiver: Type, wanted: Type | None
) -> Type:
    if isinstance(receiver, Array) and receiver.item is NEVER:
        # The item type of an empty array is unknown.
        receiver = Array(JSON)
    if isinstance(receiver, Array) and is_generic_call(node.name, call):
        return infer_generic_method(c, call, node, receiver, wanted)
    types = tuple(resolve_signature_type(each, receiver) for each in method.parameters)
    where = node.name_start, node.name_start + len(node.name)
    how = [*call.arguments, *call.named]
    if node.name == "sort" and how and (call.named or isinstance(how[0], Lambda)):
        infer_arguments(c, call)
        hint = "write `sortBy(x => …)`, with what to sort by; `-x` turns the order of numbers around"
        c.report("V0341", "`sort` takes no function, and no names", how[0], hint, is_habit=True)
        return receiver
    if node.name == "remove" and isinstance(receiver, Array) and how and _is_known_text(c, how[0]):
        infer_arguments(c, call)
        hint = "write `xs.remove(xs.indexOf(x))`, or `xs = xs.filter(y => y != x)`"
        c.report("V0301", "`remove` takes the position of an item, and not the item", how[0], hint)
        return receiver.item
    check_call_arguments(c, call, node.name, where, types, method.required)
    check_method_call(c, call, node, receiver)
    if isinstance(receiver, Map) and node.name == "get" and len(call.arguments) == 2:
        return receiver.value
    known = infer_object_method(c, call, node, receiver) if isinstance(receiver, Object) else None
    return resolve_signature_type(method.returns, receiver) if known is None else known


def _is_known_text(c: Checker, node: object) -> bool:
    """Return True if a value is a text literal or a variable of type text."""
    symbol = c.scope.find(node.name) if isinstance(node, Name) else None
    return isinstance(node, TextLit) or (symbol is not None and get_operand_type(symbol.type) is TEXT)
