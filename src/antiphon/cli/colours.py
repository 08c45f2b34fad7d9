"""The colours of commands: one accent, and what matters less is faint. There are none in pipes, with NO_COLOR, or dumb
terminals: `click.echo` takes them out there, as the context says.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from typing import IO, Any

import click

_ACCENT = "cyan"
_JSON = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?')


def accent(text: str) -> str:
    """What leads the eye: names of commands and models, keys."""
    return click.style(text, fg=_ACCENT)


def faint(text: str) -> str:
    """What matters less."""
    return click.style(text, dim=True)


def is_coloured(stream: IO[str]) -> bool:
    """Whether colours are welcome there."""
    return stream.isatty() and _are_welcome()


def echo_json(text: str) -> None:
    """Print JSON; its keys have a colour where colours are welcome."""
    click.echo(_JSON.sub(_painted, text) if is_coloured(sys.stdout) else text)


class Context(click.Context):
    """Where a command runs: with colours, unless nobody wants them."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.formatter_class = Help
        if not _are_welcome():
            self.color = False


class Help(click.HelpFormatter):
    """What `--help` prints."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, args, click.style(prefix or "Usage:", bold=True) + " ")

    def write_heading(self, heading: str) -> None:
        super().write_heading(click.style(heading, bold=True))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(accent(name), about) for name, about in rows], col_max, col_spacing)


def dressed(command: click.Command) -> click.Command:
    """A command whose help, and that of all below it, has its colours."""
    command.context_class = Context
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        dressed(each)
    return command


def _are_welcome() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in ("dumb", "unknown")


def _painted(found: re.Match[str]) -> str:
    return f"{accent(found[1])}{found[2]}" if found[2] else found[1]
