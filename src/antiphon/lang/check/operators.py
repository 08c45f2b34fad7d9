"""Operators, ranges and conditions."""

from __future__ import annotations

from antiphon.lang.check.equality import check_equal, made_alike, may_be_equal, nearest_literal
from antiphon.lang.check.fitting import assignable, join
from antiphon.lang.check.names import check_has_text
from antiphon.lang.check.narrowing import narrow
from antiphon.lang.check.notation import general
from antiphon.lang.check.null import present
from antiphon.lang.check.parts import one_of
from antiphon.lang.check.state import Checker
from antiphon.lang.check.types import (
    BOOLEAN,
    JSON,
    NULL,
    NUMBER,
    TEXT,
    Array,
    Callable,
    Literal,
    Map,
    Object,
    Type,
    Union,
    is_mutable,
    may_be_null,
    nullable,
    operand,
    plain,
    without_null,
)
from antiphon.lang.check.whole import check_whole
from antiphon.lang.syntax.habits import OPERATORS
from antiphon.lang.syntax.nodes import (
    Ask,
    AskHuman,
    Binary,
    BoolLit,
    Call,
    Expr,
    Index,
    Lambda,
    Member,
    Name,
    Node,
    NumberLit,
    Range,
    TextLit,
    Unary,
)


def unary(c: Checker, node: Unary, _: Type | None) -> Type:
    """`-x`, `not x`."""
    if node.op == "not":
        check_condition(c, node.operand, c.expr(node.operand, BOOLEAN))
        return BOOLEAN
    type_ = c.expr(node.operand, NUMBER if type(node.operand) in ASKS else None)
    if isinstance(type_, Literal) and isinstance(type_.value, int | float) and not isinstance(type_.value, bool):
        return c.number_literal(-type_.value)
    type_ = present(c, node.operand, type_)
    if operand(type_) not in (NUMBER, JSON):
        hint = f"write `-{c.object_text_of(node.operand)}.toNumber()`" if operand(type_) is TEXT else ""
        c.report("V0302", f"`-` needs a number, found `{general(type_)}`", node.operand, hint)
    return NUMBER


def binary(c: Checker, node: Binary, wanted: Type | None) -> Type:
    """A chain of operators, from the left; chains may be long, so this goes without recursion."""
    chain = [node]
    while type(left := chain[-1].left) is Binary:
        chain.append(left)
    before = c.narrowed
    type_ = c.expr(chain[-1].left, _wanted(c, chain[-1], node, wanted))
    for each in reversed(chain):
        if each.op in _LOGIC and not (type(each.left) is Binary and each.left.op == each.op):
            c.narrowed = dict(before)
        rule = _RULES[each.op]
        type_ = each.type = rule(c, each, type_) if each.op != "??" else _coalesce(c, each, type_, wanted)
    c.narrowed = before
    return type_


def _wanted(c: Checker, first: Binary, last: Binary, wanted: Type | None) -> Type | None:
    """What the left end of a chain is wanted to be: a condition, or what the whole is."""
    if first.op in _LOGIC:
        return BOOLEAN
    if type(first.left) in ASKS:
        return wanted_beside(first.op, _looked_at(c, first.right) if first.op in _COMPARING else None)
    return nullable(wanted) if wanted is not None and first.op == "??" and last.op == "??" else None


def wanted_beside(op: str, other: Type | None) -> Type | None:
    """What whoever is asked in an operator is asked for; text, where that would do."""
    if op in _ARITHMETIC:
        return NUMBER
    seen = operand(other) if other is not None and op in _COMPARING else None
    return seen if seen is NUMBER or (seen is BOOLEAN and op in _EQUALITY) else None


def _asked(c: Checker, node: Binary, left: Type) -> Type:
    """The type of the right side of an operator, where somebody is asked."""
    return c.expr(node.right, wanted_beside(node.op, left))


def _looked_at(c: Checker, node: Expr) -> Type:
    """The type of what will be checked in its turn, where it is needed before."""
    before = len(c.diagnostics)
    type_ = c.expr(node)
    del c.diagnostics[before:]
    return type_


def combine(c: Checker, op: str, left: Type, right: Type, where: tuple[int, int]) -> Type:
    """The type of two operands under an arithmetic operator, `+` included."""
    first, second = operand(left), operand(right)
    if op != "+":
        if (first is NUMBER or first is JSON) and (second is NUMBER or second is JSON):
            return NUMBER
        kind = "text" if first is TEXT else "array" if isinstance(first, Array) else ""
        message = f"`{op}` needs two numbers, found `{general(left)}` and `{general(right)}`"
        hint = OPERATORS.get((op, kind), "") or ("write `s.toNumber()`" if second is TEXT else "")
        c.report("V0302", message, where, hint)
        return NUMBER
    if (first is TEXT or second is TEXT) and first is not NULL and second is not NULL:
        return TEXT
    if first is NUMBER and second is NUMBER:
        return NUMBER
    if isinstance(first, Array) and isinstance(second, Array):
        return Array(join(first.item, second.item))
    if first is JSON or second is JSON:
        return JSON
    message = f"`+` adds numbers, joins texts or arrays; found `{general(left)}` and `{general(right)}`"
    is_item = isinstance(first, Array) and assignable(right, first.item)
    if NULL in (first, second):
        c.report("V0302", message, where, "null is no number and no text: start with `0`, or with an empty text")
        return JSON
    if BOOLEAN in (first, second):
        c.report("V0302", message, where, "write `x ? 1 : 0` for a number, `x.toString()` for a text")
        return JSON
    which = "test which it is: `if x is number { … }`" if isinstance(first, Union) or isinstance(second, Union) else ""
    c.report("V0302", message, where, "write `xs.push(x)`, or `xs + [x]`" if is_item else which)
    return JSON


def check_condition(c: Checker, node: Expr, type_: Type) -> None:
    """A condition is boolean, json, or something that may be null: then it asks whether it is there."""
    if type_ is BOOLEAN or type_ is JSON or may_be_null(type_):
        return
    seen = operand(type_)
    if seen not in (BOOLEAN, JSON):
        c.report("V0304", f"a condition is a boolean, found `{general(type_)}`", node, _test_hint(c, node, seen))


def warn_constant(c: Checker, node: Expr, *, unless: bool | None = None) -> None:
    """Warn of a condition that is always the same; `while true` is meant."""
    if isinstance(node, BoolLit) and node.value is not unless:
        c.warn("V0703", f"this condition is always {'true' if node.value else 'false'}", node)


def range_(c: Checker, node: Range, _: Type | None) -> Type:
    """`a..b`."""
    for each in (node.first, node.last):
        type_ = present(c, each, c.expr(each, NUMBER if type(each) in ASKS else None))
        if operand(type_) not in (NUMBER, JSON):
            c.report("V0302", f"a range goes from number to number, found `{general(type_)}`", each)
        check_whole(c, each, "the end of a range")
    if isinstance(node.first, NumberLit) and node.first.value == 0 and (of := length_of(node.last)) is not None:
        hint = f"write `for i in {c.text_of(node.last)}`, or `0..{c.text_of(of)}.length - 1`"
        c.warn("V0710", "both ends belong to a range, and this one is a position too many", node.last, hint)
    return _NUMBERS


def length_of(node: Expr) -> Expr | None:
    """What `xs.length`, `xs.len()` or `len(xs)` counts."""
    if isinstance(node, Member) and node.name == "length":
        return node.object
    if not isinstance(node, Call):
        return None
    if isinstance(node.callee, Member) and node.callee.name == "len":
        return node.callee.object
    is_len = isinstance(node.callee, Name) and node.callee.name == "len" and len(node.arguments) == 1
    return node.arguments[0] if is_len else None


_NUMBERS = Array(NUMBER)
_LOGIC = frozenset(("and", "or"))
_ARITHMETIC = frozenset(("-", "*", "/", "%", "**"))
_EQUALITY = frozenset(("==", "!="))
_COMPARING = frozenset(("<", "<=", ">", ">=", *_EQUALITY))
#: What is answered as its place wants it.
ASKS = frozenset((Ask, AskHuman))


def _arithmetic(c: Checker, node: Binary, left: Type) -> Type:
    right = present(c, node.right, c.expr(node.right) if type(node.right) not in ASKS else _asked(c, node, left))
    return combine(c, node.op, present(c, node.left, left), right, (node.start, node.end))


def _plus(c: Checker, node: Binary, left: Type) -> Type:
    right = c.expr(node.right)
    if not (isinstance(operand(left), Array) and isinstance(operand(right), Array)):
        check_has_text(c, node.left, left)
        check_has_text(c, node.right, right)
    left, right = present(c, node.left, left), present(c, node.right, right)
    found = combine(c, "+", left, right, (node.start, node.end))
    if isinstance(found, Array) and is_mutable(found.item):
        c.mixed.append(node)
    return found


def _order(c: Checker, node: Binary, left: Type) -> Type:
    right = c.expr(node.right) if type(node.right) not in ASKS else _asked(c, node, left)
    left, right = present(c, node.left, left), present(c, node.right, right)
    first, second = operand(left), operand(right)
    if not (first is second and (first is NUMBER or first is TEXT)) and not (
        (first is JSON and second in (NUMBER, TEXT, JSON)) or (second is JSON and first in (NUMBER, TEXT))
    ):
        message = f"`{node.op}` compares two numbers or two texts, found `{general(left)}` and `{general(right)}`"
        c.report("V0302", message, node, made_alike(left, right))
    return BOOLEAN


def _contains(c: Checker, node: Binary, left: Type) -> Type:
    """`x in xs`: an item of an array, a part of a text, a key of an object."""
    right = c.expr(node.right)
    place = operand(right)
    if may_be_null(right):
        hint = f"write `{c.text_of(node.right)} ?? []`, or compare it with `null` before"
        c.report("V0302", f"`in` cannot look into what may be null, `{general(right)}`", node.right, hint)
    elif isinstance(place, Array):
        if not may_be_equal(left, place.item):
            hint = nearest_literal(c, left, place.item)
            c.report("V0303", f"`{general(left)}` is never an item of `{general(place)}`", node, hint)
    elif place is TEXT or isinstance(place, Object | Map):
        if operand(left) not in (TEXT, JSON) or may_be_null(left):
            what = (
                "a text has parts"
                if place is TEXT
                else f"{'a map' if isinstance(place, Map) else 'an object'} has keys"
            )
            c.report("V0302", f"{what}, which are text; found `{general(left)}`", node.left)
    elif place is not JSON:
        hint = "`in` looks for an item of an array, a part of a text or a key of an object"
        c.report("V0302", f"there is nothing in a `{general(right)}`", node.right, hint)
    return BOOLEAN


def _logic(c: Checker, node: Binary, left: Type) -> Type:
    check_condition(c, node.left, left)
    # Of a chain, what stands further left is known already.
    last = node.left.right if isinstance(node.left, Binary) and node.left.op == node.op else node.left
    narrow(c, last, node.op == "and")
    right = c.expr(node.right, BOOLEAN)
    before = node.left
    if node.op == "or" and isinstance(before, Binary) and before.op == "and" and _is_value(before.right, right):
        # What is said of the left side is said better here.
        c.diagnostics[:] = [each for each in c.diagnostics if each.start != before.right.start]
        hint = f"write `{c.text_of(before.left)} ? {c.text_of(before.right)} : {c.text_of(node.right)}`"
        c.report("V0304", f"`and` and `or` give a boolean, found `{general(right)}`", before.right, hint)
    elif isinstance(node.right, TextLit | NumberLit) and isinstance(last, Binary) and last.op == "==":
        hint = f"write `{c.text_of(last)} {node.op} {c.text_of(last.left)} == {c.text_of(node.right)}`"
        c.report("V0304", f"a condition is a boolean, found `{general(right)}`", node.right, hint)
    elif (instead := _instead_of_logic(c, node, last, right)) is not None:
        c.diagnostics[:] = [
            each for each in c.diagnostics if each.code != "V0304" or not last.start <= each.start < last.end
        ]
        c.report("V0304", f"`{node.op}` gives a boolean, found `{general(right)}`", node.right, instead)
    else:
        check_condition(c, node.right, right)
    return BOOLEAN


def _is_value(middle: Expr, right: Type) -> bool:
    """Whether both are values of one kind, and no conditions."""
    kind = operand(right)
    return kind in (TEXT, NUMBER) and middle.type is not None and operand(middle.type) is kind


def _instead_of_logic(c: Checker, node: Binary, last: Expr, right: Type) -> str | None:
    """What to write for an `or` that would give a default, and an `and` that would look before it reads."""
    if may_be_null(right) or operand(right) in (BOOLEAN, JSON) or isinstance(node.left, Binary):
        return None
    if operand(last.type or JSON) is BOOLEAN:
        return f"write `{c.text_of(last)} ? {c.text_of(node.right)} : …`"
    if node.op == "or" and isinstance(last, Call) and isinstance(last.callee, Name) and last.callee.name == "env":
        return f"a default is given to it: `env({c.text_of(last.arguments[0])}, {c.text_of(node.right)})`"
    if node.op == "or":
        return f'write `{c.text_of(last)} ?? {c.text_of(node.right)}`, or compare: `x == "" ? … : x`'
    return "write `x?.name` to read what may not be there, or `x != null ? … : …`"


def _coalesce(c: Checker, node: Binary, left: Type, wanted: Type | None = None) -> Type:
    right = c.expr(node.right, wanted)
    if left is NULL:
        return right
    # A key that is not there counts as null here.
    is_entry = isinstance(node.left, Index) and isinstance(operand(node.left.object.type or JSON), Map)
    if is_entry or may_be_null(left):
        if wanted is not JSON and is_mutable(left):
            c.mixed.append(node)
        return one_of(without_null(left), right)
    if plain(left) != JSON:
        message = f"the left side of `??` is `{general(left)}` and never null"
        c.warn("V0705", message, node.left, "leave out `??` and what follows")
        return left
    return JSON


def _equal(c: Checker, node: Binary, left: Type) -> Type:
    right = c.expr(node.right) if type(node.right) not in ASKS else _asked(c, node, left)
    check_equal(c, node, left, right)
    return BOOLEAN


_RULES = {
    "+": _plus,
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    **dict.fromkeys(("<", "<=", ">", ">="), _order),
    **dict.fromkeys(("==", "!="), _equal),
    "in": _contains,
    **dict.fromkeys(("and", "or"), _logic),
    "??": _coalesce,
}


def _test_hint(c: Checker, node: Node, seen: Type) -> str:
    text = c.text_of(node)
    if isinstance(node, Lambda):
        return "write `>=` to compare; `=>` begins a function"
    if seen is TEXT:
        return f'there is no truthiness; write `{text} != ""`'
    if isinstance(node, NumberLit):
        return f"write `{'true' if node.value else 'false'}`"
    if seen is NUMBER:
        return f"there is no truthiness; write `{text} != 0`"
    if isinstance(seen, Array):
        return f"there is no truthiness; write `{c.object_text_of(node)}.length > 0`"
    if isinstance(seen, Callable):
        return f"call it: `{text}({'…' if seen.parameters else ''})`"
    return "there is no truthiness; write what is to be compared"
