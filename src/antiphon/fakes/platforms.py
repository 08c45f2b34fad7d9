"""The platforms of a fake: Azure, Vertex AI and Amazon Bedrock, with their paths, credentials and errors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from antiphon._base.json_access import as_array, as_object
from antiphon.fakes.aws_signatures import SignedRequest, find_signature_error
from antiphon.fakes.aws_stream import encode_chunks
from antiphon.fakes.identity import FakeIdentity
from antiphon.fakes.request_handler import HttpReply
from antiphon.fakes.script import Received
from antiphon.fakes.vendors import AWS, AZURE, GOOGLE, ErrorReply, FakeVendor
from antiphon.wire.rules.anthropic_options import NO_SAMPLING_SINCE

#: Returns the error for a request without valid credentials. The last argument are the accepted keys.
AccessCheck = Callable[[SignedRequest, FakeIdentity, set[str]], ErrorReply | None]
#: Returns a request in the form of the API's owner, and the error if it lacks what the platform wants.
RequestReader = Callable[[Received], tuple[Received, ErrorReply | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformEndpoint:
    """An endpoint of a platform, and how it differs from the API's owner."""

    path: str
    api: str
    #: Whose errors are told where access is denied or the script fails.
    vendor: FakeVendor
    #: Whose errors are told for a request that breaks a rule of the API, if not those of its owner.
    rule_vendor: FakeVendor | None = None
    check_access: AccessCheck
    read: RequestReader = lambda received: (received, None)
    stream: bool = False
    #: Whether it makes embeddings.
    embeds: bool = False
    finish: Callable[[HttpReply], HttpReply] = lambda reply: reply


#: The version of the Claude API that those of the platforms stand for.
_FIRST_VERSION = "2023-06-01"


def _get_bearer(headers: Mapping[str, str]) -> str:
    kind, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if kind.lower() == "bearer" else ""


def _check_azure(request: SignedRequest, identity: FakeIdentity, keys: set[str]) -> ErrorReply | None:
    token, key = _get_bearer(request.headers), request.headers.get("api-key", "")
    if token.count(".") == 2:
        if identity.is_entra_token_valid(token):
            return None
        return ErrorReply(
            "Unauthorized. Access token is missing, invalid, audience is incorrect (https://ai.azure.com), or have "
            "expired.",
            401,
            code="Unauthorized",
        )
    given = key or token
    return None if given and (not keys or given in keys) else AZURE.wrong_key


def _check_vertex(request: SignedRequest, identity: FakeIdentity, keys: set[str]) -> ErrorReply | None:  # noqa: ARG001
    token = _get_bearer(request.headers)
    if not token:
        return ErrorReply(
            "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or "
            "other valid authentication credential. See "
            "https://developers.google.com/identity/sign-in/web/devconsole-project.",
            401,
        )
    if identity.check_google_token(token):
        return ErrorReply(
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other "
            "valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
            401,
        )
    return None


def _check_bedrock(request: SignedRequest, identity: FakeIdentity, keys: set[str]) -> ErrorReply | None:
    key = _get_bearer(request.headers) or request.headers.get("x-api-key", "")
    if key:
        return None if not keys or key in keys else AWS.wrong_key
    if not request.headers.get("authorization"):
        return AWS.missing_key
    return find_signature_error(request, identity, ("bedrock",))


def _make_body_version_reader(version: str, *, is_invoke: bool) -> RequestReader:
    """Return the reader of Anthropic's requests with the version in the body and the model in the URL."""

    def read(received: Received) -> tuple[Received, ErrorReply | None]:
        body = dict(as_object(received.body))
        given = body.pop("anthropic_version", None)
        # Anthropic's SDKs send the version of the Claude API in its place.
        if given not in (version, NO_SAMPLING_SINCE):
            said = "Field required" if given is None else f"Input should be '{version}'"
            return received, ErrorReply(f"anthropic_version: {said}")
        for name in ("model", *(("stream",) if is_invoke else ())):
            if name in body:
                return received, ErrorReply(f"{name}: Extra inputs are not permitted")
        betas: list[Any] = as_array(body.pop("anthropic_beta", [])) if is_invoke else []
        beta = ",".join(map(str, betas)) or ("" if is_invoke else received.headers.get("anthropic-beta", ""))
        headers = {**received.headers, "anthropic-version": _FIRST_VERSION if given == version else given}
        headers["anthropic-beta"] = beta
        return dataclasses.replace(received, body={"model": received.model, **body}, headers=headers), None

    return read


def _read_deployment(received: Received) -> tuple[Received, ErrorReply | None]:
    """Return a request whose URL names the deployment, with it as the model."""
    return dataclasses.replace(received, body={**as_object(received.body), "model": received.model}), None


def _finish_aws_stream(reply: HttpReply) -> HttpReply:
    if not reply.media_type.startswith("text/event-stream"):
        return reply
    chunks, media_type = encode_chunks(reply.chunks), "application/vnd.amazon.eventstream"
    return dataclasses.replace(reply, chunks=chunks, media_type=media_type)


def _make_azure_endpoints() -> list[PlatformEndpoint]:
    make = partial(PlatformEndpoint, vendor=AZURE, check_access=_check_azure)
    paths = {"/chat/completions": "openai-chat", "/responses": "openai-responses"}
    return [
        *(make(path=f"/azure/openai/v1{path}", api=api) for path, api in paths.items()),
        make(path="/azure/openai/v1/embeddings", api="openai-chat", embeds=True),
        # The older form, with a dated version in the query.
        make(path="/azure/openai/responses", api="openai-responses"),
        make(path="/azure/openai/deployments/{model}/chat/completions", api="openai-chat", read=_read_deployment),
    ]


def _make_vertex_endpoints() -> list[PlatformEndpoint]:
    make = partial(PlatformEndpoint, vendor=GOOGLE, check_access=_check_vertex)
    read = _make_body_version_reader("vertex-2023-10-16", is_invoke=False)
    made: list[PlatformEndpoint] = []
    for version in ("v1", "v1beta1"):
        root = f"/vertex/{version}/projects/{{project}}/locations/{{location}}/publishers"
        for method, is_stream in (("rawPredict", False), ("streamRawPredict", True)):
            path = f"{root}/anthropic/models/{{model}}:{method}"
            made.append(make(path=path, api="anthropic", read=read, stream=is_stream))
        for method, is_stream in (("generateContent", False), ("streamGenerateContent", True)):
            path = f"{root}/google/models/{{model}}:{method}"
            made.append(make(path=path, api="gemini", stream=is_stream))
    return made


def _make_bedrock_endpoints() -> list[PlatformEndpoint]:
    make = partial(PlatformEndpoint, vendor=AWS, check_access=_check_bedrock)
    read = _make_body_version_reader("bedrock-2023-05-31", is_invoke=True)
    invoke = partial(make, api="anthropic", read=read, rule_vendor=AWS)
    return [
        make(path="/bedrock/anthropic/v1/messages", api="anthropic"),
        make(path="/bedrock/openai/v1/chat/completions", api="openai-chat"),
        make(path="/bedrock/openai/v1/responses", api="openai-responses"),
        invoke(path="/bedrock/model/{model:path}/invoke"),
        invoke(
            path="/bedrock/model/{model:path}/invoke-with-response-stream",
            stream=True,
            finish=_finish_aws_stream,
        ),
    ]


#: The endpoints of all platforms.
ENDPOINTS = [*_make_azure_endpoints(), *_make_vertex_endpoints(), *_make_bedrock_endpoints()]
