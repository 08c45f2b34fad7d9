"""Programs carried out from the command line: shown, asked for, written down, and told about when they end."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from antiphon._printable import printable, printable_line
from antiphon.cli import programs
from antiphon.cli.exporting import playback_of
from antiphon.errors import StoreError
from antiphon.lang.run.questions import Asleep, NobodyThere
from antiphon.runs.begun import PIPED, Begun
from antiphon.runs.late import Late

if TYPE_CHECKING:
    from antiphon.effects import Performer
    from antiphon.journal import Journal, Running
    from antiphon.lang.run.host import PromptShown
    from antiphon.lang.run.program import Program, Report

#: The exit code of each way a run can end.
EXIT_CODES = {"done": 0, "failed": 1, "invalid": 2, "waiting": 3, "limit": 4, "halted": 2, "interrupted": 130}
_ENDINGS = {"V0922": "limit", "V0923": "waiting", "V0925": "invalid", "V0930": "halted"}
_OFTEN = 0.5


def begun_late(begun: Begun) -> Late:
    """A run that is begun in the user's journal when it does something, unless nothing is to be saved."""

    def begin() -> Running | None:
        from antiphon.journal import Journal
        from antiphon.store.place import is_off

        return None if is_off() else Journal().begin("program", begun.file, begun.to_json())

    return Late(begin, _tell)


def gone_on(journal: Journal, id: str, **how: Any) -> Late:
    """A run of the journal, gone on with."""
    running = journal.go_on(id, **how)
    return Late.going_on(running, _tell)


def carry_out(program: Program, begun: Begun, kept: Late | None, *, as_json: bool, wait: bool = False) -> int:
    """Run a program, and tell what came of it; gives the exit code."""
    while True:
        report = _attempted(program, begun, kept, as_json)
        ending = _ending(report)
        id = _left(kept, report, ending)
        if ending != "waiting" or not wait or not id:
            break
        kept = _waited_for(id)
    if as_json:
        _print_json(program, report, ending, id)
    else:
        if not isinstance(report.error, Asleep):
            _tell_ending(report, ending)
        if id:
            _tell_how_to_go_on(id, ending)
    return EXIT_CODES[ending]


def carry_out_unseen(program: Program, begun: Begun, kept: Late, *others: Performer) -> None:
    """Run a program where nobody looks on: what comes of it is in the journal. `others` stand in the door as well."""
    report = _attempted(program, begun, kept, as_json=True, others=others)
    if report.error is not None and isinstance(report.error.__cause__, StoreError):
        # It has not ended, but cannot be written down for now.
        raise report.error.__cause__
    _left(kept, report, _ending(report))


def show_prompt(program: Program, begun: Begun, as_json: bool) -> int:
    """Show what the first request would say."""
    from antiphon.lang.run.host import PromptShown

    try:
        report = _attempted(program, begun, None, as_json, is_shown=True)
    except PromptShown as shown:
        _print_prompt(shown, as_json)
        return 0
    ending = _ending(report)
    if as_json:
        _print_json(program, report, ending)
    elif report.error is not None:
        _tell_ending(report, ending)
    else:
        click.echo("antiphon: the program asks no model", err=True)
    return EXIT_CODES[ending]


def print_report(ending: str, diagnostics: list[dict[str, Any]], outcome: Report | None = None, id: str = "") -> None:
    """Print how a run went as one JSON object."""
    from antiphon.results import plain
    from antiphon.views.stream import json_text

    report = {
        "outcome": ending,
        "value": plain(outcome.value) if outcome else None,
        "variables": plain(outcome.variables) if outcome else {},
        "prints": outcome.prints if outcome else [],
        "usage": outcome.usage if outcome else {},
        "run": id or None,
        "diagnostics": diagnostics,
    }
    click.echo(json_text(report, indent=2))


# Running it


def _attempted(
    program: Program,
    begun: Begun,
    kept: Late | None,
    as_json: bool,
    is_shown: bool = False,
    others: tuple[Performer, ...] = (),
) -> Report:
    from antiphon.cli.hosting import ConfiguredServers, Terminal, prepare_output, terminal_host, write_line

    prepare_output()
    settings = dict(begun.settings)
    if settings.pop("yes", False):
        from antiphon.tools import ALLOW_ALL

        settings["policy"] = ALLOW_ALL
    if begun.file != PIPED:
        settings["directory"] = programs.directory(begun.file)
    performers = (kept, *others) if kept is not None else ()
    if settings.pop("every_model", False):
        settings["connect"] = _connecting(settings.pop("model"))
    if settings.get("replay") and (playback := playback_of(settings["replay"])) is not None:
        performers, settings["replay"] = (*performers, playback), None
    write = _write_aside if is_shown else _write_nothing if as_json else write_line
    terminal = Terminal(has_human=begun.file != PIPED)
    host = terminal_host(terminal, write=write, performers=performers, show_prompt=is_shown, **settings)
    servers = ConfiguredServers(host)
    try:
        return program.attempt(host, arguments=begun.arguments, servers=servers, inputs=begun.inputs)
    finally:
        terminal.close()
        servers.close()


def _connecting(model: str) -> Any:
    """Whatever a program names, this model is asked."""

    def connect_it(_: str, **given: Any) -> Any:
        from antiphon.cli.configured import configuration
        from antiphon.providers import connect

        kept = {name: each for name, each in given.items() if name not in ("key", "url", "provider")}
        return connect(model, environment=configuration().environment, **kept)

    return connect_it


def _ending(report: Report) -> str:
    return _ENDINGS.get(report.error.code, "failed") if report.error else report.outcome


def _left(kept: Late | None, report: Report, ending: str) -> str:
    """Let go of the run, and give its name; one that nobody can go on with is not waiting, but has failed."""
    if kept is None or not kept.id:
        return ""
    from antiphon.results import plain

    state = {"limit": "failed", "invalid": "failed", "halted": "interrupted"}.get(ending, ending)
    if state == "waiting" and not isinstance(report.error, NobodyThere):
        state = "failed"
    error = report.error.to_json() if report.error is not None else None
    kept.leave(state, {"outcome": ending, "value": plain(report.value), "error": error})
    return kept.id


def _waited_for(id: str) -> Late:
    """The run, once somebody has answered or it is time."""
    from antiphon.journal import Journal

    journal = Journal()
    _tell_how_to_go_on(id, "waiting")
    while True:
        entry = journal.find(id)
        if entry.state != "waiting" or (entry.wake_at is not None and entry.wake_at <= time.time()):
            return gone_on(journal, id)
        time.sleep(_OFTEN)


def _write_nothing(text: str) -> None:
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


def _tell_how_to_go_on(id: str, ending: str) -> None:
    from antiphon.cli.telling import how_to_go_on
    from antiphon.journal import Journal

    if ending != "done":
        for line in how_to_go_on(Journal(), id):
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
        click.echo(json_text({"provider": provider, "model": model, "body": body}, indent=2))
        return
    click.echo(f"provider: {printable(provider)}\nmodel: {printable(model)}\n{json_text(body, indent=2)}")
