"""How conversations travel: one package for each provider API, pure functions both ways.

`wire(api)` gives the functions of one API; `rules` says what each API rejects. Nothing here opens a connection.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from antiphon._public import lazy, publish
from antiphon._shape import arr, obj, string
from antiphon.conversation import Conversation, Origin
from antiphon.errors import FormatError, OptionError
from antiphon.wire.cache import CacheOutcome, CacheReport
from antiphon.wire.options import Options, Profile, Target
from antiphon.wire.prompt import PrefixChange, Prompt
from antiphon.wire.reply import (
    CallDelta,
    Decoder,
    Delta,
    ErrorText,
    FactWrong,
    Healed,
    ProgressDelta,
    ReasoningDelta,
    Reply,
    RetryDelta,
    Stop,
    TextDelta,
    Usage,
)
from antiphon.wire.reply_state import RefusalDetails, ReplyState
from antiphon.wire.request import Request

if TYPE_CHECKING:
    from antiphon.wire.reading import Reading

#: The APIs by name, with the provider who owns each.
APIS = {
    "anthropic": "anthropic",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "gemini": "google",
}

_ANTHROPIC = ("thinking", "redacted_thinking", "image", "document", "search_result", "container_upload", "compaction")
#: What parts of Gemini say what they are by, where no role does.
_GEMINI = {
    "text",
    "functionCall",
    "function_call",
    "functionResponse",
    "function_response",
    "inlineData",
    "inline_data",
}
#: Items of the Responses API that have a name of their own; the others end alike.
_ITEMS = (
    "reasoning",
    "item_reference",
    "compaction",
    "compaction_summary",
    "mcp_list_tools",
    "additional_tools",
    "program",
)
_ITEM_ENDINGS = ("_call", "_output", "_approval_request", "_approval_response")


class Wire(Protocol):
    """What the package of every API offers."""

    @property
    def API(self) -> str:
        """The name of the API."""
        ...

    def path(self, target: Target, stream: bool) -> str:
        """Where requests go, below the base URL."""
        ...

    def encode(self, conversation: Conversation, target: Target, options: Options) -> Request:
        """Return the request: its body, its headers and the prompt that it holds."""
        ...

    def history(self, conversation: Conversation, target: Target) -> dict[str, Any]:
        """The conversation in this API's shape, as data."""
        ...

    def decode(self, response: object, origin: Origin) -> Reply:
        """A response body as a reply."""
        ...

    def Decoder(self, origin: Origin) -> Decoder:
        """A decoder for one stream."""
        ...

    def error_text(self, data: object) -> ErrorText:
        """What an error body says."""
        ...

    def read(self, data: object, origin: Origin) -> Reading:
        """A history or a whole request of this API as a conversation."""
        ...


def wire(api: str) -> Wire:
    """The functions of one API, imported when first asked for."""
    if api not in APIS:
        raise OptionError(f"there is no API {api!r}; there are {', '.join(APIS)}")
    return cast(Wire, import_module(f"antiphon.wire.{api.replace('-', '_')}"))


def detect(data: object) -> str:
    """The API whose shape a history has, told by its parts; a FormatError if it has none."""
    top = obj(data)
    key = next((key for key in ("contents", "input", "messages") if key in top), "")
    given: object = top[key] if key else data
    messages = arr(given) or ([obj(given)] if key == "contents" and obj(given) else [])
    found = next((api for message in messages if (api := _api_of(obj(message)))), "")
    known = given == [] or found or any(map(_is_message, messages))
    if key == "contents" and (found == "gemini" or given == []):
        return "gemini"
    if key == "input" and (isinstance(given, str) or (known and found in ("", "openai-responses"))):
        return "openai-responses"
    if found and key in ("", "messages"):
        return found
    if not (key == "messages" and given == []) and not any(map(_is_message, messages)):
        raise FormatError("this is no history: neither a list of messages nor a request that holds one")
    if "system" in top or any("input_schema" in obj(tool) for tool in arr(top.get("tools"))):
        return "anthropic"
    # Nothing but text is the same to both; Anthropic wants a limit with it.
    claude = str(top.get("model")).startswith("claude-") and "max_tokens" in top
    return "anthropic" if claude else "openai-chat"


def _api_of(message: dict[str, Any]) -> str:
    """The API that alone has such a message, or ""."""
    if "parts" in message:
        return "gemini" if _is_content(message) else ""
    if message.get("role") == "model":
        return "gemini"
    if "tool_calls" in message or message.get("role") in ("tool", "function"):
        return "openai-chat"
    kind = message.get("type")
    if isinstance(kind, str) and kind != "message":
        return "openai-responses" if kind in _ITEMS or kind.endswith(_ITEM_ENDINGS) else ""
    return next((api for block in arr(message.get("content")) if (api := _api_of_block(obj(block)))), "")


def _api_of_block(block: dict[str, Any]) -> str:
    kind = string(block.get("type"))
    if kind in ("input_text", "output_text", "input_image", "input_file", "refusal"):
        return "openai-responses"
    if kind in ("image_url", "input_audio", "file"):
        return "openai-chat"
    return "anthropic" if kind in _ANTHROPIC or kind.endswith(("tool_use", "tool_result")) else ""


def _is_content(message: dict[str, Any]) -> bool:
    """Whether the parts are Gemini's: each says what it is by a field, none by a tag."""
    parts = [obj(part) for part in arr(message["parts"]) or [message["parts"]]]
    if any(tag in each for each in (*parts, message) for tag in ("type", "kind", "part_kind", "partKind")):
        return False
    if message.get("role") is None:
        return any(not _GEMINI.isdisjoint(part) for part in parts)
    return string(message["role"]).lower() in ("user", "model", "function", "assistant", "system")


def _is_message(message: object) -> bool:
    data = obj(message)
    role = data.get("role") in ("user", "assistant", "system", "developer", "tool", "function")
    content: object = data.get("content")
    return role and "parts" not in data and (content is None or isinstance(content, str | list))


def read(data: object, api: str | None = None, model: str = "") -> Reading:
    """A foreign history as a conversation; the API is recognised where it is not named."""
    api = api or detect(data)
    model = model or str(obj(data).get("model") or "")
    return wire(api).read(data, Origin(APIS.get(api, ""), api, model))


__all__ = [
    "APIS",
    "CacheOutcome",
    "CacheReport",
    "CallDelta",
    "Decoder",
    "Delta",
    "ErrorText",
    "FactWrong",
    "Healed",
    "Options",
    "PrefixChange",
    "Profile",
    "ProgressDelta",
    "Prompt",
    "Reading",
    "ReasoningDelta",
    "RefusalDetails",
    "Reply",
    "ReplyState",
    "Request",
    "RetryDelta",
    "Stop",
    "Target",
    "TextDelta",
    "Usage",
    "Wire",
    "detect",
    "read",
    "wire",
]

__getattr__ = lazy(__name__, {"Reading": "reading"})
publish(globals())
