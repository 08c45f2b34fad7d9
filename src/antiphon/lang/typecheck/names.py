"""Uses of names, and interpolations in strings."""

from __future__ import annotations

import re
from dataclasses import replace

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import DiagnosticLabel
from antiphon.lang.syntax.foreign_syntax.around_names import is_type_name
from antiphon.lang.syntax.foreign_syntax.table import FOREIGN_TYPES, GLOBAL_NAME_HINTS
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import inhabited_options
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.methods import BUILTINS
from antiphon.lang.typecheck.name_usage import label_declaration
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.type_printer import format_type_short

_DECLARE_HINT = "declare it before, or import it"
_MEMBER_ACCESS = re.compile(r"\.([^\W\d]\w*)")


def infer_name(c: Checker, node: n.Name, _: t.Type | None) -> t.Type:
    """Return the type of a name that is read."""
    symbol = resolve_name(c, node)
    if symbol is None:
        return t.JSON
    if symbol.kind == "type":
        message = f"`{node.name}` is a type, and no value"
        c.report("V0205", message, node, _hint_literal(c, node, symbol.type))
        return t.JSON
    type_ = symbol.type
    if type(type_) is t.CallableType:
        if symbol.kind == "builtin" and BUILTINS[symbol.name].in_tests:
            c.report("V0208", f"`{symbol.name}` is only for tests, and can only be called", node)
        return type_
    return c.narrowing.get_type(node, type_)


def _hint_literal(c: Checker, node: n.Name, type_: t.Type) -> str:
    """Return a hint for `Color.red`: the text itself, if the type is a union of texts."""
    member = _MEMBER_ACCESS.match(c.source.text, node.end)
    known = [
        each.value for each in inhabited_options(type_) if isinstance(each, t.Literal) and isinstance(each.value, str)
    ]
    if member is None or not known:
        return f"write a value of it, or declare one: `let x: {node.name} = …`"
    same = [each for each in known if each.lower() == member[1].lower()]
    return f'write `"{(same or known)[0]}"`: its values are texts'


def resolve_name(c: Checker, node: n.Name) -> Symbol | None:
    """Return the symbol of a name, recorded on its node; report an unknown name."""
    symbol = node.symbol = c.scopes.current.find(node.name)
    if symbol is None:
        _report_unknown_name(c, node)
    else:
        c.scopes.record_use(symbol)
    return symbol


def infer_tool_name(c: Checker, node: n.Name) -> t.Type | None:
    """Return `TOOL` if the name is that of a tool, which may be an item of an array, else None."""
    symbol = c.scopes.find(node.name)
    if symbol is None or type(symbol.type) is not t.CallableType or symbol.kind not in ("tool", "import"):
        return None
    symbol.used = True
    node.symbol, node.type = symbol, t.TOOL
    return t.TOOL


def check_model_reference(c: Checker, node: n.Name) -> None:
    """Check a name where a model is expected."""
    node.type = t.MODEL
    symbol = node.symbol = c.scopes.find(node.name)
    if symbol is None:
        models = (each for each in c.scopes.current.iterate_names() if _is_model(c.scopes.find(each)))
        declare = "declare it: `model " + node.name + ' = { name: "…" }`'
        if is_type_name(node.name):
            declare = f"the type stands in the declaration: `const x: {FOREIGN_TYPES.get(node.name, node.name)} = do …`"
        _report_unknown_name(c, node, c.hint_similar(node.name, models) or declare)
        return
    c.scopes.record_use(symbol)
    if not _is_model(symbol) and symbol.type != t.JSON:
        hint = "a model is declared with `model name = { … }`; without one, the last that was declared is asked"
        if t.get_base_type(symbol.type) is t.TEXT:
            hint = f'to put it into the prompt write `"… {{{node.name}}}"`; a model is declared, `model m = {{ … }}`'
        c.report("V0315", f"`{node.name}` is not a model", node, hint, label_declaration(symbol))


def check_interpolation(c: Checker, interpolation: n.Interpolation) -> None:
    """Check `${expr}` or `{path}` in a string."""
    before = len(c.diagnostics)
    check_convertible_to_text(c, interpolation.value, c.infer(interpolation.value))
    if not interpolation.dollar and len(c.diagnostics) > before:
        _hint_plain_brace(c, interpolation.value, before)


def _hint_plain_brace(c: Checker, root: n.Expr, before: int) -> None:
    """Add a hint how to write a brace as text to the report of an unknown name at the start of a `{path}`."""
    while isinstance(root, n.PATH_STEPS):
        root = root.object
    for at in range(before, len(c.diagnostics)):
        found = c.diagnostics[at]
        if isinstance(root, n.Name) and found.code == "V0201" and found.start == root.start and not found.labels:
            hint = found.hint if found.hint != _DECLARE_HINT else ""
            c.diagnostics[at] = replace(found, hint=f"{hint} for a brace as such, write `\\{{{root.name}`".strip())


def check_convertible_to_text(c: Checker, node: n.Node, type_: t.Type) -> None:
    """Report models, tools and functions, which have no text form."""
    if type_ is t.MODEL or type_ is t.TOOL:
        c.report("V0301", f"a {format_type_short(type_)} cannot be made text", node)
    elif type(type_) is not t.SimpleType and not t.is_json_data(type_):
        c.report("V0342", f"a function has no text, found `{format_type_short(type_)}`", node, "call it: `${f(…)}`")


def _is_model(symbol: Symbol | None) -> bool:
    return symbol is not None and symbol.kind != "type" and symbol.type == t.MODEL


def _report_unknown_name(c: Checker, node: n.Name, hint: str | None = None) -> None:
    node.type = t.JSON
    later = c.scopes.current.find_later_declaration(node.name)
    if later is not None:
        where = (DiagnosticLabel(*later, "it is declared here"),)
        own = later[0] < node.start
        message = f"`{node.name}` is used {'in its own' if own else 'before its'} declaration"
        hint = "" if own else "move the declaration up"
        if own and isinstance(c.scopes.frame.node, n.Lambda):
            hint = f"to call itself it needs its type, `{node.name}: (number) => number`; or declare a `function`"
        c.report("V0202", message, node, hint, where)
        return
    ended = c.scopes.ended.get(node.name)
    if hint is None and ended is not None and ended.kind in ("let", "const", "loop", "caught"):
        _report_out_of_scope(c, node, ended)
        return
    is_habit = False
    if hint is None:
        habit = _hint_foreign_name(c, node)
        is_habit = bool(habit)
        hint = habit or c.hint_similar(node.name, c.scopes.current.iterate_names())
        if node.name in t.TYPES_BY_NAME and not hint:
            hint = f"`{node.name}` is the name of a type"
        hint = hint or _DECLARE_HINT
    c.report("V0201", f"there is no `{node.name}` here", node, hint, is_habit=is_habit)


def _report_out_of_scope(c: Checker, node: n.Name, symbol: Symbol) -> None:
    """Report a name that is used after the block it was declared in."""
    c.usage.withdraw_unused(symbol)
    hint = f"declare it before the block, `let {node.name} = …`, and assign it there"
    if symbol.kind in ("loop", "caught"):
        hint = f"use it in the block, or keep it: `let last = …` before, and `last = {node.name}` there"
    c.report("V0201", f"there is no `{node.name}` here any more", node, hint, label_declaration(symbol))


def _hint_foreign_name(c: Checker, node: n.Name) -> str:
    """Return what to write for a built-in name of another language, or ""."""
    member = _MEMBER_ACCESS.match(c.source.text, node.end)
    return GLOBAL_NAME_HINTS.get(f"{node.name}.{member[1]}" if member else node.name) or GLOBAL_NAME_HINTS.get(
        node.name, ""
    )
