"""Reading types as they are written."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.cursor import MAX_CHAIN, MAX_DEPTH, Cursor, Unreadable
from antiphon.lang.syntax.habit_names import leave_type_before
from antiphon.lang.syntax.habits import MODIFIERS, TYPES, VALUES
from antiphon.lang.syntax.numbers import BadNumber, read_number


def read_type(c: Cursor, in_arm: bool = False) -> n.TypeNode:
    """A type, which may be a union; it may begin with a `|`, as unions over several lines do.

    In the arm of a `match` the arrow behind parentheses is the arm's.
    """
    if c.kinds[c.at] == "|":
        c.at += 1
    first = _read_array_type(c, in_arm)
    if c.kinds[c.at] != "|":
        return first if c.values[c.at] != "&" else _read_intersection(c, first)
    options = [first]
    while c.kinds[c.at] == "|":
        c.at += 1
        options.append(_read_array_type(c, in_arm))
    return n.UnionType(first.start, options[-1].end, options)


def _read_intersection(c: Cursor, first: n.TypeNode) -> n.TypeNode:
    """`A & B`, as TypeScript puts types together."""
    hint = "write out all fields in one type: what has them fits"
    c.diagnostics[:] = [each for each in c.diagnostics if each.start != c.starts[c.at]]
    c.report("V0109", "there is no `&` of types here", c.at, hint)
    while c.values[c.at] == "&":
        c.at += 1
        _read_array_type(c, False)
    return n.TypeName(first.start, c.ends[c.at - 1], "json")


def _read_array_type(c: Cursor, in_arm: bool) -> n.TypeNode:
    start = c.starts[c.at]
    item = _read_single_type(c, in_arm)
    if type(item) is n.TypeName and (opener := _opens_generic(c)):
        from antiphon.lang.syntax.habit_types import read_generic

        item = read_generic(c, c.at - 1, opener)
    chain = 0
    while c.kinds[c.at] == "[" and (c.nested or c.at not in c.fresh):
        chain += 1
        if chain > MAX_CHAIN:
            c.too_long(c.at)
        c.at += 1
        c.expect("]", "`]`", "an array of numbers is `number[]`")
        item = n.ArrayType(start, c.ends[c.at - 1], item)
    return item


def _opens_generic(c: Cursor) -> str:
    """The bracket of `Array<number>` or `List[str]`, as other languages write types of types."""
    kind = c.kinds[c.at]
    if kind == "<":
        return kind
    inner = kind == "[" and c.at not in c.fresh and c.kinds[c.at + 1] != "]"
    return kind if inner and c.kinds[c.at + 1] in ("name", "null", "None", "{", "text") else ""


def _read_single_type(c: Cursor, in_arm: bool) -> n.TypeNode:
    at = c.at
    kind, start, end = c.kinds[at], c.starts[at], c.ends[at]
    if kind == "name" or kind == "null" or VALUES.get(kind) == "null":
        c.at = at + 1
        return n.TypeName(start, end, c.values[at])
    if kind == "text":
        c.at = at + 1
        return n.LiteralType(start, end, c.values[at])
    if kind == "true" or kind == "false":
        c.at = at + 1
        return n.LiteralType(start, end, kind == "true")
    if kind == "number" or (kind == "-" and c.kinds[at + 1] == "number"):
        return _read_number_type(c, start)
    if kind == "{" and c.kinds[at + 1] == "[":
        return _read_map_type(c, at)
    if kind == "{":
        fields = c.listed("}", _read_type_field, by_line=True)
        return n.ObjectType(start, c.ends[c.at - 1], fields)
    if kind == "(":
        return _read_type_in_parentheses(c, at, in_arm)
    if kind == "quote":
        read_plain_text(c, "a type")
        return n.LiteralType(start, c.ends[c.at - 1], "")
    if kind == "[":
        from antiphon.lang.syntax.habit_types import read_bracketed

        return read_bracketed(c)
    return _no_type(c)


def _no_type(c: Cursor) -> n.TypeNode:
    hint = (
        "types are `text`, `number`, `boolean`, `json`, `prompt`, `model`, `T[]`, `{ … }`, `(T) => T` or a declared one"
    )
    if c.kinds[c.at] == "?":
        hint = "write `number | null`"
    c.unexpected("a type", hint)


def _read_number_type(c: Cursor, start: int) -> n.LiteralType:
    negative = c.kinds[c.at] == "-"
    c.at += negative
    value = number_value(c, c.at)
    c.at += 1
    return n.LiteralType(start, c.ends[c.at - 1], -value if negative else value)


def _read_type_in_parentheses(c: Cursor, opener: int, in_arm: bool) -> n.TypeNode:
    wrong = len(c.diagnostics)
    types = c.listed(")", _read_parameter_type)
    if c.kinds[c.at] == "=>" and not in_arm and (c.nested or c.at not in c.fresh):
        if c.depth >= MAX_DEPTH:
            c.too_deep(c.at)
        c.depth, c.at = c.depth + 1, c.at + 1
        returns = read_type(c)
        c.depth -= 1
        return n.FunctionType(c.starts[opener], returns.end, types, returns)
    if len(types) != 1:
        if len(c.diagnostics) > wrong:
            raise Unreadable
        c.unexpected("`=>` and the type of the result", "the type of a function is `(number, text) => boolean`")
    return types[0]


def _read_parameter_type(c: Cursor) -> n.TypeNode:
    """A type in parentheses; the name of a parameter is not a part of it."""
    if c.kinds[c.at] == "name" and c.kinds[c.at + 1] == ":":
        hint = "write the types alone: `(number, text) => boolean`"
        c.report("V0140", "the type of a function has no names of parameters", c.at, hint)
        c.at += 2
    return read_type(c)


def _read_map_type(c: Cursor, opener: int) -> n.TypeNode:
    """`{ [text]: number }`."""
    depth, nested = c.depth, c.nested
    if depth >= MAX_DEPTH:
        c.too_deep(opener)
    c.depth, c.nested, c.at = depth + 1, True, opener + 2
    hint = "a map is `{ [text]: number }`"
    if c.kinds[c.at] == "name" and c.kinds[c.at + 1] == ":":
        c.report("V0140", "the keys of a map have no name", c.at, f"write the types alone: {hint}")
        c.at += 2
    key = read_type(c)
    c.expect("]", "`]`", hint)
    c.expect(":", "`:` and the type of the values", hint)
    value = read_type(c)
    c.at += c.kinds[c.at] == ","
    c.expect("}", "`}`", f"{hint}, and has no fields besides")
    c.depth, c.nested = depth, nested
    return n.MapType(c.starts[opener], c.ends[c.at - 1], key, value, c.starts[opener + 1])


def _read_type_field(c: Cursor) -> n.TypeField:
    if c.values[c.at] in MODIFIERS and c.kinds[c.at + 1] == "name" and c.kinds[c.at + 2] in (":", "?"):
        c.report("V0109", f"there is no `{c.values[c.at]}` here", c.at, "leave it out")
        c.at += 1
    before = leave_type_before(c)
    name = read_key(c, "a field name")
    name_end = c.ends[c.at - 1]
    optional = c.kinds[c.at] == "?"
    c.at += optional
    if before is not None:
        return n.TypeField(before.start, name_end, c.values[name], before, optional, "", name_end)
    if c.kinds[c.at] == "name" and c.at not in c.fresh:
        right = TYPES.get(c.values[c.at].lower(), c.values[c.at])
        c.report("V0109", "a type stands behind a `:`", c.at, f"write `{c.values[name]}: {right}`")
    else:
        c.expect(":", "`:` and the type of the field", "a field is `name: type`")
    declared = read_type(c)
    description = read_description(c)
    if c.kinds[c.at] in ("?", "="):
        optional = _read_field_habit(c, c.values[name]) or optional
    end = c.ends[c.at - 1]
    return n.TypeField(c.starts[name], end, c.values[name], declared, optional, description, name_end)


def _read_field_habit(c: Cursor, name: str) -> bool:
    """`name: text?` and `name: text = "x"`, of which both are read as an optional field."""
    at = c.at
    c.at = at + 1
    if c.kinds[at] == "?":
        c.report("V0109", "a `?` stands behind the name of a field", at, f"write `{name}?: …`")
        return True
    from antiphon.lang.syntax.expression_parser import read_expression

    hint = f"let it be missing, `{name}?: …`, and write `x.{name} ?? …` where it is used"
    c.report("V0109", "a field of a type has no default", at, hint)
    read_expression(c)
    return True


def read_key(c: Cursor, what: str) -> int:
    """Take a field's name, which may stand in quotes; its index."""
    if c.kinds[c.at] == "text":
        c.at += 1
        return c.at - 1
    return c.word(what)


def read_description(c: Cursor) -> str:
    """The string that may follow a type on its line, or nothing."""
    if c.kinds[c.at] in ("text", "quote") and c.at not in c.fresh:
        return read_plain_text(c, "a description")
    return ""


def read_plain_text(c: Cursor, what: str) -> str:
    """Take a string that may have no holes, such as a path or a description."""
    at = c.at
    if c.kinds[at] == "text":
        c.at = at + 1
        return c.values[at]
    if c.kinds[at] != "quote":
        c.unexpected(f"a string: {what}")
    c.at = c.partner(at) + 1
    hint = "write `\\{` or `\\${` where you mean the sign itself"
    start, end = c.starts[at], c.ends[c.at - 1]
    c.report_span("V0120", f"{what} is fixed text and can have nothing put into it", start, end, hint)
    return ""


def number_value(c: Cursor, at: int) -> int | float:
    """The value of a number token."""
    try:
        return read_number(c.values[at])
    except BadNumber as error:
        hint = error.hint
        if c.kinds[at - 1] == "," and c.kinds[at - 2] == "number" and c.starts[at] - c.ends[at - 2] == 1:
            hint = f"a number has no `,` in it: `{c.values[at - 2]}_{c.values[at]}`"
        c.report("V0106", str(error), at, hint)
        return 0
