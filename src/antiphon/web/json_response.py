"""JSON requests and responses of the page, with model keys redacted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from antiphon.errors import OptionError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

#: The largest row count of a request, more than a page can render.
MAX_ROWS_PARAMETER = 10_000_000
#: Shorter values could occur in a text by chance.
_MIN_KEY_LENGTH = 8


def json_response(data: Any, status: int = 200) -> Response:
    """Return data as a JSON response, with known keys redacted."""
    from starlette.responses import Response

    return Response(dump_redacted_json(data), status, {"cache-control": "no-store"}, "application/json")


def dump_redacted_json(data: Any) -> str:
    """Return data as one line of JSON, with known keys redacted."""
    # Views never contain NaN or infinity, which browsers reject; surrogates are escaped.
    return redact_keys(json.dumps(data, separators=(",", ":")))


def redact_keys(text: str) -> str:
    """Replace the known keys in a text, in plain and in JSON form."""
    for form, instead in _load_redactions():
        text = text.replace(form, instead)
    return text


async def read_json_object(request: Request, largest: int) -> dict[str, Any]:
    """Return the JSON object in a request body; raise `OptionError` if it is invalid or too large."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise OptionError("the request must have the content type `application/json`")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > largest:
            raise OptionError(f"the request body is longer than {largest:,} bytes")
    try:
        data: object = json.loads(bytes(body))
    except (ValueError, RecursionError):
        raise OptionError("the request body is not JSON") from None
    if not isinstance(data, dict):
        raise OptionError("the request body must be a JSON object")
    return cast(dict[str, Any], data)


def parse_row_count(asked: Mapping[str, str], name: str, otherwise: int) -> int:
    """Return a row count from the query parameters, or `otherwise`."""
    given = asked.get(name)
    if given is None:
        return otherwise
    if not (given.isascii() and given.isdigit()) or not 0 < int(given) <= MAX_ROWS_PARAMETER:
        raise OptionError(f"`{name}` must be a number from 1 to {MAX_ROWS_PARAMETER}, not {given!r}")
    return int(given)


def parse_number(asked: Mapping[str, str], name: str) -> int:
    """Return a number from 0 on from the query parameters."""
    given = asked.get(name)
    if given is None or not (given.isascii() and given.isdigit()) or len(given) > 9:
        raise OptionError(f"`{name}` must be a number, not {given!r}")
    return int(given)


@cache
def _load_redactions() -> tuple[tuple[str, str], ...]:
    """Return the known model keys, plain and as in JSON, each with its replacement."""
    from antiphon.config import load_configuration

    known = load_configuration().environment.list_known_keys()
    forms = (
        (name, dict.fromkeys((key, json.dumps(key)[1:-1])))
        for name, key in known.items()
        if len(key) >= _MIN_KEY_LENGTH
    )
    return tuple((form, f"[${name}]") for name, both in forms for form in both)
