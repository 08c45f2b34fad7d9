"""Redaction of secrets: which texts of a connection are secret, and texts without them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from antiphon._base.key_forms import KEY_PATTERN

#: The form of keys; all of them are removed from logs and messages.
_KEY_PATTERN = re.compile(
    rf"{KEY_PATTERN.pattern}|\b(?:sk|gsk|pk|rk|xai|key)-[\w-]{{8,}}|\bgsk_\w{{8,}}|\bBearer\s+\S+"
    r"|(?i:\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?basic\s+[^\s\"']+)"
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
_HTML_NAMES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}


class SecretRedactor:
    """The secrets of a connection, which it removes from texts. Its `repr` shows none."""

    def __init__(self, texts: Iterable[str], issued: Collection[str] = ()) -> None:
        self._texts = frozenset(_iter_real_secrets(texts))
        #: Secrets that are still being issued: a collection that grows.
        self._issued = issued
        self._compiled: tuple[frozenset[str], re.Pattern[str]] | None = None

    def __repr__(self) -> str:
        return f"<{len(self._texts)} hidden>"

    def with_secrets(self, texts: Iterable[str]) -> SecretRedactor:
        """Return a redactor for these and more secrets."""
        more = list(texts)
        return SecretRedactor([*self._texts, *more], self._issued) if more else self

    def with_issued(self, issued: Collection[str]) -> SecretRedactor:
        """Return a redactor that also removes secrets which are added to a collection later."""
        return SecretRedactor(self._texts, issued)

    def hide(self, text: str) -> str:
        """Return the text without these secrets and without anything that looks like a key."""
        texts = self._texts | frozenset(_iter_real_secrets(tuple(self._issued))) if self._issued else self._texts
        if texts:
            if self._compiled is None or self._compiled[0] != texts:
                self._compiled = (texts, _compile_texts(texts))
            text = self._compiled[1].sub(_REDACTED, text)
        return _KEY_PATTERN.sub(_REDACTED, text)


def _iter_real_secrets(texts: Iterable[str]) -> Iterator[str]:
    return (text for text in texts if text.lower() not in _PLACEHOLDER_KEYS)


def _compile_texts(texts: Iterable[str]) -> re.Pattern[str]:
    # Of two secrets with a common prefix, match the longer one first.
    ordered = sorted(texts, key=lambda text: (-len(text), text))
    return re.compile("|".join(each for text in ordered for each in (_compile_text(text), *_compile_base64(text))))


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


def _compile_text(secret: str) -> str:
    """Return the pattern of a secret as it is, and escaped for URLs, JSON, Python, HTML or XML, also twice."""
    pattern = "".join(map(_compile_character, secret))
    return pattern if len(secret) >= _MIN_SUBSTRING_LENGTH else rf"(?<!\w){pattern}(?!\w)"


def _compile_character(char: str) -> str:
    if char.isalnum() and char.isascii():
        return char
    code, data = ord(char), char.encode("utf-8", "surrogatepass")
    units = char.encode("utf-16-be", "surrogatepass")
    escapes = {
        r"\\*" + re.escape(char),
        "".join(rf"(?i:%(?:25)?{byte:02x})" for byte in data),
        "".join(rf"\\+x(?i:{byte:02x})" for byte in data),
        "".join(rf"\\+u(?i:{units[at]:02x}{units[at + 1]:02x})" for at in range(0, len(units), 2)),
        rf"&(?:amp;)?#0*(?:{code}|[xX]0*(?i:{code:x}));",
        *({f"&(?:amp;)?{_HTML_NAMES[char]};"} if char in _HTML_NAMES else ()),
        *({r"\+"} if char == " " else ()),
    }
    return f"(?:{'|'.join(sorted(escapes))})"


def _compile_base64(secret: str) -> Iterator[str]:
    """Yield the patterns of a long secret inside of a text in base64, by how it is aligned there."""
    if len(secret) < 2 * _MIN_SUBSTRING_LENGTH:
        return
    from base64 import b64encode

    data = secret.encode("utf-8", "surrogatepass")
    for offset in range(3):
        coded = b64encode(bytes(offset) + data).decode().rstrip("=")
        # The first and the last character also depend on what is beside it.
        whole = coded[(offset * 8 + 5) // 6 : (len(data) + offset) * 8 // 6]
        yield "".join("[+-]" if each == "+" else "[/_]" if each == "/" else each for each in whole)


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
