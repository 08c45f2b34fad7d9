"""Assignments to names, members and indexes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from antiphon.lang.check.effects import ITEMS, changed_by_index
from antiphon.lang.check.fields import check_keyed_slot
from antiphon.lang.check.fitting import assignable
from antiphon.lang.check.members import check_changeable, item_slot, member_type
from antiphon.lang.check.names import declared_here, resolve
from antiphon.lang.check.narrowing import assigned, assigned_part, changed, narrowed_type
from antiphon.lang.check.notation import general
from antiphon.lang.check.null import present
from antiphon.lang.check.operators import ASKS, combine
from antiphon.lang.check.parts import common_field
from antiphon.lang.check.scopes import Scope
from antiphon.lang.check.state import Checker
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import AI, AI_NAMES, JSON, TEXT, Array, Object, Type, Union, is_data, operand, plain
from antiphon.lang.syntax.nodes import Assign, Index, Input, Member, Name, root_symbol


def assign(c: Checker, node: Assign) -> bool:
    """`target = value`."""
    target = node.target
    if type(target) is Name:
        _assign_name(c, node, target)
    elif isinstance(target, Member | Index):
        _assign_part(c, node, target)
    else:
        c.expr(target)
        c.expr(node.value)
    return False


def _undeclared(c: Checker, node: Assign, target: Name) -> None:
    """A name that is assigned and declared nowhere: told once, and known from here on."""
    if node.op != "=" or c.scope.declared_later(target.name) is not None:
        resolve(c, target)
    else:
        target.type = JSON
        hint = f"declare it: `let {target.name} = {c.text_of(node.value)}`"
        near = c.nearest(target.name, _own_names(c))
        hint += f"; or did you mean `{near}`?" if near else ""
        c.report("V0201", f"there is no `{target.name}` here", target, hint, is_habit=True)
    _make_known(c, target.name)


def _make_known(c: Checker, name: str) -> None:
    """Let nothing be told of the uses of a name of which it was told already."""
    if c.module.parent is not None:
        c.module.parent.names[name] = Symbol(name, "let", JSON, used=True)


def _own_names(c: Checker) -> Iterator[str]:
    """The names that the module has declared so far, as far as they are known here."""
    scope: Scope | None = c.scope
    while scope is not None and scope is not c.module.parent:
        yield from scope.names
        scope = scope.parent


def _assign_name(c: Checker, node: Assign, target: Name) -> None:
    symbol = target.symbol = c.scope.find(target.name)
    if symbol is None:
        c.expr(node.value)
        _undeclared(c, node, target)
        return
    target.type = wanted = symbol.type
    if symbol.is_constant:
        symbol.is_captured = symbol.is_captured or symbol.owner is not c.frame.node
        _constant(c, target, symbol)
        c.expr(node.value)
        return
    if c.is_outside_async_for(symbol):
        message = f"`{symbol.name}` is outside this `async for`, and cannot be assigned in it"
        c.report("V0505", message, target, "its iterations run at the same time; `yield` what each of them gives")
    if node.op == "=" and type(node.value) is Name and node.value.name == target.name:
        c.warn("V0706", f"`{target.name}` is assigned to itself", node)
    _note_assignment(c, symbol)
    assigned(c, symbol, _check_value(c, node, wanted, target.name))


def _note_assignment(c: Checker, symbol: Symbol) -> None:
    symbol.assigned = True
    where = c.frame.node
    if where is not symbol.owner and (not symbol.assigned_in or symbol.assigned_in[-1] is not where):
        symbol.assigned_in += (where,)


def _check_value(c: Checker, node: Assign, wanted: Type, name: str) -> Type:
    if node.op == "=":
        before = len(c.diagnostics)
        found = c.want(node.value, wanted, name)
        _name_both(c, node, wanted, before)
        return found
    target = node.target
    held = narrowed_type(c, target, wanted) if c.narrowed else wanted
    target.type = held = present(c, target, held)
    if node.op == "+=" and isinstance(kind := operand(held), Array):
        given = c.expr(node.value, kind)
        if assignable(given, kind.item) and not assignable(given, kind):
            message = f"`+=` puts another array behind `{name}`, found `{general(given)}`"
            c.report("V0301", message, node.value, f"write `{name}.push({c.text_of(node.value)})`")
        else:
            c.want(node.value, kind, name)
        return held
    value = present(c, node.value, c.expr(node.value, held if type(node.value) in ASKS else None))
    before = len(c.diagnostics)
    result = combine(c, node.op[:-1], held, value, (node.start, node.end))
    if not assignable(result, wanted) and len(c.diagnostics) == before:
        c.mismatch(node, result, wanted, name)
    return result


def _name_both(c: Checker, node: Assign, wanted: Type, before: int) -> None:
    """Where a variable is given something of another type, and nothing else is known to say: how it could be both."""
    last = c.diagnostics[-1] if len(c.diagnostics) == before + 1 else None
    if last is None or last.code != "V0301" or last.hint or not isinstance(node.target, Name):
        return
    given = node.value.type
    if given is not None and is_data(given) and last.start == node.value.start:
        name, both = node.target.name, f"{general(wanted)} | {general(given)}"
        hint = f"take another variable, or declare it for both: `let {name}: {both} = …`"
        c.diagnostics[-1] = replace(last, hint=hint)


def _constant(c: Checker, target: Name, symbol: Symbol) -> None:
    labels = declared_here(symbol)
    if isinstance(symbol.node, Input):
        hint = f"take another name: `let next = {symbol.name}`"
        c.report("V0401", f"`{symbol.name}` is an input, and cannot be assigned", target, hint, labels)
    elif symbol.kind == "const":
        message = f"`{symbol.name}` is a constant, and cannot be assigned"
        c.report("V0401", message, target, "declare it with `let` to assign it again", labels)
    elif symbol.kind in ("loop", "caught"):
        what = "a loop variable" if symbol.kind == "loop" else "a caught error"
        hint = f"take another name: `let next = {symbol.name}`"
        c.report("V0401", f"`{symbol.name}` is {what}, and cannot be assigned", target, hint, labels)
    else:
        what = {"import": "imported", "builtin": "built in"}.get(symbol.kind, f"a {symbol.kind}")
        hint = f"take another name: `let my_{symbol.name} = …`"
        if symbol.kind == "builtin":
            hint = f"declare one of your own: `let {symbol.name} = …`"
            _make_known(c, target.name)
        c.report("V0403", f"`{symbol.name}` is {what}, and cannot be assigned", target, hint, labels)


def _assign_part(c: Checker, node: Assign, target: Member | Index) -> None:
    before = len(c.diagnostics)
    wanted = target.type = _slot(c, target, c.expr(target.object))
    root = root_symbol(target)
    if len(c.diagnostics) == before:
        check_changeable(c, root, target, "and what is in it cannot be assigned")
        if len(c.diagnostics) > before:
            c.expr(node.value)
            return
    if (
        node.op == "="
        and isinstance(target, Member)
        and isinstance(node.value, Member)
        and type(target.object) is type(node.value.object) is Name
        and node.value == target
    ):
        c.warn("V0706", "this is assigned to itself", node)
    found = _check_value(c, node, wanted, target.name if isinstance(target, Member) else "")
    changed(c, _changed(target))
    assigned_part(c, target, wanted, found)


def _changed(target: Member | Index) -> set[str]:
    """The members whose values an assignment changes, whoever has the object."""
    if isinstance(target, Member):
        return {target.name}
    owner = target.object.type
    return {ITEMS} if owner is not None and isinstance(operand(owner), Array) else changed_by_index(target.index)


def _slot(c: Checker, target: Member | Index, owner: Type) -> Type:
    """What may be put into a member or index."""
    if isinstance(target, Member):
        owner = present(c, target.object, owner)
    kind = operand(owner)
    if isinstance(target, Index):
        if kind is TEXT:
            c.expr(target.index)
            c.report("V0403", "text cannot be changed in place", target, "make a new one: `replace`, slices and `+`")
            return JSON
        wanted = item_slot(c, target, owner)
        if isinstance(kind := operand(owner), Object):
            check_keyed_slot(c, target, kind)
        return wanted
    where = target.name_start, target.name_start + len(target.name)
    if isinstance(owner, AI) and target.name in AI_NAMES:
        c.report("V0403", f"`{target.name}` of an AI result cannot be assigned", where)
        return JSON
    if isinstance(kind, Object) and (field := kind.fields.get(target.name)) is not None:
        return field.read
    if isinstance(kind, Object):
        hint = c.meant(target.name, kind.fields)
        if not hint and not kind.name:
            hint = "declare the variable as `json` to add fields later"
        c.report("V0306", f"`{general(kind)}` has no field `{target.name}`", where, hint)
        return JSON
    if isinstance(kind, Union) and common_field(kind, target.name) is not None:
        return _common_slot(c, target, kind, where)
    if target.name == "length":
        c.report("V0403", "`length` cannot be assigned", where)
        return JSON
    return plain(member_type(c, target, owner))


def _common_slot(c: Checker, target: Member, kind: Union, where: tuple[int, int]) -> Type:
    """What may be put into a field of whichever object it is: only where it is the same in each."""
    types = list(dict.fromkeys(each.fields[target.name].read for each in kind.options if isinstance(each, Object)))
    if len(types) > 1:
        hint = f"assign a whole one: `{c.object_text_of(target.object)} = {{ … }}`"
        c.report("V0306", f"the field `{target.name}` is not the same in every `{general(kind)}`", where, hint)
        return JSON
    return types[0]
