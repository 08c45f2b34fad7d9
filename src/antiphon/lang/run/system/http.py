"""`system/http`: requests, and what is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.errors import ProviderError
from antiphon.lang.check.types import BOOLEAN, JSON, NUMBER, TEXT, Field, Map, Object, Union
from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.system.files import decoded
from antiphon.lang.run.system.function import Function
from antiphon.lang.run.values import parse_json
from antiphon.providers.client import tls
from antiphon.providers.decompression import ACCEPTED, unpacking

if TYPE_CHECKING:
    import httpx2

    from antiphon.lang.run.execution import Execution

_MOST_BYTES = 100_000_000
_MOST_REDIRECTS = 20
_PACKED = {"accept-encoding": ACCEPTED}
RESPONSE = Object(
    {
        "status": Field(NUMBER),
        "ok": Field(BOOLEAN),
        "headers": Field(Map(TEXT)),
        "text": Field(TEXT),
        "json": Field(JSON),
        "url": Field(TEXT),
    },
    "Response",
)
_OPTIONS = Object(
    {
        "headers": Field(Map(TEXT), True),
        # A map of texts that the program has already, or one that is written out.
        "query": Field(Union((Map(TEXT), Map(Union((TEXT, NUMBER, BOOLEAN))))), True),
        "body": Field(JSON, True),
        "timeout": Field(NUMBER, True),
        "encoding": Field(TEXT, True),
    },
    "RequestOptions",
)


def _request(execution: Execution, method: str, url: str, options: dict[str, Any] | None = None) -> dict[str, Any]:
    import httpx2

    if execution.host.untrusted:
        raise VibeError("V0923", "--untrusted allows no requests", "run it without --untrusted if you trust it")
    given = options or {}
    body = given.get("body")
    sent: dict[str, Any] = (
        {} if body is None else {"content": body.encode()} if isinstance(body, str) else {"json": body}
    )
    seconds = given.get("timeout") or 30
    try:
        with httpx2.Client(timeout=seconds, verify=tls(), headers=_PACKED) as client:
            request = client.build_request(
                method.upper(), url, headers=given.get("headers"), params=given.get("query"), **sent
            )
            response = _answer(client, request)
            try:
                content = _read(response, url)
            finally:
                response.close()
    except httpx2.TimeoutException:
        raise VibeError("V0946", f"`{url[:200]}` did not answer within {seconds:g} seconds") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        why = " ".join(str(error).split()) or type(error).__name__
        hint = (
            "is the server running, and the address right?"
            if "://" in url
            else f"write it with its protocol: `https://{url[:100]}`"
        )
        raise VibeError("V0946", f"`{url[:200]}` could not be reached: {why}", hint) from None
    except ProviderError as error:
        raise VibeError("V0946", str(error)) from None
    return _told(response, content, given.get("encoding"))


def _answer(client: httpx2.Client, request: httpx2.Request) -> httpx2.Response:
    """Send a request and follow redirects, of which nothing is read but where they lead."""
    import httpx2

    for _ in range(_MOST_REDIRECTS + 1):
        response = client.send(request, stream=True)
        if response.next_request is None:
            return response
        response.close()
        request = response.next_request
    raise httpx2.TooManyRedirects(f"it redirects more than {_MOST_REDIRECTS} times")


def _read(response: httpx2.Response, url: str) -> bytes:
    """Return the body, unpacked in small pieces: a short one may hold gigabytes."""
    name = f"`{url[:200]}`"
    unpack = unpacking(response.headers.get("content-encoding", ""), name)
    content = bytearray()
    for chunk in response.iter_raw():
        for piece in unpack(chunk) if unpack else (chunk,):
            content += piece
            if len(content) > _MOST_BYTES:
                raise VibeError("V0946", f"{name} answers with more than {_MOST_BYTES // 1_000_000} MB")
    return bytes(content)


def _told(response: Any, content: bytes, encoding: str | None) -> dict[str, Any]:
    """What was answered; `json` is null where the answer is none."""
    hint = 'name its encoding, as in `get(url, { encoding: "latin-1" })`'
    known = encoding or response.charset_encoding or "utf-8"
    text = decoded(content, f"the answer of `{str(response.url)[:200]}`", known, hint)
    try:
        value = parse_json(text)
    except VibeError:
        value = None
    return {
        "status": response.status_code,
        "ok": response.is_success,
        "headers": dict(response.headers),
        "text": text,
        "json": value,
        "url": str(response.url),
    }


def _get(execution: Execution, url: str, options: dict[str, Any] | None = None) -> dict[str, Any]:
    return _request(execution, "GET", url, options)


def _post(execution: Execution, url: str, body: Any = None, options: dict[str, Any] | None = None) -> dict[str, Any]:
    return _request(execution, "POST", url, {**(options or {}), "body": body})


def _expect_ok(response: dict[str, Any]) -> dict[str, Any]:
    if response["ok"]:
        return response
    said = " ".join(response["text"].split())[:200]
    raise VibeError(
        "V0947", f"`{response['url'][:200]}` answered with status {response['status']}{said and ': '}{said}"
    )


_URL = {"url": TEXT}
_LAST = {"options": _OPTIONS}
FUNCTIONS = {
    "get": Function("Get what is at an address. Options: `headers`, `query`, `timeout` in seconds, `encoding`.",
                    _get, {**_URL, **_LAST}, RESPONSE, 1, "harmless"),
    "post": Function("Send a body: a text as it is, any other value as JSON.",
                     _post, {**_URL, "body": JSON, **_LAST}, RESPONSE, 2, "unsure"),
    "request": Function("Any method; the body is one of the options.",
                        _request, {"method": TEXT, **_URL, **_LAST}, RESPONSE, 1, "unsure"),
    "expectOk": Function("The response, if its status is from 200 to 299; else an error.",
                         _expect_ok, {"response": RESPONSE}, RESPONSE),
}  # fmt: skip
