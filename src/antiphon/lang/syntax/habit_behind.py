"""What to write where something follows a statement on its line: by the words around it, told from the table."""

from __future__ import annotations

from antiphon._suggestions import nearest
from antiphon.lang.syntax.cursor import Cursor
from antiphon.lang.syntax.habit_names import is_name_of_type
from antiphon.lang.syntax.habits import ASKED, BEGUN, BEHIND, FOLLOWING, MODES, PAIRS_OF_SIGNS, STRING_ENDED

_OWN_LINE = "put each statement on its own line, or a `;` between them"
_LABEL = "write `let x: number = …` to declare one; there are no labels: leave loops with `return` from a function"
#: Words that a statement or a value begins with.
OUR_WORDS = frozenset(
    (
        *("let", "const", "if", "else", "for", "while", "return", "throw", "try", "function", "import", "export"),
        *("do", "vibe", "ask", "model", "tool", "type", "test", "input", "returns", "match", "async", "private"),
    )
)
_TEXTS = ("text", "quote", "endquote")


def hint_behind(c: Cursor, first: int) -> str:
    """What to write in place of what stands here, behind the statement that begins with the token `first`."""
    at = c.at
    kind, before = c.kinds[at], c.kinds[at - 1]
    if kind == "name" and before in _TEXTS and c.ends[at - 1] == c.starts[at]:
        return STRING_ENDED
    asked = next((c.kinds[i] for i in range(at - 1, first - 1, -1) if c.kinds[i] in ("do", "vibe", "ask")), "")
    if asked and (hint := _behind_question(c, asked)):
        return hint
    if kind in _TEXTS and before in _TEXTS:
        return "write `+` between texts"
    return _of_loop(c) or _begun(c, first) or _other(c)


def _behind_question(c: Cursor, asked: str) -> str:
    """What follows a prompt that is neither a model nor a context."""
    at, kind = c.at, c.kinds[c.at]
    is_type = kind == "name" and is_name_of_type(c.values[at])
    if is_type or (kind == ":" and (c.kinds[at - 1] in _TEXTS or asked == "ask")):
        return f"the type stands in the declaration: `const x: number = {asked} …`"
    if asked == "ask":
        return ASKED["ask"] if kind == "name" or kind in _TEXTS else ""
    if kind in _TEXTS:
        return ASKED["text" if c.kinds[at - 1] in _TEXTS else "order"]
    if kind == "name" and c.values[at - 1] in ("default", "local", "none"):
        return ASKED["context"]
    if kind == "name" and c.values[at - 1] == "model":
        return ASKED["model"]
    return ASKED.get(kind, "")


def _of_loop(c: Cursor) -> str:
    """What follows the block of a loop, or the word that says what becomes of its history."""
    at, word = c.at, c.values[c.at]
    if c.values[at - 1] in MODES and c.kinds[at - 1] == "name":
        return MODES[c.values[at - 1]]
    if c.kinds[at - 1] != "}" or c.kinds[at] != "name":
        return ""
    if word in MODES:
        return "only a loop has a mode behind it: `for x in xs { … } forget`"
    near = nearest(word, MODES)
    return f"did you mean `{near}`?" if near else ""


def _begun(c: Cursor, first: int) -> str:
    """By the word before, or that which begins the statement."""
    for at in (c.at - 1, first):
        small = c.values[at].lower()
        if c.kinds[at] == "name" and small != c.values[at] and small in OUR_WORDS:
            return f"words are written in small letters: `{small}`"
        if c.kinds[at] in ("name", "break", "continue") and c.values[at] in BEGUN and at < c.at:
            return BEGUN[c.values[at]]
    return ""


def _other(c: Cursor) -> str:
    at, word = c.at, c.values[c.at]
    if c.ends[at] == c.starts[at + 1] and (pair := word + c.values[at + 1]) in PAIRS_OF_SIGNS:
        return PAIRS_OF_SIGNS[pair]
    if c.kinds[at] == ":" and c.kinds[at - 1] == "name":
        return _LABEL
    if c.kinds[at] == "{" and c.kinds[at - 2] == ".":
        return f"a function stands in the parentheses: `{c.values[at - 1]}(x => …)`"
    if c.kinds[at] == "{" and c.kinds[at - 1] == "name" and c.values[at - 1][:1].isupper():
        return f"a type stands behind the name of a variable: `const x: {c.values[at - 1]} = {{ … }}`"
    if c.kinds[at] in ("+=", "-=", "*=", "/=") and "=>" in c.kinds[max(0, at - 4) : at]:
        return f"an assignment is a statement: write `=> {{ x {word} … }}`"
    if c.kinds[at] in _TEXTS and c.kinds[at - 1] == "name":
        return 'write `(…)` around what a function is given; a model is asked with `do "…" m`'
    return BEHIND.get(word) or FOLLOWING.get(word, _OWN_LINE)
