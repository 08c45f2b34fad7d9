"""Codec of OpenAI's Chat Completions API and the many compatible servers.

`request` encodes bodies with the messages of `messages`. `response` decodes complete answers and
`stream` streamed ones. `history_reader` reads existing histories. The target's `Profile`
describes how servers differ.
"""

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports
from antiphon.wire.openai_chat.request import API, encode, history, path
from antiphon.wire.openai_chat.response import decode, parse_error

if TYPE_CHECKING:
    from antiphon.wire.openai_chat.history_reader import read
    from antiphon.wire.openai_chat.stream import Decoder

__all__ = ["API", "Decoder", "decode", "encode", "history", "parse_error", "path", "read"]

# Imported lazily: most programs read no existing history, and many do not stream.
__getattr__ = make_lazy_getattr(__name__, {"Decoder": "stream", "read": "history_reader"})
publish_exports(globals())
