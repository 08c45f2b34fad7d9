"""Markdown in which nothing is hidden and nothing is obeyed."""

from __future__ import annotations

from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import markdown as rich_markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table

THEME = "ansi_dark"
_NESTING = 20
_INDENTS = {"blockquote_open": 4, "list_item_open": 4}


class _Code(rich_markdown.CodeBlock):
    """A code block without empty lines around it: those between blocks are enough."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Syntax(str(self.text).rstrip(), self.lexer_name, theme=self.theme, word_wrap=True, padding=(0, 1))


class _Table(rich_markdown.TableElement):
    """A table without the empty lines of its edge."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                table.show_edge = False
            yield table


class Markdown(rich_markdown.Markdown):
    """Rich's Markdown over a parser of our own.

    `too_deep` says that there is no room for the nesting, or that the parser left out what is nested. `left_out` is
    how many lines of the source were not given to it.
    """

    elements: ClassVar = rich_markdown.Markdown.elements | {"fence": _Code, "code_block": _Code, "table_open": _Table}

    def __init__(self, content: str, width: int) -> None:
        super().__init__("", code_theme=THEME, hyperlinks=False)
        # Without HTML the tags are text, without images `![alt](url)` is a link, without entities nothing is decoded
        # into what was made harmless before, without references no line vanishes.
        parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING})
        parser.disable(["html_block", "html_inline", "image", "entity", "reference"]).enable(["table", "strikethrough"])
        self.parsed = parser.parse(content)
        deepest = max((token.level for token in _all(self.parsed)), default=0)
        self.too_deep = deepest >= _NESTING - 1 or _indent(self.parsed) > width // 2
        self.left_out = 0
        for token in _all(self.parsed):
            if token.type == "link_open" and token.attrs.get("title"):
                token.attrs["href"] = f'{token.attrs.get("href", "")} "{token.attrs["title"]}"'

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # Rich begins with an empty line where the first element wants to be apart from what stands above it.
        first = True
        for segment in super().__rich_console__(console, options):
            if first and isinstance(segment, Segment) and segment.text == "\n":
                continue
            first = False
            yield segment


def _all(tokens: list[Token]) -> list[Token]:
    return [found for token in tokens for found in (token, *_all(token.children or []))]


def _indent(tokens: list[Token]) -> int:
    """How far the innermost text stands to the right."""
    deepest = at = 0
    for token in tokens:
        at += _INDENTS.get(token.type.replace("_close", "_open"), 0) * token.nesting
        deepest = max(deepest, at)
    return deepest
