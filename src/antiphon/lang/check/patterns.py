"""Patterns: taking objects and arrays apart, in declarations and in loops."""

from __future__ import annotations

from antiphon.lang.check.fitting import assignable, join
from antiphon.lang.check.notation import general, shown
from antiphon.lang.check.settling import check_shared
from antiphon.lang.check.state import Checker
from antiphon.lang.check.symbols import Kind, Symbol
from antiphon.lang.check.types import (
    JSON,
    MODEL,
    Array,
    Field,
    Object,
    Type,
    base,
    may_be_null,
    plain,
    widen,
    without_null,
)
from antiphon.lang.check.written_types import meaning
from antiphon.lang.syntax.diagnostics import Label
from antiphon.lang.syntax.habit_names import is_name_of_type
from antiphon.lang.syntax.habits import NAMED, TYPES
from antiphon.lang.syntax.nodes import (
    ArrayLit,
    ArrayPattern,
    Ask,
    AskHuman,
    Destructure,
    Expr,
    LiteralType,
    Pattern,
    PatternField,
    PatternItem,
    Spread,
    TypeName,
)


def taken_apart(c: Checker, node: Destructure, kind: Kind) -> list[Symbol]:
    """The variables of a declaration with a pattern."""
    pattern = node.pattern
    asks = isinstance(node.value, Ask | AskHuman)
    if isinstance(pattern, ArrayPattern):
        wanted = _asked_items(c, pattern) if asks else None
        type_ = c.expr(node.value, wanted)
        _check_count(c, pattern, node.value)
        return _items(c, pattern, type_, node.value, kind, node.end, node.is_private)
    leaves: list[PatternField] = []
    if asks:
        wanted = _pattern(c, pattern, leaves)
        type_ = c.expr(node.value, wanted)
        _refuse_quoted(c, leaves)
    else:
        # Of an object that is there already, a pattern takes what it names.
        type_ = c.expr(node.value)
        wanted = _pattern(c, pattern, leaves, seen=_given_fields(type_))
    _check_taken_apart(c, pattern, node.value, type_, wanted)
    _check_leaves(c, pattern, node.value, type_)
    return _leaf_symbols(c, leaves, kind, node.end, node.is_private)


def pattern_symbols(
    c: Checker, pattern: Pattern | ArrayPattern, type_: Type, node: Expr, kind: Kind, since: int, private: bool
) -> list[Symbol]:
    """The variables of a pattern for a value of this type; what has no type is what the value has there."""
    if isinstance(pattern, ArrayPattern):
        return _items(c, pattern, type_, node, kind, since, private)
    leaves: list[PatternField] = []
    wanted = _pattern(c, pattern, leaves, type_)
    _check_taken_apart(c, pattern, node, type_, wanted)
    _check_leaves(c, pattern, node, type_)
    return _leaf_symbols(c, leaves, kind, since, private)


def _refuse_quoted(c: Checker, leaves: list[PatternField]) -> None:
    """`{name: "text"}`: a type in quotes would be that one text."""
    for each in leaves:
        declared = each.declared
        if isinstance(declared, LiteralType) and isinstance(declared.value, str) and is_name_of_type(declared.value):
            right = TYPES.get(declared.value, declared.value)
            message = f'`"{declared.value}"` is that text, and no type'
            c.report("V0207", message, declared, f"write `{each.name}: {right}`, without quotes")


# Arrays


def _asked_items(c: Checker, pattern: ArrayPattern) -> Type | None:
    """What an answer is asked for that is taken apart."""
    types: list[Type] = []
    for each in pattern.items:
        if each.declared is None:
            where = each.start, each.start + len(each.name)
            c.report("V0406", f"`{each.name}` has no type", where, f"write `{each.name}: text`, or another type")
        else:
            types.append(meaning(c, each.declared))
    if not types:
        return None
    found = types[0]
    for each in types[1:]:
        found = join(found, each)
    return Array(found)


def _check_count(c: Checker, pattern: ArrayPattern, value: Expr) -> None:
    if not isinstance(value, ArrayLit) or any(isinstance(each, Spread) for each in value.items):
        return
    given, taken = len(value.items), len(pattern.items)
    if given != taken:
        message = f"the array has {given} item{'s' * (given != 1)}, and the pattern {taken}"
        c.report("V0408", message, pattern, "an array is taken apart whole")


def _items(
    c: Checker, pattern: ArrayPattern, type_: Type, node: Expr, kind: Kind, since: int, private: bool
) -> list[Symbol]:
    if not pattern.items:
        c.report("V0417", "the pattern is empty: it takes nothing", pattern, "name an item: `[first]`")
    item = _item_type(c, type_, node)
    symbols: dict[str, Symbol] = {}
    for each in pattern.items:
        found = meaning(c, each.declared) if each.declared is not None else item
        if not assignable(item, found):
            c.mismatch(each, item, found, each.name)
        else:
            check_shared(c, node, item, found)
        if each.name in symbols:
            _report_twice(c, each, symbols[each.name])
            each.symbol = symbols[each.name]
            continue
        each.symbol = symbols[each.name] = c.symbol(each.name, kind, found, each.start, since, private=private)
    return list(symbols.values())


def _item_type(c: Checker, type_: Type, node: Expr) -> Type:
    kind = base(plain(type_))
    if isinstance(kind, Array):
        return kind.item
    if kind != JSON:
        message = f"only an array can be taken apart into items, found `{general(type_)}`"
        c.report("V0408", message, node, "for the fields of an object, write `{ … }`")
    return JSON


# Objects


def _leaf_symbols(c: Checker, leaves: list[PatternField], kind: Kind, since: int, private: bool) -> list[Symbol]:
    taken: dict[str, Symbol] = {}
    for each in leaves:
        if each.name in taken:
            _report_twice(c, each, taken[each.name])
            each.symbol = taken[each.name]
            continue
        is_private = private or each.is_private
        found = _leaf_type(each) or JSON
        symbol = each.symbol = c.symbol(each.name, kind, found, each.name_start, since, private=is_private)
        taken[each.name] = symbol
    return list(taken.values())


def _report_twice(c: Checker, node: PatternField | PatternItem, first: Symbol) -> None:
    where = (Label(first.start, first.end, "first here"),)
    c.report("V0407", f"`{node.name}` is in the pattern twice", _name(node), "leave one of them out", where)


def _name(node: PatternField | PatternItem) -> tuple[int, int]:
    start = node.name_start if isinstance(node, PatternField) else node.start
    return start, start + len(node.name)


def _pattern(
    c: Checker,
    node: Pattern,
    leaves: list[PatternField],
    of: Type | None = None,
    seen: dict[str, Field] | None = None,
) -> Object:
    """The type of what a pattern takes apart; with `of`, the type of the value, its fields need none.

    What is `seen` of a value only helps to say which types are missing.
    """
    if not node.fields:
        c.report("V0417", "the pattern is empty: it takes nothing", node, "name a field: `{ name: text }`")
    given = _given_fields(of) if seen is None else seen
    fields: dict[str, Field] = {}
    for each in node.fields:
        known = given.get(each.name)
        type_ = _pattern_field(c, each, leaves, of, known)
        optional = each.default is not None
        fields[each.name] = Field(type_, optional, each.description)
    node.type = Object(fields)
    return node.type


def _given_fields(of: Type | None) -> dict[str, Field]:
    kind = base(without_null(plain(of))) if of is not None else JSON
    return kind.fields if isinstance(kind, Object) else {}


def _pattern_field(
    c: Checker, node: PatternField, leaves: list[PatternField], of: Type | None, known: Field | None
) -> Type:
    if node.nested is not None:
        inner = known.type if known is not None else JSON
        type_ = _pattern(c, node.nested, leaves, None if of is None else inner, None if of else _given_fields(inner))
        if node.default is not None:
            c.want(node.default, type_, node.name)
        return type_
    leaves.append(node)
    if node.declared is not None:
        type_ = JSON if _renames(c, node) else meaning(c, node.declared)
        if type_ is MODEL:
            c.report("V0301", f"the field `{node.name}` cannot be a model", node.declared)
    elif of is not None and known is None and node.default is not None and base(plain(of)) != JSON:
        # There is no such field: it is what it is else.
        node.type = widen(plain(c.expr(node.default)))
        return node.type
    elif of is not None:
        found = JSON if known is None else known.type if node.default is not None else known.read
        node.type = type_ = without_null(found) if node.default is not None else found
    else:
        hint = f"write `{node.name}: text`, or another type"
        if known is not None:
            hint = f"write `{node.name}: {general(known.read)}`"
        c.report("V0406", f"the field `{node.name}` has no type", _name(node), hint, is_habit=True)
        type_ = JSON
    if node.default is not None:
        c.want(node.default, type_, node.name)
    return type_


def _renames(c: Checker, node: PatternField) -> bool:
    """Whether a name stands where the type does, as JavaScript renames a field; then it is told, and known."""
    declared = node.declared
    if not isinstance(declared, TypeName) or declared.name in NAMED or declared.name.lower() in TYPES:
        return False
    if c.scope.find(declared.name) is not None or c.module.parent is None:
        return False
    hint = f"a type stands behind the `:`; for another name write `const {declared.name} = x.{node.name}`"
    c.report("V0206", f"there is no type `{declared.name}`", declared, hint, is_habit=True)
    declared.type = JSON
    c.module.parent.names[declared.name] = Symbol(declared.name, "let", JSON, used=True)
    return True


def _check_taken_apart(c: Checker, pattern: Pattern, value: Expr, type_: Type, wanted: Object) -> None:
    kind = plain(type_)
    if kind is JSON or kind is wanted:
        return
    if not isinstance(base(without_null(kind)), Object):
        message = f"only an object can be taken apart, found `{general(kind)}`"
        c.report("V0408", message, value, "an AI call, json, a function that gives an object, or an object")
        return
    if isinstance(kind, Object):
        _let_be_null(pattern, kind)
    if assignable(kind, wanted):
        return
    if not isinstance(kind, Object):
        c.mismatch(value, kind, wanted, "")
        return
    _check_pattern_fields(c, pattern, kind)


def _let_be_null(pattern: Pattern, kind: Object) -> None:
    """A field that may be missing in the object is null then, where the pattern lets it be null."""
    assert isinstance(pattern.type, Object)
    for each in pattern.fields:
        given, taken = kind.fields.get(each.name), pattern.type.fields[each.name]
        if given is not None and given.optional and may_be_null(taken.type):
            pattern.type.fields[each.name] = Field(taken.type, True, taken.description)
        elif each.nested is not None and given is not None and isinstance(given.type, Object):
            _let_be_null(each.nested, given.type)


def _check_pattern_fields(c: Checker, pattern: Pattern, kind: Object) -> None:
    """Say which fields of the pattern the object does not have, or has otherwise."""
    for each in pattern.fields:
        given = kind.fields.get(each.name)
        inner = given.type if given is not None else None
        if given is None and each.default is None:
            hint = c.meant(each.name, kind.fields)
            c.report("V0306", f"`{general(kind)}` has no field `{each.name}`", _name(each), hint)
        elif given is not None and given.optional and each.default is None and not _may_be_null(each):
            default, null = f"{each.name}: {shown(given.type)} = …", f"{each.name}: {shown(given.read)}"
            hint = f"give it a default, `{default}`, or let it be null: `{null}`"
            c.report("V0301", f"the field `{each.name}` may be missing", _name(each), hint)
        elif each.nested is not None and isinstance(inner, Object):
            _check_pattern_fields(c, each.nested, inner)
        elif inner is not None and (wanted := _leaf_type(each)) is not None and not assignable(inner, wanted):
            c.mismatch(each, inner, wanted, each.name)


def _check_leaves(c: Checker, pattern: Pattern, value: Expr, type_: Type) -> None:
    """What is taken out and can change is shared with the object it is taken from."""
    given = _given_fields(type_)
    for each in pattern.fields:
        field, wanted = given.get(each.name), _leaf_type(each)
        if field is None or wanted is None:
            continue
        if each.nested is not None:
            _check_leaves(c, each.nested, value, field.type)
        elif assignable(field.type, wanted):
            check_shared(c, value, field.type, wanted, json_too=True)


def _may_be_null(node: PatternField) -> bool:
    type_ = _leaf_type(node)
    return type_ is not None and may_be_null(type_)


def _leaf_type(node: PatternField) -> Type | None:
    if node.type is not None:
        return node.type
    return node.declared.type if node.declared is not None else node.nested.type if node.nested is not None else None
