"""Detection of secrets in stored, exported and served texts, and their replacement by names.

The journal and the store of conversations detect the same values in the same encodings.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, cast
from urllib.parse import quote

from antiphon._base.json import dump_json, load_json
from antiphon.errors import ConfigurationError

#: Shorter values are ignored, and those below the second length match whole words only.
MIN_LENGTH, SHORT_LENGTH = 4, 8
#: Values that occur as ordinary words in journals and settings; they are never treated as secrets.
_WORDS = re.compile(
    "true|false|null|none|auto|text|type|kind|name|call|request|tool|person|print|clock|environment|sleep|python|"
    "question|approval|unsure|harmless|inside|value|error|reply|returned|said|args|carried|parts|usage|cost|stop|"
    "model|result|record|kept|asks|finish|requests|content|call_id|is_error|native|handle|semantic|data|"
    "media_type|image|chat|author|reasoning|foreign|arguments|arguments_json|problem|origin|user|assistant|role|"
    "results|source|is_harmless|seconds|about|again|system|tools|options|turns|length|refusal|pause|other|"
    "tool_calls|stop_sequence|stop_reason|allowed|always|outcome|code|message|line|[a-z0-9_]+_tokens|request_id|"
    "duration|hops|window|state|cache|change|bound|note|update|citations|server_call|server_result|malformed|not_done|"
    "failed|expected|written|idle|server|left_out|turn|sources|files|status",
    re.IGNORECASE,
)
_encode_ascii = json.JSONEncoder().encode
_encode_unicode = json.JSONEncoder(ensure_ascii=False).encode
#: Encodings of a value in a text: as it is, stripped, in JSON (ASCII and Unicode), and in a URL.
SECRET_FORMS: dict[str, Callable[[str], str]] = {
    "r": str,
    "s": str.strip,
    "j": lambda value: _encode_ascii(value)[1:-1],
    "k": lambda value: _encode_unicode(value)[1:-1],
    "u": lambda value: quote(value, safe=""),
}


class SecretMatcher(NamedTuple):
    """Secret values with their names, their encodings, and the pattern that finds them."""

    values: dict[str, str]
    quick: tuple[str, ...] = ()
    forms: Mapping[str, tuple[str, str]] = {}
    pattern: re.Pattern[str] | None = None

    def redact(self, text: str) -> str:
        """Return a text with names in place of secret values."""
        if self.pattern is None:
            return text
        return self.pattern.sub(lambda found: f"[${self.values[self.forms[found[0]][1]]}]", text)

    def redact_json(self, text: str) -> str:
        """Return a text of JSON with names in place of secret values."""
        if not any(form in text for form in self.quick):
            return text
        return dump_json(map_json(load_json(text), lambda each: self.redact(each) if isinstance(each, str) else each))


def make_secret_matcher(values: dict[str, str]) -> SecretMatcher:
    """Return a matcher for these values; the mapping has the name of each value."""
    forms: dict[str, tuple[str, str]] = {}
    for value in values:
        for form, made in SECRET_FORMS.items():
            forms.setdefault(made(value), (form, value))
    if not forms:
        return SecretMatcher({})
    # Longer alternatives first, so that a prefix does not match instead.
    longest = sorted(forms, key=lambda form: (-len(form), form))
    pattern = re.compile("|".join(map(_make_pattern, longest)))
    quick = {each for form in forms for each in (_encode_ascii(form)[1:-1], _encode_unicode(form)[1:-1])}
    return SecretMatcher(values, tuple(quick), forms, pattern)


def find_known_secrets() -> dict[str, str]:
    """Return secret values by name: API keys, and environment variables with the name of a secret."""
    from antiphon.config import load_configuration
    from antiphon.providers.redaction import is_secret_name

    found = {name: value for name, value in os.environ.items() if is_secret_name(name)}
    # An invalid configuration is reported where it is needed.
    with suppress(ConfigurationError):
        found |= load_configuration().environment.list_known_keys()
    return {name: value for name, value in found.items() if len(value) >= SHORT_LENGTH and is_matchable(value)}


def is_matchable(value: str) -> bool:
    """Return whether a value is distinctive enough to be detected."""
    told = value.strip()
    return len(told) >= MIN_LENGTH and not _WORDS.fullmatch(told)


def map_json(data: Any, change: Callable[[Any], Any]) -> Any:
    """Return JSON data with a function applied to each key and leaf."""
    if isinstance(data, list):
        return [map_json(each, change) for each in cast(list[Any], data)]
    if isinstance(data, dict):
        return {change(key): map_json(each, change) for key, each in cast(dict[str, Any], data).items()}
    return change(data)


def _make_pattern(form: str) -> str:
    pattern = re.escape(form)
    return pattern if len(form) >= SHORT_LENGTH else rf"(?<!\w){pattern}(?!\w)"
