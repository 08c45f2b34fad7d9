"""Operators, ranges and conditions."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.table import OPERATOR_TYPE_HINTS
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import is_assignable, join_or_widen, join_types
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.constants import check_integer
from antiphon.lang.typecheck.equality import can_be_equal, check_equality, hint_conversion, suggest_literal
from antiphon.lang.typecheck.names import check_convertible_to_text
from antiphon.lang.typecheck.type_printer import format_type_general


def infer_unary(c: Checker, node: n.Unary, _: t.Type | None) -> t.Type:
    """Infer the type of `-x` or `not x`."""
    if node.op == "not":
        check_condition(c, node.operand, c.infer(node.operand, t.BOOLEAN))
        return t.BOOLEAN
    type_ = c.infer(node.operand, t.NUMBER if type(node.operand) in ASK_NODES else None)
    if isinstance(type_, t.Literal) and isinstance(type_.value, int | float) and not isinstance(type_.value, bool):
        return t.make_literal(-type_.value)
    type_ = c.require_non_null(node.operand, type_)
    if t.get_operand_type(type_) not in (t.NUMBER, t.JSON):
        hint = f"write `-{c.quote_receiver(node.operand)}.toNumber()`" if t.get_operand_type(type_) is t.TEXT else ""
        c.report("V0302", f"`-` needs a number, found `{format_type_general(type_)}`", node.operand, hint)
    return t.NUMBER


def infer_binary(c: Checker, node: n.Binary, wanted: t.Type | None) -> t.Type:
    """Infer the type of a chain of operators from the left. Iterative, since chains may be long."""
    chain = [node]
    while type(left := chain[-1].left) is n.Binary:
        chain.append(left)
    is_logic = any(each.op in _LOGIC_OPERATORS for each in chain)
    outside = c.narrowing.begin_branch() if is_logic else None
    type_ = c.infer(chain[-1].left, _infer_wanted_left(c, chain[-1], node, wanted))
    for each in reversed(chain):
        if outside is not None and each.op in _LOGIC_OPERATORS and not _continues_chain(each):
            c.narrowing.restore(outside)
        rule = _OPERATOR_RULES[each.op]
        type_ = each.type = rule(c, each, type_) if each.op != "??" else _infer_coalesce(c, each, type_, wanted)
    if outside is not None:
        c.narrowing.restore(outside)
    return type_


def _continues_chain(node: n.Binary) -> bool:
    """Return True if the left side ends with the same operator, as in `a and b and c`."""
    return type(node.left) is n.Binary and node.left.op == node.op


def _infer_wanted_left(c: Checker, first: n.Binary, last: n.Binary, wanted: t.Type | None) -> t.Type | None:
    """Return the type that is expected of the leftmost operand: boolean in a condition, or the type of the whole."""
    if first.op in _LOGIC_OPERATORS:
        return t.BOOLEAN
    if type(first.left) in ASK_NODES:
        return get_wanted_operand(first.op, _peek_type(c, first.right) if first.op in _COMPARISON_OPERATORS else None)
    return t.make_nullable(wanted) if wanted is not None and first.op == "??" and last.op == "??" else None


def get_wanted_operand(op: str, other: t.Type | None) -> t.Type | None:
    """Return the type to ask a model or the human for as an operand, or None where text will do."""
    if op in _ARITHMETIC_OPERATORS:
        return t.NUMBER
    seen = t.get_operand_type(other) if other is not None and op in _COMPARISON_OPERATORS else None
    return seen if seen is t.NUMBER or (seen is t.BOOLEAN and op in _EQUALITY_OPERATORS) else None


def _infer_right(c: Checker, node: n.Binary, left: t.Type) -> t.Type:
    """Infer the type of the right operand; a question is asked for the type that the left one suggests."""
    return c.infer(node.right, get_wanted_operand(node.op, left) if type(node.right) in ASK_NODES else None)


def _peek_type(c: Checker, node: n.Expr) -> t.Type:
    """Return the type of an expression that is checked later, without reporting anything."""
    before = len(c.diagnostics)
    type_ = c.infer(node)
    del c.diagnostics[before:]
    return type_


def infer_arithmetic(c: Checker, op: str, left: t.Type, right: t.Type, where: tuple[int, int]) -> t.Type:
    """Return the result type of an arithmetic operator, `+` included."""
    first, second = t.get_operand_type(left), t.get_operand_type(right)
    if op != "+":
        if (first is t.NUMBER or first is t.JSON) and (second is t.NUMBER or second is t.JSON):
            return t.NUMBER
        kind = "text" if first is t.TEXT else "array" if isinstance(first, t.Array) else ""
        message = f"`{op}` needs two numbers, found `{format_type_general(left)}` and `{format_type_general(right)}`"
        hint = OPERATOR_TYPE_HINTS.get((op, kind), "") or ("write `s.toNumber()`" if second is t.TEXT else "")
        c.report("V0302", message, where, hint)
        return t.NUMBER
    if (first is t.TEXT or second is t.TEXT) and first is not t.NULL and second is not t.NULL:
        return t.TEXT
    if first is t.NUMBER and second is t.NUMBER:
        return t.NUMBER
    if isinstance(first, t.Array) and isinstance(second, t.Array):
        return t.Array(join_types(first.item, second.item))
    if first is t.JSON or second is t.JSON:
        return t.JSON
    message = (
        f"`+` adds numbers, joins texts or arrays; found `{format_type_general(left)}` and"
        f" `{format_type_general(right)}`"
    )
    is_item = isinstance(first, t.Array) and is_assignable(right, first.item)
    if t.NULL in (first, second):
        c.report("V0302", message, where, "null is no number and no text: start with `0`, or with an empty text")
        return t.JSON
    if t.BOOLEAN in (first, second):
        c.report("V0302", message, where, "write `x ? 1 : 0` for a number, `x.toString()` for a text")
        return t.JSON
    which = (
        "test which it is: `if x is number { … }`" if isinstance(first, t.Union) or isinstance(second, t.Union) else ""
    )
    c.report("V0302", message, where, "write `xs.push(x)`, or `xs + [x]`" if is_item else which)
    return t.JSON


def check_condition(c: Checker, node: n.Expr, type_: t.Type) -> None:
    """Report a condition that is not boolean, json or nullable; a nullable one tests for null."""
    if type_ is t.BOOLEAN or type_ is t.JSON or t.is_nullable(type_):
        return
    seen = t.get_operand_type(type_)
    if seen not in (t.BOOLEAN, t.JSON):
        c.report(
            "V0304",
            f"a condition is a boolean, found `{format_type_general(type_)}`",
            node,
            _hint_condition(c, node, seen),
        )


def warn_constant_condition(c: Checker, node: n.Expr, *, unless: bool | None = None) -> None:
    """Warn of a constant condition, except the value `unless`: `while true` is intended."""
    if isinstance(node, n.BoolLit) and node.value is not unless:
        c.warn("V0703", f"this condition is always {'true' if node.value else 'false'}", node)


def infer_range(c: Checker, node: n.Range, _: t.Type | None) -> t.Type:
    """Infer the type of `a..b`."""
    for each in (node.first, node.last):
        type_ = c.require_non_null(each, c.infer(each, t.NUMBER if type(each) in ASK_NODES else None))
        if t.get_operand_type(type_) not in (t.NUMBER, t.JSON):
            c.report("V0302", f"a range goes from number to number, found `{format_type_general(type_)}`", each)
        check_integer(c, each, "the end of a range")
    if (
        isinstance(node.first, n.NumberLit)
        and node.first.value == 0
        and (of := get_counted_value(node.last)) is not None
    ):
        hint = f"write `for i in {c.quote(node.last)}`, or `0..{c.quote(of)}.length - 1`"
        c.warn("V0710", "both ends belong to a range, and this one is a position too many", node.last, hint)
    return _NUMBER_ARRAY


def get_counted_value(node: n.Expr) -> n.Expr | None:
    """Return the value that `xs.length`, `xs.len()` or `len(xs)` counts, or None."""
    if isinstance(node, n.Member) and node.name == "length":
        return node.object
    if not isinstance(node, n.Call):
        return None
    if isinstance(node.callee, n.Member) and node.callee.name == "len":
        return node.callee.object
    is_len = isinstance(node.callee, n.Name) and node.callee.name == "len" and len(node.arguments) == 1
    return node.arguments[0] if is_len else None


_NUMBER_ARRAY = t.Array(t.NUMBER)
_LOGIC_OPERATORS = frozenset(("and", "or"))
_ARITHMETIC_OPERATORS = frozenset(("-", "*", "/", "%", "**"))
_EQUALITY_OPERATORS = frozenset(("==", "!="))
_COMPARISON_OPERATORS = frozenset(("<", "<=", ">", ">=", *_EQUALITY_OPERATORS))
#: Questions, which are answered with the expected type.
ASK_NODES = frozenset((n.ModelCall, n.AskHuman))


def _infer_arithmetic_operands(c: Checker, node: n.Binary, left: t.Type) -> t.Type:
    right = c.require_non_null(node.right, _infer_right(c, node, left))
    return infer_arithmetic(c, node.op, c.require_non_null(node.left, left), right, (node.start, node.end))


def _infer_plus(c: Checker, node: n.Binary, left: t.Type) -> t.Type:
    right = c.infer(node.right)
    if not (isinstance(t.get_operand_type(left), t.Array) and isinstance(t.get_operand_type(right), t.Array)):
        check_convertible_to_text(c, node.left, left)
        check_convertible_to_text(c, node.right, right)
    left, right = c.require_non_null(node.left, left), c.require_non_null(node.right, right)
    found = infer_arithmetic(c, "+", left, right, (node.start, node.end))
    if isinstance(found, t.Array) and t.is_mutable(found.item):
        c.aliases.record_combined(node)
    return found


def _infer_ordering(c: Checker, node: n.Binary, left: t.Type) -> t.Type:
    right = _infer_right(c, node, left)
    left, right = c.require_non_null(node.left, left), c.require_non_null(node.right, right)
    first, second = t.get_operand_type(left), t.get_operand_type(right)
    if not (first is second and (first is t.NUMBER or first is t.TEXT)) and not (
        (first is t.JSON and second in (t.NUMBER, t.TEXT, t.JSON)) or (second is t.JSON and first in (t.NUMBER, t.TEXT))
    ):
        message = (
            f"`{node.op}` compares two numbers or two texts, found"
            f" `{format_type_general(left)}` and `{format_type_general(right)}`"
        )
        c.report("V0302", message, node, hint_conversion(left, right))
    return t.BOOLEAN


def _infer_contains(c: Checker, node: n.Binary, left: t.Type) -> t.Type:
    """Check `x in xs`: an item of an array, a part of a text, or a key of an object."""
    right = c.infer(node.right)
    place = t.get_operand_type(right)
    if t.is_nullable(right):
        hint = f"write `{c.quote(node.right)} ?? []`, or compare it with `null` before"
        c.report("V0302", f"`in` cannot look into what may be null, `{format_type_general(right)}`", node.right, hint)
    elif isinstance(place, t.Array):
        if not can_be_equal(left, place.item):
            hint = suggest_literal(c, left, place.item)
            c.report(
                "V0303", f"`{format_type_general(left)}` is never an item of `{format_type_general(place)}`", node, hint
            )
    elif place is t.TEXT or isinstance(place, t.Object | t.Map):
        if t.get_operand_type(left) not in (t.TEXT, t.JSON) or t.is_nullable(left):
            what = (
                "a text has parts"
                if place is t.TEXT
                else f"{'a map' if isinstance(place, t.Map) else 'an object'} has keys"
            )
            c.report("V0302", f"{what}, which are text; found `{format_type_general(left)}`", node.left)
    elif place is not t.JSON:
        hint = "`in` looks for an item of an array, a part of a text or a key of an object"
        c.report("V0302", f"there is nothing in a `{format_type_general(right)}`", node.right, hint)
    return t.BOOLEAN


def _infer_logic(c: Checker, node: n.Binary, left: t.Type) -> t.Type:
    check_condition(c, node.left, left)
    # The facts of operands further left in the chain are already recorded.
    last = node.left.right if isinstance(node.left, n.Binary) and node.left.op == node.op else node.left
    c.narrowing.narrow_by_condition(last, node.op == "and")
    right = c.infer(node.right, t.BOOLEAN)
    before = node.left
    if node.op == "or" and isinstance(before, n.Binary) and before.op == "and" and _are_same_kind(before.right, right):
        # This report is better than the one about the left side.
        c.withdraw("V0304", before.right.start, before.right.start + 1)
        hint = f"write `{c.quote(before.left)} ? {c.quote(before.right)} : {c.quote(node.right)}`"
        c.report("V0304", f"`and` and `or` give a boolean, found `{format_type_general(right)}`", before.right, hint)
    elif isinstance(node.right, n.TextLit | n.NumberLit) and isinstance(last, n.Binary) and last.op == "==":
        hint = f"write `{c.quote(last)} {node.op} {c.quote(last.left)} == {c.quote(node.right)}`"
        c.report("V0304", f"a condition is a boolean, found `{format_type_general(right)}`", node.right, hint)
    elif (instead := _hint_instead_of_logic(c, node, last, right)) is not None:
        c.withdraw("V0304", last.start, last.end)
        c.report("V0304", f"`{node.op}` gives a boolean, found `{format_type_general(right)}`", node.right, instead)
    else:
        check_condition(c, node.right, right)
    return t.BOOLEAN


def _are_same_kind(middle: n.Expr, right: t.Type) -> bool:
    """Return True if both are values of one kind, and not conditions."""
    kind = t.get_operand_type(right)
    return kind in (t.TEXT, t.NUMBER) and middle.type is not None and t.get_operand_type(middle.type) is kind


def _hint_instead_of_logic(c: Checker, node: n.Binary, last: n.Expr, right: t.Type) -> str | None:
    """Return what to write for an `or` meant as a default, and an `and` meant as a null test, or None."""
    if t.is_nullable(right) or t.get_operand_type(right) in (t.BOOLEAN, t.JSON) or isinstance(node.left, n.Binary):
        return None
    if t.get_operand_type(last.type or t.JSON) is t.BOOLEAN:
        return f"write `{c.quote(last)} ? {c.quote(node.right)} : …`"
    if node.op == "or" and isinstance(last, n.Call) and isinstance(last.callee, n.Name) and last.callee.name == "env":
        return f"a default is given to it: `env({c.quote(last.arguments[0])}, {c.quote(node.right)})`"
    if node.op == "or":
        return f'write `{c.quote(last)} ?? {c.quote(node.right)}`, or compare: `x == "" ? … : x`'
    return "write `x?.name` to read what may not be there, or `x != null ? … : …`"


def _infer_coalesce(c: Checker, node: n.Binary, left: t.Type, wanted: t.Type | None = None) -> t.Type:
    right = c.infer(node.right, wanted)
    if left is t.NULL:
        return right
    # A missing key counts as null here.
    is_entry = isinstance(node.left, n.Index) and isinstance(t.get_operand_type(node.left.object.type or t.JSON), t.Map)
    if is_entry or t.is_nullable(left):
        if wanted is not t.JSON and t.is_mutable(left):
            c.aliases.record_combined(node)
        return join_or_widen(t.remove_null(left), right)
    if t.strip_ai_result(left) != t.JSON:
        message = f"the left side of `??` is `{format_type_general(left)}` and never null"
        c.warn("V0705", message, node.left, "leave out `??` and what follows")
        return left
    return t.JSON


def _infer_equality(c: Checker, node: n.Binary, left: t.Type) -> t.Type:
    right = _infer_right(c, node, left)
    check_equality(c, node, left, right)
    return t.BOOLEAN


_OPERATOR_RULES = {
    "+": _infer_plus,
    **dict.fromkeys(_ARITHMETIC_OPERATORS, _infer_arithmetic_operands),
    **dict.fromkeys(("<", "<=", ">", ">="), _infer_ordering),
    **dict.fromkeys(("==", "!="), _infer_equality),
    "in": _infer_contains,
    **dict.fromkeys(("and", "or"), _infer_logic),
    "??": _infer_coalesce,
}


def _hint_condition(c: Checker, node: n.Node, seen: t.Type) -> str:
    text = c.quote(node)
    if isinstance(node, n.Lambda):
        return "write `>=` to compare; `=>` begins a function"
    if seen is t.TEXT:
        return f'there is no truthiness; write `{text} != ""`'
    if isinstance(node, n.NumberLit):
        return f"write `{'true' if node.value else 'false'}`"
    if seen is t.NUMBER:
        return f"there is no truthiness; write `{text} != 0`"
    if isinstance(seen, t.Array):
        return f"there is no truthiness; write `{c.quote_receiver(node)}.length > 0`"
    if isinstance(seen, t.CallableType):
        return f"call it: `{text}({'…' if seen.parameters else ''})`"
    return "there is no truthiness; write what is to be compared"
