"""Declarations of a file: variables, patterns, types, imports, inputs and the result."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.table import IMPORTED_NAME_HINTS, SYSTEM_MODULE_OF
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import is_assignable
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.constants import NotConstant, evaluate_constant
from antiphon.lang.typecheck.destructuring import infer_destructured
from antiphon.lang.typecheck.element_types import infer_literal_items
from antiphon.lang.typecheck.fix_hints import hint_no_result
from antiphon.lang.typecheck.invariance import widen_fresh
from antiphon.lang.typecheck.methods import BUILTINS
from antiphon.lang.typecheck.reporter import get_name_span
from antiphon.lang.typecheck.symbols import ModuleExports, Symbol
from antiphon.lang.typecheck.type_printer import format_type_short


def check_let(c: Checker, node: n.Let) -> bool:
    """Check `let name: type = value`."""
    declared = c.types.resolve(node.declared) if node.declared is not None else None
    value = node.value
    if value is None:
        type_ = declared or t.JSON
        _check_missing_value(c, node, declared)
    elif declared is None:
        type_ = c.infer(value)
        if type_ is t.NULL and isinstance(value, n.Call) and isinstance(value.callee, n.Member):
            c.warn("V0704", "nothing is given here: it is always null", value, hint_no_result(c, value))
        type_ = type_ if node.is_const and not t.is_mutable(type_) else widen_fresh(value, type_)
    else:
        if type(value) is n.Lambda:
            # Declared first, since a lambda may call itself.
            _declare_variable(c, node, declared)
        c.check_value(value, declared, node.name)
        type_ = (
            t.AIResultType(t.strip_ai_result(declared))
            if type(value) is n.ModelCall and t.is_json_data(declared)
            else declared
        )
    if not node.is_const and t.strip_ai_result(type_) is t.MODEL:
        hint = f"write `const {node.name} = …`"
        c.report("V0405", "model values are const only", get_name_span(node), hint)
    if node.is_async:
        _check_async_value(c, value)
    symbol = node.symbol or _declare_variable(c, node, type_)
    symbol.is_async = node.is_async
    symbol.items = infer_literal_items(value) if declared is None else None
    symbol.node = value if node.is_const and type(value) is n.Lambda else None
    if node.exported:
        _export_constant(c, node, symbol)
    symbol.is_open = declared is None and type(value) is n.NullLit and not node.is_const
    if value is not None and (declared is not None or symbol.is_open) and value.type is not None:
        c.narrowing.record_assignment(symbol, value.type)
    return False


def check_async_ask(c: Checker, node: n.AsyncAsk) -> bool:
    """Check `async do …` as a statement."""
    c.infer(node.value)
    _check_async_value(c, node.value)
    return False


def _declare_variable(c: Checker, node: n.Let, type_: t.Type) -> Symbol:
    kind = "const" if node.is_const else "let"
    symbol = node.symbol = c.scopes.make_symbol(
        node.name, kind, type_, node.name_start, node.end, private=node.is_private
    )
    c.scopes.declare(symbol)
    return symbol


def check_destructure(c: Checker, node: n.Destructure) -> bool:
    """Check `const { name: text } = value` or `const [a, b] = value`."""
    kind = "const" if node.is_const else "let"
    for symbol in infer_destructured(c, node, kind):
        symbol.is_async = node.is_async
        if node.exported:
            _export_constant(c, node, symbol)
        c.scopes.declare(symbol)
    if node.is_async:
        _check_async_value(c, node.value)
    return False


def check_type_declaration(c: Checker, node: n.TypeDecl) -> bool:
    """Check `type Name …`, which was declared when its block began."""
    if node.exported and node.symbol is not None:
        c.scopes.export(node, node.symbol)
    return False


def _export_constant(c: Checker, node: n.Let | n.Destructure, symbol: Symbol) -> None:
    """Mark a constant as exported; report a `let`, since importers would see only the value at import time."""
    if not node.is_const:
        hint = "write `export const`, or export a function that gives its value"
        c.report("V0508", "a variable that can change cannot be exported", (node.start, node.start + 6), hint)
    c.scopes.export(node, symbol)


def _check_missing_value(c: Checker, node: n.Let, declared: t.Type | None) -> None:
    if node.is_const:
        c.report(
            "V0404", f"the constant `{node.name}` has no value", get_name_span(node), f"write `const {node.name} = …`"
        )
    elif declared is None:
        hint = f"write `let {node.name} = …`, or `let {node.name}: text | null` for one that is null at first"
        c.report("V0404", f"`{node.name}` has neither a value nor a type", get_name_span(node), hint)
    elif declared is not t.JSON and not t.is_nullable(declared):
        text = format_type_short(declared)
        hint = f"give it one, or let it be null at first: `let {node.name}: {text} | null`"
        if c.scopes.current is c.scopes.module:
            hint += f"; what is given from outside is `input {node.name}: {text}`"
        c.report("V0404", f"`{node.name}` needs a value: `{text}` is never null", get_name_span(node), hint)


def _check_async_value(c: Checker, value: n.Expr | None) -> None:
    if value is not None and not isinstance(value, n.ModelCall | n.Call | n.AsyncFor):
        message = "only a call can be started with `async`: `do`, `vibe`, a function, or `async for`"
        c.report("V0416", message, value, "leave out `async`")


def check_import(c: Checker, node: n.Import) -> bool:
    """Check `import { names } from "path"`."""
    where = (node.path_start, node.path_start + len(node.path) + 2)
    if not c.scopes.is_at_top_level():
        c.report("V0507", "an import stands at the top level of a file", (node.start, node.start + 6))
    before = len(c.diagnostics)
    exports = _load_exports(c, node, where)
    for each in node.names:
        symbol = each.symbol
        if symbol is None or symbol not in c.scopes.hoisted_imports:
            symbol = each.symbol = _make_import_symbol(c, each, exports, node)
            c.scopes.declare(symbol)
        if not c.in_repl and len(c.diagnostics) == before:
            c.usage.record_import(symbol)
    return False


def hoist_imported_types(c: Checker, statements: Iterable[n.Statement]) -> None:
    """Declare imported types first, since functions and types of the file may use them in their declarations."""
    for node in statements:
        if not isinstance(node, n.Import) or c.importer is None or not node.path.endswith(".vibe"):
            continue
        exports = c.importer(node.path)
        for each in node.names:
            if (other := exports.names.get(each.name)) is not None and other.kind == "type":
                each.symbol = _make_import_symbol(c, each, exports, node)
                c.scopes.declare(each.symbol)
                c.scopes.hoisted_imports.add(each.symbol)


def _load_exports(c: Checker, node: n.Import, where: tuple[int, int]) -> ModuleExports:
    unknown = ModuleExports(complete=False)
    if c.untrusted and (node.path.endswith(".py") or node.path.startswith("py:")):
        c.report("V0603", "Python is not allowed by --untrusted", where)
        return unknown
    if c.importer is None:
        return unknown
    exports = c.importer(node.path)
    if exports.problem:
        c.report(exports.code, exports.problem, where, _hint_system_module(node) or exports.hint)
        return unknown
    return exports


def _hint_system_module(node: n.Import) -> str:
    """Return a hint which system module exports a name that is imported from an unknown module."""
    if node.path.startswith(".") or not node.names:
        return ""
    name = node.names[0].name
    if name in BUILTINS:
        return f"`{name}` is always there: leave out the import"
    module = SYSTEM_MODULE_OF.get(name)
    return f'write `from "{module}"`' if module else ""


def _make_import_symbol(c: Checker, node: n.ImportName, exports: ModuleExports, of: n.Import) -> Symbol:
    name = node.alias or node.name
    start = node.alias_start if node.alias else node.start
    other = exports.names.get(node.name)
    if other is None:
        if exports.complete:
            habit = _hint_foreign_export(of.path, node.name) if of.path.startswith("system") else ""
            hint = habit or c.hint_similar(node.name, exports.names) or _hint_exports(exports)
            where = node.start, node.start + len(node.name)
            c.report("V0602", f"`{of.path}` has no `{node.name}`", where, hint, is_habit=bool(habit))
        symbol = c.scopes.make_symbol(name, "import", t.JSON, start, of.end)
    else:
        # Only the other module may assign its variables.
        kind = "import" if other.kind == "let" else other.kind
        symbol = c.scopes.make_symbol(name, kind, other.type, start, of.end, private=other.is_private, node=other)
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


#: Statements that may precede `returns`: none of these can end the program.
_ALLOWED_BEFORE_RETURNS = (n.Import, n.Input, n.TypeDecl, n.Function, n.ModelDecl, n.Let, n.Destructure, n.Test)


def check_input(c: Checker, node: n.Input) -> bool:
    """Check `input name: type = default "description"` and declare it as a constant."""
    if not c.scopes.is_at_top_level():
        hint = "move it to the top"
        hint += "; a test has what is the default there" if c.scopes.is_in_test() else ""
        c.report("V0507", "an input stands at the top level of a file", (node.start, node.name_start), hint)
    elif c.in_repl:
        message, hint = "there is no program here that could be given an input", f"write `const {node.name} = …`"
        c.report("V0507", message, (node.start, node.name_start), hint)
    type_ = _resolve_input_type(c, node)
    if node.default is not None:
        c.check_value(node.default, type_, node.name)
        _check_default(c, node.default)
    symbol = c.scopes.make_symbol(
        node.name, "const", type_, node.name_start, node.end, private=node.is_private, node=node
    )
    node.symbol = symbol
    c.scopes.declare(symbol)
    return False


def is_required_input(type_: t.Type, default: n.Expr | None) -> bool:
    """Return True if an input must be given: it has no default, and cannot be null."""
    return default is None and not t.is_nullable(type_)


def check_returns(c: Checker, node: n.Returns) -> bool:
    """Check `returns type`: the type of the last expression, or of `return`."""
    type_ = c.types.resolve(node.declared)
    where = node.start, node.start + len("returns")
    if not c.scopes.is_at_top_level() or c.in_repl:
        c.report("V0507", "`returns` stands at the top level of a file", where, "a function says it as `f(): text`")
        return False
    if c.scopes.frame.returns is not None:
        c.report("V0419", "the program says twice what it returns", where, "keep one of them")
        return False
    before = (each for each in c.scopes.module.statements if each.start < node.start)
    if not all(isinstance(each, _ALLOWED_BEFORE_RETURNS) for each in before):
        c.report("V0419", "`returns` stands at the head of a program, behind its inputs", where, "move it up")
    if not is_assignable(type_, t.JSON):
        c.report("V0420", f"a program gives data, and no `{format_type_short(type_)}`", node.declared)
        type_ = t.JSON
    c.scopes.frame.returns = type_
    return False


def check_program_result(c: Checker, statements: list[n.Statement], ends: bool) -> None:
    """Check that a program with a declared result ends with a value."""
    wanted = c.scopes.frame.returns
    if wanted is None or ends or wanted == t.JSON or t.is_nullable(wanted):
        return
    if statements and isinstance(statements[-1], n.ExprStatement):
        return
    node = next(each for each in statements if isinstance(each, n.Returns))
    hint = "end it with a value, or every way through it with `return …`"
    c.report("V0501", f"the program does not always return `{format_type_short(wanted)}`", node, hint)


def _resolve_input_type(c: Checker, node: n.Input) -> t.Type:
    where = get_name_span(node)
    if node.declared is None:
        is_number, is_boolean = isinstance(node.default, n.NumberLit), isinstance(node.default, n.BoolLit)
        word = "number" if is_number else "boolean" if is_boolean else "text"
        hint = f"write `input {node.name}: {word}{' = …' if node.default is not None else ''}`, or another type"
        c.report("V0420", f"the input `{node.name}` has no type", where, hint)
        return t.JSON
    type_ = c.types.resolve(node.declared)
    if is_assignable(type_, t.JSON):
        return type_
    hint = f"take its name: `input {node.name}: text`, and `model chosen = {{ name: {node.name} }}`"
    hint = "" if t.has_function(type_) else hint
    c.report(
        "V0420", f"nobody can give a `{format_type_short(type_)}` from outside; inputs are data", node.declared, hint
    )
    return t.JSON


def _check_default(c: Checker, default: n.Expr) -> None:
    try:
        evaluate_constant(default)
    except NotConstant as wrong:
        if not isinstance(wrong.node, n.BadExpr):
            hint = "write a value here; or let it be null, `text | null`, and work it out below: `x ?? …`"
            c.report("V0421", "the default of an input is a value that needs no working out", wrong.node, hint)
