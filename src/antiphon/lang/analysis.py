"""All that is known of a text before it runs: its tree, names and types, and what is wrong with it.

Loading a program begins with it; editors keep one for each text that is being written. Nothing is run, and nothing
read: what other modules give is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from antiphon.lang.check import check
from antiphon.lang.check.scopes import Scope
from antiphon.lang.check.symbols import Exports, Symbol
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import Diagnostic
from antiphon.lang.syntax.merging import merged
from antiphon.lang.syntax.parser import parse
from antiphon.lang.syntax.source import Source


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Analysis:
    """A text that was read and checked: its tree with types, all diagnostics in order of place, the module's scope."""

    source: Source
    program: n.Program
    diagnostics: list[Diagnostic]
    scope: Scope
    exports: Exports

    @property
    def is_sound(self) -> bool:
        """Whether the program can be compiled: warnings are no errors."""
        return not any(each.severity == "error" for each in self.diagnostics)

    def symbols(self) -> list[Symbol]:
        """Every name that the text declares, in order of place; those of all its blocks."""
        found = (symbol for node in n.walk(self.program) if (symbol := _declared(node)) is not None)
        return sorted(dict.fromkeys(found), key=lambda each: each.start)

    def visible_at(self, offset: int) -> list[Symbol]:
        """The text's own names that are known at a place; of two of one name, the inner one."""
        inner = {each.name: each for each in self.symbols() if each.since <= offset < each.until}
        return list(inner.values())

    def node_at(self, offset: int) -> n.Node:
        """The smallest node at a place; the program itself where nothing else is."""
        *_, last = _around(self.program, offset)
        return last

    def symbol_at(self, offset: int) -> Symbol | None:
        """What the name at a place stands for, where it is declared or used."""
        node = self.node_at(offset)
        if isinstance(node, n.Name):
            return node.symbol
        return next((each for each in self.symbols() if each.start <= offset < each.end), None)

    def uses_of(self, symbol: Symbol) -> list[n.Name]:
        """Where a name is read or assigned; its declaration is `symbol.start`."""
        return [node for node in n.walk(self.program) if isinstance(node, n.Name) and node.symbol is symbol]


def analyse(source: Source, *, imports: Callable[[str], Exports] | None = None, untrusted: bool = False) -> Analysis:
    """Read and check a text, however much is wrong with it: what cannot be read, and what can but is not right."""
    program, unread = parse(source)
    checked = check(program, source, imports=imports, untrusted=untrusted)
    found = checked.diagnostics
    if any(each.code == "V0119" for each in unread):
        # Python that cannot be read has been reported by the parser.
        found = [each for each in found if each.code != "V0608"]
    return Analysis(source, program, merged(source, unread, found), checked.scope, checked.exports)


def _declared(node: Any) -> Symbol | None:
    return None if isinstance(node, n.Name) else getattr(node, "symbol", None)


def _around(root: n.Node, offset: int) -> Iterator[n.Node]:
    """The nodes around a place, the outermost first."""
    node: n.Node | None = root
    while node is not None:
        yield node
        node = next((each for each in n.children(node) if each.start <= offset < each.end), None)
