"""What the servers of one company share, whichever API is asked: errors, headers and the list of models."""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from antiphon.fakes.script import Fail

_ALPHANUMERIC = string.ascii_letters + string.digits
_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_GOOGLE_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    501: "NOT_IMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An error before it is put into an API's format. `param` and `code` are fields of OpenAI's errors."""

    message: str
    status: int = 400
    param: str = ""
    code: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeVendor:
    """The servers of one company: their errors, headers and list of models."""

    missing_key: ErrorReply
    #: The error for a key that is not accepted.
    wrong_key: ErrorReply
    #: The messages for a body that is no JSON and for an unknown URL.
    invalid_json: str
    not_found: str
    #: The usual messages and error codes by status.
    messages: Mapping[int, str]
    codes: Mapping[int, str] = field(default_factory=dict[int, str])
    media_type: str = "application/json"
    #: Return the id of a request, and the headers with it.
    make_request_id: Callable[[], str]
    build_headers: Callable[[str], dict[str, str]]
    #: Return the body of an error with the id of its request, and the headers that say when to retry.
    format_error: Callable[[ErrorReply, str], dict[str, Any]]
    build_retry_headers: Callable[[ErrorReply], dict[str, str]]
    #: Return the list of models, which holds one.
    list_models: Callable[[str], dict[str, Any]]

    def make_scripted_error(self, fail: Fail, model: str) -> ErrorReply:
        """Return the error that a script asks for, with the usual message unless it has its own."""
        usual = self.messages.get(fail.status) or self.messages[500 if fail.status >= 500 else 400]
        code = self.codes.get(fail.status, "")
        return ErrorReply(fail.message or usual.format(model=model), fail.status, "", code, fail.retry_after)


def make_random_id(length: int, alphabet: str = _ALPHANUMERIC) -> str:
    """Return random characters for an id."""
    return "".join(secrets.choice(alphabet) for _ in range(length))


def _make_hex_id() -> str:
    return f"req_{make_random_id(32, '0123456789abcdef')}"


def _build_retry_after(refusal: ErrorReply, *, in_milliseconds: bool = False) -> dict[str, str]:
    if refusal.retry_after is None:
        return {}
    more = {"retry-after-ms": f"{refusal.retry_after * 1000:.0f}"} if in_milliseconds else {}
    return {"retry-after": f"{refusal.retry_after:g}", **more}


_WRONG_AZURE_KEY = ErrorReply(
    "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an "
    "active subscription and use a correct regional API endpoint for your resource.",
    401,
    code="401",
)


def _format_anthropic_error(refusal: ErrorReply, request_id: str) -> dict[str, Any]:
    kind = _ANTHROPIC_TYPES.get(refusal.status, "api_error" if refusal.status >= 500 else _ANTHROPIC_TYPES[400])
    return {"type": "error", "error": {"type": kind, "message": refusal.message}, "request_id": request_id}


ANTHROPIC = FakeVendor(
    missing_key=ErrorReply("x-api-key header is required", 401),
    wrong_key=ErrorReply("invalid x-api-key", 401),
    invalid_json="The request body is not valid JSON: {fault}",
    not_found="Not found",
    messages={
        400: "Error",
        401: "invalid x-api-key",
        403: "Your API key does not have permission to use the specified resource.",
        404: "model: {model}",
        413: "Request exceeds the maximum size",
        429: "This request would exceed your organization's rate limit. Please try again later.",
        500: "Internal server error",
        529: "Overloaded",
    },
    make_request_id=lambda: f"req_011C{make_random_id(20)}",
    build_headers=lambda request_id: {"request-id": request_id},
    format_error=_format_anthropic_error,
    build_retry_headers=_build_retry_after,
    list_models=lambda name: {
        "data": [{"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}],
        "has_more": False,
        "first_id": name,
        "last_id": name,
    },
)


def _format_openai_error(refusal: ErrorReply, request_id: str) -> dict[str, Any]:  # noqa: ARG001
    kind = "server_error" if refusal.status >= 500 else "invalid_request_error"
    kind = "requests" if refusal.status == 429 else kind
    param, code = refusal.param or None, refusal.code or None
    return {"error": {"message": refusal.message, "type": kind, "param": param, "code": code}}


_WRONG_OPENAI_KEY = (
    "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys."
)

OPENAI = FakeVendor(
    missing_key=ErrorReply(
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "
        "(i.e. Authorization: Bearer YOUR_KEY). You can obtain an API key from "
        "https://platform.openai.com/account/api-keys.",
        401,
    ),
    wrong_key=ErrorReply(_WRONG_OPENAI_KEY, 401, code="invalid_api_key"),
    invalid_json="We could not parse the JSON body of your request. (HINT: This likely means you aren't using your "
    "HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)",
    not_found="Invalid URL ({method} {path})",
    messages={
        400: "Invalid request.",
        401: _WRONG_OPENAI_KEY,
        403: "You are not allowed to use this model.",
        404: "The model `{model}` does not exist or you do not have access to it.",
        429: "Rate limit reached for {model} on requests per min (RPM): Limit 3, Used 3, Requested 1.",
        500: "The server had an error while processing your request. Sorry about that!",
        503: "The engine is currently overloaded, please try again later",
    },
    codes={401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"},
    make_request_id=_make_hex_id,
    build_headers=lambda request_id: {
        "x-request-id": request_id,
        "openai-version": "2020-10-01",
        "openai-processing-ms": "5",
    },
    format_error=_format_openai_error,
    build_retry_headers=lambda refusal: _build_retry_after(refusal, in_milliseconds=True),
    list_models=lambda name: {
        "object": "list",
        "data": [{"id": name, "object": "model", "created": 1767225600, "owned_by": "system"}],
    },
)


def _format_google_error(refusal: ErrorReply, request_id: str) -> dict[str, Any]:  # noqa: ARG001
    word = _GOOGLE_STATUSES.get(refusal.status, "INTERNAL" if refusal.status >= 500 else "INVALID_ARGUMENT")
    error: dict[str, Any] = {"code": refusal.status, "message": refusal.message, "status": word}
    if refusal.message.startswith(("Invalid JSON payload received. Unknown name", "Invalid value at")):
        broken = {"field": refusal.param, "description": refusal.message}
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [broken]}]
    if refusal.retry_after is not None:
        wait = f"{refusal.retry_after:g}s"
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": wait}]
    return {"error": error}


GOOGLE = FakeVendor(
    # A missing key is a 403 with Google, not a 401.
    missing_key=ErrorReply(
        "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or "
        "other form of API consumer identity to call this API.",
        403,
    ),
    # A wrong key is a 400 with Google.
    wrong_key=ErrorReply("API key not valid. Please pass a valid API key."),
    invalid_json="Invalid JSON payload received. Unexpected token.",
    not_found="The requested URL {path} was not found on this server.",
    messages={
        400: "Request contains an invalid argument.",
        401: "Request had invalid authentication credentials.",
        403: "The caller does not have permission",
        404: "models/{model} is not found for API version v1beta, or is not supported for generateContent.",
        429: "Resource has been exhausted (e.g. check quota).",
        500: "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/"
        "troubleshooting",
        503: "The model is overloaded. Please try again later.",
        504: "The request timed out. Please try again.",
    },
    media_type="application/json; charset=UTF-8",
    make_request_id=_make_hex_id,
    build_headers=lambda request_id: {"server-timing": "gfet4t7; dur=5"},  # noqa: ARG005
    format_error=_format_google_error,
    # The body says when to retry.
    build_retry_headers=lambda refusal: {},  # noqa: ARG005
    list_models=lambda name: {
        "models": [{"name": f"models/{name}", "supportedGenerationMethods": ["generateContent"]}]
    },
)


def _format_azure_error(refusal: ErrorReply, request_id: str) -> dict[str, Any]:  # noqa: ARG001
    return {"error": {"code": refusal.code or str(refusal.status), "message": refusal.message}}


def _build_azure_headers(request_id: str) -> dict[str, str]:
    return {"apim-request-id": request_id, "x-request-id": request_id}


#: Microsoft's gateway before the models of OpenAI.
AZURE = replace(
    OPENAI,
    missing_key=_WRONG_AZURE_KEY,
    wrong_key=_WRONG_AZURE_KEY,
    not_found="Resource not found",
    messages={
        **OPENAI.messages,
        401: "The principal `fake` lacks the required data action "
        "`Microsoft.CognitiveServices/accounts/OpenAI/deployments/chat/completions/action` to perform "
        "`POST /openai/deployments/{{deployment-id}}/chat/completions` operation.",
        404: "The API deployment for this resource does not exist. If you created the deployment within the last 5 "
        "minutes, please wait a moment and try again.",
    },
    codes={401: "PermissionDenied", 404: "DeploymentNotFound", 429: "429"},
    format_error=_format_azure_error,
    build_headers=_build_azure_headers,
)

_AWS_KINDS = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
}

AWS = FakeVendor(
    missing_key=ErrorReply("Missing Authentication Token", 403, code="MissingAuthenticationTokenException"),
    wrong_key=ErrorReply("Authentication failed: Please make sure your API Key is valid.", 403),
    invalid_json="Malformed input request, please reformat your input and try again.",
    not_found="",
    messages={
        400: "Malformed input request, please reformat your input and try again.",
        403: "User: arn:aws:sts::123456789012:assumed-role/fake is not authorized to perform: bedrock:InvokeModel on "
        "resource: {model} because no identity-based policy allows the bedrock:InvokeModel action",
        404: "Could not resolve the foundation model from the provided model identifier.",
        429: "Too many requests, please wait before trying again.",
        500: "The system encountered an unexpected error during processing. Try your request again.",
        503: "Bedrock is unable to process your request.",
    },
    make_request_id=lambda: str(uuid4()),
    build_headers=lambda request_id: {"x-amzn-requestid": request_id},
    format_error=lambda refusal, request_id: {"message": refusal.message},  # noqa: ARG005
    build_retry_headers=lambda refusal: {
        "x-amzn-errortype": refusal.code or _AWS_KINDS.get(refusal.status, "InternalServerException")
    },
    list_models=lambda name: {"modelSummaries": [{"modelId": name}]},
)
