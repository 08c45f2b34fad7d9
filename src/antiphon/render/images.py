"""Images: drawn where the terminal says that it can, described everywhere else."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from antiphon import views
from antiphon.render.context import Context
from antiphon.render.layout import Lines
from antiphon.render.sixel import sixel
from antiphon.render.values import size
from antiphon.views.pictures import png_size

#: Larger images are described: a terminal would take long to draw them.
_PIXELS = 30_000_000
_PNG = b"\x89PNG\r\n\x1a\n"
_DRAWN_BY_ITERM = (_PNG, b"\xff\xd8\xff", b"GIF8")
#: Columns that an image takes at most.
_COLUMNS = 60


@dataclass(slots=True)
class Picture(Lines):
    """A sequence that draws an image, and the lines that describe it."""

    sequence: str = ""


def image(view: views.Image, context: Context) -> Picture:
    """Drawn if it can be, described in any case."""
    content = decoded(view.data)
    dimensions = f"{view.width}x{view.height}" if view.width and view.height else ""
    about = [view.alt, view.media_type, dimensions, size(view.size)]
    words = f"[image: {', '.join(context.line(part) for part in about if part)}]"
    rows = [Text(words, "italic"), *([context.text(view.url, "underline")] if view.url else [])]
    sequence = drawing(content, protocol(context.console), min(context.width, _COLUMNS)) if content else ""
    return Picture(rows, words=True, sequence=sequence)


def protocol(console: Console, environment: Mapping[str, str] = os.environ) -> str:
    """How the terminal draws images: `kitty`, `iterm`, `sixel`, or not at all.

    Only what a terminal says of itself in the environment counts. Nothing is asked of it, and nothing is drawn through
    a multiplexer, which may pass half of a sequence on.
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


def drawing(content: bytes, how: str, columns: int) -> str:
    """The sequence that draws an image; nothing if it cannot be drawn. Only our own spelling of the data is used."""
    encoded = base64.b64encode(content).decode()
    if how == "kitty" and content.startswith(_PNG):
        pieces = [encoded[start : start + 4096] for start in range(0, len(encoded), 4096)]
        last = len(pieces) - 1
        return "".join(
            f"\x1b_G{f'a=T,f=100,q=2,c={columns},' if not number else ''}m={int(number < last)};{piece}\x1b\\"
            for number, piece in enumerate(pieces)
        )
    if how == "iterm" and content.startswith(_DRAWN_BY_ITERM):
        return f"\x1b]1337;File=inline=1;size={len(content)};width={columns};preserveAspectRatio=1:{encoded}\x07"
    return sixel(content, columns * 8) if how == "sixel" and content.startswith(_PNG) else ""


def decoded(encoded: str) -> bytes:
    """The bytes of an image that is small enough to be drawn; none if it is not, or is no base64."""
    try:
        content = binascii.a2b_base64(encoded.encode("ascii"), strict_mode=True)
    except ValueError:
        return b""
    width, height = png_size(content)
    return content if width * height <= _PIXELS else b""
