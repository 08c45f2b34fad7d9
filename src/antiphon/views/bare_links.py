"""URLs in plain text without brackets, detected by GitHub's rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
