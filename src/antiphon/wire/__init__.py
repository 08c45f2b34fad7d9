"""How conversations travel: one package for each provider API, pure functions both ways.

`wire(api)` gives the functions of one API; `rules` says what each API rejects. Nothing here opens a connection.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, cast

from antiphon.conversation import Conversation, Origin
from antiphon.errors import FormatError, OptionError
from antiphon.wire.options import Options, Profile, Target
from antiphon.wire.reading import Reading
from antiphon.wire.reply import CallDelta, Decoder, Delta, ErrorText, ReasoningDelta, Reply, Stop, TextDelta, Usage
from antiphon.wire.shape import arr, obj

#: The APIs by name, with the provider who owns each.
APIS = {
    "anthropic": "anthropic",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "gemini": "google",
}

_ANTHROPIC = ("thinking", "redacted_thinking", "image", "document", "search_result", "container_upload", "compaction")


class Wire(Protocol):
    """What the package of every API offers."""

    @property
    def API(self) -> str:
        """The name of the API."""
        ...

    def path(self, target: Target, stream: bool) -> str:
        """Where requests go, below the base URL."""
        ...

    def encode(self, conversation: Conversation, target: Target, options: Options) -> bytes:
        """The request body."""
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
    """The API whose shape a history has; a FormatError if it has none."""
    top = obj(data)
    if "contents" in top:
        return "gemini"
    if "input" in top:
        return "openai-responses"
    messages = arr(top.get("messages")) if "messages" in top else arr(data)
    if not messages and "messages" not in top:
        raise FormatError("this is no history: neither a list of messages nor a request that holds one")
    for message in map(obj, messages):
        if "parts" in message or message.get("role") == "model":
            return "gemini"
        if "tool_calls" in message or message.get("role") in ("tool", "developer", "function"):
            return "openai-chat"
        if message.get("type") not in (None, "message"):
            return "openai-responses"
        for kind in (obj(block).get("type") for block in arr(message.get("content"))):
            if kind in ("input_text", "output_text", "input_image", "input_file", "refusal"):
                return "openai-responses"
            if kind in ("image_url", "input_audio", "file"):
                return "openai-chat"
            if kind in _ANTHROPIC or str(kind).endswith(("tool_use", "tool_result")):
                return "anthropic"
    if "system" in top or any("input_schema" in obj(tool) for tool in arr(top.get("tools"))):
        return "anthropic"
    # Nothing but text is the same to both; Anthropic wants a limit with it.
    claude = str(top.get("model")).startswith("claude-") and "max_tokens" in top
    return "anthropic" if claude else "openai-chat"


def read(data: object, api: str | None = None, model: str = "") -> Reading:
    """A foreign history as a conversation; the API is recognised where it is not named."""
    api = api or detect(data)
    model = model or str(obj(data).get("model") or "")
    return wire(api).read(data, Origin(APIS.get(api, ""), api, model))


__all__ = [
    "APIS",
    "CallDelta",
    "Decoder",
    "Delta",
    "ErrorText",
    "Options",
    "Profile",
    "Reading",
    "ReasoningDelta",
    "Reply",
    "Stop",
    "Target",
    "TextDelta",
    "Usage",
    "Wire",
    "detect",
    "read",
    "wire",
]
