"""Where something is shown: the room there is, and what the terminal can do."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import IO

from rich.console import Console
from rich.text import Text

from antiphon.render.safe import is_utf8, safe_line
from antiphon.views import Cut, Piece

#: Lines shown of an opened result that does not say how many it wants.
HEIGHT = 40
#: Lines shown when everything is asked for; a terminal keeps no more.
FULL_HEIGHT = 10_000
#: Characters shown of one line.
LINE = 2000
#: From this width on, diffs are shown side by side.
SIDE_BY_SIDE = 120


@dataclass(frozen=True, slots=True)
class Context:
    """What a renderer is told besides the result. `width` and `height` are the room for what it returns.

    What it returns is cropped to that room in any case; a renderer that looks at `height` saves time on long data.
    """

    console: Console
    width: int
    height: int
    full: bool = False
    side_by_side: bool = False

    @property
    def encoding(self) -> str:
        """How the terminal wants its text."""
        return self.console.encoding

    @property
    def ascii(self) -> bool:
        """Whether only ASCII is sure to come out right."""
        return not is_utf8(self.console.encoding)

    @property
    def color(self) -> bool:
        """Whether colours are shown at all."""
        return self.console.color_system is not None and not self.console.no_color

    @property
    def line_limit(self) -> int:
        """How many characters of one line are looked at."""
        return max(LINE, self.width * self.height) if self.full else LINE

    def sign(self, sign: str, plain: str) -> str:
        """A sign of ours, or what stands for it where there is only ASCII."""
        return plain if self.ascii else sign

    def line(self, text: Piece, limit: int | None = None) -> str:
        """Any text as one harmless line: the way from data to the terminal."""
        if isinstance(text, Cut):
            return safe_line(text.text, len(text.text), self.encoding) + f"[+{text.more:,} characters]"
        return safe_line(text, self.line_limit if limit is None else limit, self.encoding)

    def text(self, text: Piece, style: str = "") -> Text:
        """The same, ready to be a row."""
        return Text(self.line(text), style)


def console(file: IO[str] | None = None, width: int | None = None, color: bool | None = None) -> Console:
    """A console that takes all text literally: no markup, no emoji codes, no highlighting of its own.

    `color` is found out from the terminal and the environment (`NO_COLOR`) unless it is given.
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
