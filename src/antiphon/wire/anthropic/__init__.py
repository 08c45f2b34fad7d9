"""Codec of Anthropic's Messages API.

`request` encodes bodies, `response` decodes answers, `history_reader` reads existing histories.
"""

from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_array, as_object
from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports
from antiphon.wire.api_spec import CODEC_MODULES, ApiSpec, HistoryForm, HttpForm, ImagePlace, MediaForm
from antiphon.wire.batches import ANTHROPIC_BATCHES
from antiphon.wire.files import ANTHROPIC_FILES

if TYPE_CHECKING:
    from antiphon.wire.anthropic.history_reader import build_reasoning, read
    from antiphon.wire.anthropic.hosted_tools import HOSTED_TOOLS
    from antiphon.wire.anthropic.request import encode, history, path
    from antiphon.wire.anthropic.response import Decoder, decode, parse_error

_BLOCK_TYPES = (
    "thinking",
    "redacted_thinking",
    "image",
    "document",
    "search_result",
    "container_upload",
    "compaction",
)


def _is_own_request(request: dict[str, Any]) -> bool:
    if "system" in request or any("input_schema" in as_object(tool) for tool in as_array(request.get("tools"))):
        return True
    # Plain text looks as in Chat Completions, but this API requires `max_tokens`.
    return str(request.get("model")).startswith("claude-") and "max_tokens" in request


def _find_image(node: dict[str, Any]) -> ImagePlace | None:
    source = as_object(node.get("source")) if node.get("type") == "image" else {}
    return ImagePlace(source, "data", "media_type") if source.get("type") == "base64" else None


SPEC = ApiSpec(
    name="anthropic",
    title="Anthropic Messages",
    owner="anthropic",
    provider="anthropic",
    rule_letter="A",
    rule_providers=("anthropic",),
    http=HttpForm(
        path="/messages",
        key_header="x-api-key",
        version_header="anthropic-version",
        url_model_providers=("bedrock", "vertex"),
        url_model_field="anthropic_version",
    ),
    history=HistoryForm(
        field="messages",
        is_own_message=lambda message: False,  # noqa: ARG005
        is_own_block=lambda kind: kind in _BLOCK_TYPES or kind.endswith(("tool_use", "tool_result")),
        is_own_request=_is_own_request,
        find_image=_find_image,
        text_block={"type": "text"},
        max_image_size=5 * 1024 * 1024,
    ),
    media=MediaForm(
        kinds=("image", "document"),
        url_kinds=("image", "document"),
        file_kinds=("image", "document"),
        text_documents=True,
        upload=ANTHROPIC_FILES,
    ),
    batches=ANTHROPIC_BATCHES,
    framework_names=("anthropic",),
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
__getattr__ = make_lazy_getattr(__name__, CODEC_MODULES | {"Decoder": "response"})
publish_exports(globals())
