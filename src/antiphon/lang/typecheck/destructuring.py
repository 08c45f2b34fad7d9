"""Destructuring of objects and arrays, in declarations and in loops."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import DiagnosticLabel
from antiphon.lang.syntax.foreign_syntax.around_names import is_type_name
from antiphon.lang.syntax.foreign_syntax.table import BUILTIN_TYPE_NAMES, FOREIGN_TYPES
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import is_assignable, join_types
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.fix_hints import report_mismatch
from antiphon.lang.typecheck.reporter import get_name_span
from antiphon.lang.typecheck.symbols import Symbol, SymbolKind
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short


def infer_destructured(c: Checker, node: n.Destructure, kind: SymbolKind) -> list[Symbol]:
    """Return the variables of a declaration with a pattern."""
    pattern = node.pattern
    asks = isinstance(node.value, n.ModelCall | n.AskHuman)
    if isinstance(pattern, n.ArrayPattern):
        wanted = _infer_asked_items(c, pattern) if asks else None
        type_ = c.infer(node.value, wanted)
        _check_item_count(c, pattern, node.value)
        return _make_item_symbols(c, pattern, type_, node.value, kind, node.end, node.is_private)
    leaves: list[n.PatternField] = []
    if asks:
        wanted = _infer_pattern(c, pattern, leaves)
        type_ = c.infer(node.value, wanted)
        _reject_quoted_types(c, leaves)
    else:
        # From an existing object, a pattern takes only the fields it names.
        type_ = c.infer(node.value)
        wanted = _infer_pattern(c, pattern, leaves, seen=_get_value_fields(type_))
    _check_destructurable(c, pattern, node.value, type_, wanted)
    _check_field_aliases(c, pattern, node.value, type_)
    return _make_field_symbols(c, leaves, kind, node.end, node.is_private)


def make_pattern_symbols(
    c: Checker,
    pattern: n.Pattern | n.ArrayPattern,
    type_: t.Type,
    node: n.Expr,
    kind: SymbolKind,
    since: int,
    private: bool,
) -> list[Symbol]:
    """Return the variables of a pattern for a value of this type; a field without a type gets that of the value."""
    if isinstance(pattern, n.ArrayPattern):
        return _make_item_symbols(c, pattern, type_, node, kind, since, private)
    leaves: list[n.PatternField] = []
    wanted = _infer_pattern(c, pattern, leaves, type_)
    _check_destructurable(c, pattern, node, type_, wanted)
    _check_field_aliases(c, pattern, node, type_)
    return _make_field_symbols(c, leaves, kind, since, private)


def _reject_quoted_types(c: Checker, leaves: list[n.PatternField]) -> None:
    """Report `{name: "text"}`, where a type in quotes means that literal text."""
    for each in leaves:
        declared = each.declared
        if isinstance(declared, n.LiteralType) and isinstance(declared.value, str) and is_type_name(declared.value):
            right = FOREIGN_TYPES.get(declared.value, declared.value)
            message = f'`"{declared.value}"` is that text, and no type'
            c.report("V0207", message, declared, f"write `{each.name}: {right}`, without quotes")


# Arrays


def _infer_asked_items(c: Checker, pattern: n.ArrayPattern) -> t.Type | None:
    """Return the array type that an answer must have to be destructured."""
    types: list[t.Type] = []
    for each in pattern.items:
        if each.declared is None:
            where = each.start, each.start + len(each.name)
            c.report("V0406", f"`{each.name}` has no type", where, f"write `{each.name}: text`, or another type")
        else:
            types.append(c.types.resolve(each.declared))
    if not types:
        return None
    found = types[0]
    for each in types[1:]:
        found = join_types(found, each)
    return t.Array(found)


def _check_item_count(c: Checker, pattern: n.ArrayPattern, value: n.Expr) -> None:
    if not isinstance(value, n.ArrayLit) or any(isinstance(each, n.Spread) for each in value.items):
        return
    given, taken = len(value.items), len(pattern.items)
    if given != taken:
        message = f"the array has {given} item{'s' * (given != 1)}, and the pattern {taken}"
        c.report("V0408", message, pattern, "an array is taken apart whole")


def _make_item_symbols(
    c: Checker, pattern: n.ArrayPattern, type_: t.Type, node: n.Expr, kind: SymbolKind, since: int, private: bool
) -> list[Symbol]:
    if not pattern.items:
        c.report("V0417", "the pattern is empty: it takes nothing", pattern, "name an item: `[first]`")
    item = _infer_destructured_item(c, type_, node)
    symbols: dict[str, Symbol] = {}
    for each in pattern.items:
        found = c.types.resolve(each.declared) if each.declared is not None else item
        if not is_assignable(item, found):
            report_mismatch(c, each, item, found, each.name)
        else:
            c.aliases.check(node, item, found)
        if each.name in symbols:
            _report_duplicate(c, each, symbols[each.name])
            each.symbol = symbols[each.name]
            continue
        each.symbol = symbols[each.name] = c.scopes.make_symbol(
            each.name, kind, found, each.start, since, private=private
        )
    return list(symbols.values())


def _infer_destructured_item(c: Checker, type_: t.Type, node: n.Expr) -> t.Type:
    kind = t.get_base_type(t.strip_ai_result(type_))
    if isinstance(kind, t.Array):
        return kind.item
    if kind != t.JSON:
        message = f"only an array can be taken apart into items, found `{format_type_general(type_)}`"
        c.report("V0408", message, node, "for the fields of an object, write `{ … }`")
    return t.JSON


# Objects


def _make_field_symbols(
    c: Checker, leaves: list[n.PatternField], kind: SymbolKind, since: int, private: bool
) -> list[Symbol]:
    taken: dict[str, Symbol] = {}
    for each in leaves:
        if each.name in taken:
            _report_duplicate(c, each, taken[each.name])
            each.symbol = taken[each.name]
            continue
        is_private = private or each.is_private
        found = _get_field_type(each) or t.JSON
        symbol = each.symbol = c.scopes.make_symbol(each.name, kind, found, each.name_start, since, private=is_private)
        taken[each.name] = symbol
    return list(taken.values())


def _report_duplicate(c: Checker, node: n.PatternField | n.PatternItem, first: Symbol) -> None:
    where = (DiagnosticLabel(first.start, first.end, "first here"),)
    c.report("V0407", f"`{node.name}` is in the pattern twice", get_name_span(node), "leave one of them out", where)


def _infer_pattern(
    c: Checker,
    node: n.Pattern,
    leaves: list[n.PatternField],
    of: t.Type | None = None,
    seen: dict[str, t.ObjectField] | None = None,
) -> t.Object:
    """Return the object type of a pattern. With `of`, the type of the value, its fields need no types.

    `seen` holds the fields of the value, only to suggest missing types.
    """
    if not node.fields:
        c.report("V0417", "the pattern is empty: it takes nothing", node, "name a field: `{ name: text }`")
    given = _get_value_fields(of) if seen is None else seen
    fields: dict[str, t.ObjectField] = {}
    for each in node.fields:
        known = given.get(each.name)
        type_ = _infer_pattern_field(c, each, leaves, of, known)
        optional = each.default is not None
        fields[each.name] = t.ObjectField(type_, optional, each.description)
    node.type = t.Object(fields)
    return node.type


def _get_value_fields(of: t.Type | None) -> dict[str, t.ObjectField]:
    kind = t.get_base_type(t.remove_null(t.strip_ai_result(of))) if of is not None else t.JSON
    return kind.fields if isinstance(kind, t.Object) else {}


def _infer_pattern_field(
    c: Checker, node: n.PatternField, leaves: list[n.PatternField], of: t.Type | None, known: t.ObjectField | None
) -> t.Type:
    if node.nested is not None:
        inner = known.type if known is not None else t.JSON
        type_ = _infer_pattern(
            c, node.nested, leaves, None if of is None else inner, None if of else _get_value_fields(inner)
        )
        if node.default is not None:
            c.check_value(node.default, type_, node.name)
        return type_
    leaves.append(node)
    if node.declared is not None:
        type_ = t.JSON if _is_rename(c, node) else c.types.resolve(node.declared)
        if type_ is t.MODEL:
            c.report("V0301", f"the field `{node.name}` cannot be a model", node.declared)
    elif (
        of is not None
        and known is None
        and node.default is not None
        and t.get_base_type(t.strip_ai_result(of)) != t.JSON
    ):
        # The value has no such field, so the type is that of the default.
        node.type = t.widen_type(t.strip_ai_result(c.infer(node.default)))
        return node.type
    elif of is not None:
        found = t.JSON if known is None else known.type if node.default is not None else known.read
        node.type = type_ = t.remove_null(found) if node.default is not None else found
    else:
        hint = f"write `{node.name}: text`, or another type"
        if known is not None:
            hint = f"write `{node.name}: {format_type_general(known.read)}`"
        c.report("V0406", f"the field `{node.name}` has no type", get_name_span(node), hint, is_habit=True)
        type_ = t.JSON
    if node.default is not None:
        c.check_value(node.default, type_, node.name)
    return type_


def _is_rename(c: Checker, node: n.PatternField) -> bool:
    """Return True and report it if a name is written in place of the type, as JavaScript renames a field."""
    declared = node.declared
    if (
        not isinstance(declared, n.TypeName)
        or declared.name in BUILTIN_TYPE_NAMES
        or declared.name.lower() in FOREIGN_TYPES
    ):
        return False
    if c.scopes.find(declared.name) is not None:
        return False
    hint = f"a type stands behind the `:`; for another name write `const {declared.name} = x.{node.name}`"
    c.report("V0206", f"there is no type `{declared.name}`", declared, hint, is_habit=True)
    declared.type = t.JSON
    c.scopes.suppress_unknown_name(declared.name)
    return True


def _check_destructurable(c: Checker, pattern: n.Pattern, value: n.Expr, type_: t.Type, wanted: t.Object) -> None:
    kind = t.strip_ai_result(type_)
    if kind is t.JSON or kind is wanted:
        return
    if not isinstance(t.get_base_type(t.remove_null(kind)), t.Object):
        message = f"only an object can be taken apart, found `{format_type_general(kind)}`"
        c.report("V0408", message, value, "an AI call, json, a function that gives an object, or an object")
        return
    if isinstance(kind, t.Object):
        _allow_missing_fields(pattern, kind)
    if is_assignable(kind, wanted):
        return
    if not isinstance(kind, t.Object):
        report_mismatch(c, value, kind, wanted, "")
        return
    _check_pattern_fields(c, pattern, kind)


def _allow_missing_fields(pattern: n.Pattern, kind: t.Object) -> None:
    """Make nullable fields of a pattern optional where the object's field is: a missing field then reads as null."""
    assert isinstance(pattern.type, t.Object)
    for each in pattern.fields:
        given, taken = kind.fields.get(each.name), pattern.type.fields[each.name]
        if given is not None and given.optional and t.is_nullable(taken.type):
            pattern.type.fields[each.name] = t.ObjectField(taken.type, True, taken.description)
        elif each.nested is not None and given is not None and isinstance(given.type, t.Object):
            _allow_missing_fields(each.nested, given.type)


def _check_pattern_fields(c: Checker, pattern: n.Pattern, kind: t.Object) -> None:
    """Report which fields of the pattern the object lacks, or has with another type."""
    for each in pattern.fields:
        given = kind.fields.get(each.name)
        inner = given.type if given is not None else None
        if given is None and each.default is None:
            hint = c.hint_similar(each.name, kind.fields)
            c.report("V0306", f"`{format_type_general(kind)}` has no field `{each.name}`", get_name_span(each), hint)
        elif given is not None and given.optional and each.default is None and not _is_field_nullable(each):
            default, null = (
                f"{each.name}: {format_type_short(given.type)} = …",
                f"{each.name}: {format_type_short(given.read)}",
            )
            hint = f"give it a default, `{default}`, or let it be null: `{null}`"
            c.report("V0301", f"the field `{each.name}` may be missing", get_name_span(each), hint)
        elif each.nested is not None and isinstance(inner, t.Object):
            _check_pattern_fields(c, each.nested, inner)
        elif inner is not None and (wanted := _get_field_type(each)) is not None and not is_assignable(inner, wanted):
            report_mismatch(c, each, inner, wanted, each.name)


def _check_field_aliases(c: Checker, pattern: n.Pattern, value: n.Expr, type_: t.Type) -> None:
    """Check the mutable fields that are extracted, since they are shared with the object."""
    given = _get_value_fields(type_)
    for each in pattern.fields:
        field, wanted = given.get(each.name), _get_field_type(each)
        if field is None or wanted is None:
            continue
        if each.nested is not None:
            _check_field_aliases(c, each.nested, value, field.type)
        elif is_assignable(field.type, wanted):
            c.aliases.check(value, field.type, wanted, json_too=True)


def _is_field_nullable(node: n.PatternField) -> bool:
    type_ = _get_field_type(node)
    return type_ is not None and t.is_nullable(type_)


def _get_field_type(node: n.PatternField) -> t.Type | None:
    if node.type is not None:
        return node.type
    return node.declared.type if node.declared is not None else node.nested.type if node.nested is not None else None
