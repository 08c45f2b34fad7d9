"""HTML results in sandboxed frames, each at its own address and with its own Content-Security-Policy.

A frame has an opaque origin: it cannot see the page, send requests or forms, open windows or navigate.
Scripts run only on the user's request, because no policy can forbid them WebRTC, by which they could
reach other machines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from antiphon.errors import NotSavedError
from antiphon.results import Result
from antiphon.views.data_window import strip_media_type
from antiphon.views.mcp_results import unpack_mcp_result
from antiphon.views.select import iter_inner_results
from antiphon.views.validated_fields import InvalidField, require_content
from antiphon.web.json_response import redact_keys

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from antiphon.durable import Journal
    from antiphon.storage.steps import StepRow

_FRAME_CSP = (
    "sandbox{scripts}; default-src 'none'; script-src {inline}; style-src 'unsafe-inline'; img-src data:;"
    " font-src data:; media-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_CSP_WITHOUT_SCRIPTS = _FRAME_CSP.format(scripts="", inline="'none'")
_CSP_WITH_SCRIPTS = _FRAME_CSP.format(scripts=" allow-scripts", inline="'unsafe-inline'")
_FRAME_HEADERS = {"x-frame-options": "SAMEORIGIN", "x-dns-prefetch-control": "off", "cache-control": "no-store"}


def frame_routes(journal: Journal) -> list[Route]:
    """Return the route that serves frames."""
    from starlette.routing import Route

    def get_frame(request: Request) -> Response:
        return _frame_response(journal, request)

    return [Route("/frame/{id:path}", get_frame)]


def add_frame_addresses(seen: dict[str, Any], result: Result, address: str, at: str) -> None:
    """Add the frame address to a view of HTML, and to views nested in it."""
    if extract_html(result) is not None:
        seen["frame"] = f"{address}&at={at}"
    for number, (inner, (_, each)) in enumerate(zip(seen.get("inside", ()), iter_inner_results(result), strict=False)):
        add_frame_addresses(inner["view"], each, address, f"{at}.{number}")


def frame_address(id: str, path: str) -> str:
    """Return the address of the frames of a step, relative to the page."""
    return f"frame/{quote(id, safe='')}?path={quote(path, safe='')}"


def extract_html(result: Result) -> str | None:
    """Return the markup of an HTML result; `None` for any other result."""
    if len(blocks := unpack_mcp_result(result)) == 1:
        return extract_html(blocks[0])
    if result.display.hidden or (strip_media_type(result.mime_type) != "text/html" and result.kind != "html"):
        return None
    try:
        return require_content(result.data)
    except InvalidField:
        return None


def _frame_response(journal: Journal, request: Request) -> Response:
    from starlette.responses import PlainTextResponse, Response

    from antiphon.web.stored import row_at

    # Browsers that send `Sec-Fetch-Dest` may only load it into an iframe.
    if request.headers.get("sec-fetch-dest", "iframe") != "iframe":
        return PlainTextResponse("This is shown in a frame of the page only.", 403)
    asked = request.query_params
    row = row_at(journal, request.path_params["id"], asked.get("path", ""))
    markup = _find_markup(journal, row, asked.get("at", ""))
    headers = {
        **_FRAME_HEADERS,
        "content-security-policy": _CSP_WITH_SCRIPTS if "scripts" in asked else _CSP_WITHOUT_SCRIPTS,
    }
    return Response(redact_keys(markup).encode("utf-8", "replace"), 200, headers, "text/html; charset=utf-8")


def _find_markup(journal: Journal, row: StepRow, at: str) -> str:
    from antiphon.web.steps import load_effect_entry, results_of_step

    entry = load_effect_entry(journal, row)
    there = [] if entry.asked.get("private") else results_of_step(entry)
    markup = None
    for number in at.split("."):
        if not (number.isascii() and number.isdigit()) or int(number[:9]) >= len(there):
            raise NotSavedError(f"this step has no result {at[:40]!r}")
        found = there[int(number)]
        markup, there = extract_html(found), [each for _, each in iter_inner_results(found)]
    if markup is None:
        raise NotSavedError(f"result {at[:40]!r} of this step is not HTML")
    return markup
