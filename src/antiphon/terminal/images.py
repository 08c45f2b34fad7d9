"""Rendering of images: drawn if the terminal supports it, described otherwise."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from antiphon import views
from antiphon.terminal.layout import Lines
from antiphon.terminal.render_context import Context
from antiphon.terminal.sixel import encode_sixel
from antiphon.terminal.values import format_byte_size
from antiphon.views.images import read_png_size

#: Larger images are only described: a terminal would take long to draw them.
_MAX_PIXELS = 30_000_000
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_ITERM_SIGNATURES = (_PNG_SIGNATURE, b"\xff\xd8\xff", b"GIF8")
#: Maximum columns of an image.
_MAX_COLUMNS = 60


@dataclass(slots=True)
class DrawnImage(Lines):
    """An escape sequence that draws an image, and the lines that describe it."""

    sequence: str = ""


def render_image(view: views.Image, context: Context) -> DrawnImage:
    """Render an image: drawn if possible, described in any case."""
    content = decode_image(view.data)
    dimensions = f"{view.width}x{view.height}" if view.width and view.height else ""
    about = [view.alt, view.media_type, dimensions, format_byte_size(view.size)]
    words = f"[image: {', '.join(context.line(part) for part in about if part)}]"
    rows = [Text(words, "italic"), *([context.text(view.url, "underline")] if view.url else [])]
    sequence = (
        make_image_sequence(content, detect_image_protocol(context.console), min(context.width, _MAX_COLUMNS))
        if content
        else ""
    )
    return DrawnImage(rows, words=True, sequence=sequence)


def detect_image_protocol(console: Console, environment: Mapping[str, str] = os.environ) -> str:
    """Return how the terminal draws images: `kitty`, `iterm`, `sixel`, or "".

    Only the environment is considered. The terminal is not queried, and nothing is drawn through a
    multiplexer, which may forward only half of a sequence.
    """
    if not console.is_terminal or console.is_dumb_terminal or console.legacy_windows:
        return ""
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    if "TMUX" in environment or "STY" in environment or term.startswith(("screen", "tmux")):
        return ""
    if term in ("xterm-kitty", "xterm-ghostty") or program == "ghostty" or "KITTY_WINDOW_ID" in environment:
        return "kitty"
    if program in ("iTerm.app", "WezTerm", "mintty"):
        return "iterm"
    return "sixel" if "sixel" in term or term in ("foot", "mlterm", "yaft-256color") else ""


def make_image_sequence(content: bytes, how: str, columns: int) -> str:
    """Return the sequence that draws an image; "" if it cannot be drawn. The data is always encoded again."""
    encoded = base64.b64encode(content).decode()
    if how == "kitty" and content.startswith(_PNG_SIGNATURE):
        pieces = [encoded[start : start + 4096] for start in range(0, len(encoded), 4096)]
        last = len(pieces) - 1
        return "".join(
            f"\x1b_G{f'a=T,f=100,q=2,c={columns},' if not number else ''}m={int(number < last)};{piece}\x1b\\"
            for number, piece in enumerate(pieces)
        )
    if how == "iterm" and content.startswith(_ITERM_SIGNATURES):
        return f"\x1b]1337;File=inline=1;size={len(content)};width={columns};preserveAspectRatio=1:{encoded}\x07"
    return encode_sixel(content, columns * 8) if how == "sixel" and content.startswith(_PNG_SIGNATURE) else ""


def decode_image(encoded: str) -> bytes:
    """Return the bytes of an image that is small enough to draw; empty if it is not, or is not base64."""
    try:
        content = binascii.a2b_base64(encoded.encode("ascii"), strict_mode=True)
    except ValueError:
        return b""
    width, height = read_png_size(content)
    return content if width * height <= _MAX_PIXELS else b""
