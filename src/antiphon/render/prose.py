"""Text in its three looks: as it is, as Markdown, as code with its colours."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from rich.text import Text

from antiphon.render.context import LINE, Context
from antiphon.render.layout import Lines, Row
from antiphon.render.registry import register_renderer
from antiphon.render.safe import count_lines, forwards, safe
from antiphon.render.values import content_of
from antiphon.results import Result

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from rich.console import RenderableType

#: Colours that every terminal defines for itself, so that they fit its background.
THEME = "ansi_dark"
#: Longer code, or code with longer lines, is shown without colours: highlighters can be slow on it.
_HIGHLIGHTED, _HIGHLIGHTED_LINE = 200_000, 1000


@register_renderer("text", page="The text in paragraphs, as Markdown or as code when the hints say so.")
def show_text(result: Result, context: Context) -> RenderableType | Lines:
    """A `text`: Markdown or code where the hints or the MIME type say so."""
    content = content_of(result.data)
    view, language = result.display.preferred_view, result.display.language
    if view == "markdown" or (view is None and result.mime_type == "text/markdown"):
        return markdown(content, context)
    if view == "code" or (view is None and language):
        return code(content, language, context)
    return plain(content, context)


def plain(content: str, context: Context, style: str = "") -> Lines:
    """Text as it is, broken between words."""
    rows: Iterator[Row] = (context.text(line, style) for line in forwards(content))
    return Lines(rows, count_lines(content), words=True)


def code(content: str, language: str, context: Context) -> Lines:
    """Code with its colours."""
    return Lines(code_rows(content, language, context), count_lines(content))


def code_rows(content: str, language: str, context: Context) -> list[Text]:
    """The lines of code that can be shown, highlighted where that is worth it."""
    lines = [context.line(line) for line in islice(forwards(content), context.height + 1)]
    return highlighted(lines, language, context) or [Text(line) for line in lines]


def highlighted(lines: list[str], language: str, context: Context) -> list[Text]:
    """Harmless lines in the colours of their language; nothing if there are no colours to be had."""
    if not context.color or not language or not lines:
        return []
    if sum(map(len, lines)) > _HIGHLIGHTED // (1 if context.full else 4) or max(map(len, lines)) > _HIGHLIGHTED_LINE:
        return []
    from rich.syntax import Syntax

    text = Syntax("", lexer(language), theme=THEME).highlight("\n".join(lines))
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


def markdown(content: str, context: Context) -> RenderableType | Lines:
    """Markdown, with everything in it that would be hidden or obeyed shown as it is written.

    Links show where they lead and lead nowhere; images, HTML, entities and link definitions stay text. Where some of
    it would not be seen, the whole is plain text.
    """
    from antiphon.render.markdown import Markdown

    lines = list(islice(forwards(content), context.height + 1))
    if any(len(line) > LINE for line in lines):
        return plain(content, context)
    shown = "\n".join(safe(line, context.encoding) for line in lines)
    body = Markdown(shown, context.width, count_lines(content) - len(lines))
    return body if body.whole else plain(content, context)
