"""Rendering of text: plain, as Markdown, or as highlighted code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from antiphon import views
from antiphon.terminal.layout import Lines, TextRow, hang_indent
from antiphon.terminal.render_context import MAX_LINE_CHARACTERS, Context
from antiphon.terminal.sanitizer import sanitize_text
from antiphon.terminal.theme import make_code_theme
from antiphon.views import MaybeTruncated

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from rich.console import RenderableType

#: Longer code, or code with longer lines, is shown without colours: highlighters can be slow on it.
_MAX_HIGHLIGHTED, _MAX_HIGHLIGHTED_LINE = 200_000, 1000


def render_text(view: views.Text | views.Markdown, context: Context) -> Lines:
    """Render plain text, wrapped between words."""
    return Lines(make_styled_rows(view.lines, "", context), len(view.lines) + view.more, words=True)


def make_styled_rows(lines: Iterable[MaybeTruncated], style: str, context: Context) -> Iterator[TextRow]:
    """Return the rows of a text."""
    return (context.text(line, style) for line in lines)


def render_code(view: views.Code, context: Context) -> Lines:
    """Render highlighted code, with line numbers if it has them."""
    lines = [context.line(line) for line in view.lines]
    rows = highlight_lines(lines, view.language, context) or [Text(line) for line in lines]
    drawn = rows if view.first is None else number_rows(rows, view.first, context)
    return Lines(drawn, len(lines) + view.more, at_least=view.at_least)


def number_rows(rows: list[Text], first: int, context: Context) -> Iterator[TextRow]:
    """Yield rows with their numbers in a gutter."""
    digits = len(str(first + len(rows)))
    for number, row in enumerate(rows, first):
        yield hang_indent(Text(f"{number:>{digits}}  ", "dim"), row, context.width)


def highlight_lines(lines: list[str], language: str, context: Context) -> list[Text]:
    """Return sanitized lines with syntax colours; empty if they cannot be highlighted."""
    if not context.color or not language or not lines:
        return []
    if (
        sum(map(len, lines)) > _MAX_HIGHLIGHTED // (1 if context.full else 4)
        or max(map(len, lines)) > _MAX_HIGHLIGHTED_LINE
    ):
        return []
    from rich.syntax import Syntax

    text = Syntax("", find_lexer(language), theme=make_code_theme()).highlight("\n".join(lines))
    text.no_wrap = False
    rows = list(text.split("\n", allow_blank=True))[: len(lines)]
    # Highlighters may drop or change characters, but the displayed text must equal the source.
    return rows if [row.plain for row in rows] == lines else []


def find_lexer(language: str) -> Lexer | str:
    """Return the lexer of a language: a Pygments name, or our own lexer, which need not be installed there."""
    if language.lower() != "vibe":
        return language
    from antiphon.lang.highlight import VibeLexer

    return VibeLexer(stripnl=False)


def render_markdown_view(view: views.Markdown, context: Context) -> RenderableType | Lines:
    """Render Markdown, with everything that would be hidden or interpreted shown as its source.

    Links show their target and are not clickable; images, HTML, entities and link definitions stay text. A
    block that would lose content is plain text, and so is the whole text if it has no room.
    """
    from antiphon.terminal.markdown import SafeMarkdown

    lines = [line for line in view.lines if isinstance(line, str) and len(line) <= MAX_LINE_CHARACTERS]
    if len(lines) < len(view.lines):
        return render_text(view, context)
    shown = "\n".join(sanitize_text(line, context.encoding) for line in lines)
    body = SafeMarkdown(shown, context.width, view.more)
    return body if body.whole else render_text(view, context)
