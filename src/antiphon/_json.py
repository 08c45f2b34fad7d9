"""JSON at the border: what comes in is checked once, what goes out is always valid UTF-8."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from antiphon.errors import ContentError, MalformedJSONError

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_surrogate_escape = re.compile(r"\\u[dD][89a-fA-F]")
_token = re.compile(r'"[^"\\]*(?:\\[\s\S][^"\\]*)*(?:"|\\?\Z)|[\[\]{}]')
_unsendable = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """Replace what cannot travel as UTF-8 text (lone surrogates) or through databases (NUL) by U+FFFD."""
    if not isinstance(text, str):
        raise ContentError(f"text is a str, not {type(text).__name__}: {text!r:.60}")
    if text.isascii() and "\0" not in text:
        return text
    return _unsendable.sub("�", text)


def dumps(value: object, what: str = "the value") -> str:
    """The value as compact JSON; a ContentError names `what` when it has no JSON form."""
    try:
        text = _encode(value)
    except RecursionError:
        raise ContentError(f"{what} is nested too deeply for JSON") from None
    except (TypeError, ValueError) as error:
        raise ContentError(f"{what} has no JSON form: {error}") from None
    return text if text.isascii() else _unsendable.sub("�", text)


def well_formed(value: Any, what: str = "the value") -> Any:
    """A copy of the value as it would be read back: lone surrogates replaced, tuples as lists, keys as text."""
    return loads(dumps(value, what), what)


def pruned(text: str, depth: int = 200) -> str:
    """The JSON text with an ellipsis for whatever is nested deeper; for texts that are too deep to be read."""
    kept: list[str] = []
    level = place = 0
    for token in _token.finditer(text):
        if token[0] in "[{":
            level += 1
            if level == depth + 1:
                kept += [text[place : token.start()], '"\u2026"']
        elif token[0] in "]}":
            level -= 1
            if level == depth:
                place = token.end()
    return "".join([*kept, text[place:]]) if level <= depth else text


def loads(data: bytes | str, what: str = "the text", *, unique: bool = False) -> Any:
    """Return the value of strict JSON: no NaN, no infinities, no invalid UTF-8; lone surrogates become U+FFFD.

    With `unique`, a field that stands twice in an object is an error too.
    """
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
        value = decode_unique(text) if unique else decode(text)
        if _surrogate_escape.search(text):
            value = decode(clean(_encode(value)))
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise MalformedJSONError(f"{what} is not UTF-8: byte {error.start} is {byte:#04x}") from None
    except RecursionError:
        raise MalformedJSONError(f"{what} is nested too deeply") from None
    except ValueError as error:
        raise MalformedJSONError(f"{what} is not JSON: {error}") from None
    return value


def _reject(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"number out of range: {digits[:20]}")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"there are two fields {json.dumps(next(each for each in names if names.count(each) > 1))}")
    return value


#: The value of a text that is JSON to the letter; any other is a ValueError.
decode = json.JSONDecoder(parse_constant=_reject, parse_float=_finite).decode
#: The same, where a field that is there twice is an error too: which of them was meant is not known.
decode_unique = json.JSONDecoder(parse_constant=_reject, parse_float=_finite, object_pairs_hook=_unique).decode
