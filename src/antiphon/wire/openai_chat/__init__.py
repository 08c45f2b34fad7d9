"""OpenAI's Chat Completions API and the many servers that speak it.

`request` writes bodies with the messages of `messages`, `response` reads answers and `stream` those that arrive in
pieces, `history` reads what others kept. Where servers differ, the target's `Profile` says so.
"""

from antiphon._public import publish
from antiphon.wire.openai_chat.history import read
from antiphon.wire.openai_chat.request import API, encode, history, path
from antiphon.wire.openai_chat.response import decode, error_text
from antiphon.wire.openai_chat.stream import Decoder

__all__ = ["API", "Decoder", "decode", "encode", "error_text", "history", "path", "read"]

publish(globals())
