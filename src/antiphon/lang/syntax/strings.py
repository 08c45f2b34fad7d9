"""Lexing of strings: escapes, and the interpolations `${…}` and `{path}`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from antiphon.lang.syntax.tokens import RESERVED_WORDS, Tokens

_NOT_RESERVED = rf"(?!(?:{'|'.join(sorted(RESERVED_WORDS))})\b)"
_WORD = r"[^\W\d]\w*+"
_SLICE_BOUND = rf"(?:-?[0-9]++|{_NOT_RESERVED}{_WORD})"
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "\\": "\\",
    '"': '"',
    "'": "'",
    "`": "`",
    "{": "{",
    "}": "}",
    "$": "$",
    "${": "${",
}
_UNICODE = re.compile(r"\\u\{([0-9a-fA-F]{1,8})\}")
_PATH_TOKEN = re.compile(rf"({_WORD})|([0-9]++)|(['\"`][^'\"`]*+['\"`])|([-.:\[\]])")
#: How far to look for the end of an unclosed string on later lines, and what may follow that end on its line.
_MAX_STRING_LOOKAHEAD = 2000
_REST_OF_LINE = re.compile(r"[ \t)\],;}]*+(?://.*)?(?:[\r\n]|\Z)")
_RUN, _ESCAPE, _DOLLAR, _PATH, _SIGN, _END = range(1, 7)


@cache
def _string_pattern(quote: str) -> re.Pattern[str]:
    """Return the pattern of the parts of a string with this quote."""
    line = "" if quote == "`" else r"\r\n"
    others = "".join({'"', "'", "`"} - {quote})
    key = "|".join(rf"{other}[^'\"`\\{{}}\r\n]*+{other}" for other in others)
    path = rf"\{{{_NOT_RESERVED}{_WORD}(?:\.{_WORD}|\[(?:{key}|{_SLICE_BOUND}|{_SLICE_BOUND}?:{_SLICE_BOUND}?)\])*\}}"
    escape = r"\\u\{[0-9a-fA-F]*+\}?|\\\$\{|\\[^\r\n]" + (r"|\\(?:\r\n?|\n)" if quote == "`" else "")
    return re.compile(rf"([^{quote}\\{{${line}]++)|({escape})|(\$\{{)|({path})|([{{$])|({quote})")


@dataclass(slots=True)
class _OpenString:
    """A string whose interpolation is being read, and the number of open braces in the interpolation."""

    quote: str
    start: int
    hole: int
    braces: int = 0


class StringReader:
    """Lexer of strings. While an interpolation is read, its string is on the `stack`."""

    def __init__(self, text: str, tokens: Tokens) -> None:
        self._text = text
        self._tokens = tokens
        self.stack: list[_OpenString] = []
        # Stack indexes of the strings that may not span lines.
        self._one_line: list[int] = []

    def read(self, start: int) -> int:
        """Read the string that starts here, up to its end or its first `${`. Return the offset to continue at."""
        return self._rest(self._text[start], start, start + 1, False)

    def brace(self, kind: str, end: int) -> int | None:
        """Count a brace in an interpolation, and continue the string if it closes the interpolation.

        Return the offset to continue at if the string was continued, else None.
        """
        top = self.stack[-1]
        if kind == "{":
            top.braces += 1
        elif top.braces:
            top.braces -= 1
        else:
            self._pop()
            self._tokens.add("}hole", "}", end - 1, end)
            return self._rest(top.quote, top.start, end, True)
        return None

    def handle_line_end(self, at: int) -> None:
        """Close the open strings at a line end in an interpolation, unless they are all in backticks."""
        if self._one_line:
            outer = self._one_line[0]
            self._report_unclosed_interpolation(self.stack[outer].hole)
            self._close(outer, at)

    def close_at_end(self, size: int) -> None:
        """Report and close the strings that are still open at the end of the text."""
        if not self._one_line:
            self._tokens.open_ended = True
        self._report_unclosed_interpolation(self.stack[self._one_line[0] if self._one_line else -1].hole)
        self._close(0, size)

    def _pop(self) -> None:
        if self.stack.pop().quote != "`":
            self._one_line.pop()

    def _close(self, index: int, at: int) -> None:
        while len(self.stack) > index:
            self._pop()
            self._tokens.add("}hole", "", at, at)
            self._tokens.add("endquote", "", at, at)
        # Errors after the cut are not reported again, on either side of the closing tokens.
        self._tokens.damaged.add(len(self._tokens.kinds) - 1)
        if at < len(self._text):
            self._tokens.fresh.add(len(self._tokens.kinds))

    def _report_unclosed_interpolation(self, start: int) -> None:
        hint = "end it with `}`; to write the two signs themselves, write `\\${`"
        self._tokens.report("V0123", "this `${` is never closed", start, start + 2, hint)

    def _rest(self, quote: str, start: int, at: int, opened: bool) -> int:
        """Read the remainder of a string; `opened` is true if its opening token was already added."""
        tokens, match_piece = self._tokens, _string_pattern(quote).match
        buffer: list[str] = []
        first = at
        while match := match_piece(self._text, at):
            group, at = match.lastindex, match.end()
            if group in (_RUN, _SIGN):
                buffer.append(_normalize_line_ends(match[0]))
            elif group == _ESCAPE:
                buffer.append(self._read_escape(match[0], match.start()))
            elif group == _END:
                self._finish(buffer, quote, (start, first, match.start(), at), opened)
                return at
            else:
                if not opened:
                    tokens.add("quote", quote, start, start + 1)
                    opened = True
                self._piece(buffer, first, match.start())
                if group == _DOLLAR:
                    tokens.add("${", "${", match.start(), at)
                    if quote != "`":
                        self._one_line.append(len(self.stack))
                    self.stack.append(_OpenString(quote, start, match.start()))
                    return at
                self._path(match.start(), at)
                first = at
        self._report_unclosed_string(quote, start, at)
        if (end := self._find_end_on_later_line(quote, at)) >= 0:
            buffer.append(self._text[at : end - 1])
            at = end
        self._finish(buffer, quote, (start, first, at, at), opened)
        return at

    def _find_end_on_later_line(self, quote: str, at: int) -> int:
        """Return the offset after the quote that seems to close an unclosed string on a later line, or -1."""
        if quote == "`" or self._one_line:
            return -1
        found = self._text.find(quote, at, at + _MAX_STRING_LOOKAHEAD)
        return found + 1 if found >= 0 and _REST_OF_LINE.match(self._text, found + 1) else -1

    def _piece(self, buffer: list[str], start: int, end: int) -> None:
        if buffer:
            self._tokens.add("piece", "".join(buffer), start, end)
            buffer.clear()

    def _finish(self, buffer: list[str], quote: str, places: tuple[int, int, int, int], opened: bool) -> None:
        start, first, stop, end = places
        if opened:
            self._piece(buffer, first, stop)
            self._tokens.add("endquote", quote, stop, end)
        else:
            self._tokens.add("text", "".join(buffer), start, end)

    def _report_unclosed_string(self, quote: str, start: int, at: int) -> None:
        if quote == "`":
            self._tokens.open_ended = True
        elif self._one_line:
            # The line ends inside an interpolation too, which is reported instead.
            self._tokens.damaged.add(len(self._tokens.kinds))
            return
        hint = f"end it with `{quote}`" if quote != "`" else "end it with a backtick"
        if quote != "`" and at < len(self._text):
            hint += "; a string over several lines stands in backticks"
        self._tokens.report("V0103", "this string is never closed", start, max(start + 1, at), hint)

    def _path(self, start: int, end: int) -> None:
        tokens = self._tokens
        tokens.add("{path", "{", start, start + 1)
        for match in _PATH_TOKEN.finditer(self._text, start + 1, end - 1):
            value, group = match[0], match.lastindex
            if group == 3:
                tokens.add("text", value[1:-1], match.start(), match.end())
            else:
                kind = "name" if group == 1 else "number" if group == 2 else value
                tokens.add(kind, value, match.start(), match.end())
        tokens.add("}hole", "}", end - 1, end)

    def _read_escape(self, escape: str, at: int) -> str:
        simple = _ESCAPES.get(escape[1:])
        if simple is not None:
            return simple
        if escape[1] == "u":
            match = _UNICODE.fullmatch(escape)
            code = int(match[1], 16) if match else -1
            if 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
                return chr(code)
            problem = "no character has this number" if match else r"`\u` is followed by a number in braces"
            hint = r"write the character's number in hexadecimal, as in `\u{1F600}`"
            self._tokens.report("V0104", problem, at, at + len(escape), hint)
            return "\ufffd"
        shown = "a line end" if escape[1] in "\r\n" else f"`{escape}`"
        hint = r"there are \n \t \r \\ \" \' \` \{ \} \$ and \u{1F600}; a `\` itself is `\\`"
        if escape[1] == "(":
            hint = "what is put in stands in braces: `{name}`, or `${f(x)}`; " + hint
        self._tokens.report("V0104", f"{shown} is no escape", at, at + len(escape), hint)
        return escape[1:]


def _normalize_line_ends(text: str) -> str:
    """Return the text with LF line ends, so that a program means the same wherever it was edited."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
