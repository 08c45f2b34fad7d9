"""Markdown in which nothing is hidden and nothing is obeyed."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import markdown as rich_markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment

THEME = "ansi_dark"


class Markdown(rich_markdown.Markdown):
    """Rich's Markdown over a parser of our own.

    `too_deep` says that the parser gave up at the nesting it was allowed, and left something out. `left_out` is how
    many lines of the source were not given to it.
    """

    def __init__(self, content: str, nesting: int) -> None:
        super().__init__("", code_theme=THEME, hyperlinks=False)
        # Without HTML the tags are text, without images `![alt](url)` is a link, without entities nothing is decoded
        # into what was made harmless before, without references no line vanishes.
        parser = MarkdownIt("commonmark", {"html": False, "maxNesting": max(nesting, 2)})
        parser.disable(["html_block", "html_inline", "image", "entity", "reference"]).enable(["table", "strikethrough"])
        self.parsed = parser.parse(content)
        self.too_deep = any(token.level >= nesting - 1 for token in _all(self.parsed))
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
