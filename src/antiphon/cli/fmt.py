"""`antiphon fmt`: format programs."""

from __future__ import annotations

import difflib
import sys

import click

from antiphon._base.escape import escape_unprintable, escape_unprintable_line
from antiphon.cli import program_loading as programs
from antiphon.cli.completers import FILE_PARAM
from antiphon.cli.style import supports_colour
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.syntax.diagnostics import ProgramErrors
from antiphon.lang.syntax.source import Source


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR|-...", type=FILE_PARAM)
@click.option("--check", "only_check", is_flag=True, help="List the files that would change; change nothing.")
@click.option("--diff", "show_diff", is_flag=True, help="Print the changes as a diff; change nothing.")
def fmt(paths: tuple[str, ...], only_check: bool, show_diff: bool) -> None:
    """Format programs.

    Files are changed in place, `-` formats standard input to standard output, directories are searched for
    `*.vibe`. A file with a syntax error is left unchanged. Exit code: 0 done, 1 --check found files to
    change, 2 a file cannot be formatted.
    """
    changed = failed = 0
    files = list(programs.iter_program_files(paths))
    if not files:
        raise click.UsageError(f"there are no programs (`.vibe`) in {', '.join(paths)}")
    for path in files:
        try:
            programs.refuse_other_file(path)
            changed += _format_file(path, only_check, show_diff)
        except (ProgramErrors, VibeError) as error:
            failed += 1
            programs.print_program_error(error)
    sys.exit(2 if failed else 1 if changed and only_check else 0)


def _format_file(path: str, only_check: bool, show_diff: bool) -> bool:
    """Format a file, or only compare; return whether it differs from its formatted text."""
    from antiphon.lang.formatter import format_source

    source = programs.read_source_or_stdin(path)
    text = format_source(source)
    is_changed = text != source.text
    if show_diff and is_changed:
        _print_diff(path, source, text)
    if only_check and is_changed and not show_diff:
        click.echo(f"would change {escape_unprintable_line(path)}")
    if only_check or show_diff:
        return is_changed
    if path == "-":
        click.echo(text, nl=False)
    elif is_changed:
        from antiphon.conversation.serialization import write_file_atomically

        write_file_atomically(path, text.encode())
        click.echo(f"changed {escape_unprintable_line(path)}")
    return is_changed


def _print_diff(path: str, source: Source, text: str) -> None:
    name = programs.STDIN_NAME if path == "-" else path
    before, after = source.text.splitlines(keepends=True), text.splitlines(keepends=True)
    for line in difflib.unified_diff(before, after, name, f"{name} (formatted)"):
        click.echo(_colour_diff_line(escape_unprintable(line.rstrip("\n"))))


def _colour_diff_line(line: str) -> str:
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return click.style(line, fg=colour) if colour and supports_colour(sys.stdout) else line
