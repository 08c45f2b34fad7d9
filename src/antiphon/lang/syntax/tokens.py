"""The words and signs of the language, and the tokens of one text as parallel lists."""

from __future__ import annotations

from dataclasses import dataclass, field

from antiphon.lang.syntax.diagnostics import Diagnostic
from antiphon.lang.syntax.habits import VALUES

#: Words that cannot name anything; members, keys and fields may still be called so.
RESERVED = frozenset(
    (
        *("let", "const", "if", "else", "for", "in", "while", "break", "continue", "return", "throw", "try", "catch"),
        *("finally", "is"),
        *("function", "import", "export", "do", "vibe", "ask", "yield", "true", "false", "null", "and", "or", "not"),
    )
)
#: Kinds of token that are words, and so may follow a dot or be a key; a `name` is one too.
WORDS = RESERVED | VALUES.keys() | {"name"}
ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%="))
#: Each opening kind and what closes it. The last three are those of a string with holes.
PAIRS = {"(": ")", "[": "]", "{": "}", "quote": "endquote", "${": "}hole", "{path": "}hole"}


@dataclass(frozen=True, slots=True)
class PythonPart:
    """Where the pieces of a `py(…) { … }` are: its names, and its code."""

    names_start: int
    names_end: int
    code_start: int
    code_end: int
    is_pure: bool


@dataclass(slots=True)
class Tokens:
    """What the lexer found; the i-th token is the i-th entry of each list.

    The kind of a sign or a reserved word is itself. The others are `name`, `number`, `text` (a string without holes;
    its value is what it says), `py`, `end`, and for a string with holes `quote`, `piece`, `${` or `{path`, the tokens
    of the hole, `}hole`, …, `endquote`.
    """

    kinds: list[str] = field(default_factory=list[str])
    values: list[str] = field(default_factory=list[str])
    starts: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])
    #: Tokens that are the first of their line.
    fresh: set[int] = field(default_factory=set[int])
    comments: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    python: dict[int, PythonPart] = field(default_factory=dict[int, PythonPart])
    #: Tokens at which something was wrong already: what the parser finds there is no news.
    damaged: set[int] = field(default_factory=set[int])
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    #: Whether the text ended inside something that the next line could end.
    open_ended: bool = False

    def add(self, kind: str, value: str, start: int, end: int) -> None:
        """Append one token."""
        self.kinds.append(kind)
        self.values.append(value)
        self.starts.append(start)
        self.ends.append(end)

    def report(self, code: str, message: str, start: int, end: int, hint: str = "") -> None:
        """Note what is wrong, and that the next token is not to be trusted."""
        self.diagnostics.append(Diagnostic(code, message, start, end, hint, is_habit=code == "V0111"))
        self.damaged.add(len(self.kinds))
