"""Error responses of each API: body, messages and headers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from antiphon.fakes.script import Fail
from antiphon.wire.rules import Violation

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
_GEMINI_STATUSES = {
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
_USUAL_MESSAGES = {
    "anthropic": {
        400: "Error",
        401: "invalid x-api-key",
        403: "Your API key does not have permission to use the specified resource.",
        404: "model: {model}",
        413: "Request exceeds the maximum size",
        429: "This request would exceed your organization's rate limit. Please try again later.",
        500: "Internal server error",
        529: "Overloaded",
    },
    "openai": {
        400: "Invalid request.",
        401: "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.",
        403: "You are not allowed to use this model.",
        404: "The model `{model}` does not exist or you do not have access to it.",
        429: "Rate limit reached for {model} on requests per min (RPM): Limit 3, Used 3, Requested 1.",
        500: "The server had an error while processing your request. Sorry about that!",
        503: "The engine is currently overloaded, please try again later",
    },
    "gemini": {
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
}
_OPENAI_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An error before it is put into an API's format. `param` and `code` are fields of OpenAI's errors."""

    message: str
    status: int = 400
    param: str = ""
    code: str = ""
    retry_after: float | None = None

    @classmethod
    def of(cls, violation: Violation) -> ErrorReply:
        """Return the 400 error for a broken rule."""
        return cls(violation.message, 400, violation.param, violation.error_code)


def make_scripted_error(fail: Fail, api: str, model: str) -> ErrorReply:
    """Return the error that a script asks for, with the API's usual message unless it has its own."""
    family = "openai" if api.startswith("openai") else api
    usual = _USUAL_MESSAGES[family].get(fail.status) or _USUAL_MESSAGES[family][500 if fail.status >= 500 else 400]
    code = _OPENAI_CODES.get(fail.status, "") if family == "openai" else ""
    return ErrorReply(fail.message or usual.format(model=model), fail.status, "", code, fail.retry_after)


def format_error_body(refusal: ErrorReply, api: str, request_id: str) -> dict[str, Any]:
    """Return the body of an error in the format of `api`."""
    match api:
        case "anthropic":
            kind = _ANTHROPIC_TYPES.get(refusal.status, "api_error" if refusal.status >= 500 else _ANTHROPIC_TYPES[400])
            return {"type": "error", "error": {"type": kind, "message": refusal.message}, "request_id": request_id}
        case "gemini":
            return {"error": _build_gemini_error(refusal)}
        case _:
            kind = "server_error" if refusal.status >= 500 else "invalid_request_error"
            kind = "requests" if refusal.status == 429 else kind
            param, code = refusal.param or None, refusal.code or None
            return {"error": {"message": refusal.message, "type": kind, "param": param, "code": code}}


def build_retry_headers(refusal: ErrorReply, api: str) -> dict[str, str]:
    """Return the headers that say when to retry. Gemini has none: its body says so."""
    if refusal.retry_after is None or api == "gemini":
        return {}
    headers = {"retry-after": f"{refusal.retry_after:g}"}
    if api.startswith("openai"):
        headers["retry-after-ms"] = f"{refusal.retry_after * 1000:.0f}"
    return headers


def _build_gemini_error(refusal: ErrorReply) -> dict[str, Any]:
    word = _GEMINI_STATUSES.get(refusal.status, "INTERNAL" if refusal.status >= 500 else "INVALID_ARGUMENT")
    error: dict[str, Any] = {"code": refusal.status, "message": refusal.message, "status": word}
    if refusal.message.startswith(("Invalid JSON payload received. Unknown name", "Invalid value at")):
        broken = {"field": refusal.param, "description": refusal.message}
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [broken]}]
    if refusal.retry_after is not None:
        wait = f"{refusal.retry_after:g}s"
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": wait}]
    return error
