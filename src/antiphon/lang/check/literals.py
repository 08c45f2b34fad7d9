"""Literals: numbers, strings with their holes, arrays and objects."""

from __future__ import annotations

from antiphon.lang.check.fitting import assignable, join
from antiphon.lang.check.looks import warn_of_hole, warn_of_text
from antiphon.lang.check.making import widened
from antiphon.lang.check.names import check_hole, tool_value
from antiphon.lang.check.notation import fields_of, shown
from antiphon.lang.check.null import check_sent
from antiphon.lang.check.spreading import check_items, check_values, spread_fields, spread_items
from antiphon.lang.check.state import Checker
from antiphon.lang.check.types import (
    JSON,
    NEVER,
    NULL,
    PROMPT,
    TEXT,
    Array,
    Callable,
    Field,
    Literal,
    Map,
    Object,
    Type,
    Union,
    is_data,
    is_mutable,
    options_of,
    plain,
)
from antiphon.lang.syntax.diagnostics import Label
from antiphon.lang.syntax.nodes import (
    ArrayLit,
    BadExpr,
    BoolLit,
    Entry,
    Expr,
    Hole,
    Name,
    NullLit,
    NumberLit,
    ObjectLit,
    Spread,
    TextLit,
)

_TRUE, _FALSE = Literal(True), Literal(False)
#: What is made of other values is kept so deep and so large as a type; beyond that it is json.
_MADE = (Array, Object)
_MOST_DEPTH, _MOST_SIZE = 12, 100


def number(c: Checker, node: NumberLit, _: Type | None) -> Type:
    """`42`."""
    return c.number_literal(node.value)


def boolean(_: Checker, node: BoolLit, __: Type | None) -> Type:
    """`true`."""
    return _TRUE if node.value else _FALSE


def null(_: Checker, __: NullLit, ___: Type | None) -> Type:
    """`null`."""
    return NULL


def bad(_: Checker, __: BadExpr, ___: Type | None) -> Type:
    """What could not be read may be anything."""
    return JSON


def text(c: Checker, node: TextLit, wanted: Type | None) -> Type:
    """A string; one with holes is any text."""
    parts = node.parts
    if not parts:
        return c.text_literal("")
    for part in parts:
        if isinstance(part, str) and ("{" in part or "$" in part):
            warn_of_text(c, node)
            break
    if len(parts) == 1 and type(parts[0]) is str:
        return c.text_literal(parts[0])
    for part in parts:
        if isinstance(part, Hole):
            check_hole(c, part)
            if not part.dollar:
                warn_of_hole(c, part)
    if wanted is PROMPT:
        check_sent(c, node)
    return TEXT


def array(c: Checker, node: ArrayLit, wanted: Type | None) -> Type:
    """`[a, b]`: item by item against the wanted type, or what the items have in common."""
    goal = _goal(wanted, Array)
    if isinstance(goal, Array):
        for item in node.items:
            if isinstance(item, Spread):
                check_items(c, item, goal)
                continue
            tool = tool_value(c, item) if type(item) is Name and not isinstance(goal.item, Callable) else None
            if tool is None:
                c.want(item, goal.item, "")
            elif goal.item is not tool:
                c.mismatch(item, tool, goal.item, "")
        return wanted if wanted is not None and not isinstance(wanted, Union) else goal
    type_: Type = NEVER
    for item in node.items:
        if isinstance(item, Spread):
            type_ = join(type_, spread_items(c, item)) if type_ is not NEVER else spread_items(c, item)
            continue
        found = tool_value(c, item) if type(item) is Name else None
        held = found or widened(item, _held(c.expr(item)), whole=False)
        type_ = held if type_ is NEVER else type_ if held is type_ else join(type_, held)
    if wanted is None and len(node.items) > 1 and is_mutable(type_):
        c.mixed.append(node)
    return Array(type_)


def object_(c: Checker, node: ObjectLit, wanted: Type | None) -> Type:
    """`{a: 1}`: field by field against the wanted type, or an object of just these fields."""
    goal = _object_goal(c, node, wanted) or _goal(wanted, Map)
    if isinstance(goal, Map):
        _check_keys(c, node)
        for entry in node.entries:
            if isinstance(entry, Spread):
                check_values(c, entry, goal)
            else:
                c.want(entry.value, goal.value, entry.key)
        return goal
    if isinstance(goal, Object):
        return goal if _check_fields(c, node, goal) else JSON
    _check_keys(c, node)
    fields: dict[str, Field] = {}
    known = True
    for entry in node.entries:
        if isinstance(entry, Spread):
            known = spread_fields(c, entry, fields, None) and known
            if wanted is None:
                c.mixed.append(node)
        else:
            fields[entry.key] = Field(_held(c.expr(entry.value)))
    return Object(fields) if known else JSON


def _object_goal(c: Checker, node: ObjectLit, wanted: Type | None) -> Object | None:
    """The one object type among those that are wanted; of several, that of the keys and values that are written."""
    fitting = [each for each in options_of(wanted) if isinstance(each, Object)] if wanted is not None else []
    for rule in (_may_be, _has_just):
        if len(fitting) > 1:
            fitting = [each for each in fitting if rule(c, node, each)]
    return fitting[0] if len(fitting) == 1 else None


def _may_be(c: Checker, node: ObjectLit, option: Object) -> bool:
    for entry in node.entries:
        field = option.fields.get(entry.key) if isinstance(entry, Entry) else None
        said = _written(c, entry.value) if field is not None else None
        if field is not None and said is not None and not assignable(said, field.read):
            return False
    return True


def _written(c: Checker, node: Expr) -> Type | None:
    """The type of a value that is written out, as that of `kind: "circle"`."""
    match node:
        case TextLit(parts=[str() as said]):
            return c.text_literal(said)
        case NumberLit():
            return c.number_literal(node.value)
        case BoolLit():
            return _TRUE if node.value else _FALSE
        case _:
            return None


def _has_just(_: Checker, node: ObjectLit, option: Object) -> bool:
    keys = {entry.key for entry in node.entries if isinstance(entry, Entry)}
    whole = len(keys) == len(node.entries)
    return keys <= option.fields.keys() and not (
        whole and any(not field.optional and name not in keys for name, field in option.fields.items())
    )


def _goal(wanted: Type | None, kind: type[Array | Map]) -> Type | None:
    """The one array or map type among those that are wanted."""
    if wanted is None:
        return None
    options = [plain(wanted)]
    if isinstance(options[0], Union):
        options = list(options[0].options)
    fitting = [each for each in options if isinstance(each, kind)]
    if len(fitting) > 1 and kind is Map:
        # What is written out is new: it may be the map that all others would fit.
        fitting = [each for each in fitting if all(assignable(other, each, certain=True) for other in fitting)]
    return fitting[0] if len(fitting) == 1 else None


def _check_fields(c: Checker, node: ObjectLit, goal: Object) -> bool:
    """Check the fields against those that are wanted; false if which there are is known only when it runs."""
    seen = _check_keys(c, node)
    spread: dict[str, Field] = {}
    known = True
    for entry in node.entries:
        if isinstance(entry, Spread):
            known = spread_fields(c, entry, spread, goal) and known
            continue
        field = goal.fields.get(entry.key)
        if field is None:
            meant = c.nearest(entry.key, (each for each in goal.fields if each not in seen))
            hint = f"did you mean `{meant}`?" if meant else fields_of(goal)
            c.report("V0313", f"`{shown(goal)}` has no field `{entry.key}`", _key(entry), hint)
            c.expr(entry.value)
            if meant:
                seen[meant] = entry
        else:
            c.want(entry.value, field.read if field.optional else field.type, entry.key)
    there = {*seen, *(name for name, field in spread.items() if not field.optional)}
    missing = [f"`{name}`" for name, field in goal.fields.items() if not field.optional and name not in there]
    if missing and known:
        what = "the field" if len(missing) == 1 else "the fields"
        fields = ", ".join(f"{each[:-1]}: …`" for each in missing[:5])
        hint = f"write {fields} in it; a field that may be absent is declared with `?`"
        c.report("V0312", f"{what} {', '.join(missing)} of `{shown(goal)}` {_are(missing)} missing", node, hint)
    return known


def _are(items: list[str]) -> str:
    return "is" if len(items) == 1 else "are"


def _key(entry: Entry) -> tuple[int, int]:
    return entry.start, min(entry.end, entry.start + len(entry.key) + 2 * entry.quoted)


def _check_keys(c: Checker, node: ObjectLit) -> dict[str, Entry]:
    """The entries by key; a key that is there twice is reported."""
    seen: dict[str, Entry] = {}
    for entry in node.entries:
        if isinstance(entry, Spread):
            continue
        first = seen.setdefault(entry.key, entry)
        if first is not entry:
            where = (Label(*_key(first), "first here"),)
            c.report("V0318", f"the field `{entry.key}` is there twice", _key(entry), "leave one of them out", where)
    return seen


def _held(type_: Type) -> Type:
    """The type of a value inside another one."""
    type_ = plain(type_)
    return JSON if isinstance(type_, _MADE) and is_data(type_) and _size(type_, _MOST_DEPTH) > _MOST_SIZE else type_


def _size(type_: Type, depth: int) -> int:
    if depth == 0:
        return _MOST_SIZE + 1
    if isinstance(type_, Array):
        return 1 + _size(type_.item, depth - 1)
    if not isinstance(type_, Object) or type_.name:
        return 1
    total = 1
    for field in type_.fields.values():
        total += _size(field.type, depth - 1)
        if total > _MOST_SIZE:
            break
    return total
