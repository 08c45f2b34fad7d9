"""Execute programs for the command line: show progress, ask, journal, and report the result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable, escape_unprintable_line
from antiphon.cli import program_loading as programs
from antiphon.cli.output import print_message, print_report_json
from antiphon.cli.replay_files import load_replay
from antiphon.errors import StoreError
from antiphon.lang.runtime.human_questions import ProgramSleeping
from antiphon.programs.launch_spec import PIPED_NAME, LaunchSpec
from antiphon.programs.lazy_run import LazyRun
from antiphon.programs.run_ending import classify_ending, finish_run

if TYPE_CHECKING:
    from antiphon.cli.program_host import TerminalFrontend
    from antiphon.durable import ActiveRun, Journal
    from antiphon.durable.journal_middleware import PrintedLine
    from antiphon.effects import Middleware
    from antiphon.lang.runtime import Host
    from antiphon.lang.runtime.host import PromptShown
    from antiphon.lang.runtime.program import Program, Report
    from antiphon.providers.prewarming import Prewarming

#: The exit code for each outcome of a run.
EXIT_CODES = {"done": 0, "failed": 1, "invalid": 2, "waiting": 3, "limit": 4, "halted": 2, "interrupted": 130}
_POLL_SECONDS = 0.5


def lazy_run(begun: LaunchSpec, is_private: bool) -> LazyRun:
    """Return a run that is created in the journal at its first effect; never, if saving is off."""

    def create_run(printed: Sequence[PrintedLine]) -> ActiveRun | None:
        from antiphon.durable import Journal
        from antiphon.storage.store_location import is_saving_off

        if is_saving_off():
            return None
        return Journal().begin("program", begun.file, begun.to_json(), is_private=is_private, printed=printed)

    return LazyRun(create_run)


def resume_lazy_run(journal: Journal, id: str, **how: Any) -> LazyRun:
    """Resume a run of the journal."""
    running = journal.resume(id, **how)
    return LazyRun.resume(running)


def execute_program(
    program: Program, begun: LaunchSpec, kept: LazyRun | None, *, as_json: bool, wait: bool = False
) -> int:
    """Run a program, report its result, and return the exit code."""
    while True:
        report = _attempt_program(program, begun, kept, as_json)
        ending = classify_ending(report)
        running = _release_run(kept, report)
        if ending != "waiting" or not wait or running is None:
            break
        kept = _wait_and_resume(running)
    if as_json:
        _print_outcome_json(program, report, ending, kept.id if kept is not None else "")
    else:
        if not isinstance(report.error, ProgramSleeping):
            _print_ending(report, ending)
        if running is not None:
            _print_resume_hint(running, ending)
    return EXIT_CODES[ending]


def execute_headless(
    program: Program, begun: LaunchSpec, kept: LazyRun, *others: Middleware, prewarming: Prewarming | None = None
) -> Report:
    """Run a program without a terminal; its result is in the journal. `others` are further middleware."""
    report = _attempt_program(program, begun, kept, as_json=True, others=others, prewarming=prewarming)
    if report.error is not None and isinstance(report.error.__cause__, StoreError):
        # The run has not ended; the journal is unavailable for now.
        raise report.error.__cause__
    finish_run(kept, report)
    return report


def show_first_prompt(program: Program, begun: LaunchSpec, as_json: bool) -> int:
    """Print the first request that a program would send."""
    from antiphon.lang.runtime.host import PromptShown

    try:
        report = _attempt_program(program, begun, None, as_json, is_shown=True)
    except PromptShown as shown:
        _print_prompt(shown, as_json)
        return 0
    ending = classify_ending(report)
    if as_json:
        _print_outcome_json(program, report, ending)
    elif report.error is not None:
        _print_ending(report, ending)
    else:
        print_message("the program sends no request")
    return EXIT_CODES[ending]


def print_run_json(ending: str, diagnostics: list[dict[str, Any]], outcome: Report | None = None, id: str = "") -> None:
    """Print the result of a run as one JSON object."""
    from antiphon.lang.runtime.values import to_json_value
    from antiphon.results import to_plain_json

    report = {
        "outcome": ending,
        "value": to_json_value(to_plain_json(outcome.value)) if outcome else None,
        "variables": to_json_value(to_plain_json(outcome.variables)) if outcome else {},
        "prints": outcome.prints if outcome else [],
        "usage": outcome.usage if outcome else {},
        "session": id or None,
        "diagnostics": diagnostics,
    }
    print_report_json(report)


# Execution


def _attempt_program(
    program: Program,
    begun: LaunchSpec,
    kept: LazyRun | None,
    as_json: bool,
    is_shown: bool = False,
    others: tuple[Middleware, ...] = (),
    prewarming: Prewarming | None = None,
) -> Report:
    from antiphon.cli.program_host import ConfiguredMcpServers, TerminalFrontend, escape_unencodable_output, write_line

    escape_unencodable_output()
    write = _write_to_stderr if is_shown else discard_output if as_json else write_line
    terminal = TerminalFrontend(has_human=begun.file != PIPED_NAME)
    performers = (*((kept,) if kept is not None else ()), *others)
    host = make_program_host(begun, terminal, performers, write=write, show_prompt=is_shown)
    if prewarming is not None:
        host.prewarm_with(prewarming)
    servers = ConfiguredMcpServers(host)
    try:
        return program.attempt(host, arguments=begun.arguments, servers=servers, inputs=begun.inputs)
    finally:
        terminal.close()
        servers.close()


def make_program_host(
    begun: LaunchSpec, terminal: TerminalFrontend, performers: tuple[Middleware, ...], **more: Any
) -> Host:
    """Return the host of a program, from its launch settings."""
    from antiphon.cli.program_host import make_terminal_host

    settings = {**begun.settings, **more}
    if settings.pop("yes", False):
        from antiphon.tools import ALLOW_ALL

        settings["policy"] = ALLOW_ALL
    if begun.file != PIPED_NAME:
        settings["directory"] = programs.program_directory(begun.file)
    if settings.pop("every_model", False):
        settings["connect"] = _always_connect(settings.pop("model"))
    if settings.get("replay") and (playback := load_replay(settings["replay"])) is not None:
        performers, settings["replay"] = (*performers, playback), None
    return make_terminal_host(terminal, performers=performers, **settings)


def _always_connect(model: str) -> Any:
    """Return a connect function that ignores the requested name and uses this model."""

    def connect_model(_: str, **given: Any) -> Any:
        from antiphon.cli.configuration import current_configuration
        from antiphon.providers import connect

        kept = {name: each for name, each in given.items() if name not in ("key", "url", "provider")}
        return connect(model, environment=current_configuration().environment, **kept)

    return connect_model


def _release_run(kept: LazyRun | None, report: Report) -> ActiveRun | None:
    """Record how a run ended and return it; `None` without a journal, or if it cannot be written."""
    if kept is None or kept.running is None:
        return None
    try:
        finish_run(kept, report)
    except StoreError as error:
        # Report the ending anyway; a run whose process is gone can be resumed.
        _print_message(
            f"{error}; the ending of session {kept.id} was not saved: resume it with `antiphon resume {kept.id}`"
        )
        return None
    return kept.running


def _wait_and_resume(running: ActiveRun) -> LazyRun:
    """Wait until a run is answered or due, and resume it."""
    _print_resume_hint(running, "waiting")
    while True:
        entry = running.journal.find(running.id)
        if entry.state != "waiting" or (entry.wake_at is not None and entry.wake_at <= running.journal.now()):
            return resume_lazy_run(running.journal, running.id)
        time.sleep(_POLL_SECONDS)


def discard_output(text: str) -> None:
    """Discard printed text; the JSON report includes it."""


def _write_to_stderr(text: str) -> None:
    click.echo(escape_unprintable(text), err=True)


# Reporting


def _print_message(text: str) -> None:
    print_message(escape_unprintable_line(text))


def _print_ending(report: Report, ending: str) -> None:
    if report.error:
        programs.print_program_error(report.error)
    elif ending == "interrupted":
        click.echo("interrupted", err=True)


def _print_resume_hint(running: ActiveRun, ending: str) -> None:
    from antiphon.cli.telling import iter_next_steps

    if ending != "done":
        for line in iter_next_steps(running.journal, running.id):
            _print_message(line)


def _print_outcome_json(program: Program, outcome: Report, ending: str, id: str = "") -> None:
    diagnostics = [each.to_json(program.source) for each in program.warnings]
    if outcome.error:
        diagnostics.append(outcome.error.to_json())
    print_run_json(ending, diagnostics, outcome, id)


def _print_prompt(shown: PromptShown, as_json: bool) -> None:
    from antiphon._base.json import load_json
    from antiphon.views.stream import format_safe_json

    provider, _, model = shown.model.partition("/")
    body = load_json(shown.body, "the request")
    if as_json:
        print_report_json({"provider": provider, "model": model, "body": body})
        return
    click.echo(
        f"provider: {escape_unprintable(provider)}\nmodel:"
        f" {escape_unprintable(model)}\n{format_safe_json(body, indent=2)}"
    )
