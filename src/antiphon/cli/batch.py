"""Run a program for each row of a file: `antiphon run PROGRAM --rows ROWS`."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable, escape_unprintable_line
from antiphon.cli.detach import dispatch_rows
from antiphon.cli.output import is_terminal, print_message

if TYPE_CHECKING:
    from antiphon.durable import Journal
    from antiphon.effects import Middleware
    from antiphon.lang.runtime import Host, Program
    from antiphon.programs.batch import Batch, RowResult
    from antiphon.programs.launch_spec import LaunchSpec
    from antiphon.programs.row_sources import NumberedRow, RowSource


#: The exit code of a batch by the first of these endings that a row has.
_EXIT_CODES = {"interrupted": 130, "failed": 1, "invalid": 1, "lost": 1, "waiting": 3, "limit": 4, "sent": 3}


def run_batch(program: Program, begun: LaunchSpec, *, detach: bool, is_saved: bool, wait: bool = False) -> int:
    """Run a program for each row of `begun.rows`, print the results, and return the exit code."""
    from antiphon.durable import Journal
    from antiphon.programs.batch import check_deferrable
    from antiphon.storage.store_location import is_saving_off

    if "batch" in begun.settings:
        if is_saving_off():
            raise click.UsageError("`--batch` needs a database, in which its rows wait; omit `--db off`")
        check_deferrable(Journal(), program, begun.settings.get("model"))
    if is_saved and not is_saving_off():
        return _start_batch(Journal(), program, begun, detach=detach, wait=wait)
    # The rows of a batch need a database, even if nothing of it is kept.
    with tempfile.TemporaryDirectory(prefix="antiphon-") as directory:
        journal = Journal(os.path.join(directory, "batch.db"))
        try:
            return _start_batch(journal, program, begun, detach=False, is_kept=False)
        finally:
            journal.close()


def _start_batch(
    journal: Journal, program: Program, begun: LaunchSpec, *, detach: bool, is_kept: bool = True, wait: bool = False
) -> int:
    from antiphon.programs.batch import begin_batch, follow_batch
    from antiphon.programs.row_sources import has_private_input

    assert begun.rows is not None
    rest, is_private = _read_rows(program, begun.rows), has_private_input(program, begun.rows.sets)
    id = begin_batch(journal, program, begun, rest, is_private=is_private)
    if not journal.is_shared:
        batch = open_saved_batch(journal, id, program, begun, wait=wait)
        return print_row_results(journal, id, batch.iterate_results(), is_kept=is_kept)
    dispatch_rows(journal, id)
    if detach:
        click.echo(id)
        return 0
    return print_row_results(journal, id, follow_batch(journal, id))


def finish_batch_rows(journal: Journal, id: str, program: Program, begun: LaunchSpec) -> None:
    """Create the rows of a batch that were missing when its process ended."""
    from antiphon.errors import NotReadyError
    from antiphon.programs.batch import finish_batch

    if begun.rows is None:
        raise NotReadyError(f"session {id} cannot be finished here: only the Python code that started it has its rows")
    finish_batch(journal, id, program, _read_rows(program, begun.rows))


def open_saved_batch(journal: Journal, id: str, program: Program, begun: LaunchSpec, *, wait: bool = False) -> Batch:
    """Return a batch with the settings that it was started with."""
    from antiphon.programs.batch import open_batch

    given = begun.settings
    parallel, fallback = int(given.get("parallel", 8)), given.get("batch")
    return open_batch(journal, id, program, RowHosts(begun), parallel, given.get("max_cost"), fallback, wait=wait)


def cancel_sent_batches(journal: Journal, id: str, program: Program, begun: LaunchSpec) -> int:
    """Cancel what rows of a batch wait for at providers, and return the number of the batches there."""
    from antiphon.programs.provider_batch import DeferredBatch

    batch = open_saved_batch(journal, id, program, begun)
    return batch.cancel() if isinstance(batch, DeferredBatch) else 0


def resume_batch(journal: Journal, id: str, program: Program, begun: LaunchSpec, *, wait: bool = False) -> int:
    """Resume a batch, retry failed rows, and return the exit code."""
    from antiphon.programs.batch import follow_batch

    if journal.is_shared:
        dispatch_rows(journal, id, retry=True)
        return print_row_results(journal, id, follow_batch(journal, id))
    batch = open_saved_batch(journal, id, program, begun, wait=wait)
    return print_row_results(journal, id, batch.iterate_results(retry=True))


def print_row_results(journal: Journal, id: str, results: Generator[RowResult], *, is_kept: bool = True) -> int:
    """Print the results of a batch as they arrive, and return the exit code."""
    from antiphon.errors import BatchRefused

    seen: set[str] = set()
    try:
        _print_results(journal, id, results, seen)
    except BatchRefused as error:
        print_message(escape_unprintable_line(str(error)))
        seen.add("failed")
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        seen.add("interrupted")
    if "sent" in seen:
        from antiphon.cli.telling import iter_sent_batches

        for line in iter_sent_batches(journal, id, journal.list_open_batches(id)):
            print_message(line)
    if seen - {"done", "sent"} and is_kept:
        more = " --max-cost USD" if "limit" in seen else ""
        is_failed = bool(seen & {"failed", "invalid", "lost"})
        again = "retries failed rows" if is_failed else "runs the open rows"
        again = "continues with a higher limit" if more else again
        print_message(f"session {id}: `antiphon resume {id}{more}` {again}")
    for outcome, code in _EXIT_CODES.items():
        if outcome in seen:
            return code
    return 1 if seen - {"done"} else 0


class RowHosts:
    """Creates the host of each row: no output and no questions."""

    def __init__(self, begun: LaunchSpec) -> None:
        from dataclasses import replace

        from antiphon.cli.program_host import TerminalFrontend

        own = {name: each for name, each in begun.settings.items() if name not in ("max_cost", "parallel", "batch")}
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
            seen.add("sent" if result.is_sent else result.outcome)
            if not result.is_sent:
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
    for told in result.fallbacks:
        print_message(f"row {result.number}: {escape_unprintable_line(told)}")
    for name in result.changed:
        changed = f"the environment variable {escape_unprintable(name)} has changed"
        print_message(f"row {result.number}: {changed}; steps that used it ran again")
    if result.outcome != "done":
        how = f"; answer with `antiphon answer {result.run} yes`, `no` or a text" if result.outcome == "waiting" else ""
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
