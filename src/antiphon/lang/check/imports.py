"""Imports: what other modules give."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from antiphon.lang.check.methods import BUILTINS
from antiphon.lang.check.state import Checker
from antiphon.lang.check.symbols import Exports, Symbol
from antiphon.lang.check.types import JSON
from antiphon.lang.syntax.habits import EXPORTS, MODULE_OF
from antiphon.lang.syntax.nodes import Import, ImportName, Statement


def import_(c: Checker, node: Import) -> bool:
    """`import { names } from "path"`."""
    where = (node.path_start, node.path_start + len(node.path) + 2)
    if c.scope is not c.module or c.frame.node is not None:
        c.report("V0507", "an import stands at the top level of a file", (node.start, node.start + 6))
    before = len(c.diagnostics)
    exports = _exports(c, node, where)
    for each in node.names:
        symbol = each.symbol
        if symbol is None or symbol not in c.imported_types:
            symbol = each.symbol = _imported(c, each, exports, node)
            c.declare(symbol)
        if not c.in_repl and len(c.diagnostics) == before:
            c.imported.append(symbol)
    return False


def hoist_types(c: Checker, statements: Iterable[Statement]) -> None:
    """Make the types known that are imported: the functions and types of the file may be declared with them."""
    for node in statements:
        if not isinstance(node, Import) or c.imports is None or not node.path.endswith(".vibe"):
            continue
        exports = c.imports(node.path)
        for each in node.names:
            if (other := exports.names.get(each.name)) is not None and other.kind == "type":
                each.symbol = _imported(c, each, exports, node)
                c.declare(each.symbol)
                c.imported_types.add(each.symbol)


def _exports(c: Checker, node: Import, where: tuple[int, int]) -> Exports:
    unknown = Exports(complete=False)
    if c.untrusted and (node.path.endswith(".py") or node.path.startswith("py:")):
        c.report("V0603", "Python is not allowed by --untrusted", where)
        return unknown
    if c.imports is None:
        return unknown
    exports = c.imports(node.path)
    if exports.problem:
        c.report(exports.code, exports.problem, where, _of_the_system(node) or exports.hint)
        return unknown
    return exports


def _of_the_system(node: Import) -> str:
    """Which module of the system gives a name, where one is imported from none that there is."""
    if node.path.startswith(".") or not node.names:
        return ""
    name = node.names[0].name
    if name in BUILTINS:
        return f"`{name}` is always there: leave out the import"
    module = MODULE_OF.get(name)
    return f'write `from "{module}"`' if module else ""


def _imported(c: Checker, node: ImportName, exports: Exports, of: Import) -> Symbol:
    name = node.alias or node.name
    start = node.alias_start if node.alias else node.start
    other = exports.names.get(node.name)
    if other is None:
        if exports.complete:
            habit = _habit(of.path, node.name) if of.path.startswith("system") else ""
            hint = habit or c.meant(node.name, exports.names) or _given(exports)
            where = node.start, node.start + len(node.name)
            c.report("V0602", f"`{of.path}` has no `{node.name}`", where, hint, is_habit=bool(habit))
        symbol = c.symbol(name, "import", JSON, start, of.end)
    else:
        # A variable of another module is that module's to assign.
        kind = "import" if other.kind == "let" else other.kind
        symbol = c.symbol(name, kind, other.type, start, of.end, private=other.is_private, node=other)
    return symbol


def _habit(path: str, name: str) -> str:
    """What to write for a name that a module of the system does not give."""
    if name in BUILTINS:
        return "it is always there: leave it out of the import"
    said = EXPORTS.get(f"{path}:{name}") or EXPORTS.get(name)
    return said or (f'write `from "{MODULE_OF[name]}"`' if name in MODULE_OF else "")


def _given(exports: Exports) -> str:
    names = [f"`{each}`" for each in islice(exports.names, 8)]
    return f"it gives {', '.join(names)}" if names else "it exports nothing"
