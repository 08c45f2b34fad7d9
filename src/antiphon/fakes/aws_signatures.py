"""Verification of AWS signatures: botocore computes what a request should be signed with."""

from __future__ import annotations

import re
import time
from calendar import timegm
from collections.abc import Mapping
from hmac import compare_digest
from importlib import import_module
from typing import Any, NamedTuple

from antiphon._base.optional_deps import describe_missing_extra
from antiphon.fakes.identity import FakeIdentity
from antiphon.fakes.vendors import ErrorReply

_ALGORITHM = "AWS4-HMAC-SHA256"
_FORM = re.compile(
    rf"{_ALGORITHM} Credential=(?P<key>[^/]+)/(?P<day>\d{{8}})/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request, ?"
    r"SignedHeaders=(?P<headers>[a-z0-9;-]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)
_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d")
#: How much older or newer than now a signature may be, in seconds.
_SKEW = 300


class SignedRequest(NamedTuple):
    """A request as it came."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


def _deny(kind: str, message: str) -> ErrorReply:
    return ErrorReply(message, 403, code=kind)


def find_signature_error(
    request: SignedRequest, identity: FakeIdentity, services: tuple[str, ...]
) -> ErrorReply | None:
    """Return the error for a signature that is missing, wrong or expired, in the words of AWS."""
    given = _FORM.fullmatch(request.headers.get("authorization", ""))
    stamp = request.headers.get("x-amz-date", "")
    if given is None or not re.fullmatch(r"\d{8}T\d{6}Z", stamp):
        return _deny("IncompleteSignatureException", "Authorization header requires existence of 'X-Amz-Date' header.")
    keys = identity.find_aws_keys(given["key"])
    if keys is None or request.headers.get("x-amz-security-token") != keys.token:
        return _deny("UnrecognizedClientException", "The security token included in the request is invalid.")
    if time.time() >= keys.expires_at:
        return _deny("ExpiredTokenException", "The security token included in the request is expired")
    if given["service"] not in services:
        return _deny("InvalidSignatureException", f"Credential should be scoped to correct service: '{services[0]}'. ")
    if not _REGION.fullmatch(given["region"]) or stamp[:8] != given["day"]:
        return _deny("InvalidSignatureException", "Credential should be scoped to a valid region. ")
    signed = given["headers"].split(";")
    if missing := {"host", "x-amz-date", "x-amz-security-token"} - set(signed):
        return _deny(
            "InvalidSignatureException", f"'{sorted(missing)[0]}' must be a 'SignedHeader' in the AWS Credential."
        )
    age = time.time() - timegm(time.strptime(stamp, "%Y%m%dT%H%M%SZ"))
    if abs(age) > _SKEW:
        word = "expired" if age > 0 else "not yet current"
        return _deny("InvalidSignatureException", f"Signature {word}: {stamp} is not within 5 min of now")
    try:
        wanted = _compute_signature(request, tuple(keys[:3]), given["region"], given["service"], signed, stamp)
    except ImportError as error:
        return ErrorReply(describe_missing_extra("this fake needs", "bedrock", error))
    if not compare_digest(wanted, given["signature"]):
        return _deny(
            "InvalidSignatureException",
            "The request signature we calculated does not match the signature you provided. Check your AWS Secret "
            "Access Key and signing method. Consult the service documentation for details.",
        )
    return None


def _compute_signature(
    request: SignedRequest, keys: tuple[Any, ...], region: str, service: str, signed: list[str], stamp: str
) -> str:
    auth, requests = import_module("botocore.auth"), import_module("botocore.awsrequest")
    credentials = import_module("botocore.credentials").Credentials(*keys)
    headers = {name: request.headers.get(name, "") for name in signed}
    judged = requests.AWSRequest(request.method, request.url, headers, request.body)
    judged.context["timestamp"] = stamp
    signer = auth.SigV4Auth(credentials, service, region)
    text = signer.string_to_sign(judged, signer.canonical_request(judged))
    return signer.signature(text, judged)
