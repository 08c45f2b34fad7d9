"""What to write instead of a value that does not fit its place."""

from __future__ import annotations

import re

from antiphon.lang.check.fitting import assignable
from antiphon.lang.check.methods import NUMBER_METHODS, TEXT_METHODS, Method
from antiphon.lang.check.notation import shown
from antiphon.lang.check.state import Checker
from antiphon.lang.check.types import (
    BOOLEAN,
    ERROR,
    JSON,
    MODEL,
    NULL,
    NUMBER,
    TEXT,
    TOOL,
    Array,
    Callable,
    Literal,
    Map,
    Object,
    Type,
    Union,
    base,
    has_function,
    is_data,
    may_be_null,
    options_of,
    plain,
    without_null,
)
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

_CONVERSIONS: dict[tuple[Type, Type], str] = {
    (NUMBER, TEXT): "toString",
    (BOOLEAN, TEXT): "toString",
    (TEXT, NUMBER): "toNumber",
}
#: What is compared, where a boolean is wanted.
_TESTS: dict[Type, str] = {NUMBER: "!= 0", TEXT: '!= ""'}
_NUMERAL = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def remedy(c: Checker, node: Node, found: Type, wanted: Type) -> str:
    """What to write instead of a value that does not fit; empty where nobody can say."""
    if wanted is TOOL:
        return _tool_hint(c, node, found)
    if isinstance(node, NumberLit | TextLit | NullLit):
        return _other_literal(c, node, wanted)
    if found is MODEL:
        return f'a model is no data: it is asked, `do "…" {c.text_of(node)}`'
    if found is NULL:
        return nothing_hint(c, node) if isinstance(node, Call) else ""
    if (hint := _array_hint(c, node, found, wanted)) and not may_be_null(found):
        return hint
    if may_be_null(found) and not may_be_null(wanted):
        return f"it may be null: give a value for that case, `{c.text_of(node)} ?? …`, or test `!= null` before"
    if not is_data(found) and is_data(wanted) and not isinstance(found, Callable) and has_function(found):
        return "there is a function in it, and that is no data"
    if not is_data(found) and (isinstance(found, Callable) or isinstance(wanted, Callable)):
        return function_hint(found, wanted)
    if found is ERROR and base(wanted) is TEXT:
        return f"its text is `{c.text_of(node)}.message`"
    if isinstance(plain(found), Object | Map) and isinstance(aim := without_null(plain(wanted)), Object | Map):
        return _map_hint(c.text_of(node), found, aim)
    if wanted is BOOLEAN and (test := _TESTS.get(base(found))):
        return f"there is no truthiness: write `{c.object_text_of(node)} {test}`"
    if plain(found) is TEXT and (words := _words(wanted)):
        return _words_hint(c, node, words)
    if isinstance(goal := base(without_null(plain(wanted))), Object) and not isinstance(plain(found), Object | Map):
        return f"write an object with its fields: `{{ {', '.join(f'{each}: …' for each in list(goal.fields)[:3])} }}`"
    if isinstance(node, PatternField | PatternItem) or (of := getattr(node, "type", None)) is None:
        return ""
    # Of what is put in with `...`, a part does not fit.
    name = _CONVERSIONS.get((base(found), base(wanted))) if base(plain(of)) == base(found) else None
    return f"write `{c.object_text_of(node)}.{name}()`" if name else ""


def _tool_hint(c: Checker, node: Node, found: Type) -> str:
    if isinstance(found, Callable):
        return "declare it with `tool` instead of `function`"
    if isinstance(node, Call):
        return f"name it, and do not call it: `{c.text_of(node.callee)}`"
    return "name it without quotes: a tool that is declared, or imported from `system/tools`"


def nothing_hint(c: Checker, node: Call) -> str:
    """For the call of what gives nothing."""
    callee = node.callee
    if isinstance(callee, Member):
        return f"`{callee.name}` changes `{c.text_of(callee.object)}` itself, and gives nothing: write it on its own"
    return "nothing is given here: the function returns nothing"


def _array_hint(c: Checker, node: Node, found: Type, wanted: Type) -> str:
    """For one where several are wanted, and several where one is."""
    given, goal = base(plain(found)), base(without_null(plain(wanted)))
    text = c.text_of(node)
    if isinstance(goal, Array) and not isinstance(given, Array) and assignable(found, goal.item):
        return f"put it into an array: `[{text}]`"
    if isinstance(given, Array) and not isinstance(goal, Array) and goal != JSON and assignable(given.item, goal):
        return f"declare it as `{shown(goal)}[]`, or take one of them: `{text if text != 'x' else 'xs'}[0]`"
    return ""


def _other_literal(c: Checker, node: NumberLit | TextLit | NullLit, wanted: Type) -> str:
    if isinstance(node, NullLit):
        return f"declare it as `{shown(wanted)} | null`"
    if wanted is BOOLEAN:
        return "write `true` or `false`, or compare: `a == b`"
    if hint := _array_hint(c, node, base(node.type or JSON), wanted):
        return hint
    written = c.source.text[node.start : node.end]
    if isinstance(node, NumberLit) and wanted is TEXT:
        return f'write `"{written}"`'
    if isinstance(node, TextLit) and wanted is NUMBER and _NUMERAL.fullmatch(written[1:-1]):
        return f"write `{written[1:-1]}`, without quotes"
    if isinstance(goal := base(without_null(plain(wanted))), Object):
        return f"write an object with its fields: `{{ {', '.join(f'{each}: …' for each in list(goal.fields)[:3])} }}`"
    if isinstance(node, TextLit) and isinstance(wanted, Union):
        known = [each.value for each in wanted.options if isinstance(each, Literal) and isinstance(each.value, str)]
        shown_first = ", ".join(f'`"{each}"`' for each in known[:5])
        return c.meant(written[1:-1], known) or (f"write one of {shown_first}" if known else "")
    return ""


def _words(wanted: Type) -> list[str]:
    """The words of which one is wanted, if it is nothing else."""
    options = options_of(without_null(plain(wanted)))
    return [shown(each) for each in options] if all(isinstance(each, Literal) for each in options) else []


def _words_hint(c: Checker, node: Node, words: list[str]) -> str:
    if isinstance(node, Assign):
        return f"if it may be any text, declare it so: `let {c.text_of(node.target)}: text = …`"
    if not isinstance(node, Name | Member | Index | Call):
        return ""
    listed = ", ".join([*words[:3], *(["…"] if len(words) > 3 else [])])
    name = "x" if isinstance(node, Call) else c.text_of(node)
    return f"look before whether it is one of them: `if {name} in [{listed}] {{ … }}`"


def function_hint(found: Type, wanted: Type) -> str:
    """What to write where a function is, or is wanted, that does not fit."""
    if not isinstance(wanted, Callable):
        return (
            "a function is no data: call it, `f(…)`; for one, declare `(number) => number`" if is_data(wanted) else ""
        )
    if not isinstance(found, Callable) or len(found.parameters) == len(wanted.parameters):
        return ""
    names = ", ".join("abcdefgh"[: len(wanted.parameters)])
    return f"it is called with {len(wanted.parameters)}: `({names}) => …`"


def _map_hint(text: str, found: Type, wanted: Type) -> str:
    if isinstance(wanted, Map) and isinstance(plain(found), Object):
        return f"an object has the fields it has; put them into a map: `{{ ...{text} }}`"
    if isinstance(wanted, Map):
        return ""
    if isinstance(wanted, Object) and isinstance(given := plain(found), Object):
        return _field_hint(given, wanted)
    return 'a map may have any keys: take out what is wanted, as in `{ name: m["name"] }`'


def _field_hint(found: Object, wanted: Object) -> str:
    """Which field it is that does not fit."""
    for name, field in wanted.fields.items():
        given = found.fields.get(name)
        if given is None and not field.optional:
            return f"it has no field `{name}`"
        if given is not None and given.optional and not field.optional:
            return f"its field `{name}` may be missing"
        if given is not None and not assignable(given.type, field.type):
            return f"its field `{name}` is `{shown(given.type)}`, and `{shown(field.type)}` is wanted"
    return ""


def methods_hint(c: Checker, node: Member, kind: Type, table: dict[str, Method]) -> str:
    """What to write for a method that something has not: of which kind it is one, or what there is."""
    written = c.object_text_of(node.object)
    if isinstance(kind, Callable):
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


def index_hint(c: Checker, node: Index, kind: Type) -> str:
    """What to write for an index of an array or a text that is no number."""
    written, index = c.object_text_of(node.object), node.index
    if isinstance(index, Range):
        return f"a part is `{written}[a:b]`, up to the position `b` and without it"
    said = c.source.text[index.start + 1 : index.end - 1] if isinstance(index, TextLit) else ""
    if said.isdigit():
        return f"write `{written}[{said}]`, without quotes"
    if isinstance(kind, Array) and isinstance(kind.item, Object):
        return (
            f"find it: `{written}.find(x => x.name == {c.text_of(index)})`; the items have fields, `{written}[0].name`"
        )
    return f"write `{written}.indexOf({c.text_of(index)})` to find where it is"
