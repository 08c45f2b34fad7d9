"""Methods of arrays whose arguments say what they give: those that take functions, `zip` and `flat`."""

from __future__ import annotations

from antiphon.lang.check.calls import expected_arguments
from antiphon.lang.check.fitting import assignable
from antiphon.lang.check.function_values import check_lambda, wrong_arity
from antiphon.lang.check.iteration import is_private, known_items
from antiphon.lang.check.learning import learned
from antiphon.lang.check.making import widened
from antiphon.lang.check.methods import ARRAY_METHODS, K, Method, T, U, put, written_type
from antiphon.lang.check.narrowing import called, called_unknown
from antiphon.lang.check.notation import general, shown
from antiphon.lang.check.null import present
from antiphon.lang.check.order import note_call
from antiphon.lang.check.parts import kept, options
from antiphon.lang.check.remedies import function_hint
from antiphon.lang.check.settling import check_shared
from antiphon.lang.check.state import Checker
from antiphon.lang.check.types import JSON, NEVER, NUMBER, TEXT, Array, Callable, Type, may_be_null, operand, plain
from antiphon.lang.syntax.habits import METHOD_ARGUMENTS
from antiphon.lang.syntax.nodes import Binary, Block, Call, Conditional, Expr, Function, Lambda, Member, Name, Return

#: Methods that take a function.
WITH_FUNCTION = frozenset(name for name, each in ARRAY_METHODS.items() if any("=>" in p for p in each.parameters))
#: Those that give the items for which it gives true.
_FOLD = "`reduce((all, x) => …, 0)`"
_CHOOSING = frozenset(("filter", "find"))
#: A test is looked at so far.
_MOST_TERMS = 50
#: Those that call it with each item, and with its position if it takes that too.
WITH_POSITION = WITH_FUNCTION - {"reduce"}


def is_generic(name: str, call: Call) -> bool:
    """Whether what a method of an array gives depends on its arguments, or on what is in its items."""
    return name in ("zip", "flat") or (name in WITH_FUNCTION and bool(call.arguments or ARRAY_METHODS[name].required))


def generic_method(c: Checker, call: Call, node: Member, receiver: Array, wanted: Type | None) -> Type:
    """The type of what a method of an array gives; `wanted` is what the place of the call wants."""
    method, given = ARRAY_METHODS[node.name], call.arguments
    where = node.name_start, node.name_start + len(node.name)
    if not method.required <= len(given) <= len(method.parameters):
        for each in given:
            c.expr(each)
        hint = f"give the first value too: {_FOLD}" if node.name == "reduce" else METHOD_ARGUMENTS.get(node.name, "")
        hint = hint or f"write `{node.name}(x => …)`"
        wanted_count = expected_arguments(method.required, len(method.parameters))
        c.report("V0310", f"`{node.name}` expects {wanted_count}, got {len(given)}", where, hint)
        return JSON
    receiver = known_items(node, receiver)
    known: dict[Type, Type] = {T: receiver.item}
    if node.name == "flat":
        known[U] = _inside(c, receiver, where)
    elif wanted is not None:
        _learn(method, plain(wanted), known)
    if node.name == "sortBy" and _compares(c, given[0]):
        for each in given:
            c.expr(each)
        hint = "write `sortBy(x => x.age)`, with what to sort by; `-x` turns the order of numbers around"
        c.report("V0341", "`sortBy` takes what to sort by, and compares by itself", given[0], hint)
        return receiver
    if node.name == "reduce" and isinstance(given[1], Lambda) and not isinstance(given[0], Lambda):
        c.report("V0341", "the function comes first, and then the first value", given[0], _FOLD)
        return JSON
    # What a function is called with may be said by another argument, so those come first.
    for argument, kind in sorted(zip(given, method.parameters, strict=False), key=lambda pair: "=>" in pair[1]):
        type_ = written_type(kind)
        if isinstance(type_, Callable):
            _check_function(c, argument, node, type_, known)
        else:
            _check_value(c, argument, node.name, type_, known)
    if node.name in _CHOOSING and isinstance(given[0], Lambda):
        known[T] = _passed(given[0], receiver.item)
    return put(written_type(method.returns), known)


def _compares(c: Checker, node: Expr) -> bool:
    """Whether a function compares two items, as `sort` has it elsewhere: the same of both."""
    if not isinstance(node, Lambda) or len(node.parameters) != 2:
        return False
    body = node.body.condition if isinstance(node.body, Conditional) else node.body
    if not isinstance(body, Binary) or body.op not in ("-", "<", ">", "<=", ">="):
        return False
    first, second = (each.name for each in node.parameters)
    sides = {c.text_of(body.left), c.text_of(body.right)}
    return any(sides == {each, second + each.removeprefix(first)} for each in sides if each.startswith(first))


def _passed(function: Lambda, item: Type) -> Type:
    """What is known of the items for which a function gives true."""
    test = function.body
    if isinstance(test, Block) and len(test.statements) == 1 and isinstance(only := test.statements[0], Return):
        test = only.value
    if test is None or isinstance(test, Block) or not (len(options(item)) > 1 or item == JSON):
        return item
    for node, type_ in learned(test, True, _MOST_TERMS):
        if isinstance(node, Name) and function.parameters and node.symbol is function.parameters[0].symbol:
            item = kept(item, type_)
    return item


def _learn(method: Method, wanted: Type, known: dict[Type, Type]) -> None:
    """What the place of a call says of what its function is to give."""
    if method.returns == "U[]" and isinstance(wanted, Array):
        wanted = wanted.item
    elif method.returns != "U" or may_be_null(wanted):
        return
    if wanted not in (JSON, NEVER):
        known[U] = wanted


def _inside(c: Checker, receiver: Array, where: tuple[int, int]) -> Type:
    inner = operand(receiver.item)
    if may_be_null(receiver.item):
        hint = "leave null out before: `.filter(x => x != null)`"
        c.report("V0302", f"`flat` wants an array of arrays, found `{shown(receiver)}`", where, hint)
    elif isinstance(inner, Array):
        return inner.item
    elif inner not in (JSON, NEVER):
        c.report("V0302", f"`flat` wants an array of arrays, found `{shown(receiver)}`", where)
    return JSON


def _check_value(c: Checker, argument: Expr, name: str, type_: Type, known: dict[Type, Type]) -> None:
    """An argument that is no function, and may say what `U` is."""
    if U in known:
        c.want(argument, put(type_, known), name)
        return
    found = c.expr(argument)
    if type_ is U:
        known[U] = widened(argument, plain(found))
        return
    inner = operand(present(c, argument, found))
    wide = widened(argument, inner)
    known[U] = wide.item if isinstance(wide, Array) else JSON
    if not isinstance(inner, Array) and inner is not JSON:
        c.report("V0301", f"`{name}` wants another array, found `{general(found)}`", argument)


def _check_function(c: Checker, argument: Expr, node: Member, type_: Callable, known: dict[Type, Type]) -> None:
    parameters = tuple(put(each, known) for each in type_.parameters)
    returns = put(type_.returns, known)
    wanted = None if returns in (U, K) else returns
    gives = _given(c, argument, node, parameters, wanted)
    if gives is None:
        known.setdefault(U, JSON)
    elif returns is U:
        known[U] = gives
    elif returns is K and operand(gives) not in (NUMBER, TEXT, JSON):
        c.report("V0302", f"only numbers and texts have an order, found `{general(gives)}`", argument)
    elif returns is K and may_be_null(gives):
        c.report("V0302", "what may be null has no order", argument, "give a value for that case: `… ?? 0`")


def _note_function(c: Checker, argument: Expr) -> None:
    """A function that is there already gets the items."""
    symbol = argument.symbol if isinstance(argument, Name) else None
    if isinstance(argument, Name) and symbol is not None:
        note_call(c, argument, symbol)
    if symbol is not None and isinstance(symbol.node, Function):
        called(c, symbol)
        return
    called_unknown(c)


def _given(c: Checker, argument: Expr, node: Member, parameters: tuple[Type, ...], wanted: Type | None) -> Type | None:
    """What the function gives that is an argument; nothing if there is something wrong with it."""
    places = (*parameters, NUMBER) if node.name in WITH_POSITION else parameters
    if isinstance(argument, Lambda):
        count = len(argument.parameters)
        if count not in (len(parameters), len(places)):
            wrong_arity(c, argument, len(parameters))
        found = check_lambda(c, argument, places[:count], wanted, now=True, private=is_private(node.object))
        argument.type = found
        goal = Callable(places[:count], count, found.returns)
        if count in (len(parameters), len(places)) and not assignable(found, goal):
            c.mismatch(argument, found, goal, node.name)
        return found.returns if count in (len(parameters), len(places)) else None
    before = len(c.diagnostics)
    found = c.expr(argument)
    _note_function(c, argument)
    if isinstance(found, Callable):
        called = places if found.required == len(places) else parameters
        goal = Callable(called, len(called), wanted or (JSON if found.unchecked else found.returns))
        if assignable(found, goal):
            check_shared(c, argument, found, goal)
            return goal.returns
        c.mismatch(argument, found, goal, node.name)
    else:
        # What is unknown in it is the parameter that is missing.
        if any(each.is_habit for each in c.diagnostics[before:]):
            return None
        c.diagnostics[before:] = [each for each in c.diagnostics[before:] if each.code != "V0201"]
        letters = "(a, b)" if len(parameters) == 2 else "x"
        called = "…"
        if isinstance(argument, Name) and argument.symbol is not None and argument.symbol.kind == "import":
            called = f"{argument.name}({letters.strip('()')})"
        hint = (
            function_hint(found, Callable(parameters, len(parameters), JSON))
            or f"write `{node.name}({letters} => {called})`"
        )
        c.report("V0341", f"`{node.name}` wants a function, found `{general(found)}`", argument, hint)
    return None
