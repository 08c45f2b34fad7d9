"""Fetching pages from hosts that were allowed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urljoin

from antiphon import results
from antiphon.conversation import ToolResult
from antiphon.tools.builtin.addresses import checked_url, resolved
from antiphon.tools.builtin.pages import readable
from antiphon.tools.faces import counted, shown
from antiphon.tools.tool import Tool, ToolFailure, as_tool

if TYPE_CHECKING:
    import httpx2

_MOST_REDIRECTS = 5
_MOST_ADDRESSES = 3
_REDIRECTS = (301, 302, 303, 307, 308)
_TEXTS = ("application/json", "application/xml", "application/javascript", "application/yaml", "application/x-ndjson")
#: What is reduced to readable text, which is Markdown then.
_PAGES = ("text/html", "application/xhtml+xml")
_HEADERS = {
    "user-agent": "antiphon",
    "accept": "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
    "accept-encoding": "gzip, deflate",
}


def fetch_tool(
    allow: Sequence[str] = (), *, timeout: float = 30.0, size_limit: int = 2_000_000, redirects: bool = True
) -> Tool:
    """The tool `fetch_url`, for these hosts only: names (`docs.python.org`) or patterns (`*.python.org`).

    Machines of a private network, this one included, are reached only if allowed by exact name (`localhost:8000`).
    Without `redirects`, the model is told where an address leads, and may ask for that.
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
                return await _fetched(url, allow, size_limit, redirects)
        except TimeoutError:
            raise ToolFailure(f"`{url[:200]}` did not answer within {timeout:g} seconds") from None

    return as_tool(fetch_url, read_only=True)


async def _fetched(url: str, allow: Sequence[str], size_limit: int, redirects: bool) -> ToolResult:
    async with answered(url, allow, redirects=redirects) as (response, place):
        return await _shown(response, place, size_limit)


@asynccontextmanager
async def answered(
    url: str, allow: Sequence[str], *, redirects: bool = True
) -> AsyncGenerator[tuple[httpx2.Response, str]]:
    """What a server says to an address, while it comes, and the address that said it; redirects are checked too."""
    import httpx2

    # A proxy from the environment would connect for us, to addresses nobody has checked.
    async with httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=None) as client:
        for _ in range(_MOST_REDIRECTS + 1):
            parts = checked_url(url, allow)
            response = await _answer(client, parts, await resolved(parts, allow))
            try:
                location = response.headers.get("location")
                if "," in response.headers.get("content-encoding", ""):
                    # Packed twice, a short answer could be terabytes in one piece.
                    raise ToolFailure(f"the answer of `{parts.hostname}` is packed more than once, and is not read")
                if response.status_code not in _REDIRECTS or not location:
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
    raise ToolFailure(f"more than {_MOST_REDIRECTS} redirects; the last one to `{url[:200]}`")


async def _answer(client: httpx2.AsyncClient, parts: SplitResult, addresses: list[str]) -> httpx2.Response:
    """Ask the addresses in turn, as they were checked; the host's name goes along for TLS and the server."""
    import httpx2

    host = parts.hostname or ""
    named = f"[{host}]" if ":" in host else host
    failure: Exception | None = None
    for address in addresses[:_MOST_ADDRESSES]:
        try:
            target = httpx2.URL(parts._replace(fragment="").geturl()).copy_with(host=address.partition("%")[0])
            extensions: dict[str, Any] = {"sni_hostname": host}
            headers = {**_HEADERS, "host": f"{named}:{parts.port}" if parts.port else named}
            return await client.send(
                client.build_request("GET", target, headers=headers, extensions=extensions), stream=True
            )
        except httpx2.InvalidURL as error:
            raise ToolFailure(f"the URL cannot be used: {error}") from None
        except httpx2.HTTPError as error:
            failure = error
    raise ToolFailure(f"`{host}` could not be reached: {failure or 'it has no address'}")


async def _shown(response: httpx2.Response, url: str, size_limit: int) -> ToolResult:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower() or "unknown type"
    facts = f"status {response.status_code}, {kind}"
    if not (kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml"))):
        size = response.headers.get("content-length", "")
        text = f"This is no text; it is not shown{f' ({int(size):,} bytes)' if size.isdecimal() else ''}."
        return _page(url, facts, text)
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
    if kind in _PAGES:
        text = await asyncio.to_thread(readable, text, url)
    return _page(url, facts, text if text.strip() else "(nothing to read)", kind)


def _page(url: str, facts: str, text: str, kind: str = "") -> ToolResult:
    """A page as the model reads it, with a note on top, and as people see it, under its address."""
    hints = {"preferred_view": "code", "language": "json"} if kind.endswith(("/json", "+json")) else {}
    summary = f"{facts}, {counted(len(text), 'character')}"
    result = results.text(text, markdown=kind in (*_PAGES, "text/markdown"), summary=summary, **hints)
    return shown(f"[{url}, {facts}]\n{text}", replace(result, title=url))
