"""Interactive sessions: a program that grows input by input, with shared names and history."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from antiphon.lang.codegen import compile_repl_input
from antiphon.lang.codegen.code_object import ModuleCode
from antiphon.lang.codegen.compiler import MAIN_FUNCTION
from antiphon.lang.runtime.builtins_table import make_module_globals
from antiphon.lang.runtime.errors import ProgramAborted
from antiphon.lang.runtime.execution import ProgramExecution
from antiphon.lang.runtime.host import Host, PromptShown
from antiphon.lang.runtime.module_api import ModuleRuntime
from antiphon.lang.runtime.modules import ModuleInstances, ModuleLoader, ServerOpener
from antiphon.lang.runtime.recursion import run_with_deep_stack
from antiphon.lang.runtime.tracebacks import translate_error
from antiphon.lang.runtime.visible_variables import format_variable_value
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import Diagnostic, ProgramErrors, merge_diagnostics
from antiphon.lang.syntax.parser.source_parser import CONTEXTUAL_KEYWORDS, is_incomplete_source, parse_source
from antiphon.lang.syntax.source import Source
from antiphon.lang.syntax.tokens import RESERVED_WORDS
from antiphon.lang.typecheck import check_program
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.methods import get_methods, list_method_names
from antiphon.lang.typecheck.scopes import BUILTIN_SCOPE, Scope
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.type_printer import format_type

REPL_SOURCE_NAME = "<repl>"
_LAST_WORD = re.compile(r"((?:[^\W\d]\w*\.)*)(\w*)$")
_ASK_START = re.compile(r"\s*(do|vibe)\b")


@dataclass(slots=True)
class ReplResult:
    """The result of one input: its value, whether it has one, and the checker's warnings."""

    value: Any = None
    has_value: bool = False
    warnings: list[Diagnostic] = field(default_factory=list[Diagnostic])


class ReplSession:
    """An interactive session of the language, without input or output of its own.

    All inputs form one growing source text, of which only the last input is compiled. So line numbers
    continue, and functions of earlier inputs keep their positions.
    """

    def __init__(
        self, host: Host, *, name: str = REPL_SOURCE_NAME, untrusted: bool = False, servers: ServerOpener | None = None
    ) -> None:
        self.host = host
        self._modules = ModuleLoader(untrusted)
        self._execution = ProgramExecution(host, title=name)
        self._instances = ModuleInstances(self._modules, self._execution, servers)
        self.source: Source = Source(name, "")
        self._code = ModuleCode(self.source)
        self._scope = Scope()
        module = ModuleRuntime(self._execution, self._code, self._import)
        self._globals = self._instances.globals[name] = make_module_globals(self._code, module)

    def _import(self, path: str, name: str) -> Any:
        return self._instances.import_name(path, name, self._code)

    # Running inputs

    is_incomplete: Callable[[str], bool] = staticmethod(is_incomplete_source)

    def feed(self, text: str) -> ReplResult:
        """Run an input. Raise `ProgramErrors` if it cannot be run, and `VibeError` if it fails."""
        program, warnings = self._checked(text, self._scope)
        self._compile(program)
        last = program.statements[-1] if program.statements else None
        value = self._execute_main()
        return ReplResult(value, isinstance(last, n.ExprStatement), warnings)

    def _execute_main(self) -> Any:
        code = self._code.main
        assert code is not None
        try:
            with self._execution.active():
                exec(code, self._globals)
                value = run_with_deep_stack(self._globals[MAIN_FUNCTION])
                self._execution.finish()
        except (Exception, ProgramAborted) as error:
            raise translate_error(error) from None
        finally:
            self._execution.abandon()
        return value

    def _checked(self, text: str, scope: Scope) -> tuple[n.Program, list[Diagnostic]]:
        """Parse and check an input after all earlier ones; an input with errors is discarded."""
        before = self.source
        text = text if text.endswith("\n") else f"{text}\n"
        # Earlier inputs are blanked out: they keep their positions and are not parsed again.
        blank = re.sub(r"[^\n]", " ", before.text)
        self.source = self._code.source = Source(before.name, before.text + text)
        program, unread = parse_source(Source(before.name, blank + text))
        program.start = len(before.text)
        checked = check_program(
            program,
            self.source,
            scope=scope,
            imports=lambda path: self._modules.exports(path, self.source),
            untrusted=self._modules.untrusted,
            in_repl=True,
        )
        found = merge_diagnostics(self.source, unread, checked.diagnostics)
        errors = [(self.source, each) for each in found if each.severity == "error"]
        if errors:
            self.source = self._code.source = before
            raise ProgramErrors([*self._iter_module_errors(), *errors])
        return program, [each for each in found if each.code not in _IGNORED_WARNINGS]

    def _iter_module_errors(self) -> Iterator[tuple[Source, Diagnostic]]:
        """Yield the errors of imported modules, and forget those modules, so that they are read again next time."""
        for name, module in list(self._modules.compiled.items()):
            if not module.is_compilable:
                del self._modules.compiled[name]
                yield from ((module.source, each) for each in module.diagnostics if each.severity == "error")

    def _compile(self, program: n.Program) -> None:
        key = (MAIN_FUNCTION, 1)
        known = self._code.scopes.get(key, [])
        compile_repl_input(program, self.source, self._code)
        new = self._code.scopes[key]
        names = {each.name for each in new}
        self._code.scopes[key] = [*(each for each in known if each.name not in names), *new]
        module = self._globals["_vrt"]
        # Types and `py` blocks are numbered across all inputs; existing globals keep their values.
        self._globals.update(
            {k: v for k, v in make_module_globals(self._code, module).items() if k not in self._globals}
        )

    # Inspection

    def infer_type(self, text: str) -> str | None:
        """Return the type of an expression without running it; None if the input is no expression."""
        before = self.source
        try:
            program, _ = self._checked(text, Scope(dict(self._scope.names)))
        finally:
            self.source = self._code.source = before
        last = program.statements[-1] if program.statements else None
        if not isinstance(last, n.ExprStatement) or last.value.type is None:
            return None
        return format_type(t.widen_type(last.value.type))

    def preview_prompt(self, text: str) -> PromptShown | None:
        """Return the first request that an expression would send, without sending it; None if it asks no model."""
        asked = text if _ASK_START.match(text) else f"do {text}"
        before, self.host.show_prompt = self.source, True
        scopes = dict(self._code.scopes)
        try:
            program, _ = self._checked(asked, Scope(dict(self._scope.names)))
            self._compile(program)
            self._execute_main()
        except PromptShown as found:
            return found
        finally:
            self.host.show_prompt = False
            self.source = self._code.source = before
            self._code.scopes = scopes
        return None

    def variables(self) -> list[tuple[str, str, str]]:
        """Return the variables of the session: name, type and value, each as text."""
        out: list[tuple[str, str, str]] = []
        for name, symbol in self._scope.names.items():
            if symbol.kind in ("let", "const") and symbol.python in self._globals:
                value = self._globals[symbol.python]
                out.append(
                    (name, format_type(t.widen_type(t.strip_ai_result(symbol.type))), format_variable_value(value))
                )
        return out

    def complete(self, text: str) -> list[str]:
        """Return completions of the last word of a text: names, keywords, or members of what precedes the dot."""
        found = _LAST_WORD.search(text)
        path, start = (found[1], found[2]) if found else ("", "")
        if path:
            options = [f"{path}{name}" for name in self._members(path.rstrip(".").split("."))]
            return sorted(each for each in options if each.startswith(path + start))
        known = {*self._scope.names, *BUILTIN_SCOPE.names, *RESERVED_WORDS, *CONTEXTUAL_KEYWORDS}
        return sorted(each for each in known if each.startswith(start))

    def _members(self, path: list[str]) -> set[str]:
        symbol: Symbol | None = self._scope.names.get(path[0])
        if symbol is None:
            return set()
        kind, own = symbol.type, set(t.AI_MEMBER_NAMES) if isinstance(symbol.type, t.AIResultType) else set[str]()
        for name in path[1:]:
            inner = t.get_base_type(t.strip_ai_result(kind))
            if not isinstance(inner, t.Object) or name not in inner.fields:
                return set(list_method_names())
            kind, own = inner.fields[name].type, set[str]()
        inner = t.get_base_type(t.strip_ai_result(kind))
        methods = get_methods(inner)
        names = set(list_method_names()) if methods is None else set(methods)
        return names | own | (set(inner.fields) if isinstance(inner, t.Object) else set[str]())


#: Warnings that make no sense in a session, where bare values are shown and names are used later.
_IGNORED_WARNINGS = frozenset(("V0702", "V0704"))
