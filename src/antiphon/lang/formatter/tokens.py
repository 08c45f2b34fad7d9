"""The tokens and comments of a text in order, as the formatter prints them."""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from antiphon.lang.formatter.layout import HARD_BREAK, LayoutDoc, make_group, make_indent
from antiphon.lang.syntax.tokens import RESERVED_WORDS, Tokens

#: The binding powers of operators after which a line may break.
BREAK_POWERS = {"|": 0, "??": 1, "or": 2, "and": 3, "+": 7, "-": 7, "*": 8, "/": 8, "%": 8} | dict.fromkeys(
    ("==", "!=", "<", "<=", ">", ">=", "in"), 5
)
#: The two signs of `c ? a : b` bind least tightly.
BREAK_POWERS["choice"] = -1
#: Token kinds whose role depends on the tree.
AMBIGUOUS_KINDS = frozenset(("-", "in", "and", "or", "?", ":"))
COMMENT_KINDS = frozenset(("//", "/*"))
_NO_SPACE_BEFORE = frozenset((",", "comma", ".", "?.", "..", "?", ":", "slice", "call", "index"))
_NO_SPACE_AFTER = frozenset((".", "?.", "..", "...", "slice", "@", "unary"))


#: The shape letter of each token kind; all other kinds are a space.
_SHAPE_LETTERS = (
    dict.fromkeys(RESERVED_WORDS, b"w")
    | dict.fromkeys("([", b"(")
    | dict.fromkeys(")]", b")")
    | dict.fromkeys(("//", "/*"), b"/")
    | {sign: sign.encode() for sign in "{},;-|"}
    | {"end": b";", ".": b".", "?.": b".", "py": b"@", "@": b"@", "text": b"t", "quote": b"<", "endquote": b">"}
)


class _ShapeCodes(dict[str, int]):
    def __missing__(self, kind: str) -> int:
        self[kind] = code = _SHAPE_LETTERS.get(kind, b" ")[0]
        return code


_SHAPE_CODES = _ShapeCodes()
#: A Python string spans lines only if one of these is in the code.
_MULTILINE_STRING = re.compile(r"\"{3}|'{3}|\\\n")
_QUOTES, _BAR, _SLICED = re.compile(rb"[<>]"), re.compile(rb"\|"), re.compile(rb"[t/@]")


@dataclass(slots=True)
class FormatToken:
    """A token, a comment (of kind `//` or `/*`) or a whole bracket, and the number of line ends before it."""

    kind: str
    doc: LayoutDoc
    start: int
    lines: int
    #: The text of a line or a block, if it needs no layout.
    whole: str | None = None

    @property
    def is_comment(self) -> bool:
        """True for a comment."""
        return self.kind in COMMENT_KINDS

    @property
    def text(self) -> str:
        """The text of a token or a comment."""
        assert isinstance(self.doc, str)
        return self.doc

    @property
    def power(self) -> int | None:
        """The binding power of an operator after which a line may break, else None."""
        return BREAK_POWERS.get(self.kind)

    def layout_comment_line(self) -> list[LayoutDoc]:
        """Return the document of a comment that begins a line; a block comment with `*` on each line is reindented."""
        if self.kind == "//":
            return [self.doc]
        first, *others = (line.strip() for line in self.text.split("\n"))
        if not others or not all(line.startswith("*") for line in others):
            return [self.doc]
        return [first, *(part for line in others for part in (HARD_BREAK, f" {line}"))]


def needs_space(before: str, after: str) -> bool:
    """Return True if a space separates two tokens of these kinds on a line."""
    if before in _NO_SPACE_AFTER:
        return before == after == "unary"
    return after not in _NO_SPACE_BEFORE


class FormatTokens:
    """All tokens and comments of a text without errors, the last of kind `end`, as parallel lists."""

    def __init__(self, text: str, tokens: Tokens) -> None:
        self.text = text
        self.kinds: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.texts: list[str] = []
        #: One letter per token, so that regular expressions can search them.
        self.shape = bytearray()
        self._take(tokens)
        for found in _SLICED.finditer(self.shape):
            at = found.start()
            self.texts[at] = text[self.starts[at] : self.ends[at]]
            if self.kinds[at] == "text" and "\n" in self.texts[at]:
                self.shape[at] = _SHAPE_CODES["py"]
        #: Line ends that count for a token although they are before a skipped one.
        self._more: dict[int, int] = {}
        # `let private` becomes `private let`.
        if "private" in text:
            for at, word in [*self._find_private_swaps()]:
                self.texts[at] = word

    def _take(self, tokens: Tokens) -> None:
        """Collect tokens and comments in order; runs of tokens without changes are copied at once."""
        shape = bytes(map(_SHAPE_CODES.__getitem__, tokens.kinds))
        at = 0
        for first, after, start, end, kind in sorted(
            [*_find_joined_tokens(tokens, shape), *_find_comments(self.text, tokens)]
        ):
            # A comment in an interpolation is a part of the string.
            if first < at:
                continue
            self._add(tokens, shape, at, first)
            at = after
            if kind:
                self.kinds.append(kind)
                self.starts.append(start)
                self.ends.append(end)
                self.texts.append("")
                self.shape.append(_SHAPE_CODES[kind])
        self._add(tokens, shape, at, tokens.kinds.index("end", at) + 1)

    def _add(self, tokens: Tokens, shape: bytes, first: int, after: int) -> None:
        self.kinds += tokens.kinds[first:after]
        self.starts += tokens.starts[first:after]
        self.ends += tokens.ends[first:after]
        self.texts += tokens.values[first:after]
        self.shape += shape[first:after]

    def _find_private_swaps(self) -> Iterator[tuple[int, str]]:
        for at, kind in enumerate(self.kinds[:-2]):
            if kind not in ("let", "const") or self.text[self.starts[at + 1] : self.ends[at + 1]] != "private":
                continue
            if self.kinds[at + 2] in ("name", "{", "[") and not self.lines(at + 2):
                yield from ((at, "private"), (at + 1, kind))

    def lines(self, at: int) -> int:
        """Return the number of line ends before a token."""
        found = self.text.count("\n", self.ends[at - 1] if at else 0, self.starts[at])
        return found + self._more.get(at, 0) if self._more else found

    def skip(self, at: int) -> None:
        """Omit a token: the line ends before it count for the next one."""
        self._more[at + 1] = self.lines(at)

    def comment(self, at: int) -> str:
        """Return a comment without trailing spaces."""
        text = self.texts[at]
        return "\n".join(line.rstrip() for line in text.split("\n")) if self.kinds[at] == "/*" else text.rstrip()

    def doc(self, at: int) -> LayoutDoc:
        """Return the document of a token."""
        kind = self.kinds[at]
        if kind in COMMENT_KINDS:
            return self.comment(at)
        return _layout_python(self.texts[at]) if kind == "py" else self.texts[at]

    def piece(self, at: int) -> FormatToken:
        """Return a token for layout."""
        return FormatToken(self.kinds[at], self.doc(at), self.starts[at], self.lines(at))


#: A range of tokens and its replacement: nothing, or a token with its start, end and kind.
_Replacement = tuple[int, int, int, int, str]


def _find_comments(text: str, tokens: Tokens) -> Iterator[_Replacement]:
    for start, end in tokens.comments:
        place = bisect_left(tokens.starts, start)
        yield place, place, start, end, text[start : start + 2]


def _find_joined_tokens(tokens: Tokens, shape: bytes) -> Iterator[_Replacement]:
    """Yield replacements: a string with interpolations becomes one token, and a leading `|` of a union is removed."""
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


def _layout_python(block: str) -> LayoutDoc:
    """Return the document of a `py` block, reindented where that cannot change the meaning of its code."""
    head, _, code = block.partition("{")
    names = head.partition("(")[2].rpartition(")")[0].split(",")
    pure = "pure " * head.startswith("pure")
    head = f"{pure}py({', '.join(name.strip() for name in names if name.strip())}) {{"
    code = code.removesuffix("}")
    if not code.strip():
        return f"{head}}}"
    if "\n" not in code:
        return f"{head} {code.strip()} }}"
    if _has_multiline_strings(code):
        return f"{head}{code}}}"
    first, _, rest = code.partition("\n")
    lines = [line.rstrip() for line in f"{first.strip()}\n{textwrap.dedent(rest)}".strip("\n").rstrip().split("\n")]
    return make_group([head, make_indent([part for line in lines for part in (HARD_BREAK, line)]), HARD_BREAK, "}"])


def _has_multiline_strings(code: str) -> bool:
    """Return True if a string spans lines, or may do so in code that cannot be tokenized."""
    if not _MULTILINE_STRING.search(code):
        return False
    import tokenize as python

    lines = iter(f"{{{code}}}".splitlines(keepends=True))
    try:
        tokens = list(python.generate_tokens(lambda: next(lines, "")))
    except (python.TokenError, SyntaxError):
        return True
    return any(kind not in (python.NEWLINE, python.NL) and start[0] != end[0] for kind, _, start, end, _ in tokens)
