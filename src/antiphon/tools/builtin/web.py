"""The tool `fetch_url`, which fetches pages from allowed hosts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urljoin

from antiphon import results
from antiphon.conversation import ToolResult
from antiphon.tools.builtin.html_to_text import html_to_text
from antiphon.tools.builtin.network_policy import check_url, resolve_allowed_addresses
from antiphon.tools.dual_result import format_count, make_dual_result
from antiphon.tools.tool import Tool, ToolFailure, as_tool

if TYPE_CHECKING:
    import httpx2

_MAX_REDIRECTS = 5
_MAX_ADDRESSES = 3
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_TEXT_MEDIA_TYPES = (
    "application/json",
    "application/xml",
    "application/javascript",
    "application/yaml",
    "application/x-ndjson",
)
#: Types that are converted to readable text, as Markdown.
_HTML_MEDIA_TYPES = ("text/html", "application/xhtml+xml")
_REQUEST_HEADERS = {
    "user-agent": "antiphon",
    "accept": "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
    "accept-encoding": "gzip, deflate",
}


def fetch_tool(
    allow: Sequence[str] = (), *, timeout: float = 30.0, size_limit: int = 2_000_000, redirects: bool = True
) -> Tool:
    """Return the tool `fetch_url` for these hosts only: names (`docs.python.org`) or patterns
    (`*.python.org`).

    Hosts of a private network, this machine included, are reached only if allowed by exact name
    (`localhost:8000`). Without `redirects`, the model is told the new address, and may fetch that.
    """
    if isinstance(allow, str):
        raise TypeError("`allow` is a list of hosts, not one text")

    async def fetch_url(url: str) -> ToolResult:
        """Fetch a page or text from the web. HTML is reduced to readable text.

        Args:
            url: The address, with http:// or https://.
        """
        try:
            async with asyncio.timeout(timeout):
                async with open_response(url, allow, redirects=redirects) as (response, place):
                    return await _read_response(response, place, size_limit)
        except TimeoutError:
            raise ToolFailure(f"`{url[:200]}` did not answer within {timeout:g} seconds") from None

    return as_tool(fetch_url, read_only=True, is_cooperative=True)


@asynccontextmanager
async def open_response(
    url: str, allow: Sequence[str], *, redirects: bool = True
) -> AsyncGenerator[tuple[httpx2.Response, str]]:
    """Yield the streaming response to a URL, and the URL that sent it. Each redirect is checked too."""
    import httpx2

    # A proxy from the environment would connect to addresses that were not checked.
    async with httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=None) as client:
        for _ in range(_MAX_REDIRECTS + 1):
            parts = check_url(url, allow)
            response = await _send_request(client, parts, await resolve_allowed_addresses(parts, allow))
            try:
                location = response.headers.get("location")
                if "," in response.headers.get("content-encoding", ""):
                    # Compressed twice, a short response could expand to terabytes at once.
                    raise ToolFailure(f"the answer of `{parts.hostname}` is packed more than once, and is not read")
                if response.status_code not in _REDIRECT_STATUSES or not location:
                    yield response, url
                    return
                url = urljoin(url, location)
            except ValueError:
                raise ToolFailure(f"`{parts.hostname}` redirects to what is no URL") from None
            except httpx2.HTTPError as error:
                raise ToolFailure(f"the answer of `{parts.hostname}` broke off: {type(error).__name__}") from None
            finally:
                await response.aclose()
            if not redirects:
                raise ToolFailure(f"`{parts.hostname}` says to go to `{url[:1_000]}`; it was not gone to")
    raise ToolFailure(f"more than {_MAX_REDIRECTS} redirects; the last one to `{url[:200]}`")


async def _send_request(client: httpx2.AsyncClient, parts: SplitResult, addresses: list[str]) -> httpx2.Response:
    """Try the checked addresses in turn; the host's name is sent for TLS and the server."""
    import httpx2

    host = parts.hostname or ""
    named = f"[{host}]" if ":" in host else host
    failure: Exception | None = None
    for address in addresses[:_MAX_ADDRESSES]:
        try:
            target = httpx2.URL(parts._replace(fragment="").geturl()).copy_with(host=address.partition("%")[0])
            extensions: dict[str, Any] = {"sni_hostname": host}
            headers = {**_REQUEST_HEADERS, "host": f"{named}:{parts.port}" if parts.port else named}
            return await client.send(
                client.build_request("GET", target, headers=headers, extensions=extensions), stream=True
            )
        except httpx2.InvalidURL as error:
            raise ToolFailure(f"the URL cannot be used: {error}") from None
        except httpx2.HTTPError as error:
            failure = error
    raise ToolFailure(f"`{host}` could not be reached: {failure or 'it has no address'}")


async def _read_response(response: httpx2.Response, url: str, size_limit: int) -> ToolResult:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower() or "unknown type"
    facts = f"status {response.status_code}, {kind}"
    if not (kind.startswith("text/") or kind in _TEXT_MEDIA_TYPES or kind.endswith(("+json", "+xml"))):
        size = response.headers.get("content-length", "")
        text = f"This is no text; it is not shown{f' ({int(size):,} bytes)' if size.isdecimal() else ''}."
        return _make_page_result(url, facts, text)
    data = bytearray()
    async for piece in response.aiter_bytes():
        data += piece
        if len(data) > size_limit:
            facts += f", only the first {size_limit:,} bytes"
            del data[size_limit:]
            break
    try:
        text = data.decode(response.charset_encoding or "utf-8", "replace")
    except LookupError:
        text = data.decode("utf-8", "replace")
    if kind in _HTML_MEDIA_TYPES:
        text = await asyncio.to_thread(html_to_text, text, url)
    return _make_page_result(url, facts, text if text.strip() else "(nothing to read)", kind)


def _make_page_result(url: str, facts: str, text: str, kind: str = "") -> ToolResult:
    """Return a page with a note on top for the model, and titled by its URL for people."""
    hints = {"preferred_view": "code", "language": "json"} if kind.endswith(("/json", "+json")) else {}
    summary = f"{facts}, {format_count(len(text), 'character')}"
    result = results.text(text, markdown=kind in (*_HTML_MEDIA_TYPES, "text/markdown"), summary=summary, **hints)
    return make_dual_result(f"[{url}, {facts}]\n{text}", replace(result, title=url))
