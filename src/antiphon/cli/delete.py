"""`antiphon delete`: delete sessions permanently."""

from __future__ import annotations

from datetime import datetime

import click

from antiphon.cli.completers import SESSION_PARAM
from antiphon.cli.listing import one_line, parse_time
from antiphon.cli.output import exit_without_result
from antiphon.cli.prompts import confirm
from antiphon.cli.sessions import SessionEntry, Sessions, open_sessions
from antiphon.cli.style import format_noun_count
from antiphon.cli.telling import format_local_minute
from antiphon.errors import NotReadyError

_MAX_SHOWN = 10


@click.command()
@click.argument("names", nargs=-1, metavar="[SESSION]...", type=SESSION_PARAM)
@click.option(
    "--older",
    type=parse_time,
    metavar="AGE",
    help="Delete sessions not changed for this long (30d, 6w) or since this date.",
)
@click.option("--all", "whole", is_flag=True, help="With --older: also sessions that have not ended.")
@click.option("--yes", is_flag=True, help="Delete without asking.")
def delete(names: tuple[str, ...], older: datetime | None, whole: bool, yes: bool) -> None:
    """Delete sessions permanently, with all their steps.

    Exit code: 0 deleted, 1 nothing was deleted.
    """
    if bool(names) == (older is not None):
        raise click.UsageError("name sessions, or use `--older 30d`")
    if whole and older is None:
        raise click.UsageError("`--all` needs `--older`")
    with open_sessions() as sessions:
        if older is not None:
            chosen = [each for each in sessions.list() if each.updated < older.timestamp() and _may_go(each, whole)]
        else:
            chosen = list({each.id: each for each in (_find(sessions, name) for name in names)}.values())
        if not chosen:
            exit_without_result("no ended session is that old" if not whole else "no session is that old")
        if not yes:
            _confirm(chosen)
        _delete(sessions, chosen)
    click.echo(f"deleted {format_noun_count(len(chosen), 'session')}", err=True)


def _may_go(session: SessionEntry, whole: bool) -> bool:
    return session.state != "running" and (whole or session.state in ("done", "failed") or session.is_final)


def _find(sessions: Sessions, name: str) -> SessionEntry:
    found, step = sessions.resolve(name)
    if step is not None or found.is_child:
        whole = found.id if step is not None else found.run.parent if found.run is not None else ""
        raise NotReadyError(f"{name} is a part of a session; only the whole can be deleted: `antiphon delete {whole}`")
    if found.state == "running":
        raise NotReadyError(f"session {found.id} is running; first stop it with `antiphon stop {found.id}`")
    return found


def _delete(sessions: Sessions, chosen: list[SessionEntry]) -> None:
    saved = [each.id for each in chosen if each.conversation is not None]
    runs = [each.run.id for each in chosen if each.conversation is None and each.run is not None]
    if runs:
        sessions.journal.remove(*runs)
    if saved:
        sessions.store.remove(*saved)


def _confirm(chosen: list[SessionEntry]) -> None:
    for each in chosen[:_MAX_SHOWN]:
        click.echo(f"  {one_line(each.id)}  {format_local_minute(each.updated)}  {one_line(each.title)}", err=True)
    if len(chosen) > _MAX_SHOWN:
        click.echo(f"  … and {len(chosen) - _MAX_SHOWN} more", err=True)
    try:
        is_agreed = confirm(f"Permanently delete {format_noun_count(len(chosen), 'session')}?")
    except click.Abort:
        click.echo(err=True)
        is_agreed = False
    if not is_agreed:
        exit_without_result("nothing was deleted; use `--yes` to delete without asking")
