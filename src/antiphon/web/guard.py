"""Who may ask: only pages of ours, at a name of ours, for somebody who has a token. Others are told why not."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from antiphon.errors import OptionError
from antiphon.web.users import User, Users, key_of

#: The names of this machine: a page elsewhere can give its own name our address, but not these.
_HERE = frozenset({"127.0.0.1", "localhost", "[::1]"})
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
_NO_TOKEN = (
    "This page is for whoever started it: open the link that `antiphon serve` printed, with its token.\n"
    "A link on another page does not do: copy it into the address bar."
)


#: Where a token may come with the request itself, because who asks there need not be a page.
_BEARER = "/agui"
#: How often is looked whether somebody who looks at something still may, in seconds.
_OFTEN = 1.0
#: Where the application finds who asks.
WHO = "antiphon.user"


class Guard:
    """Stands before an application. `policy` is what its pages may load and run, as browsers enforce it.

    A response that brings a policy of its own keeps that.
    """

    def __init__(self, app: Any, token: str, origins: Sequence[str], policy: str, users: Users | None = None) -> None:
        self._app = app
        self._owner = User("", key_of(token))
        self._users = users
        self._origins = frozenset(map(_origin, origins))
        self._headers = (*_HEADERS, (b"content-security-policy", policy.encode()))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let a request through, or say why not."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._guarded(scope, receive, send)

    async def _guarded(self, scope: Any, receive: Any, send: Any) -> None:
        request = _Asked(scope)

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message.get("headers", ())}
                ours = (each for each in self._headers if each[0] not in own)
                message = {**message, "headers": [*message.get("headers", ()), *ours]}
            await send(message)

        who = self._who(request)
        refused = self._refused(request, who)
        if refused is not None:
            await _say(with_headers, *refused)
        elif who is None or request.path == "/login":
            await self._log_in(request, with_headers)
        elif who is self._owner:
            await self._app({**scope, WHO: who}, receive, with_headers)
        else:
            await self._while_known(who, {**scope, WHO: who}, receive, with_headers)

    async def _while_known(self, who: User, scope: Any, receive: Any, send: Any) -> None:
        """Answer somebody as long as he is a user; one who is removed sees nothing more, also of what he looks at."""
        begun = False

        async def noted(message: Any) -> None:
            nonlocal begun
            begun = True
            await send(message)

        work = asyncio.ensure_future(self._app(scope, receive, noted))
        try:
            while not work.done():
                await asyncio.wait({work}, timeout=_OFTEN)
                if who not in self._known:
                    break
            if work.done():
                await work
        finally:
            work.cancel()
        if not work.done():
            await asyncio.wait({work})
            await (send({"type": "http.response.body", "body": b""}) if begun else _say(send, 401, _NO_TOKEN))

    def _refused(self, request: _Asked, who: User | None) -> tuple[int, str] | None:
        if not self._is_ours(request.host):
            return 421, f"There is no page at {request.host[:200]!r} here."
        if request.path == "/login" and request.is_reading:
            return None
        if who is None:
            return 401, _NO_TOKEN
        if request.is_reading:
            is_page = request.path == "/" and request.header("sec-fetch-mode") in ("", "navigate")
            if not is_page and request.header("sec-fetch-site") not in ("", "none", "same-origin"):
                return 403, "Another page has asked for this."
        elif not self._is_own(request) and not self._is_no_page(request):
            return 403, "Only the page itself can do this."
        elif not who.may_act:
            return 403, f"{who.name} may look here, and not act."
        return None

    def _is_ours(self, host: str) -> bool:
        if self._origins:
            return any(host == urlsplit(each).netloc for each in self._origins)
        return _without_port(host) in _HERE

    def _is_own(self, request: _Asked) -> bool:
        origin = request.header("origin")
        known = self._origins or {f"{request.scheme}://{request.host}"}
        return origin in known and request.header("sec-fetch-site") == "same-origin"

    def _is_no_page(self, request: _Asked) -> bool:
        """Whether a server asks, with a token: no page can make a browser send one."""
        from_page = request.has("origin") or request.has("sec-fetch-site")
        return request.path == _BEARER and bool(request.bearer) and not from_page

    # The tokens

    @property
    def _known(self) -> tuple[User, ...]:
        return (self._owner, *(() if self._users is None else self._users.all))

    def _who(self, request: _Asked) -> User | None:
        """Who asks: whose cookie, or where that may be, whose token it is."""
        if request.path == _BEARER and request.bearer:
            return self._with(request.bearer)
        given = [each.encode() for each in request.cookies(self._cookie(request))]
        found: User | None = None
        for user in self._known if given else ():
            wanted = self._pass(request, user).encode()
            found = user if any(hmac.compare_digest(each, wanted) for each in given) else found
        return found

    def _with(self, token: str) -> User | None:
        key = key_of(token)
        return next((each for each in self._known if hmac.compare_digest(each.key, key)), None) if token else None

    def _cookie(self, request: _Asked) -> str:
        """The name of the cookie: browsers send cookies to all ports of a machine."""
        return f"antiphon-{request.port}"

    def _pass(self, request: _Asked, user: User) -> str:
        """What the cookie holds: of use at this place alone, and not the token."""
        return hmac.new(user.key.encode(), self._cookie(request).encode(), hashlib.sha256).hexdigest()

    async def _log_in(self, request: _Asked, send: Any) -> None:
        user = self._with(request.token)
        if user is None:
            await _say(send, 401, _NO_TOKEN)
            return
        secure = "; Secure" if request.scheme == "https" else ""
        where = f"; Path={request.root}/; HttpOnly; SameSite=Strict{secure}"
        cookie = f"{self._cookie(request)}={self._pass(request, user)}{where}"
        await _say(send, 303, "", (b"location", b"./"), (b"set-cookie", cookie.encode()))


class _Asked:
    """What a request says, as far as it matters here."""

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
        """A header that is there once; one that is there twice says nothing."""
        found = [value for key, value in self._headers if key.lower() == name.encode()]
        return found[0].decode("latin-1").strip() if len(found) == 1 else ""

    def has(self, name: str) -> bool:
        """Whether there is such a header, however often."""
        return any(key.lower() == name.encode() for key, _ in self._headers)

    @property
    def bearer(self) -> str:
        """The token that came with the request."""
        scheme, _, token = self.header("authorization").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    def cookies(self, name: str) -> list[str]:
        """All cookies of a name: what else runs on this machine may have set others, and any nonsense beside them."""
        given = b";".join(value for key, value in self._headers if key.lower() == b"cookie").decode("latin-1")
        pairs = (each.strip().partition("=") for each in given.split(";"))
        return [value for key, _, value in pairs if key == name]

    @property
    def token(self) -> str:
        given = parse_qs(self._query.decode("latin-1")).get("token", [])
        return given[0] if len(given) == 1 else ""


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _origin(given: str) -> str:
    parts = urlsplit(given.lower())
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/") or parts.query:
        raise OptionError(f"an origin is a scheme, a name and a port, such as 'https://agents.example', not {given!r}")
    return f"{parts.scheme}://{parts.netloc}"


async def _say(send: Any, status: int, text: str, *headers: tuple[bytes, bytes]) -> None:
    plain = (b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")
    await send({"type": "http.response.start", "status": status, "headers": [*plain, *headers]})
    await send({"type": "http.response.body", "body": text.encode()})
