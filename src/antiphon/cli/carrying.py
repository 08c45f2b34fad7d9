"""Programs carried out from the command line: shown, asked for, written down, and told about when they end."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from antiphon._printable import printable, printable_line
from antiphon.cli import programs
from antiphon.cli.colours import echo_json
from antiphon.cli.exporting import playback_of
from antiphon.errors import StoreError
from antiphon.lang.run.questions import Asleep
from antiphon.runs.begun import PIPED, Begun
from antiphon.runs.ending import ending_of, leave
from antiphon.runs.late import Late

if TYPE_CHECKING:
    from antiphon.cli.hosting import Terminal
    from antiphon.effects import Performer
    from antiphon.journal import Journal, Running
    from antiphon.journal.entries import Printed
    from antiphon.lang.run import Host
    from antiphon.lang.run.host import PromptShown
    from antiphon.lang.run.program import Program, Report
    from antiphon.providers.prewarming import Prewarming

#: The exit code of each way a run can end.
EXIT_CODES = {"done": 0, "failed": 1, "invalid": 2, "waiting": 3, "limit": 4, "halted": 2, "interrupted": 130}
_OFTEN = 0.5


def begun_late(begun: Begun, db: str | None, is_private: bool) -> Late:
    """A run that is begun in a journal when it does something, unless nothing is to be saved."""

    def begin(printed: Sequence[Printed]) -> Running | None:
        from antiphon.journal import Journal
        from antiphon.store.place import is_off

        if is_off() and db is None:
            return None
        return Journal(db).begin("program", begun.file, begun.to_json(), is_private=is_private, printed=printed)

    return Late(begin)


def gone_on(journal: Journal, id: str, **how: Any) -> Late:
    """A run of the journal, gone on with."""
    running = journal.go_on(id, **how)
    return Late.going_on(running)


def carry_out(program: Program, begun: Begun, kept: Late | None, *, as_json: bool, wait: bool = False) -> int:
    """Run a program, and tell what came of it; gives the exit code."""
    while True:
        report = _attempted(program, begun, kept, as_json)
        ending = ending_of(report)
        running = _left(kept, report)
        if ending != "waiting" or not wait or running is None:
            break
        kept = _waited_for(running)
    if as_json:
        _print_json(program, report, ending, kept.id if kept is not None else "")
    else:
        if not isinstance(report.error, Asleep):
            _tell_ending(report, ending)
        if running is not None:
            _tell_how_to_go_on(running, ending)
    return EXIT_CODES[ending]


def carry_out_unseen(
    program: Program, begun: Begun, kept: Late, *others: Performer, prewarming: Prewarming | None = None
) -> Report:
    """Run a program where nobody looks on: what comes of it is in the journal. `others` stand in the door as well."""
    report = _attempted(program, begun, kept, as_json=True, others=others, prewarming=prewarming)
    if report.error is not None and isinstance(report.error.__cause__, StoreError):
        # It has not ended, but cannot be written down for now.
        raise report.error.__cause__
    leave(kept, report)
    return report


def show_prompt(program: Program, begun: Begun, as_json: bool) -> int:
    """Show what the first request would say."""
    from antiphon.lang.run.host import PromptShown

    try:
        report = _attempted(program, begun, None, as_json, is_shown=True)
    except PromptShown as shown:
        _print_prompt(shown, as_json)
        return 0
    ending = ending_of(report)
    if as_json:
        _print_json(program, report, ending)
    elif report.error is not None:
        _tell_ending(report, ending)
    else:
        click.echo("antiphon: the program asks no model", err=True)
    return EXIT_CODES[ending]


def print_report(ending: str, diagnostics: list[dict[str, Any]], outcome: Report | None = None, id: str = "") -> None:
    """Print how a run went as one JSON object."""
    from antiphon.lang.run.values import for_json
    from antiphon.results import plain
    from antiphon.views.stream import json_text

    report = {
        "outcome": ending,
        "value": for_json(plain(outcome.value)) if outcome else None,
        "variables": for_json(plain(outcome.variables)) if outcome else {},
        "prints": outcome.prints if outcome else [],
        "usage": outcome.usage if outcome else {},
        "run": id or None,
        "diagnostics": diagnostics,
    }
    echo_json(json_text(report, indent=2))


# Running it


def _attempted(
    program: Program,
    begun: Begun,
    kept: Late | None,
    as_json: bool,
    is_shown: bool = False,
    others: tuple[Performer, ...] = (),
    prewarming: Prewarming | None = None,
) -> Report:
    from antiphon.cli.hosting import ConfiguredServers, Terminal, prepare_output, write_line

    prepare_output()
    write = _write_aside if is_shown else write_nothing if as_json else write_line
    terminal = Terminal(has_human=begun.file != PIPED)
    performers = (*((kept,) if kept is not None else ()), *others)
    host = host_of(begun, terminal, performers, write=write, show_prompt=is_shown)
    if prewarming is not None:
        host.prewarm_with(prewarming)
    servers = ConfiguredServers(host)
    try:
        return program.attempt(host, arguments=begun.arguments, servers=servers, inputs=begun.inputs)
    finally:
        terminal.close()
        servers.close()


def host_of(begun: Begun, terminal: Terminal, performers: tuple[Performer, ...], **more: Any) -> Host:
    """The world of a program that was begun so."""
    from antiphon.cli.hosting import terminal_host

    settings = {**begun.settings, **more}
    if settings.pop("yes", False):
        from antiphon.tools import ALLOW_ALL

        settings["policy"] = ALLOW_ALL
    if begun.file != PIPED:
        settings["directory"] = programs.directory(begun.file)
    if settings.pop("every_model", False):
        settings["connect"] = _connecting(settings.pop("model"))
    if settings.get("replay") and (playback := playback_of(settings["replay"])) is not None:
        performers, settings["replay"] = (*performers, playback), None
    return terminal_host(terminal, performers=performers, **settings)


def _connecting(model: str) -> Any:
    """Whatever a program names, this model is asked."""

    def connect_it(_: str, **given: Any) -> Any:
        from antiphon.cli.configured import configuration
        from antiphon.providers import connect

        kept = {name: each for name, each in given.items() if name not in ("key", "url", "provider")}
        return connect(model, environment=configuration().environment, **kept)

    return connect_it


def _left(kept: Late | None, report: Report) -> Running | None:
    """Let go of the run, if there is one in a journal, and give it; nothing, where that cannot be written down."""
    if kept is None or kept.running is None:
        return None
    try:
        leave(kept, report)
    except StoreError as error:
        # Why it ended is told all the same; a run whose process is gone can be gone on with.
        _tell(f"{error}; so it is not known how run {kept.id} ended: `antiphon runs resume {kept.id}` goes on")
        return None
    return kept.running


def _waited_for(running: Running) -> Late:
    """The run, once somebody has answered or it is time."""
    _tell_how_to_go_on(running, "waiting")
    while True:
        entry = running.journal.find(running.id)
        if entry.state != "waiting" or (entry.wake_at is not None and entry.wake_at <= running.journal.now()):
            return gone_on(running.journal, running.id)
        time.sleep(_OFTEN)


def write_nothing(text: str) -> None:
    """The prints are in the object at the end."""


def _write_aside(text: str) -> None:
    click.echo(printable(text), err=True)


# Telling of it


def _tell(text: str) -> None:
    click.echo(f"antiphon: {printable_line(text)}", err=True)


def _tell_ending(report: Report, ending: str) -> None:
    if report.error:
        click.echo(programs.rendered_error(report.error, sys.stderr), err=True)
    elif ending == "interrupted":
        click.echo("interrupted", err=True)


def _tell_how_to_go_on(running: Running, ending: str) -> None:
    from antiphon.cli.telling import how_to_go_on

    if ending != "done":
        for line in how_to_go_on(running.journal, running.id):
            _tell(line)


def _print_json(program: Program, outcome: Report, ending: str, id: str = "") -> None:
    diagnostics = [each.to_json(program.source) for each in program.warnings]
    if outcome.error:
        diagnostics.append(outcome.error.to_json())
    print_report(ending, diagnostics, outcome, id)


def _print_prompt(shown: PromptShown, as_json: bool) -> None:
    from antiphon._json import loads
    from antiphon.views.stream import json_text

    provider, _, model = shown.model.partition("/")
    body = loads(shown.body, "the request")
    if as_json:
        echo_json(json_text({"provider": provider, "model": model, "body": body}, indent=2))
        return
    click.echo(f"provider: {printable(provider)}\nmodel: {printable(model)}\n{json_text(body, indent=2)}")
