"""Operators, compiled: Python's own where types are known or a value turns out to be whole, else the library's."""

from __future__ import annotations

import ast

from antiphon.lang.check.sharing import is_fresh
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import (
    AI,
    BOOLEAN,
    JSON,
    NULL,
    NUMBER,
    TEXT,
    Array,
    Map,
    Object,
    Type,
    base,
    is_mutable,
    may_be_null,
    options_of,
    without_null,
)
from antiphon.lang.compile import emit
from antiphon.lang.compile.arithmetic import added_quotient, both, modulo, power, quotient
from antiphon.lang.compile.chains import lenient
from antiphon.lang.compile.copies import goes_into_json
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.guards import class_of, is_a, once
from antiphon.lang.compile.iteration import span
from antiphon.lang.compile.literals import as_text
from antiphon.lang.compile.state import Compiler, ExprRule, type_of
from antiphon.lang.compile.views import picked
from antiphon.lang.compile.wholes import is_natural
from antiphon.lang.syntax import nodes as n

_OPERATORS = {"+": ast.Add(), "-": ast.Sub(), "*": ast.Mult()}
_COMPARISONS = {
    "==": ast.Eq(),
    "!=": ast.NotEq(),
    "<": ast.Lt(),
    "<=": ast.LtE(),
    ">": ast.Gt(),
    ">=": ast.GtE(),
}
_HELPERS = {
    "+": "_vadd",
    "-": "_vsub",
    "*": "_vmul",
    "/": "_vdiv",
    "%": "_vmod",
    "**": "_vpow",
    "<": "_vlt",
    "<=": "_vle",
    ">": "_vgt",
    ">=": "_vge",
}
_IS, _IS_NOT, _IN = ast.Is(), ast.IsNot(), ast.In()


def unary(c: Compiler, node: n.Unary) -> ast.expr:
    """`-x`, `not x`."""
    place = c.place(node)
    if node.op == "not":
        return emit.negation(condition(c, node.operand), place)
    value = c.expr(node.operand)
    if base(type_of(node.operand)) == NUMBER:
        return at(ast.UnaryOp(ast.USub(), value), place)
    return emit.call("_vneg", [value], place)


def binary(c: Compiler, node: n.Binary) -> ast.expr:
    """Operations of any number, from the left."""
    spine: list[n.Binary] = [node]
    while type(spine[-1].left) is n.Binary:
        spine.append(spine[-1].left)
    value: ast.expr | None = None
    for each, outer in zip(reversed(spine), [*reversed(spine[:-1]), None], strict=True):
        if each.op == "??" and outer is not None and outer.op == "??":
            value = _coalescing(c, each, value, c.place(each), lenient)
        else:
            value = operation(c, each, value)
    assert value is not None
    return value


def operation(c: Compiler, node: n.Binary, left: ast.expr | None) -> ast.expr:
    """One operation; `left` is given where it is compiled already."""
    op, place = node.op, c.place(node)
    if op in ("and", "or"):
        return _logical(c, node, left, place)
    if op == "??":
        return _coalescing(c, node, left, place)
    if op in ("==", "!="):
        return _equality(c, node, left, place)
    if op == "in":
        return _containing(c, node, c.expr(node.left) if left is None else left, place)
    left = c.expr(node.left) if left is None else left
    one, two = base(type_of(node.left)), base(type_of(node.right))
    if op == "%" and one in (NUMBER, JSON) and two in (NUMBER, JSON):
        return modulo(c, node, left, place)
    if op in ("/", "**") and one == two == NUMBER:
        return (quotient if op == "/" else power)(c, node, left, place)
    if op == "+" and TEXT in (one, two) and one != two:
        left = left if one == TEXT else emit.call("_vtext", [left], place)
        right = c.expr(node.right) if two == TEXT else as_text(c, node.right)
        return emit.binary(left, _OPERATORS["+"], right, place)
    right = (added_quotient(c, node.right, node.left) if op in _OPERATORS else None) or c.expr(node.right)
    if op == "+" and (JSON in (one, two) or (isinstance(node.type, Array) and node.type.item == JSON)):
        left, right = (_loose_items(each, value, place) for each, value in ((node.left, left), (node.right, right)))
    if op == "+" and _is_array(node.left) and _is_array(node.right):
        return emit.binary(left, _OPERATORS[op], right, place)
    if one == two and op in _OPERATORS and (one == NUMBER or (op == "+" and one == TEXT)):
        return emit.binary(left, _OPERATORS[op], right, place)
    if one == two and one in (NUMBER, TEXT) and op in _COMPARISONS:
        return emit.compare(left, _COMPARISONS[op], right, place)
    return _guarded(c, node, left, right, place)


def _is_array(node: n.Expr) -> bool:
    return isinstance(type_of(node), Array)


def _loose_items(node: n.Expr, value: ast.expr, place: Place) -> ast.expr:
    kind = base(type_of(node))
    typed = isinstance(kind, Array) and kind.item != JSON and is_mutable(kind.item) and not is_fresh(node)
    return emit.call("_vcopy", [value], place) if typed else value


def _guarded(c: Compiler, node: n.Binary, left: ast.expr, right: ast.expr, place: Place) -> ast.expr:
    """An operation on what may be anything: Python's own for whole numbers, the library's for all else."""
    op = node.op
    direct = _OPERATORS.get(op) or _COMPARISONS.get(op)
    known = {base(type_of(node.left)), base(type_of(node.right))} - {JSON, NUMBER}
    if direct is None or known:
        return emit.call(_HELPERS[op], [left, right], place)
    test, left, right = _both_whole(c, left, right, place)
    if isinstance(direct, ast.operator):
        quick = emit.binary(left, direct, right, place)
    else:
        quick = emit.compare(left, direct, right, place)
    return emit.either(test, quick, emit.call(_HELPERS[op], [left, right], place), place)


def _both_whole(c: Compiler, left: ast.expr, right: ast.expr, place: Place) -> tuple[ast.expr, ast.expr, ast.expr]:
    """A test whether both are whole numbers, which evaluates each once; and the two as they are read after it."""
    whole = emit.name("_vint", place)
    first, second, left, right = both(c, left, right, place)
    if isinstance(right, ast.Constant):
        return emit.compare(class_of(first, place), _IS, whole, place), left, right
    test = ast.Compare(class_of(first, place), [_IS, _IS], [class_of(second, place), whole])
    return at(test, place), left, right


def note_counter(c: Compiler, symbol: Symbol, iterable: n.Expr) -> None:
    """A variable that goes through something counts, where that is a range or a number."""
    if isinstance(iterable, n.Range) or base(type_of(iterable)) == NUMBER:
        c.counters.add(symbol)
        if not isinstance(iterable, n.Range) or is_natural(c, iterable.first):
            c.naturals.add(symbol)


def _logical(c: Compiler, node: n.Binary, left: ast.expr | None, place: Place) -> ast.expr:
    operator = ast.And() if node.op == "and" else ast.Or()
    first = condition(c, node.left) if left is None else _as_condition(c, left, node.left)
    if isinstance(first, ast.BoolOp) and type(first.op) is type(operator):
        # A long chain is one operation: it stays flat.
        first.values.append(condition(c, node.right))
        return at(first, place)
    return at(ast.BoolOp(operator, [first, condition(c, node.right)]), place)


def condition(c: Compiler, node: n.Expr) -> ast.expr:
    """A condition of `if`, `while`, `and`, `or`, `not`."""
    type_ = type_of(node)
    if base(type_) == BOOLEAN and not isinstance(type_, AI):
        return c.expr(node)
    place = c.place(node)
    if type_ == JSON or isinstance(type_, AI):
        return emit.call("_vcond", [lenient(c, node)], place)
    return emit.call("_vcond" if BOOLEAN in options_of(type_) else "_vpresent", [lenient(c, node)], place)


def _as_condition(c: Compiler, value: ast.expr, node: n.Expr) -> ast.expr:
    type_ = type_of(node)
    return (
        value if base(type_) == BOOLEAN and not isinstance(type_, AI) else emit.call("_vcond", [value], c.place(node))
    )


def _coalescing(
    c: Compiler, node: n.Binary, left: ast.expr | None, place: Place, right: ExprRule = Compiler.expr
) -> ast.expr:
    left = lenient(c, node.left) if left is None else left
    otherwise = _loose(node.right, right(c, node.right), node.type, place)
    if isinstance(type_of(node.left), AI) or type_of(node.left) == JSON:
        left = emit.call("_vunwrap", [left], place)
    elif (quick := _defaulted(c, node, left, otherwise, place)) is not None:
        return quick
    test, held = _is_there(c, left, place)
    return emit.either(test, _loose(node.left, held, node.type, place), otherwise, place)


def _is_there(c: Compiler, value: ast.expr, place: Place) -> tuple[ast.expr, ast.expr]:
    first, again = once(c, value, place)
    if isinstance(value, ast.Constant):
        # Python would warn of it.
        return emit.constant(value.value is not None, place), again
    return emit.compare(first, _IS_NOT, emit.constant(None, place), place), again


def _defaulted(c: Compiler, node: n.Binary, left: ast.expr, otherwise: ast.expr, place: Place) -> ast.expr | None:
    """What a map has or else a constant, what `?.` reaches or else another value: without a detour over null."""
    if goes_into_json(node.left, node.type):
        return None
    if isinstance(left, ast.Call) and isinstance(otherwise, ast.Constant) and _is_entry(node.left):
        left.args.append(otherwise)
        return left
    tests: list[ast.expr] = []
    while isinstance(left, ast.IfExp) and isinstance(left.orelse, ast.Constant) and left.orelse.value is None:
        tests.append(left.test)
        left = left.body
    if not tests:
        return None
    if not _is_sure(node.left):
        found, left = _is_there(c, left, place)
        tests.append(found)
    test = tests[0] if len(tests) == 1 else at(ast.BoolOp(ast.And(), tests), place)
    return emit.either(test, left, otherwise, place)


def _is_entry(node: n.Expr) -> bool:
    """Whether it is a value of a map, or null only because there is none."""
    if not isinstance(node, n.Index) or node.optional:
        return False
    type_, key = type_of(node.object), type_of(node.index)
    if not isinstance(type_, Map) or base(key) != TEXT or isinstance(key, AI):
        return False
    return type_.value != JSON and not may_be_null(type_.value)


def _is_sure(node: n.Expr) -> bool:
    """Whether a field is there if the object is."""
    if not isinstance(node, n.Member) or not node.optional:
        return False
    kind = base(without_null(type_of(node.object)))
    field = kind.fields.get(node.name) if isinstance(kind, Object) else None
    return field is not None and field.type != JSON and not may_be_null(field.read)


def _loose(node: n.Expr, value: ast.expr, type_: Type | None, place: Place) -> ast.expr:
    """An operand whose value the result is, or has in it: where that is json, it is a copy."""
    return emit.call("_vcopy", [value], place) if goes_into_json(node, type_) else value


def _equality(c: Compiler, node: n.Binary, left: ast.expr | None, place: Place) -> ast.expr:
    one, two = type_of(node.left), type_of(node.right)
    if NULL in (one, two):
        return _null_test(c, node, left, place)
    left = c.expr(node.left) if left is None else left
    right = c.expr(node.right)
    if base(one) == base(two) and base(one) in (NUMBER, TEXT, BOOLEAN):
        return emit.compare(left, _COMPARISONS[node.op], right, place)
    if isinstance(right, ast.Constant) and right.value.__class__ in (int, str):
        kind = "_vint" if right.value.__class__ is int else "_vstr"
        test, left = is_a(c, left, kind, place)
        quick = emit.compare(left, _COMPARISONS[node.op], right, place)
        helper = emit.call("_veq", [left, right], place)
        slow = helper if node.op == "==" else emit.negation(helper, place)
        return emit.either(test, quick, slow, place)
    same = emit.call("_veq", [left, right], place)
    return same if node.op == "==" else emit.negation(same, place)


def _containing(c: Compiler, node: n.Binary, left: ast.expr, place: Place) -> ast.expr:
    """`x in xs`: Python's own where it compares as the language does."""
    one, two = type_of(node.left), type_of(node.right)
    if isinstance(node.right, n.Range) and base(one) == NUMBER and not isinstance(one, AI):
        return emit.compare(left, _IN, span(c, node.right), place)
    right = c.expr(node.right)
    kind = one if isinstance(one, AI) else base(one)
    plain_items = isinstance(two, Array) and base(two.item) == kind and kind in (NUMBER, TEXT)
    if plain_items or (
        kind == TEXT and not isinstance(two, AI) and (base(two) == TEXT or isinstance(two, Object | Map))
    ):
        is_field = isinstance(left, ast.Constant) and isinstance(two, Object) and left.value in two.fields
        return emit.compare(left, _IN, right if is_field else picked(right, base(two), place), place)
    return emit.call("_vin", [left, picked(right, base(two), place)], place)


def _null_test(c: Compiler, node: n.Binary, left: ast.expr | None, place: Place) -> ast.expr:
    other = node.right if type_of(node.left) == NULL and type(node.left) is n.NullLit else node.left
    value = left if left is not None and other is node.left else lenient(c, other)
    if isinstance(type_of(other), AI) or type_of(other) == JSON:
        value = emit.call("_vunwrap", [value], place)
    if isinstance(value, ast.Constant):
        # Python would warn of it.
        return emit.constant((value.value is None) is (node.op == "=="), place)
    operator = _IS if node.op == "==" else _IS_NOT
    return emit.compare(value, operator, emit.constant(None, place), place)


def range_(c: Compiler, node: n.Range) -> ast.expr:
    """`a..b`, as an array."""
    return emit.call("_vrange", [c.expr(node.first), c.expr(node.last)], c.place(node))
