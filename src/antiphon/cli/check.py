"""`antiphon check`: report all errors in programs without running them."""

from __future__ import annotations

import sys
from typing import Any

import click

from antiphon.cli import program_loading as programs
from antiphon.cli.completers import FILE_PARAM
from antiphon.cli.output import print_report_json
from antiphon.cli.style import format_noun_count
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.syntax.diagnostics import Diagnostic
from antiphon.lang.syntax.source import Source


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR|-...", type=FILE_PARAM)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--untrusted", is_flag=True, help="Report what `run --untrusted` rejects.")
def check(paths: tuple[str, ...], as_json: bool, untrusted: bool) -> None:
    """Check programs, and the modules they import, without running them.

    All errors are reported at once. Directories are searched for `*.vibe`. Exit code: 0 no errors (warnings
    do not count), 2 errors.
    """
    found, unread, files = _check_files(paths, untrusted)
    errors = len(unread) + sum(each.severity == "error" for _, each in found)
    warnings = len(found) + len(unread) - errors
    if as_json:
        _print_report_json(found, unread, files, errors, warnings)
    else:
        _print_report(found, unread, files, errors, warnings)
    sys.exit(2 if errors else 0)


def _check_files(
    paths: tuple[str, ...], untrusted: bool
) -> tuple[list[tuple[Source, Diagnostic]], list[tuple[str, VibeError]], int]:
    """Return the diagnostics, the unreadable files, and the number of files."""
    from antiphon.lang.runtime.modules import ModuleLoader

    modules = ModuleLoader(untrusted)
    unread: list[tuple[str, VibeError]] = []
    files = 0
    for path in programs.iter_program_files(paths):
        files += 1
        try:
            programs.load_program_module(modules, path)
        except VibeError as error:
            unread.append((path, error))
    return modules.list_problems(), unread, files


def _print_report(
    found: list[tuple[Source, Diagnostic]], unread: list[tuple[str, VibeError]], files: int, errors: int, warnings: int
) -> None:
    for _, error in unread:
        click.echo(programs.render_program_error(error, sys.stdout) + "\n")
    for source, each in found:
        click.echo(programs.render_diagnostic(source, each, sys.stdout) + "\n")
    told = [format_noun_count(errors, "error")] * bool(errors) + [format_noun_count(warnings, "warning")] * bool(
        warnings
    )
    click.echo(f"{format_noun_count(files, 'file')}: {', '.join(told) or 'no errors'}")


def _print_report_json(
    found: list[tuple[Source, Diagnostic]], unread: list[tuple[str, VibeError]], files: int, errors: int, warnings: int
) -> None:

    diagnostics: list[dict[str, Any]] = [programs.file_error_json(error, path) for path, error in unread]
    diagnostics += [each.to_json(source) for source, each in found]
    report = {"files": files, "errors": errors, "warnings": warnings, "diagnostics": diagnostics}
    print_report_json(report)
