"""Imports of names from other modules."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from antiphon.lang.syntax.foreign_syntax.table import IMPORTED_NAME_HINTS, SYSTEM_MODULE_OF
from antiphon.lang.syntax.nodes import Import, ImportName, Statement
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.methods import BUILTINS
from antiphon.lang.typecheck.symbols import ModuleExports, Symbol
from antiphon.lang.typecheck.types import JSON


def check_import(c: Checker, node: Import) -> bool:
    """Check `import { names } from "path"`."""
    where = (node.path_start, node.path_start + len(node.path) + 2)
    if c.scope is not c.module or c.frame.node is not None:
        c.report("V0507", "an import stands at the top level of a file", (node.start, node.start + 6))
    before = len(c.diagnostics)
    exports = _load_exports(c, node, where)
    for each in node.names:
        symbol = each.symbol
        if symbol is None or symbol not in c.imported_types:
            symbol = each.symbol = _make_import_symbol(c, each, exports, node)
            c.declare_symbol(symbol)
        if not c.in_repl and len(c.diagnostics) == before:
            c.imported.append(symbol)
    return False


def hoist_imported_types(c: Checker, statements: Iterable[Statement]) -> None:
    """Declare imported types first, since functions and types of the file may use them in their declarations."""
    for node in statements:
        if not isinstance(node, Import) or c.imports is None or not node.path.endswith(".vibe"):
            continue
        exports = c.imports(node.path)
        for each in node.names:
            if (other := exports.names.get(each.name)) is not None and other.kind == "type":
                each.symbol = _make_import_symbol(c, each, exports, node)
                c.declare_symbol(each.symbol)
                c.imported_types.add(each.symbol)


def _load_exports(c: Checker, node: Import, where: tuple[int, int]) -> ModuleExports:
    unknown = ModuleExports(complete=False)
    if c.untrusted and (node.path.endswith(".py") or node.path.startswith("py:")):
        c.report("V0603", "Python is not allowed by --untrusted", where)
        return unknown
    if c.imports is None:
        return unknown
    exports = c.imports(node.path)
    if exports.problem:
        c.report(exports.code, exports.problem, where, _hint_system_module(node) or exports.hint)
        return unknown
    return exports


def _hint_system_module(node: Import) -> str:
    """Return a hint which system module exports a name that is imported from an unknown module."""
    if node.path.startswith(".") or not node.names:
        return ""
    name = node.names[0].name
    if name in BUILTINS:
        return f"`{name}` is always there: leave out the import"
    module = SYSTEM_MODULE_OF.get(name)
    return f'write `from "{module}"`' if module else ""


def _make_import_symbol(c: Checker, node: ImportName, exports: ModuleExports, of: Import) -> Symbol:
    name = node.alias or node.name
    start = node.alias_start if node.alias else node.start
    other = exports.names.get(node.name)
    if other is None:
        if exports.complete:
            habit = _hint_foreign_export(of.path, node.name) if of.path.startswith("system") else ""
            hint = habit or c.meant(node.name, exports.names) or _hint_exports(exports)
            where = node.start, node.start + len(node.name)
            c.report("V0602", f"`{of.path}` has no `{node.name}`", where, hint, is_habit=bool(habit))
        symbol = c.symbol(name, "import", JSON, start, of.end)
    else:
        # Only the other module may assign its variables.
        kind = "import" if other.kind == "let" else other.kind
        symbol = c.symbol(name, kind, other.type, start, of.end, private=other.is_private, node=other)
    return symbol


def _hint_foreign_export(path: str, name: str) -> str:
    """Return what to write for a name that a system module does not export, or ""."""
    if name in BUILTINS:
        return "it is always there: leave it out of the import"
    said = IMPORTED_NAME_HINTS.get(f"{path}:{name}") or IMPORTED_NAME_HINTS.get(name)
    return said or (f'write `from "{SYSTEM_MODULE_OF[name]}"`' if name in SYSTEM_MODULE_OF else "")


def _hint_exports(exports: ModuleExports) -> str:
    names = [f"`{each}`" for each in islice(exports.names, 8)]
    return f"it gives {', '.join(names)}" if names else "it exports nothing"
