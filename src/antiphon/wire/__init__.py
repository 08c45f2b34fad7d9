"""Codecs for provider APIs: one subpackage of pure functions per API converts requests and replies.

`APIS` holds the specification of each API, and `wire(api)` returns its functions. `rules` lists what
each API rejects. Nothing here opens a connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._base.json_access import as_object
from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports
from antiphon.conversation import Origin
from antiphon.wire.api_spec import ApiSpec, HistoryForm, HttpForm, ImagePlace
from antiphon.wire.apis import APIS, ApiCodec, detect_api, get_api_spec, wire
from antiphon.wire.cache import CacheOutcome, CacheReport
from antiphon.wire.options import ModelSettings, Options, Profile, Target
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


def read(data: object, api: str | None = None, model: str = "") -> ReadHistory:
    """Convert a provider's history into a conversation. Detect the API if `api` is not given."""
    api = api or detect_api(data)
    model = model or str(as_object(data).get("model") or "")
    return wire(api).read(data, Origin(get_api_spec(api).owner, api, model))


__all__ = [
    "APIS",
    "ApiCodec",
    "ApiSpec",
    "CacheOutcome",
    "CacheReport",
    "CallDelta",
    "Decoder",
    "EncodedRequest",
    "FactWrong",
    "Healed",
    "HistoryForm",
    "HttpForm",
    "ImagePlace",
    "ModelSettings",
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
    "get_api_spec",
    "read",
    "wire",
]

__getattr__ = make_lazy_getattr(__name__, {"ReadHistory": "history_reader"})
publish_exports(globals())
