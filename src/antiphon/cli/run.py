"""`antiphon run`: run a program."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.files import open_lines, refuse_pipe
from antiphon.cli import program_loading as programs
from antiphon.cli.completers import FILE_PARAM, MODEL_PARAM
from antiphon.cli.detach import detach_run
from antiphon.cli.execute import EXIT_CODES, execute_program, lazy_run, print_run_json, show_first_prompt
from antiphon.cli.key_value import parse_pairs
from antiphon.cli.program_flags import (
    ProgramCommand,
    collect_flag_values,
    complete_input_value,
    flag_name,
    parse_flag_value,
)
from antiphon.errors import ConfigurationError
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.syntax.diagnostics import ProgramErrors
from antiphon.programs.launch_spec import PIPED_NAME, LaunchSpec, collect_program_sources
from antiphon.programs.row_sources import has_private_input

if TYPE_CHECKING:
    from antiphon.lang.runtime.program import Program


def check_finite_cost(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """Return a cost limit; raise a usage error for infinity and NaN."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter("a number of dollars is wanted")
    return value


@click.command(cls=ProgramCommand, options_metavar="[OPTIONS]")
@click.argument("file", metavar="FILE [INPUTS]", type=FILE_PARAM)
@click.argument("args", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGS...]", shell_complete=complete_input_value)
@click.option("--model", metavar="NAME", type=MODEL_PARAM, help="The model that serves where the program names none.")
@click.option(
    "--set", "sets", multiple=True, metavar="NAME=VALUE", help="Start with this value of an input or variable."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object when it is over, and nothing else.")
@click.option("--record", metavar="FILE", help="Write all exchanges with models to a file.")
@click.option("--replay", metavar="FILE", help="Take the answers of models from such a file; nothing is sent.")
@click.option("--yes", is_flag=True, help="Allow all tool calls.")
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0),
    callback=check_finite_cost,
    metavar="USD",
    help="Stop before spending more.",
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
@click.option("--no-journal", is_flag=True, help="Do not write down what it does; then it cannot be gone on with.")
@click.option("--db", envvar="ANTIPHON_DB", metavar="PLACE", show_envvar=True,
              help="The journal, where it is not your own: a file, or postgresql://…")  # fmt: skip
@click.option("--detach", is_flag=True, help="Leave it to a worker (`antiphon worker`), and print its name.")
@click.option("--wait", is_flag=True, help="While it waits for somebody or for a time, wait with it.")
def run(
    file: str,
    args: tuple[str, ...],
    as_json: bool,
    untrusted: bool,
    show: str | None,
    record: str | None,
    replay: str | None,
    sets: tuple[str, ...],
    flags: dict[str, list[str]],
    no_journal: bool,
    db: str | None,
    detach: bool,
    wait: bool,
    **limits: Any,
) -> None:
    """Run a program; `-` reads it from standard input.

    The inputs that it declares are flags behind FILE: `antiphon run weather.vibe --city Oslo`. Options that stand
    before FILE are never the program's; `antiphon run FILE --help` tells of both.

    What it does is written down: one that was interrupted, or waits for somebody, is gone on with by `antiphon runs`.

    \b
    Exit code:
      0    done
      1    the program failed
      2    it cannot be run: wrong syntax or types, options, an unreadable file
      3    it waits for a human who is not there, or for a time that is far off
      4    a limit was reached, or a model gave no answer
      130  interrupted
    """
    _check_recording_files(record, replay)
    if untrusted and limits["yes"]:
        raise click.UsageError("`--yes` allows what nobody has seen, which `--untrusted` is there to prevent")
    program = load_program_or_exit(file, untrusted, as_json)
    given = _read_inputs(program, parse_pairs(sets, "--set"), flags, as_json)
    if not untrusted and file != PIPED_NAME:
        exit_unless_trusted(program, file, as_json)
    if not as_json:
        for each in program.warnings:
            click.echo(programs.render_diagnostic(program.source, each, sys.stderr), err=True)
    settings = {"record": record, "replay": replay, "untrusted": untrusted, **limits}
    begun = LaunchSpec(
        file, os.getcwd(), program.source.name, collect_program_sources(program), list(args), given, settings
    )
    if show:
        sys.exit(show_first_prompt(program, begun, as_json))
    if detach:
        detach_run(db, begun, has_private_input(program, given))
        return
    kept = None if no_journal else lazy_run(begun, db, has_private_input(program, given))
    sys.exit(execute_program(program, begun, kept, as_json=as_json, wait=wait))


def _read_inputs(program: Program, sets: dict[str, str], flags: dict[str, list[str]], as_json: bool) -> dict[str, Any]:
    """Return the inputs of a program, parsed by type; print all errors at once and exit."""
    from antiphon.lang.runtime.inputs import InputError, convert_inputs

    try:
        return convert_inputs(program.code, {**sets, **collect_flag_values(flags, program.inputs)}, parse_flag_value)
    except InputError as error:
        missing = " ".join(f"{flag_name(each.name)} …" for each in error.faults if each.kind == "missing")
        if missing:
            file = programs.relative_path(program.source.name)
            error.hint = f"`antiphon run {file} {missing}`; with --help it tells of each"
        if as_json:
            print_run_json("invalid", [error.to_json()])
        else:
            click.echo(programs.render_program_error(error, sys.stderr), err=True)
    sys.exit(EXIT_CODES["invalid"])


def exit_unless_trusted(program: Program, file: str, as_json: bool) -> None:
    """Exit if a program's repository is not trusted; the user is asked if possible."""
    from antiphon.cli.trust import explain_untrusted_program

    refused = explain_untrusted_program(program.modules.compiled, file)
    if not refused:
        return
    hint = "`antiphon trust` shows all of it and allows it; `run --untrusted` runs it within bounds"
    error = VibeError("V0923", refused, hint)
    if as_json:
        print_run_json("waiting", [programs.file_error_json(error, file)])
    else:
        click.echo(programs.render_program_error(error, sys.stderr), err=True)
    sys.exit(EXIT_CODES["waiting"])


def load_program_or_exit(file: str, untrusted: bool, as_json: bool, edited: LaunchSpec | None = None) -> Program:
    from antiphon.lang.runtime.program import load, loads

    try:
        if edited is not None:
            return loads(edited.source, edited.name, untrusted=untrusted)
        if file == PIPED_NAME:
            return loads(programs.read_source_or_stdin(file).text, programs.STDIN_NAME, untrusted=untrusted)
        return load(file, untrusted=untrusted)
    except ProgramErrors as errors:
        if as_json:
            print_run_json("invalid", [each.to_json(source) for source, each in errors.found])
        else:
            for source, each in errors.found:
                click.echo(programs.render_diagnostic(source, each, sys.stderr), err=True)
    except VibeError as error:
        if as_json:
            print_run_json("invalid", [programs.file_error_json(error, file)])
        else:
            click.echo(programs.render_program_error(error, sys.stderr), err=True)
    sys.exit(EXIT_CODES["invalid"])


def _check_recording_files(record: str | None, replay: str | None) -> None:
    """Raise an error for unusable `--record` or `--replay` files before anything runs."""
    if record is not None and replay is not None:
        raise click.UsageError("`--record` and `--replay` exclude one another")
    try:
        if replay is not None:
            open_lines(replay).close()
        if record is not None:
            refuse_pipe(record)
            Path(record).open("ab").close()
    except OSError as error:
        what = f"read {replay}" if replay is not None else f"write {record}"
        raise ConfigurationError(f"cannot {what}: {error.strerror or error}") from None
