"""`antiphon map`: run a program for each of many rows."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable, escape_unprintable_line
from antiphon.cli import program_loading as programs
from antiphon.cli.completers import FILE_PARAM
from antiphon.cli.detach import check_detach_option, dispatch_rows
from antiphon.cli.options import DB_OPTION, MAX_COST_OPTION, MODEL_OPTION, YES_OPTION, parse_pairs
from antiphon.cli.output import is_terminal, print_message
from antiphon.cli.run import exit_unless_trusted, load_program_or_exit
from antiphon.programs.launch_spec import LaunchSpec, collect_program_sources

if TYPE_CHECKING:
    from antiphon.durable import Journal
    from antiphon.effects import Middleware
    from antiphon.lang.runtime import Host, Program
    from antiphon.programs.batch import RowResult
    from antiphon.programs.row_sources import NumberedRow, RowSource


@click.command()
@click.argument("file", metavar="PROGRAM", type=FILE_PARAM)
@click.argument("rows", type=FILE_PARAM)
@click.option("--parallel", type=click.IntRange(1, 1000), default=8, show_default=True, metavar="N",
              help="How many rows run concurrently.")  # fmt: skip
@click.option(
    "--sample", type=click.IntRange(1), metavar="N", help="Run only N rows, spread over all; always the same ones."
)
@click.option(
    "--set", "sets", multiple=True, metavar="NAME=VALUE", help="Set an input or a top-level variable for all rows."
)
@MODEL_OPTION
@MAX_COST_OPTION
@YES_OPTION
@DB_OPTION
@click.option("--detach", is_flag=True, help="Print the id of the run; do not wait for the workers.")
@click.option("--replay", metavar="FILE", help="Take answers from a recording; send nothing.")
def map(
    file: str,
    rows: str,
    parallel: int,
    sample: int | None,
    sets: tuple[str, ...],
    max_cost: float | None,
    db: str | None,
    detach: bool,
    **settings: Any,
) -> None:
    """Run a program for each row, and print each result as a line of JSON, in the order of the rows.

    ROWS is a .csv, .tsv or .jsonl file, or a pattern such as 'mails/*.txt': each file is a row, with `file`
    and `text`. The columns are the inputs of the program; if it declares none, its top-level variables.

    Every row is a run of its own: `antiphon runs resume` resumes rows that were interrupted or wait for an
    answer, and retries failed ones. Exit code: 0 all rows are done, 1 some failed, 2 an invalid option, 3
    some wait, 130 interrupted.
    """
    from antiphon.durable import Journal
    from antiphon.programs.batch import Batch, begin_batch, follow_batch
    from antiphon.programs.row_sources import RowSource, has_private_input

    if rows.endswith(".vibe") and not file.endswith(".vibe"):
        raise click.UsageError(f"name the program before the rows: `antiphon map {rows} {file}`")
    program = load_program_or_exit(file, False, False)
    exit_unless_trusted(program, file, False)
    programs.print_warnings(program.source, program.warnings)
    given = {**settings, "max_cost": max_cost, "parallel": parallel}
    source = RowSource(rows, sample, parse_pairs(sets, "--set"))
    begun = LaunchSpec(
        file, os.getcwd(), program.source.name, collect_program_sources(program), settings=given, rows=source
    )
    check_detach_option(db, detach)
    journal = Journal(db)
    rest, is_private = _read_rows(program, source), has_private_input(program, source.sets)
    id = begin_batch(journal, program, begun, rest, is_private=is_private)
    if not journal.is_shared:
        batch = Batch(journal, id, program, RowHosts(begun), parallel, max_cost)
        sys.exit(print_row_results(journal, id, batch.iterate_results()))
    dispatch_rows(journal, id)
    if detach:
        click.echo(id)
        return
    sys.exit(print_row_results(journal, id, follow_batch(journal, id)))


def finish_batch_rows(journal: Journal, id: str, program: Program, begun: LaunchSpec) -> None:
    """Create the rows of a batch that were missing when its process ended."""
    from antiphon.errors import NotReadyError
    from antiphon.programs.batch import finish_batch

    if begun.rows is None:
        raise NotReadyError(f"run {id} cannot be finished here: only the Python code that started it has its rows")
    finish_batch(journal, id, program, _read_rows(program, begun.rows))


def resume_batch(journal: Journal, id: str, program: Program, begun: LaunchSpec) -> int:
    """Resume a batch, retry failed rows, and return the exit code."""
    from antiphon.programs.batch import Batch, follow_batch

    if journal.is_shared:
        dispatch_rows(journal, id, retry=True)
        return print_row_results(journal, id, follow_batch(journal, id))
    given = begun.settings
    batch = Batch(journal, id, program, RowHosts(begun), int(given.get("parallel", 8)), given.get("max_cost"))
    return print_row_results(journal, id, batch.iterate_results(retry=True))


def print_row_results(journal: Journal, id: str, results: Generator[RowResult]) -> int:
    """Print the results of a batch as they arrive, and return the exit code."""
    seen: set[str] = set()
    try:
        _print_results(journal, id, results, seen)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        seen.add("interrupted")
    if seen - {"done"}:
        more = " --max-cost USD" if "limit" in seen else ""
        again = "retries failed rows" if not more else "continues with a higher limit"
        print_message(f"run {id}: `antiphon runs resume {id}{more}` {again}")
    for outcome, code in (("interrupted", 130), ("failed", 1), ("waiting", 3)):
        if outcome in seen:
            return code
    return 1 if seen - {"done"} else 0


class RowHosts:
    """Creates the host of each row: no output and no questions."""

    def __init__(self, begun: LaunchSpec) -> None:
        from dataclasses import replace

        from antiphon.cli.program_host import TerminalFrontend

        own = {name: each for name, each in begun.settings.items() if name not in ("max_cost", "parallel")}
        self._begun = replace(begun, settings=own)
        self._terminal = TerminalFrontend(has_human=False)
        self._terminal.watch = None

    def __call__(self, performers: tuple[Middleware, ...]) -> Host:
        """Return the host of one row."""
        from antiphon.cli.execute import discard_output, make_program_host

        return make_program_host(self._begun, self._terminal, performers, write=discard_output)


def _print_results(journal: Journal, id: str, results: Generator[RowResult], seen: set[str]) -> None:
    from antiphon.storage.sessions import count_children

    count = count_children(journal.database, id, "row")
    with _show_progress(count) as advance, closing(results):
        for result in results:
            seen.add(result.outcome)
            advance(result)
            _print_row(result)


@contextmanager
def _show_progress(count: int) -> Generator[Callable[[RowResult], object]]:
    """Yield a function that takes each finished row and updates the progress on a terminal."""
    if not is_terminal(sys.stderr):
        yield lambda _: None
        return
    from antiphon.cli.batch_progress import BatchProgress

    with BatchProgress(count) as shown:
        yield shown.advance


def _print_row(result: RowResult) -> None:
    from antiphon.results import to_plain_json

    told = result.to_json()
    if "value" in told:
        told["value"] = to_plain_json(told["value"])
    click.echo(json.dumps(told).replace("\x7f", "\\u007f"))
    for name in result.changed:
        changed = f"the environment variable {escape_unprintable(name)} has changed"
        print_message(f"row {result.number}: {changed}; steps that used it ran again")
    if result.outcome != "done":
        how = f"; `antiphon runs answer {result.run} TEXT`, or `allow`" if result.outcome == "waiting" else ""
        print_message(f"row {result.number}: {escape_unprintable_line(result.error)}{how}")


def _read_rows(program: Program, source: RowSource) -> Iterable[NumberedRow]:
    from antiphon.programs.row_sources import enumerate_rows, select_inputs

    return select_inputs(program, enumerate_rows(_warn_unknown_columns(program, source.read()), source.sample))


def _warn_unknown_columns(program: Program, rows: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """Yield the rows; print a note once for each column that the program does not use."""
    from antiphon.lang.runtime.inputs import list_inputs

    known, told = list_inputs(program.code).keys(), set[str]()
    what = "input" if program.inputs else "variable"
    for row in rows:
        for name in row.keys() - known - told:
            told.add(name)
            print_message(f"the program has no {what} {escape_unprintable(name)!r}; the column is ignored")
        yield row
