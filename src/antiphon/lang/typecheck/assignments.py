"""Assignments to names, members and indexes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import find_common_field, is_assignable
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.element_types import check_keyed_assignment
from antiphon.lang.typecheck.fix_hints import report_mismatch
from antiphon.lang.typecheck.members import infer_item_slot, infer_member
from antiphon.lang.typecheck.method_calls import record_mutation
from antiphon.lang.typecheck.name_usage import label_declaration
from antiphon.lang.typecheck.names import resolve_name
from antiphon.lang.typecheck.operators import ASK_NODES, infer_arithmetic
from antiphon.lang.typecheck.reporter import get_name_span
from antiphon.lang.typecheck.scopes import Scope
from antiphon.lang.typecheck.side_effects import ALL_ITEMS, members_changed_by_index
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.type_printer import format_type_general


def check_assignment(c: Checker, node: n.Assign) -> bool:
    """Check `target = value`."""
    target = node.target
    if type(target) is n.Name:
        _check_name_assignment(c, node, target)
    elif isinstance(target, n.Member | n.Index):
        _check_part_assignment(c, node, target)
    else:
        c.infer(target)
        c.infer(node.value)
    return False


def _report_undeclared(c: Checker, node: n.Assign, target: n.Name) -> None:
    """Report an assignment to an undeclared name once, and treat the name as known from here on."""
    if node.op != "=" or c.scopes.current.find_later_declaration(target.name) is not None:
        resolve_name(c, target)
    else:
        target.type = t.JSON
        hint = f"declare it: `let {target.name} = {c.quote(node.value)}`"
        near = c.find_similar(target.name, _iterate_module_names(c))
        hint += f"; or did you mean `{near}`?" if near else ""
        c.report("V0201", f"there is no `{target.name}` here", target, hint, is_habit=True)
    c.scopes.suppress_unknown_name(target.name)


def _iterate_module_names(c: Checker) -> Iterator[str]:
    """Yield the visible names that the module has declared so far."""
    scope: Scope | None = c.scopes.current
    while scope is not None and scope is not c.scopes.module.parent:
        yield from scope.names
        scope = scope.parent


def _check_name_assignment(c: Checker, node: n.Assign, target: n.Name) -> None:
    symbol = target.symbol = c.scopes.find(target.name)
    if symbol is None:
        c.infer(node.value)
        _report_undeclared(c, node, target)
        return
    target.type = wanted = symbol.type
    if symbol.is_constant:
        symbol.is_captured = symbol.is_captured or symbol.owner is not c.scopes.frame.node
        _report_constant(c, target, symbol)
        c.infer(node.value)
        return
    if c.scopes.is_outside_async_for(symbol):
        message = f"`{symbol.name}` is outside this `async for`, and cannot be assigned in it"
        c.report("V0505", message, target, "its iterations run at the same time; `yield` what each of them gives")
    if node.op == "=" and type(node.value) is n.Name and node.value.name == target.name:
        c.warn("V0706", f"`{target.name}` is assigned to itself", node)
    symbol.is_assigned = True
    where = c.scopes.frame.node
    if where is not symbol.owner and (not symbol.assigned_in or symbol.assigned_in[-1] is not where):
        symbol.assigned_in += (where,)
    c.narrowing.record_assignment(symbol, _check_assigned_value(c, node, wanted, target.name))


def _check_assigned_value(c: Checker, node: n.Assign, wanted: t.Type, name: str) -> t.Type:
    if node.op == "=":
        before = len(c.diagnostics)
        found = c.check_value(node.value, wanted, name)
        _hint_union_type(c, node, wanted, before)
        return found
    target = node.target
    held = c.narrowing.get_type(target, wanted)
    target.type = held = c.require_non_null(target, held)
    if node.op == "+=" and isinstance(kind := t.get_operand_type(held), t.Array):
        given = c.infer(node.value, kind)
        if is_assignable(given, kind.item) and not is_assignable(given, kind):
            message = f"`+=` puts another array behind `{name}`, found `{format_type_general(given)}`"
            c.report("V0301", message, node.value, f"write `{name}.push({c.quote(node.value)})`")
        else:
            c.check_value(node.value, kind, name)
        return held
    value = c.require_non_null(node.value, c.infer(node.value, held if type(node.value) in ASK_NODES else None))
    before = len(c.diagnostics)
    result = infer_arithmetic(c, node.op[:-1], held, value, (node.start, node.end))
    if not is_assignable(result, wanted) and len(c.diagnostics) == before:
        report_mismatch(c, node, result, wanted, name)
    return result


def _hint_union_type(c: Checker, node: n.Assign, wanted: t.Type, before: int) -> None:
    """Add a hint to a mismatch that has none: how to declare the variable for both types."""
    last = c.diagnostics[-1] if len(c.diagnostics) == before + 1 else None
    if last is None or last.code != "V0301" or last.hint or not isinstance(node.target, n.Name):
        return
    given = node.value.type
    if given is not None and t.is_json_data(given) and last.start == node.value.start:
        name, both = node.target.name, f"{format_type_general(wanted)} | {format_type_general(given)}"
        hint = f"take another variable, or declare it for both: `let {name}: {both} = …`"
        c.diagnostics[-1] = replace(last, hint=hint)


def _report_constant(c: Checker, target: n.Name, symbol: Symbol) -> None:
    labels = label_declaration(symbol)
    if isinstance(symbol.node, n.Input):
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
            c.scopes.suppress_unknown_name(target.name)
        c.report("V0403", f"`{symbol.name}` is {what}, and cannot be assigned", target, hint, labels)


def _check_part_assignment(c: Checker, node: n.Assign, target: n.Member | n.Index) -> None:
    before = len(c.diagnostics)
    wanted = target.type = _infer_slot(c, target, c.infer(target.object))
    root = n.get_root_symbol(target)
    if len(c.diagnostics) == before:
        record_mutation(c, root, target, "and what is in it cannot be assigned")
        if len(c.diagnostics) > before:
            c.infer(node.value)
            return
    if (
        node.op == "="
        and isinstance(target, n.Member)
        and isinstance(node.value, n.Member)
        and type(target.object) is type(node.value.object) is n.Name
        and node.value == target
    ):
        c.warn("V0706", "this is assigned to itself", node)
    found = _check_assigned_value(c, node, wanted, target.name if isinstance(target, n.Member) else "")
    c.narrowing.invalidate_members(_changed_members(target))
    c.narrowing.record_part_assignment(target, wanted, found)


def _changed_members(target: n.Member | n.Index) -> set[str]:
    """Return the names of the members that an assignment changes, in whichever object."""
    if isinstance(target, n.Member):
        return {target.name}
    owner = target.object.type
    if owner is not None and isinstance(t.get_operand_type(owner), t.Array):
        return {ALL_ITEMS}
    return members_changed_by_index(target.index)


def _infer_slot(c: Checker, target: n.Member | n.Index, owner: t.Type) -> t.Type:
    """Return the type that may be assigned to a member or index."""
    if isinstance(target, n.Member):
        owner = c.require_non_null(target.object, owner)
    kind = t.get_operand_type(owner)
    if isinstance(target, n.Index):
        if kind is t.TEXT:
            c.infer(target.index)
            c.report("V0403", "text cannot be changed in place", target, "make a new one: `replace`, slices and `+`")
            return t.JSON
        wanted = infer_item_slot(c, target, owner)
        if isinstance(kind := t.get_operand_type(owner), t.Object):
            check_keyed_assignment(c, target, kind)
        return wanted
    where = get_name_span(target)
    if isinstance(owner, t.AIResultType) and target.name in t.AI_MEMBER_NAMES:
        c.report("V0403", f"`{target.name}` of an AI result cannot be assigned", where)
        return t.JSON
    if isinstance(kind, t.Object) and (field := kind.fields.get(target.name)) is not None:
        return field.read
    if isinstance(kind, t.Object):
        hint = c.hint_similar(target.name, kind.fields)
        if not hint and not kind.name:
            hint = "declare the variable as `json` to add fields later"
        c.report("V0306", f"`{format_type_general(kind)}` has no field `{target.name}`", where, hint)
        return t.JSON
    if isinstance(kind, t.Union) and find_common_field(kind, target.name) is not None:
        return _infer_common_slot(c, target, kind, where)
    if target.name == "length":
        c.report("V0403", "`length` cannot be assigned", where)
        return t.JSON
    return t.strip_ai_result(infer_member(c, target, owner))


def _infer_common_slot(c: Checker, target: n.Member, kind: t.Union, where: tuple[int, int]) -> t.Type:
    """Return the type that may be assigned to a field of a union of objects, if it is the same in each."""
    types = list(dict.fromkeys(each.fields[target.name].read for each in kind.options if isinstance(each, t.Object)))
    if len(types) > 1:
        hint = f"assign a whole one: `{c.quote_receiver(target.object)} = {{ … }}`"
        c.report(
            "V0306", f"the field `{target.name}` is not the same in every `{format_type_general(kind)}`", where, hint
        )
        return t.JSON
    return types[0]
