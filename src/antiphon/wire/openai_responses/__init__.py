"""Codec of OpenAI's Responses API.

`request` encodes bodies from `items`. `response` decodes complete answers and `stream` streamed
ones. `history_reader` reads existing histories.
"""

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports
from antiphon.wire.openai_responses.item_rules import API
from antiphon.wire.openai_responses.request import encode, history, path
from antiphon.wire.openai_responses.response import decode, parse_error

if TYPE_CHECKING:
    from antiphon.wire.openai_responses.history_reader import read
    from antiphon.wire.openai_responses.stream import Decoder

__all__ = ["API", "Decoder", "decode", "encode", "history", "parse_error", "path", "read"]

# Imported lazily: most programs read no existing history, and many do not stream.
__getattr__ = make_lazy_getattr(__name__, {"Decoder": "stream", "read": "history_reader"})
publish_exports(globals())
