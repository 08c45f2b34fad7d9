"""`antiphon run`: run a program once, or for every row of a file."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from antiphon._base.files import open_lines, refuse_pipe
from antiphon.cli import program_loading as programs
from antiphon.cli.completers import FILE_PARAM
from antiphon.cli.detach import check_detach_option, detach_run
from antiphon.cli.execute import EXIT_CODES, execute_program, lazy_run, print_run_json, show_first_prompt
from antiphon.cli.options import (
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
from antiphon.programs.row_sources import RowSource, has_private_input

if TYPE_CHECKING:
    from antiphon.lang.runtime.program import Program


#: Options that a batch does not have, by parameter.
_NOT_FOR_ROWS = {
    "as_json": "--json",
    "record": "--record",
    "untrusted": "--untrusted",
    "show": "--show",
    "args": "--",
}
#: Options that a batch at a provider does not have, by parameter.
_NOT_FOR_BATCHES = {"no_save": "--no-save", "detach": "--detach", "replay": "--replay"}


@click.command(cls=ProgramCommand, options_metavar="[OPTIONS]")
@click.argument("file", metavar="FILE [INPUTS]", type=FILE_PARAM)
@click.argument("args", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGS...]", shell_complete=complete_input_value)
@MODEL_OPTION
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Set an input or a top-level variable.")
@click.option("--rows", metavar="FILE", type=FILE_PARAM,
              help="Run it for each row of a .csv, .tsv or .jsonl file, or each file of 'mails/*.txt'.")  # fmt: skip
@click.option("--sample", type=click.IntRange(1), metavar="N",
              help="With --rows: only N rows, spread over all; always the same ones.")  # fmt: skip
@click.option("--parallel", type=click.IntRange(1, 1000), metavar="N",
              help="With --rows: how many rows run concurrently.  [default: 8]")  # fmt: skip
@click.option(
    "--batch",
    is_flag=True,
    help="With --rows: collect the requests of all rows for the provider's batch API, at half price.",
)
@click.option("--batch-only", is_flag=True, help="Like --batch; a request that it does not answer is not sent alone.")
@JSON_REPORT_OPTION
@click.option("--record", metavar="FILE", help="Record all exchanges with models in a file.")
@click.option("--replay", metavar="FILE", help="Take answers from a replay file; send nothing.")
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
@click.option("--no-save", is_flag=True, help="Save no steps; the session cannot be listed or resumed.")
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
    rows: str | None,
    sample: int | None,
    parallel: int | None,
    batch: bool,
    batch_only: bool,
    no_save: bool,
    detach: bool,
    wait: bool,
    **limits: Any,
) -> None:
    """Run a program once, or for every row of a file; `-` reads it from standard input.

    Declared inputs of the program are flags after FILE: `antiphon run weather.vibe --city Oslo`. Options before
    FILE belong to the command. `antiphon run FILE --help` lists both. With --rows, the columns are the inputs, and each
    result is printed as a line of JSON, in the order of the rows.

    Steps are saved: `antiphon resume` continues a session that was interrupted or waits, and retries failed rows.

    \b
    Exit code:
      0    done
      1    the program, or a row, failed
      2    the program cannot run: syntax, types, options, unreadable file
      3    it waits for an answer or an approval, or until a later time
      4    a limit was reached, or a model gave no answer
      130  interrupted
    """
    _check_replay_files(record, replay)
    if untrusted and limits["yes"]:
        raise click.UsageError("`--yes` and `--untrusted` exclude each other; use one of them")
    if no_save and detach:
        raise click.UsageError("`--no-save` and `--detach` exclude each other: a worker needs the saved session")
    _check_row_options(rows, file, locals())
    if limits["model"] is not None:
        # An unknown model is a mistake of the caller, not a failure of the program.
        from antiphon.providers.registry import resolve

        resolve(limits["model"])
    program = load_program_or_exit(file, untrusted, as_json)
    named = parse_pairs(sets, "--set")
    given = {} if rows is not None else _read_inputs(program, named, flags, as_json)
    if not untrusted and file != PIPED_NAME:
        exit_unless_trusted(program, file, as_json)
    if not as_json:
        programs.print_warnings(program.source, program.warnings)
    settings = {"record": record, "replay": replay, "untrusted": untrusted, **limits}
    begun = LaunchSpec(
        file, os.getcwd(), program.source.name, collect_program_sources(program), list(args), given, settings
    )
    if rows is not None:
        from antiphon.cli.batch import run_batch

        source = RowSource(rows, sample, {**named, **_row_flags(flags)})
        settings = {name: each for name, each in settings.items() if name not in ("record", "untrusted")}
        settings |= {"batch": "only" if batch_only else "alone"} if batch or batch_only else {}
        begun = replace(begun, settings={**settings, "parallel": parallel or 8}, rows=source)
        if detach:
            check_detach_option()
        sys.exit(run_batch(program, begun, detach=detach, is_saved=not no_save, wait=wait))
    if show:
        sys.exit(show_first_prompt(program, begun, as_json))
    if detach:
        detach_run(begun, has_private_input(program, given))
        return
    kept = None if no_save else lazy_run(begun, has_private_input(program, given))
    sys.exit(execute_program(program, begun, kept, as_json=as_json, wait=wait))


def _check_row_options(rows: str | None, file: str, given: dict[str, Any]) -> None:
    """Raise a usage error for options that need `--rows`, or that exclude it."""
    if rows is None:
        named = {"sample": "--sample", "parallel": "--parallel", "batch": "--batch", "batch_only": "--batch-only"}
        wrong = next((flag for name, flag in named.items() if given[name] not in (None, False)), None)
        if wrong is not None:
            raise click.UsageError(f"`{wrong}` needs `--rows`")
        return
    if rows.endswith(".vibe") and not file.endswith(".vibe"):
        raise click.UsageError(f"name the program before the rows: `antiphon run {rows} --rows {file}`")
    wrong = next((flag for name, flag in _NOT_FOR_ROWS.items() if given[name]), None)
    if wrong == "--json":
        raise click.UsageError("with `--rows`, each result is a line of JSON anyway; omit `--json`")
    if wrong is not None:
        raise click.UsageError(f"`{wrong}` and `--rows` exclude each other; use one of them")
    is_deferred = given["batch"] or given["batch_only"]
    if given["wait"] and not is_deferred:
        raise click.UsageError("`--wait` and `--rows` exclude each other without `--batch`; use one of them")
    wrong = next((flag for name, flag in _NOT_FOR_BATCHES.items() if given[name]), None)
    if is_deferred and wrong is not None:
        raise click.UsageError(f"`{wrong}` and `--batch` exclude each other: its rows wait in the database")


def _row_flags(flags: dict[str, list[str]]) -> dict[str, str]:
    """Return the flags of the program that set an input for all rows."""
    for name, values in flags.items():
        if len(values) > 1:
            raise click.UsageError(f"with `--rows`, `{flag_name(name)}` takes one value; use a JSON array for more")
    return {name: values[0] for name, values in flags.items()}


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
    hint = "trust it with `antiphon setup trust`, or restrict it with `run --untrusted`"
    error = VibeError("V0923", refused, hint)
    _exit_with_error(error, [programs.file_error_json(error, file)], "waiting", as_json)


def load_program_or_exit(file: str, untrusted: bool, as_json: bool, edited: LaunchSpec | None = None) -> Program:
    """Load a program; print its errors and exit if it is invalid. `edited` is a saved, changed copy."""
    from antiphon.lang.runtime.program import load, loads

    try:
        if edited is not None:
            return loads(edited.source, edited.name, untrusted=untrusted)
        if file != PIPED_NAME:
            programs.refuse_other_file(file)
            return _refuse_empty(load(file, untrusted=untrusted), file)
        text = programs.read_source_or_stdin(file).text
        return _refuse_empty(loads(text, programs.STDIN_NAME, untrusted=untrusted), file)
    except ProgramErrors as errors:
        _exit_with_error(errors, [each.to_json(source) for source, each in errors.found], "invalid", as_json)
    except VibeError as error:
        _exit_with_error(error, [programs.file_error_json(error, file)], "invalid", as_json)


def _refuse_empty(program: Program, file: str) -> Program:
    """Return the program. Raise a `VibeError` if it has no statement: most often the wrong file was named."""
    lines = (line.strip() for line in program.source.text.splitlines())
    if any(line and not line.startswith("//") for line in lines):
        return program
    if file == PIPED_NAME:
        hint = "`-` reads the program from standard input: pipe one, or name a file"
        raise VibeError("V0601", "there is no program on standard input", hint)
    raise VibeError("V0601", f"there is no program in {file}: it has no statements")


def _exit_with_error(
    error: ProgramErrors | VibeError, diagnostics: list[dict[str, Any]], ending: str, as_json: bool
) -> NoReturn:
    if as_json:
        print_run_json(ending, diagnostics)
    else:
        programs.print_program_error(error)
    sys.exit(EXIT_CODES[ending])


def _check_replay_files(record: str | None, replay: str | None) -> None:
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
