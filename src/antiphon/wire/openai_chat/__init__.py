"""OpenAI's Chat Completions API and the many servers that speak it.

`request` writes bodies with the messages of `messages`, `response` reads answers and `stream` those that arrive in
pieces, `history_reader` reads what others kept. Where servers differ, the target's `Profile` says so.
"""

from typing import TYPE_CHECKING

from antiphon._public import lazy, publish
from antiphon.wire.openai_chat.request import API, encode, history, path
from antiphon.wire.openai_chat.response import decode, error_text

if TYPE_CHECKING:
    from antiphon.wire.openai_chat.history_reader import read
    from antiphon.wire.openai_chat.stream import Decoder

__all__ = ["API", "Decoder", "decode", "encode", "error_text", "history", "path", "read"]

# Most programs read no foreign history, and many do not stream.
__getattr__ = lazy(__name__, {"Decoder": "stream", "read": "history_reader"})
publish(globals())
