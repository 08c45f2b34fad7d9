"""A place in the tokens: looking, taking, complaining, and finding the way again after a mistake."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from antiphon.lang.syntax.diagnostics import Diagnostic, Label
from antiphon.lang.syntax.habits import BETWEEN, PAIRS_OF_SIGNS, STRING_ENDED
from antiphon.lang.syntax.source import Source
from antiphon.lang.syntax.tokens import PAIRS, WORDS, Tokens

_T = TypeVar("_T")
#: How many brackets, blocks, signs and holes may stand inside each other.
MAX_DEPTH = 100
#: How many operators, members, calls or `else if` may follow each other in one chain.
MAX_CHAIN = 1000
_CLOSERS = {closer: frozenset(o for o in PAIRS if PAIRS[o] == closer) for closer in PAIRS.values()}
#: Codes of what is written so in other languages.
_HABITS = frozenset(("V0109", "V0110", "V0111", "V0112", "V0113", "V0140", "V0151", "V0206"))
_NAMED = {"end": "the end of the file", "}hole": "the end of the hole", "endquote": "the end of the string"}


class Unreadable(Exception):
    """What is here cannot be read, and has been reported."""


class Cursor:
    """The tokens of a source and how far they have been read."""

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
        #: How many constructs we are in, and whether line ends mean nothing here.
        self.depth: int = 0
        self.nested: bool = False
        #: How many loops and `try` of the same function we are in.
        self.loops: int = 0
        #: Closing braces that have no opening one because it is missing and has been complained of.
        self.owed: int = 0
        #: Whether it was told already that a block is no lines further in.
        self.told_indented: bool = False
        #: Whether it was told that what describes a tool stands elsewhere.
        self.told_description: bool = False
        #: Names in what could not be read, which may be declared there: nothing is told of their uses.
        self.lost: set[str] = set()
        self._last = len(tokens.kinds) - 3
        self._reported_at: int = -1
        self._partners: list[int] | None = None
        self._last_stray: int | None = None
        #: Whether the text was too short: the first complaint was about its end.
        self.ran_out: bool = False

    # What is wrong

    def report(self, code: str, message: str, index: int, hint: str = "", labels: tuple[Label, ...] = ()) -> None:
        """Complain about a token, unless something was wrong at the same place already."""
        damaged = self.tokens.damaged
        if index == self._reported_at or index in damaged or index - 1 in damaged:
            self._reported_at = index
            return
        self._reported_at = index
        if index >= self._last and not self.diagnostics:
            self.ran_out = True
        self.report_span(code, message, self.starts[index], self.ends[index], hint, labels)

    def report_span(
        self, code: str, message: str, start: int, end: int, hint: str = "", labels: tuple[Label, ...] = ()
    ) -> None:
        """Complain about a stretch of the text."""
        self.diagnostics.append(Diagnostic(code, message, start, end, hint, labels, is_habit=code in _HABITS))

    def unexpected(self, expected: str, hint: str = "") -> NoReturn:
        """What stands here does not fit: say what would, and give up on it."""
        self.report("V0101", f"expected {expected}, found {self.found()}", self.at, hint)
        raise Unreadable

    def found(self) -> str:
        """The token that stands here, for a message."""
        kind = self.kinds[self.at]
        if kind in _NAMED:
            return _NAMED[kind]
        if kind in ("text", "quote", "piece"):
            return "a string"
        if kind == "py":
            return "a Python block"
        value = self.values[self.at]
        return f"`{value[:40]}…`" if len(value) > 40 else f"`{value}`"

    def too_deep(self, index: int) -> NoReturn:
        """Give up on a construct that is in too many others."""
        hint = "put a part of it into a variable or a function of its own"
        self.report("V0115", f"this is nested more than {MAX_DEPTH} deep", index, hint)
        partner = self.partner(index) if self.kinds[index] in PAIRS else index
        self.at = partner if partner >= 0 else self._last
        self._reported_at = self.at
        raise Unreadable

    def deepen(self, index: int) -> None:
        """Go into one more construct; whoever does, takes one from `depth` again."""
        if self.depth >= MAX_DEPTH:
            self.too_deep(index)
        self.depth += 1

    def too_long(self, index: int) -> NoReturn:
        """Give up on a chain that is too long."""
        hint = "split it: put a part of it into a variable, or use a loop"
        self.report("V0116", f"this is a chain of more than {MAX_CHAIN} parts", index, hint)
        raise Unreadable

    # Taking tokens

    def expect(self, kind: str, expected: str = "", hint: str = "") -> int:
        """Take a token of this kind; its index."""
        at = self.at
        if self.kinds[at] != kind:
            self.unexpected(expected or f"`{kind}`", hint)
        self.at = at + 1
        return at

    def name(self, what: str, hint: str = "") -> int:
        """Take a name; its index. A reserved word is taken for one, with a complaint."""
        at = self.at
        kind = self.kinds[at]
        if kind != "name":
            if kind not in WORDS:
                is_number = kind == "number" and not hint
                self.unexpected(what, "a name begins with a letter or `_`" if is_number else hint)
            self.reserved(at, what)
        self.at = at + 1
        return at

    def reserved(self, at: int, what: str) -> None:
        """Complain of a reserved word that is used as a name."""
        word = self.values[at]
        hint = f"choose another name, such as `{word}_`"
        self.report("V0118", f"`{word}` is a word of the language and cannot be {what}", at, hint)

    def word(self, what: str) -> int:
        """Take a name or a reserved word, as after a dot or as a key; its index."""
        at = self.at
        if self.kinds[at] not in WORDS:
            self.unexpected(what)
        self.at = at + 1
        return at

    def listed(self, closer: str, item: Callable[[Cursor], _T], by_line: bool = False) -> list[_T]:
        """The items in the bracket that opens here, separated by commas (or by lines, if `by_line`)."""
        opener, nested, depth, kinds = self.at, self.nested, self.depth, self.kinds
        if depth >= MAX_DEPTH:
            self.too_deep(opener)
        self.depth = depth + 1
        self.nested = True
        self.at = opener + 1
        items: list[_T] = []
        try:
            while (kind := kinds[self.at]) != closer:
                if kind == "end":
                    self.unclosed(opener, closer)
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
                    self.unclosed(opener, closer)
                    break
            else:
                self.at += 1
        except Unreadable:
            self.leave(opener)
        self.depth = depth
        self.nested = nested
        return items

    # Finding the way again

    def unclosed(self, opener: int, closer: str) -> None:
        """Complain that a bracket does not end here. Returns if it may be taken to end here all the same."""
        sign = "}" if closer == "}hole" else closer
        if self.partner(opener) >= 0:
            expected = f"`,` or `{sign}`" if sign != "}" or closer == "}" else f"`{sign}`"
            self.unexpected(expected, self._between())
        label = Label(self.starts[opener], self.ends[opener], "opened here")
        opened = self.values[opener]
        message = f"expected `{sign}` to close `{opened}`, found {self.found()}"
        self.report("V0107", message, self.at, f"add the missing `{sign}`", (label,))
        if self.at not in self.fresh:
            raise Unreadable

    def _between(self) -> str:
        """A hint where something stands between two values that does not join them."""
        at, kinds = self.at, self.kinds
        pair = self.values[at] + self.values[at + 1] if self.ends[at] == self.starts[at + 1] else ""
        is_text = kinds[at - 1] in ("text", "endquote")
        if kinds[at] in ("text", "quote") and (is_text or kinds[at - 1] == "name"):
            return "write `+` between texts" if is_text else "write `+` between texts, `,` between values"
        if kinds[at] == "name" and is_text and self.ends[at - 1] == self.starts[at]:
            return STRING_ENDED
        return PAIRS_OF_SIGNS.get(pair) or BETWEEN.get(kinds[at], "")

    def leave(self, opener: int) -> None:
        """Go on after the bracket that was opened there, if it is closed anywhere; else give up further."""
        partner = self.partner(opener)
        if partner < self.at:
            raise Unreadable
        self.at = partner + 1
        self.lose(opener)

    def partner(self, opener: int) -> int:
        """The token that closes this one, or -1."""
        if self._partners is None:
            self._partners = _pair(self.kinds)
        return self._partners[opener]

    def has_stray_brace(self, at: int) -> bool:
        """Whether a `}` that closes nothing stands there or later."""
        if self._last_stray is None:
            strays = (i for i, kind in enumerate(self.kinds) if kind == "}" and self.partner(i) == -1)
            self._last_stray = max(strays, default=-1)
        return self._last_stray >= at

    def recover(self, first: int) -> None:
        """Go to the end of the statement that began with the token `first`."""
        kinds, fresh, stop, at = self.kinds, self.fresh, self.at, first
        if kinds[stop] == "end":
            return
        while (kind := kinds[at]) != "end":
            if at >= stop and at > first and (kind in (";", "}") or at in fresh):
                break
            at = (self.partner(at) if kind in PAIRS else -1) + 1 or at + 1
        self.at = at
        self.lose(first)

    def lose(self, first: int) -> None:
        """Note the names from the token `first` up to here that may be declared there: what is only used is not."""
        kinds = self.kinds
        for i in range(first, self.at):
            if kinds[i] != "name" or kinds[i - 1] == "." or kinds[i + 1] == ".":
                continue
            if kinds[i + 1] != "(" or kinds[i - 1] in ("name", "function"):
                self.lost.add(self.values[i])


def _pair(kinds: list[str]) -> list[int]:
    """For each opening token the one that closes it, or -1. A bracket left open ends with the one around it."""
    partners = [-1] * len(kinds)
    stack: list[int] = []
    count = dict.fromkeys(_CLOSERS, 0)
    for at, kind in enumerate(kinds):
        if kind in PAIRS:
            stack.append(at)
            count[PAIRS[kind]] += 1
        elif kind in _CLOSERS and count[kind]:
            while True:
                opener = stack.pop()
                count[PAIRS[kinds[opener]]] -= 1
                if kinds[opener] in _CLOSERS[kind]:
                    break
            partners[opener] = at
            partners[at] = -2
    return partners
