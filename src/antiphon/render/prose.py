"""Text in its three looks: as it is, as Markdown, as code with its colours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from antiphon import views
from antiphon.render.context import LINE, Context
from antiphon.render.layout import Lines, Row, hang
from antiphon.render.safe import safe
from antiphon.render.style import code_theme
from antiphon.views import Piece

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from rich.console import RenderableType

#: Longer code, or code with longer lines, is shown without colours: highlighters can be slow on it.
_HIGHLIGHTED, _HIGHLIGHTED_LINE = 200_000, 1000


def text(view: views.Text | views.Markdown, context: Context) -> Lines:
    """Text as it is, broken between words."""
    return Lines(styled(view.lines, "", context), len(view.lines) + view.more, words=True)


def styled(lines: Iterable[Piece], style: str, context: Context) -> Iterator[Row]:
    """The rows of a text."""
    return (context.text(line, style) for line in lines)


def code(view: views.Code, context: Context) -> Lines:
    """Code with its colours, and with its numbers where it has some."""
    lines = [context.line(line) for line in view.lines]
    rows = highlighted(lines, view.language, context) or [Text(line) for line in lines]
    drawn = rows if view.first is None else numbered(rows, view.first, context)
    return Lines(drawn, len(lines) + view.more, at_least=view.at_least)


def numbered(rows: list[Text], first: int, context: Context) -> Iterator[Row]:
    """Rows with their numbers in a gutter."""
    digits = len(str(first + len(rows)))
    for number, row in enumerate(rows, first):
        yield hang(Text(f"{number:>{digits}}  ", "dim"), row, context.width)


def highlighted(lines: list[str], language: str, context: Context) -> list[Text]:
    """Harmless lines in the colours of their language; nothing if there are no colours to be had."""
    if not context.color or not language or not lines:
        return []
    if sum(map(len, lines)) > _HIGHLIGHTED // (1 if context.full else 4) or max(map(len, lines)) > _HIGHLIGHTED_LINE:
        return []
    from rich.syntax import Syntax

    text = Syntax("", lexer(language), theme=code_theme()).highlight("\n".join(lines))
    text.no_wrap = False
    rows = list(text.split("\n", allow_blank=True))[: len(lines)]
    # Highlighters may drop or change characters; what is shown must be what is there.
    return rows if [row.plain for row in rows] == lines else []


def lexer(language: str) -> Lexer | str:
    """What highlights a language: a name for Pygments, or our own lexer, which works without being installed there."""
    if language.lower() != "vibe":
        return language
    from antiphon.lang.highlight import VibeLexer

    return VibeLexer(stripnl=False)


def markdown(view: views.Markdown, context: Context) -> RenderableType | Lines:
    """Markdown, with everything in it that would be hidden or obeyed shown as it is written.

    Links show where they lead and lead nowhere; images, HTML, entities and link definitions stay text. A block of
    which some would not be seen is plain text, and so is the whole where it has no room.
    """
    from antiphon.render.markdown import Markdown

    lines = [line for line in view.lines if isinstance(line, str) and len(line) <= LINE]
    if len(lines) < len(view.lines):
        return text(view, context)
    shown = "\n".join(safe(line, context.encoding) for line in lines)
    body = Markdown(shown, context.width, view.more)
    return body if body.whole else text(view, context)
