"""Keys are shown to nobody: which texts of a connection are secret, and texts without them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

#: What keys look like; any of them is taken out of logs and messages, whosever it is.
_KEY = re.compile(
    r"\b(?:sk|gsk|pk|rk|xai|key)-[A-Za-z0-9_-]{8,}|\bgsk_[A-Za-z0-9]{8,}|\b[prs]k_(?:live|test|prod)_\w{8,}|\bAIza[A-Za-z0-9_-]{20,}|\bBearer\s+\S+"
)
#: What headers are called whose value is a secret, and those that never hold one.
_SECRET_NAME = re.compile(r"auth|key|token|secret|cookie|passw|credential|signature", re.IGNORECASE)
_PLAIN_NAMES = ("host", "user-agent", "accept", "accept-encoding", "connection", "content-type", "content-length")
#: What is written where a server wants no key.
_NO_SECRETS = ("", "any", "dummy", "fake", "key", "none", "ollama", "replay", "test")
#: A secret shorter than this may be part of a word, and is only hidden where it stands by itself.
_SHORT = 8
_HIDDEN = "[redacted]"
_WORD = re.compile(r"[a-z_]+")


class Secrets:
    """The secret texts of a connection; its own `repr` tells none."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = frozenset(text for text in texts if text.lower() not in _NO_SECRETS)

    def __repr__(self) -> str:
        return f"<{len(self._texts)} hidden>"

    def with_more(self, texts: Iterable[str]) -> Secrets:
        """Return these secrets together with others."""
        more = list(texts)
        return Secrets([*self._texts, *more]) if more else self

    def hide(self, text: str) -> str:
        """The text without these secrets and without anything that looks like a key."""
        if self._texts:
            text = self._pattern.sub(_HIDDEN, text)
        return _KEY.sub(_HIDDEN, text)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        forms = {form for text in self._texts for form in _forms(text)}
        # Of two secrets that begin alike the longer one is looked for first.
        return re.compile("|".join(map(_matching, sorted(forms, key=lambda form: (-len(form), form)))))


def secrets_in(headers: Mapping[str, str], *more: str) -> Secrets:
    """The secrets in what a request is sent with. A long value of a header nobody knows is taken for one."""
    return Secrets([*more, *_header_secrets(headers)])


def environment_secrets() -> list[str]:
    """Return the values of variables with the name of a secret; a plain word could stand anywhere by chance."""
    named = (value.strip() for name, value in os.environ.items() if is_secret_name(name))
    return [value for value in named if len(value) >= _SHORT and not _WORD.fullmatch(value)]


def is_secret_name(name: str) -> bool:
    """Whether what is called so is a secret, as a rule."""
    return _SECRET_NAME.search(name) is not None


def _header_secrets(headers: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        value = str(value)
        if name.lower() in _PLAIN_NAMES:
            continue
        if is_secret_name(name) or _KEY.search(value) or (len(value) >= 16 and value[:4].lower() != "http"):
            yield value
            # `Bearer …` and `Basic …` are also known without that word.
            yield value.rpartition(" ")[2]
            yield from _basic_secrets(value)


def _basic_secrets(value: str) -> tuple[str, ...]:
    """The password in a `Basic …` header."""
    if not value.lower().startswith("basic "):
        return ()
    from base64 import b64decode

    try:
        pair = b64decode(value[6:]).decode("utf-8", "replace")
    except ValueError:
        return ()
    return pair, pair.partition(":")[2]


def _forms(secret: str) -> tuple[str, ...]:
    """The secret as it is, in a URL and in JSON."""
    from urllib.parse import quote

    from antiphon._json import dumps

    return secret, quote(secret, safe=""), dumps(secret)[1:-1]


def _matching(form: str) -> str:
    pattern = re.escape(form)
    return pattern if len(form) >= _SHORT else rf"(?<!\w){pattern}(?!\w)"


def without_user(url: str) -> tuple[str, str]:
    """A URL without the `user:password@` it may hold, and those as the header that says the same."""
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


def user_secrets(url: str) -> tuple[str, ...]:
    """What of a URL's `user:password@` is secret: the password, or the name where that is all there is."""
    user, at, _ = url.partition("://")[2].partition("/")[0].rpartition("@")
    if not at:
        return ()
    from urllib.parse import unquote

    name, _, password = user.partition(":")
    return (user, unquote(password or name))
