"""Hints how to fix a value that does not fit its place."""

from __future__ import annotations

import re
from itertools import chain

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.table import METHOD_HINTS
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import find_discriminator, is_assignable
from antiphon.lang.typecheck.methods import NUMBER_METHODS, TEXT_METHODS, MethodSignature, get_methods, name_kind
from antiphon.lang.typecheck.reporter import Reporter, get_name_span
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short, hint_fields

_CONVERSIONS: dict[tuple[t.Type, t.Type], str] = {
    (t.NUMBER, t.TEXT): "toString",
    (t.BOOLEAN, t.TEXT): "toString",
    (t.TEXT, t.NUMBER): "toNumber",
}
#: The comparison to write where a boolean is expected.
_BOOLEAN_TESTS: dict[t.Type, str] = {t.NUMBER: "!= 0", t.TEXT: '!= ""'}
_NUMERAL = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def report_mismatch(c: Reporter, node: n.Node, found: t.Type, wanted: t.Type, place: str) -> None:
    """Report a value whose type does not fit its place; `place` is its name in messages."""
    goal = f" for `{place}`" if place else ""
    # The literal itself matters only where literals are expected.
    what = format_type_short(found) if t.has_literals(wanted) else format_type_general(found)
    hint = _hint_mismatch(c, node, found, wanted)
    if place == "returns" and not hint:
        hint = f"give what is declared, or declare `returns {what}`"
    c.report("V0301", f"expected `{format_type_short(wanted)}`{goal}, found `{what}`", node, hint)


def _hint_mismatch(c: Reporter, node: n.Node, found: t.Type, wanted: t.Type) -> str:
    """Return what to write instead of a value that does not fit, or ""."""
    if wanted is t.TOOL:
        return _hint_tool(c, node, found)
    if isinstance(node, n.NumberLit | n.TextLit | n.NullLit):
        return _hint_literal(c, node, wanted)
    if found is t.MODEL:
        return f'a model is no data: it is asked, `do "…" {c.quote(node)}`'
    if found is t.NULL:
        return hint_no_result(c, node) if isinstance(node, n.Call) else ""
    if (hint := _hint_array(c, node, found, wanted)) and not t.is_nullable(found):
        return hint
    if t.is_nullable(found) and not t.is_nullable(wanted):
        return f"it may be null: give a value for that case, `{c.quote(node)} ?? …`, or test `!= null` before"
    if (
        not t.is_json_data(found)
        and t.is_json_data(wanted)
        and not isinstance(found, t.CallableType)
        and t.has_function(found)
    ):
        return "there is a function in it, and that is no data"
    if not t.is_json_data(found) and (isinstance(found, t.CallableType) or isinstance(wanted, t.CallableType)):
        return hint_function(found, wanted)
    if found is t.ERROR and t.get_base_type(wanted) is t.TEXT:
        return f"its text is `{c.quote(node)}.message`"
    if isinstance(t.strip_ai_result(found), t.Object | t.Map) and isinstance(
        aim := t.remove_null(t.strip_ai_result(wanted)), t.Object | t.Map
    ):
        return _hint_map(c.quote(node), found, aim)
    if wanted is t.BOOLEAN and (test := _BOOLEAN_TESTS.get(t.get_base_type(found))):
        return f"there is no truthiness: write `{c.quote_receiver(node)} {test}`"
    if t.strip_ai_result(found) is t.TEXT and (words := _literal_texts(wanted)):
        return _hint_literals(c, node, words)
    if isinstance(goal := t.get_base_type(t.remove_null(t.strip_ai_result(wanted))), t.Object) and not isinstance(
        t.strip_ai_result(found), t.Object | t.Map
    ):
        return f"write an object with its fields: `{{ {', '.join(f'{each}: …' for each in list(goal.fields)[:3])} }}`"
    if isinstance(node, n.PatternField | n.PatternItem) or (of := getattr(node, "type", None)) is None:
        return ""
    # For a spread, only a part does not fit, so no conversion is suggested.
    name = (
        _CONVERSIONS.get((t.get_base_type(found), t.get_base_type(wanted)))
        if t.get_base_type(t.strip_ai_result(of)) == t.get_base_type(found)
        else None
    )
    return f"write `{c.quote_receiver(node)}.{name}()`" if name else ""


def _hint_tool(c: Reporter, node: n.Node, found: t.Type) -> str:
    if isinstance(found, t.CallableType):
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


def _hint_array(c: Reporter, node: n.Node, found: t.Type, wanted: t.Type) -> str:
    """Return the hint for a single value where an array is expected, and the reverse."""
    given, goal = t.get_base_type(t.strip_ai_result(found)), t.get_base_type(t.remove_null(t.strip_ai_result(wanted)))
    text = c.quote(node)
    if isinstance(goal, t.Array) and not isinstance(given, t.Array) and is_assignable(found, goal.item):
        return f"put it into an array: `[{text}]`"
    if (
        isinstance(given, t.Array)
        and not isinstance(goal, t.Array)
        and goal != t.JSON
        and is_assignable(given.item, goal)
    ):
        return f"declare it as `{format_type_short(goal)}[]`, or take one of them: `{text if text != 'x' else 'xs'}[0]`"
    return ""


def _hint_literal(c: Reporter, node: n.NumberLit | n.TextLit | n.NullLit, wanted: t.Type) -> str:
    if isinstance(node, n.NullLit):
        return f"declare it as `{format_type_short(wanted)} | null`"
    if wanted is t.BOOLEAN:
        return "write `true` or `false`, or compare: `a == b`"
    if hint := _hint_array(c, node, t.get_base_type(node.type or t.JSON), wanted):
        return hint
    written = c.source.text[node.start : node.end]
    if isinstance(node, n.NumberLit) and wanted is t.TEXT:
        return f'write `"{written}"`'
    if isinstance(node, n.TextLit) and wanted is t.NUMBER and _NUMERAL.fullmatch(written[1:-1]):
        return f"write `{written[1:-1]}`, without quotes"
    if isinstance(goal := t.get_base_type(t.remove_null(t.strip_ai_result(wanted))), t.Object):
        return f"write an object with its fields: `{{ {', '.join(f'{each}: …' for each in list(goal.fields)[:3])} }}`"
    if isinstance(node, n.TextLit) and isinstance(wanted, t.Union):
        known = [each.value for each in wanted.options if isinstance(each, t.Literal) and isinstance(each.value, str)]
        shown_first = ", ".join(f'`"{each}"`' for each in known[:5])
        return c.hint_similar(written[1:-1], known) or (f"write one of {shown_first}" if known else "")
    return ""


def _literal_texts(wanted: t.Type) -> list[str]:
    """Return the formatted literals of the expected type, if it has no other options."""
    options = t.union_options(t.remove_null(t.strip_ai_result(wanted)))
    return [format_type_short(each) for each in options] if all(isinstance(each, t.Literal) for each in options) else []


def _hint_literals(c: Reporter, node: n.Node, words: list[str]) -> str:
    if isinstance(node, n.Assign):
        return f"if it may be any text, declare it so: `let {c.quote(node.target)}: text = …`"
    if not isinstance(node, n.Name | n.Member | n.Index | n.Call):
        return ""
    listed = ", ".join([*words[:3], *(["…"] if len(words) > 3 else [])])
    name = "x" if isinstance(node, n.Call) else c.quote(node)
    return f"look before whether it is one of them: `if {name} in [{listed}] {{ … }}`"


def hint_function(found: t.Type, wanted: t.Type) -> str:
    """Return the hint for a function that does not fit, or is expected."""
    if not isinstance(wanted, t.CallableType):
        if t.is_json_data(wanted):
            return "a function is no data: call it, `f(…)`; for one, declare `(number) => number`"
        return ""
    if not isinstance(found, t.CallableType) or len(found.parameters) == len(wanted.parameters):
        return ""
    names = ", ".join("abcdefgh"[: len(wanted.parameters)])
    return f"it is called with {len(wanted.parameters)}: `({names}) => …`"


def _hint_map(text: str, found: t.Type, wanted: t.Type) -> str:
    if isinstance(wanted, t.Map) and isinstance(t.strip_ai_result(found), t.Object):
        return f"an object has the fields it has; put them into a map: `{{ ...{text} }}`"
    if isinstance(wanted, t.Map):
        return ""
    if isinstance(wanted, t.Object) and isinstance(given := t.strip_ai_result(found), t.Object):
        return _hint_field(given, wanted)
    return 'a map may have any keys: take out what is wanted, as in `{ name: m["name"] }`'


def _hint_field(found: t.Object, wanted: t.Object) -> str:
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


def hint_methods(c: Reporter, node: n.Member, kind: t.Type, table: dict[str, MethodSignature]) -> str:
    """Return the hint for an unknown method: the kind of values that has it, or the methods there are."""
    written = c.quote_receiver(node.object)
    if isinstance(kind, t.CallableType):
        given = f'"{node.name}"' if written == "env" and node.name != "get" else "…"
        return f"a function has no members: call it, `{written}({given})`"
    if isinstance(kind, t.Array) and isinstance(item := kind.item, t.Object) and node.name in item.fields:
        return f"of each of them: `{written}.map(x => x.{node.name})`; of one: `{written}[0].{node.name}`"
    if node.name in TEXT_METHODS and kind in (t.NUMBER, t.BOOLEAN):
        return f"it is a method of text: `{written}.toString().{node.name}(…)`"
    if node.name in NUMBER_METHODS and kind is t.TEXT:
        return f"it is a method of numbers: `{written}.toNumber().{node.name}(…)`"
    if node.name in TEXT_METHODS and isinstance(kind, t.Array):
        return f"it is a method of text: `{written}.map(x => x.{node.name}(…))`"
    known = [each for each in table if each not in ("toString", "len")]
    return f"there are {', '.join(f'`{each}`' for each in known)}" if known else ""


def hint_index(c: Reporter, node: n.Index, kind: t.Type) -> str:
    """Return the hint for an index of an array or a text that is not a number."""
    written, index = c.quote_receiver(node.object), node.index
    if isinstance(index, n.Range):
        return f"a part is `{written}[a:b]`, up to the position `b` and without it"
    said = c.source.text[index.start + 1 : index.end - 1] if isinstance(index, n.TextLit) else ""
    if said.isdigit():
        return f"write `{written}[{said}]`, without quotes"
    if isinstance(kind, t.Array) and isinstance(kind.item, t.Object):
        return f"find it: `{written}.find(x => x.name == {c.quote(index)})`; the items have fields, `{written}[0].name`"
    return f"write `{written}.indexOf({c.quote(index)})` to find where it is"


def report_unknown_method(
    c: Reporter, node: n.Member, type_: t.Type, receiver: t.Type, table: dict[str, MethodSignature]
) -> None:
    """Report a method that does not exist."""
    where = get_name_span(node)
    kind = t.get_operand_type(receiver)
    if isinstance(kind, t.Object) and node.name in kind.fields:
        hint = f"leave out the parentheses: `{c.quote(node)}`"
        c.report("V0311", f"the field `{node.name}` of `{format_type_general(kind)}` cannot be called", where, hint)
        return
    other = _hint_foreign_member(kind, node.name) if kind is not t.NULL else ""
    hint = other or c.hint_similar(node.name, table)
    if kind is t.ERROR:
        hint = f"the text of an error is `{c.quote(node.object)}.message`"
    if isinstance(kind, t.Union) and not hint:
        hint = f"test which it is: `if {c.quote(node.object)} is {format_type_short(kind.options[0])} {{ … }}`"
    hint = hint or hint_methods(c, node, kind, table)
    c.report("V0307", f"`{format_type_general(type_)}` has no method `{node.name}`", where, hint, is_habit=bool(other))


def _hint_foreign_member(kind: t.Type, name: str, *, is_member: bool = False) -> str:
    """Return what to write for a method or member of another language, or ""."""
    own = METHOD_HINTS.get(name_kind(kind), {})
    return own.get(name) or ("" if is_member and name == "length" else METHOD_HINTS[""].get(name, ""))


def _format_type_test(c: Reporter, node: n.Expr, kind: t.Union, one: t.Object) -> str:
    """Return the test that identifies one object of a union: by a discriminating field, or by its type."""
    told = find_discriminator(kind, one)
    if told is None:
        return f"{c.quote(node)} is {format_type_short(one)}"
    name, literals = told
    return f"{c.quote_receiver(node)}.{name} == {format_type_short(literals[0])}"


def report_unknown_member(c: Reporter, node: n.Member, type_: t.Type, kind: t.Type) -> None:
    """Report a member that does not exist."""
    where = get_name_span(node)
    table = get_methods(kind) or {}
    if node.name in table:
        hint = f"write `{c.quote(node)}({'…' if table[node.name].required else ''})`"
        c.report("V0308", f"`{node.name}` is a method and must be called", where, hint)
        return
    if isinstance(kind, t.Map):
        hint = f'a map has keys, not fields: `{c.quote_receiver(node.object)}["{node.name}"]`'
        if node.name in METHOD_HINTS[""]:
            hint = f"{METHOD_HINTS[''][node.name]}; {hint}"
        c.report("V0306", f"`{format_type_general(type_)}` has no field `{node.name}`", where, hint)
        return
    fields = kind.fields if isinstance(kind, t.Object) else ("length",)
    if isinstance(kind, t.Union):
        some = next((each for each in kind.options if isinstance(each, t.Object) and node.name in each.fields), None)
        hint = f"look which it is: `{_format_type_test(c, node.object, kind, some)}`" if some is not None else ""
        c.report("V0306", f"not every `{format_type_general(type_)}` has a field `{node.name}`", where, hint)
        return
    own = [*t.AI_MEMBER_NAMES] if isinstance(type_, t.AIResultType) else []
    is_apart = c.source.text[node.object.end : node.object.end + 1].isspace()
    joins = "write `+` to join texts" if kind is t.TEXT and is_apart else ""
    hint = (
        joins
        or (_hint_foreign_member(kind, node.name, is_member=True) if table or kind is t.MODEL else "")
        or c.hint_similar(node.name, chain(fields, own, table))
    )
    if isinstance(kind, t.Object) and not hint:
        hint = hint_fields(kind)
    hint = hint or hint_methods(c, node, kind, table)
    what = "field" if isinstance(kind, t.Object) else "member"
    c.report("V0306", f"`{format_type_general(type_)}` has no {what} `{node.name}`", where, hint)
