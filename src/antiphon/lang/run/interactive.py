"""A program that is written while it runs: one piece after another, in the same names and the same history."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from antiphon.lang.check import check
from antiphon.lang.check.methods import all_method_names, methods_of
from antiphon.lang.check.notation import show
from antiphon.lang.check.scopes import BUILTIN_SCOPE, Scope
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import AI, Object, Type, base, widen
from antiphon.lang.compile import compile_piece
from antiphon.lang.compile.code import Code
from antiphon.lang.compile.naming import MAIN
from antiphon.lang.run.bindings import Module
from antiphon.lang.run.context import shown
from antiphon.lang.run.depth import deeply
from antiphon.lang.run.errors import Stopped
from antiphon.lang.run.execution import Execution
from antiphon.lang.run.host import Host, PromptShown
from antiphon.lang.run.modules import Instances, Modules, Servers
from antiphon.lang.run.prelude import module_globals
from antiphon.lang.run.traces import translated
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import Diagnostic, ProgramErrors
from antiphon.lang.syntax.merging import merged
from antiphon.lang.syntax.parser import is_incomplete, parse
from antiphon.lang.syntax.source import Source
from antiphon.lang.syntax.tokens import RESERVED

NAME = "<repl>"
_WORD = re.compile(r"((?:[^\W\d]\w*\.)*)(\w*)$")
_ASKS = re.compile(r"\s*(do|vibe)\b")


@dataclass(slots=True)
class PieceRun:
    """What came of a piece: its value, and whether it has one; what the checker warned of."""

    value: Any = None
    has_value: bool = False
    warnings: list[Diagnostic] = field(default_factory=list[Diagnostic])


class Interactive:
    """A session with the language, without any input or output of its own.

    All pieces are one growing text, of which the last piece alone is compiled: so lines go on counting, and functions
    of earlier pieces still know where they stand.
    """

    def __init__(
        self, host: Host, *, name: str = NAME, untrusted: bool = False, servers: Servers | None = None
    ) -> None:
        self.host = host
        self._modules = Modules(untrusted)
        self._execution = Execution(host, title=name)
        self._instances = Instances(self._modules, self._execution, servers)
        self.source: Source = Source(name, "")
        self._code = Code(self.source)
        self._scope = Scope()
        module = Module(self._execution, self._code, self._imported)
        self._space = self._instances.globals[name] = module_globals(self._code, module)

    def _imported(self, path: str, name: str) -> Any:
        return self._instances.imported(path, name, self._code)

    # Running pieces

    is_incomplete: Callable[[str], bool] = staticmethod(is_incomplete)

    def feed(self, text: str) -> PieceRun:
        """Run a piece. `ProgramErrors` says why it cannot be run, `VibeError` why it failed."""
        program, warnings = self._checked(text, self._scope)
        self._compile(program)
        last = program.statements[-1] if program.statements else None
        value = self._performed()
        return PieceRun(value, isinstance(last, n.ExprStatement), warnings)

    def _performed(self) -> Any:
        code = self._code.main
        assert code is not None
        try:
            with self._execution.active():
                exec(code, self._space)
                value = deeply(self._space[MAIN])
                self._execution.finish()
        except (Exception, Stopped) as error:
            raise translated(error) from None
        finally:
            self._execution.abandon()
        return value

    def _checked(self, text: str, scope: Scope) -> tuple[n.Program, list[Diagnostic]]:
        """The tree of a piece, behind all that was said before; what cannot be run is forgotten again."""
        before = self.source
        text = text if text.endswith("\n") else f"{text}\n"
        # What was said before is white space here: it keeps its place and is not read again.
        blank = re.sub(r"[^\n]", " ", before.text)
        self.source = self._code.source = Source(before.name, before.text + text)
        program, unread = parse(Source(before.name, blank + text))
        program.start = len(before.text)
        checked = check(
            program,
            self.source,
            scope=scope,
            imports=lambda path: self._modules.exports(path, self.source),
            untrusted=self._modules.untrusted,
            in_repl=True,
        )
        found = merged(self.source, unread, checked.diagnostics)
        errors = [(self.source, each) for each in found if each.severity == "error"]
        if errors:
            self.source = self._code.source = before
            raise ProgramErrors([*self._module_errors(), *errors])
        return program, [each for each in found if each.code not in _FINE_HERE]

    def _module_errors(self) -> Iterator[tuple[Source, Diagnostic]]:
        """What is wrong with modules that were to be imported; they are read again the next time."""
        for name, module in list(self._modules.compiled.items()):
            if not module.is_sound:
                del self._modules.compiled[name]
                yield from ((module.source, each) for each in module.diagnostics if each.severity == "error")

    def _compile(self, program: n.Program) -> None:
        key = (MAIN, 1)
        known = self._code.scopes.get(key, [])
        compile_piece(program, self.source, self._code)
        new = self._code.scopes[key]
        names = {each.name for each in new}
        self._code.scopes[key] = [*(each for each in known if each.name not in names), *new]
        module = self._space["_vrt"]
        # Types and `py` blocks are numbered through all pieces; what is there keeps its value.
        self._space.update({k: v for k, v in module_globals(self._code, module).items() if k not in self._space})

    # Looking at things

    def type_of(self, text: str) -> str | None:
        """The type of an expression, which is not run; nothing, if it is none."""
        before = self.source
        try:
            program, _ = self._checked(text, Scope(dict(self._scope.names)))
        finally:
            self.source = self._code.source = before
        last = program.statements[-1] if program.statements else None
        if not isinstance(last, n.ExprStatement) or last.value.type is None:
            return None
        return show(widen(last.value.type))

    def prompt_of(self, text: str) -> PromptShown | None:
        """What the first request of an expression would say; nothing is sent. Nothing, if no model would be asked."""
        asked = text if _ASKS.match(text) else f"do {text}"
        before, self.host.show_prompt = self.source, True
        scopes = dict(self._code.scopes)
        try:
            program, _ = self._checked(asked, Scope(dict(self._scope.names)))
            self._compile(program)
            self._performed()
        except PromptShown as found:
            return found
        finally:
            self.host.show_prompt = False
            self.source = self._code.source = before
            self._code.scopes = scopes
        return None

    def variables(self) -> list[tuple[str, str, str]]:
        """The variables there are: name, type and value, each as text."""
        out: list[tuple[str, str, str]] = []
        for name, symbol in self._scope.names.items():
            if symbol.kind in ("let", "const") and symbol.python in self._space:
                value = self._space[symbol.python]
                out.append((name, show(widen(_inner(symbol.type))), shown(value)))
        return out

    def complete(self, text: str) -> list[str]:
        """What the last word of a text may become: names, keywords, or the members of what stands before the dot."""
        found = _WORD.search(text)
        path, start = (found[1], found[2]) if found else ("", "")
        if path:
            options = [f"{path}{name}" for name in self._members(path.rstrip(".").split("."))]
            return sorted(each for each in options if each.startswith(path + start))
        known = {*self._scope.names, *BUILTIN_SCOPE.names, *RESERVED, *_WORDS}
        return sorted(each for each in known if each.startswith(start))

    def _members(self, path: list[str]) -> set[str]:
        symbol: Symbol | None = self._scope.names.get(path[0])
        if symbol is None:
            return set()
        kind, own = symbol.type, _ANSWER if isinstance(symbol.type, AI) else set[str]()
        for name in path[1:]:
            inner = base(_inner(kind))
            if not isinstance(inner, Object) or name not in inner.fields:
                return set(all_method_names())
            kind, own = inner.fields[name].type, set[str]()
        inner = base(_inner(kind))
        methods = methods_of(inner)
        names = set(all_method_names()) if methods is None else set(methods)
        return names | own | (set(inner.fields) if isinstance(inner, Object) else set[str]())


#: Words that mean something only where they stand.
_WORDS = {"async", "input", "model", "private", "returns", "test", "tool", "type"}
_ANSWER = {"value", "toolCalls", "run"}
#: Warnings that make no sense where a value is looked at, and names are used later.
_FINE_HERE = frozenset(("V0702", "V0704"))


def _inner(type_: Type) -> Type:
    return type_.inner if isinstance(type_, AI) else type_
