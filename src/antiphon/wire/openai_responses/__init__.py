"""Codec of OpenAI's Responses API.

`request` encodes bodies from `items`. `response` decodes complete answers and `stream` streamed
ones. `history_reader` reads existing histories.
"""

from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_string
from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports
from antiphon.wire.api_spec import CODEC_MODULES, ApiSpec, HistoryForm, HttpForm, ImagePlace, MediaForm
from antiphon.wire.batches import OPENAI_BATCHES
from antiphon.wire.embeddings import OPENAI_EMBEDDINGS
from antiphon.wire.files import OPENAI_FILES

if TYPE_CHECKING:
    from antiphon.wire.openai_responses.history_reader import build_reasoning, read
    from antiphon.wire.openai_responses.hosted_tools import HOSTED_TOOLS
    from antiphon.wire.openai_responses.request import encode, history, path
    from antiphon.wire.openai_responses.response import decode, parse_error
    from antiphon.wire.openai_responses.stream import Decoder

#: Item types that none of the common suffixes covers.
_ITEM_TYPES = (
    "reasoning",
    "item_reference",
    "compaction",
    "compaction_summary",
    "mcp_list_tools",
    "additional_tools",
    "program",
)
_ITEM_SUFFIXES = ("_call", "_output", "_approval_request", "_approval_response")


def _is_own_item(item: dict[str, Any]) -> bool:
    kind = as_string(item.get("type"))
    if kind == "function_call" and "call_id" not in item and isinstance(item.get("arguments"), dict):
        # A step of Google's Interactions API.
        return False
    return "parts" not in item and (kind in _ITEM_TYPES or kind.endswith(_ITEM_SUFFIXES))


SPEC = ApiSpec(
    name="openai-responses",
    title="OpenAI Responses",
    owner="openai",
    provider="openai",
    rule_letter="R",
    rule_providers=("openai", "openai-responses"),
    http=HttpForm(path="/responses", base_path="/v1"),
    history=HistoryForm(
        field="input",
        entry="item",
        is_own_message=_is_own_item,
        is_own_block=lambda kind: kind in ("input_text", "output_text", "input_image", "input_file", "refusal"),
        find_image=lambda node: (
            ImagePlace(node, "image_url") if node.get("type") in ("image_url", "input_image") else None
        ),
        text_block={"type": "input_text"},
    ),
    media=MediaForm(
        kinds=("image", "document"),
        url_kinds=("image", "document"),
        file_kinds=("image", "document"),
        text_documents=True,
        other_documents=True,
        upload=OPENAI_FILES,
    ),
    background_statuses=("queued", "in_progress"),
    framework_names=("openai",),
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
__getattr__ = make_lazy_getattr(__name__, CODEC_MODULES)
publish_exports(globals())
