"""The tokens and comments of a text in their order."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from antiphon.lang.formatter.layout import HARD, Doc, group, indent
from antiphon.lang.syntax.lexer import tokenize
from antiphon.lang.syntax.tokens import RESERVED, Tokens

#: How tightly the operators bind after which a line may be broken.
_POWERS = {"|": 0, "??": 1, "or": 2, "and": 3, "+": 7, "-": 7, "*": 8, "/": 8, "%": 8} | dict.fromkeys(
    ("==", "!=", "<", "<=", ">", ">=", "in"), 5
)
#: The two signs of `c ? a : b` bind loosest of all.
_POWERS["choice"] = -1
_VALUES = frozenset(
    ["name", "number", "text", "true", "false", "null", "py", "call", "index", "paren", "array", "object", "match"]
)
_TIGHT_BEFORE = frozenset((",", "comma", ".", "?.", "..", "?", ":", "slice", "call", "index"))
_TIGHT_AFTER = frozenset((".", "?.", "..", "...", "slice", "@", "unary"))


@dataclass(slots=True)
class Piece:
    """A token, a comment (of kind `//` or `/*`) or a whole bracket, and how many line ends stand before it."""

    kind: str
    doc: Doc
    start: int
    lines: int

    @property
    def is_comment(self) -> bool:
        """Whether it is a comment."""
        return self.kind in ("//", "/*")

    @property
    def text(self) -> str:
        """What a token or a comment says."""
        assert isinstance(self.doc, str)
        return self.doc

    @property
    def power(self) -> int | None:
        """How tightly it binds, if it is an operator after which a line may be broken."""
        return _POWERS.get(self.kind)

    def on_its_line(self) -> list[Doc]:
        """A comment that begins a line: one with a `*` at the head of each line moves as a whole."""
        first, *others = (line.strip() for line in self.text.split("\n"))
        if not others or not all(line.startswith("*") for line in others):
            return [self.doc]
        return [first, *(part for line in others for part in (HARD, f" {line}"))]


def spaced(before: Piece, after: Piece) -> bool:
    """Whether a space stands between two pieces on a line."""
    if before.kind in _TIGHT_AFTER:
        return before.kind == after.kind == "unary"
    return after.kind not in _TIGHT_BEFORE


def follows_value(before: list[Piece]) -> bool:
    """Whether a bracket after these pieces is a call or an index: whether it follows on something that is a value."""
    real = (piece.kind for piece in reversed(before) if not piece.is_comment)
    last = next(real, "")
    return last in _VALUES or last == "?." or (last in RESERVED and next(real, "") in (".", "?."))


def pieces_of(text: str) -> list[Piece]:
    """All pieces of a text that has no errors, and one of kind `end`."""
    tokens = tokenize(text)
    spans = sorted([*_spans(tokens), *((start, end, "") for start, end in tokens.comments)])
    out: list[Piece] = []
    after = 0
    for start, end, kind in spans:
        # A comment in the hole of a string is a part of the string.
        if start < after:
            continue
        lines = text.count("\n", after, start)
        after = end
        if not kind:
            comment = "\n".join(line.rstrip() for line in text[start:end].split("\n"))
            out.append(Piece(comment[:2], comment, start, lines))
        elif kind == "py":
            out.append(Piece(kind, _python(text[start:end]), start, lines))
        else:
            out.append(Piece(kind, text[start:end], start, lines))
    return out


def _spans(tokens: Tokens) -> Iterator[tuple[int, int, str]]:
    """Where the tokens are; a string with holes counts as one, and a `|` before the first of several types as none."""
    depth = opened = 0
    before = ""
    for kind, start, end in zip(tokens.kinds, tokens.starts, tokens.ends, strict=True):
        if kind == "quote":
            opened = opened if depth else start
            depth += 1
        elif kind == "endquote":
            depth -= 1
            if not depth:
                yield opened, end, "text"
        elif not depth and not (kind == "|" and before in ("=", ":", "(")):
            yield start, end, kind
            if kind == "end":
                return
        before = kind


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
    lines = [line.rstrip() for line in textwrap.dedent(rest).rstrip().split("\n")]
    lines = [first.strip(), *lines] if first.strip() else lines
    while not lines[0]:
        del lines[0]
    return group([head, indent([part for line in lines for part in (HARD, line)]), HARD, "}"])


def _has_long_strings(code: str) -> bool:
    """Whether a string goes over a line end, or the code cannot be read."""
    import tokenize as python

    lines = iter(f"{{{code}}}".splitlines(keepends=True))
    try:
        tokens = list(python.generate_tokens(lambda: next(lines, "")))
    except (python.TokenError, SyntaxError):
        return True
    return any(kind not in (python.NEWLINE, python.NL) and start[0] != end[0] for kind, _, start, end, _ in tokens)
