"""Static analysis of one text: its tree, names, types and diagnostics.

Loading a program begins with it; editors keep one for each open text. It runs nothing and reads no files: the
caller passes the exports of imported modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import Diagnostic, ProgramErrors, merge_diagnostics
from antiphon.lang.syntax.parser.source_parser import parse_source, parse_type_source
from antiphon.lang.syntax.source import Source
from antiphon.lang.typecheck import check_program
from antiphon.lang.typecheck.reporter import Reporter
from antiphon.lang.typecheck.scopes import Scope, ScopeStack
from antiphon.lang.typecheck.symbols import ModuleExports, Symbol
from antiphon.lang.typecheck.type_annotations import TypeResolver
from antiphon.lang.typecheck.types import Type


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Analysis:
    """The result of parsing and checking a text: typed tree, diagnostics by position, module scope and exports."""

    source: Source
    program: n.Program
    diagnostics: list[Diagnostic]
    scope: Scope
    exports: ModuleExports

    @property
    def is_compilable(self) -> bool:
        """Return True if the program can be compiled: it may have warnings, but no errors."""
        return not any(each.severity == "error" for each in self.diagnostics)

    def symbols(self) -> list[Symbol]:
        """Return every name that the text declares, in all its blocks, ordered by position."""
        found = (symbol for node in n.walk(self.program) if (symbol := _declared_symbol(node)) is not None)
        return sorted(dict.fromkeys(found), key=lambda each: each.start)

    def symbols_visible_at(self, offset: int) -> list[Symbol]:
        """Return the text's own names that are visible at an offset; an inner name shadows an outer one."""
        inner = {each.name: each for each in self.symbols() if each.since <= offset < each.until}
        return list(inner.values())

    def node_at(self, offset: int) -> n.Node:
        """Return the smallest node at an offset, or the program itself where there is no other."""
        *_, last = _nodes_around(self.program, offset)
        return last

    def symbol_at(self, offset: int) -> Symbol | None:
        """Return the symbol of the name at an offset, where it is declared or used."""
        node = self.node_at(offset)
        if isinstance(node, n.Name):
            return node.symbol
        return next((each for each in self.symbols() if each.start <= offset < each.end), None)

    def find_uses(self, symbol: Symbol) -> list[n.Name]:
        """Return the nodes that read or assign a symbol; its declaration is `symbol.start`."""
        return [node for node in n.walk(self.program) if isinstance(node, n.Name) and node.symbol is symbol]


def analyse(
    source: Source, *, imports: Callable[[str], ModuleExports] | None = None, untrusted: bool = False
) -> Analysis:
    """Parse and check a text. Never raises: every syntax and type error becomes a diagnostic."""
    program, unread = parse_source(source)
    checked = check_program(program, source, imports=imports, untrusted=untrusted)
    found = checked.diagnostics
    if any(each.code == "V0119" for each in unread):
        # Python that cannot be read has been reported by the parser.
        found = [each for each in found if each.code != "V0608"]
    return Analysis(source, program, merge_diagnostics(source, unread, found), checked.scope, checked.exports)


def parse_type_text(text: str, *, name: str = "type") -> Type:
    """Return the type that a text means, such as `{ name: text, age: number }`.

    Raise `ProgramErrors` with all diagnostics if it is no type; `name` stands for the text in them.
    """
    source = Source(name, text)
    node, diagnostics = parse_type_source(source)
    reporter = Reporter(source)
    if not diagnostics:
        type_ = TypeResolver(reporter, ScopeStack(reporter, Scope())).resolve(node)
        if not reporter.diagnostics:
            return type_
    raise ProgramErrors((source, each) for each in (*diagnostics, *reporter.diagnostics))


def _declared_symbol(node: Any) -> Symbol | None:
    return None if isinstance(node, n.Name) else getattr(node, "symbol", None)


def _nodes_around(root: n.Node, offset: int) -> Iterator[n.Node]:
    """Yield the nodes around an offset, the outermost first."""
    node: n.Node | None = root
    while node is not None:
        yield node
        node = next((each for each in n.children(node) if each.start <= offset < each.end), None)
