"""Parsing of type annotations, and of the number literals and plain strings in them."""

from __future__ import annotations

import re

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.around_names import skip_type_before_name
from antiphon.lang.syntax.foreign_syntax.table import FOREIGN_CONSTANTS, FOREIGN_MODIFIERS, FOREIGN_TYPES
from antiphon.lang.syntax.parser.cursor import MAX_CHAIN, MAX_DEPTH, Cursor, SyntaxErrorReported


def parse_type(c: Cursor, in_arm: bool = False) -> n.TypeNode:
    """Parse a type, which may be a union; a leading `|` is allowed, for unions over several lines.

    In an arm of a `match` (`in_arm`) an arrow after parentheses belongs to the arm.
    """
    if c.kinds[c.at] == "|":
        c.at += 1
    first = _parse_array_type(c, in_arm)
    if c.kinds[c.at] != "|":
        return first if c.values[c.at] != "&" else _parse_intersection(c, first)
    options = [first]
    while c.kinds[c.at] == "|":
        c.at += 1
        options.append(_parse_array_type(c, in_arm))
    return n.UnionType(first.start, options[-1].end, options)


def _parse_intersection(c: Cursor, first: n.TypeNode) -> n.TypeNode:
    """Report and skip `A & B`, which is TypeScript's intersection of types."""
    hint = "write out all fields in one type: what has them fits"
    c.diagnostics[:] = [each for each in c.diagnostics if each.start != c.starts[c.at]]
    c.report("V0109", "there is no `&` of types here", c.at, hint)
    while c.values[c.at] == "&":
        c.at += 1
        _parse_array_type(c, False)
    return n.TypeName(first.start, c.ends[c.at - 1], "json")


def _parse_array_type(c: Cursor, in_arm: bool) -> n.TypeNode:
    start = c.starts[c.at]
    item = _parse_single_type(c, in_arm)
    if type(item) is n.TypeName and (opener := _find_generic_bracket(c)):
        from antiphon.lang.syntax.foreign_syntax.types import parse_generic_type

        item = parse_generic_type(c, c.at - 1, opener)
    chain = 0
    while c.kinds[c.at] == "[" and (c.nested or c.at not in c.fresh):
        chain += 1
        if chain > MAX_CHAIN:
            c.fail_too_long(c.at)
        c.at += 1
        c.expect("]", "`]`", "an array of numbers is `number[]`")
        item = n.ArrayType(start, c.ends[c.at - 1], item)
    return item


def _find_generic_bracket(c: Cursor) -> str:
    """Return the opening bracket of `Array<number>` or `List[str]`, which are generics of other languages, or ""."""
    kind = c.kinds[c.at]
    if kind == "<":
        return kind
    inner = kind == "[" and c.at not in c.fresh and c.kinds[c.at + 1] != "]"
    return kind if inner and c.kinds[c.at + 1] in ("name", "null", "None", "{", "text") else ""


def _parse_single_type(c: Cursor, in_arm: bool) -> n.TypeNode:
    at = c.at
    kind, start, end = c.kinds[at], c.starts[at], c.ends[at]
    if kind == "name" or kind == "null" or FOREIGN_CONSTANTS.get(kind) == "null":
        c.at = at + 1
        return n.TypeName(start, end, c.values[at])
    if kind == "text":
        c.at = at + 1
        return n.LiteralType(start, end, c.values[at])
    if kind == "true" or kind == "false":
        c.at = at + 1
        return n.LiteralType(start, end, kind == "true")
    if kind == "number" or (kind == "-" and c.kinds[at + 1] == "number"):
        negative = c.kinds[c.at] == "-"
        c.at += negative
        value = parse_number_token(c, c.at)
        c.at += 1
        return n.LiteralType(start, c.ends[c.at - 1], -value if negative else value)
    if kind == "{" and c.kinds[at + 1] == "[":
        return _parse_map_type(c, at)
    if kind == "{":
        fields = c.listed("}", _parse_type_field, by_line=True)
        return n.ObjectType(start, c.ends[c.at - 1], fields)
    if kind == "(":
        return _parse_type_in_parentheses(c, at, in_arm)
    if kind == "quote":
        parse_plain_text(c, "a type")
        return n.LiteralType(start, c.ends[c.at - 1], "")
    if kind == "[":
        from antiphon.lang.syntax.foreign_syntax.types import parse_bracketed_type

        return parse_bracketed_type(c)
    hint = "`number`, `boolean`, `json`, `prompt`, `model`, `T[]`, `{ … }`, `(T) => T` or a declared one"
    return c.fail_unexpected("a type", "write `number | null`" if kind == "?" else f"types are `text`, {hint}")


def _parse_type_in_parentheses(c: Cursor, opener: int, in_arm: bool) -> n.TypeNode:
    wrong = len(c.diagnostics)
    types = c.listed(")", _parse_parameter_type)
    if c.kinds[c.at] == "=>" and not in_arm and (c.nested or c.at not in c.fresh):
        if c.depth >= MAX_DEPTH:
            c.fail_too_deep(c.at)
        c.depth, c.at = c.depth + 1, c.at + 1
        returns = parse_type(c)
        c.depth -= 1
        return n.FunctionType(c.starts[opener], returns.end, types, returns)
    if len(types) != 1:
        if len(c.diagnostics) > wrong:
            raise SyntaxErrorReported
        c.fail_unexpected("`=>` and the type of the result", "the type of a function is `(number, text) => boolean`")
    return types[0]


def _parse_parameter_type(c: Cursor) -> n.TypeNode:
    """Parse a type in parentheses; report and skip the name of a parameter before it."""
    if c.kinds[c.at] == "name" and c.kinds[c.at + 1] == ":":
        hint = "write the types alone: `(number, text) => boolean`"
        c.report("V0140", "the type of a function has no names of parameters", c.at, hint)
        c.at += 2
    return parse_type(c)


def _parse_map_type(c: Cursor, opener: int) -> n.TypeNode:
    """Parse `{ [text]: number }`."""
    depth, nested = c.depth, c.nested
    if depth >= MAX_DEPTH:
        c.fail_too_deep(opener)
    c.depth, c.nested, c.at = depth + 1, True, opener + 2
    hint = "a map is `{ [text]: number }`"
    if c.kinds[c.at] == "name" and c.kinds[c.at + 1] == ":":
        c.report("V0140", "the keys of a map have no name", c.at, f"write the types alone: {hint}")
        c.at += 2
    key = parse_type(c)
    c.expect("]", "`]`", hint)
    c.expect(":", "`:` and the type of the values", hint)
    value = parse_type(c)
    c.at += c.kinds[c.at] == ","
    c.expect("}", "`}`", f"{hint}, and has no fields besides")
    c.depth, c.nested = depth, nested
    return n.MapType(c.starts[opener], c.ends[c.at - 1], key, value, c.starts[opener + 1])


def _parse_type_field(c: Cursor) -> n.TypeField:
    if c.values[c.at] in FOREIGN_MODIFIERS and c.kinds[c.at + 1] == "name" and c.kinds[c.at + 2] in (":", "?"):
        c.report("V0109", f"there is no `{c.values[c.at]}` here", c.at, "leave it out")
        c.at += 1
    before = skip_type_before_name(c)
    name = take_field_name(c, "a field name")
    name_end = c.ends[c.at - 1]
    optional = c.kinds[c.at] == "?"
    c.at += optional
    if before is not None:
        return n.TypeField(before.start, name_end, c.values[name], before, optional, "", name_end)
    if c.kinds[c.at] == "name" and c.at not in c.fresh:
        right = FOREIGN_TYPES.get(c.values[c.at].lower(), c.values[c.at])
        c.report("V0109", "a type stands behind a `:`", c.at, f"write `{c.values[name]}: {right}`")
    else:
        c.expect(":", "`:` and the type of the field", "a field is `name: type`")
    declared = parse_type(c)
    description = parse_description(c)
    if c.kinds[c.at] in ("?", "="):
        optional = _parse_foreign_field_suffix(c, c.values[name]) or optional
    end = c.ends[c.at - 1]
    return n.TypeField(c.starts[name], end, c.values[name], declared, optional, description, name_end)


def _parse_foreign_field_suffix(c: Cursor, name: str) -> bool:
    """Report `name: text?` and `name: text = "x"`; both make the field optional."""
    at = c.at
    c.at = at + 1
    if c.kinds[at] == "?":
        c.report("V0109", "a `?` stands behind the name of a field", at, f"write `{name}?: …`")
        return True
    from antiphon.lang.syntax.parser.expressions import parse_expression

    hint = f"let it be missing, `{name}?: …`, and write `x.{name} ?? …` where it is used"
    c.report("V0109", "a field of a type has no default", at, hint)
    parse_expression(c)
    return True


def take_field_name(c: Cursor, what: str) -> int:
    """Consume a field's name, which may be quoted, and return its index."""
    if c.kinds[c.at] == "text":
        c.at += 1
        return c.at - 1
    return c.word(what)


def parse_description(c: Cursor) -> str:
    """Parse the string that may follow a type on its line; return "" if there is none."""
    if c.kinds[c.at] in ("text", "quote") and c.at not in c.fresh:
        return parse_plain_text(c, "a description")
    return ""


def parse_plain_text(c: Cursor, what: str) -> str:
    """Parse a string without interpolations, such as a path or a description."""
    at = c.at
    if c.kinds[at] == "text":
        c.at = at + 1
        return c.values[at]
    if c.kinds[at] != "quote":
        c.fail_unexpected(f"a string: {what}")
    c.at = c.matching_bracket(at) + 1
    hint = "write `\\{` or `\\${` where you mean the sign itself"
    start, end = c.starts[at], c.ends[c.at - 1]
    c.report_span("V0120", f"{what} is fixed text and can have nothing put into it", start, end, hint)
    return ""


def parse_number_token(c: Cursor, at: int) -> int | float:
    """Return the value of a number token."""
    try:
        return parse_number(c.values[at])
    except InvalidNumberLiteral as error:
        hint = error.hint
        if c.kinds[at - 1] == "," and c.kinds[at - 2] == "number" and c.starts[at] - c.ends[at - 2] == 1:
            hint = f"a number has no `,` in it: `{c.values[at - 2]}_{c.values[at]}`"
        c.report("V0106", str(error), at, hint)
        return 0


#: Python's own limit for converting between digits and integers.
_MAX_DIGITS = 4300
#: Compiled on first use: most numbers are digits alone.
_HEX = r"0[xX][0-9a-fA-F]+(?:_[0-9a-fA-F]+)*"
_DECIMAL = r"([0-9]+(?:_[0-9]+)*)(\.[0-9]+(?:_[0-9]+)*)?(?:[eE]([-+]?[0-9]+(?:_[0-9]+)*))?"


class InvalidNumberLiteral(ValueError):
    """Raised for an invalid number literal; `hint` says what to write."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def parse_number(text: str) -> int | float:
    """Return the value of a literal: an int, unless it has a decimal point or a negative exponent."""
    if len(text) > _MAX_DIGITS:
        raise InvalidNumberLiteral(f"this number has more than {_MAX_DIGITS} digits", "compute it, as in `10 ** 5000`")
    if text.isascii() and text.isdigit() and (text[0] != "0" or len(text) == 1):
        return int(text)
    if re.fullmatch(_HEX, text):
        return int(text, 16)
    match = re.fullmatch(_DECIMAL, text)
    if match is None:
        raise InvalidNumberLiteral(
            f"`{text[:40]}` is not a number", "numbers are written as in 42, 3.14, 1e6, 1_000 and 0x1f"
        )
    if text[0] == "0" and len(match[1]) > 1:
        raise InvalidNumberLiteral("a number does not begin with `0`", f"write `{text.lstrip('0_') or '0'}`")
    return _parse_decimal(text, *match.groups())


def _parse_decimal(text: str, whole: str, fraction: str | None, exponent: str | None) -> int | float:
    if fraction is None and exponent is None:
        return int(whole)
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise InvalidNumberLiteral("this number is too large", "the largest is about 1.8e308")
    if fraction is None and exponent is not None and not exponent.startswith("-"):
        # Exact, where a float would be rounded.
        return int(whole) * 10 ** int(exponent) if int(whole) else 0
    return value
