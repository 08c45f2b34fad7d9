"""`antiphon check`: everything that is wrong with programs, without running them."""

from __future__ import annotations

import sys
from typing import Any

import click

from antiphon.cli import programs
from antiphon.cli.colours import echo_json
from antiphon.cli.completing import FILE
from antiphon.lang.run.errors import VibeError
from antiphon.lang.syntax.diagnostics import Diagnostic
from antiphon.lang.syntax.source import Source


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR|-...", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--untrusted", is_flag=True, help="Refuse what `run --untrusted` refuses.")
def check(paths: tuple[str, ...], as_json: bool, untrusted: bool) -> None:
    """Check programs, and the modules they import, without running them.

    All that is wrong is told at once. Directories are searched for `*.vibe`. Exit code: 0 nothing is wrong (warnings do
    not count), 2 something is.
    """
    found, unread, files = _check(paths, untrusted)
    errors = len(unread) + sum(each.severity == "error" for _, each in found)
    warnings = len(found) + len(unread) - errors
    if as_json:
        _print_json(found, unread, files, errors, warnings)
    else:
        _print(found, unread, files, errors, warnings)
    sys.exit(2 if errors else 0)


def _check(
    paths: tuple[str, ...], untrusted: bool
) -> tuple[list[tuple[Source, Diagnostic]], list[tuple[str, VibeError]], int]:
    """What was found, the files that could not be read, and how many files there were."""
    from antiphon.lang.run.modules import Modules

    modules = Modules(untrusted)
    unread: list[tuple[str, VibeError]] = []
    files = 0
    for path in programs.files(paths):
        files += 1
        try:
            programs.module(modules, path)
        except VibeError as error:
            unread.append((path, error))
    return modules.problems(), unread, files


def _print(
    found: list[tuple[Source, Diagnostic]], unread: list[tuple[str, VibeError]], files: int, errors: int, warnings: int
) -> None:
    for _, error in unread:
        click.echo(programs.rendered_error(error, sys.stdout) + "\n")
    for source, each in found:
        click.echo(programs.rendered(source, each, sys.stdout) + "\n")
    told = [programs.count(errors, "error")] * bool(errors) + [programs.count(warnings, "warning")] * bool(warnings)
    click.echo(f"{programs.count(files, 'file')}: {', '.join(told) or 'nothing wrong'}")


def _print_json(
    found: list[tuple[Source, Diagnostic]], unread: list[tuple[str, VibeError]], files: int, errors: int, warnings: int
) -> None:
    from antiphon.views.stream import json_text

    diagnostics: list[dict[str, Any]] = [programs.unplaced(error, path) for path, error in unread]
    diagnostics += [each.to_json(source) for source, each in found]
    report = {"files": files, "errors": errors, "warnings": warnings, "diagnostics": diagnostics}
    echo_json(json_text(report, indent=2))
