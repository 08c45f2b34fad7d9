"""`system/http`: HTTP requests and their responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.errors import ProviderError
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.system import SystemFunction
from antiphon.lang.runtime.system.files import decode_text
from antiphon.lang.runtime.values import parse_json
from antiphon.lang.typecheck import types as t
from antiphon.providers.client import get_ssl_context
from antiphon.providers.decompression import ACCEPTED_ENCODINGS, make_decompressor

if TYPE_CHECKING:
    import httpx2

    from antiphon.lang.runtime.execution import ProgramExecution

_MAX_BYTES = 100_000_000
_MAX_REDIRECTS = 20
_COMPRESSION_HEADERS = {"accept-encoding": ACCEPTED_ENCODINGS}
RESPONSE = t.Object(
    {
        "status": t.ObjectField(t.NUMBER),
        "ok": t.ObjectField(t.BOOLEAN),
        "headers": t.ObjectField(t.Map(t.TEXT)),
        "text": t.ObjectField(t.TEXT),
        "json": t.ObjectField(t.JSON),
        "url": t.ObjectField(t.TEXT),
    },
    "Response",
)
_OPTIONS = t.Object(
    {
        "headers": t.ObjectField(t.Map(t.TEXT), True),
        # A variable that is a map of texts, or an object literal of scalars.
        "query": t.ObjectField(t.Union((t.Map(t.TEXT), t.Map(t.Union((t.TEXT, t.NUMBER, t.BOOLEAN))))), True),
        "body": t.ObjectField(t.JSON, True),
        "timeout": t.ObjectField(t.NUMBER, True),
        "encoding": t.ObjectField(t.TEXT, True),
    },
    "RequestOptions",
)


def _request(
    execution: ProgramExecution, method: str, url: str, options: dict[str, Any] | None = None
) -> dict[str, Any]:
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
        with httpx2.Client(timeout=seconds, verify=get_ssl_context(), headers=_COMPRESSION_HEADERS) as client:
            request = client.build_request(
                method.upper(), url, headers=given.get("headers"), params=given.get("query"), **sent
            )
            response = _send_following_redirects(client, request)
            try:
                content = _read_body(response, url)
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
    return _make_response(response, content, given.get("encoding"))


def _send_following_redirects(client: httpx2.Client, request: httpx2.Request) -> httpx2.Response:
    """Send a request and follow redirects without reading their bodies."""
    import httpx2

    for _ in range(_MAX_REDIRECTS + 1):
        response = client.send(request, stream=True)
        if response.next_request is None:
            return response
        response.close()
        request = response.next_request
    raise httpx2.TooManyRedirects(f"it redirects more than {_MAX_REDIRECTS} times")


def _read_body(response: httpx2.Response, url: str) -> bytes:
    """Return the body, decompressed in small chunks: a short one may expand to gigabytes."""
    name = f"`{url[:200]}`"
    unpack = make_decompressor(response.headers.get("content-encoding", ""), name)
    content = bytearray()
    for chunk in response.iter_raw():
        for piece in unpack(chunk) if unpack else (chunk,):
            content += piece
            if len(content) > _MAX_BYTES:
                raise VibeError("V0946", f"{name} answers with more than {_MAX_BYTES // 1_000_000} MB")
    return bytes(content)


def _make_response(response: Any, content: bytes, encoding: str | None) -> dict[str, Any]:
    """Return the response as an object; `json` is null if the body is not JSON."""
    hint = 'name its encoding, as in `get(url, { encoding: "latin-1" })`'
    known = encoding or response.charset_encoding or "utf-8"
    text = decode_text(content, f"the answer of `{str(response.url)[:200]}`", known, hint)
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


def _get(execution: ProgramExecution, url: str, options: dict[str, Any] | None = None) -> dict[str, Any]:
    return _request(execution, "GET", url, options)


def _post(
    execution: ProgramExecution, url: str, body: Any = None, options: dict[str, Any] | None = None
) -> dict[str, Any]:
    return _request(execution, "POST", url, {**(options or {}), "body": body})


def _expect_ok(response: dict[str, Any]) -> dict[str, Any]:
    if response["ok"]:
        return response
    said = " ".join(response["text"].split())[:200]
    raise VibeError(
        "V0947", f"`{response['url'][:200]}` answered with status {response['status']}{said and ': '}{said}"
    )


_URL = {"url": t.TEXT}
_OPTIONS_PARAMETER = {"options": _OPTIONS}
FUNCTIONS = {
    "get": SystemFunction("Get what is at an address. Options: `headers`, `query`, `timeout` in seconds, `encoding`.",
                    _get, {**_URL, **_OPTIONS_PARAMETER}, RESPONSE, 1, "harmless"),
    "post": SystemFunction("Send a body: a text as it is, any other value as JSON.",
                     _post, {**_URL, "body": t.JSON, **_OPTIONS_PARAMETER}, RESPONSE, 2, "unsure"),
    "request": SystemFunction("Any method; the body is one of the options.",
                        _request, {"method": t.TEXT, **_URL, **_OPTIONS_PARAMETER}, RESPONSE, 1, "unsure"),
    "expectOk": SystemFunction("The response, if its status is from 200 to 299; else an error.",
                         _expect_ok, {"response": RESPONSE}, RESPONSE),
}  # fmt: skip
