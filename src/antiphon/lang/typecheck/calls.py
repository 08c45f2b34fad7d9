"""Calls of functions and tools, and the arguments of every call."""

from __future__ import annotations

from itertools import islice

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.table import GLOBAL_NAME_HINTS, METHOD_ARGUMENT_HINTS
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import is_assignable, make_union
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.constants import infer_match_result
from antiphon.lang.typecheck.lint import warn_of_placeholders, warn_of_swapped_arguments
from antiphon.lang.typecheck.methods import BUILTINS
from antiphon.lang.typecheck.name_usage import label_declaration
from antiphon.lang.typecheck.names import resolve_name
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short

_TYPES_WITHOUT_LENGTH: tuple[t.Type, ...] = (t.NUMBER, t.BOOLEAN, t.NULL, t.MODEL, t.TOOL)
_WITHOUT_NAME = "give it without a name, in its place"


def infer_name_call(c: Checker, node: n.Call, callee: n.Name, wanted: t.Type | None = None) -> t.Type:
    """Return the type of `name(arguments)`."""
    symbol = resolve_name(c, callee)
    type_ = c.narrowing.get_type(callee, symbol.type) if symbol is not None else t.JSON
    callee.type = type_ = merge_callables(type_) if type(type_) is t.Union else type_
    if type(type_) is t.CallableType and symbol is not None:
        if (
            symbol.kind == "builtin"
            and not c.scopes.is_in_test()
            and symbol.name in BUILTINS
            and BUILTINS[symbol.name].in_tests
        ):
            c.report("V0208", f"`{symbol.name}` is only for tests", callee, 'use it in `test "…" { … }`')
        if symbol.kind not in ("function", "tool", "builtin", "import"):
            found = infer_function_call(c, node, type_, callee.name, (callee.start, callee.end))
        else:
            found = _infer_declared_call(c, node, type_, symbol, callee, wanted)
        c.narrowing.invalidate_by_call(symbol)
        c.usage.record_call(callee, symbol)
        return found
    c.narrowing.invalidate_by_unknown_call()
    infer_arguments(c, node)
    if symbol is not None and symbol.kind == "type":
        message = f"`{callee.name}` is a type, and cannot be called"
        c.report("V0205", message, callee, f"write the object itself: `let x: {callee.name} = {{ … }}`")
    elif symbol is not None and t.is_nullable(type_) and isinstance(t.remove_null(type_), t.CallableType):
        message = f"`{callee.name}` may be null, and cannot be called"
        c.report("V0311", message, callee, f"test `{callee.name} != null` before", label_declaration(symbol))
    elif symbol is not None and t.strip_ai_result(type_) != t.JSON:
        message = f"`{callee.name}` is `{format_type_general(type_)}`, and cannot be called"
        c.report("V0311", message, callee, hint_not_callable(c, node, type_), label_declaration(symbol))
    return t.JSON


def merge_callables(type_: t.Union) -> t.Type:
    """Merge a union of functions with the same parameters into one, whose result is the union of theirs."""
    functions = [each for each in type_.options if isinstance(each, t.CallableType) and not each.is_unchecked]
    taken = {(each.parameters, each.required) for each in functions}
    if len(functions) < len(type_.options) or len(taken) > 1:
        return type_
    return t.CallableType(
        functions[0].parameters, functions[0].required, make_union(tuple(each.returns for each in functions))
    )


def hint_not_callable(c: Checker, node: n.Call, type_: t.Type) -> str:
    """Return the hint for a call of a value that cannot be called."""
    kind, written = t.get_operand_type(type_), c.quote_receiver(node.callee)
    if written == "args":
        return GLOBAL_NAME_HINTS["getArg"]
    if kind is t.MODEL:
        return f'a model stands behind the prompt: `do "…" {written}`'
    if kind is t.TEXT and isinstance(node.callee, n.TextLit):
        return 'write `+` to join texts; a model stands behind a prompt without parentheses: `do "…" m`'
    if isinstance(kind, t.Union) and any(isinstance(each, t.CallableType) for each in kind.options):
        return "only functions that take the same can be called without knowing which it is"
    if len(node.arguments) == 1 and (kind is t.TEXT or isinstance(kind, t.Array | t.Map)):
        return f"an item is `{written}[{c.quote(node.arguments[0])}]`"
    return "leave out the parentheses" if not node.arguments else ""


def infer_function_call(c: Checker, node: n.Call, type_: t.CallableType, name: str, where: tuple[int, int]) -> t.Type:
    """Check a call of a function value and return its result type."""
    if type_.is_unchecked:
        infer_arguments(c, node)
    else:
        check_call_arguments(c, node, name, where, type_.parameters, type_.required, type_)
    c.narrowing.invalidate_by_unknown_call()
    return type_.returns


def _infer_declared_call(
    c: Checker, node: n.Call, type_: t.CallableType, symbol: Symbol, callee: n.Name, wanted: t.Type | None
) -> t.Type:
    if type_.is_unchecked:
        infer_arguments(c, node)
    else:
        where = callee.start, callee.end
        check_call_arguments(c, node, callee.name, where, type_.parameters, type_.required, type_, is_declared=True)
        c.aliases.check_arguments(node, symbol, type_.parameters)
        if symbol.kind == "import" or type_.names:
            warn_of_swapped_arguments(c, node, callee.name, type_)
    if symbol.kind == "builtin" and symbol.name == "len" and node.arguments:
        _check_len_argument(c, node.arguments[0])
    elif symbol.kind == "builtin" and symbol.name in ("print", "note") and len(node.arguments) > 1:
        warn_of_placeholders(c, node)
    return _infer_dependent_result(node, type_, wanted) if type_.gives else type_.returns


def _infer_dependent_result(node: n.Call, type_: t.CallableType, wanted: t.Type | None) -> t.Type:
    """Return a result type that depends on the expected type or on an argument."""
    if type_.gives == "wanted" and not node.named:
        fits = wanted is not None and t.is_json_data(wanted) and is_assignable(type_.returns, wanted)
        return wanted if fits and wanted is not None else type_.returns
    if type_.gives == "found":
        return infer_match_result(node.arguments[1].type, type_.returns) if len(node.arguments) > 1 else type_.returns
    first = t.get_base_type(node.arguments[0].type or t.JSON) if node.arguments else t.JSON
    if type_.gives == "wanted" or not isinstance(first, t.Array) or first.item == t.NEVER:
        return type_.returns
    item = t.widen_type(first.item)
    return item if type_.gives == "item" else t.Array(item)


def check_call_arguments(
    c: Checker,
    node: n.Call,
    name: str,
    where: tuple[int, int],
    types: tuple[t.Type, ...],
    required: int,
    callable_: t.CallableType | None = None,
    *,
    is_declared: bool = False,
) -> None:
    """Check the number of arguments and the type of each.

    Aliases in the arguments of a declared function are checked later.
    """
    given = node.arguments
    variadic = callable_ is not None and callable_.variadic
    if node.named and callable_ is not None:
        _check_named_arguments(c, node, name, where, callable_)
    elif node.named:
        reject_named_arguments(c, node, name)
        for each in node.named:
            c.infer(each.value)
    elif len(given) < required or (len(given) > len(types) and not variadic):
        message = f"`{name}` expects {format_argument_count(required, len(types), variadic)}, got {len(given)}"
        hint = METHOD_ARGUMENT_HINTS.get(name, "") if callable_ is None or not callable_.parameters else ""
        c.report("V0310", message, where, hint or _hint_signature(name, callable_, types, required))
        # It is unknown which argument belongs to which parameter.
        for each in given:
            c.infer(each)
        return
    names = callable_.names if callable_ is not None else ()
    take = c.check_assignable if is_declared else c.check_value
    for i, argument in enumerate(given):
        if i < len(types):
            take(argument, types[i], names[i] if i < len(names) else name)
        elif variadic:
            take(argument, types[-1], name)
        else:
            c.infer(argument)


def _check_named_arguments(
    c: Checker, node: n.Call, name: str, where: tuple[int, int], callable_: t.CallableType
) -> None:
    """Check named arguments: each at most once, and no required one missing."""
    names, types, required = callable_.names, callable_.parameters, callable_.required
    given = set(names[: len(node.arguments)])
    # An unknown name is then probably meant as the missing one.
    is_unknown = any(each.name not in names or each.name in given for each in node.named)
    for each in node.named:
        at = each.start, each.start + len(each.name)
        if each.name not in names:
            hint = c.hint_similar(each.name, names) or (_hint_signature(name, callable_) if names else _WITHOUT_NAME)
            c.report("V0363", f"`{name}` has no parameter `{each.name}`", at, hint)
            c.infer(each.value)
            continue
        if each.name in given:
            c.report("V0363", f"`{each.name}` is given twice", at, "leave one of them out")
        given.add(each.name)
        c.check_value(each.value, types[names.index(each.name)], each.name)
    missing = [f"`{each}`" for each in names[:required] if each not in given]
    if names and missing and not is_unknown:
        c.report("V0310", f"`{name}` is not given {' and '.join(missing)}", where, _hint_signature(name, callable_))
    elif names and len(node.arguments) > len(types):
        c.report("V0310", f"`{name}` expects {format_argument_count(required, len(types))}", where)


def infer_arguments(c: Checker, node: n.Call) -> None:
    """Infer the types of arguments whose parameters are unknown."""
    for each in node.arguments:
        c.infer(each)
    for named in node.named:
        c.infer(named.value)


def reject_named_arguments(c: Checker, node: n.Call, name: str) -> None:
    """Report named arguments of a function without named parameters."""
    for each in node.named:
        at = each.start, each.start + len(each.name)
        c.report("V0363", f"`{name}` has no parameter `{each.name}`", at, _WITHOUT_NAME)


def format_argument_count(required: int, most: int, variadic: bool = False) -> str:
    """Return the number of expected arguments in words."""
    if variadic:
        return f"at least {required} argument{'s' * (required != 1)}"
    if required == most:
        return f"{most} argument{'s' * (most != 1)}"
    return f"{required} to {most} arguments"


def _hint_signature(
    name: str, callable_: t.CallableType | None, types: tuple[t.Type, ...] = (), required: int = 0
) -> str:
    """Return a hint with the signature; parameters without names are shown by their types."""
    if callable_ is not None:
        types, required = callable_.parameters, callable_.required
    if not types:
        return "leave out what stands in the parentheses" if callable_ is None or not callable_.variadic else ""
    if callable_ is None or not callable_.names:
        written = ", ".join(format_type_short(each) + "?" * (i >= required) for i, each in enumerate(types))
        return f"it is `{name}({written})`"
    pairs = islice(enumerate(zip(callable_.names, callable_.parameters, strict=False)), 8)
    written = ", ".join(f"{each}{'?' * (at >= required)}: {format_type_short(type_)}" for at, (each, type_) in pairs)
    return f"it is `{name}({written}{', …' * (len(callable_.names) > 8)})`"


def _check_len_argument(c: Checker, node: n.Expr) -> None:
    """Report `len` of a value without a length."""
    if node.type is None:
        return
    kind = t.get_operand_type(c.require_non_null(node, node.type))
    if kind in _TYPES_WITHOUT_LENGTH or isinstance(kind, t.CallableType):
        c.report("V0302", f"`len` counts characters, items or fields, found `{format_type_general(kind)}`", node)
