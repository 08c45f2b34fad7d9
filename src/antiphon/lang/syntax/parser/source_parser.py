"""Entry points of the parser: text to tree."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import Diagnostic
from antiphon.lang.syntax.lexer import tokenize_program
from antiphon.lang.syntax.parser.cursor import Cursor
from antiphon.lang.syntax.parser.statements import parse_program, parse_standalone_type
from antiphon.lang.syntax.source import Source
from antiphon.lang.syntax.tokens import Tokens


def parse_source(source: Source, tokens: Tokens | None = None) -> tuple[n.Program, list[Diagnostic]]:
    """Return the tree of a program and all syntax errors, ordered by position. Never raises.

    Pass `tokens` if you need them as well.
    """
    cursor = Cursor(source, tokenize_program(source.text) if tokens is None else tokens)
    program = parse_program(cursor)
    return program, _sort_by_position(cursor.diagnostics)


def parse_type_source(source: Source) -> tuple[n.TypeNode, list[Diagnostic]]:
    """Parse a type that is a whole text, such as `{ name: text, age: number }`. Never raises."""
    cursor = Cursor(source, tokenize_program(source.text))
    return parse_standalone_type(cursor), _sort_by_position(cursor.diagnostics)


def is_incomplete_source(text: str) -> bool:
    """Return True if the only error of a text is that it ends too early, so that an interactive prompt reads on."""
    tokens = tokenize_program(text)
    if tokens.open_ended:
        return True
    cursor = Cursor(Source("", text), tokens)
    parse_program(cursor)
    return cursor.is_text_incomplete


def _sort_by_position(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    return sorted(diagnostics, key=lambda each: each.start)
