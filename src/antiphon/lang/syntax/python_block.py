"""Lexing of Python blocks, `py(…) { … }`: Python's own tokenizer finds their end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from antiphon.lang.syntax.tokens import PythonBlockSpan, Tokens

_BLOCK_HEAD = re.compile(r"(pure[ \t]++)?py\s*+\(([^(){}\"'`]*+)\)\s*+\{")
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n|\Z)")
_BRACE_OR_LITERAL = re.compile(
    r'''"""(?:[^"\\]++|\\[\s\S]|"(?!""))*"""|\'\'\'(?:[^'\\]++|\\[\s\S]|'(?!\'\'))*\'\'\''''
    r"""|"(?:[^"\\\r\n]++|\\.)*"|'(?:[^'\\\r\n]++|\\.)*'|#[^\r\n]*+|([{}])""",
)
_LINE_WITH_BRACE = re.compile(r"[\r\n][ \t]*+\}")
_NEVER_CLOSED = "this Python block is never closed"
_OPENING_BRACKETS = {")": "(", "]": "[", "}": "{"}


class PythonBlockReader:
    """Lexer of Python blocks; each becomes one token."""

    def __init__(self, text: str, tokens: Tokens) -> None:
        self._text = text
        self._tokens = tokens
        # After a block that ran to the end of the text, later ends are guessed: tokenizing again is too slow.
        self._guesses_ends = False

    def read(self, start: int) -> int | None:
        """Read the block whose `py` or `pure` is at `start`. Return the offset after it, or None if it is no block."""
        head = _BLOCK_HEAD.match(self._text, start)
        if head is None:
            return None
        brace = head.end() - 1
        end, closed = self._end(brace)
        tokens = self._tokens
        tokens.python[len(tokens.kinds)] = PythonBlockSpan(*head.span(2), brace + 1, end, head[1] is not None)
        after = end + 1 if closed else end
        tokens.add("py", self._text[brace + 1 : end], start, after)
        return after

    def _end(self, brace: int) -> tuple[int, bool]:
        """Return the offset where the code ends, and whether a closing brace is there."""
        if self._guesses_ends:
            return self._guess_end(brace)
        found, problem = self._find_closing_brace(brace)
        if problem is None:
            return found, True
        if found >= len(self._text):
            self._guesses_ends = True
            end, closed = self._guess_end(brace)
            self._tokens.open_ended |= not closed
            self._tokens.report("V0119", problem, brace, brace + 1, "end it with `}`")
            return end, closed
        self._tokens.report("V0119", f"Python cannot read this: {problem}", found, found + 1)
        return self._find_end_by_braces(brace)

    def _find_closing_brace(self, brace: int) -> tuple[int, str | None]:
        """Return the offset of the matching brace and None; or where Python's tokenizer failed, and why."""
        import tokenize

        stack: list[str] = []
        starts: list[int] = []
        try:
            # Tokenizing from the brace on keeps all code inside a bracket, where indentation does not matter.
            for kind, value, (row, column), _, _ in tokenize.generate_tokens(self._lines(brace, starts).__next__):
                at = starts[row - 1] + column
                if kind == tokenize.ERRORTOKEN:
                    return self._describe_error_token(at)
                if kind != tokenize.OP:
                    continue
                if value in "([{":
                    stack.append(value)
                elif value in ")]}":
                    if stack[-1] != _OPENING_BRACKETS[value]:
                        return at, f"`{value}` does not match `{stack[-1]}`"
                    stack.pop()
                    if not stack:
                        return at, None
        except (tokenize.TokenError, SyntaxError) as error:
            return self._place(error, starts), _error_message(error)
        return len(self._text), _NEVER_CLOSED

    def _describe_error_token(self, at: int) -> tuple[int, str]:
        """Return the offset and a description of a character that begins no Python token."""
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
        """Return the offset of a tokenizer error.

        A `SyntaxError` has it as attributes, a `TokenError` as its second argument.
        """
        place: Any = error.args[1] if len(error.args) > 1 else (0, 0)
        row, column = (error.lineno, error.offset) if isinstance(error, SyntaxError) else place[:2]
        if _error_message(error) == _NEVER_CLOSED or not row or row > len(starts):
            return len(self._text)
        return min(starts[row - 1] + max(0, int(column or 0) - 1), len(self._text))

    def _find_end_by_braces(self, brace: int) -> tuple[int, bool]:
        """Find the end by counting braces outside of strings and comments."""
        depth = 0
        for match in _BRACE_OR_LITERAL.finditer(self._text, brace):
            if match[1]:
                depth += 1 if match[1] == "{" else -1
                if depth == 0:
                    return match.start(), True
        self._guesses_ends = True
        return self._guess_end(brace)

    def _guess_end(self, brace: int) -> tuple[int, bool]:
        """Return the first line that begins with a brace as the likely end, or else the end of the text."""
        match = _LINE_WITH_BRACE.search(self._text, brace)
        return (match.end() - 1, True) if match else (len(self._text), False)


def _error_message(error: Exception) -> str:
    message = str(error.args[0]) if error.args else ""
    if "EOF" in message or "unexpected end" in message:
        return _NEVER_CLOSED
    return message


def dedent_code(code: str) -> tuple[str, int]:
    """Return the code of a block without its common indentation, and how many lines were dropped before it."""
    from textwrap import dedent

    first, newline, rest = code.partition("\n")
    if not newline:
        return code.strip(), 0
    if not first.strip():
        return dedent(rest), 1
    return f"{first.strip()}\n{dedent(rest)}", 0
