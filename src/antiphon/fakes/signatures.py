"""Signatures on reasoning: a fake recognises later what it issued, without storing anything."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any, cast

_HMAC_KEY = b"antiphon.fakes"
_DIGEST_BYTES = 16
_MAC_BYTES = 32
_STANDARD_ALPHABET = str.maketrans("-_", "+/")


def hash_json(value: object) -> bytes:
    """Return a short hash of a JSON value; key order and the spelling of integers do not matter."""
    text = json.dumps(_normalize_numbers(value), sort_keys=True)
    return hashlib.sha256(text.encode()).digest()[:_DIGEST_BYTES]


def sign_values(purpose: str, *values: object) -> str:
    """Return a base64 token that signs `values`."""
    digests = b"".join(map(hash_json, values))
    return base64.b64encode(digests + _compute_mac(purpose, digests)).decode()


def verify_token(purpose: str, token: object) -> list[bytes] | None:
    """Return the digests that a token signs; `None` if we did not issue it for this purpose.

    Both base64 alphabets are accepted: SDKs may use either one.
    """
    if not isinstance(token, str):
        return None
    bare = token.translate(_STANDARD_ALPHABET).rstrip("=")
    try:
        content = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except ValueError:
        return None
    digests, mac = content[:-_MAC_BYTES], content[-_MAC_BYTES:]
    whole = base64.b64encode(content).decode().rstrip("=") == bare
    if not whole or not hmac.compare_digest(mac, _compute_mac(purpose, digests)):
        return None
    return [digests[at : at + _DIGEST_BYTES] for at in range(0, len(digests), _DIGEST_BYTES)]


def _compute_mac(purpose: str, digests: bytes) -> bytes:
    return hmac.digest(_HMAC_KEY, purpose.encode() + b"\0" + digests, "sha256")


def _normalize_numbers(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _normalize_numbers(item) for key, item in cast(dict[str, Any], value).items()}
    if isinstance(value, list | tuple):
        return [_normalize_numbers(item) for item in cast(list[Any], value)]
    return value
