"""Scan messages for secrets before they are posted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from antiphon._base.key_forms import KEY_PATTERN
from antiphon.providers.redaction import is_secret_name

#: The description of each kind of secret, and its pattern.
_SECRET_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("a private key", r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY"),
        ("a key of a model provider", r"\b(?:sk|gsk|rk|xai)-[A-Za-z0-9_-]{16,}|\bgsk_[A-Za-z0-9]{16,}"),
        ("a key of Google's", r"\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}"),
        ("a key of Amazon's", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
        ("a token of GitHub's", r"\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{30,}"),
        ("a token of GitLab's", r"\bglpat-[A-Za-z0-9_-]{18,}"),
        ("a token of Slack's", r"\bxox[abeprs]-[A-Za-z0-9-]{10,}"),
        ("a token of a package registry", r"\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{30,}"),
        ("a key of Stripe's", r"\b[sr]k_live_[A-Za-z0-9]{16,}"),
        ("a signed token", r"(?<![\w-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
        ("a password in an address", r"\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@]+:[^\s/:@]{3,}@"),
        ("an authorization", r"(?i)\bauthorization\s*:\s*(?:bearer|basic)\s+\S{8,}"),
        ("a key or token", KEY_PATTERN.pattern),
    )
)
#: Shorter values could occur in a text by chance.
_MIN_SECRET_LENGTH = 8


def collect_known_secrets(environment: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return the secrets of this process: values of secret-looking variables, and stored API keys."""
    from antiphon.config.keys import get_keys_path, read_stored_keys

    variables = os.environ if environment is None else environment
    named = [value for name, value in variables.items() if is_secret_name(name)]
    return frozenset(
        each
        for each in (*named, *read_stored_keys(get_keys_path(environment)).values())
        if len(each) >= _MIN_SECRET_LENGTH
    )


def find_secret(text: str, known: Iterable[str] = ()) -> str:
    """Return the kind and line of the first secret in a text; empty if there is none."""
    for each in known:
        if (place := text.find(each)) >= 0:
            return _describe_secret("a secret of this machine", text, place)
    for name, pattern in _SECRET_PATTERNS:
        if found := pattern.search(text):
            return _describe_secret(name, text, found.start())
    return ""


def _describe_secret(name: str, text: str, place: int) -> str:
    return f"{name}, in line {text.count(chr(10), 0, place) + 1}"
