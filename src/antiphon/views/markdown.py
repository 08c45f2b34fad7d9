"""Markdown parsed once for everybody who draws it: CommonMark with GitHub's tables, strikethrough, tasks and links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from markdown_it.common.utils import normalizeReference, unescapeAll
from markdown_it.token import Token

from antiphon.views.bare_links import find_links
from antiphon.views.markdown_tokens import (
    DEFINITION,
    VERBATIM,
    References,
    find_blocks,
    is_parsable,
    is_whole,
    normalise,
    parse_tokens,
)


@dataclass(frozen=True, slots=True)
class Element:
    """A piece of a text by its HTML tag. `pre` has the code as its only child, `plain` text that was not parsed."""

    tag: str
    children: tuple[Element | str, ...] = ()
    attributes: Mapping[str, str | int | bool] = field(default_factory=dict[str, str | int | bool])

    def to_json(self) -> list[Any]:
        """Return the tag, the attributes and the children as one list."""
        children = (each if isinstance(each, str) else each.to_json() for each in self.children)
        return [self.tag, dict(self.attributes), *children]


def parse_markdown(text: str) -> tuple[Element, ...]:
    """Return the blocks of a text; text of which the parser would drop something is one `plain` block."""
    return _parse_blocks(text, {})


def markdown_json(text: str) -> list[list[Any]]:
    """Return the blocks of a text in their JSON form."""
    return [each.to_json() for each in parse_markdown(text)]


@dataclass(frozen=True, slots=True)
class Growth:
    """New blocks of a text that still grows: `closed` ones stay, `open` ones replace those that were open before.

    Without `open`, those stay too, and `rest` follows what they end with. With `is_anew`, nothing from before stays.
    """

    closed: tuple[Element, ...] = ()
    open: tuple[Element, ...] | None = None
    rest: str = ""
    is_anew: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the growth in its JSON form."""
        blocks = None if self.open is None else [each.to_json() for each in self.open]
        closed = [each.to_json() for each in self.closed]
        return {"closed": closed, "open": blocks, "rest": self.rest, **({"isAnew": True} if self.is_anew else {})}


class MarkdownStream:
    """Parses a text as it comes. Only the last block is parsed again, a long one not with every piece.

    A link definition changes the blocks that name it: these are parsed again, in a long text once its line is whole.
    """

    #: A block that is longer than this is parsed again when it has grown by an eighth.
    _SHORT = 2000

    def __init__(self) -> None:
        self._closed = self._tail = ""
        self._unparsed = 0
        #: The definitions of the closed blocks, and those with which they were parsed.
        self._references: References = {}
        self._applied: References = {}

    def feed(self, text: str) -> Growth:
        """Add text, and return what became of it."""
        self._tail += text
        self._unparsed += len(text)
        if len(self._tail) > self._SHORT and self._unparsed * 8 < len(self._tail):
            return Growth(rest=text)
        self._unparsed = 0
        closed, references = self._close(), dict(self._references)
        opened = _parse_blocks(self._tail, references)
        if not self._is_outdated(references):
            return Growth(closed, opened)
        self._applied = references
        return Growth(_parse_blocks(self._closed, dict(references)), opened, is_anew=True)

    def _is_outdated(self, references: References) -> bool:
        """Return whether closed blocks name a definition that is new or another by now."""
        changed = [each for each in {**references, **self._applied} if references.get(each) != self._applied.get(each)]
        if not changed or (len(self._closed) > self._SHORT and not self._tail.endswith("\n")):
            return False
        named = normalizeReference(self._closed)
        return is_parsable(self._closed) and any(each in named for each in changed)

    def _close(self) -> tuple[Element, ...]:
        """Take all blocks but the last from what has come in whole lines: the last may go on."""
        whole = self._tail[: self._tail.rfind("\n") + 1]
        if not whole or not is_parsable(whole):
            return ()
        starts = find_blocks(whole)
        if len(starts) < 2 or not starts[-1]:
            return ()
        # The end of a line may have come by half.
        half = "\r" if self._tail.endswith("\r") else ""
        lines = normalise(self._tail.removesuffix(half)).split("\n")
        first, self._tail = "\n".join([*lines[: starts[-1]], ""]), "\n".join(lines[starts[-1] :]) + half
        self._closed += first
        return _parse_blocks(first, self._references)


# Elements

_TAGS = {"s": "del"}
_TASK = re.compile(r"\[([ xX])\]\s+")


def _parse_blocks(text: str, references: References) -> tuple[Element, ...]:
    if not is_parsable(text):
        return (Element("plain", (text,)),)
    tokens = parse_tokens(text, references)
    if not is_whole(text, tokens):
        return (Element("plain", (text,)),)
    return tuple(each for each in _build(tokens) if isinstance(each, Element))


def _build(tokens: Iterable[Token]) -> tuple[Element | str, ...]:
    """Return the tree of flat tokens."""
    opened: list[tuple[Token | None, list[Element | str]]] = [(None, [])]
    links = 0
    for token in tokens:
        links += token.nesting if token.tag == "a" else 0
        if token.nesting > 0:
            opened.append((token, []))
        elif token.nesting < 0:
            begun, children = opened.pop()
            assert begun is not None
            is_linked = bool(links) or begun.tag == "a" or begun.info == VERBATIM
            opened[-1][1].extend(_close_element(begun, _join(children, is_linked=is_linked)))
        else:
            opened[-1][1].extend(_build_leaf(token))
    return _join(opened[0][1], is_linked=False)


def _close_element(token: Token, children: tuple[Element | str, ...]) -> tuple[Element | str, ...]:
    if token.hidden:
        return children
    if token.info == VERBATIM:
        return (Element("plain", children),)
    attributes: dict[str, str | int | bool] = {}
    if token.tag in ("th", "td") and (style := str(token.attrs.get("style", ""))):
        attributes["align"] = style.rpartition(":")[2]
    elif token.info == DEFINITION:
        attributes["definition"] = True
    else:
        attributes |= {name: value for name, value in token.attrs.items() if not isinstance(value, float)}
    if token.tag == "li":
        children, attributes = _find_task(children)
    return (Element(_TAGS.get(token.tag, token.tag), children, attributes),)


def _find_task(children: tuple[Element | str, ...]) -> tuple[tuple[Element | str, ...], dict[str, str | int | bool]]:
    """Return the children of an item without the mark of a task, and whether that is ticked."""
    first, *others = children or ("",)
    if isinstance(first, Element) and first.tag == "p":
        inner, task = _find_task(first.children)
        return (Element("p", inner, first.attributes), *others), task
    if not isinstance(first, str) or (found := _TASK.match(first)) is None:
        return children, {}
    return (first[found.end() :], *others), {"checked": found[1] != " "}


def _build_leaf(token: Token) -> tuple[Element | str, ...]:
    match token.type:
        case "inline" if token.info == VERBATIM:
            return (token.content,)
        case "inline":
            return _build(token.children or [])
        case "text":
            return (token.content,)
        case "softbreak":
            return ("\n",)
        case "hardbreak" | "hr":
            return (Element(token.tag),)
        case "code_inline":
            return (Element("code", (token.content,)),)
        case _:
            language, _, more = unescapeAll(token.info).strip().partition(" ")
            known = {"language": language, "info": more.strip()}
            return (Element("pre", (token.content,), {name: said for name, said in known.items() if said}),)


def _join(children: Iterable[Element | str], *, is_linked: bool) -> tuple[Element | str, ...]:
    """Return the children with texts that touch as one, and with bare addresses as links."""
    joined: list[Element | str] = []
    for each in children:
        if isinstance(each, str) and joined and isinstance(joined[-1], str):
            joined[-1] += each
        elif each != "":
            joined.append(each)
    if is_linked:
        return tuple(joined)
    return tuple(found for each in joined for found in (_link_addresses(each) if isinstance(each, str) else (each,)))


def _link_addresses(text: str) -> Iterator[Element | str]:
    for words, address in find_links(text):
        yield Element("a", (words,), {"href": address}) if address else words
