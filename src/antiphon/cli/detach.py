"""Dispatch sessions to workers on other machines."""

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


def check_detach_option() -> None:
    """Raise a usage error if `--detach` is used without a shared database."""
    from antiphon.storage.store_location import get_database_url

    if get_database_url() is None:
        raise click.UsageError("`--detach` needs a database that workers share: `antiphon --db postgresql://… run`")


def detach_run(begun: LaunchSpec, is_private: bool) -> None:
    """Create a session for a worker and print its id."""
    from antiphon.durable import Journal

    check_detach_option()
    journal = Journal()
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
        print_message("no worker is running; start one with `antiphon --db … worker`")
    dispatcher.close()
