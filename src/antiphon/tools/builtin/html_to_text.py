"""Conversion of HTML to readable text with headings, lists and links.

The standard library's parser takes quadratic time on unclosed tags, so this module parses tags itself in one
pass.
"""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urljoin

_SKIPPED_TAGS = re.compile("script|style|noscript|template|svg|iframe|object|title")
_BLOCK_TAGS = re.compile(
    "address|article|aside|blockquote|body|dd|div|dl|dt|fieldset|figure|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre"
    "|section|table|tbody|tfoot|thead|tr|ul"
)
_BLOCK_PREFIXES = {"li": "- ", "h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ", "h5": "##### ", "h6": "###### "}
_TAG = re.compile(r"</?([a-zA-Z][a-zA-Z0-9-]*)")
_HREF = re.compile(r"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)


def html_to_text(html: str, base: str = "") -> str:
    """Convert a page to text. Links become `[text](address)`, resolved against `base`."""
    page = _TextBuilder(base)
    place = 0
    while place < len(html):
        start = html.find("<", place)
        if start < 0:
            page.say(html[place:])
            break
        page.say(html[place:start])
        place = page.take(html, start)
    return page.text()


class _TextBuilder:
    def __init__(self, base: str) -> None:
        self._base = base
        self._pieces: list[str] = []
        self._preformatted = 0
        self._link = ""
        self._link_start = 0

    def say(self, raw: str) -> None:
        if not raw:
            return
        text = unescape(raw)
        self._pieces.append(text if self._preformatted else re.sub(r"\s+", " ", text))

    def take(self, html: str, start: int) -> int:
        """Read a tag, a comment or a lone `<`. Return the position after it."""
        if html.startswith(("<!", "<?"), start):
            return _find_end(html, "-->" if html.startswith("<!--", start) else ">", start)
        tag = _TAG.match(html, start)
        if tag is None:
            self.say("<")
            return start + 1
        end = _find_end(html, ">", tag.end())
        name, closing = tag[1].lower(), html.startswith("</", start)
        if not closing and _SKIPPED_TAGS.fullmatch(name):
            return self._skip_element(html, name, end)
        self._handle_tag(name, closing, html[tag.end() : end])
        return end

    def _skip_element(self, html: str, name: str, place: int) -> int:
        close = re.compile(rf"</{name}\b", re.IGNORECASE).search(html, place)
        end = close.start() if close else len(html)
        if name == "title":
            self.say(html[place:end])
            self._pieces.append("\n\n")
        return _find_end(html, ">", end)

    def _handle_tag(self, name: str, closing: bool, attributes: str) -> None:
        if name == "pre":
            self._preformatted = max(0, self._preformatted + (-1 if closing else 1))
        if name == "a":
            self._handle_link(closing, attributes)
        elif name == "br":
            self._pieces.append("\n")
        elif name in ("td", "th") and closing:
            self._pieces.append(" | ")
        elif _BLOCK_TAGS.fullmatch(name):
            self._pieces.append("\n" if name in ("li", "tr", "dt", "dd") else "\n\n")
            if not closing:
                self._pieces.append(_BLOCK_PREFIXES.get(name, ""))

    def _handle_link(self, closing: bool, attributes: str) -> None:
        if not closing:
            found = _HREF.search(attributes)
            self._link = unescape(next((part for part in found.groups() if part), "")) if found else ""
            self._link_start = len(self._pieces)
            return
        if not self._link or self._link.startswith(("#", "javascript:", "data:")):
            return
        if text := "".join(self._pieces[self._link_start :]).strip():
            try:
                address = urljoin(self._base, self._link)
            except ValueError:
                address = self._link
            self._pieces[self._link_start :] = [f"[{text}]({address})"]
        self._link = ""

    def text(self) -> str:
        lines = [line.rstrip() for line in "".join(self._pieces).split("\n")]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _find_end(html: str, wanted: str, start: int) -> int:
    """Return the position after `wanted`, or the end of the text, so that no part is scanned twice."""
    found = html.find(wanted, start)
    return len(html) if found < 0 else found + len(wanted)
