"""Tokens of a Markdown text: CommonMark with GitHub's tables and strikethrough.

Nothing is hidden or interpreted: HTML is text, an image is a link, and a link definition is shown in place. A
block that would lose content is shown as its source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.rules_inline import StateInline, image, link
from markdown_it.token import Token

#: Limits beyond which parsing would take too long: characters, and possible Markdown markers.
_MAX_LENGTH, _MAX_MARKERS = 100_000, 4000
#: The `info` of a paragraph that shows a link definition, and of one that shows a block as it is written.
DEFINITION, VERBATIM = "definition", "verbatim"

References = dict[str, Any]


class _VerbatimLinkParser(MarkdownIt):
    """A parser that keeps URLs as they are written."""

    def normalizeLink(self, url: str) -> str:
        return url


def parse_tokens(content: str, references: References | None = None) -> list[Token]:
    """Return the tokens of a text, with images as links and link definitions as paragraphs.

    `references` are the definitions so far; those of the text are added.
    """
    environment: dict[str, Any] = {"references": {} if references is None else references}
    tokens = _make_parser().parse(content, environment)
    lines = normalize_line_ends(content).split("\n")
    return [token for block in _split_blocks(tokens) for token in _show_block(block, lines)]


def find_block_starts(content: str) -> list[int]:
    """Return the lines at which the blocks of a text begin."""
    tokens = _make_parser(with_inline=False).parse(content)
    return [token.map[0] for token in tokens if token.map and token.level == 0 and token.nesting >= 0]


def normalize_line_ends(text: str) -> str:
    """Return a text with newlines as its only line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def covers_source(content: str, tokens: list[Token]) -> bool:
    """Return whether the tokens contain all letters and digits of a text.

    The parser drops content that is nested too deeply, and cells without a column.
    """
    return _count_letters(_decode_entities(content)) <= sum(map(_count_token_letters, flatten_tokens(tokens)))


def is_parsable(content: str) -> bool:
    """Return whether a text is short and simple enough to parse."""
    return len(content) <= _MAX_LENGTH and sum(map(content.count, "[*_<")) <= _MAX_MARKERS


def begins_block(lines: Sequence[str], line: str) -> bool:
    """Return whether a line after these begins a new block."""
    return len(lines) in find_block_starts("\n".join([*lines, line, ""]))


def extract_first_code(content: str) -> str | None:
    """Return the content of the first fenced block of a text; None if there is none."""
    return next(iter_code_blocks(content), None)


def iter_code_blocks(content: str) -> Iterator[str]:
    """Yield the content of each fenced block of a text."""
    return (token.content for token in parse_tokens(content) if token.type == "fence")


def flatten_tokens(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield the tokens with content; inline tokens are replaced by their children."""
    for token in tokens:
        if token.type == "inline":
            yield from flatten_tokens(token.children or [])
        else:
            yield token


@cache
def _make_parser(*, with_inline: bool = True) -> MarkdownIt:
    parser = _VerbatimLinkParser("commonmark", {"html": True, "inline_definitions": True, "store_labels": True})
    parser.inline.ruler.at("link", _record_label(link))
    parser.inline.ruler.at("image", _record_label(image))
    parser.core.ruler.push("show_hidden", _show_hidden)
    parser.enable(["table", "strikethrough"])
    return parser if with_inline else parser.disable("inline")


# Content that the parser would hide

_Rule = Callable[[StateInline, bool], bool]
_FULL_REFERENCE = re.compile(r"\]\[((?:[^\[\]\\]|\\.)+)\]$", re.DOTALL)


def _record_label(rule: _Rule) -> _Rule:
    """Wrap a link rule so that it records how many letters of a reference label are not part of the link
    text.
    """

    def wrapped(state: StateInline, silent: bool) -> bool:
        start, count = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        if not silent and (label := _FULL_REFERENCE.search(state.src, start, state.pos)):
            opened = next(each for each in state.tokens[count:] if each.type in ("link_open", "image"))
            opened.meta["letters"] = _count_letters(label[1])
        return True

    return wrapped


def _show_hidden(state: Any) -> None:
    """Turn images into links, and HTML into text."""
    for token in state.tokens:
        if token.type == "inline":
            token.children = list(_replace_images(token.children or []))


def _replace_images(tokens: Iterable[Token]) -> Iterator[Token]:
    is_linked = False
    for token in tokens:
        is_linked = token.type == "link_open" or (is_linked and token.type != "link_close")
        if token.type == "image":
            yield from _link_image(token, is_linked)
        elif token.type == "html_inline":
            yield Token("text", "", 0, content=token.content)
        else:
            yield token


def _link_image(token: Token, is_linked: bool) -> Iterator[Token]:
    """Yield an image as a link to it; within a link, its address in brackets."""
    source, title = str(token.attrs.get("src", "")), token.attrs.get("title")
    words = "".join(_iter_image_text(token.children or [])) or source
    if is_linked:
        yield Token("text", "", 0, content=f"!{words} ({source})")
        return
    yield Token("text", "", 0, content="!")
    yield Token("link_open", "a", 1, attrs={"href": source, **({"title": title} if title else {})}, meta=token.meta)
    yield Token("text", "", 0, content=words)
    yield Token("link_close", "a", -1)


def _iter_image_text(tokens: Iterable[Token]) -> Iterator[str]:
    """Yield the text of an image, with the URLs of links in it."""
    addresses: list[str] = []
    for token in tokens:
        if token.type == "image":
            yield "".join(each.content for each in _link_image(token, is_linked=True))
        elif token.type == "link_open":
            addresses.append(str(token.attrs.get("href", "")))
        elif token.type == "link_close":
            yield f" ({addresses.pop()})"
        else:
            yield "\n" if token.type in ("softbreak", "hardbreak") else token.content


def _split_blocks(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each top-level block."""
    block: list[Token] = []
    for token in tokens:
        block.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield block
            block = []


def _show_block(block: list[Token], lines: list[str]) -> list[Token]:
    """Return the tokens of a block, or of its source if some content would be lost."""
    shown = [token for each in block for token in _show_source(each, lines)]
    if block[0].map is None:
        return shown
    source = "\n".join(lines[slice(*block[0].map)])
    return shown if covers_source(source, shown) else _make_paragraph(block[0], source.strip("\n"), VERBATIM)


def _show_source(token: Token, lines: list[str]) -> list[Token]:
    """Return a definition or an HTML block as a paragraph of its source; other tokens as they are."""
    if token.type == "definition" and token.map is not None:
        written = "\n".join(each.strip() for each in lines[slice(*token.map)])
        return _make_paragraph(token, written, DEFINITION)
    if token.type == "html_block":
        return _make_paragraph(token, token.content.rstrip("\n"), VERBATIM)
    return [token]


def _make_paragraph(token: Token, written: str, info: str) -> list[Token]:
    """Return a paragraph that shows a text instead of a token."""
    level, said = token.level, Token("text", "", 0, content=written)
    return [
        Token("paragraph_open", "p", 1, map=token.map, level=level, block=True, info=info),
        Token("inline", "", 0, map=token.map, level=level + 1, content=written, children=[said], block=True, info=info),
        Token("paragraph_close", "p", -1, level=level, block=True),
    ]


def _count_letters(text: str) -> int:
    return sum(map(str.isalnum, text))


_NUMERIC = re.compile(r"&#(?:x[0-9a-f]{1,6}|[0-9]{1,7});", re.IGNORECASE)


def _decode_entities(text: str) -> str:
    """Return a text with entities decoded, and without those that stand for no character."""
    return unescapeAll(_NUMERIC.sub(lambda found: "" if unescapeAll(found[0]) == found[0] else found[0], text))


def _count_token_letters(token: Token) -> int:
    """Return how many of the source's letters and digits a token represents."""
    if token.type == "link_open":
        # The URL of an automatic link is its text; that of a reference is in its definition.
        if token.info == "auto" or "label" in token.meta:
            return token.meta.get("letters", 0)
        return _count_letters(f"{token.attrs.get('href', '')}{token.attrs.get('title', '')}")
    if token.type == "paragraph_open":
        return 0
    return _count_letters(token.content if token.type == "text" else _decode_entities(token.content + token.info))
