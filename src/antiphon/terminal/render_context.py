"""The rendering context: the available size, and the capabilities of the terminal."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from antiphon.terminal.sanitizer import is_unicode_encoding, sanitize_line

if TYPE_CHECKING:
    from antiphon.views import MaybeTruncated

#: Lines of an expanded result that sets no maximum height.
DEFAULT_HEIGHT = 40
#: Lines of a result displayed in full; a terminal keeps no more.
FULL_HEIGHT = 10_000
#: Maximum characters of one line.
MAX_LINE_CHARACTERS = 2000
#: From this width on, diffs are shown side by side.
SIDE_BY_SIDE_WIDTH = 120


@dataclass(frozen=True, slots=True)
class Context:
    """The context of a renderer. `width` and `height` are the available size.

    The returned value is cropped to that size in any case; a renderer that respects `height` saves time on
    long data.
    """

    console: Console
    width: int
    height: int
    full: bool = False
    side_by_side: bool = False

    @property
    def encoding(self) -> str:
        """The encoding of the terminal."""
        return self.console.encoding

    @property
    def ascii(self) -> bool:
        """Return whether only ASCII is safe to print."""
        return not is_unicode_encoding(self.console.encoding)

    @property
    def color(self) -> bool:
        """Return whether colours are enabled."""
        return self.console.color_system is not None and not self.console.no_color

    @property
    def line_limit(self) -> int:
        """The maximum number of characters of a line that are read."""
        return max(MAX_LINE_CHARACTERS, self.width * self.height) if self.full else MAX_LINE_CHARACTERS

    def sign(self, sign: str, plain: str) -> str:
        """Return a sign, or its ASCII replacement if the terminal needs one."""
        return plain if self.ascii else sign

    def line(self, text: MaybeTruncated, limit: int | None = None) -> str:
        """Return any text as one sanitized line: the path from data to the terminal."""
        if not isinstance(text, str):
            return sanitize_line(text.text, len(text.text), self.encoding) + f"[+{text.more:,} characters]"
        return sanitize_line(text, self.line_limit if limit is None else limit, self.encoding)

    def text(self, text: MaybeTruncated, style: str = "") -> Text:
        """Return a text as one sanitized line, as a rich `Text`."""
        return Text(self.line(text), style)


def make_console(file: IO[str] | None = None, width: int | None = None, color: bool | None = None) -> Console:
    """Make a console that prints all text literally: no markup, no emoji codes, no highlighting.

    `color` is detected from the terminal and the environment (`NO_COLOR`) unless given.
    """
    return Console(
        file=file if file is not None else sys.stdout,
        width=width,
        markup=False,
        emoji=False,
        highlight=False,
        force_terminal=True if color else None,
        color_system="auto" if color is None else "standard" if color else None,
        no_color=None if color is None else not color,
    )
