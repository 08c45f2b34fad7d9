"""Colours of the command line: one accent and dimmed text.

`click.echo` removes them in pipes, with NO_COLOR and on dumb terminals.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from typing import IO, Any

import click

_ACCENT_COLOUR = "cyan"
_JSON_STRING = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?')


def style_accent(text: str) -> str:
    """Style text that stands out: names of commands and models, keys."""
    return click.style(text, fg=_ACCENT_COLOUR)


def style_faint(text: str) -> str:
    """Style text that matters less."""
    return click.style(text, dim=True)


def format_noun_count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if necessary."""
    return f"{number} {noun}{'s' * (number != 1)}"


def supports_colour(stream: IO[str]) -> bool:
    """Return whether a stream shows colours."""
    return stream.isatty() and _are_colours_wanted()


def echo_json(text: str) -> None:
    """Print JSON, with coloured keys if standard output shows colours."""
    click.echo(_JSON_STRING.sub(_colour_key, text) if supports_colour(sys.stdout) else text)


class ColourContext(click.Context):
    """A click context that disables colours where they are not wanted."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.formatter_class = ColourHelpFormatter
        if not _are_colours_wanted():
            self.color = False


class ColourHelpFormatter(click.HelpFormatter):
    """A help formatter with colours."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, args, click.style(prefix or "Usage:", bold=True) + " ")

    def write_heading(self, heading: str) -> None:
        super().write_heading(click.style(heading, bold=True))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(style_accent(name), about) for name, about in rows], col_max, col_spacing)


def enable_colours(command: click.Command) -> click.Command:
    """Set the colour context on a command and its subcommands, and return it."""
    command.context_class = ColourContext
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        enable_colours(each)
    return command


def _are_colours_wanted() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in ("dumb", "unknown")


def _colour_key(found: re.Match[str]) -> str:
    return f"{style_accent(found[1])}{found[2]}" if found[2] else found[1]
