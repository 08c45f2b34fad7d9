"""`antiphon run`: run a program."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antiphon._printable import printable
from antiphon.cli import programs
from antiphon.errors import ConfigurationError
from antiphon.lang.run.errors import VibeError
from antiphon.lang.syntax.diagnostics import ProgramErrors

if TYPE_CHECKING:
    from antiphon.lang.run.host import PromptShown
    from antiphon.lang.run.program import Program, Report

#: The exit code of each way a run can end.
EXIT_CODES = {"done": 0, "failed": 1, "invalid": 2, "waiting": 3, "limit": 4, "interrupted": 130}
_ENDINGS = {"V0922": "limit", "V0923": "waiting", "V0925": "invalid"}


def _finite(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter("a number of dollars is wanted")
    return value


@click.command()
@click.argument("file")
@click.argument("args", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGS...]")
@click.option("--model", metavar="NAME", help="The model that serves where the program names none.")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Start with another value of a variable.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object when it is over, and nothing else.")
@click.option("--record", metavar="FILE", help="Write all exchanges with models to a file.")
@click.option("--replay", metavar="FILE", help="Take the answers of models from such a file; nothing is sent.")
@click.option("--yes", is_flag=True, help="Allow all tool calls.")
@click.option(
    "--max-cost", type=click.FloatRange(min=0), callback=_finite, metavar="USD", help="Stop before spending more."
)
@click.option("--max-turns", type=click.IntRange(min=1), metavar="N", help="Stop before more requests to models.")
@click.option("--max-parallel", type=click.IntRange(1, 1000), default=8, show_default=True, metavar="N",
              help="How many rounds of an `async for` run at once.")  # fmt: skip
@click.option(
    "--untrusted",
    is_flag=True,
    help="For programs that you do not trust: no Python, nothing outside of their directory, and no address, variable, "
    "server or command that you were not asked about.",
)
@click.option("--show", type=click.Choice(["prompt"]), help="Show what the first request would say; send nothing.")
def run(
    file: str,
    args: tuple[str, ...],
    as_json: bool,
    untrusted: bool,
    show: str | None,
    record: str | None,
    replay: str | None,
    sets: tuple[str, ...],
    **limits: Any,
) -> None:
    """Run a program; `-` reads it from standard input.

    \b
    Exit code:
      0    done
      1    the program failed
      2    it cannot be run: wrong syntax or types, options, an unreadable file
      3    it waits for a human, and nobody is there
      4    a limit was reached, or a model gave no answer
      130  interrupted
    """
    given = programs.pairs(sets)
    _check_recordings(record, replay)
    if untrusted and limits["yes"]:
        raise click.UsageError("`--yes` allows what nobody has seen, which `--untrusted` is there to prevent")
    program = _load(file, untrusted, as_json)
    if not untrusted and file != "-":
        _check_trust(program, file, as_json)
    if not as_json:
        for each in program.warnings:
            click.echo(programs.rendered(program.source, each, sys.stderr), err=True)
    settings = {"record": record, "replay": replay, "show_prompt": show is not None, "untrusted": untrusted, **limits}
    if file != "-":
        settings["directory"] = programs.directory(file)
    outcome = _run(program, args, _inputs(program, given), as_json, file != "-", settings)
    if outcome is None:
        return
    ending = _ENDINGS.get(outcome.error.code, "failed") if outcome.error else outcome.outcome
    if as_json:
        _print_json(program, outcome, ending)
    elif outcome.error:
        click.echo(programs.rendered_error(outcome.error, sys.stderr), err=True)
    elif ending == "interrupted":
        click.echo("interrupted", err=True)
    elif show:
        click.echo("antiphon: the program asks no model", err=True)
    sys.exit(EXIT_CODES[ending])


def _check_trust(program: Program, file: str, as_json: bool) -> None:
    """A program of somebody else's repository is not run before its user has seen what it reaches."""
    from antiphon.cli.trust import check_program

    refused = check_program(program.modules.compiled, file)
    if not refused:
        return
    hint = "`antiphon trust` shows all of it and allows it; `run --untrusted` runs it within bounds"
    error = VibeError("V0923", refused, hint)
    if as_json:
        _print_report("waiting", [programs.unplaced(error, file)])
    else:
        click.echo(programs.rendered_error(error, sys.stderr), err=True)
    sys.exit(EXIT_CODES["waiting"])


def _load(file: str, untrusted: bool, as_json: bool) -> Program:
    from antiphon.lang.run.program import load, loads

    try:
        if file == "-":
            return loads(programs.read(file).text, programs.STDIN, untrusted=untrusted)
        return load(file, untrusted=untrusted)
    except ProgramErrors as errors:
        if as_json:
            _print_report("invalid", [each.to_json(source) for source, each in errors.found])
        else:
            for source, each in errors.found:
                click.echo(programs.rendered(source, each, sys.stderr), err=True)
    except VibeError as error:
        if as_json:
            _print_report("invalid", [programs.unplaced(error, file)])
        else:
            click.echo(programs.rendered_error(error, sys.stderr), err=True)
    sys.exit(EXIT_CODES["invalid"])


def _run(
    program: Program,
    args: tuple[str, ...],
    inputs: dict[str, Any],
    as_json: bool,
    has_human: bool,
    settings: dict[str, Any],
) -> Report | None:
    """How it went; nothing, where it was only to show a prompt and has done so."""
    from antiphon.cli.hosting import ConfiguredServers, Terminal, prepare_output, terminal_host, write_line
    from antiphon.lang.run.host import PromptShown

    prepare_output()
    is_shown = settings["show_prompt"]
    if settings.pop("yes"):
        from antiphon.tools import ALLOW_ALL

        settings["policy"] = ALLOW_ALL
    write = _write_aside if is_shown else _write_nothing if as_json else write_line
    terminal = Terminal(has_human=has_human)
    host = terminal_host(terminal, write=write, **settings)
    servers = ConfiguredServers(host)
    try:
        return program.attempt(host, arguments=args, servers=servers, inputs=inputs)
    except PromptShown as shown:
        _print_prompt(shown, as_json)
        return None
    finally:
        terminal.close()
        servers.close()


def _write_nothing(text: str) -> None:
    """The prints are in the object at the end."""


def _write_aside(text: str) -> None:
    click.echo(printable(text), err=True)


def _inputs(program: Program, given: dict[str, str]) -> dict[str, Any]:
    """Values of variables: text is itself, all else is read as its type; what may be anything is read as JSON."""
    from antiphon.lang.check.types import JSON
    from antiphon.lang.run.people import read_answer

    code = program.main.code
    assert code is not None
    out: dict[str, Any] = dict(given)
    for name, value in given.items():
        if name in code.names and code.names[name].type == JSON:
            out[name] = read_answer(value, JSON)[0]
    return out


def _check_recordings(record: str | None, replay: str | None) -> None:
    """Mistakes in these options are told before anything runs."""
    if record is not None and replay is not None:
        raise click.UsageError("`--record` and `--replay` exclude one another")
    try:
        if replay is not None:
            Path(replay).open("rb").close()
        if record is not None:
            Path(record).open("ab").close()
    except OSError as error:
        what = f"read {replay}" if replay is not None else f"write {record}"
        raise ConfigurationError(f"cannot {what}: {error.strerror or error}") from None


def _print_prompt(shown: PromptShown, as_json: bool) -> None:
    from antiphon._json import loads
    from antiphon.views.stream import json_text

    provider, _, model = shown.model.partition("/")
    body = loads(shown.body, "the request")
    if as_json:
        click.echo(json_text({"provider": provider, "model": model, "body": body}, indent=2))
        return
    click.echo(f"provider: {printable(provider)}\nmodel: {printable(model)}\n{json_text(body, indent=2)}")


def _print_json(program: Program, outcome: Report, ending: str) -> None:
    diagnostics = [each.to_json(program.source) for each in program.warnings]
    if outcome.error:
        diagnostics.append(outcome.error.to_json())
    _print_report(ending, diagnostics, outcome)


def _print_report(ending: str, diagnostics: list[dict[str, Any]], outcome: Report | None = None) -> None:
    from antiphon.results import plain
    from antiphon.views.stream import json_text

    report = {
        "outcome": ending,
        "value": plain(outcome.value) if outcome else None,
        "variables": plain(outcome.variables) if outcome else {},
        "prints": outcome.prints if outcome else [],
        "usage": outcome.usage if outcome else {},
        "diagnostics": diagnostics,
    }
    click.echo(json_text(report, indent=2))
