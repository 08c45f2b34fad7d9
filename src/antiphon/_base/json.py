"""Strict JSON: input is validated once, output is always valid UTF-8."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from antiphon.errors import ContentError, MalformedJSONError

#: Encodes data that is known to be valid JSON, such as the content of parts. Raises what `json` raises otherwise.
encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_surrogate_escape = re.compile(r"\\u[dD][89a-fA-F]")
_json_token = re.compile(r'"[^"\\]*(?:\\[\s\S][^"\\]*)*(?:"|\\?\Z)|[\[\]{}]')
_unsendable = re.compile("[\x00\ud800-\udfff]")


def sanitize_unicode(text: str) -> str:
    """Replace characters that UTF-8 (lone surrogates) or databases (NUL) cannot store by U+FFFD."""
    if not isinstance(text, str):
        raise ContentError(f"text is a str, not {type(text).__name__}: {text!r:.60}")
    if type(text) is not str:
        # A result of a model is a `str`, too; what is stored must not hold its conversation.
        text = str(text)
    if text.isascii() and "\0" not in text:
        return text
    return _unsendable.sub("�", text)


def dump_json(value: object, what: str = "the value") -> str:
    """Return the value as compact JSON.

    Raise a ContentError that names `what` if the value has no JSON form.
    """
    try:
        text = encode_json(value)
    except RecursionError:
        raise ContentError(f"{what} is nested too deeply for JSON") from None
    except (TypeError, ValueError) as error:
        raise ContentError(f"{what} has no JSON form: {error}") from None
    return text if text.isascii() else _unsendable.sub("�", text)


def normalize_json(value: Any, what: str = "the value") -> Any:
    """Return a copy of the value after a JSON round trip.

    Lone surrogates are replaced, tuples become lists and keys become text.
    """
    return load_json(dump_json(value, what), what)


def prune_deep_json(text: str, depth: int = 200) -> str:
    """Return the JSON text with everything nested deeper than `depth` replaced by an ellipsis.

    It works on text that is nested too deeply to be parsed.
    """
    kept: list[str] = []
    level = place = 0
    for token in _json_token.finditer(text):
        if token[0] in "[{":
            level += 1
            if level == depth + 1:
                kept += [text[place : token.start()], '"\u2026"']
        elif token[0] in "]}":
            level -= 1
            if level == depth:
                place = token.end()
    return "".join([*kept, text[place:]]) if level <= depth else text


def load_json(data: bytes | str, what: str = "the text", *, unique: bool = False) -> Any:
    """Parse strict JSON: no NaN, no infinities, no invalid UTF-8. Lone surrogates become U+FFFD.

    With `unique`, a duplicate key in an object is an error too.
    """
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
        value = decode_unique_json(text) if unique else decode_json(text)
        if _surrogate_escape.search(text):
            value = decode_json(sanitize_unicode(encode_json(value)))
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise MalformedJSONError(f"{what} is not UTF-8: byte {error.start} is {byte:#04x}") from None
    except RecursionError:
        raise MalformedJSONError(f"{what} is nested too deeply") from None
    except ValueError as error:
        raise MalformedJSONError(f"{what} is not JSON: {error}") from None
    return value


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _parse_finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"number out of range: {digits[:20]}")
    return number


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"there are two fields {json.dumps(next(each for each in names if names.count(each) > 1))}")
    return value


#: Parses strict JSON and raises ValueError for anything else.
decode_json = json.JSONDecoder(parse_constant=_reject_constant, parse_float=_parse_finite_float).decode
#: Like `decode_json`, but a duplicate key is an error too, because it is ambiguous which value counts.
decode_unique_json = json.JSONDecoder(
    parse_constant=_reject_constant, parse_float=_parse_finite_float, object_pairs_hook=_reject_duplicate_keys
).decode
