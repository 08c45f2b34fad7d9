"""Anthropic's Messages API: `request` writes bodies, `response` reads answers, `history_reader` foreign histories."""

from typing import TYPE_CHECKING

from antiphon._public import lazy, publish
from antiphon.wire.anthropic.request import API, encode, history, path
from antiphon.wire.anthropic.response import Decoder, decode, error_text

if TYPE_CHECKING:
    from antiphon.wire.anthropic.history_reader import read

__all__ = ["API", "Decoder", "decode", "encode", "error_text", "history", "path", "read"]

# Most programs read no foreign history, and many do not stream.
__getattr__ = lazy(__name__, {"read": "history_reader"})
publish(globals())
