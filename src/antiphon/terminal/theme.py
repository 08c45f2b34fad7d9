"""The terminal theme: one accent colour, little bold, and only colours that every terminal defines itself.

Bright colours are not used: they cannot be read on a light background.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.syntax import SyntaxTheme

#: The accent colour: headings, names of commands, spinners.
ACCENT = "cyan"


@cache
def make_code_theme() -> SyntaxTheme:
    """Return the theme for code."""
    from pygments.token import Comment, Generic, Keyword, Name, Number, String, Token
    from rich.style import Style
    from rich.syntax import ANSISyntaxTheme

    styles = {
        Token: "",
        Comment: "dim italic",
        Comment.Preproc: "",
        Keyword: "magenta",
        Keyword.Type: ACCENT,
        Name.Function: ACCENT,
        Name.Class: ACCENT,
        Name.Builtin: ACCENT,
        Name.Decorator: ACCENT,
        Name.Tag: ACCENT,
        String: "green",
        Number: "blue",
        Generic.Deleted: "red",
        Generic.Inserted: "green",
        Generic.Emph: "italic",
        Generic.Strong: "bold",
    }
    return ANSISyntaxTheme({token: Style.parse(style) for token, style in styles.items()})
