"""Anthropic's Messages API: `request` writes bodies, `response` reads answers, `history` reads what others kept."""

from antiphon._public import publish
from antiphon.wire.anthropic.history import read
from antiphon.wire.anthropic.request import API, encode, history, path
from antiphon.wire.anthropic.response import Decoder, decode, error_text

__all__ = ["API", "Decoder", "decode", "encode", "error_text", "history", "path", "read"]

publish(globals())
