"""Resume a session from the command line, in its directory and with its program."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable
from antiphon.cli.output import print_message
from antiphon.errors import AntiphonError, ConfigurationError, NotReadyError
from antiphon.storage.leases import PREPARING

if TYPE_CHECKING:
    from antiphon.durable import ActiveRun, Journal, RunEntry
    from antiphon.durable.replay_cache import Decisions, ReplayCache
    from antiphon.programs.launch_spec import LaunchSpec


def resume_run_here(
    journal: Journal,
    entry: RunEntry,
    *,
    as_json: bool,
    wait: bool,
    anew: Mapping[str, str | None] | None = None,
    max_cost: float | None = None,
) -> int:
    """Resume a run in this process and return the exit code.

    `anew` maps steps to a decided outcome, or to `None` to run them again. `max_cost` replaces the cost
    limit.
    """
    from antiphon.cli.execute import execute_program, resume_lazy_run
    from antiphon.programs.launch_spec import load_launch_spec

    _check_resume_options(entry, anew, max_cost)
    if entry.state == "done" and anew is None and entry.kind != "map":
        print_message(f"session {entry.id} is already done")
        return 0
    if entry.kind in ("ask", "chat"):
        from antiphon.chat.saved_chat_run import get_journal_location
        from antiphon.cli.chat_front.ask_flow import resume_ask

        _enter_directory(str(entry.begun_as.get("directory", "")), entry)
        if anew is not None:
            decided = _parse_decisions(journal, entry, anew)
            running = journal.resume(entry.id)
            _set_aside_effects(journal, entry, running, decided)
            # `resume_ask` reads the decisions from the journal.
            running.finish("interrupted")
        return resume_ask(entry, as_json, get_journal_location(journal))
    if entry.kind == "row" and journal.list_noted_batches(entry.id):
        raise NotReadyError(
            f"session {entry.id} waits for a batch of the provider: `antiphon resume {entry.parent}` takes the answers"
        )
    begun = load_launch_spec(entry, journal)
    decided = None if anew is None else _parse_decisions(journal, entry, anew)
    _enter_directory(begun.directory, entry)
    program = _load_run_program(begun, entry, as_json)
    if entry.kind == "map" and entry.state == PREPARING:
        from antiphon.cli.batch import finish_batch_rows

        finish_batch_rows(journal, entry.id, program, begun)
        entry = journal.find(entry.id)
    if max_cost is not None:
        begun = replace(begun, settings={**begun.settings, "max_cost": max_cost})
        if entry.kind != "row":
            running = journal.resume(entry.id)
            running.update_launch_data(settings=begun.settings)
            running.finish(entry.state, entry.ending)
    if entry.kind == "map":
        from antiphon.cli.batch import resume_batch

        return resume_batch(journal, entry.id, program, begun, wait=wait)
    kept = resume_lazy_run(journal, entry.id, other_model=bool(begun.settings.get("every_model")))
    cache = None
    if decided is not None and kept.running is not None:
        cache = _set_aside_effects(journal, entry, kept.running, decided)
    code = execute_program(program, begun, kept, as_json=as_json, wait=wait)
    if cache is not None and not as_json:
        _print_reuse(journal, entry.id, cache)
    return code


def cancel_batch_here(journal: Journal, entry: RunEntry) -> int:
    """Cancel what rows of a batch wait for at providers, and return the number of the batches there."""
    from antiphon.cli.batch import cancel_sent_batches
    from antiphon.programs.launch_spec import load_launch_spec

    begun = load_launch_spec(entry, journal)
    _enter_directory(begun.directory, entry)
    return cancel_sent_batches(journal, entry.id, _load_run_program(begun, entry, as_json=False), begun)


def _check_resume_options(entry: RunEntry, anew: Mapping[str, str | None] | None, max_cost: float | None) -> None:
    """Raise an error for options that this kind of session ignores."""
    if entry.kind == "map" and anew is not None:
        raise NotReadyError(
            f"session {entry.id} is a batch; use these options for one of its rows: `antiphon list --in {entry.id}`"
            " lists them, `antiphon resume ROW` resumes one"
        )
    if entry.kind in ("ask", "chat") and max_cost is not None:
        raise NotReadyError(f"session {entry.id} is not a program or batch; it has no `--max-cost`")


def _parse_decisions(journal: Journal, entry: RunEntry, anew: Mapping[str, str | None]) -> Decisions:
    """Return the decisions about steps; raise an error for a wrong one before anything is changed."""
    from antiphon.programs.manual_outcome import parse_manual_outcome

    for path in anew:
        journal.find_effect(entry.id, path)
    return {
        path: None if value is None else parse_manual_outcome(journal, entry.id, path, value)
        for path, value in anew.items()
    }


def _set_aside_effects(journal: Journal, entry: RunEntry, running: ActiveRun, decided: Decisions) -> ReplayCache:
    from antiphon.durable.replay_cache import set_aside_run

    try:
        return set_aside_run(journal, running, decided=decided)
    except AntiphonError:
        running.finish(entry.state, entry.ending)
        raise


def _print_reuse(journal: Journal, id: str, shelf: ReplayCache) -> None:
    ran = journal.find(id).effects - shelf.reused
    print_message(f"{shelf.reused} steps were reused, {ran} ran, {shelf.unused} were dropped")
    for name in dict.fromkeys(shelf.changed_variables):
        print_message(f"{name} has changed; steps that used it ran again")
    for row in shelf.list_unused(10):
        click.echo(f"  dropped: {escape_unprintable(row.path)} {escape_unprintable(row.kind)}", err=True)


def _enter_directory(directory: str, entry: RunEntry) -> None:
    """Change to the directory in which the run was started, for its files, configuration and keys."""
    try:
        os.chdir(directory)
    except OSError as error:
        raise ConfigurationError(
            f"session {entry.id} was started in {directory}, which is not accessible: {error.strerror or error}"
        ) from None
    from antiphon.cli.trust import ask_if_undecided
    from antiphon.config.trust import find_project

    ask_if_undecided(find_project())


def _load_run_program(begun: LaunchSpec, entry: RunEntry, as_json: bool) -> Any:
    from antiphon.cli.run import exit_unless_trusted, load_program_or_exit
    from antiphon.programs.launch_spec import PIPED_NAME

    untrusted = bool(begun.settings.get("untrusted"))
    if begun.file == PIPED_NAME:
        from antiphon.lang.runtime.program import loads

        return loads(begun.source, begun.name, untrusted=untrusted)
    if not begun.is_edited and not os.path.exists(begun.file):
        raise ConfigurationError(
            f"the program {begun.file} of session {entry.id} was deleted; restore it with"
            f" `antiphon show {entry.id} --source > {os.path.basename(begun.file)}`"
        )
    program = load_program_or_exit(begun.file, untrusted, as_json, begun if begun.is_edited else None)
    if not untrusted:
        exit_unless_trusted(program, begun.file, as_json)
    return program
