"""Runs that are left to workers on other machines."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from antiphon.journal import Journal
    from antiphon.runs.begun import Begun

_AT_ONCE = 5_000


def check_detaching(db: str | None, detach: bool) -> None:
    """Only a journal that is shared has workers."""
    if detach and (db is None or not db.startswith(("postgresql://", "postgres://"))):
        raise click.UsageError("`--detach` leaves it to workers, which share a journal: `--db postgresql://…`")


def detach_run(db: str | None, begun: Begun, is_private: bool) -> None:
    """Begin a program that a worker runs, and print its name."""
    from antiphon.journal import Journal

    check_detaching(db, True)
    journal = Journal(db)
    id = journal.begin("program", begun.file, begun.to_json(), state="ready", is_private=is_private).id
    _hand_over(journal, [id])
    click.echo(id)


def hand_over_rows(journal: Journal, id: str, *, retry: bool = False) -> None:
    """Have the rows of a batch that are not over run by whoever is free, and those that failed where that is wanted."""
    entry = journal.find(id)
    if entry.state != "ready":
        journal.go_on(id).leave("ready")
    states = ("ready", "interrupted", "running", *(("failed",) if retry else ()))
    _hand_over(journal, (row.id for row in journal.rows(id) if row.state in states))


def _hand_over(journal: Journal, ids: Iterable[str]) -> None:
    from antiphon.journal import Dispatcher

    dispatcher, rest = Dispatcher(journal.url), iter(ids)
    while some := list(islice(rest, _AT_ONCE)):
        dispatcher.ready(some)
    if not dispatcher.metrics().workers:
        click.echo("antiphon: no worker is there yet: `antiphon work --db …`", err=True)
    dispatcher.close()
