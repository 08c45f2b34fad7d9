"""Markdown rendering in which nothing is hidden and nothing is interpreted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, cast

from markdown_it.token import Token
from rich import box
from rich import markdown as rich_markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from antiphon.terminal.sanitizer import sanitize_text
from antiphon.terminal.text_rendering import find_lexer
from antiphon.terminal.theme import ACCENT, make_code_theme
from antiphon.views.markdown_tokens import covers_source, flatten_tokens, is_parsable, parse_tokens

_TOKEN_INDENTS = {"blockquote_open": 4, "list_item_open": 4}
#: Minimum width of a table column, including its gap.
_MIN_COLUMN_WIDTH = 4
#: One accent colour; bold for headings and strong text only.
_MARKDOWN_THEME = Theme(
    {
        "markdown.h1": f"bold {ACCENT}",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        **{f"markdown.h{level}": "italic" for level in (4, 5, 6)},
        "markdown.code": ACCENT,
        "markdown.block_quote": "dim",
        "markdown.item.bullet": ACCENT,
        "markdown.item.number": ACCENT,
        "markdown.link": "underline",
        "markdown.link_url": "dim",
        "markdown.hr": "dim",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    },
    inherit=False,
)


class _CodeBlock(rich_markdown.CodeBlock):
    """A code block without empty lines around it. The complete info string of its fence is displayed."""

    fence = ""

    @classmethod
    def create(cls, markdown: rich_markdown.Markdown, token: Token) -> _CodeBlock:
        block = cls((token.info or "text").partition(" ")[0], markdown.code_theme)
        if " " in token.info.strip() or len(token.info) > 20 or (token.type == "fence" and not token.content.strip()):
            block.fence = token.markup + token.info
        return block

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.fence:
            yield Text(self.fence, "dim", overflow="fold")
        yield Syntax(
            str(self.text).rstrip(),
            find_lexer(self.lexer_name),
            theme=make_code_theme(),
            word_wrap=True,
            padding=(0, 1),
        )


class _LeftHeading(rich_markdown.Heading):
    """A left-aligned heading."""

    LEVEL_ALIGN: ClassVar = {}


class _BlockQuote(rich_markdown.BlockQuote):
    """A quote; if it is empty, its bar is still displayed."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if _is_not_empty(self.elements):
            yield from super().__rich_console__(console, options)
        else:
            yield Text("▌", console.get_style("markdown.block_quote"))


class _ListItem(rich_markdown.ListItem):
    """A list item; if it is empty, its bullet is still displayed."""

    def on_leave(self, context: rich_markdown.MarkdownContext) -> None:
        if not _is_not_empty(self.elements):
            self.elements.append(Text())
        super().on_leave(context)


class _HorizontalRule(rich_markdown.HorizontalRule):
    """A horizontal rule, with empty lines around it."""

    new_line = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("─" * options.max_width, console.get_style("markdown.hr"))


class _CompactTable(rich_markdown.TableElement):
    """A table without empty lines at its edges, in which no word is cut."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(
            box=box.SIMPLE, pad_edge=False, show_edge=False, style="markdown.table.border", collapse_padding=True
        )
        for column in self.header.row.cells if self.header and self.header.row else ():
            heading = column.content.copy()
            heading.stylize("markdown.table.header")
            table.add_column(heading, overflow="fold")
        for row in self.body.rows if self.body else ():
            table.add_row(*(cell.content for cell in row.cells))
        yield table


class SafeMarkdown(rich_markdown.Markdown):
    """Rich's Markdown with our own parser.

    `is_complete` says that all content will be visible: the parser dropped nothing (as it does for deep
    nesting, and for cells without a column), and there is room for the nesting and the columns.
    `omitted_lines` is the number of source lines that were not passed in.
    """

    elements: ClassVar = rich_markdown.Markdown.elements | {
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
        "heading_open": _LeftHeading,
        "blockquote_open": _BlockQuote,
        "list_item_open": _ListItem,
        "hr": _HorizontalRule,
        "table_open": _CompactTable,
    }

    def __init__(self, content: str, width: int, left_out: int = 0) -> None:
        super().__init__("", hyperlinks=False)
        self.left_out = left_out
        self.whole = is_parsable(content)
        if not self.whole:
            return
        self.parsed = parse_tokens(content)
        self.whole = covers_source(content, self.parsed) and _has_room(self.parsed, width)
        for token in self.parsed:
            # The address of an automatic link is its text.
            token.children = [each for each in token.children or () if each.info != "auto"]
        for token in flatten_tokens(self.parsed):
            _sanitize_token(token)
            if token.type == "link_open" and token.attrs.get("title"):
                token.attrs["href"] = f'{token.attrs.get("href", "")} "{token.attrs["title"]}"'

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with console.use_theme(_MARKDOWN_THEME):
            rendered = list(super().__rich_console__(console, options))
        # Rich begins with an empty line if the first element has space above it.
        first = True
        for segment in rendered:
            if first and isinstance(segment, Segment) and segment.text == "\n":
                continue
            first = False
            yield segment


def _is_not_empty(elements: object) -> bool:
    return bool(list(cast(Iterable[object], elements)))


def _sanitize_token(token: Token) -> None:
    token.content, token.info = sanitize_text(token.content), sanitize_text(token.info)
    token.attrs = {
        name: sanitize_text(value) if isinstance(value, str) else value for name, value in token.attrs.items()
    }


def _has_room(tokens: list[Token], width: int) -> bool:
    """Return whether the innermost text and every table column have enough room."""
    columns = most = 0
    for token in tokens:
        columns = 0 if token.type == "tr_open" else columns + (token.type in ("th_open", "td_open"))
        most = max(most, columns)
    room = width - _max_indent(tokens)
    return room >= width // 2 and most * _MIN_COLUMN_WIDTH <= room


def _max_indent(tokens: list[Token]) -> int:
    """Return the indentation of the innermost text."""
    deepest = at = 0
    for token in tokens:
        at += _TOKEN_INDENTS.get(token.type.replace("_close", "_open"), 0) * token.nesting
        deepest = max(deepest, at)
    return deepest
