"""Codec of Google's Interactions API, used without stored state: every request holds all steps.

`request` encodes bodies from `steps`. `response` decodes complete answers and `stream` streamed ones.
`history_reader` reads existing histories.
"""

from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports
from antiphon.wire.api_spec import CODEC_MODULES, ApiSpec, HistoryForm, HttpForm, ImagePlace, MediaForm
from antiphon.wire.files import GOOGLE_FILES

if TYPE_CHECKING:
    from antiphon.wire.google_interactions.history_reader import build_reasoning, read
    from antiphon.wire.google_interactions.hosted_tools import HOSTED_TOOLS
    from antiphon.wire.google_interactions.request import encode, history, path
    from antiphon.wire.google_interactions.response import decode, parse_error
    from antiphon.wire.google_interactions.stream import Decoder

_OWN_STEPS = ("user_input", "model_output", "thought", "function_result")
#: The types of content blocks.
BLOCK_TYPES = ("text", "image", "audio", "video", "document")
#: The types of tools.
TOOL_TYPES = (
    *("function", "google_search", "url_context", "code_execution", "file_search", "google_maps", "mcp_server"),
    *("retrieval", "computer_use"),
)
#: The steps of tools that Google runs; their arguments are objects, those of other APIs are texts.
SERVER_STEPS = tuple(
    f"{tool}_{side}"
    for tool in (
        "google_search",
        "url_context",
        "code_execution",
        "file_search",
        "google_maps",
        "mcp_server_tool",
        "retrieval",
        "processing",
    )
    for side in ("call", "result")
)

#: The fields that a step requires, by type. The SDK calls them required.
REQUIRED_FIELDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("user_input", "model_output", "thought"), ()),
    "function_call": ("id", "name", "arguments"),
    "function_result": ("call_id", "result"),
    **{kind: ("id",) if kind.endswith("_call") else ("call_id",) for kind in SERVER_STEPS},
}


def _is_own_step(step: dict[str, Any]) -> bool:
    kind = as_string(step.get("type"))
    if kind == "function_call" or kind in SERVER_STEPS:
        return "call_id" not in step and "action" not in step and isinstance(step.get("arguments"), dict)
    return kind in _OWN_STEPS


def _is_own_request(request: dict[str, Any]) -> bool:
    """Return whether a request with `input` has a field or a model that only this API has."""
    return "input" in request and (
        "system_instruction" in request
        or "generation_config" in request
        or as_string(request.get("model")).startswith("gemini")
    )


def _find_image(node: dict[str, Any]) -> ImagePlace | None:
    return ImagePlace(node, "data", "mime_type") if node.get("type") == "image" and "data" in node else None


SPEC = ApiSpec(
    name="google-interactions",
    title="Google Interactions",
    owner="google",
    provider="google-interactions",
    rule_letter="I",
    rule_providers=("google-interactions",),
    http=HttpForm(path="/interactions", versions=("v1", "v1beta"), key_header="x-goog-api-key"),
    history=HistoryForm(
        field="input",
        entry="step",
        is_own_message=_is_own_step,
        is_own_request=_is_own_request,
        find_image=_find_image,
        text_block={"type": "text"},
        web_safe_base64=True,
        allows_plain=False,
    ),
    media=MediaForm(
        kinds=("image", "document", "audio", "video"),
        url_kinds=("image", "document", "audio", "video"),
        file_kinds=("image", "document", "audio", "video"),
        other_documents=True,
        upload=GOOGLE_FILES,
    ),
    continuation_field="continuation_token",
)


def find_missing_fields(step: dict[str, Any]) -> list[str] | None:
    """Return the required fields that a step lacks, or None if its type is unknown."""
    required = REQUIRED_FIELDS.get(as_string(step.get("type")))
    return None if required is None else [name for name in required if step.get(name) in (None, "")]


def is_valid_block(block: dict[str, Any]) -> bool:
    """Return whether the API knows a content block."""
    kind = as_string(block.get("type"))
    return kind in BLOCK_TYPES and (kind != "text" or isinstance(block.get("text"), str))


def get_contents(step: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the content of a step as blocks: a text or a single block may replace the list."""
    content = step.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [as_object(block) for block in as_array(content) or [content] if as_object(block)]


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
