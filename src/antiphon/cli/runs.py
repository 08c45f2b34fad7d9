"""`antiphon runs`: what programs have done, and going on with those that were left."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

import click

from antiphon._base.escape import escape_unprintable
from antiphon.cli.completers import MODEL_PARAM, RUN_PARAM
from antiphon.cli.listing import ListingGroup, moment, one_line, print_rows, shortened
from antiphon.cli.prompts import confirm
from antiphon.cli.resume import resume_run_here
from antiphon.cli.style import echo_json
from antiphon.cli.telling import about, columns, effect_json, entry_json, how_to_go_on
from antiphon.durable.run_entries import LISTED_QUESTIONS
from antiphon.errors import NotReadyError, NotSavedError

if TYPE_CHECKING:
    from antiphon.durable import Journal, QuestionEntry, RunEntry
    from antiphon.effects import HumanAnswer

_RIGHT = (False, False, False, True, True)
_OVER = ("done", "failed", "cancelled")


def _finite(*given: Any) -> float | None:
    # What else is in that module, only a run that is gone on with needs.
    from antiphon.cli.run import check_finite_cost

    return check_finite_cost(*given)


@click.group(cls=ListingGroup)
@click.option("--db", envvar="ANTIPHON_DB", metavar="PLACE", show_envvar=True,
              help="The journal, where it is not your own: a file, or postgresql://…")  # fmt: skip
@click.pass_context
def runs(context: click.Context, db: str | None) -> None:
    """List runs, look at what they did, and go on with those that were left.

    Without a command, the newest are listed. ID may be shortened, and `last` is the newest. PATH names a step of a run,
    as `show` does. Exit code: that of `antiphon run` where a run is gone on with; else 0 done, 1 there is nothing,
    2 an error.
    """
    context.obj = db


@runs.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="At most so many.")
@click.option("--state", help="Those in this state alone: waiting, failed, …")
@click.option("--of", metavar="ID", help="Those that are part of this one: the rows of `antiphon map`.")
def list_(as_json: bool, limit: int, state: str | None, of: str | None) -> None:
    """List runs, the newest first."""
    with open_journal() as journal:
        parent = None if of is None else journal.find(of).id
        found = journal.list_runs(parent=parent, state=state, limit=limit)
    if as_json:
        _print_json([entry_json(each) for each in found])
    elif not found:
        _nothing("there is no run" + (f" that is {state}" if state else " yet"))
    else:
        print_rows([(columns(each), about(each)) for each in found], _RIGHT)


@runs.command()
@click.argument("id", default="last", type=RUN_PARAM)
@click.option("--full", is_flag=True, help="Open all that came of each step.")
@click.option("--source", is_flag=True, help="Print the text of the program as it was.")
@click.option("--json", "as_json", is_flag=True, help="Print all that is known of it as JSON.")
def show(id: str, full: bool, source: bool, as_json: bool) -> None:
    """Show what a run has done, step by step."""
    with open_journal() as journal:
        entry = journal.find(id)
        if source:
            from antiphon.programs.launch_spec import load_launch_spec

            click.echo(load_launch_spec(entry, journal).source, nl=False)
            return
        if as_json:
            _print_json(
                {**entry_json(entry), "effects": [effect_json(each) for each in journal.iterate_effects(entry.id)]}
            )
            return
        from antiphon.terminal.run_log import EffectPrinter
        from antiphon.terminal.transcript import TranscriptPrinter

        TranscriptPrinter().title(
            " · ".join(part for part in (*columns(entry), shortened(one_line(entry.title))) if part)
        )
        EffectPrinter(full=full).effects(journal.iterate_effects(entry.id))
        if said := entry.begun_as.get("interrupted"):
            from antiphon.conversation.interruption import INTERRUPTED_TEXT
            from antiphon.results import text

            TranscriptPrinter().results([text(str(said), summary=INTERRUPTED_TEXT, markdown=True)])
        for line in how_to_go_on(journal, entry.id, is_shown=True):
            click.echo(escape_unprintable(line))


@runs.command()
@click.argument("id", default="last", type=RUN_PARAM)
@click.option("--edited", is_flag=True, help="The program has changed: what is the same is not done again.")
@click.option("--retry", multiple=True, metavar="PATH", help="Do this step again. (May be given several times.)")
@click.option("--skip", nargs=2, multiple=True, metavar="PATH VALUE",
              help="Do not do this step: this is what came of it. (May be given several times.)")  # fmt: skip
@click.option("--max-cost", type=click.FloatRange(min=0), callback=_finite, metavar="USD",
              help="What it may cost in all, with what it has cost already.")  # fmt: skip
@click.option("--force", is_flag=True, help="Take it from a process that has it, which does nothing more then.")
@click.option("--wait", is_flag=True, help="While it waits for somebody or for a time, wait with it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object when it is over, and nothing else.")
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
    """Go on with a run: what it has done is not done again.

    What failed fails again, unless it is done again with `--retry`.
    """
    if both := set(retry) & {path for path, _ in skip}:
        raise click.UsageError(f"`--retry` does a step again, `--skip` does not; give one of them for {min(both)}")
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
@click.option("--wait", is_flag=True, help="Go on with the run, and wait with it.")
def answer(id: str, words: tuple[str, ...], wait: bool) -> None:
    """Answer a question of a run; PATH may be left out where only one is open and TEXT is in quotes."""
    from antiphon.effects import HumanAnswer

    with open_journal() as journal:
        entry = journal.find(id)
        # Of several words the first is a path, and a wrong one is told of: an answer is given for good.
        path, said = (words[0], words[1:]) if len(words) > 1 else (None, words)
        _settle(journal, entry, path, "question", HumanAnswer(" ".join(said)), wait)


@runs.command()
@click.argument("id", type=RUN_PARAM)
@click.argument("path", required=False)
@click.option("--always", is_flag=True, help="And all such calls of this run.")
@click.option("--wait", is_flag=True, help="Go on with the run, and wait with it.")
def allow(id: str, path: str | None, always: bool, wait: bool) -> None:
    """Allow a call that a run waits with."""
    from antiphon.effects import HumanAnswer

    with open_journal() as journal:
        _settle(journal, journal.find(id), path, "approval", HumanAnswer(allowed=True, always=always), wait)


@runs.command()
@click.argument("id", type=RUN_PARAM)
@click.argument("path", required=False)
@click.option("--why", default="", metavar="TEXT", help="What the model is told.")
@click.option("--wait", is_flag=True, help="Go on with the run, and wait with it.")
def deny(id: str, path: str | None, why: str, wait: bool) -> None:
    """Do not allow a call that a run waits with."""
    from antiphon.effects import HumanAnswer

    with open_journal() as journal:
        _settle(journal, journal.find(id), path, "approval", HumanAnswer(why, allowed=False), wait)


@runs.command()
@click.argument("id", type=RUN_PARAM)
def cancel(id: str) -> None:
    """End a run: whoever is at it does nothing more from its next step on."""
    with open_journal() as journal:
        entry = journal.find(id)
        journal.cancel(entry.id)
        click.echo(f"run {escape_unprintable(entry.id)} is cancelled", err=True)


@runs.command()
@click.argument("id", default="last", type=RUN_PARAM)
@click.option("--at", "at_", required=True, metavar="PATH", help="The first step that is not taken over.")
@click.option("--set", "value", metavar="VALUE", help="It is not done: this is what came of it.")
@click.option("--answer", metavar="TEXT", help="The same, for a question to a person.")
@click.option("--model", metavar="NAME", type=MODEL_PARAM, help="Ask this model from there on.")
@click.option("--wait", is_flag=True, help="While it waits for somebody or for a time, wait with it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object when it is over, and nothing else.")
def fork(
    id: str, at_: str, value: str | None, answer: str | None, model: str | None, wait: bool, as_json: bool
) -> None:
    """Begin another run with what this one did before a step, and go on differently from there."""
    if value is not None and answer is not None:
        raise click.UsageError("`--set` and `--answer` both say what came of the step; give one of them")
    from antiphon.programs.fork import ForkChange, fork_run

    change = ForkChange(value if value is not None else answer, model)
    with open_journal() as journal:
        entry = journal.find(id)
        name = fork_run(journal, entry, at_, change)
        click.echo(
            f"antiphon: run {name} is a fork of {escape_unprintable(entry.id)} at {escape_unprintable(at_)}", err=True
        )
        sys.exit(resume_run_here(journal, journal.find(name), as_json=as_json, wait=wait))


@runs.command()
@click.argument("first")
@click.argument("second")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diff(first: str, second: str, as_json: bool) -> None:
    """Compare what two runs did. Exit code: 0 the same, 1 not."""
    from antiphon.cli.differing import difference_json, print_differences
    from antiphon.durable.run_diff import find_differences

    with open_journal() as journal:
        entries = journal.find(first), journal.find(second)
        found = list(find_differences(*(journal.iterate_effects(each.id) for each in entries)))
    if as_json:
        _print_json([difference_json(each) for each in found])
    else:
        print_differences(found)
    sys.exit(1 if found else 0)


@runs.command()
@click.argument("id", type=RUN_PARAM)
@click.argument("file", type=click.Path(), default="-")
@click.option("--redact", is_flag=True, help="Without what was said: every text is replaced by how long it is.")
def export(id: str, file: str, redact: bool) -> None:
    """Write what a run did as JSON lines, which `antiphon run --replay` takes its outcomes from."""
    from antiphon.cli.exporting import exported
    from antiphon.conversation.serialization import write_file_atomically

    with open_journal() as journal:
        entry = journal.find(id)
        lines = exported(
            journal.iterate_effects(entry.id),
            redact,
            lambda said: click.echo(f"antiphon: {escape_unprintable(said)}", err=True),
        )
        if file == "-":
            for line in lines:
                click.echo(line)
        else:
            write_file_atomically(file, "".join(f"{line}\n" for line in lines).encode())


@runs.command()
@click.option("--older", type=moment, required=True, metavar="AGE", help="Those not changed for this long (30d, 6w).")
@click.option("--all", "whole", is_flag=True, help="Also those that are not over.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def prune(older: datetime, whole: bool, yes: bool) -> None:
    """Remove old runs that are over, for good."""
    with open_journal() as journal:
        old = [
            each for each in journal.list_runs() if each.updated < older.timestamp() and (whole or each.state in _OVER)
        ]
        if not old:
            _nothing("no run that is over is that old")
        many = "1 run" if len(old) == 1 else f"{len(old)} runs"
        if not yes and not (sys.stdin.isatty() and confirm(f"Remove {many} for good?")):
            _nothing("nothing was removed; `--yes` removes without asking")
        journal.remove(*(each.id for each in old))
        click.echo(f"removed {many}", err=True)


# Inside


def _settle(journal: Journal, entry: RunEntry, path: str | None, sort: str, said: HumanAnswer, wait: bool) -> None:
    question = _question(journal, entry, path, sort)
    journal.answer(entry.id, question.path, said)
    if not wait:
        for line in _goes_on(journal, entry.id):
            click.echo(f"antiphon: {escape_unprintable(line)}", err=True)
    else:
        sys.exit(resume_run_here(journal, journal.find(entry.id), as_json=False, wait=True))


def _goes_on(journal: Journal, id: str) -> Generator[str]:
    yield f"run {id} is ready: `antiphon runs resume {id}` goes on"
    if left := journal.list_questions(id, LISTED_QUESTIONS):
        many = (
            "one question is"
            if len(left) == 1
            else f"{len(left)}{' or more' * (len(left) == LISTED_QUESTIONS)} questions are"
        )
        yield f"{many} still open, the first at {left[0].path}: {shortened(one_line(left[0].text))}"


def _question(journal: Journal, entry: RunEntry, path: str | None, sort: str) -> QuestionEntry:
    """The question that is meant, which must be of this sort."""
    if entry.kind in ("team", "turn"):
        team = entry.id if entry.kind == "team" else entry.parent
        raise NotReadyError(f"`antiphon team answer` answers what team {team} asks: `antiphon team status {team}`")
    if path is not None:
        chosen = journal.list_questions(entry.id, path=path)
    else:
        chosen = [each for each in journal.list_questions(entry.id) if each.about == sort]
    if len(chosen) != 1:
        found = journal.list_questions(entry.id, 10)
        there = ", ".join(f"{each.path} ({one_line(each.text)[:60]})" for each in found) or "none"
        missing = "there is no such open question" if path is None else f"no question is open at {path!r}"
        quoted = "" if path is None or sort != "question" else "; put an answer of several words in quotes"
        which = "several are open; name one of them" if chosen else f"{missing}{quoted}"
        raise NotReadyError(f"run {entry.id}: {which}; open: {there}")
    if chosen[0].about != sort:
        how = "`antiphon runs allow` or `deny`" if sort == "question" else "`antiphon runs answer`"
        raise NotReadyError(f"run {entry.id}: step {chosen[0].path} is settled by {how}")
    return chosen[0]


@contextmanager
def open_journal() -> Generator[Journal]:
    """Open the journal; to name a run that is not there is no error but an empty result."""
    from antiphon.durable import Journal

    journal = Journal(click.get_current_context().find_object(str))
    try:
        yield journal
    except NotSavedError as error:
        _nothing(str(error))
    finally:
        journal.close()


def _print_json(data: Any) -> None:
    echo_json(json.dumps(data, indent=2).replace("\x7f", "\\u007f"))


def _nothing(reason: str) -> NoReturn:
    click.echo(f"antiphon: {escape_unprintable(reason)}", err=True)
    sys.exit(1)
