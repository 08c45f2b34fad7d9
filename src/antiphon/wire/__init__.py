"""Codecs for provider APIs: one subpackage of pure functions per API converts requests and replies.

`wire(api)` returns the functions of one API. `rules` lists what each API rejects. Nothing
here opens a connection.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports
from antiphon.conversation import Conversation, Origin
from antiphon.errors import FormatError, OptionError
from antiphon.wire.cache import CacheOutcome, CacheReport
from antiphon.wire.options import Options, Profile, Target
from antiphon.wire.prompt import PrefixChange, Prompt
from antiphon.wire.reply import (
    CallDelta,
    Decoder,
    FactWrong,
    Healed,
    ProgressDelta,
    ProviderErrorInfo,
    ReasoningDelta,
    Reply,
    ReplyDelta,
    RetryDelta,
    Stop,
    TextDelta,
    Usage,
)
from antiphon.wire.reply_state import RefusalDetails, ReplyState
from antiphon.wire.request import EncodedRequest

if TYPE_CHECKING:
    from antiphon.wire.history_reader import ReadHistory

#: The APIs by name, with the provider who owns each.
APIS = {
    "anthropic": "anthropic",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "gemini": "google",
}

_ANTHROPIC_BLOCK_TYPES = (
    "thinking",
    "redacted_thinking",
    "image",
    "document",
    "search_result",
    "container_upload",
    "compaction",
)
#: Fields that identify a Gemini part in a content without a role.
_GEMINI_PART_FIELDS = {
    "text",
    "functionCall",
    "function_call",
    "functionResponse",
    "function_response",
    "inlineData",
    "inline_data",
}
#: Item types of the Responses API that none of the common suffixes covers.
_RESPONSES_ITEM_TYPES = (
    "reasoning",
    "item_reference",
    "compaction",
    "compaction_summary",
    "mcp_list_tools",
    "additional_tools",
    "program",
)
_RESPONSES_ITEM_SUFFIXES = ("_call", "_output", "_approval_request", "_approval_response")


class ApiCodec(Protocol):
    """Protocol that the subpackage of every API implements."""

    @property
    def API(self) -> str:
        """The name of the API."""
        ...

    def path(self, target: Target, stream: bool) -> str:
        """Return the path of the request URL, below the base URL."""
        ...

    def encode(self, conversation: Conversation, target: Target, options: Options) -> EncodedRequest:
        """Return the request: its body, its headers and the prompt that it holds."""
        ...

    def history(self, conversation: Conversation, target: Target) -> dict[str, Any]:
        """Return the conversation in this API's shape, as JSON data."""
        ...

    def decode(self, response: object, origin: Origin) -> Reply:
        """Convert a response body into a reply."""
        ...

    def Decoder(self, origin: Origin) -> Decoder:
        """Return a decoder for one stream."""
        ...

    def parse_error(self, data: object) -> ProviderErrorInfo:
        """Extract message, kind and request id from an error body."""
        ...

    def read(self, data: object, origin: Origin) -> ReadHistory:
        """Convert a history or a complete request of this API into a conversation."""
        ...


def wire(api: str) -> ApiCodec:
    """Return the codec of one API and import it on first use."""
    if api not in APIS:
        raise OptionError(f"there is no API {api!r}; there are {', '.join(APIS)}")
    return cast(ApiCodec, import_module(f"antiphon.wire.{api.replace('-', '_')}"))


def detect_api(data: object) -> str:
    """Return the API whose shape a history has. Raise FormatError if it has none."""
    top = as_object(data)
    key = next((key for key in ("contents", "input", "messages") if key in top), "")
    given: object = top[key] if key else data
    messages = as_array(given) or ([as_object(given)] if key == "contents" and as_object(given) else [])
    found = next((api for message in messages if (api := _detect_message_api(as_object(message)))), "")
    known = given == [] or found or any(map(_is_chat_message, messages))
    if key == "contents" and (found == "gemini" or given == []):
        return "gemini"
    if key == "input" and (isinstance(given, str) or (known and found in ("", "openai-responses"))):
        return "openai-responses"
    if found and key in ("", "messages"):
        return found
    if not (key == "messages" and given == []) and not any(map(_is_chat_message, messages)):
        raise FormatError("this is no history: neither a list of messages nor a request that holds one")
    if "system" in top or any("input_schema" in as_object(tool) for tool in as_array(top.get("tools"))):
        return "anthropic"
    # Plain text looks the same in both APIs, but Anthropic requires `max_tokens`.
    claude = str(top.get("model")).startswith("claude-") and "max_tokens" in top
    return "anthropic" if claude else "openai-chat"


def _detect_message_api(message: dict[str, Any]) -> str:
    """Return the only API that has such a message, or ""."""
    if "parts" in message:
        return "gemini" if _is_gemini_content(message) else ""
    if message.get("role") == "model":
        return "gemini"
    if "tool_calls" in message or message.get("role") in ("tool", "function"):
        return "openai-chat"
    kind = message.get("type")
    if isinstance(kind, str) and kind != "message":
        return "openai-responses" if kind in _RESPONSES_ITEM_TYPES or kind.endswith(_RESPONSES_ITEM_SUFFIXES) else ""
    return next((api for block in as_array(message.get("content")) if (api := _detect_block_api(as_object(block)))), "")


def _detect_block_api(block: dict[str, Any]) -> str:
    kind = as_string(block.get("type"))
    if kind in ("input_text", "output_text", "input_image", "input_file", "refusal"):
        return "openai-responses"
    if kind in ("image_url", "input_audio", "file"):
        return "openai-chat"
    return "anthropic" if kind in _ANTHROPIC_BLOCK_TYPES or kind.endswith(("tool_use", "tool_result")) else ""


def _is_gemini_content(message: dict[str, Any]) -> bool:
    """Return whether the parts are Gemini's: named by a field, never by a type tag."""
    parts = [as_object(part) for part in as_array(message["parts"]) or [message["parts"]]]
    if any(tag in each for each in (*parts, message) for tag in ("type", "kind", "part_kind", "partKind")):
        return False
    if message.get("role") is None:
        return any(not _GEMINI_PART_FIELDS.isdisjoint(part) for part in parts)
    return as_string(message["role"]).lower() in ("user", "model", "function", "assistant", "system")


def _is_chat_message(message: object) -> bool:
    data = as_object(message)
    role = data.get("role") in ("user", "assistant", "system", "developer", "tool", "function")
    content: object = data.get("content")
    return role and "parts" not in data and (content is None or isinstance(content, str | list))


def read(data: object, api: str | None = None, model: str = "") -> ReadHistory:
    """Convert a provider's history into a conversation. Detect the API if `api` is not given."""
    api = api or detect_api(data)
    model = model or str(as_object(data).get("model") or "")
    return wire(api).read(data, Origin(APIS.get(api, ""), api, model))


__all__ = [
    "APIS",
    "ApiCodec",
    "CacheOutcome",
    "CacheReport",
    "CallDelta",
    "Decoder",
    "EncodedRequest",
    "FactWrong",
    "Healed",
    "Options",
    "PrefixChange",
    "Profile",
    "ProgressDelta",
    "Prompt",
    "ProviderErrorInfo",
    "ReadHistory",
    "ReasoningDelta",
    "RefusalDetails",
    "Reply",
    "ReplyDelta",
    "ReplyState",
    "RetryDelta",
    "Stop",
    "Target",
    "TextDelta",
    "Usage",
    "detect_api",
    "read",
    "wire",
]

__getattr__ = make_lazy_getattr(__name__, {"ReadHistory": "history_reader"})
publish_exports(globals())
