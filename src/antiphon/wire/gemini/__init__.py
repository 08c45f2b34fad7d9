"""Codec of Google's Gemini API (generateContent).

`request` encodes bodies, `response` and `stream` decode answers, `history_reader` reads existing
histories.
"""

from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports
from antiphon.wire.api_spec import CODEC_MODULES, ApiSpec, HistoryForm, HttpForm, ImagePlace, MediaForm
from antiphon.wire.batches import GEMINI_BATCHES
from antiphon.wire.embeddings import GEMINI_EMBEDDINGS
from antiphon.wire.files import GOOGLE_FILES

if TYPE_CHECKING:
    from antiphon.wire.gemini.history_reader import build_reasoning, read
    from antiphon.wire.gemini.hosted_tools import HOSTED_TOOLS
    from antiphon.wire.gemini.request import encode, history, path
    from antiphon.wire.gemini.response import decode, parse_error
    from antiphon.wire.gemini.stream import Decoder

#: Fields that identify a part in a content without a role.
_PART_FIELDS = {
    "text",
    "functionCall",
    "function_call",
    "functionResponse",
    "function_response",
    "inlineData",
    "inline_data",
}


def _is_own_content(message: dict[str, Any]) -> bool:
    """Return whether the parts are named by a field, never by a type tag."""
    if "parts" not in message:
        return message.get("role") == "model"
    parts = [as_object(part) for part in as_array(message["parts"]) or [message["parts"]]]
    if any(tag in each for each in (*parts, message) for tag in ("type", "kind", "part_kind", "partKind")):
        return False
    if message.get("role") is None:
        return any(not _PART_FIELDS.isdisjoint(part) for part in parts)
    return as_string(message["role"]).lower() in ("user", "model", "function", "assistant", "system")


def _find_image(node: dict[str, Any]) -> ImagePlace | None:
    inline = as_object(node.get("inlineData") or node.get("inline_data"))
    kind = "mimeType" if "mimeType" in inline else "mime_type"
    return ImagePlace(inline, "data", kind) if as_string(inline.get(kind)).startswith("image/") else None


SPEC = ApiSpec(
    name="gemini",
    title="Gemini generateContent",
    owner="google",
    provider="google",
    rule_letter="G",
    rule_providers=("google", "gemini", "vertex"),
    http=HttpForm(
        path="/models/{model}:generateContent",
        stream_path="/models/{model}:streamGenerateContent",
        versions=("v1", "v1beta"),
        key_header="x-goog-api-key",
        streams_arrays=True,
    ),
    history=HistoryForm(
        field="contents",
        entry="content",
        is_own_message=_is_own_content,
        find_image=_find_image,
        text_block={},
        web_safe_base64=True,
        allows_plain=False,
        allows_single=True,
    ),
    media=MediaForm(
        kinds=("image", "document", "audio", "video"),
        url_kinds=("image", "document", "audio", "video"),
        file_kinds=("image", "document", "audio", "video"),
        other_documents=True,
        upload=GOOGLE_FILES,
    ),
    continuation_field="continuationToken",
    framework_names=("google", "google-gla", "google-vertex", "vertex", "google_genai"),
    embeddings=GEMINI_EMBEDDINGS,
    batches=GEMINI_BATCHES,
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
