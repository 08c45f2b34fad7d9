"""Dispatch runs to workers on other machines."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

import click

from antiphon.cli.output import print_message

if TYPE_CHECKING:
    from antiphon.durable import Journal
    from antiphon.programs.launch_spec import LaunchSpec

_BATCH_SIZE = 5_000


def check_detach_option(db: str | None, detach: bool) -> None:
    """Raise a usage error if `--detach` is used without a shared journal."""
    if detach and (db is None or not db.startswith(("postgresql://", "postgres://"))):
        raise click.UsageError("`--detach` needs a journal that workers share: `--db postgresql://…`")


def detach_run(db: str | None, begun: LaunchSpec, is_private: bool) -> None:
    """Create a run for a worker and print its id."""
    from antiphon.durable import Journal

    check_detach_option(db, True)
    journal = Journal(db)
    id = journal.begin("program", begun.file, begun.to_json(), state="ready", is_private=is_private).id
    _dispatch(journal, [id])
    click.echo(id)


def dispatch_rows(journal: Journal, id: str, *, retry: bool = False) -> None:
    """Dispatch the unfinished rows of a batch to workers; with `retry`, failed ones too."""
    entry = journal.find(id)
    if entry.state != "ready":
        journal.resume(id).finish("ready")
    states = ("ready", "interrupted", "running", *(("failed",) if retry else ()))
    _dispatch(journal, (row.id for row in journal.iterate_rows(id) if row.state in states))


def _dispatch(journal: Journal, ids: Iterable[str]) -> None:
    from antiphon.durable import Dispatcher

    dispatcher, rest = Dispatcher(journal.url), iter(ids)
    while some := list(islice(rest, _BATCH_SIZE)):
        dispatcher.make_ready(some)
    if not dispatcher.metrics().workers:
        print_message("no worker is running; start one with `antiphon worker --db …`")
    dispatcher.close()
