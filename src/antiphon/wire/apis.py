"""The APIs: their specifications by name, their codecs, and detection of an API by its messages."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import Conversation, Origin
from antiphon.errors import FormatError, OptionError
from antiphon.wire import anthropic, gemini, google_interactions, openai_chat, openai_responses
from antiphon.wire.api_spec import ApiSpec

if TYPE_CHECKING:
    from antiphon.wire.history_reader import ReadHistory
    from antiphon.wire.hosted_tools import HostedToolForm
    from antiphon.wire.options import Options, Target
    from antiphon.wire.reply import Decoder, ProviderErrorInfo, Reply
    from antiphon.wire.request import EncodedRequest

#: The APIs by name.
APIS: dict[str, ApiSpec] = {
    spec.name: spec
    for spec in (anthropic.SPEC, openai_chat.SPEC, openai_responses.SPEC, gemini.SPEC, google_interactions.SPEC)
}
#: The API of messages that several APIs have, unless something else shows another.
PLAIN_API = openai_chat.SPEC.name
_PLAIN_ROLES = ("user", "assistant", "system", "developer", "tool", "function")


class ApiCodec(Protocol):
    """Protocol that the subpackage of every API implements."""

    @property
    def SPEC(self) -> ApiSpec:
        """The properties of the API."""
        ...

    @property
    def HOSTED_TOOLS(self) -> Mapping[str, HostedToolForm]:
        """The declarations of tools that the provider runs, by kind."""
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

    def build_reasoning(self, text: str, signature: str, *, is_redacted: bool, id: str) -> dict[str, Any] | None:
        """Return reasoning with its signature in this API's form, or None without a signature."""
        ...


def get_api_spec(api: str) -> ApiSpec:
    """Return the specification of an API. Raise OptionError if there is none of this name."""
    if api not in APIS:
        raise OptionError(f"there is no API {api!r}; there are {', '.join(f'`{name}`' for name in APIS)}")
    return APIS[api]


def wire(api: str) -> ApiCodec:
    """Return the codec of one API, whose functions are imported on first use."""
    return cast(ApiCodec, import_module(f"antiphon.wire.{get_api_spec(api).module}"))


def detect_api(data: object) -> str:
    """Return the API whose shape a history has. Raise FormatError if it has none."""
    top = as_object(data)
    fields = dict.fromkeys(spec.history.field for spec in reversed(APIS.values()))
    key = next((field for field in fields if field in top), "")
    own = [spec for spec in APIS.values() if spec.history.field == key]
    given: object = top[key] if key else data
    single = [as_object(given)] if as_object(given) and any(spec.history.allows_single for spec in own) else []
    messages = as_array(given) or single
    found = next((api for message in messages if (api := _detect_message_api(as_object(message)))), "")
    is_plain = any(map(_is_plain_message, messages))
    if found and (key in ("", APIS[PLAIN_API].history.field) or found in [spec.name for spec in own]):
        return found
    if key != APIS[PLAIN_API].history.field and not found:
        claimed = [spec for spec in own if spec.history.is_own_request(top)]
        is_text = is_plain or isinstance(given, str)
        asked = [spec for spec in own if given == [] or (is_text and spec.history.allows_plain)]
        if claimed and (given == [] or isinstance(given, str)):
            return claimed[0].name
        if asked:
            return asked[0].name
    if not (key and given == []) and not is_plain:
        raise FormatError("this is no history: neither a list of messages nor a request that holds one")
    return next((spec.name for spec in APIS.values() if spec.history.is_own_request(top)), PLAIN_API)


def _detect_message_api(message: dict[str, Any]) -> str:
    """Return the only API that has such a message, or ""."""
    if found := next((spec.name for spec in APIS.values() if spec.history.is_own_message(message)), ""):
        return found
    if "parts" in message or message.get("type") not in (None, "message"):
        return ""
    kinds = [as_string(as_object(block).get("type")) for block in as_array(message.get("content"))]
    return next((spec.name for kind in kinds for spec in APIS.values() if spec.history.is_own_block(kind)), "")


def _is_plain_message(message: object) -> bool:
    data = as_object(message)
    content: object = data.get("content")
    is_said = "parts" not in data and (content is None or isinstance(content, str | list))
    return is_said and data.get("role") in _PLAIN_ROLES
