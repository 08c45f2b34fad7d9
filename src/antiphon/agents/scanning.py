"""Secrets in what somebody is about to say: whatever looks like one is refused, and so is what cannot be looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from antiphon.providers.secrets import is_secret_name

#: What a secret is called in a refusal, and what it looks like.
_LOOKS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
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
    )
)
#: A value that is this long cannot be in a text by chance.
_SHORTEST = 8


def known_secrets(environment: Mapping[str, str] | None = None) -> frozenset[str]:
    """The secrets of this process: what variables hold that are called like one, and the keys that are stored."""
    from antiphon.config.keys import keys_file, read

    variables = os.environ if environment is None else environment
    named = [value for name, value in variables.items() if is_secret_name(name)]
    return frozenset(each for each in (*named, *read(keys_file(environment)).values()) if len(each) >= _SHORTEST)


def secret_in(text: str, known: Iterable[str] = ()) -> str:
    """What kind of secret a text holds, and in which line; nothing, where it holds none."""
    for each in known:
        if (place := text.find(each)) >= 0:
            return _told("a secret of this machine", text, place)
    for name, pattern in _LOOKS:
        if found := pattern.search(text):
            return _told(name, text, found.start())
    return ""


def _told(name: str, text: str, place: int) -> str:
    return f"{name}, in line {text.count(chr(10), 0, place) + 1}"
