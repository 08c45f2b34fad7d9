"""Choosing by what a value is: `c ? a : b`, `x is T`, `match`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from antiphon.lang.check.fitting import assignable
from antiphon.lang.check.learning import taught
from antiphon.lang.check.narrowing import meet, narrow, note, standing
from antiphon.lang.check.notation import general, shown
from antiphon.lang.check.operators import check_condition, warn_constant
from antiphon.lang.check.parts import is_never, joined, kept, options, rest, union
from antiphon.lang.check.state import Checker
from antiphon.lang.check.types import (
    AI,
    BOOLEAN,
    JSON,
    NEVER,
    NUMBER,
    TEXT,
    Callable,
    Literal,
    Simple,
    Type,
    base,
    is_mutable,
    plain,
    widen,
)
from antiphon.lang.check.written_types import meaning
from antiphon.lang.syntax.nodes import (
    Arm,
    Ask,
    AskHuman,
    Block,
    Conditional,
    Expr,
    Is,
    Match,
    MatchStatement,
    Name,
    Throw,
    TypeNode,
)


def conditional(c: Checker, node: Conditional, wanted: Type | None) -> Type:
    """`c ? a : b`: of the type that is wanted, if both are; else what they have in common."""
    check_condition(c, node.condition, c.expr(node.condition, BOOLEAN))
    warn_constant(c, node.condition)
    before = c.narrowed
    for branch, holds in ((node.then, True), (node.otherwise, False)):
        c.narrowed = dict(before)
        narrow(c, node.condition, holds)
        c.expr(branch, wanted)
    c.narrowed = before
    return _together(c, node, [node.then, node.otherwise], wanted)


def is_(c: Checker, node: Is, _: Type | None) -> Type:
    """`x is T`: a test of what a value is; one that is always the same is a mistake."""
    type_ = c.expr(node.value)
    tested = _tested(c, node.tested)
    possible = _check_possible(c, node.value, node.tested, type_, tested)
    if possible and plain(type_) != JSON and is_never(rest(type_, tested)):
        c.warn("V0703", f"this is always true: it is `{general(type_)}`", node, "leave it out")
    return BOOLEAN


def match(c: Checker, node: Match, wanted: Type | None) -> Type:
    """`match` as an expression: typed as the arms are together."""
    values: list[Expr] = []
    for arm in _arms(c, node):
        if isinstance(arm.body, Throw):
            c.statements([arm.body])
        elif not isinstance(arm.body, Block):
            c.expr(arm.body, wanted)
            values.append(arm.body)
    return _together(c, node, values, wanted)


def match_statement(c: Checker, node: MatchStatement) -> bool:
    """`match` as a statement: nothing after it is reached if nothing is after any of its arms."""
    ways = [standing(c, c.left) for arm in _arms(c, node) if isinstance(arm.body, Block) and not c.block(arm.body)]
    if ways:
        meet(c, ways)
    return bool(node.arms) and not ways


def _together(c: Checker, node: Expr, values: list[Expr], wanted: Type | None) -> Type:
    """The type of several values of which one is taken: the wanted one, which each has to fit."""
    goal = plain(wanted) if wanted is not None else JSON
    found = [each.type or JSON for each in values]
    if wanted is None and any(map(is_mutable, found)):
        c.mixed.append(node)
    if goal in (JSON, NEVER) or not values:
        return joined(found)
    for node, type_ in zip(values, found, strict=True):
        if not assignable(type_, goal):
            c.mismatch(node, type_, goal, "")
    return AI(goal) if all(isinstance(each, AI) for each in found) else goal


def _arms(c: Checker, node: Match | MatchStatement) -> Iterator[Arm]:
    """The arms, each while what it says of the value is known; after the last, what no arm is for is reported."""
    patterns = [[(each, _tested(c, each)) for each in arm.patterns] for arm in node.arms]
    has_else = any(arm.is_else for arm in node.arms)
    type_ = _value_type(c, node.value, [type_ for each in patterns for _, type_ in each], has_else)
    before, covered, left = c.narrowed, list[Type](), type_
    for arm, own in zip(node.arms, patterns, strict=True):
        types = [each for _, each in own]
        _check_reached(c, node.value, arm, own, type_, left, covered)
        c.narrowed = dict(before)
        note(c, taught(node.value, union(covered if arm.is_else else types), not arm.is_else))
        yield arm
        covered += types if not arm.is_else else [type_]
        left = rest(left, union(types)) if not arm.is_else else NEVER
    c.narrowed = before
    if not is_never(left) and not any(each is JSON for _, each in chain(*patterns)):
        _report_missing(c, node, left)


def _value_type(c: Checker, node: Expr, types: list[Type], has_else: bool) -> Type:
    """The type of what is looked at; an answer is asked for as one of the arms, and where there is `else`, any such."""
    wanted = None
    if isinstance(node, Ask | AskHuman) and types:
        wanted = union(base(each) if has_else and isinstance(each, Literal) else each for each in types)
    type_ = c.expr(node, wanted)
    # What a constant is may be changed one day: of its kind all values are looked for.
    return widen(type_) if isinstance(plain(type_), Literal) and wanted is None else type_


def _tested(c: Checker, node: TypeNode) -> Type:
    """A type that a value can be looked at for."""
    type_ = meaning(c, node)
    if not assignable(type_, JSON) or any(isinstance(each, Callable) for each in options(type_)):
        c.report("V0360", f"of no value it can be told whether it is a `{shown(type_)}`", node, "only data is tested")
        return JSON
    return type_


def _check_possible(c: Checker, value: Expr, node: TypeNode, type_: Type, tested: Type) -> bool:
    """Whether a value can be of the tested type; one that cannot is a mistake, or ruled out by what stands before."""
    if tested == JSON or not is_never(kept(type_, tested)):
        return True
    declared = value.symbol.type if isinstance(value, Name) and value.symbol is not None else type_
    if not is_never(kept(declared, tested)):
        c.warn("V0720", f"it is never `{shown(tested)}` here: it was found to be `{shown(type_)}`", node)
        return False
    known = [each.value for each in options(type_) if isinstance(each, Literal) and isinstance(each.value, str)]
    meant = isinstance(tested, Literal) and isinstance(tested.value, str) and c.nearest(tested.value, known)
    hint = f'did you mean "{meant}"?' if meant else "leave it out"
    c.report("V0303", f"`{shown(type_)}` is never `{shown(tested)}`", node, hint)
    return False


def _check_reached(
    c: Checker, value: Expr, arm: Arm, own: list[tuple[TypeNode, Type]], type_: Type, left: Type, covered: list[Type]
) -> None:
    """Warn of an arm that the ones before it leave nothing for."""
    if arm.is_else:
        if is_never(left) and arm.patterns == []:
            c.warn(
                "V0720", "this `else` is never reached: the arms before it are for every value", (arm.start, arm.arrow)
            )
        return
    seen = list(covered)
    for node, tested in own:
        possible = _check_possible(c, value, node, type_, tested)
        if possible and seen and assignable(tested, union(seen), certain=True):
            hint = "leave it out, or put it before the other; `else` comes last"
            c.warn("V0720", f"this is never reached: an arm before it is for `{shown(tested)}`", node, hint)
        seen.append(tested)


def _report_missing(c: Checker, node: Match | MatchStatement, left: Type) -> None:
    where = node.start, node.start + len("match")
    if isinstance(plain(left), Simple) and plain(left) in (JSON, TEXT, NUMBER):
        message = f"this `match` has no arm for every other `{shown(left)}`"
    else:
        message = f"this `match` has no arm for `{shown(left)}`"
    c.report("V0361", message, where, "add one, or `else => …`")
