"""The tokens and comments of a text in their order."""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from antiphon.lang.formatter.layout import HARD, Doc, group, indent
from antiphon.lang.syntax.tokens import RESERVED, Tokens

#: How tightly the operators bind after which a line may be broken.
POWERS = {"|": 0, "??": 1, "or": 2, "and": 3, "+": 7, "-": 7, "*": 8, "/": 8, "%": 8} | dict.fromkeys(
    ("==", "!=", "<", "<=", ">", ">=", "in"), 5
)
#: The two signs of `c ? a : b` bind loosest of all.
POWERS["choice"] = -1
#: What is not the same everywhere, so that the tree has to be asked.
AMBIGUOUS = frozenset(("-", "in", "and", "or", "?", ":"))
COMMENTS = frozenset(("//", "/*"))
_TIGHT_BEFORE = frozenset((",", "comma", ".", "?.", "..", "?", ":", "slice", "call", "index"))
_TIGHT_AFTER = frozenset((".", "?.", "..", "...", "slice", "@", "unary"))


#: The letters of the shape of a text, by the kinds of its pieces; all others are a space.
_LETTERS = (
    dict.fromkeys(RESERVED, b"w")
    | dict.fromkeys("([", b"(")
    | dict.fromkeys(")]", b")")
    | dict.fromkeys(("//", "/*"), b"/")
    | {sign: sign.encode() for sign in "{},;-|"}
    | {"end": b";", ".": b".", "?.": b".", "py": b"@", "@": b"@", "text": b"t", "quote": b"<", "endquote": b">"}
)


class _Shape(dict[str, int]):
    def __missing__(self, kind: str) -> int:
        self[kind] = code = _LETTERS.get(kind, b" ")[0]
        return code


_SHAPE = _Shape()
#: Without one of these no string of Python goes over a line end.
_LONG = re.compile(r"\"{3}|'{3}|\\\n")
_QUOTES, _BAR, _SLICED = re.compile(rb"[<>]"), re.compile(rb"\|"), re.compile(rb"[t/@]")


@dataclass(slots=True)
class Piece:
    """A token, a comment (of kind `//` or `/*`) or a whole bracket, and how many line ends stand before it."""

    kind: str
    doc: Doc
    start: int
    lines: int
    #: The text of a line or a block that needs no layout.
    whole: str | None = None

    @property
    def is_comment(self) -> bool:
        """Whether it is a comment."""
        return self.kind in COMMENTS

    @property
    def text(self) -> str:
        """What a token or a comment says."""
        assert isinstance(self.doc, str)
        return self.doc

    @property
    def power(self) -> int | None:
        """How tightly it binds, if it is an operator after which a line may be broken."""
        return POWERS.get(self.kind)

    def on_its_line(self) -> list[Doc]:
        """A comment that begins a line: one with a `*` at the head of each line moves as a whole."""
        if self.kind == "//":
            return [self.doc]
        first, *others = (line.strip() for line in self.text.split("\n"))
        if not others or not all(line.startswith("*") for line in others):
            return [self.doc]
        return [first, *(part for line in others for part in (HARD, f" {line}"))]


def spaced(before: str, after: str) -> bool:
    """Whether a space stands between two pieces of these kinds on a line."""
    if before in _TIGHT_AFTER:
        return before == after == "unary"
    return after not in _TIGHT_BEFORE


class Pieces:
    """All pieces of a text that has no errors, the last of kind `end`: parallel lists, as most are only looked at."""

    def __init__(self, text: str, tokens: Tokens) -> None:
        self.text = text
        self.kinds: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.texts: list[str] = []
        #: A letter for each, which can be searched for many at once.
        self.shape = bytearray()
        self._take(tokens)
        for found in _SLICED.finditer(self.shape):
            at = found.start()
            self.texts[at] = text[self.starts[at] : self.ends[at]]
            if self.kinds[at] == "text" and "\n" in self.texts[at]:
                self.shape[at] = _SHAPE["py"]
        #: Line ends that count for a piece though they do not stand just before it.
        self._more: dict[int, int] = {}
        # Of `let private`, the two words change places.
        if "private" in text:
            for at, word in [*self._swaps()]:
                self.texts[at] = word

    def _take(self, tokens: Tokens) -> None:
        """Tokens and comments in their order. What stands between those that are no pieces is taken as a whole."""
        shape = bytes(map(_SHAPE.__getitem__, tokens.kinds))
        at = 0
        for first, after, start, end, kind in sorted([*_joined(tokens, shape), *_comments(self.text, tokens)]):
            # A comment in the hole of a string is a part of the string.
            if first < at:
                continue
            self._add(tokens, shape, at, first)
            at = after
            if kind:
                self.kinds.append(kind)
                self.starts.append(start)
                self.ends.append(end)
                self.texts.append("")
                self.shape.append(_SHAPE[kind])
        self._add(tokens, shape, at, tokens.kinds.index("end", at) + 1)

    def _add(self, tokens: Tokens, shape: bytes, first: int, after: int) -> None:
        self.kinds += tokens.kinds[first:after]
        self.starts += tokens.starts[first:after]
        self.ends += tokens.ends[first:after]
        self.texts += tokens.values[first:after]
        self.shape += shape[first:after]

    def _swaps(self) -> Iterator[tuple[int, str]]:
        for at, kind in enumerate(self.kinds[:-2]):
            if kind not in ("let", "const") or self.text[self.starts[at + 1] : self.ends[at + 1]] != "private":
                continue
            if self.kinds[at + 2] in ("name", "{", "[") and not self.lines(at + 2):
                yield from ((at, "private"), (at + 1, kind))

    def lines(self, at: int) -> int:
        """How many line ends stand before a piece."""
        found = self.text.count("\n", self.ends[at - 1] if at else 0, self.starts[at])
        return found + self._more.get(at, 0) if self._more else found

    def skip(self, at: int) -> None:
        """Leave a piece out: the line ends before it stand before the next."""
        self._more[at + 1] = self.lines(at)

    def comment(self, at: int) -> str:
        """A comment, without space at the ends of its lines."""
        text = self.texts[at]
        return "\n".join(line.rstrip() for line in text.split("\n")) if self.kinds[at] == "/*" else text.rstrip()

    def doc(self, at: int) -> Doc:
        """What is printed of a piece."""
        kind = self.kinds[at]
        if kind in COMMENTS:
            return self.comment(at)
        return _python(self.texts[at]) if kind == "py" else self.texts[at]

    def piece(self, at: int) -> Piece:
        """A piece that can be laid out."""
        return Piece(self.kinds[at], self.doc(at), self.starts[at], self.lines(at))


#: Tokens from one up to another, and what stands in their place: nothing, or a piece with its start, end and kind.
_Change = tuple[int, int, int, int, str]


def _comments(text: str, tokens: Tokens) -> Iterator[_Change]:
    for start, end in tokens.comments:
        place = bisect_left(tokens.starts, start)
        yield place, place, start, end, text[start : start + 2]


def _joined(tokens: Tokens, shape: bytes) -> Iterator[_Change]:
    """A string with holes counts as one piece, and a `|` before the first of several types as none."""
    kinds = tokens.kinds
    depth = opened = 0
    for found in _QUOTES.finditer(shape):
        at = found.start()
        opened = opened if depth else at
        depth += 1 if kinds[at] == "quote" else -1
        if not depth:
            yield opened, at + 1, tokens.starts[opened], tokens.ends[at], "text"
    for found in _BAR.finditer(shape):
        at = found.start()
        if kinds[at - 1] in ("=", ":", "("):
            yield at, at + 1, tokens.starts[at], tokens.ends[at], ""


def _python(block: str) -> Doc:
    """A `py` block: its code on lines of its own and indented as a whole, where that cannot change what it means."""
    head, _, code = block.partition("{")
    names = head.partition("(")[2].rpartition(")")[0].split(",")
    pure = "pure " * head.startswith("pure")
    head = f"{pure}py({', '.join(name.strip() for name in names if name.strip())}) {{"
    code = code.removesuffix("}")
    if not code.strip():
        return f"{head}}}"
    if "\n" not in code:
        return f"{head} {code.strip()} }}"
    if _has_long_strings(code):
        return f"{head}{code}}}"
    first, _, rest = code.partition("\n")
    lines = [line.rstrip() for line in f"{first.strip()}\n{textwrap.dedent(rest)}".strip("\n").rstrip().split("\n")]
    return group([head, indent([part for line in lines for part in (HARD, line)]), HARD, "}"])


def _has_long_strings(code: str) -> bool:
    """Whether a string goes over a line end, or may do so in code that cannot be read."""
    if not _LONG.search(code):
        return False
    import tokenize as python

    lines = iter(f"{{{code}}}".splitlines(keepends=True))
    try:
        tokens = list(python.generate_tokens(lambda: next(lines, "")))
    except (python.TokenError, SyntaxError):
        return True
    return any(kind not in (python.NEWLINE, python.NL) and start[0] != end[0] for kind, _, start, end, _ in tokens)
