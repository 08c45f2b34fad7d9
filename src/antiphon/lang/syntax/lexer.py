"""Text to tokens, in one pass. The lexer never stops: an error becomes a diagnostic, and lexing continues."""

from __future__ import annotations

import re
import unicodedata

from antiphon.lang.syntax.diagnostics import Diagnostic
from antiphon.lang.syntax.foreign_syntax.table import FOREIGN_CONSTANTS, FOREIGN_SIGNS, TRIPLE_QUOTE_HINTS
from antiphon.lang.syntax.python_block import PythonBlockReader
from antiphon.lang.syntax.strings import StringReader
from antiphon.lang.syntax.tokens import RESERVED_WORDS, Tokens

_NAME, _SIGN, _BRACE, _LINE, _TEXT, _NUMBER, _COMMENT, _STRING, _FOREIGN_SIGN, _STOP = range(1, 11)
# No group with a lookaround is possessive: Python before 3.11.5 resumes at a wrong position after a failed match.
_TOKEN = re.compile(
    r"""[ \t]*+(?:
      ([^\W\d]\w*+)
    | (=>|\?\?(?!=)|\?\.|\.\.\.?|\*\*(?!=)|(?:=(?!==)|[-+*/%<>]|!(?!==))=
      |(?!//|/\*|===|->|:=|\?\?=|\*\*=)[-+*/%=<>?.:,;()[\]@]|!(?!==)|\|(?!\|))
    | ([{}])
    | ((?:\r?\n|\r)\s*+)
    | ("[^"\\{$\r\n]*+"|'[^'\\{$\r\n]*+'|`[^`\\{$\r]*+`)
    | (0[xX]\w*+|[0-9]\w*+(?:\.[0-9]\w*+)?(?:(?<=[eE])[-+][0-9]\w*+)?)
    | (//[^\r\n]*+|/\*[\s\S]*?(?:\*/|\Z))
    | (["'`])
    | (&&=?|\|\|=?|===|!==|->|:=|\?\?=|\*\*=|[\^&~])
    | (\Z)
    | [\s\S]
    )""",
    re.VERBOSE,
)
_WORD_KINDS = {word: word for word in RESERVED_WORDS | FOREIGN_CONSTANTS.keys()} | {"py": "py", "pure": "py"}
#: Tokens that may precede a `//` that is meant as division, and the text that may follow it.
_BEFORE_DIVISION = frozenset(("number", "name", ")", "]"))
_AFTER_DIVISION = re.compile(r"[ \t]*[\w.]+(?:\(\))?[ \t]*[)\]]")
_LINE_END = re.compile(r"[\r\n]")
#: Compiled on first use, which is rare.
_TYPOGRAPHIC_STRING = r"[“”„‘’‚«»][^“”‘’«»\r\n]{0,1000}+[“”‘’«»]"
_UNEXPECTED_CHARACTERS = r"[^\w\s\x00-\x7f]+|\x00+|[\x00-\x08\x0e-\x1f\x7f]"


def tokenize_program(text: str) -> Tokens:
    """Return the tokens of a text, followed by three of kind `end`, so that lookahead needs no bounds check."""
    return _Lexer(text).tokens()


class _Lexer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = Tokens()
        self._strings = StringReader(text, self._tokens)
        self._python = PythonBlockReader(text, self._tokens)

    def tokens(self) -> Tokens:
        out, size = self._tokens, len(self._text)
        at: int | None = self._skip_preamble()
        while at is not None:
            at = self._scan_tokens(at)
        if self._strings.stack:
            self._strings.close_at_end(size)
        out.fresh.add(len(out.kinds))
        for _ in range(3):
            out.add("end", "", size, size)
        return out

    def _skip_preamble(self) -> int:
        at = 1 if self._text.startswith("\ufeff") else 0
        if not self._text.startswith("#!", at):
            return at
        end = _LINE_END.search(self._text, at)
        return end.start() if end else len(self._text)

    def _scan_tokens(self, at: int) -> int | None:
        """Read ordinary tokens from `at` on.

        Return the offset after a construct with its own reader, where the scan must start again, or None at the
        end.
        """
        tokens = self._tokens
        kinds, fresh, stack = tokens.kinds, tokens.fresh, self._strings.stack
        add_kind, add_value, add_start, add_end = (
            kinds.append,
            tokens.values.append,
            tokens.starts.append,
            tokens.ends.append,
        )
        word_kind = _WORD_KINDS.get
        for match in _TOKEN.finditer(self._text, at):
            group = match.lastindex
            if group == _NAME:
                value = match[_NAME]
                kind = word_kind(value, "name")
                if kind == "py" or not value.isascii():
                    after = self._read_special_name(value, match.start(_NAME), match.end())
                    if after is not None:
                        return after
                    continue
            elif group == _SIGN:
                kind = value = match[_SIGN]
            elif group == _LINE:
                fresh.add(len(kinds))
                if stack:
                    self._strings.handle_line_end(match.start(_LINE))
                continue
            elif group == _TEXT:
                value, kind = match[_TEXT][1:-1], "text"
                if not value and self._text.startswith(match[_TEXT][0], match.end()):
                    return self._read_triple_quoted(match.start(_TEXT), match.end() + 1)
            elif group == _NUMBER:
                value, kind = match[_NUMBER], "number"
            elif group == _BRACE:
                kind = value = match[_BRACE]
                if stack and (after := self._strings.brace(kind, match.end())) is not None:
                    return after
            else:
                after = self._read_rare_token(group, match)
                if after is not None:
                    return after
                continue
            add_kind(kind)
            add_value(value)
            start, end = match.span(group or 0)
            add_start(start)
            add_end(end)
        return None

    def _read_special_name(self, value: str, start: int, end: int) -> int | None:
        tokens = self._tokens
        before = tokens.kinds[-1] if tokens.kinds else ""
        if value in ("py", "pure") and before not in (".", "function"):
            after = self._python.read(start)
            if after is not None:
                return after
        normal = unicodedata.normalize("NFKC", value)
        if not value.isidentifier():
            tokens.report("V0126", f"`{value}` is not a name", start, end, "names are letters, digits and `_`")
        elif normal != value:
            hint = f"write it as `{normal}`, of plain letters"
            tokens.report("V0126", f"`{value}` has letters that stand for others", start, end, hint)
        tokens.add("name", value, start, end)
        return None

    def _read_rare_token(self, group: int | None, match: re.Match[str]) -> int | None:
        if group == _COMMENT:
            if self._is_division(*match.span(_COMMENT)):
                at = match.start(_COMMENT)
                self._read_foreign_sign("//", at, at + 2)
                return at + 2
            self._comment(*match.span(_COMMENT))
            return None
        if group == _STRING:
            return self._strings.read(match.start(_STRING))
        if group == _FOREIGN_SIGN:
            self._read_foreign_sign(match[_FOREIGN_SIGN], *match.span(_FOREIGN_SIGN))
            return None
        return None if group == _STOP else self._read_unexpected_character(match.end() - 1)

    def _is_division(self, start: int, end: int) -> bool:
        """Return True if `//` is meant as division: an operand and the end of an open bracket follow it."""
        tokens = self._tokens
        if not tokens.kinds or len(tokens.kinds) in tokens.fresh or tokens.kinds[-1] not in _BEFORE_DIVISION:
            return False
        body = self._text[start + 2 : end]
        return _AFTER_DIVISION.match(body) is not None and sum(map(body.count, ")]")) > sum(map(body.count, "(["))

    def _comment(self, start: int, end: int) -> None:
        tokens, text = self._tokens, self._text
        tokens.comments.append((start, end))
        if not text.startswith("/*", start):
            return
        if end - start < 4 or not text.endswith("*/", start, end):
            tokens.report("V0105", "this comment is never closed", start, start + 2, "end it with `*/`")
            tokens.open_ended = True
        if _LINE_END.search(text, start, end):
            tokens.fresh.add(len(tokens.kinds))

    def _read_triple_quoted(self, start: int, first: int) -> int:
        """Read a string between triple quotes, as in Python, report it, and return the offset after it."""
        text, quote = self._text, self._text[start:first]
        stop = text.find(quote, first)
        end = len(text) if stop < 0 else stop + 3
        self._tokens.diagnostics.append(
            Diagnostic("V0109", f"there is no {quote} here", start, first, TRIPLE_QUOTE_HINTS[quote], is_habit=True)
        )
        self._tokens.add("text", text[first : end if stop < 0 else stop], start, end)
        return end

    def _read_foreign_sign(self, sign: str, start: int, end: int) -> None:
        kind, hint = FOREIGN_SIGNS[sign]
        # It becomes the token that was meant, so that the rest is parsed as usual.
        self._tokens.diagnostics.append(
            Diagnostic("V0109", f"there is no `{sign}` here", start, end, hint, is_habit=True)
        )
        self._tokens.add(kind, sign, start, end)

    def _read_unexpected_character(self, at: int) -> int:
        text, tokens = self._text, self._tokens
        if text[at].isspace():
            return at + 1
        if text[at] == "#":
            end = _LINE_END.search(text, at)
            stop = end.start() if end else len(text)
            tokens.report("V0111", "a comment does not begin with `#`", at, at + 1, "write `//`")
            return stop
        if text[at] == "$" and text[at + 1 : at + 2].isidentifier():
            hint = "leave it out: a variable is its name alone"
            tokens.diagnostics.append(
                Diagnostic("V0109", "there is no `$` before a name here", at, at + 1, hint, is_habit=True)
            )
            return at + 1
        quoted = re.compile(_TYPOGRAPHIC_STRING).match(text, at)
        if quoted:
            tokens.report(
                "V0102", f"`{text[at]}` is not a quotation mark of the language", at, quoted.end(), 'write `"`'
            )
            tokens.add("text", quoted[0][1:-1], at, quoted.end())
            return quoted.end()
        run = re.compile(_UNEXPECTED_CHARACTERS).match(text, at)
        end = run.end() if run else at + 1
        message, hint = _describe_unexpected_character(text[at])
        tokens.report("V0102", message, at, end, hint)
        return end


def _describe_unexpected_character(character: str) -> tuple[str, str]:
    code = f"U+{ord(character):04X}"
    if character == "\x00":
        return "there is a NUL character here", "is this a text file, in UTF-8?"
    if not character.isprintable():
        name = unicodedata.name(character, "a control character").lower()
        return (
            f"there is an invisible character here: {code}, {name}",
            "remove it, or write it in a string as an escape",
        )
    if character == "\\":
        return "a `\\` means nothing outside a string", "a line goes on by itself while a bracket is open"
    return f"the character `{character}` means nothing here", "remove it, or put it in a string"
