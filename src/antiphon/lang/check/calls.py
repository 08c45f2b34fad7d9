"""Calls of functions and tools, and the arguments of every call."""

from __future__ import annotations

from itertools import islice

from antiphon.lang.check.fitting import assignable
from antiphon.lang.check.groups import found_by
from antiphon.lang.check.looks import warn_of_arguments, warn_of_printed
from antiphon.lang.check.methods import BUILTINS
from antiphon.lang.check.misuse import check_length
from antiphon.lang.check.names import declared_here, resolve
from antiphon.lang.check.narrowing import called, called_unknown, narrowed_type
from antiphon.lang.check.notation import general, shown
from antiphon.lang.check.order import note_call
from antiphon.lang.check.parts import union
from antiphon.lang.check.settling import check_arguments_shared
from antiphon.lang.check.state import Checker
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import (
    JSON,
    MODEL,
    NEVER,
    TEXT,
    Array,
    Callable,
    Map,
    Type,
    Union,
    base,
    is_data,
    may_be_null,
    operand,
    plain,
    widen,
    without_null,
)
from antiphon.lang.syntax.habits import METHOD_ARGUMENTS, NAMES
from antiphon.lang.syntax.nodes import Call, Name, TextLit

_WITHOUT_NAME = "give it without a name, in its place"


def call_name(c: Checker, node: Call, callee: Name, wanted: Type | None = None) -> Type:
    """`name(arguments)`."""
    symbol = resolve(c, callee)
    type_ = narrowed_type(c, callee, symbol.type) if symbol is not None else JSON
    callee.type = type_ = one_function(type_) if type(type_) is Union else type_
    if type(type_) is Callable and symbol is not None:
        if symbol.kind == "builtin" and not c.in_test and symbol.name in BUILTINS and BUILTINS[symbol.name].in_tests:
            c.report("V0208", f"`{symbol.name}` is only for tests", callee, 'use it in `test "…" { … }`')
        if symbol.kind not in ("function", "tool", "builtin", "import"):
            found = call_function(c, node, type_, callee.name, (callee.start, callee.end))
        else:
            found = _call_declared(c, node, type_, symbol, callee, wanted)
        called(c, symbol)
        note_call(c, callee, symbol)
        return found
    called_unknown(c)
    check_freely(c, node)
    if symbol is not None and symbol.kind == "type":
        message = f"`{callee.name}` is a type, and cannot be called"
        c.report("V0205", message, callee, f"write the object itself: `let x: {callee.name} = {{ … }}`")
    elif symbol is not None and may_be_null(type_) and isinstance(without_null(type_), Callable):
        message = f"`{callee.name}` may be null, and cannot be called"
        c.report("V0311", message, callee, f"test `{callee.name} != null` before", declared_here(symbol))
    elif symbol is not None and plain(type_) != JSON:
        message = f"`{callee.name}` is `{general(type_)}`, and cannot be called"
        c.report("V0311", message, callee, not_called(c, node, type_), declared_here(symbol))
    return JSON


def one_function(type_: Union) -> Type:
    """Of functions of which one is called, one that takes what they all take and gives what any of them gives."""
    functions = [each for each in type_.options if isinstance(each, Callable) and not each.unchecked]
    taken = {(each.parameters, each.required) for each in functions}
    if len(functions) < len(type_.options) or len(taken) > 1:
        return type_
    return Callable(functions[0].parameters, functions[0].required, union(tuple(each.returns for each in functions)))


def not_called(c: Checker, node: Call, type_: Type) -> str:
    """What to write for a call of something that is none."""
    kind, written = operand(type_), c.object_text_of(node.callee)
    if written == "args":
        return NAMES["getArg"]
    if kind is MODEL:
        return f'a model stands behind the prompt: `do "…" {written}`'
    if kind is TEXT and isinstance(node.callee, TextLit):
        return 'write `+` to join texts; a model stands behind a prompt without parentheses: `do "…" m`'
    if isinstance(kind, Union) and any(isinstance(each, Callable) for each in kind.options):
        return "only functions that take the same can be called without knowing which it is"
    if len(node.arguments) == 1 and (kind is TEXT or isinstance(kind, Array | Map)):
        return f"an item is `{written}[{c.text_of(node.arguments[0])}]`"
    return "leave out the parentheses" if not node.arguments else ""


def call_function(c: Checker, node: Call, type_: Callable, name: str, where: tuple[int, int]) -> Type:
    """A call of a function that is a value: what it gives."""
    if type_.unchecked:
        check_freely(c, node)
    else:
        check_arguments(c, node, name, where, type_.parameters, type_.required, type_)
    called_unknown(c)
    return type_.returns


def _call_declared(c: Checker, node: Call, type_: Callable, symbol: Symbol, callee: Name, wanted: Type | None) -> Type:
    if type_.unchecked:
        check_freely(c, node)
    else:
        where = callee.start, callee.end
        check_arguments(c, node, callee.name, where, type_.parameters, type_.required, type_, is_declared=True)
        check_arguments_shared(c, node, symbol, type_.parameters)
        if symbol.kind == "import" or type_.names:
            warn_of_arguments(c, node, callee.name, type_)
    if symbol.kind == "builtin" and symbol.name == "len" and node.arguments:
        check_length(c, node.arguments[0])
    elif symbol.kind == "builtin" and symbol.name in ("print", "note") and len(node.arguments) > 1:
        warn_of_printed(c, node)
    return _given(node, type_, wanted) if type_.gives else type_.returns


def _given(node: Call, type_: Callable, wanted: Type | None) -> Type:
    """What a function gives that depends on its place, or on its argument."""
    if type_.gives == "wanted" and not node.named:
        fits = wanted is not None and is_data(wanted) and assignable(type_.returns, wanted)
        return wanted if fits and wanted is not None else type_.returns
    if type_.gives == "found":
        return found_by(node.arguments[1].type, type_.returns) if len(node.arguments) > 1 else type_.returns
    first = base(node.arguments[0].type or JSON) if node.arguments else JSON
    if type_.gives == "wanted" or not isinstance(first, Array) or first.item == NEVER:
        return type_.returns
    item = widen(first.item)
    return item if type_.gives == "item" else Array(item)


def check_arguments(
    c: Checker,
    node: Call,
    name: str,
    where: tuple[int, int],
    types: tuple[Type, ...],
    required: int,
    callable_: Callable | None = None,
    *,
    is_declared: bool = False,
) -> None:
    """Check the number of arguments and the type of each. What a declared function does with them is known later."""
    given = node.arguments
    variadic = callable_ is not None and callable_.variadic
    if node.named and callable_ is not None:
        _check_named(c, node, name, where, callable_)
    elif node.named:
        refuse_names(c, node, name)
        for each in node.named:
            c.expr(each.value)
    elif len(given) < required or (len(given) > len(types) and not variadic):
        message = f"`{name}` expects {expected_arguments(required, len(types), variadic)}, got {len(given)}"
        hint = METHOD_ARGUMENTS.get(name, "") if callable_ is None or not callable_.parameters else ""
        c.report("V0310", message, where, hint or _signature(name, callable_, types, required))
        # Which of them is which is not known.
        for each in given:
            c.expr(each)
        return
    names = callable_.names if callable_ is not None else ()
    take = c.fit if is_declared else c.want
    for i, argument in enumerate(given):
        if i < len(types):
            take(argument, types[i], names[i] if i < len(names) else name)
        elif variadic:
            take(argument, types[-1], name)
        else:
            c.expr(argument)


def _check_named(c: Checker, node: Call, name: str, where: tuple[int, int], callable_: Callable) -> None:
    """Arguments with names: each is there once, and none is missing that must be given."""
    names, types, required = callable_.names, callable_.parameters, callable_.required
    given = set(names[: len(node.arguments)])
    # Then one of them is meant to be what is missing.
    is_unknown = any(each.name not in names or each.name in given for each in node.named)
    for each in node.named:
        at = each.start, each.start + len(each.name)
        if each.name not in names:
            hint = c.meant(each.name, names) or (_signature(name, callable_) if names else _WITHOUT_NAME)
            c.report("V0363", f"`{name}` has no parameter `{each.name}`", at, hint)
            c.expr(each.value)
            continue
        if each.name in given:
            c.report("V0363", f"`{each.name}` is given twice", at, "leave one of them out")
        given.add(each.name)
        c.want(each.value, types[names.index(each.name)], each.name)
    missing = [f"`{each}`" for each in names[:required] if each not in given]
    if names and missing and not is_unknown:
        c.report("V0310", f"`{name}` is not given {' and '.join(missing)}", where, _signature(name, callable_))
    elif names and len(node.arguments) > len(types):
        c.report("V0310", f"`{name}` expects {expected_arguments(required, len(types))}", where)


def check_freely(c: Checker, node: Call) -> None:
    """Arguments of which nothing is known."""
    for each in node.arguments:
        c.expr(each)
    for named in node.named:
        c.expr(named.value)


def refuse_names(c: Checker, node: Call, name: str) -> None:
    """Arguments with names where there are none."""
    for each in node.named:
        at = each.start, each.start + len(each.name)
        c.report("V0363", f"`{name}` has no parameter `{each.name}`", at, _WITHOUT_NAME)


def expected_arguments(required: int, most: int, variadic: bool = False) -> str:
    """How many arguments are wanted, in words."""
    if variadic:
        return f"at least {required} argument{'s' * (required != 1)}"
    if required == most:
        return f"{most} argument{'s' * (most != 1)}"
    return f"{required} to {most} arguments"


def _signature(name: str, callable_: Callable | None, types: tuple[Type, ...] = (), required: int = 0) -> str:
    """How something is called; of what has no names for its parameters, their types."""
    if callable_ is not None:
        types, required = callable_.parameters, callable_.required
    if not types:
        return "leave out what stands in the parentheses" if callable_ is None or not callable_.variadic else ""
    if callable_ is None or not callable_.names:
        written = ", ".join(shown(each) + "?" * (i >= required) for i, each in enumerate(types))
        return f"it is `{name}({written})`"
    pairs = islice(enumerate(zip(callable_.names, callable_.parameters, strict=False)), 8)
    written = ", ".join(f"{each}{'?' * (at >= required)}: {shown(type_)}" for at, (each, type_) in pairs)
    return f"it is `{name}({written}{', …' * (len(callable_.names) > 8)})`"
