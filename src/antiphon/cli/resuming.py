"""Going on with a run from the command line: where it was begun, with its program, and with what it has done."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from antiphon._printable import printable
from antiphon.errors import AntiphonError, ConfigurationError, NotReadyError
from antiphon.journal.writes import PREPARING

if TYPE_CHECKING:
    from antiphon.journal import Journal, RunEntry
    from antiphon.journal.shelf import KeptRows
    from antiphon.runs.begun import Begun


def go_on_here(
    journal: Journal,
    entry: RunEntry,
    *,
    as_json: bool,
    wait: bool,
    anew: Mapping[str, str | None] | None = None,
    max_cost: float | None = None,
) -> int:
    """Go on with a run here; `anew`, with what was decided about steps: what is to come of each, or to do it again.

    With a `max_cost`, that is what it may cost from now on.
    """
    from antiphon.cli.carrying import carry_out, gone_on
    from antiphon.runs.begun import begun_of

    _check_options(entry, anew, max_cost)
    if entry.kind in ("team", "turn"):
        return _go_on_with_team(entry)
    if entry.state == "done" and anew is None and entry.kind != "map":
        click.echo(f"antiphon: run {printable(entry.id)} is done already", err=True)
        return 0
    if entry.kind in ("ask", "chat"):
        from antiphon.cli.talk.answering import resume_ask
        from antiphon.talks.keeping import place_of

        _enter(str(entry.begun_as.get("directory", "")), entry)
        if anew is not None:
            running = journal.go_on(entry.id)
            _set_aside(journal, entry, running, anew)
            # Whoever goes on with it finds there what was decided.
            running.leave("interrupted")
        return resume_ask(entry, as_json, place_of(journal))
    begun = begun_of(entry, journal)
    _enter(begun.directory, entry)
    program = _program(begun, entry, as_json)
    if entry.kind == "map" and entry.state == PREPARING:
        from antiphon.cli.map import write_missing_rows

        write_missing_rows(journal, entry.id, program, begun)
        entry = journal.find(entry.id)
    if max_cost is not None:
        begun = replace(begun, settings={**begun.settings, "max_cost": max_cost})
        if entry.kind != "row":
            running = journal.go_on(entry.id)
            running.describe(settings=begun.settings)
            running.leave(entry.state, entry.ending)
    if entry.kind == "map":
        from antiphon.cli.map import go_on_with_rows

        return go_on_with_rows(journal, entry.id, program, begun)
    kept = gone_on(journal, entry.id, other_model=bool(begun.settings.get("every_model")))
    shelf = None if anew is None else _set_aside(journal, entry, kept.running, anew)
    code = carry_out(program, begun, kept, as_json=as_json, wait=wait)
    if shelf is not None and not as_json:
        _tell_reuse(journal, entry.id, shelf)
    return code


def _check_options(entry: RunEntry, anew: Mapping[str, str | None] | None, max_cost: float | None) -> None:
    """Refuse options that a run of this kind has no use for: nobody is to believe that they were heard."""
    if entry.kind == "map" and anew is not None:
        raise NotReadyError(
            f"run {entry.id} is a batch, and steps are decided about in its rows: `antiphon runs list --of {entry.id}`"
            " lists them, `antiphon runs resume ROW` takes the same options"
        )
    if entry.kind in ("team", "turn") and anew is not None:
        raise NotReadyError(f"run {entry.id} is of a team, where `--edited`, `--retry` and `--skip` decide nothing")
    if entry.kind in ("ask", "chat", "team", "turn") and max_cost is not None:
        raise NotReadyError(f"run {entry.id} is no program or batch: `--max-cost` does not hold for it")


def _go_on_with_team(entry: RunEntry) -> int:
    from antiphon.cli.team_found import found_team
    from antiphon.cli.team_running import go_on_with

    if entry.kind == "turn":
        raise NotReadyError(
            f"run {entry.id} is a turn of team {entry.parent}: `antiphon team resume {entry.parent}` goes on with it"
        )
    _enter(str(entry.begun_as.get("repository", "")), entry)
    return go_on_with(found_team(entry.id))


def _set_aside(journal: Journal, entry: RunEntry, running: Any, anew: Mapping[str, str | None]) -> KeptRows:
    from antiphon.journal.shelf import set_aside
    from antiphon.runs.given import outcome_given

    try:
        decided = {
            path: None if value is None else outcome_given(journal, entry.id, path, value)
            for path, value in anew.items()
        }
        return set_aside(journal, running, decided=decided)
    except AntiphonError:
        running.leave(entry.state, entry.ending)
        raise


def _tell_reuse(journal: Journal, id: str, shelf: KeptRows) -> None:
    ran = journal.find(id).effects - shelf.reused
    click.echo(f"antiphon: {shelf.reused} steps were reused, {ran} ran, {shelf.left} were dropped", err=True)
    for name in dict.fromkeys(shelf.changed):
        said = (
            f"the environment variable {printable(name)} has another value than the last time; what used it ran again"
        )
        click.echo(f"antiphon: {said}", err=True)
    for row in shelf.dropped(10):
        click.echo(f"  dropped: {printable(row.path)} {printable(row.kind)}", err=True)


def _enter(directory: str, entry: RunEntry) -> None:
    """Be where it was begun: its files, its configuration, its keys."""
    try:
        os.chdir(directory)
    except OSError as error:
        raise ConfigurationError(
            f"run {entry.id} was begun in {directory}, which cannot be entered: {error.strerror or error}"
        ) from None
    from antiphon.cli.trust import settle
    from antiphon.config.trust import find_project

    settle(find_project())


def _program(begun: Begun, entry: RunEntry, as_json: bool) -> Any:
    from antiphon.cli.run import check_trust, load_program
    from antiphon.runs.begun import PIPED

    untrusted = bool(begun.settings.get("untrusted"))
    if begun.file == PIPED:
        from antiphon.lang.run.program import loads

        return loads(begun.source, begun.name, untrusted=untrusted)
    if not begun.is_edited and not os.path.exists(begun.file):
        raise ConfigurationError(
            f"the program {begun.file} of run {entry.id} is gone; its text is kept:"
            f" `antiphon runs show {entry.id} --source > {os.path.basename(begun.file)}`"
        )
    program = load_program(begun.file, untrusted, as_json, begun if begun.is_edited else None)
    if not untrusted:
        check_trust(program, begun.file, as_json)
    return program
