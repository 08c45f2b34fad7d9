"""Markdown in which nothing is hidden and nothing is obeyed."""

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

from antiphon.render.prose import lexer
from antiphon.render.safe import safe
from antiphon.render.style import ACCENT, code_theme
from antiphon.views.markdown_tokens import flatten, is_parsable, is_whole, parse_tokens

_INDENTS = {"blockquote_open": 4, "list_item_open": 4}
#: What a column of a table needs at least, with the gap beside it.
_COLUMN = 4
#: One accent; weight for headings and for what the text itself says is strong.
_STYLES = Theme(
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


class _Code(rich_markdown.CodeBlock):
    """A code block without empty lines around it. What its fence says besides the language is shown."""

    fence = ""

    @classmethod
    def create(cls, markdown: rich_markdown.Markdown, token: Token) -> _Code:
        block = cls((token.info or "text").partition(" ")[0], markdown.code_theme)
        if " " in token.info.strip() or len(token.info) > 20 or (token.type == "fence" and not token.content.strip()):
            block.fence = token.markup + token.info
        return block

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.fence:
            yield Text(self.fence, "dim", overflow="fold")
        yield Syntax(
            str(self.text).rstrip(), lexer(self.lexer_name), theme=code_theme(), word_wrap=True, padding=(0, 1)
        )


class _Heading(rich_markdown.Heading):
    """A heading at the left, where reading begins."""

    LEVEL_ALIGN: ClassVar = {}


class _Quote(rich_markdown.BlockQuote):
    """A quote; of one that says nothing, its bar is seen."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if _has_any(self.elements):
            yield from super().__rich_console__(console, options)
        else:
            yield Text("▌", console.get_style("markdown.block_quote"))


class _Item(rich_markdown.ListItem):
    """An item of a list; of one that says nothing, its mark is seen."""

    def on_leave(self, context: rich_markdown.MarkdownContext) -> None:
        if not _has_any(self.elements):
            self.elements.append(Text())
        super().on_leave(context)


class _Rule(rich_markdown.HorizontalRule):
    """A line across, apart from what stands around it as everything is."""

    new_line = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("─" * options.max_width, console.get_style("markdown.hr"))


class _Table(rich_markdown.TableElement):
    """A table without the empty lines of its edge, in which no word is cut."""

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


class Markdown(rich_markdown.Markdown):
    """Rich's Markdown over a parser of our own.

    `whole` says that all of the content will be seen: that the parser dropped nothing (it does at deep nesting, and
    with cells for which there is no column), and that there is room for the nesting and the columns. `left_out` is how
    many lines of the source were not given to it.
    """

    elements: ClassVar = rich_markdown.Markdown.elements | {
        "fence": _Code,
        "code_block": _Code,
        "heading_open": _Heading,
        "blockquote_open": _Quote,
        "list_item_open": _Item,
        "hr": _Rule,
        "table_open": _Table,
    }

    def __init__(self, content: str, width: int, left_out: int = 0) -> None:
        super().__init__("", hyperlinks=False)
        self.left_out = left_out
        self.whole = is_parsable(content)
        if not self.whole:
            return
        self.parsed = parse_tokens(content)
        self.whole = is_whole(content, self.parsed) and _has_room(self.parsed, width)
        for token in self.parsed:
            # The address of an automatic link is its text.
            token.children = [each for each in token.children or () if each.info != "auto"]
        for token in flatten(self.parsed):
            _make_safe(token)
            if token.type == "link_open" and token.attrs.get("title"):
                token.attrs["href"] = f'{token.attrs.get("href", "")} "{token.attrs["title"]}"'

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with console.use_theme(_STYLES):
            rendered = list(super().__rich_console__(console, options))
        # Rich begins with an empty line where the first element wants to be apart from what stands above it.
        first = True
        for segment in rendered:
            if first and isinstance(segment, Segment) and segment.text == "\n":
                continue
            first = False
            yield segment


def _has_any(elements: object) -> bool:
    return bool(list(cast(Iterable[object], elements)))


def _make_safe(token: Token) -> None:
    """Make harmless what the parser has decoded."""
    token.content, token.info = safe(token.content), safe(token.info)
    token.attrs = {name: safe(value) if isinstance(value, str) else value for name, value in token.attrs.items()}


def _has_room(tokens: list[Token], width: int) -> bool:
    """Whether the innermost text, and every column of a table, has some."""
    columns = most = 0
    for token in tokens:
        columns = 0 if token.type == "tr_open" else columns + (token.type in ("th_open", "td_open"))
        most = max(most, columns)
    room = width - _indent(tokens)
    return room >= width // 2 and most * _COLUMN <= room


def _indent(tokens: list[Token]) -> int:
    """How far the innermost text stands to the right."""
    deepest = at = 0
    for token in tokens:
        at += _INDENTS.get(token.type.replace("_close", "_open"), 0) * token.nesting
        deepest = max(deepest, at)
    return deepest
