"""Redaction of secrets: which texts of a connection are secret, and texts without them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

#: The form of keys; all of them are removed from logs and messages.
_KEY_PATTERN = re.compile(
    r"\b(?:sk|gsk|pk|rk|xai|key)-[A-Za-z0-9_-]{8,}|\bgsk_[A-Za-z0-9]{8,}|\b[prs]k_(?:live|test|prod)_\w{8,}|\bAIza[A-Za-z0-9_-]{20,}|\bBearer\s+\S+"
)
#: Names of headers whose values are secret, and of those that never are.
_SECRET_NAME = re.compile(r"auth|key|token|secret|cookie|passw|credential|signature", re.IGNORECASE)
_PLAIN_NAMES = ("host", "user-agent", "accept", "accept-encoding", "connection", "content-type", "content-length")
#: Placeholder keys for servers that need none.
_PLACEHOLDER_KEYS = ("", "any", "dummy", "fake", "key", "none", "ollama", "replay", "test")
#: A shorter secret may be part of a word, and is only redacted as a whole word.
_MIN_SUBSTRING_LENGTH = 8
_REDACTED = "[redacted]"
_WORD = re.compile(r"[a-z_]+")


class SecretRedactor:
    """The secrets of a connection, which it removes from texts. Its `repr` shows none."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = frozenset(text for text in texts if text.lower() not in _PLACEHOLDER_KEYS)

    def __repr__(self) -> str:
        return f"<{len(self._texts)} hidden>"

    def with_secrets(self, texts: Iterable[str]) -> SecretRedactor:
        """Return a redactor for these and more secrets."""
        more = list(texts)
        return SecretRedactor([*self._texts, *more]) if more else self

    def hide(self, text: str) -> str:
        """Return the text without these secrets and without anything that looks like a key."""
        if self._texts:
            text = self._pattern.sub(_REDACTED, text)
        return _KEY_PATTERN.sub(_REDACTED, text)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        forms = {form for text in self._texts for form in _encode_forms(text)}
        # Of two secrets with a common prefix, match the longer one first.
        return re.compile("|".join(map(_compile_form, sorted(forms, key=lambda form: (-len(form), form)))))


def find_request_secrets(headers: Mapping[str, str], *more: str) -> SecretRedactor:
    """Return the secrets of a request. A long value of an unknown header counts as one."""
    return SecretRedactor([*more, *_iter_header_secrets(headers)])


def environment_secrets() -> list[str]:
    """Return the values of variables with the name of a secret; a plain word could stand anywhere by chance."""
    named = (value.strip() for name, value in os.environ.items() if is_secret_name(name))
    return [value for value in named if len(value) >= _MIN_SUBSTRING_LENGTH and not _WORD.fullmatch(value)]


def is_secret_name(name: str) -> bool:
    """Return whether a name usually denotes a secret."""
    return _SECRET_NAME.search(name) is not None


def _iter_header_secrets(headers: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        value = str(value)
        if name.lower() in _PLAIN_NAMES:
            continue
        if is_secret_name(name) or _KEY_PATTERN.search(value) or (len(value) >= 16 and value[:4].lower() != "http"):
            yield value
            # Redact the value after `Bearer` or `Basic` by itself too.
            yield value.rpartition(" ")[2]
            yield from _decode_basic_auth(value)


def _decode_basic_auth(value: str) -> tuple[str, ...]:
    """Return the credentials in a `Basic …` header."""
    if not value.lower().startswith("basic "):
        return ()
    from base64 import b64decode

    try:
        pair = b64decode(value[6:]).decode("utf-8", "replace")
    except ValueError:
        return ()
    return pair, pair.partition(":")[2]


def _encode_forms(secret: str) -> tuple[str, ...]:
    """Return the secret as it is, URL-encoded, and in JSON."""
    from urllib.parse import quote

    from antiphon._base.json import dump_json

    return secret, quote(secret, safe=""), dump_json(secret)[1:-1]


def _compile_form(form: str) -> str:
    pattern = re.escape(form)
    return pattern if len(form) >= _MIN_SUBSTRING_LENGTH else rf"(?<!\w){pattern}(?!\w)"


def split_credentials(url: str) -> tuple[str, str]:
    """Return a URL without its `user:password@`, and these as the equivalent header value."""
    scheme, mark, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    user, at, host = place.rpartition("@")
    if not at:
        return url, ""
    from base64 import b64encode
    from urllib.parse import unquote

    name, _, password = user.partition(":")
    pair = f"{unquote(name)}:{unquote(password)}".encode()
    return f"{scheme}{mark}{host}{slash}{path}", "Basic " + b64encode(pair).decode()


def extract_url_secrets(url: str) -> tuple[str, ...]:
    """Return the secrets in a URL's `user:password@`: the password, or the name if there is no password."""
    user, at, _ = url.partition("://")[2].partition("/")[0].rpartition("@")
    if not at:
        return ()
    from urllib.parse import unquote

    name, _, password = user.partition(":")
    return (user, unquote(password or name))
