"""Compile `match`, `is` and `? :` to Python's conditional expressions and `if`."""

from __future__ import annotations

import ast

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.compiler import (
    PYTHON_CLASSES,
    Compiler,
    evaluate_once,
    get_expression_type,
    unwrap_if_answer,
)
from antiphon.lang.codegen.functions import compile_suite
from antiphon.lang.codegen.operators import compile_condition
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import (
    find_discriminator,
    inhabited_options,
    intersect_type,
    is_never,
    make_union,
    subtract_type,
)

_IS, _IS_NOT, _EQUAL, _IN, _OR = ast.Is(), ast.IsNot(), ast.Eq(), ast.In(), ast.Or()


def compile_conditional(c: Compiler, node: n.Conditional) -> ast.expr:
    """Compile `c ? a : b`."""
    wanted = get_expression_type(node)
    test = compile_condition(c, node.condition)
    return emit.make_conditional(test, c.cast(node.then, wanted), c.cast(node.otherwise, wanted), c.place(node))


def compile_is_test(c: Compiler, node: n.Is) -> ast.expr:
    """Compile `x is T`."""
    place = c.place(node)
    value, again = evaluate_once(c, _compile_unwrapped(c, node.value), place)
    return _make_disjunction(
        _make_type_tests(c, get_expression_type(node.value), [_get_pattern_type(node.tested)], value, again, place),
        place,
    )


def compile_match(c: Compiler, node: n.Match) -> ast.expr:
    """Compile `match` as a value: nested conditional expressions."""
    wanted, place = get_expression_type(node), c.place(node)
    first, again = evaluate_once(c, _compile_unwrapped(c, node.value), place)
    arms: list[tuple[ast.expr | None, ast.expr]] = []
    left = get_expression_type(node.value)
    for arm in node.arms:
        test = _make_arm_test(c, arm, left, first, again)
        first, left = again, _get_remaining_type(left, arm)
        arms.append((test, _compile_arm_value(c, arm, wanted)))
    return _chain_arms(arms, place)


def compile_match_statement(c: Compiler, node: n.MatchStatement) -> list[ast.stmt]:
    """Compile `match` as a statement: a chain of `if`."""
    place = c.place(node.value)
    first, again = evaluate_once(c, _compile_unwrapped(c, node.value), place)
    out = [] if first is again else [emit.make_expression_statement(first, place)]
    parts: list[tuple[n.Arm, ast.expr | None, list[ast.stmt]]] = []
    left = get_expression_type(node.value)
    for arm in node.arms:
        test = _make_arm_test(c, arm, left, again, again)
        left = _get_remaining_type(left, arm)
        assert isinstance(arm.body, n.Block)
        parts.append((arm, test, compile_suite(c, arm.body)))
    otherwise: list[ast.stmt] = []
    for at_, (arm, test, body) in reversed(list(enumerate(parts))):
        is_last = at_ == len(parts) - 1
        otherwise = body if test is None or is_last else [set_location(ast.If(test, body, otherwise), c.place(arm))]
    return out + otherwise


def _chain_arms(arms: list[tuple[ast.expr | None, ast.expr]], place: SourceLocation) -> ast.expr:
    """Join the arms into one expression, from the last on.

    The arms are exhaustive, so the last needs no test; with a single arm the test still evaluates the value.
    """
    *others, (test, out) = arms
    if test is not None and not others:
        out = emit.make_conditional(test, out, out, place)
    for test, value in reversed(others):
        out = emit.make_conditional(test, value, out, place) if test is not None else value
    return out


def _make_arm_test(c: Compiler, arm: n.Arm, type_: t.Type, first: ast.expr, again: ast.expr) -> ast.expr | None:
    """Return a test that an arm matches, None for `else`; `first` evaluates the value.

    `type_` is what the arms before it have left.
    """
    if arm.is_else:
        return None
    place = c.place(arm)
    return _make_disjunction(
        _make_type_tests(c, type_, [_get_pattern_type(each) for each in arm.patterns], first, again, place), place
    )


def _get_remaining_type(type_: t.Type, arm: n.Arm) -> t.Type:
    """Return the type of values that an arm does not match."""
    for each in arm.patterns:
        type_ = subtract_type(type_, _get_pattern_type(each))
    return type_


def _compile_arm_value(c: Compiler, arm: n.Arm, wanted: t.Type) -> ast.expr:
    if isinstance(arm.body, n.Throw):
        return emit.make_call("throw_value", [c.expr(arm.body.value)], c.place(arm.body))
    assert not isinstance(arm.body, n.Block)
    return c.cast(arm.body, wanted)


def _get_pattern_type(node: n.TypeNode) -> t.Type:
    return node.type if node.type is not None else t.JSON


def _compile_unwrapped(c: Compiler, node: n.Expr) -> ast.expr:
    """Compile a value, taken out of its AI result if it is one."""
    return unwrap_if_answer(node, c.expr(node), c.place(node))


def _make_disjunction(tests: list[ast.expr], place: SourceLocation) -> ast.expr:
    return tests[0] if len(tests) == 1 else set_location(ast.BoolOp(_OR, tests), place)


def _make_type_tests(
    c: Compiler, type_: t.Type, tested: list[t.Type], first: ast.expr, again: ast.expr, place: SourceLocation
) -> list[ast.expr]:
    """Return tests that a value has one of these types; the first of them evaluates it."""
    parts = [each for one in tested for each in inhabited_options(one)]
    literals = [each for each in parts if isinstance(each, t.Literal)]
    out: list[ast.expr] = []
    value = first
    if literals:
        out.append(_make_literal_test(type_, literals, value, place))
        value = again
    for each in parts:
        if not isinstance(each, t.Literal):
            out.append(_make_type_test(c, type_, each, value, again, place))
            value = again
    return out


def _make_literal_test(type_: t.Type, literals: list[t.Literal], value: ast.expr, place: SourceLocation) -> ast.expr:
    """Return a test that a value is one of some literals.

    It is Python's own comparison unless a value of another kind could be equal: for Python, true is 1.
    """
    constants = [emit.make_constant(each.value, place) for each in literals]
    kinds = {t.get_base_type(each) for each in literals}
    if kinds != {t.TEXT} and {t.get_base_type(each) for each in inhabited_options(type_)} - {t.NULL, t.TEXT} - kinds:
        return emit.make_call("is_one_of", [value, *constants], place)
    if len(kinds - {t.TEXT}) > 1:
        return emit.make_call("is_one_of", [value, *constants], place)
    if len(constants) == 1:
        return emit.make_comparison(value, _EQUAL, constants[0], place)
    return emit.make_comparison(value, _IN, set_location(ast.Tuple(list(constants), ast.Load()), place), place)


def _make_type_test(
    c: Compiler, type_: t.Type, tested: t.Type, first: ast.expr, again: ast.expr, place: SourceLocation
) -> ast.expr:
    if tested == t.NULL:
        return emit.make_comparison(first, _IS, emit.make_constant(None, place), place)
    if (other := _find_only_other_type(type_, tested)) is not None:
        if other == t.NULL:
            return emit.make_comparison(first, _IS_NOT, emit.make_constant(None, place), place)
        return emit.make_class_comparison(first, PYTHON_CLASSES[other][0], place, _IS_NOT)
    if isinstance(tested, t.Object) and t.NULL in inhabited_options(type_):
        there = emit.make_comparison(first, _IS_NOT, emit.make_constant(None, place), place)
        test = _make_type_test(c, t.remove_null(t.strip_ai_result(type_)), tested, again, again, place)
        return set_location(ast.BoolOp(ast.And(), [there, test]), place)
    kind = t.get_base_type(tested)
    if kind in PYTHON_CLASSES:
        classes = zip(PYTHON_CLASSES[kind], (first, again), strict=False)
        return _make_disjunction([emit.make_class_comparison(value, each, place) for each, value in classes], place)
    if isinstance(tested, t.Array | t.Object) and _is_only_container(type_, tested):
        name = "_v_list" if isinstance(tested, t.Array) else "_v_dict"
        return emit.make_call("isinstance", [first, emit.make_name(name, place)], place)
    if isinstance(tested, t.Object) and (found := find_discriminator(type_, tested)) is not None:
        name, literals = found
        field = emit.make_item(first, emit.make_constant(name, place), place)
        return _make_literal_test(make_union(literals), literals, field, place)
    return emit.make_call("is_of_type", [first, c.make_type_name(tested, place)], place)


def _find_only_other_type(type_: t.Type, tested: t.Type) -> t.Type | None:
    """Return the only type a value has if it is not of the tested type: text, boolean or null; else None."""
    others = {t.get_base_type(each) for each in inhabited_options(type_) if each != tested}
    if (
        len(others) != 1
        or is_never(intersect_type(type_, tested))
        or t.strip_ai_result(type_) == t.JSON
        or isinstance(tested, t.Literal)
    ):
        return None
    (other,) = others
    return other if other in (t.NULL, t.TEXT, t.BOOLEAN) else None


def _is_only_container(type_: t.Type, tested: t.Array | t.Object) -> bool:
    """Return True if the tested type is the only array, or the only object, among those a value may have."""
    alike = [each for each in inhabited_options(type_) if isinstance(each, type(tested))]
    return (
        t.strip_ai_result(type_) != t.JSON
        and len(alike) == 1
        and alike[0] == tested
        and not is_never(intersect_type(type_, tested))
    )
