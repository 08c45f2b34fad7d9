"""`antiphon answer`: answer a question, or approve or deny a tool call."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from antiphon.cli.completers import SESSION_PARAM
from antiphon.cli.listing import one_line, truncate_title
from antiphon.cli.output import print_message
from antiphon.cli.resume_session import resume_run_here
from antiphon.cli.sessions import (
    SessionEntry,
    Sessions,
    describe_resumption,
    find_script,
    open_sessions,
)
from antiphon.durable.run_entries import LISTED_QUESTIONS
from antiphon.errors import NotReadyError

if TYPE_CHECKING:
    from antiphon.durable import Journal, QuestionEntry, RunEntry
    from antiphon.effects import HumanAnswer
    from antiphon.team import ChannelMessage, Team


@click.command()
@click.argument("session", metavar="SESSION[:STEP]", type=SESSION_PARAM)
@click.argument("words", nargs=-1, metavar="yes|no|TEXT")
@click.option("--always", is_flag=True, help="With yes: approve all such calls of this session.")
@click.option("--reason", metavar="TEXT", help="With no: the reason, which the model reads.")
@click.option("--error", "is_error", is_flag=True, help="For the result of a call: TEXT says why there is none.")
@click.option("--resume", "is_resumed", is_flag=True, help="Then resume the session here, and wait for it.")
def answer(
    session: str, words: tuple[str, ...], always: bool, reason: str | None, is_error: bool, is_resumed: bool
) -> None:
    """Answer a question, approve or deny a tool call, or give the result of one.

    An approval takes only yes or no. The TEXT of a result is what the model reads. STEP is optional if one question is
    open. `-` as the TEXT reads it from standard input.

    `antiphon list --state waiting` lists all questions.
    """
    if not words and session.lower() in ("yes", "no", "y", "n"):
        raise click.UsageError(f"name the session too: `antiphon answer last {session.lower()}`")
    if not words:
        raise click.UsageError("Missing argument 'yes|no|TEXT'.")
    give_answer(session, words, always, reason, is_resumed, is_error=is_error)


def give_answer(
    session: str,
    words: tuple[str, ...],
    always: bool = False,
    reason: str | None = None,
    is_resumed: bool = False,
    *,
    is_decision: bool = False,
    is_error: bool = False,
) -> None:
    """Answer a question; with `is_decision`, only the approval of a tool call."""
    text = sys.stdin.read().strip() if words == ("-",) else " ".join(words)
    if always and reason is not None:
        raise click.UsageError("`--always` approves and `--reason` denies; use one of them")
    with open_sessions() as sessions:
        found, step = sessions.resolve(session)
        if found.kind == "team":
            _check_error_flag(found.id, "question", is_error)
            _answer_team(found.id, step, text, always, reason, is_resumed)
            return
        run, question = _find_question(sessions, found, step)
        if is_decision and question.about != "approval":
            raise NotReadyError(f"session {found.id} asks a question: answer it with `antiphon answer {found.id} TEXT`")
        if is_resumed and find_script(run) is not None:
            raise NotReadyError(
                f"session {found.id} is of a Python script: answer without `--resume`, then {describe_resumption(run)}"
            )
        _check_error_flag(found.id, question.about, is_error)
        said = _make_answer(found.id, question, text, always, reason)
        if is_error:
            from antiphon.session.pending_answers import make_delivery

            said = make_delivery(None, text)
        sessions.journal.answer(run.id, question.path, said)
        if is_resumed:
            sys.exit(resume_run_here(sessions.journal, sessions.journal.find(run.id), as_json=False, wait=True))
        _print_next_step(sessions.journal, found, run)


def _find_question(sessions: Sessions, found: SessionEntry, step: str | None) -> tuple[RunEntry, QuestionEntry]:
    """Return the question at a step, or the only open one, with its run."""
    if found.run is None:
        raise NotReadyError(f"session {found.id} has no open question")
    journal, run = sessions.journal, found.run
    if run.kind == "turn":
        raise NotReadyError(
            f"{found.id} is a turn of team {run.parent}, which asks its questions: `antiphon show {run.parent}`"
        )
    if step is not None:
        chosen = journal.list_questions(run.id, path=step)
    else:
        chosen = journal.list_questions(run.id)
    if len(chosen) == 1:
        return run, chosen[0]
    there = [f"{found.id}:{each.path} ({one_line(each.text)[:60]})" for each in journal.list_questions(run.id, 10)]
    if found.kind == "batch":
        waiting = [f"{each.id} ({one_line(each.list_questions()[0][1])[:60]})" for each in
                   sessions.children(found, "waiting")[:10] if each.waiting]  # fmt: skip
        raise NotReadyError(
            f"session {found.id} is a batch; answer one of its rows: {', '.join(waiting) or 'none waits'}"
        )
    if not there and step is None:
        raise NotReadyError(f"session {found.id} has no open question")
    if chosen:
        which = "several questions are open; name one by its step"
    else:
        which = f"no question is open at step {step!r}"
    raise NotReadyError(f"session {found.id}: {which}; open: {', '.join(there) or 'none'}")


def _make_answer(session: str, question: QuestionEntry, text: str, always: bool, reason: str | None) -> HumanAnswer:
    """Return the answer to a question; an approval takes only yes or no."""
    from antiphon.effects import HumanAnswer

    if question.about != "approval":
        if always or reason is not None:
            flag = "--always" if always else "--reason"
            raise click.UsageError(f"`{flag}` is for approvals, and {session} asks a question: answer it with TEXT")
        return HumanAnswer(text)
    is_allowed = _parse_decision(text, always, reason)
    return HumanAnswer(reason or "", allowed=is_allowed, always=always)


def _check_error_flag(session: str, about: str, is_error: bool) -> None:
    if is_error and about != "result":
        raise click.UsageError(f"`--error` is for the results of calls, and {session} waits for something else")


def _parse_decision(text: str, always: bool, reason: str | None) -> bool:
    said = text.strip().lower()
    if said not in ("yes", "no"):
        raise click.UsageError(
            f"this is the approval of a tool call, which takes yes or no, not {text[:60]!r};"
            " `no --reason TEXT` tells why"
        )
    if always and said == "no":
        raise click.UsageError("`--always` approves all such calls; answer yes")
    if reason is not None and said == "yes":
        raise click.UsageError("`--reason` says why a call is denied; answer no")
    return said == "yes"


def _print_next_step(journal: Journal, found: SessionEntry, run: RunEntry) -> None:
    now = journal.find(run.id)
    if left := journal.list_questions(run.id, LISTED_QUESTIONS):
        many = f"{len(left)}{' or more' * (len(left) == LISTED_QUESTIONS)} questions are"
        first = f"{found.id}:{left[0].path}"
        print_message(
            f"{'one question is' if len(left) == 1 else many} still open, the first at {first}:"
            f" {truncate_title(one_line(left[0].text))}"
        )
    if now.state == "running":
        print_message(f"session {found.id} is running and receives the answer")
        return
    if find_script(now) is not None:
        print_message(f"session {found.id} is ready: {describe_resumption(now)}")
        return
    whole = f"{now.parent}` runs all open rows" if now.kind == "row" else f"{found.id}`"
    print_message(f"session {found.id} is ready: `antiphon resume {whole}")


# Teams


def _answer_team(id: str, step: str | None, text: str, always: bool, reason: str | None, is_resumed: bool) -> None:
    from antiphon.cli.team_found import find_team
    from antiphon.cli.team_run import resume_team_here

    team = find_team(id)
    if step is not None and step.isdigit() and int(step) not in team.state.questions:
        # It raises an error that says what became of the question.
        team.answer(int(step), text)
    question = _find_team_question(team, step)
    team.answer(question.id, _make_team_answer(question, text, always, reason))
    if team.is_running():
        print_message(f"team {team.id} is running and received the answer")
    elif is_resumed:
        sys.exit(resume_team_here(team))
    else:
        for number, other in team.state.questions.items():
            print_message(f"still open: {team.id}:{number} {one_line(other.text)}")
        print_message(f"resume it with `antiphon resume {team.id}`")


def _find_team_question(team: Team, step: str | None) -> ChannelMessage:
    opened = team.state.questions
    if step is None and len(opened) == 1:
        return next(iter(opened.values()))
    if step is not None and step.isdigit() and int(step) in opened:
        return opened[int(step)]
    there = ", ".join(f"{team.id}:{number} ({one_line(each.text)[:60]})" for number, each in opened.items()) or "none"
    which = "several questions are open; name one" if step is None and opened else "no such question is open"
    raise NotReadyError(f"team {team.id}: {which}; open: {there}")


def _make_team_answer(question: ChannelMessage, text: str, always: bool, reason: str | None) -> str:
    from antiphon.team.queries import classify_question

    if classify_question(question) != "approval":
        if always or reason is not None:
            raise click.UsageError("`--always` and `--reason` are for approvals, and this is a question")
        return text
    if always:
        raise click.UsageError("a team asks for each call; `--always` is for other sessions")
    return "yes" if _parse_decision(text, always, reason) else reason or "no"
