"""`antiphon fmt`: programs in the one style of the language."""

from __future__ import annotations

import difflib
import sys

import click

from antiphon._printable import printable, printable_line
from antiphon.cli import programs
from antiphon.cli.colours import is_coloured
from antiphon.cli.completing import FILE
from antiphon.lang.run.errors import VibeError
from antiphon.lang.syntax.diagnostics import ProgramErrors
from antiphon.lang.syntax.source import Source


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR|-...", type=FILE)
@click.option("--check", "only_check", is_flag=True, help="Change nothing; say which files would be changed.")
@click.option("--diff", "show_diff", is_flag=True, help="Change nothing; show what would be changed.")
def fmt(paths: tuple[str, ...], only_check: bool, show_diff: bool) -> None:
    """Lay programs out in the one style of the language.

    Files are changed in place, `-` goes from standard input to standard output, directories are searched for `*.vibe`.
    A file with wrong syntax is left alone. Exit code: 0 done, 1 something would be changed by --check, 2 a file cannot
    be formatted.
    """
    changed = failed = 0
    for path in programs.files(paths):
        try:
            changed += _format(path, only_check, show_diff)
        except ProgramErrors as errors:
            failed += 1
            for source, each in errors.found:
                click.echo(programs.rendered(source, each, sys.stderr), err=True)
        except VibeError as error:
            failed += 1
            click.echo(programs.rendered_error(error, sys.stderr), err=True)
    sys.exit(2 if failed else 1 if changed and only_check else 0)


def _format(path: str, only_check: bool, show_diff: bool) -> bool:
    """Whether the file was not, or is not yet, as it should be."""
    from antiphon.lang.formatter import format_source

    source = programs.read(path)
    text = format_source(source)
    is_changed = text != source.text
    if show_diff and is_changed:
        _print_difference(path, source, text)
    if only_check and is_changed and not show_diff:
        click.echo(f"would change {printable_line(path)}")
    if only_check or show_diff:
        return is_changed
    if path == "-":
        click.echo(text, nl=False)
    elif is_changed:
        from antiphon.conversation.storage import write_atomically

        write_atomically(path, text.encode())
        click.echo(f"changed {printable_line(path)}")
    return is_changed


def _print_difference(path: str, source: Source, text: str) -> None:
    name = programs.STDIN if path == "-" else path
    before, after = source.text.splitlines(keepends=True), text.splitlines(keepends=True)
    for line in difflib.unified_diff(before, after, name, f"{name} (formatted)"):
        click.echo(_coloured(printable(line.rstrip("\n"))))


def _coloured(line: str) -> str:
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return click.style(line, fg=colour) if colour and is_coloured(sys.stdout) else line
