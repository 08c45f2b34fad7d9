"""OpenAI's Responses API.

`request` writes bodies, on the `terms` that a conversation and its options set, out of `items`; `response` reads
answers and `stream` those that come in pieces; `history_reader` reads what others kept.
"""

from typing import TYPE_CHECKING

from antiphon._public import lazy, publish
from antiphon.wire.openai_responses.request import encode, history, path
from antiphon.wire.openai_responses.response import decode, error_text
from antiphon.wire.openai_responses.terms import API

if TYPE_CHECKING:
    from antiphon.wire.openai_responses.history_reader import read
    from antiphon.wire.openai_responses.stream import Decoder

__all__ = ["API", "Decoder", "decode", "encode", "error_text", "history", "path", "read"]

# Most programs read no foreign history, and many do not stream.
__getattr__ = lazy(__name__, {"Decoder": "stream", "read": "history_reader"})
publish(globals())
