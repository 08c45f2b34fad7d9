"""OpenAI's Responses API.

`request` writes bodies, on the `terms` that a conversation and its options set, out of `items`; `response` reads
answers and `stream` those that come in pieces; `history` reads what others kept.
"""

from antiphon._public import publish
from antiphon.wire.openai_responses.history import read
from antiphon.wire.openai_responses.request import encode, history, path
from antiphon.wire.openai_responses.response import decode, error_text
from antiphon.wire.openai_responses.stream import Decoder
from antiphon.wire.openai_responses.terms import API

__all__ = ["API", "Decoder", "decode", "encode", "error_text", "history", "path", "read"]

publish(globals())
