"""Python between braces, `py(…) { … }`: its end, found with Python's own tokenizer, and its code as it is compiled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from antiphon.lang.syntax.tokens import PythonPart, Tokens

_HEAD = re.compile(r"(pure[ \t]++)?py\s*+\(([^(){}\"'`]*+)\)\s*+\{")
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n|\Z)")
_ROUGH = re.compile(
    r'''"""(?:[^"\\]++|\\[\s\S]|"(?!""))*"""|\'\'\'(?:[^'\\]++|\\[\s\S]|'(?!\'\'))*\'\'\''''
    r"""|"(?:[^"\\\r\n]|\\.)*+"|'(?:[^'\\\r\n]|\\.)*+'|#[^\r\n]*+|([{}])""",
)
_LAST_LINE = re.compile(r"[\r\n][ \t]*+\}")
_NEVER_CLOSED = "this Python block is never closed"
_PAIRS = {")": "(", "]": "[", "}": "{"}


class PythonReader:
    """Reads embedded Python into one token each."""

    def __init__(self, text: str, tokens: Tokens) -> None:
        self._text = text
        self._tokens = tokens
        # Once a block ran to the end of the text, the rest is guessed: reading it again for each would take too long.
        self._lost = False

    def read(self, start: int) -> int | None:
        """Read the block that begins with the `py` or `pure` here; where to go on, or `None` if it is no block."""
        head = _HEAD.match(self._text, start)
        if head is None:
            return None
        brace = head.end() - 1
        end, closed = self._end(brace)
        tokens = self._tokens
        tokens.python[len(tokens.kinds)] = PythonPart(*head.span(2), brace + 1, end, head[1] is not None)
        after = end + 1 if closed else end
        tokens.add("py", self._text[brace + 1 : end], start, after)
        return after

    def _end(self, brace: int) -> tuple[int, bool]:
        """Where the code ends, and whether a brace is there."""
        if self._lost:
            return self._guess(brace)
        found, problem = self._closing(brace)
        if problem is None:
            return found, True
        if found >= len(self._text):
            self._lost = True
            end, closed = self._guess(brace)
            self._tokens.open_ended |= not closed
            self._tokens.report("V0119", problem, brace, brace + 1, "end it with `}`")
            return end, closed
        self._tokens.report("V0119", f"Python cannot read this: {problem}", found, found + 1)
        return self._rough_end(brace)

    def _closing(self, brace: int) -> tuple[int, str | None]:
        """The matching brace; or where Python could not go on, and why."""
        import tokenize

        stack: list[str] = []
        starts: list[int] = []
        try:
            # Reading from the brace on keeps the whole code in a bracket, where indentation does not matter.
            for kind, value, (row, column), _, _ in tokenize.generate_tokens(self._lines(brace, starts).__next__):
                at = starts[row - 1] + column
                if kind == tokenize.ERRORTOKEN:
                    return self._odd(at)
                if kind != tokenize.OP:
                    continue
                if value in "([{":
                    stack.append(value)
                elif value in ")]}":
                    if stack[-1] != _PAIRS[value]:
                        return at, f"`{value}` does not match `{stack[-1]}`"
                    stack.pop()
                    if not stack:
                        return at, None
        except (tokenize.TokenError, SyntaxError) as error:
            return self._place(error, starts), _reason(error)
        return len(self._text), _NEVER_CLOSED

    def _odd(self, at: int) -> tuple[int, str]:
        """What stands where Python finds no token; it may stop at the blank before it."""
        while at + 1 < len(self._text) and self._text[at] in " \t":
            at += 1
        found = self._text[at]
        return at, "this string is never closed" if found in "\"'" else f"unexpected {found!r}"

    def _lines(self, start: int, starts: list[int]) -> Iterator[str]:
        at, text = start, self._text
        while at < len(text):
            starts.append(at)
            match = _LINE.match(text, at)
            assert match is not None
            at = match.end()
            line = match[0]
            yield line[:-1] + "\n" if line.endswith("\r") else line

    def _place(self, error: Exception, starts: list[int]) -> int:
        """Where Python says it stopped: a `SyntaxError` has it by name, a `TokenError` as its second argument."""
        place: Any = error.args[1] if len(error.args) > 1 else (0, 0)
        row, column = (error.lineno, error.offset) if isinstance(error, SyntaxError) else place[:2]
        if _reason(error) == _NEVER_CLOSED or not row or row > len(starts):
            return len(self._text)
        return min(starts[row - 1] + max(0, int(column or 0) - 1), len(self._text))

    def _rough_end(self, brace: int) -> tuple[int, bool]:
        """Count braces outside what looks like strings and comments."""
        depth = 0
        for match in _ROUGH.finditer(self._text, brace):
            if match[1]:
                depth += 1 if match[1] == "{" else -1
                if depth == 0:
                    return match.start(), True
        self._lost = True
        return self._guess(brace)

    def _guess(self, brace: int) -> tuple[int, bool]:
        """The first line that begins with a brace is likely the end; else everything is the block."""
        match = _LAST_LINE.search(self._text, brace)
        return (match.end() - 1, True) if match else (len(self._text), False)


def _reason(error: Exception) -> str:
    message = str(error.args[0]) if error.args else ""
    if "EOF" in message or "unexpected end" in message:
        return _NEVER_CLOSED
    return message


def dedented(code: str) -> tuple[str, int]:
    """The Python code of a block without its common indentation, and how many lines were left out before it."""
    from textwrap import dedent

    first, newline, rest = code.partition("\n")
    if not newline:
        return code.strip(), 0
    if not first.strip():
        return dedent(rest), 1
    return f"{first.strip()}\n{dedent(rest)}", 0
