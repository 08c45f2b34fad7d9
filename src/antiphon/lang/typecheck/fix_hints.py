"""Hints how to fix a value that does not fit its place."""

from __future__ import annotations

import re

from antiphon.lang.syntax.nodes import (
    Assign,
    Call,
    Index,
    Member,
    Name,
    Node,
    NullLit,
    NumberLit,
    PatternField,
    PatternItem,
    Range,
    TextLit,
)
from antiphon.lang.typecheck.assignability import is_assignable
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.methods import NUMBER_METHODS, TEXT_METHODS, MethodSignature
from antiphon.lang.typecheck.type_printer import format_type_short
from antiphon.lang.typecheck.types import (
    BOOLEAN,
    ERROR,
    JSON,
    MODEL,
    NULL,
    NUMBER,
    TEXT,
    TOOL,
    Array,
    CallableType,
    Literal,
    Map,
    Object,
    Type,
    Union,
    get_base_type,
    has_function,
    is_json_data,
    is_nullable,
    remove_null,
    strip_ai_result,
    union_options,
)

_CONVERSIONS: dict[tuple[Type, Type], str] = {
    (NUMBER, TEXT): "toString",
    (BOOLEAN, TEXT): "toString",
    (TEXT, NUMBER): "toNumber",
}
#: The comparison to write where a boolean is expected.
_BOOLEAN_TESTS: dict[Type, str] = {NUMBER: "!= 0", TEXT: '!= ""'}
_NUMERAL = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def hint_mismatch(c: Checker, node: Node, found: Type, wanted: Type) -> str:
    """Return what to write instead of a value that does not fit, or ""."""
    if wanted is TOOL:
        return _hint_tool(c, node, found)
    if isinstance(node, NumberLit | TextLit | NullLit):
        return _hint_literal(c, node, wanted)
    if found is MODEL:
        return f'a model is no data: it is asked, `do "…" {c.source_text(node)}`'
    if found is NULL:
        return hint_no_result(c, node) if isinstance(node, Call) else ""
    if (hint := _hint_array(c, node, found, wanted)) and not is_nullable(found):
        return hint
    if is_nullable(found) and not is_nullable(wanted):
        return f"it may be null: give a value for that case, `{c.source_text(node)} ?? …`, or test `!= null` before"
    if not is_json_data(found) and is_json_data(wanted) and not isinstance(found, CallableType) and has_function(found):
        return "there is a function in it, and that is no data"
    if not is_json_data(found) and (isinstance(found, CallableType) or isinstance(wanted, CallableType)):
        return hint_function(found, wanted)
    if found is ERROR and get_base_type(wanted) is TEXT:
        return f"its text is `{c.source_text(node)}.message`"
    if isinstance(strip_ai_result(found), Object | Map) and isinstance(
        aim := remove_null(strip_ai_result(wanted)), Object | Map
    ):
        return _hint_map(c.source_text(node), found, aim)
    if wanted is BOOLEAN and (test := _BOOLEAN_TESTS.get(get_base_type(found))):
        return f"there is no truthiness: write `{c.receiver_text(node)} {test}`"
    if strip_ai_result(found) is TEXT and (words := _literal_texts(wanted)):
        return _hint_literals(c, node, words)
    if isinstance(goal := get_base_type(remove_null(strip_ai_result(wanted))), Object) and not isinstance(
        strip_ai_result(found), Object | Map
    ):
        return f"write an object with its fields: `{{ {', '.join(f'{each}: …' for each in list(goal.fields)[:3])} }}`"
    if isinstance(node, PatternField | PatternItem) or (of := getattr(node, "type", None)) is None:
        return ""
    # For a spread, only a part does not fit, so no conversion is suggested.
    name = (
        _CONVERSIONS.get((get_base_type(found), get_base_type(wanted)))
        if get_base_type(strip_ai_result(of)) == get_base_type(found)
        else None
    )
    return f"write `{c.receiver_text(node)}.{name}()`" if name else ""


def _hint_tool(c: Checker, node: Node, found: Type) -> str:
    if isinstance(found, CallableType):
        return "declare it with `tool` instead of `function`"
    if isinstance(node, Call):
        return f"name it, and do not call it: `{c.source_text(node.callee)}`"
    return "name it without quotes: a tool that is declared, or imported from `system/tools`"


def hint_no_result(c: Checker, node: Call) -> str:
    """Return the hint for a call that returns nothing."""
    callee = node.callee
    if isinstance(callee, Member):
        return (
            f"`{callee.name}` changes `{c.source_text(callee.object)}` itself, and gives nothing: write it on its own"
        )
    return "nothing is given here: the function returns nothing"


def _hint_array(c: Checker, node: Node, found: Type, wanted: Type) -> str:
    """Return the hint for a single value where an array is expected, and the reverse."""
    given, goal = get_base_type(strip_ai_result(found)), get_base_type(remove_null(strip_ai_result(wanted)))
    text = c.source_text(node)
    if isinstance(goal, Array) and not isinstance(given, Array) and is_assignable(found, goal.item):
        return f"put it into an array: `[{text}]`"
    if isinstance(given, Array) and not isinstance(goal, Array) and goal != JSON and is_assignable(given.item, goal):
        return f"declare it as `{format_type_short(goal)}[]`, or take one of them: `{text if text != 'x' else 'xs'}[0]`"
    return ""


def _hint_literal(c: Checker, node: NumberLit | TextLit | NullLit, wanted: Type) -> str:
    if isinstance(node, NullLit):
        return f"declare it as `{format_type_short(wanted)} | null`"
    if wanted is BOOLEAN:
        return "write `true` or `false`, or compare: `a == b`"
    if hint := _hint_array(c, node, get_base_type(node.type or JSON), wanted):
        return hint
    written = c.source.text[node.start : node.end]
    if isinstance(node, NumberLit) and wanted is TEXT:
        return f'write `"{written}"`'
    if isinstance(node, TextLit) and wanted is NUMBER and _NUMERAL.fullmatch(written[1:-1]):
        return f"write `{written[1:-1]}`, without quotes"
    if isinstance(goal := get_base_type(remove_null(strip_ai_result(wanted))), Object):
        return f"write an object with its fields: `{{ {', '.join(f'{each}: …' for each in list(goal.fields)[:3])} }}`"
    if isinstance(node, TextLit) and isinstance(wanted, Union):
        known = [each.value for each in wanted.options if isinstance(each, Literal) and isinstance(each.value, str)]
        shown_first = ", ".join(f'`"{each}"`' for each in known[:5])
        return c.meant(written[1:-1], known) or (f"write one of {shown_first}" if known else "")
    return ""


def _literal_texts(wanted: Type) -> list[str]:
    """Return the formatted literals of the expected type, if it has no other options."""
    options = union_options(remove_null(strip_ai_result(wanted)))
    return [format_type_short(each) for each in options] if all(isinstance(each, Literal) for each in options) else []


def _hint_literals(c: Checker, node: Node, words: list[str]) -> str:
    if isinstance(node, Assign):
        return f"if it may be any text, declare it so: `let {c.source_text(node.target)}: text = …`"
    if not isinstance(node, Name | Member | Index | Call):
        return ""
    listed = ", ".join([*words[:3], *(["…"] if len(words) > 3 else [])])
    name = "x" if isinstance(node, Call) else c.source_text(node)
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


def hint_methods(c: Checker, node: Member, kind: Type, table: dict[str, MethodSignature]) -> str:
    """Return the hint for an unknown method: the kind of values that has it, or the methods there are."""
    written = c.receiver_text(node.object)
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


def hint_index(c: Checker, node: Index, kind: Type) -> str:
    """Return the hint for an index of an array or a text that is not a number."""
    written, index = c.receiver_text(node.object), node.index
    if isinstance(index, Range):
        return f"a part is `{written}[a:b]`, up to the position `b` and without it"
    said = c.source.text[index.start + 1 : index.end - 1] if isinstance(index, TextLit) else ""
    if said.isdigit():
        return f"write `{written}[{said}]`, without quotes"
    if isinstance(kind, Array) and isinstance(kind.item, Object):
        return (
            f"find it: `{written}.find(x => x.name == {c.source_text(index)})`; the items have"
            f" fields, `{written}[0].name`"
        )
    return f"write `{written}.indexOf({c.source_text(index)})` to find where it is"
