"""Text to tokens, in one pass. Nothing is refused: what is wrong becomes a diagnostic and the reading goes on."""

from __future__ import annotations

import re
import unicodedata

from antiphon.lang.syntax.diagnostics import Diagnostic
from antiphon.lang.syntax.habits import SIGNS, TRIPLE, VALUES
from antiphon.lang.syntax.pyblock import PythonReader
from antiphon.lang.syntax.strings import StringReader
from antiphon.lang.syntax.tokens import RESERVED, Tokens

_NAME, _SIGN, _BRACE, _LINE, _TEXT, _NUMBER, _COMMENT, _STRING, _FOREIGN, _STOP = range(1, 11)
# No group that looks around is possessive: Python before 3.11.5 goes on at a wrong place where one does not match.
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
_WORD_KINDS = {word: word for word in RESERVED | VALUES.keys()} | {"py": "py", "pure": "py"}
#: What may stand before a `//` that is meant to divide, and what after it.
_DIVIDED = frozenset(("number", "name", ")", "]"))
_DIVISOR = re.compile(r"[ \t]*[\w.]+(?:\(\))?[ \t]*[)\]]")
_LINE_END = re.compile(r"[\r\n]")
#: Compiled where the first of them is met, which is seldom.
_TYPOGRAPHIC = r"[“”„‘’‚«»][^“”‘’«»\r\n]{0,1000}+[“”‘’«»]"
_ODD_RUN = r"[^\w\s\x00-\x7f]+|\x00+|[\x00-\x08\x0e-\x1f\x7f]"


def tokenize(text: str) -> Tokens:
    """The tokens of a text, with three of kind `end` after the last, so that a look ahead needs no check."""
    return _Lexer(text).tokens()


class _Lexer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = Tokens()
        self._strings = StringReader(text, self._tokens)
        self._python = PythonReader(text, self._tokens)

    def tokens(self) -> Tokens:
        out, size = self._tokens, len(self._text)
        at: int | None = self._after_preamble()
        while at is not None:
            at = self._scan(at)
        if self._strings.stack:
            self._strings.close_at_end(size)
        out.fresh.add(len(out.kinds))
        for _ in range(3):
            out.add("end", "", size, size)
        return out

    def _after_preamble(self) -> int:
        at = 1 if self._text.startswith("\ufeff") else 0
        if not self._text.startswith("#!", at):
            return at
        end = _LINE_END.search(self._text, at)
        return end.start() if end else len(self._text)

    def _scan(self, at: int) -> int | None:
        """Read ordinary tokens from `at` on; where something needs a reader of its own, say where to go on after it."""
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
                    after = self._special_name(value, match.start(_NAME), match.end())
                    if after is not None:
                        return after
                    continue
            elif group == _SIGN:
                kind = value = match[_SIGN]
            elif group == _LINE:
                fresh.add(len(kinds))
                if stack:
                    self._strings.end_line(match.start(_LINE))
                continue
            elif group == _TEXT:
                value, kind = match[_TEXT][1:-1], "text"
                if not value and self._text.startswith(match[_TEXT][0], match.end()):
                    return self._triple(match.start(_TEXT), match.end() + 1)
            elif group == _NUMBER:
                value, kind = match[_NUMBER], "number"
            elif group == _BRACE:
                kind = value = match[_BRACE]
                if stack and (after := self._strings.brace(kind, match.end())) is not None:
                    return after
            else:
                after = self._rare(group, match)
                if after is not None:
                    return after
                continue
            add_kind(kind)
            add_value(value)
            start, end = match.span(group or 0)
            add_start(start)
            add_end(end)
        return None

    def _special_name(self, value: str, start: int, end: int) -> int | None:
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

    def _rare(self, group: int | None, match: re.Match[str]) -> int | None:
        if group == _COMMENT:
            if self._is_division(*match.span(_COMMENT)):
                at = match.start(_COMMENT)
                self._foreign_sign("//", at, at + 2)
                return at + 2
            self._comment(*match.span(_COMMENT))
            return None
        if group == _STRING:
            return self._strings.read(match.start(_STRING))
        if group == _FOREIGN:
            self._foreign_sign(match[_FOREIGN], *match.span(_FOREIGN))
            return None
        return None if group == _STOP else self._odd_character(match.end() - 1)

    def _is_division(self, start: int, end: int) -> bool:
        """Whether `//` is meant to divide: an operand follows, and then the bracket that is open here."""
        tokens = self._tokens
        if not tokens.kinds or len(tokens.kinds) in tokens.fresh or tokens.kinds[-1] not in _DIVIDED:
            return False
        body = self._text[start + 2 : end]
        return _DIVISOR.match(body) is not None and sum(map(body.count, ")]")) > sum(map(body.count, "(["))

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

    def _triple(self, start: int, first: int) -> int:
        """A string between three quotes each, as Python writes one over several lines."""
        text, quote = self._text, self._text[start:first]
        stop = text.find(quote, first)
        end = len(text) if stop < 0 else stop + 3
        self._tokens.diagnostics.append(
            Diagnostic("V0109", f"there is no {quote} here", start, first, TRIPLE[quote], is_habit=True)
        )
        self._tokens.add("text", text[first : end if stop < 0 else stop], start, end)
        return end

    def _foreign_sign(self, sign: str, start: int, end: int) -> None:
        kind, hint = SIGNS[sign]
        # It is read as what was meant, so what follows is judged as usual.
        self._tokens.diagnostics.append(
            Diagnostic("V0109", f"there is no `{sign}` here", start, end, hint, is_habit=True)
        )
        self._tokens.add(kind, sign, start, end)

    def _odd_character(self, at: int) -> int:
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
        quoted = re.compile(_TYPOGRAPHIC).match(text, at)
        if quoted:
            tokens.report(
                "V0102", f"`{text[at]}` is not a quotation mark of the language", at, quoted.end(), 'write `"`'
            )
            tokens.add("text", quoted[0][1:-1], at, quoted.end())
            return quoted.end()
        run = re.compile(_ODD_RUN).match(text, at)
        end = run.end() if run else at + 1
        message, hint = _what_is_odd(text[at])
        tokens.report("V0102", message, at, end, hint)
        return end


def _what_is_odd(character: str) -> tuple[str, str]:
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
