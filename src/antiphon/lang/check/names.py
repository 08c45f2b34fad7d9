"""Names where they are used, and the holes in strings."""

from __future__ import annotations

import re

from antiphon.lang.check.methods import BUILTINS
from antiphon.lang.check.narrowing import narrowed_type
from antiphon.lang.check.notation import shown
from antiphon.lang.check.parts import options
from antiphon.lang.check.state import Checker
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import JSON, MODEL, NAMED, TEXT, TOOL, Callable, Literal, Simple, Type, base, is_data
from antiphon.lang.syntax.diagnostics import Label
from antiphon.lang.syntax.habit_names import is_name_of_type
from antiphon.lang.syntax.habits import NAMES, TYPES
from antiphon.lang.syntax.nodes import Hole, Index, Lambda, Member, Name, Node, Slice

_STEPS = (Member, Index, Slice)
_MEMBER = re.compile(r"\.([^\W\d]\w*)")


def name(c: Checker, node: Name, _: Type | None) -> Type:
    """A name that is read."""
    symbol = resolve(c, node)
    if symbol is None:
        return JSON
    if symbol.kind == "type":
        message = f"`{node.name}` is a type, and no value"
        c.report("V0205", message, node, _literal_meant(c, node, symbol.type))
        return JSON
    type_ = symbol.type
    if type(type_) is Callable:
        if symbol.kind == "builtin" and BUILTINS[symbol.name].in_tests:
            c.report("V0208", f"`{symbol.name}` is only for tests, and can only be called", node)
        return type_
    return narrowed_type(c, node, type_) if c.narrowed else type_


def _literal_meant(c: Checker, node: Name, type_: Type) -> str:
    """For `Color.red`: the text itself, if the type is one of texts."""
    member = _MEMBER.match(c.source.text, node.end)
    known = [each.value for each in options(type_) if isinstance(each, Literal) and isinstance(each.value, str)]
    if member is None or not known:
        return f"write a value of it, or declare one: `let x: {node.name} = …`"
    same = [each for each in known if each.lower() == member[1].lower()]
    return f'write `"{(same or known)[0]}"`: its values are texts'


def resolve(c: Checker, node: Name) -> Symbol | None:
    """What a name stands for; an unknown one is reported."""
    symbol = node.symbol = c.scope.find(node.name)
    if symbol is None:
        _unknown(c, node)
    else:
        symbol.used = True
        if symbol.owner is not c.frame.node:
            symbol.is_captured = True
    return symbol


def tool_value(c: Checker, node: Name) -> Type | None:
    """`TOOL` if the name is that of a tool, which may be an item of an array."""
    symbol = c.scope.find(node.name)
    if symbol is None or type(symbol.type) is not Callable or symbol.kind not in ("tool", "import"):
        return None
    symbol.used = True
    node.symbol, node.type = symbol, TOOL
    return TOOL


def model_name(c: Checker, node: Name) -> None:
    """A name where a model is wanted."""
    node.type = MODEL
    symbol = node.symbol = c.scope.find(node.name)
    if symbol is None:
        models = (each for each in c.scope.all_names() if _is_model(c.scope.find(each)))
        declare = "declare it: `model " + node.name + ' = { name: "…" }`'
        if is_name_of_type(node.name):
            declare = f"the type stands in the declaration: `const x: {TYPES.get(node.name, node.name)} = do …`"
        _unknown(c, node, c.meant(node.name, models) or declare)
        return
    symbol.used = True
    symbol.is_captured = symbol.is_captured or symbol.owner is not c.frame.node
    if not _is_model(symbol) and symbol.type != JSON:
        hint = "a model is declared with `model name = { … }`; without one, the last that was declared is asked"
        if base(symbol.type) is TEXT:
            hint = f'to put it into the prompt write `"… {{{node.name}}}"`; a model is declared, `model m = {{ … }}`'
        c.report("V0315", f"`{node.name}` is not a model", node, hint, declared_here(symbol))


def check_hole(c: Checker, hole: Hole) -> None:
    """`${expr}` and `{path}` in a string."""
    value = hole.value
    if not hole.dollar:
        root = value
        while isinstance(root, _STEPS):
            root = root.object
        c.path_root = root
    check_has_text(c, value, c.expr(value))


def check_has_text(c: Checker, node: Node, type_: Type) -> None:
    """Only values can be turned into text: models, tools and functions cannot."""
    if type_ is MODEL or type_ is TOOL:
        c.report("V0301", f"a {shown(type_)} cannot be made text", node)
    elif type(type_) is not Simple and not is_data(type_):
        c.report("V0342", f"a function has no text, found `{shown(type_)}`", node, "call it: `${f(…)}`")


def _is_model(symbol: Symbol | None) -> bool:
    return symbol is not None and symbol.kind != "type" and symbol.type == MODEL


def _unknown(c: Checker, node: Name, hint: str | None = None) -> None:
    node.type = JSON
    later = c.scope.declared_later(node.name)
    if later is not None:
        where = (Label(*later, "it is declared here"),)
        own = later[0] < node.start
        message = f"`{node.name}` is used {'in its own' if own else 'before its'} declaration"
        hint = "" if own else "move the declaration up"
        if own and isinstance(c.frame.node, Lambda):
            hint = f"to call itself it needs its type, `{node.name}: (number) => number`; or declare a `function`"
        c.report("V0202", message, node, hint, where)
        return
    closed = c.closed.get(node.name)
    if hint is None and closed is not None and closed.kind in ("let", "const", "loop", "caught"):
        _gone(c, node, closed)
        return
    is_habit = False
    if hint is None:
        habit = _habit(c, node)
        is_habit = bool(habit)
        hint = habit or c.meant(node.name, c.scope.all_names())
        if node.name in NAMED and not hint:
            hint = f"`{node.name}` is the name of a type"
        if node is c.path_root:
            hint = f"{hint} for a brace as such, write `\\{{{node.name}`".strip()
        hint = hint or "declare it before, or import it"
    c.report("V0201", f"there is no `{node.name}` here", node, hint, is_habit=is_habit)


def _gone(c: Checker, node: Name, symbol: Symbol) -> None:
    """A name that is used behind the block it was declared in."""
    c.diagnostics[:] = [each for each in c.diagnostics if each.code != "V0702" or each.start != symbol.start]
    c.unread[:] = [each for each in c.unread if each.start != symbol.start]
    hint = f"declare it before the block, `let {node.name} = …`, and assign it there"
    if symbol.kind in ("loop", "caught"):
        hint = f"use it in the block, or keep it: `let last = …` before, and `last = {node.name}` there"
    c.report("V0201", f"there is no `{node.name}` here any more", node, hint, declared_here(symbol))


def _habit(c: Checker, node: Name) -> str:
    """What to write for a name that is always there in another language."""
    member = _MEMBER.match(c.source.text, node.end)
    return NAMES.get(f"{node.name}.{member[1]}" if member else node.name) or NAMES.get(node.name, "")


def declared_here(symbol: Symbol) -> tuple[Label, ...]:
    """A label at the declaration, where there is one in this file."""
    if symbol.kind == "builtin" or symbol.end == 0:
        return ()
    return (Label(symbol.start, symbol.end, "it is declared here"),)
