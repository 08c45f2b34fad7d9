"""Authorization at servers over HTTP with OAuth 2.1: stored tokens, their refresh, and the login of a person.

The library does the protocol: discovery, registration, PKCE and refresh. Here are the storage, the address to which the
browser returns, and what a server may not ask of us.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qs, urlsplit

from antiphon._base.json_access import as_object
from antiphon.errors import ConfigurationError
from antiphon.tools.mcp.config import McpServer

if TYPE_CHECKING:
    import httpx2
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthToken

#: Shows a person the address to open.
ShowAddress = Callable[[str], object]
_LOGIN_SECONDS = 600.0
#: A token is refreshed this long before it ends.
_EARLY_SECONDS = 30.0
_MAX_REQUEST = 16_384
_ANSWER = b"HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"


class CredentialStore(Protocol):
    """Stores the credentials of servers by address."""

    def load(self, address: str) -> str:
        """Return the stored text; empty if there is none."""
        ...

    def save(self, address: str, text: str) -> object:
        """Store a text."""
        ...


@asynccontextmanager
async def open_authorization(server: McpServer, show: ShowAddress | None) -> AsyncGenerator[httpx2.Auth | None]:
    """Yield what authorizes the requests to a server; None if its headers do, or nobody has logged in.

    With `show`, a person can log in: they open the address, and their browser returns to this process.
    """
    store = server.credentials
    has_own = any(name.lower() == "authorization" for name in server.headers or {})
    if store is None or has_own or (show is None and not store.load(server.url)):
        yield None
        return
    if show is None:
        yield _make_provider(server, _Storage(store, server.url), "http://127.0.0.1/callback", None, None)
        return
    async with _BrowserReturn() as returned:
        # A new registration each time: many servers compare the address with its port.
        storage = _Storage(store, server.url, is_new=True)

        async def show_address(address: str) -> None:
            check_address(server, address)
            show(address)

        yield _make_provider(server, storage, returned.address, show_address, returned.wait)


def check_address(server: McpServer, address: str) -> None:
    """Raise a ConfigurationError if a server names an address that must not be requested or opened."""
    parts, is_own_local = urlsplit(address), _is_local(urlsplit(server.url).hostname)
    is_plain = address.isascii() and address.isprintable() and " " not in address and bool(parts.hostname)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_own_local)
    if is_plain and is_safe and (is_own_local or not _is_inside(parts.hostname or "")):
        return
    raise ConfigurationError(
        f"MCP server `{server.name}` names an address for its authorization that is not used: {address[:200]!r} is not "
        "https, or inside this machine or network"
    )


def _is_local(host: str | None) -> bool:
    return host in ("localhost", "127.0.0.1", "::1")


def _is_inside(host: str) -> bool:
    """Return whether a host is written as an address that is not public."""
    with suppress(ValueError):
        return not ip_address(host).is_global
    return host == "localhost" or host.endswith(".localhost")


def _make_provider(
    server: McpServer,
    storage: _Storage,
    address: str,
    show: Callable[[str], Any] | None,
    wait: Callable[[], Any] | None,
) -> OAuthClientProvider:
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import OAuthClientMetadata
    from pydantic import AnyUrl

    metadata = OAuthClientMetadata(
        client_name="Antiphon",
        redirect_uris=[AnyUrl(address)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        scope=server.oauth.get("scope") or None,
        token_endpoint_auth_method="client_secret_post" if server.oauth.get("client_secret") else "none",
    )

    async def refuse(_address: str = "") -> Any:
        raise ConfigurationError(describe_login(server))

    provider = OAuthClientProvider(
        server.url,
        metadata,
        storage,
        show or refuse,
        wait or refuse,
        client_metadata_url=server.oauth.get("client_metadata_url") or None,
    )
    storage.begin(provider, server)
    return provider


def describe_login(server: McpServer) -> str:
    """Return that a person must log in at a server, and how."""
    return (
        f"MCP server `{server.name}` needs authorization; `antiphon setup logins add {server.name}` logs in, with its "
        "configured name or its address, or give it an `Authorization` header"
    )


class _Storage:
    """The stored login of a server: tokens, their end, the registration, and the address that refreshes them."""

    def __init__(self, store: CredentialStore, address: str, *, is_new: bool = False) -> None:
        self._store = store
        self._address = address
        self._data: dict[str, Any] = {} if is_new else _read_json(store.load(address))
        self._provider: OAuthClientProvider | None = None

    def begin(self, provider: OAuthClientProvider, server: McpServer) -> None:
        """Give the provider what the library does not store itself."""
        from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata

        self._provider, context = provider, provider.context
        if ends := self._data.get("ends"):
            context.token_expiry_time = float(ends)
        if given := self._data.get("authorization_server"):
            context.oauth_metadata = OAuthMetadata.model_validate(given)
            check_address(server, str(context.oauth_metadata.token_endpoint))
        if given := self._data.get("resource"):
            context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(given)
        if server.oauth.get("client_id") and not self._data.get("client"):
            self._data["client"] = {
                "client_id": server.oauth["client_id"],
                "client_secret": server.oauth.get("client_secret") or None,
                "redirect_uris": [str(each) for each in context.client_metadata.redirect_uris or ()],
                "token_endpoint_auth_method": context.client_metadata.token_endpoint_auth_method,
            }

    async def get_tokens(self) -> OAuthToken | None:
        """Return the stored tokens."""
        from mcp.shared.auth import OAuthToken

        given = self._data.get("tokens")
        return None if given is None else OAuthToken.model_validate(given)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store tokens, and with them what their refresh needs."""
        assert self._provider is not None
        context = self._provider.context
        self._data["tokens"] = tokens.model_dump(mode="json", exclude_none=True)
        ends = None if tokens.expires_in is None else time.time() + max(tokens.expires_in - _EARLY_SECONDS, 0)
        self._data["ends"] = ends
        for key, metadata in (
            ("authorization_server", context.oauth_metadata),
            ("resource", context.protected_resource_metadata),
        ):
            if metadata is not None:
                self._data[key] = metadata.model_dump(mode="json", exclude_none=True)
        self._store.save(self._address, json.dumps(self._data))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the registration."""
        from mcp.shared.auth import OAuthClientInformationFull

        given = self._data.get("client")
        return None if given is None else OAuthClientInformationFull.model_validate(given)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a registration; it is stored with the first tokens."""
        self._data["client"] = client_info.model_dump(mode="json", exclude_none=True)


def _read_json(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        return as_object(json.loads(text))
    except ValueError:
        return {}


class _BrowserReturn:
    """Waits on loopback for the browser of the person to return from the authorization server."""

    def __init__(self) -> None:
        self.address = ""
        self._server: asyncio.Server | None = None
        self._result: asyncio.Future[dict[str, str]] | None = None

    async def __aenter__(self) -> _BrowserReturn:
        self._result = asyncio.get_running_loop().create_future()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_MAX_REQUEST)
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/callback"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        if self._result is not None:
            self._result.cancel()

    async def wait(self) -> AuthorizationCodeResult:
        """Return the code that the browser brought."""
        from mcp.client.auth import OAuthFlowError
        from mcp.shared.auth import AuthorizationCodeResult

        assert self._result is not None
        try:
            async with asyncio.timeout(_LOGIN_SECONDS):
                found = await self._result
        except TimeoutError:
            raise OAuthFlowError(f"nobody logged in within {_LOGIN_SECONDS / 60:g} minutes") from None
        if "code" not in found:
            raise OAuthFlowError(f"the login was refused: {found.get('error', '')!r:.100}")
        return AuthorizationCodeResult(code=found["code"], state=found.get("state"), iss=found.get("iss"))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            async with asyncio.timeout(10):
                line = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n", 1)[0].decode("ascii")
            method, target, _ = line.split(" ", 2)
            parts = urlsplit(target)
            fields = {name: values[0] for name, values in parse_qs(parts.query).items()}
            is_ours = method == "GET" and parts.path == "/callback" and ("code" in fields or "error" in fields)
            said = b"You can close this page; the terminal continues." if is_ours else b"There is nothing here."
            writer.write(_ANSWER % (b"200 OK" if is_ours else b"404 Not Found", len(said), said))
            await writer.drain()
            if is_ours and self._result is not None and not self._result.done():
                self._result.set_result(fields)
        writer.close()
