"""Equality: which values can be equal, and the reports of `==` and `!=`."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short
from antiphon.lang.typecheck.types import (
    BOOLEAN,
    ERROR,
    JSON,
    NEVER,
    NULL,
    NUMBER,
    TEXT,
    AIResultType,
    Array,
    Literal,
    Map,
    Object,
    SimpleType,
    Type,
    Union,
    get_base_type,
    get_operand_type,
    has_function,
    has_literals,
    is_json_data,
    is_nullable,
    strip_ai_result,
)

_NUMBER_AND_TEXT = {NUMBER, TEXT}


def check_equality(c: Checker, node: n.Binary, left: Type, right: Type) -> None:
    """Check `==` and `!=`: report functions, and values that are never equal."""
    for each, type_ in ((node.left, left), (node.right, right)):
        if (
            type(type_) is not SimpleType
            and NULL not in (left, right)
            and not is_json_data(type_)
            and has_function(type_)
        ):
            c.report("V0342", "functions cannot be compared", each, "compare what they give, or their names")
            return
    _warn_of_untyped_answer(c, node, left, right)
    if not can_be_equal(left, right):
        literal = has_literals(left) or has_literals(right)
        show = (
            format_type_short if literal and get_operand_type(left) == get_operand_type(right) else format_type_general
        )
        hint = suggest_literal(c, left, right) or hint_conversion(left, right) or _hint_error_text(c, node, left, right)
        c.report("V0303", f"`{show(left)}` and `{show(right)}` are never equal", node, hint)
    elif right is NULL:
        _warn_never_null(c, node)


def hint_conversion(left: Type, right: Type) -> str:
    """Return a hint how to compare a number and a text, or arrays."""
    kinds = {get_operand_type(left), get_operand_type(right)}
    if any(isinstance(each, Array) for each in kinds):
        return "compare their items one by one, or their `length`"
    return "make them alike: `t.toNumber()`, or `n.toString()`" if kinds == _NUMBER_AND_TEXT else ""


def _hint_error_text(c: Checker, node: n.Binary, left: Type, right: Type) -> str:
    """Return a hint which part of a caught error to compare."""
    error = node.left if left is ERROR else node.right if right is ERROR else None
    return f"compare its text, `{c.quote(error)}.message`, or its `.code`" if error is not None else ""


def _warn_of_untyped_answer(c: Checker, node: n.Binary, left: Type, right: Type) -> None:
    """Warn of comparing an untyped answer with a number or boolean: it is text, or JSON in braces or brackets."""
    for each, type_, other in ((node.left, left, right), (node.right, right, left)):
        if (
            type(type_) is AIResultType
            and type_.inner is JSON
            and get_base_type(strip_ai_result(other)) in (NUMBER, BOOLEAN)
        ):
            kind = format_type_general(get_base_type(strip_ai_result(other)))
            name = c.quote(each) if isinstance(each, n.Name) else "x"
            hint = f"say what is wanted: `const {name}: {kind} = do …`"
            c.warn("V0711", f"an answer that no type was declared for is text, and never a {kind}", each, hint)


def _warn_never_null(c: Checker, node: n.Binary) -> None:
    """Warn of a test for null that is always false: reading a missing key or item is an error, not null."""
    match node.left:
        case n.Name(symbol=symbol) if symbol is not None and _is_never_null(symbol.type):
            is_read = symbol.kind in ("let", "const")
            hint = "of a map, `m.get(key)` is null where there is no such key; `m[key]` is an error" if is_read else ""
        case n.Index(object=of) if isinstance(kind := get_operand_type(of.type or JSON), Array) and _is_never_null(
            kind.item
        ):
            hint = f"an item that is not there is an error: look at `{c.quote_receiver(of)}.length` before"
        case _:
            return
    always = "false" if node.op == "==" else "true"
    message = f"this is always {always}: it is `{format_type_general(node.left.type or JSON)}`, and never null"
    c.warn("V0703", message, node, hint)


def _is_never_null(type_: Type) -> bool:
    return strip_ai_result(type_) not in (JSON, NEVER, ERROR) and not is_nullable(type_)


def can_be_equal(left: Type, right: Type) -> bool:
    if left is right or left is NULL or right is NULL:
        return True
    if isinstance(left, Literal) and isinstance(right, Literal):
        # The value of a constant may be edited later, so only kinds are compared.
        return get_base_type(left) == get_base_type(right)
    if isinstance(strip_ai_result(left), Union) or isinstance(strip_ai_result(right), Union):
        return any(_can_options_be_equal(a, b) for a in _non_null_options(left) for b in _non_null_options(right))
    return _can_options_be_equal(strip_ai_result(left), strip_ai_result(right))


def _can_options_be_equal(left: Type, right: Type) -> bool:
    if isinstance(left, Literal) and isinstance(right, Literal):
        return left.value == right.value and isinstance(left.value, bool) == isinstance(right.value, bool)
    first, second = get_base_type(left), get_base_type(right)
    if first == second or JSON in (first, second) or NEVER in (first, second):
        return True
    if isinstance(first, Array) and isinstance(second, Array):
        return True
    return isinstance(first, Object | Map) and isinstance(second, Object | Map)


def _non_null_options(type_: Type) -> tuple[Type, ...]:
    type_ = strip_ai_result(type_)
    return tuple(each for each in type_.options if each is not NULL) if isinstance(type_, Union) else (type_,)


def suggest_literal(c: Checker, left: Type, right: Type) -> str:
    """Return a hint for `level == "lo"`: the literal that was probably meant."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Literal) and isinstance(one.value, str):
            known = (each.value for each in _non_null_options(other) if isinstance(each, Literal))
            return c.hint_similar(one.value, (each for each in known if isinstance(each, str))).replace("`", '"')
    return ""
