"""Array methods with generic results: those that take functions, `zip` and `flat`."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.table import METHOD_ARGUMENT_HINTS
from antiphon.lang.typecheck.assignability import is_assignable
from antiphon.lang.typecheck.calls import format_argument_count
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.condition_facts import infer_facts
from antiphon.lang.typecheck.fix_hints import hint_function, report_mismatch
from antiphon.lang.typecheck.invariance import widen_fresh
from antiphon.lang.typecheck.iteration import is_private_value, refine_receiver_items
from antiphon.lang.typecheck.lambdas import check_lambda, report_wrong_arity
from antiphon.lang.typecheck.methods import (
    ARRAY_METHODS,
    K,
    MethodSignature,
    T,
    U,
    parse_signature_type,
    substitute_type,
)
from antiphon.lang.typecheck.reporter import get_name_span
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short
from antiphon.lang.typecheck.types import (
    JSON,
    NEVER,
    NUMBER,
    TEXT,
    Array,
    CallableType,
    Type,
    get_operand_type,
    is_nullable,
    strip_ai_result,
)
from antiphon.lang.typecheck.unions import inhabited_options, intersect_type

#: Methods that take a function.
METHODS_WITH_FUNCTION = frozenset(
    name for name, each in ARRAY_METHODS.items() if any("=>" in p for p in each.parameters)
)
#: The form of a `reduce` call, for hints; and methods that keep the items for which the function returns true.
_REDUCE_FORM = "`reduce((all, x) => …, 0)`"
_FILTERING_METHODS = frozenset(("filter", "find"))
#: Methods that pass each item, and its position if the function takes two parameters.
METHODS_WITH_POSITION = METHODS_WITH_FUNCTION - {"reduce"}


def is_generic_call(name: str, call: n.Call) -> bool:
    """Return True if the result type of an array method depends on its arguments or on nested items."""
    return name in ("zip", "flat") or (
        name in METHODS_WITH_FUNCTION and bool(call.arguments or ARRAY_METHODS[name].required)
    )


def infer_generic_method(c: Checker, call: n.Call, node: n.Member, receiver: Array, wanted: Type | None) -> Type:
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
        return JSON
    receiver = refine_receiver_items(node, receiver)
    known: dict[Type, Type] = {T: receiver.item}
    if node.name == "flat":
        known[U] = _infer_flat_item(c, receiver, where)
    elif wanted is not None:
        _infer_from_wanted(method, strip_ai_result(wanted), known)
    if node.name == "sortBy" and _is_comparator(c, given[0]):
        for each in given:
            c.infer(each)
        hint = "write `sortBy(x => x.age)`, with what to sort by; `-x` turns the order of numbers around"
        c.report("V0341", "`sortBy` takes what to sort by, and compares by itself", given[0], hint)
        return receiver
    if node.name == "reduce" and isinstance(given[1], n.Lambda) and not isinstance(given[0], n.Lambda):
        c.report("V0341", "the function comes first, and then the first value", given[0], _REDUCE_FORM)
        return JSON
    # Other arguments may determine the types of a function's parameters, so they are checked first.
    for argument, kind in sorted(zip(given, method.parameters, strict=False), key=lambda pair: "=>" in pair[1]):
        type_ = parse_signature_type(kind)
        if isinstance(type_, CallableType):
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


def _narrow_filtered_items(function: n.Lambda, item: Type) -> Type:
    """Return the type of the items for which a function returns true."""
    test = function.body
    if isinstance(test, n.Block) and len(test.statements) == 1 and isinstance(only := test.statements[0], n.Return):
        test = only.value
    if test is None or isinstance(test, n.Block) or not (len(inhabited_options(item)) > 1 or item == JSON):
        return item
    for node, type_ in infer_facts(test, True):
        if isinstance(node, n.Name) and function.parameters and node.symbol is function.parameters[0].symbol:
            item = intersect_type(item, type_)
    return item


def _infer_from_wanted(method: MethodSignature, wanted: Type, known: dict[Type, Type]) -> None:
    """Infer the type parameter `U` from the expected type."""
    if method.returns == "U[]" and isinstance(wanted, Array):
        wanted = wanted.item
    elif method.returns != "U" or is_nullable(wanted):
        return
    if wanted not in (JSON, NEVER):
        known[U] = wanted


def _infer_flat_item(c: Checker, receiver: Array, where: tuple[int, int]) -> Type:
    inner = get_operand_type(receiver.item)
    if is_nullable(receiver.item):
        hint = "leave null out before: `.filter(x => x != null)`"
        c.report("V0302", f"`flat` wants an array of arrays, found `{format_type_short(receiver)}`", where, hint)
    elif isinstance(inner, Array):
        return inner.item
    elif inner not in (JSON, NEVER):
        c.report("V0302", f"`flat` wants an array of arrays, found `{format_type_short(receiver)}`", where)
    return JSON


def _check_value_argument(c: Checker, argument: n.Expr, name: str, type_: Type, known: dict[Type, Type]) -> None:
    """Check an argument that is no function, and infer `U` from it."""
    if U in known:
        c.check_value(argument, substitute_type(type_, known), name)
        return
    found = c.infer(argument)
    if type_ is U:
        known[U] = widen_fresh(argument, strip_ai_result(found))
        return
    inner = get_operand_type(c.require_non_null(argument, found))
    wide = widen_fresh(argument, inner)
    known[U] = wide.item if isinstance(wide, Array) else JSON
    if not isinstance(inner, Array) and inner is not JSON:
        c.report("V0301", f"`{name}` wants another array, found `{format_type_general(found)}`", argument)


def _check_function_argument(
    c: Checker, argument: n.Expr, node: n.Member, type_: CallableType, known: dict[Type, Type]
) -> None:
    parameters = tuple(substitute_type(each, known) for each in type_.parameters)
    returns = substitute_type(type_.returns, known)
    wanted = None if returns in (U, K) else returns
    gives = _infer_function_result(c, argument, node, parameters, wanted)
    if gives is None:
        known.setdefault(U, JSON)
    elif returns is U:
        known[U] = gives
    elif returns is K and get_operand_type(gives) not in (NUMBER, TEXT, JSON):
        c.report("V0302", f"only numbers and texts have an order, found `{format_type_general(gives)}`", argument)
    elif returns is K and is_nullable(gives):
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
    c: Checker, argument: n.Expr, node: n.Member, parameters: tuple[Type, ...], wanted: Type | None
) -> Type | None:
    """Return the result type of a function argument, or None if it is invalid."""
    places = (*parameters, NUMBER) if node.name in METHODS_WITH_POSITION else parameters
    if isinstance(argument, n.Lambda):
        count = len(argument.parameters)
        if count not in (len(parameters), len(places)):
            report_wrong_arity(c, argument, len(parameters))
        found = check_lambda(c, argument, places[:count], wanted, now=True, private=is_private_value(node.object))
        argument.type = found
        goal = CallableType(places[:count], count, found.returns)
        if count in (len(parameters), len(places)) and not is_assignable(found, goal):
            report_mismatch(c, argument, found, goal, node.name)
        return found.returns if count in (len(parameters), len(places)) else None
    before = len(c.diagnostics)
    found = c.infer(argument)
    _record_function_call(c, argument)
    if isinstance(found, CallableType):
        called = places if found.required == len(places) else parameters
        goal = CallableType(called, len(called), wanted or (JSON if found.is_unchecked else found.returns))
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
            hint_function(found, CallableType(parameters, len(parameters), JSON))
            or f"write `{node.name}({letters} => {called})`"
        )
        c.report("V0341", f"`{node.name}` wants a function, found `{format_type_general(found)}`", argument, hint)
    return None
