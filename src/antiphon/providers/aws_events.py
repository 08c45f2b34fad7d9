"""Decoding of AWS's event streams, which InvokeModelWithResponseStream answers with, into server-sent events."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from antiphon._base.json import dump_json, load_json
from antiphon._base.json_access import as_object, as_string
from antiphon._base.optional_deps import describe_missing_extra
from antiphon.errors import BadReply, ConnectionFailed, MalformedJSONError

#: The errors of a stream, in Anthropic's words for the same.
_ERROR_TYPES = {
    "internalServerException": "api_error",
    "modelStreamErrorException": "api_error",
    "modelTimeoutException": "timeout_error",
    "serviceUnavailableException": "overloaded_error",
    "throttlingException": "rate_limit_error",
    "validationException": "invalid_request_error",
}


class AwsEventDecoder:
    """Incremental decoder of one stream. Checksums are verified by botocore."""

    def __init__(self, provider: str) -> None:
        try:
            library = import_module("botocore.eventstream")
        except ImportError as error:
            needed = describe_missing_extra("an event stream of AWS needs", "bedrock", error)
            raise BadReply(
                f"{provider} answered with a stream that cannot be read; {needed}", provider=provider
            ) from None
        self._provider = provider
        self._faults: tuple[type[Exception], ...] = (library.ParserError,)
        self._buffer: Any = library.EventStreamBuffer()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the events that these bytes complete, each as a server-sent event."""
        try:
            self._buffer.add_data(chunk)
            for message in self._buffer:
                yield self._convert(message.headers, message.payload)
        except (*self._faults, MalformedJSONError, ValueError) as error:
            said = f"{self._provider}'s event stream is damaged: {error}"
            raise ConnectionFailed(said, provider=self._provider) from None

    def _convert(self, headers: Mapping[str, Any], payload: bytes) -> bytes:
        kind = as_string(headers.get(":message-type"))
        data = as_object(load_json(payload or b"{}", "an event"))
        if kind == "event":
            content = b64decode(as_string(data.get("bytes")), validate=True)
            name = as_string(as_object(load_json(content, "an event")).get("type"))
            return f"event: {name}\ndata: ".encode() + content.replace(b"\n", b" ") + b"\n\n"
        word = as_string(headers.get(":exception-type")) or as_string(headers.get(":error-code"))
        said = as_string(data.get("message")) or as_string(headers.get(":error-message")) or word
        error = {"type": _ERROR_TYPES.get(word, "api_error"), "message": said}
        return b"event: error\ndata: " + dump_json({"type": "error", "error": error}).encode() + b"\n\n"
