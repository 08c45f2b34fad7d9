"""Codec of Anthropic's Messages API.

`request` encodes bodies, `response` decodes answers, `history_reader` reads existing histories.
"""

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports
from antiphon.wire.anthropic.request import API, encode, history, path
from antiphon.wire.anthropic.response import Decoder, decode, parse_error

if TYPE_CHECKING:
    from antiphon.wire.anthropic.history_reader import read

__all__ = ["API", "Decoder", "decode", "encode", "history", "parse_error", "path", "read"]

# Imported lazily: most programs read no existing history, and many do not stream.
__getattr__ = make_lazy_getattr(__name__, {"read": "history_reader"})
publish_exports(globals())
