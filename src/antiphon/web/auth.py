"""Authentication and cross-site protection: only the page itself, at a known host, for a user with a
token.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from antiphon.errors import OptionError
from antiphon.web.users import PageUser, UserFile, hash_token

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]{2,45}\]|[^\s:@/\[\]]{1,255})(?::[0-9]{1,5})?")
#: Names of this machine. DNS rebinding can point another name at it, but not these.
_LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
_SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
_LOGIN_REQUIRED = (
    "You are not logged in. Open the link with the token that `antiphon serve` printed.\n"
    "A link on another page does not work: copy it into the address bar."
)


#: The path that accepts a bearer token, because its clients need not be pages.
_BEARER_PATH = "/agui"
#: How often a user's access is checked during a long response, in seconds.
_RECHECK_SECONDS = 1.0
#: Stands for a header that is sent more than once. It is no host, origin, scheme or fetch site.
_REPEATED = "(repeated)"
#: The key of the ASGI scope that holds the current user.
USER_SCOPE_KEY = "antiphon.user"


class AuthMiddleware:
    """ASGI middleware that authenticates requests. `policy` is the Content-Security-Policy of its pages.

    A response with its own policy keeps that.
    """

    def __init__(
        self, app: Any, token: str, origins: Sequence[str], policy: str, users: UserFile | None = None
    ) -> None:
        self._app = app
        self._owner = PageUser("", hash_token(token))
        self._users = users
        self._origins = frozenset(map(_normalize_origin, origins))
        self._headers = (*_SECURITY_HEADERS, (b"content-security-policy", policy.encode()))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or reject it with a reason."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._handle_http(scope, receive, send)

    async def _handle_http(self, scope: Any, receive: Any, send: Any) -> None:
        request = _AuthRequest(scope)

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message.get("headers", ())}
                ours = (each for each in self._headers if each[0] not in own)
                message = {**message, "headers": [*message.get("headers", ()), *ours]}
            await send(message)

        who = self._who(request)
        refused = self._refused(request, who)
        if refused is not None:
            await _send_text(with_headers, *refused)
        elif who is None or request.path == "/login":
            await self._log_in(request, with_headers)
        elif who is self._owner:
            await self._app({**scope, USER_SCOPE_KEY: who}, receive, with_headers)
        else:
            await self._respond_while_authorized(who, {**scope, USER_SCOPE_KEY: who}, receive, with_headers)

    async def _respond_while_authorized(self, who: PageUser, scope: Any, receive: Any, send: Any) -> None:
        """Respond while the user is known; end the response of a user who is removed."""
        begun = False

        async def noted(message: Any) -> None:
            nonlocal begun
            begun = True
            await send(message)

        work = asyncio.ensure_future(self._app(scope, receive, noted))
        try:
            while not work.done():
                await asyncio.wait({work}, timeout=_RECHECK_SECONDS)
                if who not in self._known:
                    break
            if work.done():
                await work
        finally:
            work.cancel()
        if not work.done():
            await asyncio.wait({work})
            await (
                send({"type": "http.response.body", "body": b""}) if begun else _send_text(send, 401, _LOGIN_REQUIRED)
            )

    def _refused(self, request: _AuthRequest, who: PageUser | None) -> tuple[int, str] | None:
        if not self._is_own_host(request.host):
            return 421, f"The host {request.host[:200]!r} is not an address of this page."
        if request.path == "/login" and request.is_reading:
            return None
        if who is None:
            return 401, _LOGIN_REQUIRED
        if request.is_reading:
            is_page = request.path == "/" and request.header("sec-fetch-mode") in ("", "navigate")
            if not is_page and request.header("sec-fetch-site") not in ("", "none", "same-origin"):
                return 403, "Requests of other pages are refused."
        elif not self._is_same_origin(request) and not self._is_bearer_client(request):
            return 403, "Only the page itself can send this request."
        elif not who.may_act:
            return 403, f"{who.name} may only read."
        return None

    def _is_own_host(self, host: str) -> bool:
        if self._origins:
            return any(host == urlsplit(each).netloc for each in self._origins)
        return _without_port(host) in _LOCAL_HOSTS

    def _is_same_origin(self, request: _AuthRequest) -> bool:
        origin = request.header("origin")
        known = self._origins or {f"{request.scheme}://{request.host}"}
        return origin in known and request.header("sec-fetch-site") == "same-origin"

    def _is_bearer_client(self, request: _AuthRequest) -> bool:
        """Return whether a server sends the request with a bearer token, which no page can make a browser send."""
        from_page = request.has("origin") or request.has("sec-fetch-site")
        return request.path == _BEARER_PATH and bool(request.bearer_token) and not from_page

    # The tokens

    @property
    def _known(self) -> tuple[PageUser, ...]:
        return (self._owner, *(() if self._users is None else self._users.all))

    def _who(self, request: _AuthRequest) -> PageUser | None:
        """Return the user of a request, by cookie or by bearer token."""
        if request.path == _BEARER_PATH and request.bearer_token:
            return self._find_user_by_token(request.bearer_token)
        given = [each.encode() for each in request.cookies(self._cookie_name(request))]
        found: PageUser | None = None
        for user in self._known if given else ():
            wanted = self._pass(request, user).encode()
            found = user if any(hmac.compare_digest(each, wanted) for each in given) else found
        return found

    def _find_user_by_token(self, token: str) -> PageUser | None:
        key = hash_token(token)
        return next((each for each in self._known if hmac.compare_digest(each.key, key)), None) if token else None

    def _cookie_name(self, request: _AuthRequest) -> str:
        """Return the cookie name, which includes the port: browsers send cookies to all ports of a host."""
        return f"antiphon-{request.port}"

    def _pass(self, request: _AuthRequest, user: PageUser) -> str:
        """Return the cookie value: a digest of the user's key, valid at this port only."""
        return hmac.new(user.key.encode(), self._cookie_name(request).encode(), hashlib.sha256).hexdigest()

    async def _log_in(self, request: _AuthRequest, send: Any) -> None:
        user = self._find_user_by_token(request.token)
        if user is None:
            await _send_text(send, 401, _LOGIN_REQUIRED)
            return
        secure = "; Secure" if request.scheme == "https" else ""
        where = f"; Path={request.root}/; HttpOnly; SameSite=Strict{secure}"
        cookie = f"{self._cookie_name(request)}={self._pass(request, user)}{where}"
        await _send_text(send, 303, "", (b"location", b"./"), (b"set-cookie", cookie.encode()))


class _AuthRequest:
    """The parts of a request that matter for authentication."""

    def __init__(self, scope: Any) -> None:
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]
        self._query: bytes = scope.get("query_string", b"")
        self.root: str = scope.get("root_path", "")
        self.path: str = scope["path"].removeprefix(self.root)
        self.scheme: str = scope.get("scheme", "http")
        self.is_reading = scope["method"] in ("GET", "HEAD")
        self.host = self.header("host").lower()
        self.port = self.host.removeprefix(_without_port(self.host)).removeprefix(":") or (
            "443" if self.scheme == "https" else "80"
        )

    def header(self, name: str) -> str:
        """Return a header; empty if it is missing, and a value that nothing accepts if it is repeated."""
        found = [value for key, value in self._headers if key.lower() == name.encode()]
        return _REPEATED if len(found) > 1 else found[0].decode("latin-1").strip() if found else ""

    def has(self, name: str) -> bool:
        """Return whether a header is present, however often."""
        return any(key.lower() == name.encode() for key, _ in self._headers)

    @property
    def bearer_token(self) -> str:
        """The bearer token of the request."""
        scheme, _, token = self.header("authorization").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    def cookies(self, name: str) -> list[str]:
        """Return all cookies of a name: other servers on this host may have set more of them."""
        given = b";".join(value for key, value in self._headers if key.lower() == b"cookie").decode("latin-1")
        pairs = (each.strip().partition("=") for each in given.split(";"))
        return [value for key, _, value in pairs if key == name]

    @property
    def token(self) -> str:
        given = parse_qs(self._query.decode("latin-1")).get("token", [])
        return given[0] if len(given) == 1 else ""


def _without_port(host: str) -> str:
    """Return the name in a Host header; empty if the header is malformed."""
    found = _HOST.fullmatch(host)
    return found["name"] if found else ""


def _normalize_origin(given: str) -> str:
    parts = urlsplit(given.lower())
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/") or parts.query:
        raise OptionError(
            f"{given!r} is not an origin; use a scheme, a host and a port, such as 'https://agents.example'"
        )
    return f"{parts.scheme}://{parts.netloc}"


async def _send_text(send: Any, status: int, text: str, *headers: tuple[bytes, bytes]) -> None:
    plain = (b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")
    await send({"type": "http.response.start", "status": status, "headers": [*plain, *headers]})
    await send({"type": "http.response.body", "body": text.encode()})
