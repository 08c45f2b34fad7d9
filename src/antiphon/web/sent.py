"""What is sent and what is taken: JSON, and never a key of a model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from antiphon.errors import OptionError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

#: So many rows can be asked for: more than a page can draw.
MOST_ROWS = 10_000_000
#: Shorter values could stand anywhere by chance.
_SHORT = 8


def answer(data: Any, status: int = 200) -> Response:
    """Data as a response."""
    from starlette.responses import Response

    return Response(written(data), status, {"cache-control": "no-store"}, "application/json")


def written(data: Any) -> str:
    """Data as JSON in a line, without the keys that are known here."""
    # What is no JSON in a browser, numbers that are none, was never in a view; surrogates are written as escapes.
    return without_keys(json.dumps(data, separators=(",", ":")))


def without_keys(text: str) -> str:
    """A text in which no key is that is known here, as it is or as it stands in JSON."""
    for form, instead in _keys():
        text = text.replace(form, instead)
    return text


async def json_of(request: Request, largest: int) -> dict[str, Any]:
    """The object that a request brings."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise OptionError("what is sent is `application/json`")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > largest:
            raise OptionError(f"what is sent is longer than {largest:,} bytes")
    try:
        data: object = json.loads(bytes(body))
    except (ValueError, RecursionError):
        raise OptionError("what is sent is no JSON") from None
    if not isinstance(data, dict):
        raise OptionError("what is sent is a JSON object")
    return cast(dict[str, Any], data)


def number(asked: Mapping[str, str], name: str, otherwise: int) -> int:
    """A number that is asked for by its name."""
    given = asked.get(name)
    if given is None:
        return otherwise
    if not (given.isascii() and given.isdigit()) or not 0 < int(given) <= MOST_ROWS:
        raise OptionError(f"`{name}` is a number from 1 to {MOST_ROWS}, not {given!r}")
    return int(given)


@cache
def _keys() -> tuple[tuple[str, str], ...]:
    """The keys of models that are known here, plain and as in JSON, each with what is written in its place."""
    from antiphon.config import load_configuration

    known = load_configuration().environment.known_keys()
    forms = ((name, dict.fromkeys((key, json.dumps(key)[1:-1]))) for name, key in known.items() if len(key) >= _SHORT)
    return tuple((form, f"[${name}]") for name, both in forms for form in both)
