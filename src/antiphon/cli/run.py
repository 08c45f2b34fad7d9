"""`antiphon run`: run a program."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from antiphon._base.files import open_lines, refuse_pipe
from antiphon.cli import program_loading as programs
from antiphon.cli.completers import FILE_PARAM
from antiphon.cli.detach import detach_run
from antiphon.cli.execute import EXIT_CODES, execute_program, lazy_run, print_run_json, show_first_prompt
from antiphon.cli.options import (
    DB_OPTION,
    JSON_REPORT_OPTION,
    MAX_COST_OPTION,
    MODEL_OPTION,
    WAIT_OPTION,
    YES_OPTION,
    parse_pairs,
)
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


@click.command(cls=ProgramCommand, options_metavar="[OPTIONS]")
@click.argument("file", metavar="FILE [INPUTS]", type=FILE_PARAM)
@click.argument("args", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGS...]", shell_complete=complete_input_value)
@MODEL_OPTION
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Set an input or a top-level variable.")
@JSON_REPORT_OPTION
@click.option("--record", metavar="FILE", help="Record all exchanges with models in a file.")
@click.option("--replay", metavar="FILE", help="Take answers from a recording; send nothing.")
@YES_OPTION
@MAX_COST_OPTION
@click.option("--max-turns", type=click.IntRange(min=1), metavar="N", help="Send at most N requests to models.")
@click.option("--max-parallel", type=click.IntRange(1, 1000), default=8, show_default=True, metavar="N",
              help="How many iterations of an `async for` run concurrently.")  # fmt: skip
@click.option(
    "--untrusted",
    is_flag=True,
    help="Restrict an untrusted program: no Python, no files outside its directory; ask before network, variables, "
    "servers and commands.",
)
@click.option("--show", type=click.Choice(["prompt"]), help="Print the first request; send nothing.")
@click.option("--no-journal", is_flag=True, help="Do not record steps; the run then cannot be resumed.")
@DB_OPTION
@click.option("--detach", is_flag=True, help="Let `antiphon worker` execute it, and print its id.")
@WAIT_OPTION
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

    Declared inputs of the program are flags after FILE: `antiphon run weather.vibe --city Oslo`. Options before
    FILE belong to the command. `antiphon run FILE --help` lists both.

    The steps of a run are recorded: `antiphon runs resume` continues one that was interrupted or waits.

    \b
    Exit code:
      0    done
      1    the program failed
      2    the program cannot run: syntax, types, options, unreadable file
      3    it waits for an answer or an approval, or until a later time
      4    a limit was reached, or a model gave no answer
      130  interrupted
    """
    _check_recording_files(record, replay)
    if untrusted and limits["yes"]:
        raise click.UsageError("`--yes` and `--untrusted` exclude each other; use one of them")
    program = load_program_or_exit(file, untrusted, as_json)
    given = _read_inputs(program, parse_pairs(sets, "--set"), flags, as_json)
    if not untrusted and file != PIPED_NAME:
        exit_unless_trusted(program, file, as_json)
    if not as_json:
        programs.print_warnings(program.source, program.warnings)
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
            error.hint = f"`antiphon run {file} {missing}`; `--help` describes each input"
        _exit_with_error(error, [error.to_json()], "invalid", as_json)


def exit_unless_trusted(program: Program, file: str, as_json: bool) -> None:
    """Exit if a program's repository is not trusted; the user is asked if possible."""
    from antiphon.cli.trust import explain_untrusted_program

    refused = explain_untrusted_program(program.modules.compiled, file)
    if not refused:
        return
    hint = "trust it with `antiphon trust`, or restrict it with `run --untrusted`"
    error = VibeError("V0923", refused, hint)
    _exit_with_error(error, [programs.file_error_json(error, file)], "waiting", as_json)


def load_program_or_exit(file: str, untrusted: bool, as_json: bool, edited: LaunchSpec | None = None) -> Program:
    """Load a program; print its errors and exit if it is invalid. `edited` is a changed copy in the journal."""
    from antiphon.lang.runtime.program import load, loads

    try:
        if edited is not None:
            return loads(edited.source, edited.name, untrusted=untrusted)
        if file == PIPED_NAME:
            return loads(programs.read_source_or_stdin(file).text, programs.STDIN_NAME, untrusted=untrusted)
        return load(file, untrusted=untrusted)
    except ProgramErrors as errors:
        _exit_with_error(errors, [each.to_json(source) for source, each in errors.found], "invalid", as_json)
    except VibeError as error:
        _exit_with_error(error, [programs.file_error_json(error, file)], "invalid", as_json)


def _exit_with_error(
    error: ProgramErrors | VibeError, diagnostics: list[dict[str, Any]], ending: str, as_json: bool
) -> NoReturn:
    if as_json:
        print_run_json(ending, diagnostics)
    else:
        programs.print_program_error(error)
    sys.exit(EXIT_CODES[ending])


def _check_recording_files(record: str | None, replay: str | None) -> None:
    """Raise an error for unusable `--record` or `--replay` files before anything runs."""
    if record is not None and replay is not None:
        raise click.UsageError("`--record` and `--replay` exclude each other; use one of them")
    try:
        if replay is not None:
            open_lines(replay).close()
        if record is not None:
            refuse_pipe(record)
            Path(record).open("ab").close()
    except OSError as error:
        what = f"read {replay}" if replay is not None else f"write {record}"
        raise ConfigurationError(f"cannot {what}: {error.strerror or error}") from None
