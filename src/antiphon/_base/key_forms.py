"""The forms of API keys, tokens and passwords that can be told from other texts."""

from __future__ import annotations

import re

#: Keys that are known by how they begin. Each form has a fixed beginning, so that a search takes linear time.
_KEY_FORMS = (
    r"\b(?:(?:sk|gsk|rk|xai|pplx|nvapi)-[\w-]{16,}|gsk_\w{20,}|[prs]k_(?:live|test|prod)_\w{8,}|whsec_\w{16,}"
    r"|gh[pousr]_\w{16,}|github_pat_\w{10,}|glpat-[\w-]{10,}|xox[abeprs]-[\w-]{10,}|(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}"
    r"|AIza[\w-]{20,}|ya29\.[\w-]{16,}|hf_\w{20,}|r8_\w{20,}|fw_\w{16,}|dapi[0-9a-f]{32}|npm_\w{30,}|pypi-[\w-]{16,}"
    r"|SG\.[\w-]{16,}(?:\.[\w-]*)?|dop_v1_\w{16,}|(?<!-)eyJ[\w-]{10,}\.eyJ[\w-]{10,}(?:\.[\w-]*)?)"
)
#: A password in the address of a server.
_ADDRESS_PASSWORD = r"(?<=://)[^/\s@:]{0,200}:[^/\s@]{1,200}(?=@)"
_PRIVATE_KEY = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----"
    r"(?:[A-Za-z0-9+/=\s\\]{0,10000}-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?"
)
KEY_PATTERN = re.compile(f"{_KEY_FORMS}|{_ADDRESS_PASSWORD}|{_PRIVATE_KEY}")
