"""`antiphon stop`: stop a running session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from antiphon.cli.completers import SESSION_PARAM
from antiphon.cli.output import print_message
from antiphon.cli.sessions import SessionEntry, Sessions, describe_resumption, open_sessions
from antiphon.errors import NotReadyError

if TYPE_CHECKING:
    from antiphon.durable import RunEntry


@click.command()
@click.argument("session", type=SESSION_PARAM)
@click.option("--final", "is_final", is_flag=True, help="Close it for good: only a copy of it can be continued.")
def stop(session: str, is_final: bool) -> None:
    """Stop a running session. It can be resumed.

    It stops at its next step; the process that runs it ends with exit code 130. Batches of requests that wait at a
    provider are cancelled there.
    """
    with open_sessions() as sessions:
        found, step = sessions.resolve(session)
        if step is not None:
            raise NotReadyError(f"a step cannot be stopped; `antiphon stop {found.id}` stops the session")
        if is_final:
            _close(sessions, found)
        else:
            _stop(sessions, found)


def _stop(sessions: Sessions, found: SessionEntry) -> None:
    if found.kind == "batch" and found.run is not None and sessions.journal.list_open_batches(found.run.id):
        _cancel_batches(sessions, found.run)
        return
    if found.state != "running":
        print_message(f"session {found.id} is not running, it is {found.state}; nothing was changed")
        return
    assert found.run is not None
    if found.kind == "team":
        from antiphon.cli.team_found import find_team

        find_team(found.id).stop()
    else:
        sessions.journal.revoke_lease(found.run.id)
    print_message(f"session {found.id} stops at its next step; {describe_resumption(found.run)}")


def _cancel_batches(sessions: Sessions, run: RunEntry) -> None:
    """Stop a batch whose rows wait for providers, and cancel the requests there."""
    from antiphon.cli.resume_session import cancel_batch_here

    sessions.journal.revoke_lease(run.id)
    count = cancel_batch_here(sessions.journal, sessions.journal.find(run.id))
    told = "1 batch" if count == 1 else f"{count} batches"
    print_message(f"session {run.id} is stopped; {told} cancelled at the provider; {describe_resumption(run)}")


def _close(sessions: Sessions, found: SessionEntry) -> None:
    if found.kind == "batch" and found.run is not None and sessions.journal.list_open_batches(found.run.id):
        raise NotReadyError(
            f"session {found.id} has requests at a provider; first cancel them with `antiphon stop {found.id}`"
        )
    if found.run is None or found.conversation is not None:
        raise NotReadyError(f"session {found.id} is a chat, which can always be continued; use `antiphon delete`")
    if found.run.state in ("done", "failed", "cancelled"):
        ended = "already stopped for good" if found.is_final else f"already {found.state}"
        raise NotReadyError(f"session {found.id} is {ended}")
    if found.kind == "team" and found.state == "running":
        raise NotReadyError(f"team {found.id} is running; first stop it with `antiphon stop {found.id}`")
    sessions.journal.cancel(found.run.id)
    print_message(f"session {found.id} is stopped for good; `antiphon resume {found.id} --fork` continues a copy")
