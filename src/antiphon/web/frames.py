"""Results that are HTML: each is a page in a frame, at an address and with a policy of its own, and can do nothing.

A frame has no origin: it cannot see the page around it, ask for anything, send a form, open a window or leave its
place. Scripts in it run only where somebody wants them to: no policy can forbid them WebRTC, by which they could reach
others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from antiphon.errors import NotSavedError
from antiphon.results import Result
from antiphon.views.choice import labelled
from antiphon.views.fields import Unfit, content_of
from antiphon.views.foreign import unpacked
from antiphon.views.part import media_type
from antiphon.web.sent import without_keys

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from antiphon.journal import Journal

_POLICY = (
    "sandbox{scripts}; default-src 'none'; script-src {inline}; style-src 'unsafe-inline'; img-src data:;"
    " font-src data:; media-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_STILL = _POLICY.format(scripts="", inline="'none'")
_LIVELY = _POLICY.format(scripts=" allow-scripts", inline="'unsafe-inline'")
_HEADERS = {"x-frame-options": "SAMEORIGIN", "x-dns-prefetch-control": "off", "cache-control": "no-store"}


def routes(journal: Journal) -> list[Route]:
    """Where frames are."""
    from starlette.routing import Route

    def answer(request: Request) -> Response:
        return _answer(journal, request)

    return [Route("/frame/{id:path}", answer)]


def framed(seen: dict[str, Any], result: Result, address: str, at: str) -> None:
    """Note in a view, and in those inside it, where the page is that it shows the source of."""
    if html_of(result) is not None:
        seen["frame"] = f"{address}&at={at}"
    for number, (inner, (_, each)) in enumerate(zip(seen.get("inside", ()), labelled(result), strict=False)):
        framed(inner["view"], each, address, f"{at}.{number}")


def address(id: str, path: str) -> str:
    """The address of the frames of a step, as seen from the page."""
    return f"frame/{quote(id, safe='')}?path={quote(path, safe='')}"


def html_of(result: Result) -> str | None:
    """The markup that a result holds; nothing where it is something else."""
    if len(blocks := unpacked(result)) == 1:
        return html_of(blocks[0])
    if result.display.hidden or (media_type(result.mime_type) != "text/html" and result.kind != "html"):
        return None
    try:
        return content_of(result.data)
    except Unfit:
        return None


def _answer(journal: Journal, request: Request) -> Response:
    from starlette.responses import PlainTextResponse, Response

    from antiphon.web.stored import row_at

    # Browsers that say where they show something show it in a frame, or not at all.
    if request.headers.get("sec-fetch-dest", "iframe") != "iframe":
        return PlainTextResponse("This is shown in a frame of the page only.", 403)
    asked = request.query_params
    row = row_at(journal, request.path_params["id"], asked.get("path", ""))
    markup = _found(journal, row, asked.get("at", ""))
    headers = {**_HEADERS, "content-security-policy": _LIVELY if "scripts" in asked else _STILL}
    return Response(without_keys(markup).encode("utf-8", "replace"), 200, headers, "text/html; charset=utf-8")


def _found(journal: Journal, row: tuple[Any, ...], at: str) -> str:
    from antiphon.web.steps import entry_at, results

    entry = entry_at(journal, row)
    there = [] if entry.asked.get("private") else results(entry)
    markup = None
    for number in at.split("."):
        if not (number.isascii() and number.isdigit()) or int(number[:9]) >= len(there):
            raise NotSavedError(f"this step has no result {at[:40]!r}")
        found = there[int(number)]
        markup, there = html_of(found), [each for _, each in labelled(found)]
    if markup is None:
        raise NotSavedError(f"result {at[:40]!r} of this step is no HTML")
    return markup
