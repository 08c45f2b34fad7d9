"""`antiphon check`: check programs and message histories for errors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from antiphon.cli import program_loading as programs
from antiphon.cli.completers import FILE_PARAM
from antiphon.cli.export import FormatParam
from antiphon.cli.history_check import check_history_file, looks_like_history, make_report_json, print_report
from antiphon.cli.output import print_report_json
from antiphon.cli.style import format_noun_count
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.syntax.diagnostics import Diagnostic
from antiphon.lang.syntax.source import Source

if TYPE_CHECKING:
    from antiphon.cli.history_check import CheckedFile


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR|-...", type=FILE_PARAM)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--untrusted", is_flag=True, help="For programs: report what `run --untrusted` rejects.")
@click.option("--format", "format_name", type=FormatParam(is_read=True),
              help="For histories: the format of the file. [default: detected]")  # fmt: skip
@click.option("--provider", help="For histories: the rules of a provider that uses the API of another: mistral, groq …")
@click.option("--fix", is_flag=True, help="For histories: repair the file; the old one is saved as FILE.bak.")
def check(
    paths: tuple[str, ...], as_json: bool, untrusted: bool, format_name: str | None, provider: str | None, fix: bool
) -> None:
    """Check programs and message histories for errors.

    Programs, and the modules that they import, are checked without running them; directories are searched for
    `*.vibe`. A history holds messages or a request of OpenAI Chat, OpenAI Responses, Anthropic or Gemini; a
    file of Antiphon; messages of pydantic-ai, LangChain or the Vercel AI SDK; or a session of Claude Code or
    Codex. A file may have several, one per line. Exit code: 0 no errors (warnings do not count), 1 errors, 2 a
    file that cannot be read.
    """
    histories = [path for path in paths if format_name is not None or looks_like_history(path)]
    others = tuple(path for path in paths if path not in histories)
    _check_options(histories, others, untrusted, provider, fix)
    checked = [check_history_file(path, format_name, provider, fix) for path in histories]
    found, unread, files = _check_files(others, untrusted)
    if others and not files:
        raise click.UsageError(f"there are no programs (`.vibe`) in {', '.join(others)}")
    errors = sum(each.severity == "error" for _, each in found)
    warnings = len(found) - errors
    errors += len(unread)
    if as_json:
        _print_report_json(found, unread, checked, files, errors, warnings)
    else:
        for each in checked:
            print_report(each)
        if others:
            _print_report(found, unread, files, errors, warnings)
    if unread:
        sys.exit(2)
    sys.exit(1 if errors or any(each.has_faults for each in checked) else 0)


def _check_options(
    histories: list[str], others: tuple[str, ...], untrusted: bool, provider: str | None, fix: bool
) -> None:
    """Raise a usage error for options that apply to none of the files."""
    flag = "--provider" if provider is not None else "--fix" if fix else ""
    if flag and not histories:
        raise click.UsageError(f"`{flag}` is for histories, and {', '.join(others)} is none")
    if untrusted and not others:
        raise click.UsageError(f"`--untrusted` is for programs, and {', '.join(histories)} is none")
    if provider is not None:
        from antiphon._base.did_you_mean import suggest_name
        from antiphon.providers.registry import PROVIDERS

        if provider not in PROVIDERS:
            near = suggest_name(provider, PROVIDERS)
            hint = f"did you mean {near!r}?" if near else f"there are {', '.join(PROVIDERS)}"
            raise click.BadParameter(f"there is no provider {provider!r}; {hint}", param_hint="'--provider'")


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
            programs.refuse_other_file(path)
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
    found: list[tuple[Source, Diagnostic]],
    unread: list[tuple[str, VibeError]],
    checked: list[CheckedFile],
    files: int,
    errors: int,
    warnings: int,
) -> None:
    diagnostics: list[dict[str, Any]] = [programs.file_error_json(error, path) for path, error in unread]
    diagnostics += [each.to_json(source) for source, each in found]
    report = {"files": files, "errors": errors, "warnings": warnings, "diagnostics": diagnostics}
    report |= {"histories": [make_report_json(each) for each in checked]}
    print_report_json(report)
