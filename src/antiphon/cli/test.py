"""`antiphon test`: run the `test` blocks of programs, with models that say what the tests tell them to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antiphon._printable import printable, printable_line
from antiphon.cli import programs
from antiphon.cli.colours import echo_json, is_coloured
from antiphon.cli.completing import FILE
from antiphon.errors import ConfigurationError
from antiphon.lang.run.errors import VibeError
from antiphon.lang.syntax.diagnostics import ProgramErrors

if TYPE_CHECKING:
    from antiphon.lang.run.testing import Suite, TestResult

FAILED = 100


@click.command()
@click.argument("paths", nargs=-1, metavar="[FILE|DIR]...", type=FILE)
@click.option("-k", "wanted", metavar="NAME", default="", help="Run only tests with this in their name.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--replay", metavar="FILE", help="Answer from this recording in tests that script no answers.")
def test(paths: tuple[str, ...], wanted: str, as_json: bool, replay: str | None) -> None:
    """Run the `test "…" { … }` blocks of programs.

    Directories are searched; without a path it is the current one. Models are never asked: `answers([…])` says what
    they answer, or a recording `NAME.recording.jsonl` beside NAME.vibe. Exit code: 0 all passed, 100 some failed, 2
    there are no tests or they cannot be run, 130 interrupted.
    """
    if replay is not None and not Path(replay).is_file():
        raise ConfigurationError(f"cannot read {replay}: there is no such file")
    report = _Report(as_json)
    try:
        for path in programs.files(paths or (".",)):
            _run_file(path, path in paths, wanted, replay, report)
    except KeyboardInterrupt:
        report.is_interrupted = True
    report.finish()
    sys.exit(report.exit_code)


def _run_file(path: str, is_named: bool, wanted: str, replay: str | None, report: _Report) -> None:
    from antiphon.cli.scripted import Scripted
    from antiphon.cli.trust import check_program
    from antiphon.lang.run.testing import load_tests, may_have_tests

    if not is_named and not may_have_tests(path):
        return
    try:
        suite = load_tests(path, replay=replay)
    except ProgramErrors as errors:
        for source, each in errors.found:
            report.refuse(programs.rendered(source, each, sys.stderr), each.to_json(source))
        return
    except VibeError as error:
        report.refuse(programs.rendered_error(error, sys.stderr), programs.unplaced(error, path))
        return
    if refused := check_program(suite.modules.compiled, path, named=is_named):
        error = VibeError("V0923", refused, "`antiphon trust` shows all of it and allows it")
        report.refuse(programs.rendered_error(error, sys.stderr), programs.unplaced(error, path))
        return
    chosen = [each for each in suite.tests if wanted.lower() in each.name.lower()]
    if chosen:
        report.begin(path)
    for each in chosen:
        report.add(suite, suite.run(each, Scripted(suite.recording)))


class _Report:
    """Tells of each test as it ends, or of all at the end."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._tests: list[dict[str, Any]] = []
        self._diagnostics: list[dict[str, Any]] = []
        self._seconds = 0.0
        self.is_interrupted = False

    @property
    def exit_code(self) -> int:
        """What the shell is told."""
        if self.is_interrupted:
            return 130
        if self._diagnostics or not self._tests:
            return 2
        return FAILED if self._failed else 0

    @property
    def _failed(self) -> int:
        return sum(each["outcome"] == "failed" for each in self._tests)

    def begin(self, path: str) -> None:
        """The tests of a file follow."""
        if not self._as_json:
            click.echo(printable_line(programs.near(path)))

    def refuse(self, text: str, data: dict[str, Any]) -> None:
        """A file cannot be run."""
        self._diagnostics.append(data)
        if not self._as_json:
            click.echo(text, err=True)

    def add(self, suite: Suite, result: TestResult) -> None:
        """A test has ended."""
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
        sign = click.style(sign, fg=colour) if is_coloured(sys.stdout) else sign
        click.echo(f"{sign} {printable_line(result.test.name)} {milliseconds} ms")
        if not result.passed:
            self._explain(result)

    def _explain(self, result: TestResult) -> None:
        told = [printable(each) for each in result.missing]
        if result.error and not result.missing:
            told.append(programs.rendered_error(result.error, sys.stdout))
        if result.prints:
            told.append("it printed:\n" + printable("\n".join(result.prints)))
        click.echo("\n".join(f"    {line}" for each in told for line in each.splitlines()))

    def finish(self) -> None:
        """All have ended."""
        failed, passed = self._failed, len(self._tests) - self._failed
        if self._as_json:
            from antiphon.views.stream import json_text

            totals = {"passed": passed, "failed": failed, "milliseconds": round(self._seconds * 1000)}
            echo_json(json_text({**totals, "tests": self._tests, "diagnostics": self._diagnostics}, indent=2))
        elif self._tests:
            told = [f"{passed} passed"] * bool(passed) + [f"{failed} failed"] * bool(failed)
            click.echo(f"{', '.join(told)} in {self._seconds:.2f} s")
        elif not self._diagnostics:
            click.echo("antiphon: there are no tests here", err=True)
        if self.is_interrupted:
            click.echo("interrupted", err=True)
