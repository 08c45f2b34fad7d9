"""The parser of Markdown: nothing that it reads is hidden or obeyed."""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from antiphon.render.safe import safe


class _Parser(MarkdownIt):
    """A parser that leaves addresses as they are written."""

    def normalizeLink(self, url: str) -> str:
        return url


def parse(content: str) -> list[Token]:
    """The tokens of a text.

    Without HTML the tags are text, without images `![alt](url)` is a link, without entities nothing is decoded into
    what was made harmless before, without references no line vanishes.
    """
    return _parser().parse(content)


def begins_block(lines: Sequence[str], line: str) -> bool:
    """Whether a line begins a block of its own after these."""
    tokens = _parser().disable("inline").parse(safe("\n".join([*lines, line, ""])))
    return any(token.map and token.level == 0 and token.map[0] == len(lines) for token in tokens)


def first_code(content: str) -> str | None:
    """What stands in the first fenced block of a text, wherever in it that is; nothing where there is none."""
    return next((token.content for token in parse(content) if token.type == "fence"), None)


def _parser() -> MarkdownIt:
    parser = _Parser("commonmark", {"html": False})
    parser.disable(["html_block", "html_inline", "image", "entity", "reference"])
    return parser.enable(["table", "strikethrough"])
