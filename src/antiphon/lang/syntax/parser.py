"""Text to tree: the ways into the parser."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.cursor import Cursor
from antiphon.lang.syntax.diagnostics import Diagnostic
from antiphon.lang.syntax.lexer import tokenize
from antiphon.lang.syntax.source import Source
from antiphon.lang.syntax.statement_parser import read_only_type, read_program
from antiphon.lang.syntax.tokens import Tokens


def parse(source: Source, tokens: Tokens | None = None) -> tuple[n.Program, list[Diagnostic]]:
    """The tree of a program, and everything that is wrong with its syntax, in the order of the text. Never raises.

    Who needs the tokens as well gives them.
    """
    cursor = Cursor(source, tokenize(source.text) if tokens is None else tokens)
    program = read_program(cursor)
    return program, _in_order(cursor.diagnostics)


def parse_type(source: Source) -> tuple[n.TypeNode, list[Diagnostic]]:
    """A type that stands alone, such as `{ name: text, age: number }`. Never raises."""
    cursor = Cursor(source, tokenize(source.text))
    return read_only_type(cursor), _in_order(cursor.diagnostics)


def is_incomplete(text: str) -> bool:
    """Whether what is wrong with a text is only that it ends too early: an editor of one statement reads on."""
    tokens = tokenize(text)
    if tokens.open_ended:
        return True
    cursor = Cursor(Source("", text), tokens)
    read_program(cursor)
    return cursor.ran_out


def _in_order(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    return sorted(diagnostics, key=lambda each: each.start)
