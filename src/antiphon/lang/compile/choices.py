"""Choices, compiled: Python's own conditional expressions and `if`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from antiphon.lang.check.parts import discriminator, is_never, kept, options, rest, union
from antiphon.lang.check.types import (
    AI,
    BOOLEAN,
    JSON,
    NULL,
    NUMBER,
    TEXT,
    Array,
    Literal,
    Object,
    Type,
    base,
    plain,
    without_null,
)
from antiphon.lang.compile import emit
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.functions import suite
from antiphon.lang.compile.guards import class_of, once
from antiphon.lang.compile.operators import condition
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.syntax import nodes as n

_IS, _IS_NOT, _EQUAL, _IN, _OR = ast.Is(), ast.IsNot(), ast.Eq(), ast.In(), ast.Or()
#: The Python class of values of a type.
_CLASSES: dict[Type, str] = {TEXT: "_vstr", BOOLEAN: "_vbool"}


def conditional(c: Compiler, node: n.Conditional) -> ast.expr:
    """`c ? a : b`."""
    wanted = type_of(node)
    test = condition(c, node.condition)
    return emit.either(test, c.cast(node.then, wanted), c.cast(node.otherwise, wanted), c.place(node))


def is_(c: Compiler, node: n.Is) -> ast.expr:
    """`x is T`."""
    place = c.place(node)
    value, again = once(c, _plain_value(c, node.value), place)
    return _any_of(_tests(c, type_of(node.value), [_meant(node.tested)], value, again, place), place)


def match(c: Compiler, node: n.Match) -> ast.expr:
    """`match` as a value: one conditional expression in another."""
    wanted, place = type_of(node), c.place(node)
    first, again = once(c, _plain_value(c, node.value), place)
    arms: list[tuple[ast.expr | None, ast.expr]] = []
    left = type_of(node.value)
    for arm in node.arms:
        test = _test(c, arm, left, first, again)
        first, left = again, _left(left, arm)
        arms.append((test, _arm_value(c, arm, wanted)))
    return _chained(arms, lambda test, then, rest: emit.either(test, then, rest, place))


def match_statement(c: Compiler, node: n.MatchStatement) -> list[ast.stmt]:
    """`match` as a statement: one `if` after another."""
    place = c.place(node.value)
    first, again = once(c, _plain_value(c, node.value), place)
    out = [] if first is again else [emit.expression(first, place)]
    parts: list[tuple[n.Arm, ast.expr | None, list[ast.stmt]]] = []
    left = type_of(node.value)
    for arm in node.arms:
        test = _test(c, arm, left, again, again)
        left = _left(left, arm)
        assert isinstance(arm.body, n.Block)
        parts.append((arm, test, suite(c, arm.body)))
    otherwise: list[ast.stmt] = []
    for at_, (arm, test, body) in reversed(list(enumerate(parts))):
        is_last = at_ == len(parts) - 1
        otherwise = body if test is None or is_last else [at(ast.If(test, body, otherwise), c.place(arm))]
    return out + otherwise


def _chained(
    arms: list[tuple[ast.expr | None, ast.expr]],
    join: Callable[[ast.expr, ast.expr, ast.expr], ast.expr],
) -> ast.expr:
    """The arms from the last on. For every value there is one, so the last needs no test; the value is evaluated."""
    *others, (test, value) = arms
    out = value
    if test is not None and not others:
        out = join(test, value, value)
    for test, value in reversed(others):
        out = join(test, value, out) if test is not None else value
    return out


def _test(c: Compiler, arm: n.Arm, type_: Type, first: ast.expr, again: ast.expr) -> ast.expr | None:
    """Whether an arm is for the value, which `first` evaluates, and which the arms before have left."""
    if arm.is_else:
        return None
    place = c.place(arm)
    return _any_of(_tests(c, type_, [_meant(each) for each in arm.patterns], first, again, place), place)


def _left(type_: Type, arm: n.Arm) -> Type:
    """What a value may be that an arm is not for."""
    for each in arm.patterns:
        type_ = rest(type_, _meant(each))
    return type_


def _arm_value(c: Compiler, arm: n.Arm, wanted: Type) -> ast.expr:
    if isinstance(arm.body, n.Throw):
        return emit.call("_vraise", [c.expr(arm.body.value)], c.place(arm.body))
    assert not isinstance(arm.body, n.Block)
    return c.cast(arm.body, wanted)


def _meant(node: n.TypeNode) -> Type:
    return node.type if node.type is not None else JSON


def _plain_value(c: Compiler, node: n.Expr) -> ast.expr:
    """A value, out of the history it may have."""
    value, type_ = c.expr(node), type_of(node)
    return emit.call("_vunwrap", [value], c.place(node)) if isinstance(type_, AI) or type_ == JSON else value


def _any_of(tests: list[ast.expr], place: Place) -> ast.expr:
    return tests[0] if len(tests) == 1 else at(ast.BoolOp(_OR, tests), place)


def _tests(
    c: Compiler, type_: Type, tested: list[Type], first: ast.expr, again: ast.expr, place: Place
) -> list[ast.expr]:
    """Tests whether a value is of one of these types; the first of them evaluates it."""
    parts = [each for one in tested for each in options(one)]
    literals = [each for each in parts if isinstance(each, Literal)]
    out: list[ast.expr] = []
    value = first
    if literals:
        out.append(_is_literal(type_, literals, value, place))
        value = again
    for each in parts:
        if not isinstance(each, Literal):
            out.append(_is_type(c, type_, each, value, again, place))
            value = again
    return out


def _is_literal(type_: Type, literals: list[Literal], value: ast.expr, place: Place) -> ast.expr:
    """Python's own comparison where nothing of another kind is equal to one of them; true is 1 for Python."""
    constants = [emit.constant(each.value, place) for each in literals]
    kinds = {base(each) for each in literals}
    if kinds != {TEXT} and {base(each) for each in options(type_)} - {NULL, TEXT} - kinds:
        return emit.call("_vone", [value, *constants], place)
    if len(kinds - {TEXT}) > 1:
        return emit.call("_vone", [value, *constants], place)
    if len(constants) == 1:
        return emit.compare(value, _EQUAL, constants[0], place)
    return emit.compare(value, _IN, at(ast.Tuple(list(constants), ast.Load()), place), place)


def _is_type(c: Compiler, type_: Type, tested: Type, first: ast.expr, again: ast.expr, place: Place) -> ast.expr:
    if tested == NULL:
        return emit.compare(first, _IS, emit.constant(None, place), place)
    if (other := _one_other(type_, tested)) is not None:
        return _is_not(first, other, place)
    if isinstance(tested, Object) and NULL in options(type_):
        there = emit.compare(first, _IS_NOT, emit.constant(None, place), place)
        test = _is_type(c, without_null(plain(type_)), tested, again, again, place)
        return at(ast.BoolOp(ast.And(), [there, test]), place)
    kind = base(tested)
    if kind in _CLASSES:
        return emit.compare(class_of(first, place), _IS, emit.name(_CLASSES[kind], place), place)
    if kind == NUMBER:
        whole = emit.compare(class_of(first, place), _IS, emit.name("_vint", place), place)
        other = emit.compare(class_of(again, place), _IS, emit.name("_vfloat", place), place)
        return at(ast.BoolOp(_OR, [whole, other]), place)
    if isinstance(tested, Array | Object) and _is_alone(type_, tested):
        name = "_vlist" if isinstance(tested, Array) else "_vdict"
        return emit.call("_visinstance", [first, emit.name(name, place)], place)
    if isinstance(tested, Object) and (found := discriminator(type_, tested)) is not None:
        name, literals = found
        field = emit.item(first, emit.constant(name, place), place)
        return _is_literal(union(literals), literals, field, place)
    return emit.call("_vis", [first, emit.name(c.code.type_name(tested), place)], place)


def _one_other(type_: Type, tested: Type) -> Type | None:
    """The one kind of text, boolean or null that a value is if it is not of the tested type."""
    others = {base(each) for each in options(type_) if each != tested}
    if len(others) != 1 or is_never(kept(type_, tested)) or plain(type_) == JSON or isinstance(tested, Literal):
        return None
    (other,) = others
    return other if other == NULL or other in _CLASSES else None


def _is_not(value: ast.expr, other: Type, place: Place) -> ast.expr:
    if other == NULL:
        return emit.compare(value, _IS_NOT, emit.constant(None, place), place)
    return emit.compare(class_of(value, place), _IS_NOT, emit.name(_CLASSES[other], place), place)


def _is_alone(type_: Type, tested: Array | Object) -> bool:
    """Whether of all that a value may be only what is tested is an array, or an object."""
    alike = [each for each in options(type_) if isinstance(each, type(tested))]
    return plain(type_) != JSON and len(alike) == 1 and alike[0] == tested and not is_never(kept(type_, tested))
