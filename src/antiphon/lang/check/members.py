"""Members, indexes, slices and methods: what stands after a value."""

from __future__ import annotations

from typing import Any

from antiphon.lang.check.calls import (
    call_function,
    call_name,
    check_arguments,
    check_freely,
    not_called,
    one_function,
    refuse_names,
)
from antiphon.lang.check.effects import ITEMS, changed_by_index
from antiphon.lang.check.fields import keyed_type, method_type
from antiphon.lang.check.generic_methods import WITH_FUNCTION, generic_method, is_generic
from antiphon.lang.check.methods import (
    ARRAY_METHODS,
    MAP_METHODS,
    OBJECT_METHODS,
    Method,
    methods_of,
    signature_type,
)
from antiphon.lang.check.missing import report_member, report_method
from antiphon.lang.check.misuse import check_method
from antiphon.lang.check.narrowing import called_unknown, changed, narrowed_type
from antiphon.lang.check.notation import fields_of, general, shown
from antiphon.lang.check.null import present
from antiphon.lang.check.operators import ASKS, length_of
from antiphon.lang.check.parts import common_field, options
from antiphon.lang.check.remedies import index_hint
from antiphon.lang.check.state import Checker
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import (
    AI,
    AI_MEMBERS,
    JSON,
    NEVER,
    NULL,
    NUMBER,
    TEXT,
    Array,
    Callable,
    Map,
    Object,
    Type,
    Union,
    may_be_null,
    nullable,
    operand,
    plain,
    without_null,
)
from antiphon.lang.check.whole import check_whole, known_number
from antiphon.lang.syntax.nodes import Call, Index, Lambda, Member, Name, NumberLit, Slice, TextLit

_POSTFIX = frozenset((Member, Index, Slice, Call))
#: What a method is, on its own.
_METHOD = Callable((), 0, JSON, unchecked=True)
_MUTATING = frozenset(
    n for table in (ARRAY_METHODS, MAP_METHODS, OBJECT_METHODS) for n, m in table.items() if m.mutates
)


def postfix(c: Checker, node: Member | Index | Slice | Call, wanted: Type | None) -> Type:
    """`a.b[i](x).c`, from the left; such chains may be long, so this goes without recursion."""
    parts: list[Any] = [node]
    inner: Any = node
    while True:
        inner = inner.callee if type(inner) is Call else inner.object
        if type(inner) not in _POSTFIX:
            break
        parts.append(inner)
    # The variable that a change of the value would change.
    root: Symbol | None = None
    if type(inner) is Name and type(parts[-1]) is Call:
        call = parts.pop()
        type_ = call.type = call_name(c, call, inner, None if parts else wanted)
    else:
        type_ = c.expr(inner)
        root = inner.symbol if type(inner) is Name else None
        if root is not None and root.kind == "import" and type(type_) is Callable:
            # What was imported from Python may be a class, and has whatever it has.
            type_ = inner.type = JSON
    skips = False
    while parts:
        each = parts.pop()
        if type(each) is not Call and each.optional:
            skips = may_be_null(type_) or skips
            type_ = _reached(c, each, type_)
        if type(each) is Member and parts and type(parts[-1]) is Call:
            call = parts.pop()
            each.type = _METHOD
            type_ = call.type = _method(c, call, each, type_, root, None if parts else wanted)
            root = None
        else:
            type_ = each.type = _PARTS[type(each)](c, each, type_)
            root = root if type(each) in (Member, Index) else None
    return nullable(type_) if skips else type_


def _reached(c: Checker, node: Member | Index | Slice, type_: Type) -> Type:
    """What `?.` reaches into: a value that is there."""
    before = node.object if isinstance(node.object, Member | Index | Slice) and node.object.optional else None
    is_said = before is not None and not may_be_null(before.object.type or NULL)
    if plain(type_) != JSON and not may_be_null(type_) and not is_said:
        hint = "write `.`" if isinstance(node, Member) else "leave out `?.`"
        c.warn("V0705", f"what stands before `?.` is `{general(type_)}` and never null", node.object, hint)
    return without_null(type_)


def _has_field(type_: Type, name: str) -> bool:
    kind = operand(type_)
    return isinstance(kind, Object) and name in kind.fields


def member_type(c: Checker, node: Member, type_: Type) -> Type:
    """The type of a member of a value."""
    if type(type_) is AI:
        if node.name == "value":
            return type_.inner
        if (own := AI_MEMBERS.get(node.name)) is not None:
            return own
        if node.name in ("err", "errDetails") and not _has_field(type_, node.name):
            where = node.name_start, node.name_start + len(node.name)
            hint = f"write `try {{ … }} catch error {{ … }}`; a field of the answer called so is `.value.{node.name}`"
            c.report("V0306", f"an answer has no `{node.name}`: what goes wrong is thrown", where, hint, is_habit=True)
            return JSON
    type_ = present(c, node.object, type_, node.name)
    kind = operand(type_)
    if kind is JSON:
        return JSON
    if isinstance(kind, Object) and (field := kind.fields.get(node.name)) is not None:
        found = field.read
        return narrowed_type(c, node, found) if c.narrowed else found
    if isinstance(kind, Union) and (common := common_field(kind, node.name)) is not None:
        return narrowed_type(c, node, common) if c.narrowed else common
    if node.name == "length" and (isinstance(kind, Object) or all(map(_is_counted, options(kind)))):
        return NUMBER
    report_member(c, node, type_, kind)
    return JSON


def _is_counted(type_: Type) -> bool:
    return type_ is TEXT or isinstance(type_, Array | Map)


def index_type(c: Checker, node: Index, type_: Type) -> Type:
    """The type of an item of a value."""
    found = item_slot(c, node, type_)
    return narrowed_type(c, node, found) if c.narrowed else found


def item_slot(c: Checker, node: Index, type_: Type) -> Type:
    """What an item of a value may be, whatever is known of it."""
    type_ = present(c, node.object, type_)
    kind = operand(type_)
    by_number = type(node.index) in ASKS and (kind is TEXT or type(kind) is Array)
    index = present(c, node.index, c.expr(node.index, NUMBER if by_number else None))
    if kind is JSON:
        return JSON
    wanted = operand(index)
    if isinstance(kind, Array) or kind is TEXT:
        if wanted is not NUMBER and wanted is not JSON:
            hint = index_hint(c, node, kind)
            c.report("V0309", f"`{general(kind)}` is indexed by number, found `{shown(wanted)}`", node.index, hint)
        check_whole(c, node.index, "an index")
        if (of := length_of(node.index)) is not None and c.text_of(of) == c.text_of(node.object) != "x":
            hint = f"the last one is `{c.text_of(node.object)}[-1]`"
            c.warn("V0710", "positions begin with 0, and this one is behind the last", node.index, hint)
        return kind.item if isinstance(kind, Array) else TEXT
    if isinstance(kind, Map):
        if wanted is not TEXT and wanted is not JSON:
            is_name = wanted is NUMBER and not isinstance(node.index, NumberLit)
            hint = (
                f"write `{c.object_text_of(node.index)}.toString()`"
                if is_name
                else f'write `"{c.text_of(node.index)}"`'
            )
            c.report("V0309", f"the keys of a map are text, found `{shown(wanted)}`", node.index, hint)
        return kind.value
    if isinstance(kind, Object):
        if wanted is not TEXT and wanted is not JSON:
            c.report("V0309", f"an object is indexed by text, found `{shown(wanted)}`", node.index, fields_of(kind))
        return keyed_type(c, node, kind)
    hint = "arrays, text, objects and json can be indexed"
    if isinstance(kind, Callable):
        hint = f"call it: `{c.text_of(node.object)}({c.text_of(node.index)})`"
    c.report("V0309", f"`{general(type_)}` has no items", node.object, hint)
    return JSON


def slice_type(c: Checker, node: Slice, type_: Type) -> Type:
    """A part of an array or a text."""
    type_ = present(c, node.object, type_)
    for each in (node.first, node.last, node.step):
        if each is None:
            continue
        bound = c.expr(each)
        if operand(bound) not in (NUMBER, JSON) and bound is not NULL:
            c.report("V0309", f"the bounds of a slice are numbers, found `{general(bound)}`", each)
        check_whole(c, each, "the bound of a slice")
    if node.step is not None and known_number(node.step) == 0:
        c.report("V0309", "the step of a slice cannot be 0", node.step)
    kind = operand(type_)
    if kind is TEXT or kind is JSON or isinstance(kind, Array):
        return kind
    c.report("V0309", f"`{general(type_)}` has no slices", node.object, "arrays and text can be sliced")
    return JSON


def check_changeable(c: Checker, root: Symbol | None, node: Member | Index, what: str) -> None:
    """Take note that a variable's value is changed, which one from outside an `async for` may not be."""
    if root is None:
        return
    root.is_changed = True
    if c.is_outside_async_for(root):
        message = f"`{root.name}` is outside this `async for`, {what}"
        c.report("V0505", message, node, "its iterations run at the same time; `yield` what each of them gives")


def _call_value(c: Checker, node: Call, type_: Type) -> Type:
    """A call of something that is no name and no method."""
    if type(type_) is Union:
        type_ = node.callee.type = one_function(type_)
    if isinstance(type_, Callable):
        return call_function(c, node, type_, "the function", (node.callee.start, node.callee.end))
    check_freely(c, node)
    refuse_names(c, node, "it")
    called_unknown(c)
    if plain(type_) != JSON:
        hint = not_called(c, node, type_)
        c.report("V0311", f"a value of type `{general(type_)}` cannot be called", node.callee, hint)
    return JSON


_PARTS: dict[type, Any] = {Member: member_type, Index: index_type, Slice: slice_type, Call: _call_value}


def _method(c: Checker, call: Call, node: Member, type_: Type, root: Symbol | None, wanted: Type | None) -> Type:
    receiver = plain(type_)
    if may_be_null(receiver):
        receiver = plain(present(c, node.object, type_, f"{node.name}(…)"))
    kind = operand(receiver)
    if isinstance(kind, Object) and (function := field_function(kind, node.name)) is not None:
        if may_be_null(narrowed_type(c, node, _field(receiver, node.name))):
            hint = f"test `{c.text_of(node)} != null` before"
            c.report("V0311", f"`{node.name}` may be null, and cannot be called", node, hint)
        return call_function(c, call, function, node.name, (node.name_start, node.name_start + len(node.name)))
    table = methods_of(receiver)
    method = table.get(node.name) if table is not None else None
    if node.name in _MUTATING and (method.mutates if method is not None else kind is JSON):
        check_changeable(c, root, node, f"and `{node.name}` would change it")
    if method is not None:
        found = _known_method(c, call, node, method, kind, wanted)
        if method.mutates:
            changed(c, _changed_by_call(call, kind))
        return found
    is_known = not (isinstance(node.object, Name) and (node.object.symbol is None or node.object.symbol.is_lost))
    if kind is JSON and is_known and node.name in WITH_FUNCTION and is_generic(node.name, call):
        generic_method(c, call, node, Array(JSON), None)
        return JSON
    check_freely(c, call)
    if kind is not JSON:
        # Methods of the language have no names for what they take; json may be an object of Python.
        refuse_names(c, call, node.name)
    if node.name in _MUTATING:
        changed(c, _changed_by_call(call, JSON))
    if kind is not JSON:
        report_method(c, node, type_, receiver, table or {})
    return JSON


def _changed_by_call(call: Call, receiver: Type) -> set[str]:
    """The members whose values a method changes that changes its object."""
    if isinstance(receiver, Array) or not call.arguments:
        return {ITEMS}
    return {ITEMS, *changed_by_index(call.arguments[0])}


def _field(type_: Type, name: str) -> Type:
    kind = operand(type_)
    return kind.fields[name].read if isinstance(kind, Object) else JSON


def field_function(type_: Type, name: str) -> Callable | None:
    """The function that a field of an object holds, if any; such a field goes before a method of its name."""
    kind = operand(type_)
    field = kind.fields.get(name) if isinstance(kind, Object) else None
    function = without_null(field.type) if field is not None else None
    return function if isinstance(function, Callable) else None


def _known_method(c: Checker, call: Call, node: Member, method: Method, receiver: Type, wanted: Type | None) -> Type:
    if isinstance(receiver, Array) and receiver.item is NEVER:
        # What an empty array could hold is not said.
        receiver = Array(JSON)
    if isinstance(receiver, Array) and is_generic(node.name, call):
        return generic_method(c, call, node, receiver, wanted)
    types = tuple(signature_type(each, receiver) for each in method.parameters)
    where = node.name_start, node.name_start + len(node.name)
    how = [*call.arguments, *call.named]
    if node.name == "sort" and how and (call.named or isinstance(how[0], Lambda)):
        check_freely(c, call)
        hint = "write `sortBy(x => …)`, with what to sort by; `-x` turns the order of numbers around"
        c.report("V0341", "`sort` takes no function, and no names", how[0], hint, is_habit=True)
        return receiver
    if node.name == "remove" and isinstance(receiver, Array) and how and _is_text(c, how[0]):
        check_freely(c, call)
        hint = "write `xs.remove(xs.indexOf(x))`, or `xs = xs.filter(y => y != x)`"
        c.report("V0301", "`remove` takes the position of an item, and not the item", how[0], hint)
        return receiver.item
    check_arguments(c, call, node.name, where, types, method.required)
    check_method(c, call, node, receiver)
    if isinstance(receiver, Map) and node.name == "get" and len(call.arguments) == 2:
        return receiver.value
    known = method_type(c, call, node, receiver) if isinstance(receiver, Object) else None
    return signature_type(method.returns, receiver) if known is None else known


def _is_text(c: Checker, node: object) -> bool:
    """Whether it is seen at once that a value is a text."""
    symbol = c.scope.find(node.name) if isinstance(node, Name) else None
    return isinstance(node, TextLit) or (symbol is not None and operand(symbol.type) is TEXT)
