"""The parser's position in the tokens: lookahead, consumption, error reports and recovery."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from antiphon.lang.syntax.diagnostics import Diagnostic, DiagnosticLabel
from antiphon.lang.syntax.foreign_syntax.table import BETWEEN_VALUES_HINTS, SIGN_PAIR_HINTS, STRING_ENDED_HINT
from antiphon.lang.syntax.source import Source
from antiphon.lang.syntax.tokens import BRACKET_PAIRS, WORD_KINDS, Tokens

_T = TypeVar("_T")
#: How deeply brackets, blocks, signs and interpolations may be nested.
MAX_DEPTH = 100
#: How many operators, members, calls or `else if` one chain may have.
MAX_CHAIN = 1000
_CLOSERS = {
    closer: frozenset(o for o in BRACKET_PAIRS if BRACKET_PAIRS[o] == closer) for closer in BRACKET_PAIRS.values()
}
#: Codes of diagnostics about syntax of other languages.
_FOREIGN_SYNTAX_CODES = frozenset(("V0109", "V0110", "V0111", "V0112", "V0113", "V0140", "V0151", "V0206"))
_KIND_DESCRIPTIONS = {"end": "the end of the file", "}hole": "the end of the hole", "endquote": "the end of the string"}


class SyntaxErrorReported(Exception):
    """Raised to abandon a construct after its syntax error was reported."""


class Cursor:
    """The tokens of a source, the current position in them and the parser's state."""

    def __init__(self, source: Source, tokens: Tokens) -> None:
        self.text = source.text
        self.tokens = tokens
        self.kinds = tokens.kinds
        self.values = tokens.values
        self.starts = tokens.starts
        self.ends = tokens.ends
        self.fresh = tokens.fresh
        self.diagnostics = tokens.diagnostics
        self.at: int = 0
        #: The nesting depth, and whether line ends are insignificant here.
        self.depth: int = 0
        self.nested: bool = False
        #: The number of enclosing loops and `try` in the same function.
        self.loops: int = 0
        #: The number of closing braces to ignore, because their missing opening brace was reported.
        self.ignored_closing_braces: int = 0
        #: True once an indented block was reported.
        self.has_reported_indentation: bool = False
        #: True once a misplaced description of a tool was reported.
        self.has_reported_description: bool = False
        #: Names in unreadable text, which may be declared there: their uses are not reported as unknown.
        self.lost: set[str] = set()
        self._last = len(tokens.kinds) - 3
        self._reported_at: int = -1
        self._matching_brackets: list[int] | None = None
        self._last_stray_brace: int | None = None
        #: True if the text is incomplete: the first error was at its end.
        self.is_text_incomplete: bool = False

    # Errors

    def report(
        self, code: str, message: str, index: int, hint: str = "", labels: tuple[DiagnosticLabel, ...] = ()
    ) -> None:
        """Report an error at a token, unless one was already reported at the same place."""
        damaged = self.tokens.damaged
        if index == self._reported_at or index in damaged or index - 1 in damaged:
            self._reported_at = index
            return
        self._reported_at = index
        if index >= self._last and not self.diagnostics:
            self.is_text_incomplete = True
        self.report_span(code, message, self.starts[index], self.ends[index], hint, labels)

    def report_span(
        self, code: str, message: str, start: int, end: int, hint: str = "", labels: tuple[DiagnosticLabel, ...] = ()
    ) -> None:
        """Report an error for a span of the text."""
        self.diagnostics.append(
            Diagnostic(code, message, start, end, hint, labels, is_habit=code in _FOREIGN_SYNTAX_CODES)
        )

    def fail_unexpected(self, expected: str, hint: str = "") -> NoReturn:
        """Report that the current token is not what is expected here, and raise `SyntaxErrorReported`."""
        self.report("V0101", f"expected {expected}, found {self.found()}", self.at, hint)
        raise SyntaxErrorReported

    def found(self) -> str:
        """Return the current token as a message names it."""
        kind = self.kinds[self.at]
        if kind in _KIND_DESCRIPTIONS:
            return _KIND_DESCRIPTIONS[kind]
        if kind in ("text", "quote", "piece"):
            return "a string"
        if kind == "py":
            return "a Python block"
        value = self.values[self.at]
        return f"`{value[:40]}…`" if len(value) > 40 else f"`{value}`"

    def fail_too_deep(self, index: int) -> NoReturn:
        """Report a construct that is nested too deeply, and raise `SyntaxErrorReported`."""
        hint = "put a part of it into a variable or a function of its own"
        self.report("V0115", f"this is nested more than {MAX_DEPTH} deep", index, hint)
        partner = self.matching_bracket(index) if self.kinds[index] in BRACKET_PAIRS else index
        self.at = partner if partner >= 0 else self._last
        self._reported_at = self.at
        raise SyntaxErrorReported

    def enter_nesting(self, index: int) -> None:
        """Increase the nesting depth; the caller decreases `depth` again."""
        if self.depth >= MAX_DEPTH:
            self.fail_too_deep(index)
        self.depth += 1

    def fail_too_long(self, index: int) -> NoReturn:
        """Report a chain that is too long, and raise `SyntaxErrorReported`."""
        hint = "split it: put a part of it into a variable, or use a loop"
        self.report("V0116", f"this is a chain of more than {MAX_CHAIN} parts", index, hint)
        raise SyntaxErrorReported

    # Consuming tokens

    def expect(self, kind: str, expected: str = "", hint: str = "") -> int:
        """Consume a token of this kind and return its index."""
        at = self.at
        if self.kinds[at] != kind:
            self.fail_unexpected(expected or f"`{kind}`", hint)
        self.at = at + 1
        return at

    def name(self, what: str, hint: str = "") -> int:
        """Consume a name and return its index. A reserved word is accepted and reported."""
        at = self.at
        kind = self.kinds[at]
        if kind != "name":
            if kind not in WORD_KINDS:
                is_number = kind == "number" and not hint
                self.fail_unexpected(what, "a name begins with a letter or `_`" if is_number else hint)
            self.report_reserved_word(at, what)
        self.at = at + 1
        return at

    def report_reserved_word(self, at: int, what: str) -> None:
        """Report a reserved word that is used as a name."""
        word = self.values[at]
        hint = f"choose another name, such as `{word}_`"
        self.report("V0118", f"`{word}` is a word of the language and cannot be {what}", at, hint)

    def word(self, what: str) -> int:
        """Consume a name or a reserved word, as after a dot or as a key, and return its index."""
        at = self.at
        if self.kinds[at] not in WORD_KINDS:
            self.fail_unexpected(what)
        self.at = at + 1
        return at

    def listed(self, closer: str, item: Callable[[Cursor], _T], by_line: bool = False) -> list[_T]:
        """Parse the items of the bracket that opens here, separated by commas (or by lines, if `by_line`)."""
        opener, nested, depth, kinds = self.at, self.nested, self.depth, self.kinds
        if depth >= MAX_DEPTH:
            self.fail_too_deep(opener)
        self.depth = depth + 1
        self.nested = True
        self.at = opener + 1
        items: list[_T] = []
        try:
            while (kind := kinds[self.at]) != closer:
                if kind == "end":
                    self.report_unclosed(opener, closer)
                    break
                items.append(item(self))
                kind = kinds[self.at]
                if kind == "," or (kind == ";" and by_line):
                    self.at += 1
                    if kind == ";":
                        self.report(
                            "V0109", "fields are not separated by `;` here", self.at - 1, "write `,`, or a new line"
                        )
                elif kind != closer and not (by_line and self.at in self.fresh):
                    self.report_unclosed(opener, closer)
                    break
            else:
                self.at += 1
        except SyntaxErrorReported:
            self.leave(opener)
        self.depth = depth
        self.nested = nested
        return items

    # Recovery

    def report_unclosed(self, opener: int, closer: str) -> None:
        """Report that a bracket is not closed here. Return if it may be treated as closed, else raise."""
        sign = "}" if closer == "}hole" else closer
        if self.matching_bracket(opener) >= 0:
            expected = f"`,` or `{sign}`" if sign != "}" or closer == "}" else f"`{sign}`"
            self.fail_unexpected(expected, self._between())
        label = DiagnosticLabel(self.starts[opener], self.ends[opener], "opened here")
        opened = self.values[opener]
        message = f"expected `{sign}` to close `{opened}`, found {self.found()}"
        self.report("V0107", message, self.at, f"add the missing `{sign}`", (label,))
        if self.at not in self.fresh:
            raise SyntaxErrorReported

    def _between(self) -> str:
        """Return a hint about a token between two values that does not join them."""
        at, kinds = self.at, self.kinds
        pair = self.values[at] + self.values[at + 1] if self.ends[at] == self.starts[at + 1] else ""
        is_text = kinds[at - 1] in ("text", "endquote")
        if kinds[at] in ("text", "quote") and (is_text or kinds[at - 1] == "name"):
            return "write `+` between texts" if is_text else "write `+` between texts, `,` between values"
        if kinds[at] == "name" and is_text and self.ends[at - 1] == self.starts[at]:
            return STRING_ENDED_HINT
        return SIGN_PAIR_HINTS.get(pair) or BETWEEN_VALUES_HINTS.get(kinds[at], "")

    def leave(self, opener: int) -> None:
        """Continue after the end of the bracket that was opened there; raise again if it is never closed."""
        partner = self.matching_bracket(opener)
        if partner < self.at:
            raise SyntaxErrorReported
        self.at = partner + 1
        self.record_lost_names(opener)

    def matching_bracket(self, opener: int) -> int:
        """Return the index of the token that closes this one, or -1."""
        if self._matching_brackets is None:
            self._matching_brackets = _match_brackets(self.kinds)
        return self._matching_brackets[opener]

    def has_stray_brace(self, at: int) -> bool:
        """Return True if an unmatched `}` is at this token or later."""
        if self._last_stray_brace is None:
            strays = (i for i, kind in enumerate(self.kinds) if kind == "}" and self.matching_bracket(i) == -1)
            self._last_stray_brace = max(strays, default=-1)
        return self._last_stray_brace >= at

    def skip_statement(self, first: int) -> None:
        """Skip to the end of the statement that began with the token `first`."""
        kinds, fresh, stop, at = self.kinds, self.fresh, self.at, first
        if kinds[stop] == "end":
            return
        while (kind := kinds[at]) != "end":
            if at >= stop and at > first and (kind in (";", "}") or at in fresh):
                break
            at = (self.matching_bracket(at) if kind in BRACKET_PAIRS else -1) + 1 or at + 1
        self.at = at
        self.record_lost_names(first)

    def record_lost_names(self, first: int) -> None:
        """Record the names from the token `first` up to here that may be declared there."""
        kinds = self.kinds
        for i in range(first, self.at):
            if kinds[i] != "name" or kinds[i - 1] == "." or kinds[i + 1] == ".":
                continue
            if kinds[i + 1] != "(" or kinds[i - 1] in ("name", "function"):
                self.lost.add(self.values[i])


def _match_brackets(kinds: list[str]) -> list[int]:
    """Return for each opening token the index of its closing token, or -1.

    An unclosed bracket ends with the enclosing one.
    """
    partners = [-1] * len(kinds)
    stack: list[int] = []
    count = dict.fromkeys(_CLOSERS, 0)
    for at, kind in enumerate(kinds):
        if kind in BRACKET_PAIRS:
            stack.append(at)
            count[BRACKET_PAIRS[kind]] += 1
        elif kind in _CLOSERS and count[kind]:
            while True:
                opener = stack.pop()
                count[BRACKET_PAIRS[kinds[opener]]] -= 1
                if kinds[opener] in _CLOSERS[kind]:
                    break
            partners[opener] = at
            partners[at] = -2
    return partners
