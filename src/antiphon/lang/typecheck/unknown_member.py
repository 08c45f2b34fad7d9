"""Reports of unknown members and methods, with what to write instead."""

from __future__ import annotations

from itertools import chain

from antiphon.lang.syntax.foreign_syntax.table import METHOD_HINTS
from antiphon.lang.syntax.nodes import Expr, Member
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.fix_hints import hint_methods
from antiphon.lang.typecheck.methods import MethodSignature, get_methods, name_kind
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short, hint_fields
from antiphon.lang.typecheck.types import (
    AI_MEMBER_NAMES,
    ERROR,
    MODEL,
    NULL,
    TEXT,
    AIResultType,
    Map,
    Object,
    Type,
    Union,
    get_operand_type,
)
from antiphon.lang.typecheck.unions import find_discriminator


def report_unknown_method(
    c: Checker, node: Member, type_: Type, receiver: Type, table: dict[str, MethodSignature]
) -> None:
    """Report a method that does not exist."""
    where = node.name_start, node.name_start + len(node.name)
    kind = get_operand_type(receiver)
    if isinstance(kind, Object) and node.name in kind.fields:
        hint = f"leave out the parentheses: `{c.source_text(node)}`"
        c.report("V0311", f"the field `{node.name}` of `{format_type_general(kind)}` cannot be called", where, hint)
        return
    other = _hint_foreign_member(kind, node.name) if kind is not NULL else ""
    hint = other or c.meant(node.name, table)
    if kind is ERROR:
        hint = f"the text of an error is `{c.source_text(node.object)}.message`"
    if isinstance(kind, Union) and not hint:
        hint = f"test which it is: `if {c.source_text(node.object)} is {format_type_short(kind.options[0])} {{ … }}`"
    hint = hint or hint_methods(c, node, kind, table)
    c.report("V0307", f"`{format_type_general(type_)}` has no method `{node.name}`", where, hint, is_habit=bool(other))


def _hint_foreign_member(kind: Type, name: str, *, is_member: bool = False) -> str:
    """Return what to write for a method or member of another language, or ""."""
    own = METHOD_HINTS.get(name_kind(kind), {})
    return own.get(name) or ("" if is_member and name == "length" else METHOD_HINTS[""].get(name, ""))


def _format_type_test(c: Checker, node: Expr, kind: Union, one: Object) -> str:
    """Return the test that identifies one object of a union: by a discriminating field, or by its type."""
    told = find_discriminator(kind, one)
    if told is None:
        return f"{c.source_text(node)} is {format_type_short(one)}"
    name, literals = told
    return f"{c.receiver_text(node)}.{name} == {format_type_short(literals[0])}"


def report_unknown_member(c: Checker, node: Member, type_: Type, kind: Type) -> None:
    """Report a member that does not exist."""
    where = node.name_start, node.name_start + len(node.name)
    table = get_methods(kind) or {}
    if node.name in table:
        hint = f"write `{c.source_text(node)}({'…' if table[node.name].required else ''})`"
        c.report("V0308", f"`{node.name}` is a method and must be called", where, hint)
        return
    if isinstance(kind, Map):
        hint = f'a map has keys, not fields: `{c.receiver_text(node.object)}["{node.name}"]`'
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
        or c.meant(node.name, chain(fields, own, table))
    )
    if isinstance(kind, Object) and not hint:
        hint = hint_fields(kind)
    hint = hint or hint_methods(c, node, kind, table)
    what = "field" if isinstance(kind, Object) else "member"
    c.report("V0306", f"`{format_type_general(type_)}` has no {what} `{node.name}`", where, hint)
