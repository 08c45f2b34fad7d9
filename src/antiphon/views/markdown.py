"""Markdown parsed once for all renderers: CommonMark with GitHub's tables, strikethrough, tasks and links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from markdown_it.common.utils import normalizeReference, unescapeAll
from markdown_it.token import Token

from antiphon.views.markdown_tokens import (
    DEFINITION,
    VERBATIM,
    References,
    covers_source,
    find_block_starts,
    is_parsable,
    normalize_line_ends,
    parse_tokens,
)


@dataclass(frozen=True, slots=True)
class MarkdownElement:
    """An element of a text by its HTML tag. `pre` has the code as its only child, `plain` has unparsed text."""

    tag: str
    children: tuple[MarkdownElement | str, ...] = ()
    attributes: Mapping[str, str | int | bool] = field(default_factory=dict[str, str | int | bool])

    def to_json(self) -> list[Any]:
        """Return the tag, the attributes and the children as one list."""
        children = (each if isinstance(each, str) else each.to_json() for each in self.children)
        return [self.tag, dict(self.attributes), *children]


def parse_markdown(text: str) -> tuple[MarkdownElement, ...]:
    """Return the blocks of a text. If the parser would drop something, the text is one `plain` block."""
    return _parse_blocks(text, {})


def markdown_json(text: str) -> list[list[Any]]:
    """Return the blocks of a text in their JSON form."""
    return [each.to_json() for each in parse_markdown(text)]


@dataclass(frozen=True, slots=True)
class MarkdownGrowth:
    """New blocks of a streamed text: `closed` ones are final, `open` ones replace the previous open ones.

    Without `open`, the previous ones stay, and `rest` is appended to them. With `is_anew`, all earlier blocks
    are replaced.
    """

    closed: tuple[MarkdownElement, ...] = ()
    open: tuple[MarkdownElement, ...] | None = None
    rest: str = ""
    is_anew: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the growth in its JSON form."""
        blocks = None if self.open is None else [each.to_json() for each in self.open]
        closed = [each.to_json() for each in self.closed]
        return {"closed": closed, "open": blocks, "rest": self.rest, **({"isAnew": True} if self.is_anew else {})}


class MarkdownStream:
    """A parser for streamed text. Only the last block is parsed again, and a long one not for every piece.

    A link definition changes the blocks that refer to it: these are parsed again, in a long text once the
    line is complete.
    """

    #: A longer block is parsed again only when it has grown by an eighth.
    _SHORT_BLOCK = 2000

    def __init__(self) -> None:
        self._closed = self._tail = ""
        self._unparsed = 0
        #: The definitions of the closed blocks, and those with which they were parsed.
        self._references: References = {}
        self._applied: References = {}

    def feed(self, text: str) -> MarkdownGrowth:
        """Add text and return how the blocks change."""
        self._tail += text
        self._unparsed += len(text)
        if len(self._tail) > self._SHORT_BLOCK and self._unparsed * 8 < len(self._tail):
            return MarkdownGrowth(rest=text)
        self._unparsed = 0
        closed, references = self._close(), dict(self._references)
        opened = _parse_blocks(self._tail, references)
        if not self._is_outdated(references):
            return MarkdownGrowth(closed, opened)
        self._applied = references
        return MarkdownGrowth(_parse_blocks(self._closed, dict(references)), opened, is_anew=True)

    def _is_outdated(self, references: References) -> bool:
        """Return whether closed blocks refer to a definition that is new or has changed."""
        changed = [each for each in {**references, **self._applied} if references.get(each) != self._applied.get(each)]
        if not changed or (len(self._closed) > self._SHORT_BLOCK and not self._tail.endswith("\n")):
            return False
        named = normalizeReference(self._closed)
        return is_parsable(self._closed) and any(each in named for each in changed)

    def _close(self) -> tuple[MarkdownElement, ...]:
        """Remove all blocks but the last from the complete lines, and return them: the last may continue."""
        whole = self._tail[: self._tail.rfind("\n") + 1]
        if not whole or not is_parsable(whole):
            return ()
        starts = find_block_starts(whole)
        if len(starts) < 2 or not starts[-1]:
            return ()
        # Only the first half of a CRLF may have arrived.
        half = "\r" if self._tail.endswith("\r") else ""
        lines = normalize_line_ends(self._tail.removesuffix(half)).split("\n")
        first, self._tail = "\n".join([*lines[: starts[-1]], ""]), "\n".join(lines[starts[-1] :]) + half
        self._closed += first
        return _parse_blocks(first, self._references)


# Elements

_TAGS = {"s": "del"}
_TASK = re.compile(r"\[([ xX])\]\s+")


def _parse_blocks(text: str, references: References) -> tuple[MarkdownElement, ...]:
    if not is_parsable(text):
        return (MarkdownElement("plain", (text,)),)
    tokens = parse_tokens(text, references)
    if not covers_source(text, tokens):
        return (MarkdownElement("plain", (text,)),)
    return tuple(each for each in _build_tree(tokens) if isinstance(each, MarkdownElement))


def _build_tree(tokens: Iterable[Token]) -> tuple[MarkdownElement | str, ...]:
    """Build the element tree from flat tokens."""
    opened: list[tuple[Token | None, list[MarkdownElement | str]]] = [(None, [])]
    links = 0
    for token in tokens:
        links += token.nesting if token.tag == "a" else 0
        if token.nesting > 0:
            opened.append((token, []))
        elif token.nesting < 0:
            begun, children = opened.pop()
            assert begun is not None
            is_linked = bool(links) or begun.tag == "a" or begun.info == VERBATIM
            opened[-1][1].extend(_close_element(begun, _join_texts(children, is_linked=is_linked)))
        else:
            opened[-1][1].extend(_build_leaf(token))
    return _join_texts(opened[0][1], is_linked=False)


def _close_element(token: Token, children: tuple[MarkdownElement | str, ...]) -> tuple[MarkdownElement | str, ...]:
    if token.hidden:
        return children
    if token.info == VERBATIM:
        return (MarkdownElement("plain", children),)
    attributes: dict[str, str | int | bool] = {}
    if token.tag in ("th", "td") and (style := str(token.attrs.get("style", ""))):
        attributes["align"] = style.rpartition(":")[2]
    elif token.info == DEFINITION:
        attributes["definition"] = True
    else:
        attributes |= {name: value for name, value in token.attrs.items() if not isinstance(value, float)}
    if token.tag == "li":
        children, attributes = _extract_task(children)
    return (MarkdownElement(_TAGS.get(token.tag, token.tag), children, attributes),)


def _extract_task(
    children: tuple[MarkdownElement | str, ...],
) -> tuple[tuple[MarkdownElement | str, ...], dict[str, str | int | bool]]:
    """Return the children of a list item without the task mark, and whether it is checked."""
    first, *others = children or ("",)
    if isinstance(first, MarkdownElement) and first.tag == "p":
        inner, task = _extract_task(first.children)
        return (MarkdownElement("p", inner, first.attributes), *others), task
    if not isinstance(first, str) or (found := _TASK.match(first)) is None:
        return children, {}
    return (first[found.end() :], *others), {"checked": found[1] != " "}


def _build_leaf(token: Token) -> tuple[MarkdownElement | str, ...]:
    match token.type:
        case "inline" if token.info == VERBATIM:
            return (token.content,)
        case "inline":
            return _build_tree(token.children or [])
        case "text":
            return (token.content,)
        case "softbreak":
            return ("\n",)
        case "hardbreak" | "hr":
            return (MarkdownElement(token.tag),)
        case "code_inline":
            return (MarkdownElement("code", (token.content,)),)
        case _:
            language, _, more = unescapeAll(token.info).strip().partition(" ")
            known = {"language": language, "info": more.strip()}
            return (MarkdownElement("pre", (token.content,), {name: said for name, said in known.items() if said}),)


def _join_texts(children: Iterable[MarkdownElement | str], *, is_linked: bool) -> tuple[MarkdownElement | str, ...]:
    """Return the children with adjacent texts joined, and with bare URLs as links."""
    joined: list[MarkdownElement | str] = []
    for each in children:
        if isinstance(each, str) and joined and isinstance(joined[-1], str):
            joined[-1] += each
        elif each != "":
            joined.append(each)
    if is_linked:
        return tuple(joined)
    return tuple(found for each in joined for found in (_link_addresses(each) if isinstance(each, str) else (each,)))


def _link_addresses(text: str) -> Iterator[MarkdownElement | str]:
    for words, address in find_links(text):
        yield MarkdownElement("a", (words,), {"href": address}) if address else words


_BARE_LINK = re.compile(
    r"(?<![^\W_])(?P<web>(?:https?|ftp)://|www\.)[^\s<]+|(?<![\w.+-])(?P<mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)",
    re.ASCII | re.IGNORECASE,
)
_DOMAIN = re.compile(r"(?:(?:https?|ftp)://)?([\w-]+(?:\.[\w-]+)*)", re.IGNORECASE)
_ENTITY = re.compile(r"&\w+;$", re.ASCII)


def find_links(text: str) -> Iterator[tuple[str, str]]:
    """Yield a text in pieces, each with its link target, or "" if it is not a link."""
    if "@" not in text and "://" not in text and "www." not in text.lower():
        yield text, ""
        return
    at = 0
    for found in _BARE_LINK.finditer(text):
        address = found[0] if found["mail"] else _trim_address(found[0])
        if not _is_address(address, is_mail=bool(found["mail"])):
            continue
        if found.start() > at:
            yield text[at : found.start()], ""
        begin = "mailto:" if found["mail"] else "http://" if found["web"].lower() == "www." else ""
        yield address, begin + address
        at = found.start() + len(address)
    if text[at:]:
        yield text[at:], ""


def _trim_address(address: str) -> str:
    """Return a URL without the punctuation of the sentence around it."""
    while address:
        is_open = address[-1] == ")" and address.count(")") > address.count("(")
        if is_open or address[-1] in "?!.,:*_~'\"":
            address = address[:-1]
        elif address[-1] == ";":
            address = _ENTITY.sub("", address) if _ENTITY.search(address) else address[:-1]
        else:
            break
    return address


def _is_address(address: str, *, is_mail: bool) -> bool:
    if is_mail:
        return address[-1] not in "-_"
    domain = _DOMAIN.match(address)
    if domain is None:
        return False
    parts = domain[1].split(".")
    return not any("_" in each for each in parts[-2:]) and (len(parts) > 1 or "://" in address)
