"""Members and methods that there are not, and what to write instead."""

from __future__ import annotations

from itertools import chain

from antiphon.lang.check.methods import Method, kind_word, methods_of
from antiphon.lang.check.notation import fields_of, general, shown
from antiphon.lang.check.parts import discriminator
from antiphon.lang.check.remedies import methods_hint
from antiphon.lang.check.state import Checker
from antiphon.lang.check.types import AI, AI_NAMES, ERROR, MODEL, NULL, TEXT, Map, Object, Type, Union, operand
from antiphon.lang.syntax.habits import METHODS
from antiphon.lang.syntax.nodes import Expr, Member


def report_method(c: Checker, node: Member, type_: Type, receiver: Type, table: dict[str, Method]) -> None:
    """Tell of a method that there is not."""
    where = node.name_start, node.name_start + len(node.name)
    kind = operand(receiver)
    if isinstance(kind, Object) and node.name in kind.fields:
        hint = f"leave out the parentheses: `{c.text_of(node)}`"
        c.report("V0311", f"the field `{node.name}` of `{general(kind)}` cannot be called", where, hint)
        return
    other = _habit(kind, node.name) if kind is not NULL else ""
    hint = other or c.meant(node.name, table)
    if kind is ERROR:
        hint = f"the text of an error is `{c.text_of(node.object)}.message`"
    if isinstance(kind, Union) and not hint:
        hint = f"test which it is: `if {c.text_of(node.object)} is {shown(kind.options[0])} {{ … }}`"
    hint = hint or methods_hint(c, node, kind, table)
    c.report("V0307", f"`{general(type_)}` has no method `{node.name}`", where, hint, is_habit=bool(other))


def _habit(kind: Type, name: str, *, is_member: bool = False) -> str:
    """What to write for a method or member that other languages have."""
    own = METHODS.get(kind_word(kind), {})
    return own.get(name) or ("" if is_member and name == "length" else METHODS[""].get(name, ""))


def _test(c: Checker, node: Expr, kind: Union, one: Object) -> str:
    """What tells which of several objects a value is: a field of literals, or its type."""
    told = discriminator(kind, one)
    if told is None:
        return f"{c.text_of(node)} is {shown(one)}"
    name, literals = told
    return f"{c.object_text_of(node)}.{name} == {shown(literals[0])}"


def report_member(c: Checker, node: Member, type_: Type, kind: Type) -> None:
    """Tell of a member that there is not."""
    where = node.name_start, node.name_start + len(node.name)
    table = methods_of(kind) or {}
    if node.name in table:
        hint = f"write `{c.text_of(node)}({'…' if table[node.name].required else ''})`"
        c.report("V0308", f"`{node.name}` is a method and must be called", where, hint)
        return
    if isinstance(kind, Map):
        hint = f'a map has keys, not fields: `{c.object_text_of(node.object)}["{node.name}"]`'
        if node.name in METHODS[""]:
            hint = f"{METHODS[''][node.name]}; {hint}"
        c.report("V0306", f"`{general(type_)}` has no field `{node.name}`", where, hint)
        return
    fields = kind.fields if isinstance(kind, Object) else ("length",)
    if isinstance(kind, Union):
        some = next((each for each in kind.options if isinstance(each, Object) and node.name in each.fields), None)
        hint = f"look which it is: `{_test(c, node.object, kind, some)}`" if some is not None else ""
        c.report("V0306", f"not every `{general(type_)}` has a field `{node.name}`", where, hint)
        return
    own = [*AI_NAMES] if isinstance(type_, AI) else []
    is_apart = c.source.text[node.object.end : node.object.end + 1].isspace()
    joins = "write `+` to join texts" if kind is TEXT and is_apart else ""
    hint = (
        joins
        or (_habit(kind, node.name, is_member=True) if table or kind is MODEL else "")
        or c.meant(node.name, chain(fields, own, table))
    )
    if isinstance(kind, Object) and not hint:
        hint = fields_of(kind)
    hint = hint or methods_hint(c, node, kind, table)
    what = "field" if isinstance(kind, Object) else "member"
    c.report("V0306", f"`{general(type_)}` has no {what} `{node.name}`", where, hint)
