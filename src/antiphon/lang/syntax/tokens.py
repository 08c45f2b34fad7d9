"""Keywords and signs of the language, and the tokens of one text as parallel lists."""

from __future__ import annotations

from dataclasses import dataclass, field

from antiphon.lang.syntax.diagnostics import Diagnostic
from antiphon.lang.syntax.foreign_syntax.table import FOREIGN_CONSTANTS

#: Reserved words: no variable may have such a name, but members, keys and fields may.
RESERVED_WORDS = frozenset(
    (
        *("let", "const", "if", "else", "for", "in", "while", "break", "continue", "return", "throw", "try", "catch"),
        *("finally", "is"),
        *("function", "import", "export", "do", "vibe", "ask", "yield", "true", "false", "null", "and", "or", "not"),
    )
)
#: Token kinds that are words, and so may follow a dot or be a key.
WORD_KINDS = RESERVED_WORDS | FOREIGN_CONSTANTS.keys() | {"name"}
ASSIGNMENT_OPERATORS = frozenset(("=", "+=", "-=", "*=", "/=", "%="))
#: Each opening kind and the kind that closes it. The last three belong to a string with interpolations.
BRACKET_PAIRS = {"(": ")", "[": "]", "{": "}", "quote": "endquote", "${": "}hole", "{path": "}hole"}


@dataclass(frozen=True, slots=True)
class PythonBlockSpan:
    """The offsets of the parameter names and of the code in a `py(…) { … }` block."""

    names_start: int
    names_end: int
    code_start: int
    code_end: int
    is_pure: bool


@dataclass(slots=True)
class Tokens:
    """The lexer's output; the i-th token is the i-th entry of each list.

    The kind of a sign or a reserved word is itself. The other kinds are `name`, `number`, `text` (a string
    without interpolations; its value has the escapes resolved), `py` and `end`. A string with interpolations is
    `quote`, `piece`, `${` or `{path`, the tokens of the interpolation, `}hole`, …, `endquote`.
    """

    kinds: list[str] = field(default_factory=list[str])
    values: list[str] = field(default_factory=list[str])
    starts: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])
    #: Indexes of the tokens that are the first of their line.
    fresh: set[int] = field(default_factory=set[int])
    comments: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    python: dict[int, PythonBlockSpan] = field(default_factory=dict[int, PythonBlockSpan])
    #: Indexes of tokens with an error that was already reported: the parser reports nothing more there.
    damaged: set[int] = field(default_factory=set[int])
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    #: True if the text ended inside a construct that a further line could close.
    open_ended: bool = False

    def add(self, kind: str, value: str, start: int, end: int) -> None:
        """Append one token."""
        self.kinds.append(kind)
        self.values.append(value)
        self.starts.append(start)
        self.ends.append(end)

    def report(self, code: str, message: str, start: int, end: int, hint: str = "") -> None:
        """Add a diagnostic, and mark the next token as damaged."""
        self.diagnostics.append(Diagnostic(code, message, start, end, hint, is_habit=code == "V0111"))
        self.damaged.add(len(self.kinds))
