"""Hints for what follows a statement on its line, chosen by the words around it."""

from __future__ import annotations

from antiphon._base.did_you_mean import suggest_name
from antiphon.lang.syntax.foreign_syntax.around_names import is_type_name
from antiphon.lang.syntax.foreign_syntax.table import (
    AFTER_PROMPT_HINTS,
    AFTER_STATEMENT_HINTS,
    LOOP_MODE_HINTS,
    POSTFIX_WORD_HINTS,
    RUN_ON_HINTS,
    SIGN_PAIR_HINTS,
    STRING_ENDED_HINT,
)
from antiphon.lang.syntax.parser.cursor import Cursor

_OWN_LINE = "put each statement on its own line, or a `;` between them"
_LABEL = "write `let x: number = …` to declare one; there are no labels: leave loops with `return` from a function"
#: Keywords that begin a statement or a value.
LEADING_KEYWORDS = frozenset(
    (
        *("let", "const", "if", "else", "for", "while", "return", "throw", "try", "function", "import", "export"),
        *("do", "vibe", "ask", "model", "tool", "type", "test", "input", "returns", "match", "async", "private"),
    )
)
_TEXT_KINDS = ("text", "quote", "endquote")


def hint_trailing_tokens(c: Cursor, first: int) -> str:
    """Return the hint for what follows the statement that begins with the token `first`."""
    at = c.at
    kind, before = c.kinds[at], c.kinds[at - 1]
    if kind == "name" and before in _TEXT_KINDS and c.ends[at - 1] == c.starts[at]:
        return STRING_ENDED_HINT
    asked = next((c.kinds[i] for i in range(at - 1, first - 1, -1) if c.kinds[i] in ("do", "vibe", "ask")), "")
    if asked and (hint := _hint_after_prompt(c, asked)):
        return hint
    if kind in _TEXT_KINDS and before in _TEXT_KINDS:
        return "write `+` between texts"
    return _hint_after_loop(c) or _hint_by_word(c, first) or _hint_by_token(c)


def _hint_after_prompt(c: Cursor, asked: str) -> str:
    """Return the hint for a token after a prompt that is neither a model nor a context."""
    at, kind = c.at, c.kinds[c.at]
    is_type = kind == "name" and is_type_name(c.values[at])
    if is_type or (kind == ":" and (c.kinds[at - 1] in _TEXT_KINDS or asked == "ask")):
        return f"the type stands in the declaration: `const x: number = {asked} …`"
    if asked == "ask":
        return AFTER_PROMPT_HINTS["ask"] if kind == "name" or kind in _TEXT_KINDS else ""
    if kind in _TEXT_KINDS:
        return AFTER_PROMPT_HINTS["text" if c.kinds[at - 1] in _TEXT_KINDS else "order"]
    if kind == "name" and c.values[at - 1] in ("default", "local", "none"):
        return AFTER_PROMPT_HINTS["context"]
    if kind == "name" and c.values[at - 1] == "model":
        return AFTER_PROMPT_HINTS["model"]
    return AFTER_PROMPT_HINTS.get(kind, "")


def _hint_after_loop(c: Cursor) -> str:
    """Return the hint for a token after the block of a loop or after its mode."""
    at, word = c.at, c.values[c.at]
    if c.values[at - 1] in LOOP_MODE_HINTS and c.kinds[at - 1] == "name":
        return LOOP_MODE_HINTS[c.values[at - 1]]
    if c.kinds[at - 1] != "}" or c.kinds[at] != "name":
        return ""
    if word in LOOP_MODE_HINTS:
        return "only a loop has a mode behind it: `for x in xs { … } forget`"
    near = suggest_name(word, LOOP_MODE_HINTS)
    return f"did you mean `{near}`?" if near else ""


def _hint_by_word(c: Cursor, first: int) -> str:
    """Return the hint by the word before, or by the first word of the statement."""
    for at in (c.at - 1, first):
        small = c.values[at].lower()
        if c.kinds[at] == "name" and small != c.values[at] and small in LEADING_KEYWORDS:
            return f"words are written in small letters: `{small}`"
        if c.kinds[at] in ("name", "break", "continue") and c.values[at] in RUN_ON_HINTS and at < c.at:
            return RUN_ON_HINTS[c.values[at]]
    return ""


def _hint_by_token(c: Cursor) -> str:
    at, word = c.at, c.values[c.at]
    if c.ends[at] == c.starts[at + 1] and (pair := word + c.values[at + 1]) in SIGN_PAIR_HINTS:
        return SIGN_PAIR_HINTS[pair]
    if c.kinds[at] == ":" and c.kinds[at - 1] == "name":
        return _LABEL
    if c.kinds[at] == "{" and c.kinds[at - 2] == ".":
        return f"a function stands in the parentheses: `{c.values[at - 1]}(x => …)`"
    if c.kinds[at] == "{" and c.kinds[at - 1] == "name" and c.values[at - 1][:1].isupper():
        return f"a type stands behind the name of a variable: `const x: {c.values[at - 1]} = {{ … }}`"
    if c.kinds[at] in ("+=", "-=", "*=", "/=") and "=>" in c.kinds[max(0, at - 4) : at]:
        return f"an assignment is a statement: write `=> {{ x {word} … }}`"
    if c.kinds[at] in _TEXT_KINDS and c.kinds[at - 1] == "name":
        return 'write `(…)` around what a function is given; a model is asked with `do "…" m`'
    return AFTER_STATEMENT_HINTS.get(word) or POSTFIX_WORD_HINTS.get(word, _OWN_LINE)
