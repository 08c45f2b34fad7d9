"""`antiphon test`: run the `test` blocks of programs with scripted models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable, escape_unprintable_line
from antiphon.cli import program_loading as programs
from antiphon.cli.completers import FILE_PARAM
from antiphon.cli.output import print_message, print_report_json
from antiphon.cli.style import supports_colour
from antiphon.errors import ConfigurationError
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.syntax.diagnostics import ProgramErrors

if TYPE_CHECKING:
    from antiphon.lang.runtime.test_runner import TestResult, VibeTestSuite

TESTS_FAILED = 100


@click.command()
@click.argument("paths", nargs=-1, metavar="[FILE|DIR]...", type=FILE_PARAM)
@click.option("-k", "wanted", metavar="NAME", default="", help="Run only tests whose name contains this text.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--replay", metavar="FILE", help="Answer from this replay file in tests without scripted answers.")
def test(paths: tuple[str, ...], wanted: str, as_json: bool, replay: str | None) -> None:
    """Run the `test "…" { … }` blocks of programs.

    Directories are searched; the default is the current one. No model is asked: answers come from
    `answers([…])`, or from a replay file `NAME.recording.jsonl` beside NAME.vibe. Exit code: 0 all passed,
    100 some failed, 2 there are no tests or they cannot run, 130 interrupted.
    """
    if replay is not None and not Path(replay).is_file():
        raise ConfigurationError(f"cannot read {replay}: there is no such file")
    report = _TestReport(as_json)
    try:
        for path in programs.iter_program_files(paths or (".",)):
            _run_test_file(path, path in paths, wanted, replay, report)
    except KeyboardInterrupt:
        report.is_interrupted = True
    report.finish(", ".join(paths) or "this directory")
    sys.exit(report.exit_code)


def _run_test_file(path: str, is_named: bool, wanted: str, replay: str | None, report: _TestReport) -> None:
    from antiphon.cli.scripted_models import ScriptedTestModels
    from antiphon.cli.trust import explain_untrusted_program
    from antiphon.lang.runtime.test_runner import load_tests, may_have_tests

    if not is_named and not may_have_tests(path):
        return
    try:
        suite = load_tests(path, replay=replay)
    except ProgramErrors as errors:
        for source, each in errors.found:
            report.add_unusable_file(programs.render_diagnostic(source, each, sys.stderr), each.to_json(source))
        return
    except VibeError as error:
        report.add_unusable_file(
            programs.render_program_error(error, sys.stderr), programs.file_error_json(error, path)
        )
        return
    if refused := explain_untrusted_program(suite.modules.compiled, path, named=is_named):
        error = VibeError("V0923", refused, "trust it with `antiphon setup trust`")
        report.add_unusable_file(
            programs.render_program_error(error, sys.stderr), programs.file_error_json(error, path)
        )
        return
    chosen = [each for each in suite.tests if wanted.lower() in each.name.lower()]
    if chosen:
        report.begin(path)
    for each in chosen:
        report.add(suite, suite.run(each, ScriptedTestModels(suite.recording)))


class _TestReport:
    """Prints each test result as it arrives, or all of them as JSON at the end."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._tests: list[dict[str, Any]] = []
        self._diagnostics: list[dict[str, Any]] = []
        self._seconds = 0.0
        self.is_interrupted = False

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        if self.is_interrupted:
            return 130
        if self._diagnostics or not self._tests:
            return 2
        return TESTS_FAILED if self._failed else 0

    @property
    def _failed(self) -> int:
        return sum(each["outcome"] == "failed" for each in self._tests)

    def begin(self, path: str) -> None:
        """Print the name of a file before its tests."""
        if not self._as_json:
            click.echo(escape_unprintable_line(programs.relative_path(path)))

    def add_unusable_file(self, text: str, data: dict[str, Any]) -> None:
        """Report a file that cannot be run."""
        self._diagnostics.append(data)
        if not self._as_json:
            click.echo(text, err=True)

    def add(self, suite: VibeTestSuite, result: TestResult) -> None:
        """Report the result of a test."""
        self._seconds += result.seconds
        milliseconds = round(result.seconds * 1000)
        self._tests.append(
            {
                "file": suite.source.name,
                "name": result.test.name,
                "line": result.test.line,
                "outcome": "passed" if result.passed else "failed",
                "milliseconds": milliseconds,
                "prints": result.prints,
                **({"error": result.error.to_json()} if result.error else {}),
                **({"missing": list(result.missing)} if result.missing else {}),
            }
        )
        if self._as_json:
            return
        sign, colour = ("✓", "green") if result.passed else ("✗", "red")
        sign = click.style(sign, fg=colour) if supports_colour(sys.stdout) else sign
        click.echo(f"{sign} {escape_unprintable_line(result.test.name)} {milliseconds} ms")
        if not result.passed:
            self._print_failure(result)

    def _print_failure(self, result: TestResult) -> None:
        told = [escape_unprintable(each) for each in result.missing]
        if result.error and not result.missing:
            told.append(programs.render_program_error(result.error, sys.stdout))
        if result.prints:
            told.append("output:\n" + escape_unprintable("\n".join(result.prints)))
        click.echo("\n".join(f"    {line}" for each in told for line in each.splitlines()))

    def finish(self, where: str) -> None:
        """Print the totals."""
        failed, passed = self._failed, len(self._tests) - self._failed
        if self._as_json:
            totals = {"passed": passed, "failed": failed, "milliseconds": round(self._seconds * 1000)}
            print_report_json({**totals, "tests": self._tests, "diagnostics": self._diagnostics})
        elif self._tests:
            told = [f"{passed} passed"] * bool(passed) + [f"{failed} failed"] * bool(failed)
            click.echo(f"{', '.join(told)} in {self._seconds:.2f} s")
        elif not self._diagnostics:
            print_message(f'no tests were found in {where}; a test is `test "NAME" {{ … }}` in a program')
        if self.is_interrupted:
            click.echo("interrupted", err=True)
