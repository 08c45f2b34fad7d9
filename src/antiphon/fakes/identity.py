"""Credentials of a fake's platforms: tokens and keys that it issues, verifies and lets expire."""

from __future__ import annotations

import json
import secrets
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import cached_property
from typing import Any, NamedTuple

from antiphon.fakes.vendors import make_random_id

_HOUR = 3600.0
#: The audiences that Azure accepts.
ENTRA_AUDIENCES = ("https://ai.azure.com", "https://cognitiveservices.azure.com")
_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


class FakeAwsKeys(NamedTuple):
    """Temporary keys of AWS."""

    access_key: str
    secret_key: str
    token: str
    expires_at: float


class FakeIdentity:
    """Issues what the platforms of a fake accept as proof: tokens of Google and Entra, and keys of AWS.

    `lifetime` is in seconds; one of 0 or less has expired.
    """

    def __init__(self) -> None:
        self._google: dict[str, float] = {}
        self._aws: dict[str, FakeAwsKeys] = {}
        self._lock = threading.Lock()
        #: Tokens that were issued before have been revoked.
        self._not_before = 0.0
        #: What an application shows to the endpoint of its managed identity.
        self.header = secrets.token_hex(16)

    def issue_google_token(self, lifetime: float = _HOUR) -> str:
        """Return an access token of Google Cloud."""
        token = f"ya29.{make_random_id(60)}"
        with self._lock:
            self._google[token] = time.time() + lifetime
        return token

    def issue_entra_token(self, lifetime: float = _HOUR, audience: str = ENTRA_AUDIENCES[0]) -> str:
        """Return a token of Entra: a JSON web token, signed with a key of this object."""
        now = time.time()
        times = {"iat": now, "nbf": now - 60, "exp": now + lifetime}
        claims = {"aud": audience, "iss": "https://sts.windows.net/fake/", **times}
        return self._sign({"alg": "RS256", "typ": "JWT"}, claims)

    def issue_aws_keys(self, lifetime: float = _HOUR) -> FakeAwsKeys:
        """Return temporary keys of AWS."""
        keys = FakeAwsKeys(
            "ASIA" + make_random_id(16, _UPPER), make_random_id(40), make_random_id(120), time.time() + lifetime
        )
        with self._lock:
            self._aws[keys.access_key] = keys
        return keys

    def revoke_all(self) -> None:
        """Make everything that was issued expire."""
        with self._lock:
            self._google = dict.fromkeys(self._google, 0.0)
            self._aws = {name: keys._replace(expires_at=0.0) for name, keys in self._aws.items()}
            self._not_before = time.time()

    def find_aws_keys(self, access_key: str) -> FakeAwsKeys | None:
        """Return the keys with an id, also if they expired."""
        return self._aws.get(access_key)

    def check_google_token(self, token: str) -> str:
        """Return why a token is not accepted, in Google's word, or ""."""
        expiry = self._google.get(token)
        if expiry is None:
            return "ACCESS_TOKEN_TYPE_UNSUPPORTED"
        return "" if time.time() < expiry else "ACCESS_TOKEN_EXPIRED"

    def is_entra_token_valid(self, token: str) -> bool:
        """Return whether a token has our signature, an audience of Azure, and has not expired."""
        claims, now = self.read_signed(token), time.time()
        if claims is None or claims["aud"] not in ENTRA_AUDIENCES or claims["iat"] < self._not_before:
            return False
        return claims["nbf"] <= now < claims["exp"]

    def read_signed(self, token: str) -> dict[str, Any] | None:
        """Return the claims of a token that was signed with the key of this object, or None."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.hashes import SHA256

        signed, _, signature = token.rpartition(".")
        try:
            self._private_key.public_key().verify(_decode(signature), signed.encode(), PKCS1v15(), SHA256())
            return json.loads(_decode(signed.partition(".")[2]))
        except (InvalidSignature, ValueError):
            return None

    def make_service_account(self, url: str) -> dict[str, str]:
        """Return the key file of a service account of Google, whose tokens come from a fake's `url`."""
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        private = self._private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        return {
            "type": "service_account",
            "project_id": "fake-project",
            "private_key_id": "fake",
            "private_key": private,
            "client_email": "fake@fake-project.iam.gserviceaccount.com",
            "client_id": "1",
            "token_uri": f"{url}/google/token",
        }

    @cached_property
    def _private_key(self) -> Any:
        from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

        return generate_private_key(65537, 2048)

    def _sign(self, header: dict[str, Any], claims: dict[str, Any]) -> str:
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.hashes import SHA256

        signed = ".".join(_encode(json.dumps(each).encode()) for each in (header, claims))
        return f"{signed}.{_encode(self._private_key.sign(signed.encode(), PKCS1v15(), SHA256()))}"


def _encode(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
