"""What `antiphon ask` prints: answers to standard output, remarks to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable
from antiphon.cli.style import echo_json

if TYPE_CHECKING:
    from antiphon.session import Event


class AnswerWriter:
    """Text written as it comes: what is said between calls is on lines of its own."""

    def __init__(self) -> None:
        self._at_start = True

    def through(self, events: Generator[Event, None, None]) -> Generator[Event, None, None]:
        """The same events; their text has been written."""
        from antiphon.wire import CallDelta, TextDelta

        with closing(events):
            for event in events:
                body = event.body
                if isinstance(body, TextDelta) and body.text:
                    click.echo(_encodable(body.text), nl=False)
                    self._at_start = body.text.endswith("\n")
                elif isinstance(body, CallDelta):
                    self.end()
                yield event

    def end(self) -> None:
        """End the line."""
        if not self._at_start:
            click.echo()
        self._at_start = True


def print_text(text: str) -> None:
    """Print an answer: as Markdown in a terminal, else as it is."""
    if not is_terminal(sys.stdout):
        click.echo(_encodable(text.removesuffix("\n")))
        return
    from antiphon.terminal import console
    from antiphon.terminal.scrollback import Scrollback, make_markdown

    Scrollback(console()).put(make_markdown(text))


def print_verbatim(text: str) -> None:
    """Print a text as it is, with no line added; a terminal is told nothing by it."""
    if is_terminal(sys.stdout):
        from antiphon.terminal.sanitizer import safe

        text = safe(text, sys.stdout.encoding or "utf-8")
    click.echo(_encodable(text), nl=False)


def print_json(data: object) -> None:
    """Print data as JSON, on one line unless somebody reads it."""
    from antiphon.terminal.sanitizer import is_unicode_encoding
    from antiphon.views.stream import format_safe_json

    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    echo_json(format_safe_json(data, 2 if is_terminal(sys.stdout) else None, ascii=not is_unicode_encoding(encoding)))


def discard_stdout() -> None:
    """Let go of an output that takes nothing more, so that the rest of it is not tried again at the exit."""
    with open(os.devnull, "w") as nowhere, suppress(OSError, ValueError):
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def is_terminal(stream: Any) -> bool:
    """Whether somebody sits at the other end; a stream may be closed, or not there at all."""
    return stream is not None and not stream.closed and stream.isatty()


def print_message(text: str) -> None:
    """Say something that is no part of the answer."""
    click.echo(f"antiphon: {escape_unprintable(text)}", err=True)


def _encodable(text: str) -> str:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
