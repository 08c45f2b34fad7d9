"""Conditional values: `c ? a : b`, `x is T` and `match`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import (
    inhabited_options,
    intersect_type,
    is_assignable,
    is_never,
    join_branches,
    make_union,
    subtract_type,
)
from antiphon.lang.typecheck.blocks import check_block, check_statements
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.fix_hints import report_mismatch
from antiphon.lang.typecheck.narrowing import infer_tested_facts
from antiphon.lang.typecheck.operators import check_condition, warn_constant_condition
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short


def infer_conditional(c: Checker, node: n.Conditional, wanted: t.Type | None) -> t.Type:
    """Infer the type of `c ? a : b`: the expected type if both branches fit, else their common type."""
    check_condition(c, node.condition, c.infer(node.condition, t.BOOLEAN))
    warn_constant_condition(c, node.condition)
    for branch, holds in ((node.then, True), (node.otherwise, False)):
        outside = c.narrowing.begin_branch()
        c.narrowing.narrow_by_condition(node.condition, holds)
        c.infer(branch, wanted)
        c.narrowing.restore(outside)
    return _join_values(c, node, [node.then, node.otherwise], wanted)


def infer_is_test(c: Checker, node: n.Is, _: t.Type | None) -> t.Type:
    """Check `x is T`; a test with a constant result is reported."""
    type_ = c.infer(node.value)
    tested = _resolve_tested_type(c, node.tested)
    possible = _check_test_possible(c, node.value, node.tested, type_, tested)
    if possible and t.strip_ai_result(type_) != t.JSON and is_never(subtract_type(type_, tested)):
        c.warn("V0703", f"this is always true: it is `{format_type_general(type_)}`", node, "leave it out")
    return t.BOOLEAN


def infer_match(c: Checker, node: n.Match, wanted: t.Type | None) -> t.Type:
    """Infer the type of a `match` expression from its arms."""
    values: list[n.Expr] = []
    for arm in _narrow_arms(c, node):
        if isinstance(arm.body, n.Throw):
            check_statements(c, [arm.body])
        elif not isinstance(arm.body, n.Block):
            c.infer(arm.body, wanted)
            values.append(arm.body)
    return _join_values(c, node, values, wanted)


def check_match_statement(c: Checker, node: n.MatchStatement) -> bool:
    """Check a `match` statement. The code after it is unreachable if the ends of all arms are."""
    ways = [
        c.narrowing.facts_after_block()
        for arm in _narrow_arms(c, node)
        if isinstance(arm.body, n.Block) and not check_block(c, arm.body)
    ]
    if ways:
        c.narrowing.merge(ways)
    return bool(node.arms) and not ways


def _join_values(c: Checker, node: n.Expr, values: list[n.Expr], wanted: t.Type | None) -> t.Type:
    """Return the type of several alternatives: the expected type, which each must fit, or their common type."""
    goal = t.strip_ai_result(wanted) if wanted is not None else t.JSON
    found = [each.type or t.JSON for each in values]
    if wanted is None and any(map(t.is_mutable, found)):
        c.aliases.record_combined(node)
    if goal in (t.JSON, t.NEVER) or not values:
        return join_branches(found)
    for node, type_ in zip(values, found, strict=True):
        if not is_assignable(type_, goal):
            report_mismatch(c, node, type_, goal, "")
    return t.AIResultType(goal) if all(isinstance(each, t.AIResultType) for each in found) else goal


def _narrow_arms(c: Checker, node: n.Match | n.MatchStatement) -> Iterator[n.Arm]:
    """Yield each arm while the value is narrowed to its patterns; at last, report values without an arm."""
    patterns = [[(each, _resolve_tested_type(c, each)) for each in arm.patterns] for arm in node.arms]
    has_else = any(arm.is_else for arm in node.arms)
    type_ = _infer_matched_value(c, node.value, [type_ for each in patterns for _, type_ in each], has_else)
    covered, left = list[t.Type](), type_
    for arm, own in zip(node.arms, patterns, strict=True):
        types = [each for _, each in own]
        _check_arm_reachable(c, node.value, arm, own, type_, left, covered)
        outside = c.narrowing.begin_branch()
        c.narrowing.record(
            infer_tested_facts(node.value, make_union(covered if arm.is_else else types), not arm.is_else)
        )
        yield arm
        c.narrowing.restore(outside)
        covered += types if not arm.is_else else [type_]
        left = subtract_type(left, make_union(types)) if not arm.is_else else t.NEVER
    if not is_never(left) and not any(each is t.JSON for _, each in chain(*patterns)):
        where = node.start, node.start + len("match")
        if isinstance(t.strip_ai_result(left), t.SimpleType) and t.strip_ai_result(left) in (t.JSON, t.TEXT, t.NUMBER):
            message = f"this `match` has no arm for every other `{format_type_short(left)}`"
        else:
            message = f"this `match` has no arm for `{format_type_short(left)}`"
        c.report("V0361", message, where, "add one, or `else => …`")


def _infer_matched_value(c: Checker, node: n.Expr, types: list[t.Type], has_else: bool) -> t.Type:
    """Infer the type of the matched value.

    A model is asked for one of the arms' types, or with `else`, for their base types.
    """
    wanted = None
    if isinstance(node, n.ModelCall | n.AskHuman) and types:
        wanted = make_union(
            t.get_base_type(each) if has_else and isinstance(each, t.Literal) else each for each in types
        )
    type_ = c.infer(node, wanted)
    # The value of a constant may be edited later, so its base type is matched.
    return t.widen_type(type_) if isinstance(t.strip_ai_result(type_), t.Literal) and wanted is None else type_


def _resolve_tested_type(c: Checker, node: n.TypeNode) -> t.Type:
    """Return a type that values can be tested for; report functions and other types that are not data."""
    type_ = c.types.resolve(node)
    if not is_assignable(type_, t.JSON) or any(isinstance(each, t.CallableType) for each in inhabited_options(type_)):
        c.report(
            "V0360",
            f"of no value it can be told whether it is a `{format_type_short(type_)}`",
            node,
            "only data is tested",
        )
        return t.JSON
    return type_


def _check_test_possible(c: Checker, value: n.Expr, node: n.TypeNode, type_: t.Type, tested: t.Type) -> bool:
    """Return True if a value can be of the tested type; report or warn if it cannot."""
    if tested == t.JSON or not is_never(intersect_type(type_, tested)):
        return True
    declared = value.symbol.type if isinstance(value, n.Name) and value.symbol is not None else type_
    if not is_never(intersect_type(declared, tested)):
        c.warn(
            "V0720",
            f"it is never `{format_type_short(tested)}` here: it was found to be `{format_type_short(type_)}`",
            node,
        )
        return False
    known = [
        each.value for each in inhabited_options(type_) if isinstance(each, t.Literal) and isinstance(each.value, str)
    ]
    meant = isinstance(tested, t.Literal) and isinstance(tested.value, str) and c.find_similar(tested.value, known)
    hint = f'did you mean "{meant}"?' if meant else "leave it out"
    c.report("V0303", f"`{format_type_short(type_)}` is never `{format_type_short(tested)}`", node, hint)
    return False


def _check_arm_reachable(
    c: Checker,
    value: n.Expr,
    arm: n.Arm,
    own: list[tuple[n.TypeNode, t.Type]],
    type_: t.Type,
    left: t.Type,
    covered: list[t.Type],
) -> None:
    """Warn of an arm whose values the arms before it already cover."""
    if arm.is_else:
        if is_never(left) and arm.patterns == []:
            c.warn(
                "V0720", "this `else` is never reached: the arms before it are for every value", (arm.start, arm.arrow)
            )
        return
    seen = list(covered)
    for node, tested in own:
        possible = _check_test_possible(c, value, node, type_, tested)
        if possible and seen and is_assignable(tested, make_union(seen), certain=True):
            hint = "leave it out, or put it before the other; `else` comes last"
            c.warn("V0720", f"this is never reached: an arm before it is for `{format_type_short(tested)}`", node, hint)
        seen.append(tested)
