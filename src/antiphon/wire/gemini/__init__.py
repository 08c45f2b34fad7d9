"""Google's Gemini API (generateContent): `request` writes bodies, `response` and `stream` read answers, and
`history_reader` foreign histories.
"""

from typing import TYPE_CHECKING

from antiphon._public import lazy, publish
from antiphon.wire.gemini.request import API, encode, history, path
from antiphon.wire.gemini.response import decode, error_text

if TYPE_CHECKING:
    from antiphon.wire.gemini.history_reader import read
    from antiphon.wire.gemini.stream import Decoder

__all__ = ["API", "Decoder", "decode", "encode", "error_text", "history", "path", "read"]

# Most programs read no foreign history, and many do not stream.
__getattr__ = lazy(__name__, {"Decoder": "stream", "read": "history_reader"})
publish(globals())
