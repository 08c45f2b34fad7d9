"""Codec of Google's Gemini API (generateContent).

`request` encodes bodies, `response` and `stream` decode answers, `history_reader` reads existing
histories.
"""

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports
from antiphon.wire.gemini.request import API, encode, history, path
from antiphon.wire.gemini.response import decode, parse_error

if TYPE_CHECKING:
    from antiphon.wire.gemini.history_reader import read
    from antiphon.wire.gemini.stream import Decoder

__all__ = ["API", "Decoder", "decode", "encode", "history", "parse_error", "path", "read"]

# Imported lazily: most programs read no existing history, and many do not stream.
__getattr__ = make_lazy_getattr(__name__, {"Decoder": "stream", "read": "history_reader"})
publish_exports(globals())
