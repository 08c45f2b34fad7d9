"""Hints how to fix a value that does not fit its place."""

from __future__ import annotations

import re
from itertools import chain

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.table import METHOD_HINTS
from antiphon.lang.typecheck.assignability import is_assignable
from antiphon.lang.typecheck.methods import NUMBER_METHODS, TEXT_METHODS, MethodSignature, get_methods, name_kind
from antiphon.lang.typecheck.reporter import Reporter, get_name_span
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short, hint_fields
from antiphon.lang.typecheck.types import (
    AI_MEMBER_NAMES,
    BOOLEAN,
    ERROR,
    JSON,
    MODEL,
    NULL,
    NUMBER,
    TEXT,
    TOOL,
    AIResultType,
    Array,
    CallableType,
    Literal,
    Map,
    Object,
    Type,
    Union,
    get_base_type,
    get_operand_type,
    has_function,
    has_literals,
    is_json_data,
    is_nullable,
    remove_null,
    strip_ai_result,
    union_options,
)
from antiphon.lang.typecheck.unions import find_discriminator

_CONVERSIONS: dict[tuple[Type, Type], str] = {
    (NUMBER, TEXT): "toString",
    (BOOLEAN, TEXT): "toString",
    (TEXT, NUMBER): "toNumber",
}
#: The comparison to write where a boolean is expected.
_BOOLEAN_TESTS: dict[Type, str] = {NUMBER: "!= 0", TEXT: '!= ""'}
_NUMERAL = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def report_mismatch(c: Reporter, node: n.Node, found: Type, wanted: Type, place: str) -> None:
    """Report a value whose type does not fit its place; `place` is its name in messages."""
    goal = f" for `{place}`" if place else ""
    # The literal itself matters only where literals are expected.
    what = format_type_short(found) if has_literals(wanted) else format_type_general(found)
    hint = _hint_mismatch(c, node, found, wanted)
    if place == "returns" and not hint:
        hint = f"give what is declared, or declare `returns {what}`"
    c.report("V0301", f"expected `{format_type_short(wanted)}`{goal}, found `{what}`", node, hint)


def _hint_mismatch(c: Reporter, node: n.Node, found: Type, wanted: Type) -> str:
    """Return what to write instead of a value that does not fit, or ""."""
    if wanted is TOOL:
        return _hint_tool(c, node, found)
    if isinstance(node, n.NumberLit | n.TextLit | n.NullLit):
        return _hint_literal(c, node, wanted)
    if found is MODEL:
        return f'a model is no data: it is asked, `do "…" {c.quote(node)}`'
    if found is NULL:
        return hint_no_result(c, node) if isinstance(node, n.Call) else ""
    if (hint := _hint_array(c, node, found, wanted)) and not is_nullable(found):
        return hint
    if is_nullable(found) and not is_nullable(wanted):
        return f"it may be null: give a value for that case, `{c.quote(node)} ?? …`, or test `!= null` before"
    if not is_json_data(found) and is_json_data(wanted) and not isinstance(found, CallableType) and has_function(found):
        return "there is a function in it, and that is no data"
    if not is_json_data(found) and (isinstance(found, CallableType) or isinstance(wanted, CallableType)):
        return hint_function(found, wanted)
    if found is ERROR and get_base_type(wanted) is TEXT:
        return f"its text is `{c.quote(node)}.message`"
    if isinstance(strip_ai_result(found), Object | Map) and isinstance(
        aim := remove_null(strip_ai_result(wanted)), Object | Map
    ):
        return _hint_map(c.quote(node), found, aim)
    if wanted is BOOLEAN and (test := _BOOLEAN_TESTS.get(get_base_type(found))):
        return f"there is no truthiness: write `{c.quote_receiver(node)} {test}`"
    if strip_ai_result(found) is TEXT and (words := _literal_texts(wanted)):
        return _hint_literals(c, node, words)
    if isinstance(goal := get_base_type(remove_null(strip_ai_result(wanted))), Object) and not isinstance(
        strip_ai_result(found), Object | Map
    ):
        return f"write an object with its fields: `{{ {', '.join(f'{each}: …' for each in list(goal.fields)[:3])} }}`"
    if isinstance(node, n.PatternField | n.PatternItem) or (of := getattr(node, "type", None)) is None:
        return ""
    # For a spread, only a part does not fit, so no conversion is suggested.
    name = (
        _CONVERSIONS.get((get_base_type(found), get_base_type(wanted)))
        if get_base_type(strip_ai_result(of)) == get_base_type(found)
        else None
    )
    return f"write `{c.quote_receiver(node)}.{name}()`" if name else ""


def _hint_tool(c: Reporter, node: n.Node, found: Type) -> str:
    if isinstance(found, CallableType):
        return "declare it with `tool` instead of `function`"
    if isinstance(node, n.Call):
        return f"name it, and do not call it: `{c.quote(node.callee)}`"
    return "name it without quotes: a tool that is declared, or imported from `system/tools`"


def hint_no_result(c: Reporter, node: n.Call) -> str:
    """Return the hint for a call that returns nothing."""
    callee = node.callee
    if isinstance(callee, n.Member):
        return f"`{callee.name}` changes `{c.quote(callee.object)}` itself, and gives nothing: write it on its own"
    return "nothing is given here: the function returns nothing"


def _hint_array(c: Reporter, node: n.Node, found: Type, wanted: Type) -> str:
    """Return the hint for a single value where an array is expected, and the reverse."""
    given, goal = get_base_type(strip_ai_result(found)), get_base_type(remove_null(strip_ai_result(wanted)))
    text = c.quote(node)
    if isinstance(goal, Array) and not isinstance(given, Array) and is_assignable(found, goal.item):
        return f"put it into an array: `[{text}]`"
    if isinstance(given, Array) and not isinstance(goal, Array) and goal != JSON and is_assignable(given.item, goal):
        return f"declare it as `{format_type_short(goal)}[]`, or take one of them: `{text if text != 'x' else 'xs'}[0]`"
    return ""


def _hint_literal(c: Reporter, node: n.NumberLit | n.TextLit | n.NullLit, wanted: Type) -> str:
    if isinstance(node, n.NullLit):
        return f"declare it as `{format_type_short(wanted)} | null`"
    if wanted is BOOLEAN:
        return "write `true` or `false`, or compare: `a == b`"
    if hint := _hint_array(c, node, get_base_type(node.type or JSON), wanted):
        return hint
    written = c.source.text[node.start : node.end]
    if isinstance(node, n.NumberLit) and wanted is TEXT:
        return f'write `"{written}"`'
    if isinstance(node, n.TextLit) and wanted is NUMBER and _NUMERAL.fullmatch(written[1:-1]):
        return f"write `{written[1:-1]}`, without quotes"
    if isinstance(goal := get_base_type(remove_null(strip_ai_result(wanted))), Object):
        return f"write an object with its fields: `{{ {', '.join(f'{each}: …' for each in list(goal.fields)[:3])} }}`"
    if isinstance(node, n.TextLit) and isinstance(wanted, Union):
        known = [each.value for each in wanted.options if isinstance(each, Literal) and isinstance(each.value, str)]
        shown_first = ", ".join(f'`"{each}"`' for each in known[:5])
        return c.hint_similar(written[1:-1], known) or (f"write one of {shown_first}" if known else "")
    return ""


def _literal_texts(wanted: Type) -> list[str]:
    """Return the formatted literals of the expected type, if it has no other options."""
    options = union_options(remove_null(strip_ai_result(wanted)))
    return [format_type_short(each) for each in options] if all(isinstance(each, Literal) for each in options) else []


def _hint_literals(c: Reporter, node: n.Node, words: list[str]) -> str:
    if isinstance(node, n.Assign):
        return f"if it may be any text, declare it so: `let {c.quote(node.target)}: text = …`"
    if not isinstance(node, n.Name | n.Member | n.Index | n.Call):
        return ""
    listed = ", ".join([*words[:3], *(["…"] if len(words) > 3 else [])])
    name = "x" if isinstance(node, n.Call) else c.quote(node)
    return f"look before whether it is one of them: `if {name} in [{listed}] {{ … }}`"


def hint_function(found: Type, wanted: Type) -> str:
    """Return the hint for a function that does not fit, or is expected."""
    if not isinstance(wanted, CallableType):
        return (
            "a function is no data: call it, `f(…)`; for one, declare `(number) => number`"
            if is_json_data(wanted)
            else ""
        )
    if not isinstance(found, CallableType) or len(found.parameters) == len(wanted.parameters):
        return ""
    names = ", ".join("abcdefgh"[: len(wanted.parameters)])
    return f"it is called with {len(wanted.parameters)}: `({names}) => …`"


def _hint_map(text: str, found: Type, wanted: Type) -> str:
    if isinstance(wanted, Map) and isinstance(strip_ai_result(found), Object):
        return f"an object has the fields it has; put them into a map: `{{ ...{text} }}`"
    if isinstance(wanted, Map):
        return ""
    if isinstance(wanted, Object) and isinstance(given := strip_ai_result(found), Object):
        return _hint_field(given, wanted)
    return 'a map may have any keys: take out what is wanted, as in `{ name: m["name"] }`'


def _hint_field(found: Object, wanted: Object) -> str:
    """Return which field does not fit."""
    for name, field in wanted.fields.items():
        given = found.fields.get(name)
        if given is None and not field.optional:
            return f"it has no field `{name}`"
        if given is not None and given.optional and not field.optional:
            return f"its field `{name}` may be missing"
        if given is not None and not is_assignable(given.type, field.type):
            return (
                f"its field `{name}` is `{format_type_short(given.type)}`, and"
                f" `{format_type_short(field.type)}` is wanted"
            )
    return ""


def hint_methods(c: Reporter, node: n.Member, kind: Type, table: dict[str, MethodSignature]) -> str:
    """Return the hint for an unknown method: the kind of values that has it, or the methods there are."""
    written = c.quote_receiver(node.object)
    if isinstance(kind, CallableType):
        given = f'"{node.name}"' if written == "env" and node.name != "get" else "…"
        return f"a function has no members: call it, `{written}({given})`"
    if isinstance(kind, Array) and isinstance(item := kind.item, Object) and node.name in item.fields:
        return f"of each of them: `{written}.map(x => x.{node.name})`; of one: `{written}[0].{node.name}`"
    if node.name in TEXT_METHODS and kind in (NUMBER, BOOLEAN):
        return f"it is a method of text: `{written}.toString().{node.name}(…)`"
    if node.name in NUMBER_METHODS and kind is TEXT:
        return f"it is a method of numbers: `{written}.toNumber().{node.name}(…)`"
    if node.name in TEXT_METHODS and isinstance(kind, Array):
        return f"it is a method of text: `{written}.map(x => x.{node.name}(…))`"
    known = [each for each in table if each not in ("toString", "len")]
    return f"there are {', '.join(f'`{each}`' for each in known)}" if known else ""


def hint_index(c: Reporter, node: n.Index, kind: Type) -> str:
    """Return the hint for an index of an array or a text that is not a number."""
    written, index = c.quote_receiver(node.object), node.index
    if isinstance(index, n.Range):
        return f"a part is `{written}[a:b]`, up to the position `b` and without it"
    said = c.source.text[index.start + 1 : index.end - 1] if isinstance(index, n.TextLit) else ""
    if said.isdigit():
        return f"write `{written}[{said}]`, without quotes"
    if isinstance(kind, Array) and isinstance(kind.item, Object):
        return f"find it: `{written}.find(x => x.name == {c.quote(index)})`; the items have fields, `{written}[0].name`"
    return f"write `{written}.indexOf({c.quote(index)})` to find where it is"


def report_unknown_method(
    c: Reporter, node: n.Member, type_: Type, receiver: Type, table: dict[str, MethodSignature]
) -> None:
    """Report a method that does not exist."""
    where = get_name_span(node)
    kind = get_operand_type(receiver)
    if isinstance(kind, Object) and node.name in kind.fields:
        hint = f"leave out the parentheses: `{c.quote(node)}`"
        c.report("V0311", f"the field `{node.name}` of `{format_type_general(kind)}` cannot be called", where, hint)
        return
    other = _hint_foreign_member(kind, node.name) if kind is not NULL else ""
    hint = other or c.hint_similar(node.name, table)
    if kind is ERROR:
        hint = f"the text of an error is `{c.quote(node.object)}.message`"
    if isinstance(kind, Union) and not hint:
        hint = f"test which it is: `if {c.quote(node.object)} is {format_type_short(kind.options[0])} {{ … }}`"
    hint = hint or hint_methods(c, node, kind, table)
    c.report("V0307", f"`{format_type_general(type_)}` has no method `{node.name}`", where, hint, is_habit=bool(other))


def _hint_foreign_member(kind: Type, name: str, *, is_member: bool = False) -> str:
    """Return what to write for a method or member of another language, or ""."""
    own = METHOD_HINTS.get(name_kind(kind), {})
    return own.get(name) or ("" if is_member and name == "length" else METHOD_HINTS[""].get(name, ""))


def _format_type_test(c: Reporter, node: n.Expr, kind: Union, one: Object) -> str:
    """Return the test that identifies one object of a union: by a discriminating field, or by its type."""
    told = find_discriminator(kind, one)
    if told is None:
        return f"{c.quote(node)} is {format_type_short(one)}"
    name, literals = told
    return f"{c.quote_receiver(node)}.{name} == {format_type_short(literals[0])}"


def report_unknown_member(c: Reporter, node: n.Member, type_: Type, kind: Type) -> None:
    """Report a member that does not exist."""
    where = get_name_span(node)
    table = get_methods(kind) or {}
    if node.name in table:
        hint = f"write `{c.quote(node)}({'…' if table[node.name].required else ''})`"
        c.report("V0308", f"`{node.name}` is a method and must be called", where, hint)
        return
    if isinstance(kind, Map):
        hint = f'a map has keys, not fields: `{c.quote_receiver(node.object)}["{node.name}"]`'
        if node.name in METHOD_HINTS[""]:
            hint = f"{METHOD_HINTS[''][node.name]}; {hint}"
        c.report("V0306", f"`{format_type_general(type_)}` has no field `{node.name}`", where, hint)
        return
    fields = kind.fields if isinstance(kind, Object) else ("length",)
    if isinstance(kind, Union):
        some = next((each for each in kind.options if isinstance(each, Object) and node.name in each.fields), None)
        hint = f"look which it is: `{_format_type_test(c, node.object, kind, some)}`" if some is not None else ""
        c.report("V0306", f"not every `{format_type_general(type_)}` has a field `{node.name}`", where, hint)
        return
    own = [*AI_MEMBER_NAMES] if isinstance(type_, AIResultType) else []
    is_apart = c.source.text[node.object.end : node.object.end + 1].isspace()
    joins = "write `+` to join texts" if kind is TEXT and is_apart else ""
    hint = (
        joins
        or (_hint_foreign_member(kind, node.name, is_member=True) if table or kind is MODEL else "")
        or c.hint_similar(node.name, chain(fields, own, table))
    )
    if isinstance(kind, Object) and not hint:
        hint = hint_fields(kind)
    hint = hint or hint_methods(c, node, kind, table)
    what = "field" if isinstance(kind, Object) else "member"
    c.report("V0306", f"`{format_type_general(type_)}` has no {what} `{node.name}`", where, hint)
