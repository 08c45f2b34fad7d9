"""Reports about the use of names: names that nothing uses, and calls before the declarations that they need."""

from __future__ import annotations

from typing import Any

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import Diagnostic, DiagnosticLabel
from antiphon.lang.typecheck.reporter import Reporter
from antiphon.lang.typecheck.scopes import VARIABLE_KINDS, ScopeStack
from antiphon.lang.typecheck.symbols import Symbol

#: Kinds of symbols for which an unused one is a warning.
_WARNED_KINDS = frozenset(("let", "const", "function"))
_FUNCTION_NODES = (n.Function, n.Lambda)
#: The outer variables and the functions that a function uses.
_FunctionUses = tuple[set[Symbol], set[Symbol]]


class NameUsage:
    """Uses of names that can only be judged at the end of a block or of the program."""

    __slots__ = ("_calls", "_imported", "_is_shown_to_model", "_reporter", "_scopes", "_unread_variables")

    def __init__(self, reporter: Reporter, scopes: ScopeStack) -> None:
        self._reporter = reporter
        self._scopes = scopes
        #: Calls of declared functions, each with the function that runs it.
        self._calls: list[tuple[n.Name, Symbol, Any]] = []
        self._imported: list[Symbol] = []
        #: Warnings about unused variables, dropped if a model is shown the variables.
        self._unread_variables: list[Diagnostic] = []
        self._is_shown_to_model = False

    def record_import(self, symbol: Symbol) -> None:
        """Record an imported name."""
        self._imported.append(symbol)

    def record_call(self, callee: n.Name, symbol: Symbol) -> None:
        """Record a call of a declared function that runs immediately."""
        scopes = self._scopes
        if isinstance(symbol.node, _FUNCTION_NODES) and symbol not in scopes.module.earlier and not scopes.is_in_test():
            self._calls.append((callee, symbol, scopes.find_running_function()))

    def record_shown_variables(self) -> None:
        """Record that a model is shown the variables, so that no variable is unused."""
        self._is_shown_to_model = True

    def check_unused(self, names: dict[str, Symbol]) -> None:
        """Warn of the unused names of a block that ends."""
        for each in names.values():
            if each.used or each.exported or each.kind not in _WARNED_KINDS or each.name.startswith("_"):
                continue
            what = "assigned but never read" if each.is_assigned else "never used"
            hint = f"remove it, or call it `_{each.name}`"
            found = Diagnostic("V0702", f"`{each.name}` is {what}", each.start, each.end, hint, severity="warning")
            is_variable = each.kind in ("let", "const") and not each.is_private
            (self._unread_variables if is_variable else self._reporter.diagnostics).append(found)

    def withdraw_unused(self, symbol: Symbol) -> None:
        """Withdraw the warning about a symbol whose use is reported as an error."""
        self._reporter.withdraw("V0702", symbol.start, symbol.end)
        self._unread_variables = [each for each in self._unread_variables if each.start != symbol.start]

    def report(self) -> None:
        """Report what is known at the end of the program."""
        self._report_early_calls()
        for each in self._imported:
            if not each.used and not each.name.startswith("_"):
                message = f"`{each.name}` is imported and never used"
                self._reporter.warn("V0702", message, each, "remove it from the import")
        if not self._is_shown_to_model:
            self._reporter.diagnostics += self._unread_variables

    def _report_early_calls(self) -> None:
        """Report the recorded calls that come before a declaration that the function needs."""
        last: dict[int, int] = {}
        for each in self._scopes.variables:
            if each.is_captured or each.assigned_in:
                last[id(each.owner)] = max(last.get(id(each.owner), 0), each.since)
        known: dict[Symbol, _FunctionUses] = {}
        for callee, function, runner in self._calls:
            if last.get(id(runner), 0) < callee.start:
                continue
            used = _collect_used_variables(function, known)
            late = [each for each in used if each.owner is runner and each.since > callee.start]
            if late:
                first = min(late, key=lambda each: each.start)
                message = f"`{function.name}` is called before `{first.name}` is declared, which it uses"
                hint = "move the declaration up, or the call down"
                self._reporter.report("V0202", message, callee, hint, label_declaration(first))


def label_declaration(symbol: Symbol) -> tuple[DiagnosticLabel, ...]:
    """Return a label at a symbol's declaration, if it is in this file."""
    if symbol.kind == "builtin" or symbol.end == 0:
        return ()
    return (DiagnosticLabel(symbol.start, symbol.end, "it is declared here"),)


def _collect_used_variables(function: Symbol, known: dict[Symbol, _FunctionUses]) -> set[Symbol]:
    """Return the outer variables that a function uses, directly or through the functions it calls."""
    out: set[Symbol] = set()
    seen, todo = {function}, [function]
    while todo:
        each = todo.pop()
        if each not in known:
            known[each] = _collect_own_uses(each.node)
        variables, functions = known[each]
        out |= variables
        todo += functions - seen
        seen |= functions
    return out


def _collect_own_uses(node: Any) -> _FunctionUses:
    symbols = {each.symbol for each in n.walk(node) if isinstance(each, n.Name) and each.symbol is not None}
    functions = {each for each in symbols if isinstance(each.node, _FUNCTION_NODES)}
    return {each for each in symbols if each.kind in VARIABLE_KINDS and each.owner is not node}, functions
