"""Output of the commands: answers and data on standard output, messages on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NoReturn

import click

from antiphon._base.escape import escape_unprintable
from antiphon.cli.style import echo_json

if TYPE_CHECKING:
    from antiphon.session import Event


class AnswerWriter:
    """Writes the text of an answer while it arrives; text before a tool call ends its line."""

    def __init__(self) -> None:
        self._at_start = True

    def write_through(self, events: Generator[Event, None, None]) -> Generator[Event, None, None]:
        """Yield the events after writing their text."""
        from antiphon.wire import CallDelta, TextDelta

        with closing(events):
            for event in events:
                body = event.body
                if isinstance(body, TextDelta) and body.text:
                    click.echo(_escape_unencodable(body.text), nl=False)
                    self._at_start = body.text.endswith("\n")
                elif isinstance(body, CallDelta):
                    self.end()
                yield event

    def end(self) -> None:
        """End an incomplete line."""
        if not self._at_start:
            click.echo()
        self._at_start = True


def print_text(text: str) -> None:
    """Print an answer: rendered as Markdown in a terminal, unchanged otherwise."""
    if not is_terminal(sys.stdout):
        click.echo(_escape_unencodable(text.removesuffix("\n")))
        return
    from antiphon.terminal import make_console
    from antiphon.terminal.scrollback import Scrollback, make_markdown

    Scrollback(make_console()).put(make_markdown(text))


def print_without_newline(text: str) -> None:
    """Print a text without an added newline; control sequences are escaped in a terminal."""
    if is_terminal(sys.stdout):
        from antiphon.terminal.sanitizer import sanitize_text

        text = sanitize_text(text, sys.stdout.encoding or "utf-8")
    click.echo(_escape_unencodable(text), nl=False)


def print_json(data: object) -> None:
    """Print data as JSON: indented in a terminal, else on one line."""
    from antiphon.terminal.sanitizer import is_unicode_encoding
    from antiphon.views.stream import format_safe_json

    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    echo_json(format_safe_json(data, 2 if is_terminal(sys.stdout) else None, ascii=not is_unicode_encoding(encoding)))


def print_ascii_json(data: object) -> None:
    """Print data as indented JSON of printable ASCII."""
    echo_json(json.dumps(data, indent=2, default=str).replace("\x7f", "\\u007f"))


def print_document_json(data: object) -> None:
    """Print data as indented JSON; characters that the encoding lacks are escaped."""
    from antiphon.terminal.sanitizer import is_unicode_encoding
    from antiphon.views.stream import format_safe_json

    echo_json(format_safe_json(data, indent=2, ascii=not is_unicode_encoding(sys.stdout.encoding or "")))


def print_report_json(data: object) -> None:
    """Print data as indented JSON with control and invisible characters escaped."""
    from antiphon.views.stream import format_safe_json

    echo_json(format_safe_json(data, indent=2))


def discard_stdout() -> None:
    """Redirect a failed standard output to the null device, so that it is not flushed again at exit."""
    with open(os.devnull, "w") as nowhere, suppress(OSError, ValueError):
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def is_terminal(stream: Any) -> bool:
    """Return whether a stream is a terminal; it may be closed or missing."""
    return stream is not None and not stream.closed and stream.isatty()


def print_message(text: str) -> None:
    """Print a message of the program on standard error."""
    click.echo(f"antiphon: {escape_unprintable(text)}", err=True)


def exit_without_result(reason: str) -> NoReturn:
    """Print why there is no result, and exit with code 1."""
    print_message(reason)
    sys.exit(1)


def _escape_unencodable(text: str) -> str:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
