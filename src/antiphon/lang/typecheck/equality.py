"""Equality: which values can be equal, and the reports of `==` and `!=`."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short

_NUMBER_AND_TEXT = {t.NUMBER, t.TEXT}


def check_equality(c: Checker, node: n.Binary, left: t.Type, right: t.Type) -> None:
    """Check `==` and `!=`: report functions, and values that are never equal."""
    for each, type_ in ((node.left, left), (node.right, right)):
        if (
            type(type_) is not t.SimpleType
            and t.NULL not in (left, right)
            and not t.is_json_data(type_)
            and t.has_function(type_)
        ):
            c.report("V0342", "functions cannot be compared", each, "compare what they give, or their names")
            return
    _warn_of_untyped_answer(c, node, left, right)
    if not can_be_equal(left, right):
        literal = t.has_literals(left) or t.has_literals(right)
        show = (
            format_type_short
            if literal and t.get_operand_type(left) == t.get_operand_type(right)
            else format_type_general
        )
        hint = suggest_literal(c, left, right) or hint_conversion(left, right) or _hint_error_text(c, node, left, right)
        c.report("V0303", f"`{show(left)}` and `{show(right)}` are never equal", node, hint)
    elif right is t.NULL:
        _warn_never_null(c, node)


def hint_conversion(left: t.Type, right: t.Type) -> str:
    """Return a hint how to compare a number and a text, or arrays."""
    kinds = {t.get_operand_type(left), t.get_operand_type(right)}
    if any(isinstance(each, t.Array) for each in kinds):
        return "compare their items one by one, or their `length`"
    return "make them alike: `t.toNumber()`, or `n.toString()`" if kinds == _NUMBER_AND_TEXT else ""


def _hint_error_text(c: Checker, node: n.Binary, left: t.Type, right: t.Type) -> str:
    """Return a hint which part of a caught error to compare."""
    error = node.left if left is t.ERROR else node.right if right is t.ERROR else None
    return f"compare its text, `{c.quote(error)}.message`, or its `.code`" if error is not None else ""


def _warn_of_untyped_answer(c: Checker, node: n.Binary, left: t.Type, right: t.Type) -> None:
    """Warn of comparing an untyped answer with a number or boolean: it is text, or JSON in braces or brackets."""
    for each, type_, other in ((node.left, left, right), (node.right, right, left)):
        if (
            type(type_) is t.AIResultType
            and type_.inner is t.JSON
            and t.get_base_type(t.strip_ai_result(other)) in (t.NUMBER, t.BOOLEAN)
        ):
            kind = format_type_general(t.get_base_type(t.strip_ai_result(other)))
            name = c.quote(each) if isinstance(each, n.Name) else "x"
            hint = f"say what is wanted: `const {name}: {kind} = do …`"
            c.warn("V0711", f"an answer that no type was declared for is text, and never a {kind}", each, hint)


def _warn_never_null(c: Checker, node: n.Binary) -> None:
    """Warn of a test for null that is always false: reading a missing key or item is an error, not null."""
    match node.left:
        case n.Name(symbol=symbol) if symbol is not None and _is_never_null(symbol.type):
            is_read = symbol.kind in ("let", "const")
            hint = "of a map, `m.get(key)` is null where there is no such key; `m[key]` is an error" if is_read else ""
        case n.Index(object=of) if isinstance(
            kind := t.get_operand_type(of.type or t.JSON), t.Array
        ) and _is_never_null(kind.item):
            hint = f"an item that is not there is an error: look at `{c.quote_receiver(of)}.length` before"
        case _:
            return
    always = "false" if node.op == "==" else "true"
    message = f"this is always {always}: it is `{format_type_general(node.left.type or t.JSON)}`, and never null"
    c.warn("V0703", message, node, hint)


def _is_never_null(type_: t.Type) -> bool:
    return t.strip_ai_result(type_) not in (t.JSON, t.NEVER, t.ERROR) and not t.is_nullable(type_)


def can_be_equal(left: t.Type, right: t.Type) -> bool:
    if left is right or left is t.NULL or right is t.NULL:
        return True
    if isinstance(left, t.Literal) and isinstance(right, t.Literal):
        # The value of a constant may be edited later, so only kinds are compared.
        return t.get_base_type(left) == t.get_base_type(right)
    if isinstance(t.strip_ai_result(left), t.Union) or isinstance(t.strip_ai_result(right), t.Union):
        return any(_can_options_be_equal(a, b) for a in _non_null_options(left) for b in _non_null_options(right))
    return _can_options_be_equal(t.strip_ai_result(left), t.strip_ai_result(right))


def _can_options_be_equal(left: t.Type, right: t.Type) -> bool:
    if isinstance(left, t.Literal) and isinstance(right, t.Literal):
        return left.value == right.value and isinstance(left.value, bool) == isinstance(right.value, bool)
    first, second = t.get_base_type(left), t.get_base_type(right)
    if first == second or t.JSON in (first, second) or t.NEVER in (first, second):
        return True
    if isinstance(first, t.Array) and isinstance(second, t.Array):
        return True
    return isinstance(first, t.Object | t.Map) and isinstance(second, t.Object | t.Map)


def _non_null_options(type_: t.Type) -> tuple[t.Type, ...]:
    type_ = t.strip_ai_result(type_)
    return tuple(each for each in type_.options if each is not t.NULL) if isinstance(type_, t.Union) else (type_,)


def suggest_literal(c: Checker, left: t.Type, right: t.Type) -> str:
    """Return a hint for `level == "lo"`: the literal that was probably meant."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, t.Literal) and isinstance(one.value, str):
            known = (each.value for each in _non_null_options(other) if isinstance(each, t.Literal))
            return c.hint_similar(one.value, (each for each in known if isinstance(each, str))).replace("`", '"')
    return ""
