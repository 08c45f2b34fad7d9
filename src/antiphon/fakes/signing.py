"""The seals on reasoning: what a fake issued it can recognise later, without remembering anything."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any, cast

_KEY = b"antiphon.fakes"
_DIGEST = 16
_MAC = 32
_STANDARD = str.maketrans("-_", "+/")


def digest(value: object) -> bytes:
    """A short hash of a JSON value; the order of keys and the spelling of whole numbers do not matter."""
    text = json.dumps(_plain(value), sort_keys=True)
    return hashlib.sha256(text.encode()).digest()[:_DIGEST]


def seal(purpose: str, *values: object) -> str:
    """A base64 token that vouches for `values`."""
    digests = b"".join(map(digest, values))
    return base64.b64encode(digests + _mac(purpose, digests)).decode()


def opened(purpose: str, token: object) -> list[bytes] | None:
    """The digests of what a token vouches for; nothing if it is not one of ours, whole and for this purpose.

    Both base64 alphabets are taken: SDKs write the token as they like.
    """
    if not isinstance(token, str):
        return None
    bare = token.translate(_STANDARD).rstrip("=")
    try:
        content = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except ValueError:
        return None
    digests, mac = content[:-_MAC], content[-_MAC:]
    whole = base64.b64encode(content).decode().rstrip("=") == bare
    if not whole or not hmac.compare_digest(mac, _mac(purpose, digests)):
        return None
    return [digests[at : at + _DIGEST] for at in range(0, len(digests), _DIGEST)]


def _mac(purpose: str, digests: bytes) -> bytes:
    return hmac.digest(_KEY, purpose.encode() + b"\0" + digests, "sha256")


def _plain(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast(dict[str, Any], value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast(list[Any], value)]
    return value
