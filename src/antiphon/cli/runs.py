"""`antiphon runs`: list, inspect, answer, resume and fork runs."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import click

from antiphon._base.escape import escape_unprintable
from antiphon.cli.completers import MODEL_PARAM, RUN_PARAM
from antiphon.cli.listing import ListingGroup, one_line, parse_time, print_rows, truncate_title
from antiphon.cli.options import DB_OPTION, JSON_OPTION, JSON_REPORT_OPTION, MAX_COST_OPTION, WAIT_OPTION
from antiphon.cli.output import exit_without_result, print_ascii_json, print_message
from antiphon.cli.prompts import confirm
from antiphon.cli.resume import resume_run_here
from antiphon.cli.style import format_noun_count
from antiphon.cli.telling import (
    describe_run,
    format_run_columns,
    iter_next_steps,
    make_effect_json,
    make_run_json,
)
from antiphon.durable.run_entries import LISTED_QUESTIONS
from antiphon.errors import NotReadyError, NotSavedError

if TYPE_CHECKING:
    from antiphon.durable import Journal, QuestionEntry, RunEntry
    from antiphon.effects import HumanAnswer

_RIGHT_ALIGNED = (False, False, False, True, True)
_ENDED_STATES = ("done", "failed", "cancelled")


@click.group(cls=ListingGroup)
@DB_OPTION
@click.pass_context
def runs(context: click.Context, db: str | None) -> None:
    """List, inspect, answer and resume runs.

    Without a command, the newest are listed. ID may be shortened; `last` is the newest. PATH is a step, as printed
    by `show`. Exit code: as for `antiphon run` if a run is executed; else 0 done, 1 nothing found, 2 an error.
    """
    context.obj = db


@runs.command("list")
@JSON_OPTION
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="The maximum number.")
@click.option("--state", help="Only runs in this state: waiting, failed, …")
@click.option("--of", metavar="ID", help="Only parts of this run, such as the rows of `antiphon map`.")
def list_(as_json: bool, limit: int, state: str | None, of: str | None) -> None:
    """List runs, newest first."""
    with open_journal() as journal:
        parent = None if of is None else journal.find(of).id
        found = journal.list_runs(parent=parent, state=state, limit=limit)
    if as_json:
        print_ascii_json([make_run_json(each) for each in found])
    elif not found:
        exit_without_result(f"there is no run in state {state!r}" if state else "there are no runs yet")
    else:
        print_rows([(format_run_columns(each), describe_run(each)) for each in found], _RIGHT_ALIGNED)


@runs.command()
@click.argument("id", default="last", type=RUN_PARAM)
@click.option("--full", is_flag=True, help="Expand the result of each step.")
@click.option("--source", is_flag=True, help="Print the program as it was executed.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def show(id: str, full: bool, source: bool, as_json: bool) -> None:
    """Show the steps of a run."""
    with open_journal() as journal:
        entry = journal.find(id)
        if source:
            from antiphon.programs.launch_spec import load_launch_spec

            click.echo(load_launch_spec(entry, journal).source, nl=False)
            return
        if as_json:
            print_ascii_json(
                {
                    **make_run_json(entry),
                    "effects": [make_effect_json(each) for each in journal.iterate_effects(entry.id)],
                }
            )
            return
        from antiphon.terminal.run_log import EffectPrinter
        from antiphon.terminal.transcript import TranscriptPrinter

        TranscriptPrinter().title(
            " · ".join(part for part in (*format_run_columns(entry), truncate_title(one_line(entry.title))) if part)
        )
        EffectPrinter(full=full).effects(journal.iterate_effects(entry.id))
        if partial := entry.begun_as.get("interrupted"):
            from antiphon.conversation.interruption import INTERRUPTED_TEXT
            from antiphon.results import text

            TranscriptPrinter().results([text(str(partial), summary=INTERRUPTED_TEXT, markdown=True)])
        for line in iter_next_steps(journal, entry.id, is_shown=True):
            click.echo(escape_unprintable(line))


@runs.command()
@click.argument("id", default="last", type=RUN_PARAM)
@click.option("--edited", is_flag=True, help="Run the changed program; reuse unchanged steps.")
@click.option("--retry", multiple=True, metavar="PATH", help="Run this step again. (Repeatable.)")
@click.option("--skip", nargs=2, multiple=True, metavar="PATH VALUE",
              help="Do not run this step; VALUE is its outcome. (Repeatable.)")  # fmt: skip
@MAX_COST_OPTION
@click.option("--force", is_flag=True, help="Take the run from another process, which then stops.")
@WAIT_OPTION
@JSON_REPORT_OPTION
def resume(
    id: str,
    edited: bool,
    retry: tuple[str, ...],
    skip: tuple[tuple[str, str], ...],
    max_cost: float | None,
    force: bool,
    wait: bool,
    as_json: bool,
) -> None:
    """Resume a run; completed steps are not repeated.

    A failed step fails again, unless `--retry` runs it again.
    """
    if both := set(retry) & {path for path, _ in skip}:
        raise click.UsageError(f"`--retry` and `--skip` exclude each other; use one of them for step {min(both)}")
    with open_journal() as journal:
        entry = journal.find(id)
        decided = {**dict.fromkeys(retry), **dict(skip)}
        anew = decided if decided or edited else None
        if force:
            journal.revoke_lease(entry.id)
        sys.exit(resume_run_here(journal, entry, as_json=as_json, wait=wait, anew=anew, max_cost=max_cost))


@runs.command()
@click.argument("id", type=RUN_PARAM)
@click.argument("words", nargs=-1, required=True, metavar="[PATH] TEXT")
@click.option("--wait", is_flag=True, help="Resume the run and wait for it.")
def answer(id: str, words: tuple[str, ...], wait: bool) -> None:
    """Answer a question of a run; PATH is optional if one question is open and TEXT is quoted."""
    from antiphon.effects import HumanAnswer

    with open_journal() as journal:
        entry = journal.find(id)
        # The first of several words is a path. A wrong path is an error, because an answer is final.
        path, text = (words[0], words[1:]) if len(words) > 1 else (None, words)
        _answer_question(journal, entry, path, "question", HumanAnswer(" ".join(text)), wait)


@runs.command()
@click.argument("id", type=RUN_PARAM)
@click.argument("path", required=False)
@click.option("--always", is_flag=True, help="Approve all such calls of this run.")
@click.option("--wait", is_flag=True, help="Resume the run and wait for it.")
def allow(id: str, path: str | None, always: bool, wait: bool) -> None:
    """Approve a pending call."""
    from antiphon.effects import HumanAnswer

    with open_journal() as journal:
        _answer_question(journal, journal.find(id), path, "approval", HumanAnswer(allowed=True, always=always), wait)


@runs.command()
@click.argument("id", type=RUN_PARAM)
@click.argument("path", required=False)
@click.option("--why", default="", metavar="TEXT", help="The reason for the model.")
@click.option("--wait", is_flag=True, help="Resume the run and wait for it.")
def deny(id: str, path: str | None, why: str, wait: bool) -> None:
    """Deny a pending call."""
    from antiphon.effects import HumanAnswer

    with open_journal() as journal:
        _answer_question(journal, journal.find(id), path, "approval", HumanAnswer(why, allowed=False), wait)


@runs.command()
@click.argument("id", type=RUN_PARAM)
def cancel(id: str) -> None:
    """Cancel a run after its current step."""
    with open_journal() as journal:
        entry = journal.find(id)
        journal.cancel(entry.id)
        click.echo(f"run {escape_unprintable(entry.id)} is cancelled", err=True)


@runs.command()
@click.argument("id", default="last", type=RUN_PARAM)
@click.option("--at", "at_", required=True, metavar="PATH", help="The first step that is not copied.")
@click.option("--set", "value", metavar="VALUE", help="Do not run that step; VALUE is its outcome.")
@click.option("--answer", metavar="TEXT", help="The answer, if that step is a question.")
@click.option("--model", metavar="NAME", type=MODEL_PARAM, help="Use this model from there on.")
@WAIT_OPTION
@JSON_REPORT_OPTION
def fork(
    id: str, at_: str, value: str | None, answer: str | None, model: str | None, wait: bool, as_json: bool
) -> None:
    """Copy the steps of a run up to a step, and continue the copy from there."""
    if value is not None and answer is not None:
        raise click.UsageError("`--set` and `--answer` exclude each other; use one of them")
    from antiphon.programs.fork import ForkChange, fork_run

    change = ForkChange(value if value is not None else answer, model)
    with open_journal() as journal:
        entry = journal.find(id)
        name = fork_run(journal, entry, at_, change)
        print_message(f"run {name} is a fork of {entry.id} at {at_}")
        sys.exit(resume_run_here(journal, journal.find(name), as_json=as_json, wait=wait))


@runs.command()
@click.argument("first")
@click.argument("second")
@JSON_OPTION
def diff(first: str, second: str, as_json: bool) -> None:
    """Compare the steps of two runs. Exit code: 0 equal, 1 different."""
    from antiphon.cli.differing import make_difference_json, print_differences
    from antiphon.durable.run_diff import find_differences

    with open_journal() as journal:
        entries = journal.find(first), journal.find(second)
        found = list(find_differences(*(journal.iterate_effects(each.id) for each in entries)))
    if as_json:
        print_ascii_json([make_difference_json(each) for each in found])
    else:
        print_differences(found)
    sys.exit(1 if found else 0)


@runs.command()
@click.argument("id", type=RUN_PARAM)
@click.argument("file", type=click.Path(), default="-")
@click.option("--redact", is_flag=True, help="Replace every text by its length.")
def export(id: str, file: str, redact: bool) -> None:
    """Write the steps of a run as JSON lines, for `antiphon run --replay`."""
    from antiphon.cli.exporting import export_steps
    from antiphon.conversation.serialization import write_file_atomically

    with open_journal() as journal:
        entry = journal.find(id)
        lines = export_steps(
            journal.iterate_effects(entry.id),
            redact,
            lambda text: print_message(text),
        )
        if file == "-":
            for line in lines:
                click.echo(line)
        else:
            write_file_atomically(file, "".join(f"{line}\n" for line in lines).encode())


@runs.command()
@click.option(
    "--older", type=parse_time, required=True, metavar="AGE", help="Remove runs not changed for this long (30d, 6w)."
)
@click.option("--all", "whole", is_flag=True, help="Also remove runs that have not ended.")
@click.option("--yes", is_flag=True, help="Remove without asking.")
def prune(older: datetime, whole: bool, yes: bool) -> None:
    """Permanently remove old runs that have ended."""
    with open_journal() as journal:
        old = [
            each
            for each in journal.list_runs()
            if each.updated < older.timestamp() and (whole or each.state in _ENDED_STATES)
        ]
        if not old:
            exit_without_result("no ended run is that old")
        many = format_noun_count(len(old), "run")
        if not yes and not (sys.stdin.isatty() and confirm(f"Permanently remove {many}?")):
            exit_without_result("nothing was removed; use `--yes` to remove without asking")
        journal.remove(*(each.id for each in old))
        click.echo(f"removed {many}", err=True)


# Helpers


def _answer_question(
    journal: Journal, entry: RunEntry, path: str | None, kind: str, answer: HumanAnswer, wait: bool
) -> None:
    question = _find_question(journal, entry, path, kind)
    journal.answer(entry.id, question.path, answer)
    if not wait:
        for line in _describe_next_step(journal, entry.id):
            print_message(line)
    else:
        sys.exit(resume_run_here(journal, journal.find(entry.id), as_json=False, wait=True))


def _describe_next_step(journal: Journal, id: str) -> Generator[str]:
    yield f"run {id} is ready: resume it with `antiphon runs resume {id}`"
    if left := journal.list_questions(id, LISTED_QUESTIONS):
        many = (
            "one question is"
            if len(left) == 1
            else f"{len(left)}{' or more' * (len(left) == LISTED_QUESTIONS)} questions are"
        )
        yield f"{many} still open, the first at {left[0].path}: {truncate_title(one_line(left[0].text))}"


def _find_question(journal: Journal, entry: RunEntry, path: str | None, kind: str) -> QuestionEntry:
    """Return the question at a path, or the only open one; raise an error if it is of another kind."""
    if entry.kind in ("team", "turn"):
        team = entry.id if entry.kind == "team" else entry.parent
        raise NotReadyError(
            f"run {entry.id} belongs to team {team}: answer with `antiphon team answer` (`antiphon team status {team}`)"
        )
    if path is not None:
        chosen = journal.list_questions(entry.id, path=path)
    else:
        chosen = [each for each in journal.list_questions(entry.id) if each.about == kind]
    if len(chosen) != 1:
        found = journal.list_questions(entry.id, 10)
        there = ", ".join(f"{each.path} ({one_line(each.text)[:60]})" for each in found) or "none"
        missing = "no such question is open" if path is None else f"no question is open at {path!r}"
        quoted = "" if path is None or kind != "question" else "; quote an answer of several words"
        which = "several are open; name one by its path" if chosen else f"{missing}{quoted}"
        raise NotReadyError(f"run {entry.id}: {which}; open: {there}")
    if chosen[0].about != kind:
        how = "`antiphon runs allow` or `deny`" if kind == "question" else "`antiphon runs answer`"
        raise NotReadyError(f"run {entry.id}: step {chosen[0].path} needs {how}")
    return chosen[0]


@contextmanager
def open_journal() -> Generator[Journal]:
    """Open the journal; exit with code 1 if a named run does not exist."""
    from antiphon.durable import Journal

    journal = Journal(click.get_current_context().find_object(str))
    try:
        yield journal
    except NotSavedError as error:
        exit_without_result(str(error))
    finally:
        journal.close()
