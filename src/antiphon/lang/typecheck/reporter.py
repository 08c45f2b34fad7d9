"""Diagnostics of one check, and the pieces of source text that they quote."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon._base.did_you_mean import suggest_name
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import Diagnostic, DiagnosticLabel, Severity
from antiphon.lang.syntax.source import Source
from antiphon.lang.typecheck.symbols import Symbol

#: Nodes with a name.
_NamedNode = (
    n.Let
    | n.Input
    | n.Function
    | n.Parameter
    | n.ModelDecl
    | n.TypeDecl
    | n.Member
    | n.PatternField
    | n.PatternItem
    | n.For
    | n.AsyncFor
)
#: Suggestions are slow to compute, so a program gets at most this many.
MAX_SUGGESTIONS = 100
#: The longest source text that a message quotes.
_MAX_QUOTED_LENGTH = 40


def get_name_span(node: _NamedNode) -> tuple[int, int]:
    """Return the span of the name that a node declares or reads."""
    start = node.start if isinstance(node, n.Parameter | n.PatternItem) else node.name_start
    return start, start + len(node.name)


class Reporter:
    """The diagnostics of one check of one source."""

    __slots__ = ("_suggestions_left", "diagnostics", "source")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self._suggestions_left = MAX_SUGGESTIONS

    def report(
        self,
        code: str,
        message: str,
        where: n.Node | Symbol | tuple[int, int],
        hint: str = "",
        labels: tuple[DiagnosticLabel, ...] = (),
        severity: Severity = "error",
        is_habit: bool = False,
    ) -> None:
        """Add a diagnostic."""
        start, end = where if isinstance(where, tuple) else (where.start, where.end)
        self.diagnostics.append(Diagnostic(code, message, start, end, hint, labels, severity, is_habit))

    def warn(self, code: str, message: str, where: n.Node | Symbol | tuple[int, int], hint: str = "") -> None:
        """Add a warning."""
        self.report(code, message, where, hint, severity="warning")

    def withdraw(self, code: str, start: int, end: int) -> None:
        """Remove the diagnostics of a code that begin in a span, where a better one takes their place."""
        self.diagnostics = [each for each in self.diagnostics if each.code != code or not start <= each.start < end]

    def find_similar(self, name: str, known: Iterable[str]) -> str | None:
        """Return the known name that was probably meant, or None."""
        if self._suggestions_left <= 0:
            return None
        self._suggestions_left -= 1
        return suggest_name(name, known)

    def hint_similar(self, name: str, known: Iterable[str]) -> str:
        """Return a hint with the known name that was probably meant, or ""."""
        found = self.find_similar(name, known)
        return f"did you mean `{found}`?" if found else ""

    def quote(self, node: n.Node) -> str:
        """Return the source of a node if it is short, else "x"."""
        text = self.source.text[node.start : node.end]
        return text if len(text) <= _MAX_QUOTED_LENGTH and "\n" not in text else "x"

    def quote_receiver(self, node: n.Node) -> str:
        """Return the source of a node, in parentheses where a member could not follow it."""
        text = self.quote(node)
        if isinstance(node, n.Binary | n.Unary | n.Range | n.ModelCall | n.AskHuman) and text != "x":
            return f"({text})"
        return text
