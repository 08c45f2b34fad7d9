"""Logins at servers with OAuth: an authorization server of the library on loopback, and a browser that follows it."""

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken, construct_redirect_uri
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken

from antiphon.config import McpCredentials
from antiphon.conversation import Conversation, ToolCall
from antiphon.errors import ConfigurationError
from antiphon.tools import execute
from antiphon.tools.mcp import McpServer, McpTools, log_in
from antiphon.tools.mcp.oauth import check_address
from tests.tools.mcp_servers import free_port, serving


class Accounts:
    """An authorization server in memory, whose user always agrees."""

    def __init__(self, expires: int | None = 3600) -> None:
        self.expires = expires
        self.clients: dict[str, Any] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.access: dict[str, AccessToken] = {}
        self.refreshed = 0
        self.is_refusing = False
        self.resource: str | None = None

    async def get_client(self, client_id: str) -> Any:
        return self.clients.get(client_id)

    async def register_client(self, client_info: Any) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: Any, params: Any) -> str:
        if self.is_refusing:
            return construct_redirect_uri(str(params.redirect_uri), error="access_denied", state=params.state)
        code, self.resource = secrets.token_hex(20), params.resource
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client: Any, authorization_code: str) -> Any:
        del client
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: Any) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._issue(client.client_id)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> Any:
        del client
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, refresh_token: Any, scopes: Any) -> OAuthToken:
        del scopes, self.refresh[refresh_token.token]
        self.refreshed += 1
        return self._issue(client.client_id)

    async def load_access_token(self, token: str) -> Any:
        return self.access.get(token)

    async def revoke_token(self, token: Any) -> None:
        del token

    def _issue(self, client_id: str) -> OAuthToken:
        access, refresh = f"access-{secrets.token_hex(8)}", f"refresh-{secrets.token_hex(8)}"
        self.access[access] = AccessToken(token=access, client_id=client_id, scopes=[], resource=self.resource)
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=[])
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=self.expires)


@contextmanager
def protected(accounts: Accounts) -> Iterator[str]:
    """A server that adds for those who are logged in."""
    port = free_port()
    origin = f"http://127.0.0.1:{port}"
    server = MCPServer(
        "adder",
        auth_server_provider=accounts,  # type: ignore[arg-type]
        auth=AuthSettings(
            issuer_url=origin,  # type: ignore[arg-type]
            resource_server_url=f"{origin}/mcp",  # type: ignore[arg-type]
            validate_token_resource=True,
            client_registration_options=ClientRegistrationOptions(enabled=True),
        ),
    )
    server.add_tool(lambda a, b: str(int(a) + int(b)), name="add")
    with serving(server.streamable_http_app(), port) as url:
        yield url


def browse(address: str) -> None:
    """Follow the redirects of an address, as a browser does, while the caller goes on."""

    async def follow() -> None:
        async with httpx2.AsyncClient(follow_redirects=True) as browser:
            await browser.get(address)

    _browsing.append(asyncio.get_running_loop().create_task(follow()))


_browsing: list[Any] = []


@pytest.fixture
def credentials(tmp_path: Path) -> McpCredentials:
    return McpCredentials({"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)})


async def add(server: McpServer) -> str:
    async with McpTools([server]) as mcp:
        call = ToolCall("c", "s_add", {"a": 1, "b": 2})
        return (await execute(mcp.tools[0], call, Conversation())).result.text


def test_a_person_logs_in_once_and_later_processes_use_and_refresh_the_tokens(
    credentials: McpCredentials, caplog: pytest.LogCaptureFixture
) -> None:
    accounts, shown = Accounts(), list[str]()
    caplog.set_level(logging.DEBUG)

    def show(address: str) -> None:
        shown.append(address)
        browse(address)

    async def main(url: str) -> None:
        server = McpServer("s", url=url, credentials=credentials)
        assert await log_in(server, show) is True
        asked = parse_qs(urlsplit(shown[0]).query)
        assert (asked["code_challenge_method"], asked["resource"]) == (["S256"], [url])
        assert urlsplit(asked["redirect_uri"][0]).hostname == "127.0.0.1"
        assert await add(server) == "3"
        assert accounts.refreshed == 0
        # The token ends, and the next process refreshes it.
        kept = json.loads(credentials.load(url))
        credentials.save(url, json.dumps(kept | {"ends": 1.0}))
        assert await add(server) == "3"
        assert accounts.refreshed == 1
        assert await add(server) == "3"
        assert accounts.refreshed == 1
        assert len(shown) == 1

    with protected(accounts) as url:
        asyncio.run(main(url))
    assert credentials.path.stat().st_mode & 0o777 == 0o600
    written = caplog.text + repr(
        McpServer("s", url="http://x", credentials=credentials, oauth={"client_secret": "hush"})
    )
    assert not [each for each in (*accounts.access, *accounts.refresh, "hush") if each in written]


def test_without_a_person_the_command_is_named_and_nothing_is_registered(credentials: McpCredentials) -> None:
    accounts = Accounts()
    with protected(accounts) as url, pytest.raises(ConfigurationError) as raised:
        asyncio.run(add(McpServer("s", url=url, credentials=credentials)))
    assert "HTTP 401 Unauthorized" in str(raised.value)
    assert "`antiphon setup logins add s` logs in" in str(raised.value)
    assert accounts.clients == {}


def test_tokens_that_no_longer_count_need_a_new_login(credentials: McpCredentials) -> None:
    accounts = Accounts()

    async def main(url: str) -> None:
        server = McpServer("s", url=url, credentials=credentials)
        await log_in(server, browse)
        accounts.access.clear()
        accounts.refresh.clear()
        with pytest.raises(ConfigurationError, match="`antiphon setup logins add s` logs in"):
            await add(server)
        assert await log_in(server, browse) is True
        assert await add(server) == "3"

    with protected(accounts) as url:
        asyncio.run(main(url))


def test_a_login_that_is_refused_says_so_and_stores_nothing(credentials: McpCredentials) -> None:
    accounts = Accounts()
    accounts.is_refusing = True
    with protected(accounts) as url:
        with pytest.raises(ConfigurationError, match="the login was refused: 'access_denied'"):
            asyncio.run(log_in(McpServer("s", url=url, credentials=credentials), browse))
        assert credentials.load(url) == ""


def test_a_header_of_your_own_wins_over_a_login(credentials: McpCredentials) -> None:
    accounts = Accounts()

    async def main(url: str) -> None:
        await log_in(McpServer("s", url=url, credentials=credentials), browse)
        token = next(iter(accounts.access))
        own = McpServer("s", url=url, headers={"Authorization": f"Bearer {token}"}, credentials=credentials)
        assert await add(own) == "3"
        with pytest.raises(ConfigurationError, match="401"):
            await add(McpServer("s", url=url, headers={"authorization": "Bearer no"}, credentials=credentials))

    with protected(accounts) as url:
        asyncio.run(main(url))


def test_a_server_without_a_login_and_one_that_is_a_process(credentials: McpCredentials) -> None:
    open_server = MCPServer("open")
    with serving(open_server.streamable_http_app()) as url:
        assert asyncio.run(log_in(McpServer("s", url=url, credentials=credentials), browse)) is False
    with pytest.raises(ConfigurationError, match="has no `url` and `credentials`"):
        asyncio.run(log_in(McpServer("s", "x"), browse))


@pytest.mark.parametrize(
    ("server", "address", "is_used"),
    [
        ("https://mcp.example.com/mcp", "https://login.example.com/a?b=c", True),
        ("https://mcp.example.com/mcp", "http://login.example.com/", False),
        ("https://mcp.example.com/mcp", "https://127.0.0.1/token", False),
        ("https://mcp.example.com/mcp", "https://localhost/token", False),
        ("https://mcp.example.com/mcp", "https://169.254.169.254/latest", False),
        ("https://mcp.example.com/mcp", "https://[::1]/token", False),
        ("https://mcp.example.com/mcp", "file:///etc/passwd", False),
        ("https://mcp.example.com/mcp", "https://exämple.com/", False),
        ("http://127.0.0.1:1/mcp", "http://127.0.0.1:2/token", True),
        ("http://127.0.0.1:1/mcp", "https://login.example.com/", True),
    ],
)
def test_addresses_that_a_server_names_are_checked(server: str, address: str, is_used: bool) -> None:
    named = McpServer("s", url=server)
    if is_used:
        check_address(named, address)
    else:
        with pytest.raises(ConfigurationError, match="names an address for its authorization that is not used"):
            check_address(named, address)


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="`oauth` of MCP server `s` has no setting `secret`"):
        McpServer("s", url="https://x", oauth={"secret": "x"})


def test_logins_are_listed_and_removed(credentials: McpCredentials) -> None:
    credentials.save("https://a/mcp", "{}")
    assert credentials.addresses() == ["https://a/mcp"]
    assert credentials.remove("https://a/mcp")
    assert not credentials.remove("https://a/mcp")
    assert credentials.addresses() == []
