"""Calls of methods, and the array methods whose results depend on their arguments."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.table import METHOD_ARGUMENT_HINTS
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import inhabited_options, intersect_type, is_assignable
from antiphon.lang.typecheck.blocks import check_lambda, report_wrong_arity
from antiphon.lang.typecheck.calls import (
    check_call_arguments,
    format_argument_count,
    infer_arguments,
    infer_function_call,
    reject_named_arguments,
)
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.constants import check_integer
from antiphon.lang.typecheck.element_types import (
    get_literal_keys,
    infer_object_method,
    is_private_value,
    refine_initial_items,
    refine_receiver_items,
)
from antiphon.lang.typecheck.fix_hints import hint_function, report_mismatch, report_unknown_method
from antiphon.lang.typecheck.invariance import widen_fresh
from antiphon.lang.typecheck.methods import (
    ARRAY_METHODS,
    MAP_METHODS,
    METHODS_WITH_FUNCTION,
    METHODS_WITH_POSITION,
    OBJECT_METHODS,
    K,
    MethodSignature,
    T,
    U,
    get_methods,
    parse_signature_type,
    resolve_signature_type,
    substitute_type,
)
from antiphon.lang.typecheck.narrowing import infer_facts
from antiphon.lang.typecheck.reporter import get_name_span
from antiphon.lang.typecheck.side_effects import ALL_ITEMS, members_changed_by_index
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short, hint_fields

_MUTATING_METHODS = frozenset(
    n for table in (ARRAY_METHODS, MAP_METHODS, OBJECT_METHODS) for n, m in table.items() if m.mutates
)
#: The positions of integer arguments, by method.
_INTEGER_ARGUMENTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("repeat", "insert", "remove", "padStart", "padEnd", "round", "toFixed"), (0,)),
    "slice": (0, 1),
}
_ORDERED_TYPES: tuple[t.Type, ...] = (t.NUMBER, t.TEXT, t.JSON, t.NEVER)


def infer_method_call(
    c: Checker, call: n.Call, node: n.Member, type_: t.Type, root: Symbol | None, wanted: t.Type | None
) -> t.Type:
    receiver = t.strip_ai_result(type_)
    if t.is_nullable(receiver):
        receiver = t.strip_ai_result(c.require_non_null(node.object, type_, f"{node.name}(…)"))
    kind = t.get_operand_type(receiver)
    if isinstance(kind, t.Object) and (function := find_field_function(kind, node.name)) is not None:
        if t.is_nullable(c.narrowing.get_type(node, _read_field_type(receiver, node.name))):
            hint = f"test `{c.quote(node)} != null` before"
            c.report("V0311", f"`{node.name}` may be null, and cannot be called", node, hint)
        return infer_function_call(c, call, function, node.name, get_name_span(node))
    table = get_methods(receiver)
    method = table.get(node.name) if table is not None else None
    if node.name in _MUTATING_METHODS and (method.mutates if method is not None else kind is t.JSON):
        record_mutation(c, root, node, f"and `{node.name}` would change it")
    if method is not None:
        found = _infer_builtin_method(c, call, node, method, kind, wanted)
        if method.mutates:
            c.narrowing.invalidate_members(_mutated_members(call, kind))
        return found
    is_known = not (
        isinstance(node.object, n.Name) and (node.object.symbol is None or node.object.symbol.is_unreadable)
    )
    if kind is t.JSON and is_known and node.name in METHODS_WITH_FUNCTION and is_generic_call(node.name, call):
        infer_generic_method(c, call, node, t.Array(t.JSON), None)
        return t.JSON
    infer_arguments(c, call)
    if kind is not t.JSON:
        # Methods of the language have no named parameters; json may be a Python object.
        reject_named_arguments(c, call, node.name)
    if node.name in _MUTATING_METHODS:
        c.narrowing.invalidate_members(_mutated_members(call, t.JSON))
    if kind is not t.JSON:
        report_unknown_method(c, node, type_, receiver, table or {})
    return t.JSON


def _mutated_members(call: n.Call, receiver: t.Type) -> set[str]:
    """Return the members that a mutating method may change."""
    if isinstance(receiver, t.Array) or not call.arguments:
        return {ALL_ITEMS}
    return {ALL_ITEMS, *members_changed_by_index(call.arguments[0])}


def _read_field_type(type_: t.Type, name: str) -> t.Type:
    kind = t.get_operand_type(type_)
    return kind.fields[name].read if isinstance(kind, t.Object) else t.JSON


def find_field_function(type_: t.Type, name: str) -> t.CallableType | None:
    """Return the function that a field of an object holds, if any; it takes precedence over a method of that name."""
    kind = t.get_operand_type(type_)
    field = kind.fields.get(name) if isinstance(kind, t.Object) else None
    function = t.remove_null(field.type) if field is not None else None
    return function if isinstance(function, t.CallableType) else None


def _infer_builtin_method(
    c: Checker, call: n.Call, node: n.Member, method: MethodSignature, receiver: t.Type, wanted: t.Type | None
) -> t.Type:
    if isinstance(receiver, t.Array) and receiver.item is t.NEVER:
        # The item type of an empty array is unknown.
        receiver = t.Array(t.JSON)
    if isinstance(receiver, t.Array) and is_generic_call(node.name, call):
        return infer_generic_method(c, call, node, receiver, wanted)
    types = tuple(resolve_signature_type(each, receiver) for each in method.parameters)
    where = get_name_span(node)
    how = [*call.arguments, *call.named]
    if node.name == "sort" and how and (call.named or isinstance(how[0], n.Lambda)):
        infer_arguments(c, call)
        hint = "write `sortBy(x => …)`, with what to sort by; `-x` turns the order of numbers around"
        c.report("V0341", "`sort` takes no function, and no names", how[0], hint, is_habit=True)
        return receiver
    if node.name == "remove" and isinstance(receiver, t.Array) and how and _is_known_text(c, how[0]):
        infer_arguments(c, call)
        hint = "write `xs.remove(xs.indexOf(x))`, or `xs = xs.filter(y => y != x)`"
        c.report("V0301", "`remove` takes the position of an item, and not the item", how[0], hint)
        return receiver.item
    check_call_arguments(c, call, node.name, where, types, method.required)
    _check_arguments(c, call, node, receiver)
    if isinstance(receiver, t.Map) and node.name == "get" and len(call.arguments) == 2:
        return receiver.value
    known = infer_object_method(c, call, node, receiver) if isinstance(receiver, t.Object) else None
    return resolve_signature_type(method.returns, receiver) if known is None else known


def _is_known_text(c: Checker, node: object) -> bool:
    """Return True if a value is a text literal or a variable of type text."""
    symbol = c.scopes.find(node.name) if isinstance(node, n.Name) else None
    return isinstance(node, n.TextLit) or (symbol is not None and t.get_operand_type(symbol.type) is t.TEXT)


def record_mutation(c: Checker, root: Symbol | None, node: n.Member | n.Index, what: str) -> None:
    """Record that a variable's value is mutated; report one that is outside of the enclosing `async for`."""
    if root is None:
        return
    root.is_changed = True
    if c.scopes.is_outside_async_for(root):
        message = f"`{root.name}` is outside this `async for`, {what}"
        c.report("V0505", message, node, "its iterations run at the same time; `yield` what each of them gives")


def _check_arguments(c: Checker, call: n.Call, node: n.Member, receiver: t.Type) -> None:
    """Report arguments that are known to be wrong, and items that a method cannot order."""
    for at in _INTEGER_ARGUMENTS.get(node.name, ()):
        if at < len(call.arguments):
            check_integer(c, call.arguments[at], f"this argument of `{node.name}`")
    if not isinstance(receiver, t.Array):
        return
    receiver = refine_initial_items(node, receiver)
    where = get_name_span(node)
    if node.name == "sum" and not is_assignable(receiver.item, t.NUMBER):
        c.report("V0302", f"`sum` adds numbers, found `{format_type_short(receiver)}`", where, _hint_filter(receiver))
    elif node.name == "sort" and call.arguments:
        _check_sort_field(c, call.arguments[0], receiver.item)
    elif node.name in ("sort", "min", "max") and not call.arguments and not _has_order(receiver.item):
        by_field = node.name == "sort" and isinstance(receiver.item, t.Object)
        hint = 'name a field: `sort("name")`' if by_field else _hint_filter(receiver)
        c.report(
            "V0302", f"`{node.name}` compares numbers or texts, found `{format_type_general(receiver)}`", where, hint
        )


def _hint_filter(receiver: t.Array) -> str:
    """Return a hint to filter the items of one kind."""
    kinds = [each for each in (t.NUMBER, t.TEXT) if each in inhabited_options(receiver.item)]
    if len(inhabited_options(receiver.item)) > 1 and kinds:
        return f"take some of the items: `filter(x => x is {format_type_short(kinds[0])})`"
    return ""


def _check_sort_field(c: Checker, by: n.Expr, item: t.Type) -> None:
    kind = t.get_operand_type(item)
    if kind is t.JSON or kind is t.NEVER:
        return
    if not isinstance(kind, t.Object):
        c.report(
            "V0302",
            f"only objects are sorted by a field, found `{format_type_general(item)}`",
            by,
            "leave out the field",
        )
        return
    if t.is_nullable(item):
        c.report("V0302", f"an item may be null, and null has no fields: `{format_type_general(item)}`", by)
    for name in get_literal_keys(by) or kind.fields:
        field = kind.fields.get(name)
        if field is None:
            hint = c.hint_similar(name, kind.fields) or hint_fields(kind)
            c.report("V0306", f"`{format_type_general(kind)}` has no field `{name}`", by, hint)
        elif not _has_order(field.read):
            c.report(
                "V0302", f"`sort` compares numbers or texts, and `{name}` is `{format_type_general(field.read)}`", by
            )
            return


def _has_order(type_: t.Type) -> bool:
    return not t.is_nullable(type_) and t.get_operand_type(type_) in _ORDERED_TYPES


#: The form of a `reduce` call, for hints; and methods that keep the items for which the function returns true.
_REDUCE_FORM = "`reduce((all, x) => …, 0)`"
_FILTERING_METHODS = frozenset(("filter", "find"))


def is_generic_call(name: str, call: n.Call) -> bool:
    """Return True if the result type of an array method depends on its arguments or on nested items."""
    return name in ("zip", "flat") or (
        name in METHODS_WITH_FUNCTION and bool(call.arguments or ARRAY_METHODS[name].required)
    )


def infer_generic_method(c: Checker, call: n.Call, node: n.Member, receiver: t.Array, wanted: t.Type | None) -> t.Type:
    """Return the result type of a generic array method; `wanted` is the expected type."""
    method, given = ARRAY_METHODS[node.name], call.arguments
    where = get_name_span(node)
    if not method.required <= len(given) <= len(method.parameters):
        for each in given:
            c.infer(each)
        hint = (
            f"give the first value too: {_REDUCE_FORM}"
            if node.name == "reduce"
            else METHOD_ARGUMENT_HINTS.get(node.name, "")
        )
        hint = hint or f"write `{node.name}(x => …)`"
        wanted_count = format_argument_count(method.required, len(method.parameters))
        c.report("V0310", f"`{node.name}` expects {wanted_count}, got {len(given)}", where, hint)
        return t.JSON
    receiver = refine_receiver_items(node, receiver)
    known: dict[t.Type, t.Type] = {T: receiver.item}
    if node.name == "flat":
        known[U] = _infer_flat_item(c, receiver, where)
    elif wanted is not None:
        _infer_from_wanted(method, t.strip_ai_result(wanted), known)
    if node.name == "sortBy" and _is_comparator(c, given[0]):
        for each in given:
            c.infer(each)
        hint = "write `sortBy(x => x.age)`, with what to sort by; `-x` turns the order of numbers around"
        c.report("V0341", "`sortBy` takes what to sort by, and compares by itself", given[0], hint)
        return receiver
    if node.name == "reduce" and isinstance(given[1], n.Lambda) and not isinstance(given[0], n.Lambda):
        c.report("V0341", "the function comes first, and then the first value", given[0], _REDUCE_FORM)
        return t.JSON
    # Other arguments may determine the types of a function's parameters, so they are checked first.
    for argument, kind in sorted(zip(given, method.parameters, strict=False), key=lambda pair: "=>" in pair[1]):
        type_ = parse_signature_type(kind)
        if isinstance(type_, t.CallableType):
            _check_function_argument(c, argument, node, type_, known)
        else:
            _check_value_argument(c, argument, node.name, type_, known)
    if node.name in _FILTERING_METHODS and isinstance(given[0], n.Lambda):
        known[T] = _narrow_filtered_items(given[0], receiver.item)
    return substitute_type(parse_signature_type(method.returns), known)


def _is_comparator(c: Checker, node: n.Expr) -> bool:
    """Return True if a function compares two items, as `sort` takes it in other languages."""
    if not isinstance(node, n.Lambda) or len(node.parameters) != 2:
        return False
    body = node.body.condition if isinstance(node.body, n.Conditional) else node.body
    if not isinstance(body, n.Binary) or body.op not in ("-", "<", ">", "<=", ">="):
        return False
    first, second = (each.name for each in node.parameters)
    sides = {c.quote(body.left), c.quote(body.right)}
    return any(sides == {each, second + each.removeprefix(first)} for each in sides if each.startswith(first))


def _narrow_filtered_items(function: n.Lambda, item: t.Type) -> t.Type:
    """Return the type of the items for which a function returns true."""
    test = function.body
    if isinstance(test, n.Block) and len(test.statements) == 1 and isinstance(only := test.statements[0], n.Return):
        test = only.value
    if test is None or isinstance(test, n.Block) or not (len(inhabited_options(item)) > 1 or item == t.JSON):
        return item
    for node, type_ in infer_facts(test, True):
        if isinstance(node, n.Name) and function.parameters and node.symbol is function.parameters[0].symbol:
            item = intersect_type(item, type_)
    return item


def _infer_from_wanted(method: MethodSignature, wanted: t.Type, known: dict[t.Type, t.Type]) -> None:
    """Infer the type parameter `U` from the expected type."""
    if method.returns == "U[]" and isinstance(wanted, t.Array):
        wanted = wanted.item
    elif method.returns != "U" or t.is_nullable(wanted):
        return
    if wanted not in (t.JSON, t.NEVER):
        known[U] = wanted


def _infer_flat_item(c: Checker, receiver: t.Array, where: tuple[int, int]) -> t.Type:
    inner = t.get_operand_type(receiver.item)
    if t.is_nullable(receiver.item):
        hint = "leave null out before: `.filter(x => x != null)`"
        c.report("V0302", f"`flat` wants an array of arrays, found `{format_type_short(receiver)}`", where, hint)
    elif isinstance(inner, t.Array):
        return inner.item
    elif inner not in (t.JSON, t.NEVER):
        c.report("V0302", f"`flat` wants an array of arrays, found `{format_type_short(receiver)}`", where)
    return t.JSON


def _check_value_argument(c: Checker, argument: n.Expr, name: str, type_: t.Type, known: dict[t.Type, t.Type]) -> None:
    """Check an argument that is no function, and infer `U` from it."""
    if U in known:
        c.check_value(argument, substitute_type(type_, known), name)
        return
    found = c.infer(argument)
    if type_ is U:
        known[U] = widen_fresh(argument, t.strip_ai_result(found))
        return
    inner = t.get_operand_type(c.require_non_null(argument, found))
    wide = widen_fresh(argument, inner)
    known[U] = wide.item if isinstance(wide, t.Array) else t.JSON
    if not isinstance(inner, t.Array) and inner is not t.JSON:
        c.report("V0301", f"`{name}` wants another array, found `{format_type_general(found)}`", argument)


def _check_function_argument(
    c: Checker, argument: n.Expr, node: n.Member, type_: t.CallableType, known: dict[t.Type, t.Type]
) -> None:
    parameters = tuple(substitute_type(each, known) for each in type_.parameters)
    returns = substitute_type(type_.returns, known)
    wanted = None if returns in (U, K) else returns
    gives = _infer_function_result(c, argument, node, parameters, wanted)
    if gives is None:
        known.setdefault(U, t.JSON)
    elif returns is U:
        known[U] = gives
    elif returns is K and t.get_operand_type(gives) not in (t.NUMBER, t.TEXT, t.JSON):
        c.report("V0302", f"only numbers and texts have an order, found `{format_type_general(gives)}`", argument)
    elif returns is K and t.is_nullable(gives):
        c.report("V0302", "what may be null has no order", argument, "give a value for that case: `… ?? 0`")


def _record_function_call(c: Checker, argument: n.Expr) -> None:
    """Record that a function that was passed by value is called with the items."""
    symbol = argument.symbol if isinstance(argument, n.Name) else None
    if isinstance(argument, n.Name) and symbol is not None:
        c.usage.record_call(argument, symbol)
    if symbol is not None and isinstance(symbol.node, n.Function):
        c.narrowing.invalidate_by_call(symbol)
        return
    c.narrowing.invalidate_by_unknown_call()


def _infer_function_result(
    c: Checker, argument: n.Expr, node: n.Member, parameters: tuple[t.Type, ...], wanted: t.Type | None
) -> t.Type | None:
    """Return the result type of a function argument, or None if it is invalid."""
    places = (*parameters, t.NUMBER) if node.name in METHODS_WITH_POSITION else parameters
    if isinstance(argument, n.Lambda):
        count = len(argument.parameters)
        if count not in (len(parameters), len(places)):
            report_wrong_arity(c, argument, len(parameters))
        found = check_lambda(c, argument, places[:count], wanted, now=True, private=is_private_value(node.object))
        argument.type = found
        goal = t.CallableType(places[:count], count, found.returns)
        if count in (len(parameters), len(places)) and not is_assignable(found, goal):
            report_mismatch(c, argument, found, goal, node.name)
        return found.returns if count in (len(parameters), len(places)) else None
    before = len(c.diagnostics)
    found = c.infer(argument)
    _record_function_call(c, argument)
    if isinstance(found, t.CallableType):
        called = places if found.required == len(places) else parameters
        goal = t.CallableType(called, len(called), wanted or (t.JSON if found.is_unchecked else found.returns))
        if is_assignable(found, goal):
            c.aliases.check(argument, found, goal)
            return goal.returns
        report_mismatch(c, argument, found, goal, node.name)
    else:
        # An unknown name in it is the missing parameter.
        if any(each.is_habit for each in c.diagnostics[before:]):
            return None
        c.withdraw("V0201", argument.start, argument.end)
        letters = "(a, b)" if len(parameters) == 2 else "x"
        called = "…"
        if isinstance(argument, n.Name) and argument.symbol is not None and argument.symbol.kind == "import":
            called = f"{argument.name}({letters.strip('()')})"
        hint = (
            hint_function(found, t.CallableType(parameters, len(parameters), t.JSON))
            or f"write `{node.name}({letters} => {called})`"
        )
        c.report("V0341", f"`{node.name}` wants a function, found `{format_type_general(found)}`", argument, hint)
    return None
