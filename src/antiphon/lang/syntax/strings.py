"""Reading strings: escapes, and the holes `${…}` and `{path}`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from antiphon.lang.syntax.tokens import RESERVED, Tokens

_NOT_RESERVED = rf"(?!(?:{'|'.join(sorted(RESERVED))})\b)"
_WORD = r"[^\W\d]\w*+"
_POINT = rf"(?:-?[0-9]++|{_NOT_RESERVED}{_WORD})"
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
#: How far a string over several lines is looked for, and what may follow it on its last one.
_LONGEST = 2000
_LINE_OVER = re.compile(r"[ \t)\],;}]*+(?://.*)?(?:[\r\n]|\Z)")
_RUN, _ESCAPE, _DOLLAR, _PATH, _SIGN, _END = range(1, 7)


@cache
def _pieces(quote: str) -> re.Pattern[str]:
    """What a string of this quote is made of."""
    line = "" if quote == "`" else r"\r\n"
    others = "".join({'"', "'", "`"} - {quote})
    key = "|".join(rf"{other}[^'\"`\\{{}}\r\n]*+{other}" for other in others)
    path = rf"\{{{_NOT_RESERVED}{_WORD}(?:\.{_WORD}|\[(?:{key}|{_POINT}|{_POINT}?:{_POINT}?)\])*\}}"
    escape = r"\\u\{[0-9a-fA-F]*+\}?|\\\$\{|\\[^\r\n]" + (r"|\\(?:\r\n?|\n)" if quote == "`" else "")
    return re.compile(rf"([^{quote}\\{{${line}]++)|({escape})|(\$\{{)|({path})|([{{$])|({quote})")


@dataclass(slots=True)
class _Open:
    """A string that waits for its hole to end, and how many braces are open in the hole."""

    quote: str
    start: int
    hole: int
    braces: int = 0


class StringReader:
    """Reads strings into tokens. A string in whose hole we are waits on the `stack`."""

    def __init__(self, text: str, tokens: Tokens) -> None:
        self._text = text
        self._tokens = tokens
        self.stack: list[_Open] = []
        # Which of the stack may not go over a line end.
        self._one_line: list[int] = []

    def read(self, start: int) -> int:
        """Read the string that begins here, up to its end or into its first `${`; where to go on."""
        return self._rest(self._text[start], start, start + 1, False)

    def brace(self, kind: str, end: int) -> int | None:
        """A brace in a hole: if it ends the hole, the string goes on, and this is where to read after it."""
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

    def end_line(self, at: int) -> None:
        """A line ends in a hole: only strings in backticks may go on."""
        if self._one_line:
            outer = self._one_line[0]
            self._unclosed_hole(self.stack[outer].hole)
            self._close(outer, at)

    def close_at_end(self, size: int) -> None:
        """The text ends in a hole."""
        if not self._one_line:
            self._tokens.open_ended = True
        self._unclosed_hole(self.stack[self._one_line[0] if self._one_line else -1].hole)
        self._close(0, size)

    def _push(self, quote: str, start: int, hole: int) -> None:
        if quote != "`":
            self._one_line.append(len(self.stack))
        self.stack.append(_Open(quote, start, hole))

    def _pop(self) -> None:
        if self.stack.pop().quote != "`":
            self._one_line.pop()

    def _close(self, index: int, at: int) -> None:
        while len(self.stack) > index:
            self._pop()
            self._tokens.add("}hole", "", at, at)
            self._tokens.add("endquote", "", at, at)
        # What follows the cut is no news, on whichever side of the closing tokens it is found.
        self._tokens.damaged.add(len(self._tokens.kinds) - 1)
        if at < len(self._text):
            self._tokens.fresh.add(len(self._tokens.kinds))

    def _unclosed_hole(self, start: int) -> None:
        hint = "end it with `}`; to write the two signs themselves, write `\\${`"
        self._tokens.report("V0123", "this `${` is never closed", start, start + 2, hint)

    def _rest(self, quote: str, start: int, at: int, opened: bool) -> int:
        """Read on in a string; `opened` says whether its opening token is there already."""
        tokens, match_piece = self._tokens, _pieces(quote).match
        buffer: list[str] = []
        first = at
        while match := match_piece(self._text, at):
            group, at = match.lastindex, match.end()
            if group in (_RUN, _SIGN):
                buffer.append(_with_plain_line_ends(match[0]))
            elif group == _ESCAPE:
                buffer.append(self._escape(match[0], match.start()))
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
                    self._push(quote, start, match.start())
                    return at
                self._path(match.start(), at)
                first = at
        self._unclosed(quote, start, at)
        if (end := self._end_below(quote, at)) >= 0:
            buffer.append(self._text[at : end - 1])
            at = end
        self._finish(buffer, quote, (start, first, at, at), opened)
        return at

    def _end_below(self, quote: str, at: int) -> int:
        """Where a string that goes over line ends seems to be closed: by a quote after which its line is over."""
        if quote == "`" or self._one_line:
            return -1
        found = self._text.find(quote, at, at + _LONGEST)
        return found + 1 if found >= 0 and _LINE_OVER.match(self._text, found + 1) else -1

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

    def _unclosed(self, quote: str, start: int, at: int) -> None:
        if quote == "`":
            self._tokens.open_ended = True
        elif self._one_line:
            # The line ends in a hole too, and that is what will be told.
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

    def _escape(self, escape: str, at: int) -> str:
        simple = _ESCAPES.get(escape[1:])
        if simple is not None:
            return simple
        if escape[1] == "u":
            return self._unicode(escape, at)
        shown = "a line end" if escape[1] in "\r\n" else f"`{escape}`"
        hint = r"there are \n \t \r \\ \" \' \` \{ \} \$ and \u{1F600}; a `\` itself is `\\`"
        self._tokens.report("V0104", f"{shown} is no escape", at, at + len(escape), hint)
        return escape[1:]

    def _unicode(self, escape: str, at: int) -> str:
        match = _UNICODE.fullmatch(escape)
        code = int(match[1], 16) if match else -1
        if 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
            return chr(code)
        problem = "no character has this number" if match else r"`\u` is followed by a number in braces"
        hint = r"write the character's number in hexadecimal, as in `\u{1F600}`"
        self._tokens.report("V0104", problem, at, at + len(escape), hint)
        return "\ufffd"


def _with_plain_line_ends(text: str) -> str:
    """The text as if its file had been written with `\\n`: a program means the same wherever it was edited."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
