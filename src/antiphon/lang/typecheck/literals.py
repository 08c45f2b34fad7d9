"""Literals: numbers, strings with interpolations, arrays and objects."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import DiagnosticLabel
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import is_assignable, join_types
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.fix_hints import report_mismatch
from antiphon.lang.typecheck.invariance import widen_fresh
from antiphon.lang.typecheck.lint import warn_of_double_braces, warn_of_plain_braces
from antiphon.lang.typecheck.names import check_interpolation, infer_tool_name
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short, hint_fields

#: Composite types, and the depth and size beyond which a nested value is typed as json.
_COMPOSITE_CLASSES = (t.Array, t.Object)
_MAX_DEPTH, _MAX_SIZE = 12, 100


def infer_scalar(_: Checker, node: n.NumberLit | n.BoolLit | n.NullLit | n.BadExpr, __: t.Type | None) -> t.Type:
    """Return the type of `42`, `true` or `null`; json for an unreadable expression."""
    if isinstance(node, n.NumberLit | n.BoolLit):
        return t.make_literal(node.value)
    return t.NULL if isinstance(node, n.NullLit) else t.JSON


def infer_text(c: Checker, node: n.TextLit, wanted: t.Type | None) -> t.Type:
    """Return the type of a string: a literal type, or text if it has interpolations."""
    parts = node.parts
    if not parts:
        return t.make_literal("")
    for part in parts:
        if isinstance(part, str) and ("{" in part or "$" in part):
            warn_of_plain_braces(c, node)
            break
    if len(parts) == 1 and type(parts[0]) is str:
        return t.make_literal(parts[0])
    for part in parts:
        if isinstance(part, n.Interpolation):
            check_interpolation(c, part)
            if not part.dollar:
                warn_of_double_braces(c, part)
    if wanted is t.PROMPT:
        check_prompt_values(c, node)
    return t.TEXT


def infer_array(c: Checker, node: n.ArrayLit, wanted: t.Type | None) -> t.Type:
    """Return the type of `[a, b]`: each item is checked against the expected type, or the items are joined."""
    goal = _find_wanted_type(wanted, t.Array)
    if isinstance(goal, t.Array):
        for item in node.items:
            if isinstance(item, n.Spread):
                check_spread_items(c, item, goal)
                continue
            tool = (
                infer_tool_name(c, item) if type(item) is n.Name and not isinstance(goal.item, t.CallableType) else None
            )
            if tool is None:
                c.check_value(item, goal.item, "")
            elif goal.item is not tool:
                report_mismatch(c, item, tool, goal.item, "")
        return wanted if wanted is not None and not isinstance(wanted, t.Union) else goal
    type_: t.Type = t.NEVER
    for item in node.items:
        if isinstance(item, n.Spread):
            type_ = (
                join_types(type_, infer_spread_items(c, item)) if type_ is not t.NEVER else infer_spread_items(c, item)
            )
            continue
        found = infer_tool_name(c, item) if type(item) is n.Name else None
        held = found or widen_fresh(item, _limit_nested_type(c.infer(item)), whole=False)
        type_ = held if type_ is t.NEVER else type_ if held is type_ else join_types(type_, held)
    if wanted is None and len(node.items) > 1 and t.is_mutable(type_):
        c.aliases.record_combined(node)
    return t.Array(type_)


def infer_object(c: Checker, node: n.ObjectLit, wanted: t.Type | None) -> t.Type:
    """Return the type of `{a: 1}`: the expected type, which each field must fit, or one of just these fields."""
    goal = _find_wanted_object(node, wanted) or _find_wanted_type(wanted, t.Map)
    if isinstance(goal, t.Map):
        _index_entries(c, node)
        for entry in node.entries:
            if isinstance(entry, n.Spread):
                check_spread_values(c, entry, goal)
            else:
                c.check_value(entry.value, goal.value, entry.key)
        return goal
    if isinstance(goal, t.Object):
        return goal if _check_object_fields(c, node, goal) else t.JSON
    _index_entries(c, node)
    fields: dict[str, t.ObjectField] = {}
    known = True
    for entry in node.entries:
        if isinstance(entry, n.Spread):
            known = add_spread_fields(c, entry, fields, None) and known
            if wanted is None:
                c.aliases.record_combined(node)
        else:
            fields[entry.key] = t.ObjectField(_limit_nested_type(c.infer(entry.value)))
    return t.Object(fields) if known else t.JSON


def _find_wanted_object(node: n.ObjectLit, wanted: t.Type | None) -> t.Object | None:
    """Return the only object type among the expected options; of several, the one that fits the written entries."""
    fitting = [each for each in t.union_options(wanted) if isinstance(each, t.Object)] if wanted is not None else []
    for rule in (_can_match_values, _has_matching_keys):
        if len(fitting) > 1:
            fitting = [each for each in fitting if rule(node, each)]
    return fitting[0] if len(fitting) == 1 else None


def _can_match_values(node: n.ObjectLit, option: t.Object) -> bool:
    for entry in node.entries:
        field = option.fields.get(entry.key) if isinstance(entry, n.ObjectEntry) else None
        said = _infer_written_literal(entry.value) if field is not None else None
        if field is not None and said is not None and not is_assignable(said, field.read):
            return False
    return True


def _infer_written_literal(node: n.Expr) -> t.Type | None:
    """Return the type of a literal value, as in `kind: "circle"`, or None."""
    match node:
        case n.TextLit(parts=[str() as said]):
            return t.make_literal(said)
        case n.NumberLit() | n.BoolLit():
            return t.make_literal(node.value)
        case _:
            return None


def _has_matching_keys(node: n.ObjectLit, option: t.Object) -> bool:
    keys = {entry.key for entry in node.entries if isinstance(entry, n.ObjectEntry)}
    whole = len(keys) == len(node.entries)
    return keys <= option.fields.keys() and not (
        whole and any(not field.optional and name not in keys for name, field in option.fields.items())
    )


def _find_wanted_type(wanted: t.Type | None, kind: type[t.Array | t.Map]) -> t.Type | None:
    """Return the only array or map type among the expected options, or None."""
    if wanted is None:
        return None
    options = [t.strip_ai_result(wanted)]
    if isinstance(options[0], t.Union):
        options = list(options[0].options)
    fitting = [each for each in options if isinstance(each, kind)]
    if len(fitting) > 1 and kind is t.Map:
        # A literal is fresh, so it may have the widest of the map types.
        fitting = [each for each in fitting if all(is_assignable(other, each, certain=True) for other in fitting)]
    return fitting[0] if len(fitting) == 1 else None


def _check_object_fields(c: Checker, node: n.ObjectLit, goal: t.Object) -> bool:
    """Check the fields against the expected ones. Return False if the fields are known only at run time."""
    seen = _index_entries(c, node)
    spread: dict[str, t.ObjectField] = {}
    known = True
    for entry in node.entries:
        if isinstance(entry, n.Spread):
            known = add_spread_fields(c, entry, spread, goal) and known
            continue
        field = goal.fields.get(entry.key)
        if field is None:
            meant = c.find_similar(entry.key, (each for each in goal.fields if each not in seen))
            hint = f"did you mean `{meant}`?" if meant else hint_fields(goal)
            c.report("V0313", f"`{format_type_short(goal)}` has no field `{entry.key}`", get_key_span(entry), hint)
            c.infer(entry.value)
            if meant:
                seen[meant] = entry
        else:
            c.check_value(entry.value, field.read if field.optional else field.type, entry.key)
    there = {*seen, *(name for name, field in spread.items() if not field.optional)}
    missing = [f"`{name}`" for name, field in goal.fields.items() if not field.optional and name not in there]
    if missing and known:
        what, verb = ("the field", "is") if len(missing) == 1 else ("the fields", "are")
        fields = ", ".join(f"{each[:-1]}: …`" for each in missing[:5])
        message = f"{what} {', '.join(missing)} of `{format_type_short(goal)}` {verb} missing"
        c.report("V0312", message, node, f"write {fields} in it; a field that may be absent is declared with `?`")
    return known


def get_key_span(entry: n.ObjectEntry) -> tuple[int, int]:
    """Return the span of the key of an entry."""
    return entry.start, min(entry.end, entry.start + len(entry.key) + 2 * entry.quoted)


def _index_entries(c: Checker, node: n.ObjectLit) -> dict[str, n.ObjectEntry]:
    """Return the entries by key; report a key that is there twice."""
    seen: dict[str, n.ObjectEntry] = {}
    for entry in node.entries:
        if isinstance(entry, n.Spread):
            continue
        first = seen.setdefault(entry.key, entry)
        if first is not entry:
            where = (DiagnosticLabel(*get_key_span(first), "first here"),)
            c.report(
                "V0318", f"the field `{entry.key}` is there twice", get_key_span(entry), "leave one of them out", where
            )
    return seen


def _limit_nested_type(type_: t.Type) -> t.Type:
    """Return the type of a nested value, or json if it is too large."""
    type_ = t.strip_ai_result(type_)
    if isinstance(type_, _COMPOSITE_CLASSES) and t.is_json_data(type_) and _measure_type(type_, _MAX_DEPTH) > _MAX_SIZE:
        return t.JSON
    return type_


def _measure_type(type_: t.Type, depth: int) -> int:
    if depth == 0:
        return _MAX_SIZE + 1
    if isinstance(type_, t.Array):
        return 1 + _measure_type(type_.item, depth - 1)
    if not isinstance(type_, t.Object) or type_.name:
        return 1
    total = 1
    for field in type_.fields.values():
        total += _measure_type(field.type, depth - 1)
        if total > _MAX_SIZE:
            break
    return total


def infer_spread_items(c: Checker, node: n.Spread, wanted: t.Type | None = None) -> t.Type:
    """Return the type of the items that a spread inserts into an array."""
    kind = _require_spread_value(c, node, c.infer(node.value, wanted), "[]")
    if isinstance(kind, t.Array):
        return t.widen_type(kind.item) if wanted is None and not t.is_mutable(kind.item) else kind.item
    if kind != t.JSON:
        hint = "the fields of an object go into an object: `{ ...o }`" if isinstance(kind, t.Object) else ""
        hint = f'its characters are `...{c.quote_receiver(node.value)}.split("")`' if kind is t.TEXT else hint
        c.report(
            "V0362", f"only an array can be put into an array, found `{format_type_general(kind)}`", node.value, hint
        )
    return t.JSON


def check_spread_items(c: Checker, node: n.Spread, goal: t.Array) -> None:
    """Check that the items of a spread fit the expected array."""
    item = infer_spread_items(c, node, goal)
    if not is_assignable(item, goal.item):
        report_mismatch(c, node.value, t.Array(item), goal, "")
    else:
        c.aliases.check(node.value, item, goal.item)


def check_spread_values(c: Checker, node: n.Spread, goal: t.Map) -> None:
    """Check that the values of a spread fit the expected map."""
    kind = _require_spread_value(c, node, c.infer(node.value, goal), "{}")
    values = (
        [kind.value]
        if isinstance(kind, t.Map)
        else [each.type for each in kind.fields.values()]
        if isinstance(kind, t.Object)
        else []
    )
    if not isinstance(kind, t.Map | t.Object) and kind != t.JSON:
        c.report(
            "V0362", f"only a map or an object can be put into a map, found `{format_type_general(kind)}`", node.value
        )
    for each in values:
        if not is_assignable(each, goal.value):
            report_mismatch(c, node.value, each, goal.value, "")
            return
        c.aliases.check(node.value, each, goal.value)


def add_spread_fields(c: Checker, node: n.Spread, fields: dict[str, t.ObjectField], goal: t.Object | None) -> bool:
    """Add the fields of a spread object to `fields`. Return False if they are known only at run time."""
    kind = _require_spread_value(c, node, c.infer(node.value), "{}")
    if not isinstance(kind, t.Object):
        if kind != t.JSON and not isinstance(kind, t.Map):
            hint = "the items of an array go into an array: `[...xs]`" if isinstance(kind, t.Array) else ""
            c.report(
                "V0362",
                f"only an object can be put into an object, found `{format_type_general(kind)}`",
                node.value,
                hint,
            )
        return False
    for name, field in kind.fields.items():
        before = fields.get(name)
        if field.optional and before is not None:
            fields[name] = t.ObjectField(join_types(before.type, field.type), before.optional, field.description)
        else:
            fields[name] = field
        wanted = goal.fields.get(name) if goal is not None else None
        if wanted is not None and not is_assignable(field.type, wanted.type):
            report_mismatch(c, node.value, field.type, wanted.type, name)
        elif wanted is not None:
            c.aliases.check(node.value, field.type, wanted.type)
    return True


def _require_spread_value(c: Checker, node: n.Spread, type_: t.Type, empty: str) -> t.Type:
    """Return the base type of a spread value without null; report a nullable one."""
    if t.is_nullable(type_):
        hint = f"write `...({c.quote(node.value)} ?? {empty})`"
        c.report("V0362", f"what may be null cannot be put in, `{format_type_general(type_)}`", node.value, hint)
    return t.get_base_type(t.remove_null(t.strip_ai_result(type_)))


def check_prompt_values(c: Checker, prompt: n.Expr) -> None:
    """Report nullable values that are interpolated into a prompt: a model would read `null`."""
    todo = [prompt]
    while todo:
        node = todo.pop()
        if isinstance(node, n.Binary) and node.op == "+":
            todo += (node.right, node.left)
        elif isinstance(node, n.TextLit):
            for part in node.parts:
                if isinstance(part, n.Interpolation) and part.value.type is not None:
                    c.require_non_null(part.value, part.value.type)
