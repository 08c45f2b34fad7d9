"""`antiphon map`: a program, run for each of many rows."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from antiphon._printable import printable, printable_line
from antiphon.cli import programs
from antiphon.cli.completing import FILE, MODEL
from antiphon.cli.detaching import check_detaching, hand_over_rows
from antiphon.cli.pairs import pairs
from antiphon.cli.run import check_trust, finite, load_program
from antiphon.cli.talk.printing import is_terminal
from antiphon.runs.begun import Begun, sources_of

if TYPE_CHECKING:
    from antiphon.effects import Performer
    from antiphon.journal import Journal
    from antiphon.lang.run import Host, Program
    from antiphon.runs.mapping import RowResult
    from antiphon.runs.rows import Numbered, RowSource


@click.command()
@click.argument("file", metavar="PROGRAM", type=FILE)
@click.argument("rows", type=FILE)
@click.option("--parallel", type=click.IntRange(1, 1000), default=8, show_default=True, metavar="N",
              help="How many rows run at once.")  # fmt: skip
@click.option(
    "--sample", type=click.IntRange(1), metavar="N", help="Only so many rows, from all over; always the same."
)
@click.option(
    "--set", "sets", multiple=True, metavar="NAME=VALUE", help="The same value of an input or variable for all rows."
)
@click.option("--model", metavar="NAME", type=MODEL, help="The model that serves where the program names none.")
@click.option(
    "--max-cost", type=click.FloatRange(min=0), callback=finite, metavar="USD", help="Stop before spending more in all."
)
@click.option("--yes", is_flag=True, help="Allow all tool calls.")
@click.option("--db", envvar="ANTIPHON_DB", metavar="PLACE", show_envvar=True,
              help="The journal; in one of postgresql://… the rows are left to workers (`antiphon work`).")  # fmt: skip
@click.option("--detach", is_flag=True, help="Do not wait for the workers: print the name of the run.")
@click.option("--replay", metavar="FILE", help="Take the answers of models from a recording; nothing is sent.")
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
    """Run a program for each row, and print what came of each as a line of JSON, in the order of the rows.

    ROWS is a .csv, .tsv or .jsonl file, or a pattern such as 'mails/*.txt': each file is a row, with `file` and `text`.
    The columns are the inputs of the program; of one that declares none, variables of its top level.

    Every row is a run of its own: `antiphon runs resume` goes on with rows that were interrupted or wait for somebody,
    and tries those again that failed. Exit code: 0 all rows are done, 1 some failed, 2 a mistake, 3 some wait, 130
    interrupted.
    """
    from antiphon.journal import Journal
    from antiphon.runs.mapping import Batch, begin_batch, follow
    from antiphon.runs.rows import RowSource, has_private

    if rows.endswith(".vibe") and not file.endswith(".vibe"):
        raise click.UsageError(f"the program comes first: {rows} {file}")
    program = load_program(file, False, False)
    check_trust(program, file, False)
    for each in program.warnings:
        click.echo(programs.rendered(program.source, each, sys.stderr), err=True)
    given = {**settings, "max_cost": max_cost, "parallel": parallel}
    source = RowSource(rows, sample, pairs(sets, "--set"))
    begun = Begun(file, os.getcwd(), program.source.name, sources_of(program), settings=given, rows=source)
    check_detaching(db, detach)
    journal = Journal(db)
    rest, is_private = _rows_of(program, source), has_private(program, source.sets)
    id = begin_batch(journal, program, begun, rest, is_private=is_private)
    if not journal.is_shared:
        batch = Batch(journal, id, program, Hosts(begun), parallel, max_cost)
        sys.exit(print_rows(journal, id, batch.results()))
    hand_over_rows(journal, id)
    if detach:
        click.echo(id)
        return
    sys.exit(print_rows(journal, id, follow(journal, id)))


def write_missing_rows(journal: Journal, id: str, program: Program, begun: Begun) -> None:
    """Write the rows of a batch that were not written when its process ended, from where they came."""
    from antiphon.errors import NotReadyError
    from antiphon.runs.mapping import finish_batch

    if begun.rows is None:
        raise NotReadyError(f"run {id} cannot be finished here: the code that began it has its rows")
    finish_batch(journal, id, program, _rows_of(program, begun.rows))


def go_on_with_rows(journal: Journal, id: str, program: Program, begun: Begun) -> int:
    """Go on with a batch that was left, and try again what failed here; gives the exit code."""
    from antiphon.runs.mapping import Batch, follow

    if journal.is_shared:
        hand_over_rows(journal, id, retry=True)
        return print_rows(journal, id, follow(journal, id))
    given = begun.settings
    batch = Batch(journal, id, program, Hosts(begun), int(given.get("parallel", 8)), given.get("max_cost"))
    return print_rows(journal, id, batch.results(retry=True))


def print_rows(journal: Journal, id: str, results: Generator[RowResult]) -> int:
    """Print what comes of the rows of a batch, as it comes; gives the exit code."""
    seen: set[str] = set()
    try:
        _print_results(journal, id, results, seen)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        seen.add("interrupted")
    if seen - {"done"}:
        more = " --max-cost USD" if "limit" in seen else ""
        again = "goes on, and tries again what failed" if not more else "goes on, up to so much in all"
        click.echo(f"antiphon: run {id}: `antiphon runs resume {id}{more}` {again}", err=True)
    for outcome, code in (("interrupted", 130), ("failed", 1), ("waiting", 3)):
        if outcome in seen:
            return code
    return 1 if seen - {"done"} else 0


class Hosts:
    """The world of each row: nothing is printed, and nobody is asked."""

    def __init__(self, begun: Begun) -> None:
        from dataclasses import replace

        from antiphon.cli.hosting import Terminal

        own = {name: each for name, each in begun.settings.items() if name not in ("max_cost", "parallel")}
        self._begun = replace(begun, settings=own)
        self._terminal = Terminal(has_human=False)
        self._terminal.watch = None

    def __call__(self, performers: tuple[Performer, ...]) -> Host:
        """The one of a row."""
        from antiphon.cli.carrying import host_of, write_nothing

        return host_of(self._begun, self._terminal, performers, write=write_nothing)


def _print_results(journal: Journal, id: str, results: Generator[RowResult], seen: set[str]) -> None:
    ((count,),) = journal.read("SELECT count(*) FROM runs WHERE parent = ? AND kind = 'row'", (id,))
    with _shown(count) as advance, closing(results):
        for result in results:
            seen.add(result.outcome)
            advance(result)
            _print_line(result)


@contextmanager
def _shown(count: int) -> Generator[Callable[[RowResult], object]]:
    """Takes each row that is over, and shows how far they are where somebody looks."""
    if not is_terminal(sys.stderr):
        yield lambda _: None
        return
    from antiphon.cli.rowing import Rowing

    with Rowing(count) as shown:
        yield shown.advance


def _print_line(result: RowResult) -> None:
    from antiphon.results import plain

    told = result.to_json()
    if "value" in told:
        told["value"] = plain(told["value"])
    click.echo(json.dumps(told).replace("\x7f", "\\u007f"))
    for name in result.changed:
        said = f"the environment variable {printable(name)} has another value than the last time"
        click.echo(f"antiphon: row {result.number}: {said}; what used it ran again", err=True)
    if result.outcome != "done":
        how = f"; `antiphon runs answer {result.run} TEXT`, or `allow`" if result.outcome == "waiting" else ""
        click.echo(f"antiphon: row {result.number}: {printable_line(result.error)}{how}", err=True)


def _rows_of(program: Program, source: RowSource) -> Iterable[Numbered]:
    from antiphon.runs.rows import fitted, numbered

    return fitted(program, numbered(_told(program, source.read()), source.sample))


def _told(program: Program, rows: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """Rows, as they are; what the program has no variable for is told of once."""
    from antiphon.lang.run.inputs import inputs_of

    known, told = inputs_of(program.code).keys(), set[str]()
    what = "input" if program.inputs else "variable"
    for row in rows:
        for name in row.keys() - known - told:
            told.add(name)
            click.echo(f"antiphon: the program has no {what} {printable(name)!r}, so it is left out", err=True)
        yield row
