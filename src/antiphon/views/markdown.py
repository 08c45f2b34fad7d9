"""Markdown parsed once for everybody who draws it: CommonMark with GitHub's tables, strikethrough, tasks and links.

Nothing that is parsed is hidden or obeyed: HTML is text, an image is a link, and a link definition is shown where it
stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.token import Token

#: More Markdown, or more characters that may mark something in it, takes a parser too long.
_LONG, _DENSE = 100_000, 4000
#: The `info` of a paragraph that shows a link definition.
DEFINITION = "definition"

References = dict[str, Any]


class _Parser(MarkdownIt):
    """A parser that leaves addresses as they are written."""

    def normalizeLink(self, url: str) -> str:
        return url


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

    Without `open`, those stay too, and `rest` follows what they end with.
    """

    closed: tuple[Element, ...] = ()
    open: tuple[Element, ...] | None = None
    rest: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the growth in its JSON form."""
        blocks = None if self.open is None else [each.to_json() for each in self.open]
        return {"closed": [each.to_json() for each in self.closed], "open": blocks, "rest": self.rest}


class MarkdownStream:
    """Parses a text as it comes. Only the last block is parsed again, a long one not with every piece."""

    #: A block that is longer than this is parsed again when it has grown by an eighth.
    _SHORT = 2000

    def __init__(self) -> None:
        self._tail = ""
        self._unparsed = 0
        self._references: References = {}

    def feed(self, text: str) -> Growth:
        """Add text, and return what became of it."""
        self._tail += text
        self._unparsed += len(text)
        if len(self._tail) > self._SHORT and self._unparsed * 8 < len(self._tail):
            return Growth(rest=text)
        self._unparsed = 0
        closed = self._close()
        return Growth(closed, _parse_blocks(self._tail, dict(self._references)))

    def _close(self) -> tuple[Element, ...]:
        """Take all blocks but the last from what has come in whole lines: the last may go on."""
        whole = self._tail[: self._tail.rfind("\n") + 1]
        if not whole or _is_heavy(whole):
            return ()
        tokens = _parser(with_inline=False).parse(whole)
        starts = [token.map[0] for token in tokens if token.map and token.level == 0 and token.nesting >= 0]
        if len(starts) < 2 or not starts[-1]:
            return ()
        lines = _normalise(self._tail).split("\n")
        first, self._tail = "\n".join([*lines[: starts[-1]], ""]), "\n".join(lines[starts[-1] :])
        return _parse_blocks(first, self._references)


def parse_tokens(content: str, references: References | None = None) -> list[Token]:
    """Return the tokens of a text, in which images are links, and link definitions paragraphs.

    `references` are the definitions that hold already; those of the text are added to them.
    """
    environment: dict[str, Any] = {"references": {} if references is None else references}
    tokens = _parser().parse(content, environment)
    lines = _normalise(content).split("\n")
    return [shown for token in tokens for shown in _show_definition(token, lines)]


def is_whole(content: str, tokens: list[Token]) -> bool:
    """Return whether the tokens stand for all letters and digits of a text.

    The parser drops what is nested too deeply, and cells for which there is no column.
    """
    return _count_letters(_decode(content)) <= sum(map(_count_shown, flatten(tokens)))


def is_parsable(content: str) -> bool:
    """Return whether a text is short and plain enough to be parsed."""
    return not _is_heavy(content)


def begins_block(lines: Sequence[str], line: str) -> bool:
    """Return whether a line begins a block of its own after these."""
    tokens = _parser(with_inline=False).parse("\n".join([*lines, line, ""]))
    return any(token.map and token.level == 0 and token.map[0] == len(lines) for token in tokens)


def first_code(content: str) -> str | None:
    """Return the content of the first fenced block of a text; None where there is none."""
    return next((token.content for token in parse_tokens(content) if token.type == "fence"), None)


def flatten(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield the tokens that show something, those within lines instead of the lines."""
    for token in tokens:
        if token.type == "inline":
            yield from flatten(token.children or [])
        else:
            yield token


@cache
def _parser(*, with_inline: bool = True) -> MarkdownIt:
    parser = _Parser("commonmark", {"html": False, "inline_definitions": True, "store_labels": True})
    parser.disable(["html_block", "html_inline"])
    parser.core.ruler.push("link_images", _link_images)
    parser.enable(["table", "strikethrough"])
    return parser if with_inline else parser.disable("inline")


def _normalise(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _is_heavy(text: str) -> bool:
    return len(text) > _LONG or sum(map(text.count, "[*_<")) > _DENSE


# What the parser would hide


def _link_images(state: Any) -> None:
    """Turn images into links."""
    for token in state.tokens:
        if token.type == "inline":
            token.children = list(_without_images(token.children or []))
            _note_labels(token.children)


def _note_labels(tokens: list[Token]) -> None:
    """Note the letters of labels that are not the words of their links, which no token would show."""
    for place, token in enumerate(tokens):
        if token.type == "link_open" and "label" in token.meta:
            inside = takewhile(lambda each: each.type != "link_close", tokens[place + 1 :])
            words, label = (_letters(each) for each in ("".join(_read_words(inside)), str(token.meta["label"])))
            token.meta["letters"] = 0 if words.casefold() == label.casefold() else len(label)


def _without_images(tokens: Iterable[Token]) -> Iterator[Token]:
    is_linked = False
    for token in tokens:
        is_linked = token.type == "link_open" or (is_linked and token.type != "link_close")
        if token.type == "image":
            yield from _link_image(token, is_linked)
        else:
            yield token


def _link_image(token: Token, is_linked: bool) -> Iterator[Token]:
    """Yield an image as a link to it; within a link, its address in brackets."""
    source, title = str(token.attrs.get("src", "")), token.attrs.get("title")
    words = "".join(_read_words(token.children or [])) or source
    if is_linked:
        yield Token("text", "", 0, content=f"!{words} ({source})")
        return
    yield Token("text", "", 0, content="!")
    yield Token("link_open", "a", 1, attrs={"href": source, **({"title": title} if title else {})}, meta=token.meta)
    yield Token("text", "", 0, content=words)
    yield Token("link_close", "a", -1)


def _read_words(tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        yield "\n" if token.type in ("softbreak", "hardbreak") else "" if token.children else token.content
        yield from _read_words(token.children or [])


def _show_definition(token: Token, lines: list[str]) -> Iterator[Token]:
    if token.type != "definition" or token.map is None:
        yield token
        return
    level, written = token.level, "\n".join(each.strip() for each in lines[token.map[0] : token.map[1]])
    yield Token("paragraph_open", "p", 1, map=token.map, level=level, block=True, info=DEFINITION)
    said = Token("text", "", 0, content=written)
    yield Token("inline", "", 0, map=token.map, level=level + 1, content=written, children=[said], block=True)
    yield Token("paragraph_close", "p", -1, level=level, block=True)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _count_letters(text: str) -> int:
    return sum(map(str.isalnum, text))


_NUMERIC = re.compile(r"&#(?:x[0-9a-f]{1,6}|[0-9]{1,7});", re.IGNORECASE)


def _decode(text: str) -> str:
    """Return a text with entities decoded, and without those that stand for no character."""
    return unescapeAll(_NUMERIC.sub(lambda found: "" if unescapeAll(found[0]) == found[0] else found[0], text))


def _count_shown(token: Token) -> int:
    """Return how many of the source's letters and digits a token stands for."""
    if token.type == "link_open":
        # The address of an automatic link is its text, that of a reference is in its definition.
        if token.info == "auto" or "label" in token.meta:
            return token.meta.get("letters", 0)
        return _count_letters(f"{token.attrs.get('href', '')}{token.attrs.get('title', '')}")
    if token.type == "paragraph_open":
        return 0
    return _count_letters(token.content if token.type == "text" else _decode(token.content + token.info))


# Elements

_TAGS = {"s": "del"}
_TASK = re.compile(r"\[([ xX])\]\s+")


def _parse_blocks(text: str, references: References) -> tuple[Element, ...]:
    if _is_heavy(text):
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
            is_linked = bool(links) or begun.tag == "a"
            opened[-1][1].extend(_close_element(begun, _join(children, is_linked=is_linked)))
        else:
            opened[-1][1].extend(_build_leaf(token))
    return _join(opened[0][1], is_linked=False)


def _close_element(token: Token, children: tuple[Element | str, ...]) -> tuple[Element | str, ...]:
    if token.hidden:
        return children
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


# Bare addresses

_BARE = re.compile(
    r"(?<![^\W_])(?P<web>(?:https?|ftp)://|www\.)[^\s<]+|(?<![\w.+-])(?P<mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)",
    re.ASCII | re.IGNORECASE,
)
_DOMAIN = re.compile(r"(?:(?:https?|ftp)://)?([\w-]+(?:\.[\w-]+)*)", re.IGNORECASE)
_ENTITY = re.compile(r"&\w+;$", re.ASCII)


def _link_addresses(text: str) -> Iterator[Element | str]:
    """Yield a text in pieces, of which those that are addresses by GitHub's rules are links."""
    if "@" not in text and "://" not in text and "www." not in text.lower():
        yield text
        return
    at = 0
    for found in _BARE.finditer(text):
        address = found[0] if found["mail"] else _trim_address(found[0])
        if not _is_address(address, is_mail=bool(found["mail"])):
            continue
        if found.start() > at:
            yield text[at : found.start()]
        begin = "mailto:" if found["mail"] else "http://" if found["web"].lower() == "www." else ""
        yield Element("a", (address,), {"href": begin + address})
        at = found.start() + len(address)
    if text[at:]:
        yield text[at:]


def _trim_address(address: str) -> str:
    """Return an address without the punctuation of the sentence around it."""
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
