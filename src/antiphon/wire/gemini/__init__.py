"""Google's Gemini API (generateContent): `request` writes bodies, `response` and `stream` read answers, `history`
reads what others kept.
"""

from antiphon._public import publish
from antiphon.wire.gemini.history import read
from antiphon.wire.gemini.request import API, encode, history, path
from antiphon.wire.gemini.response import decode, error_text
from antiphon.wire.gemini.stream import Decoder

__all__ = ["API", "Decoder", "decode", "encode", "error_text", "history", "path", "read"]

publish(globals())
