"""Codec of OpenAI's Chat Completions API and the many compatible servers.

`request` encodes bodies with the messages of `messages`. `response` decodes complete answers and
`stream` streamed ones. `history_reader` reads existing histories. The target's `Profile`
describes how servers differ.
"""

from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_object
from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports
from antiphon.wire.api_spec import CODEC_MODULES, ApiSpec, HistoryForm, HttpForm, ImagePlace, MediaForm
from antiphon.wire.batches import OPENAI_BATCHES
from antiphon.wire.embeddings import OPENAI_EMBEDDINGS
from antiphon.wire.files import OPENAI_FILES

if TYPE_CHECKING:
    from antiphon.wire.openai_chat.history_reader import build_reasoning, read
    from antiphon.wire.openai_chat.request import HOSTED_TOOLS, encode, history, path
    from antiphon.wire.openai_chat.response import decode, parse_error
    from antiphon.wire.openai_chat.stream import Decoder


def _is_own_message(message: dict[str, Any]) -> bool:
    if "parts" in message or message.get("role") == "model":
        return False
    return "tool_calls" in message or message.get("role") in ("tool", "function")


def _find_image(node: dict[str, Any]) -> ImagePlace | None:
    if node.get("type") == "image_url" and isinstance(node.get("image_url"), dict):
        return ImagePlace(as_object(node["image_url"]), "url")
    return ImagePlace(node, "image_url") if node.get("type") in ("image_url", "input_image") else None


SPEC = ApiSpec(
    name="openai-chat",
    title="OpenAI Chat Completions",
    owner="openai",
    provider="openai-chat",
    rule_letter="O",
    rule_providers=("openai", "openai-chat"),
    http=HttpForm(path="/chat/completions", base_path="/v1", url_model_providers=("azure",)),
    history=HistoryForm(
        field="messages",
        is_own_message=_is_own_message,
        is_own_block=lambda kind: kind in ("image_url", "input_audio", "file"),
        find_image=_find_image,
        text_block={"type": "text"},
        holds_reasoning=False,
    ),
    media=MediaForm(
        kinds=("image", "document", "audio"),
        url_kinds=("image",),
        file_kinds=("document",),
        types={"audio": ("audio/wav", "audio/mpeg")},
        upload=OPENAI_FILES,
    ),
    embeddings=OPENAI_EMBEDDINGS,
    batches=OPENAI_BATCHES,
)

__all__ = [
    "HOSTED_TOOLS",
    "SPEC",
    "Decoder",
    "build_reasoning",
    "decode",
    "encode",
    "history",
    "parse_error",
    "path",
    "read",
]

# Imported lazily: the specification is read more often than the codec.
__getattr__ = make_lazy_getattr(__name__, CODEC_MODULES | {"HOSTED_TOOLS": "request"})
publish_exports(globals())
