"""Descriptions of sessions: one line, JSON data, and hints what to do next."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_object, as_string
from antiphon.cli.listing import one_line, truncate_title
from antiphon.cli.sessions import describe_resumption, find_script
from antiphon.cli.style import format_noun_count
from antiphon.durable.run_entries import LISTED_QUESTIONS
from antiphon.storage.leases import PREPARING
from antiphon.views.cost_format import format_cost
from antiphon.views.session_words import MESSAGE_KINDS, to_session_state

if TYPE_CHECKING:
    from antiphon.cli.sessions import SessionEntry, Sessions
    from antiphon.durable import EffectEntry, Journal, RunEntry, SentBatch

#: Maximum number of open questions and failures that are listed.
_MAX_LISTED = 5


def iter_next_steps(journal: Journal, run: str, *, is_shown: bool = False) -> Generator[str]:
    """Yield hints for a run that has not ended or has failed; `is_shown` if its steps were printed."""
    entry = journal.find(run)
    id = entry.id
    if entry.kind == "map":
        yield from _iter_batch_steps(journal, entry)
        return
    if entry.kind == "turn":
        yield f"{id} is a turn of team {entry.parent}: `antiphon show {entry.parent}` shows the team"
        return
    match entry.state:
        case "waiting":
            yield from _iter_questions(entry)
        case "ready" | "interrupted":
            option = as_string(as_object(entry.ending).get("option"))
            state = "stopped" if entry.state == "interrupted" else "ready"
            yield f"session {id} is {state}: {describe_resumption(entry, option)}"
        case "cancelled" if entry.kind in MESSAGE_KINDS:
            yield f"session {id} is stopped: `antiphon resume {id}` continues it"
        case "cancelled":
            yield f"session {id} was stopped for good: `antiphon resume {id} --fork` continues a copy"
        case "running":
            yield _describe_owner(journal, entry)
        case "failed":
            yield (
                f"session {id} failed{_describe_error(entry)}"
                if is_shown
                else f"session {id} failed: `antiphon show {id}` shows its steps"
            )
            yield from _iter_failures(journal, entry)
        case _:
            pass


def make_session_json(session: SessionEntry) -> dict[str, Any]:
    """Return a session as JSON data, with times in UTC."""
    run, conversation = session.run, session.conversation
    turns: dict[str, Any] = {}
    if conversation is not None:
        known = conversation.to_json()
        turns = {name: known[name] for name in ("turns", "input_tokens", "output_tokens")}
        turns |= {"fork_of": known["parent"], "fork_turns": known["parent_turns"]}
    steps: dict[str, Any] = {}
    if run is not None:
        steps = {
            "fork_of": run.fork_of,
            "fork_at": run.fork_at,
            "number": run.number,
            "wake_at": None if run.wake_at is None else format_utc_time(run.wake_at),
            "steps": run.effects,
            "result": run.ending,
            "damage": run.damage or None,
        }
    questions = (
        [] if run is None else [{"step": each.path, "about": each.about, "text": each.text} for each in session.waiting]
    )
    return {
        "id": session.id,
        "kind": session.kind,
        "state": session.state,
        "title": session.title,
        "created": format_utc_time(session.created),
        "updated": format_utc_time(session.updated),
        "parent": run.parent if run is not None else None,
        "models": list(session.models),
        "cost": session.cost,
        **steps,
        **turns,
        "final": session.is_final,
        "waiting": questions,
        **({"excerpt": session.excerpt.text} if session.excerpt else {}),
    }


def make_step_json(entry: EffectEntry) -> dict[str, Any]:
    """Return a step of a session as JSON data."""
    from antiphon.effects import outcome_to_json

    return {
        "path": entry.path,
        "kind": entry.kind,
        "state": entry.state,
        "asked": entry.asked,
        "outcome": None if entry.outcome is None else outcome_to_json(entry.outcome),
        "began": format_utc_time(entry.began),
        "ended": None if entry.ended is None else format_utc_time(entry.ended),
        "cost": entry.cost,
        "attempt": entry.attempt,
        "damage": entry.damage or None,
    }


def format_session_columns(sessions: Sessions, session: SessionEntry) -> tuple[str, ...]:
    """Return the columns of a session in a list."""
    updated = format_local_minute(session.updated)
    size, cost = _format_size(sessions, session), format_cost(session.cost)
    return (one_line(session.id), session.state, updated, session.kind, size, cost)


def describe_session(sessions: Sessions, session: SessionEntry) -> str:
    """Return the title of a session, with its pending question, batches at providers, wake-up time or error."""
    title = one_line(session.title) or "(no text)"
    run = session.run
    if run is None:
        return title
    if run.damage:
        return f"{title}: {one_line(run.damage)}"
    if session.state == "waiting" and run.waiting:
        first, *others = run.waiting
        # The list of questions is limited.
        more = f" (+{len(others)}{' or more' * (len(others) >= LISTED_QUESTIONS - 1)})" if others else ""
        return f"{title}: {truncate_title(one_line(first.text))}{more}"
    if session.state == "waiting" and run.wake_at is not None:
        return f"{title}: sleeps until {format_local_minute(run.wake_at)}"
    if session.kind == "batch" and session.state in ("waiting", "stopped"):
        sent = [describe_sent_batch(sessions.journal, each) for each in sessions.journal.list_open_batches(run.id)]
        return f"{title}: {'; '.join(sent)}" if sent else title
    return f"{title}{_describe_error(run)}" if session.state == "failed" else title


def describe_sent_batch(journal: Journal, sent: SentBatch) -> str:
    """Return how many requests of a batch at a provider are done, when it was sent, and to whom."""
    from antiphon.terminal.state_lines import format_duration

    ago = format_duration(max(journal.now() - sent.sent, 0.0))
    state = "submitted" if sent.id else "perhaps submitted"
    done = f"{sent.done:,} of {sent.effect.requests:,} done"
    return f"waits for the provider, {done}, {state} {ago} ago to {one_line(sent.effect.model)}"


def _format_size(sessions: Sessions, session: SessionEntry) -> str:
    if session.conversation is not None:
        return format_noun_count((session.conversation.turns + 1) // 2, "message")
    if session.kind == "batch":
        counts = dict(sessions.journal.count_by_state(session.id, kind="row"))
        return f"{counts.get('done', 0)} of {format_noun_count(sum(counts.values()), 'row')}"
    if session.kind == "team" or session.run is None:
        return ""
    return format_noun_count(session.run.effects, "step")


def format_local_minute(moment: float) -> str:
    """Return a time as local date, hour and minute."""
    from antiphon.durable.run_entries import format_local_time

    return format_local_time(moment)[:16]


def format_utc_time(moment: float) -> str | None:
    """Return a time in UTC; `None` if it is out of range."""
    try:
        return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return None


def _describe_owner(journal: Journal, entry: RunEntry) -> str:
    """Return which process runs a run; on another machine, also when it was last seen."""
    from antiphon.durable.run_owner import describe_owner, may_owner_be_alive

    if journal.is_shared and not may_owner_be_alive(entry.owner):
        return (
            f"the process of session {entry.id} has died: a worker will resume it,"
            f" or resume it with `antiphon resume {entry.id}`"
        )
    heard = f", last seen {journal.compute_silence(entry):.0f} s ago" if journal.is_shared else ""
    id = entry.id
    return f"session {id} is running{heard} in {describe_owner(entry.owner, id)}"


def _iter_batch_steps(journal: Journal, entry: RunEntry) -> Generator[str]:
    counts = journal.count_by_state(entry.id, kind="row")
    if entry.state == PREPARING:
        yield from _iter_preparing_steps(entry, sum(count for _, count in counts))
        return
    told = ", ".join(f"{count} {to_session_state(state)}" for state, count in counts) or "none"
    yield f"session {entry.id} has rows: {told}; `antiphon list --in {entry.id}` lists them"
    if sent := journal.list_open_batches(entry.id):
        yield from iter_sent_batches(journal, entry.id, sent)
    elif [state for state, _ in counts] != ["done"]:
        yield f"  `antiphon resume {entry.id}` runs unfinished rows and retries failed ones"


def iter_sent_batches(journal: Journal, id: str, sent: Sequence[SentBatch]) -> Generator[str]:
    """Yield a line for each batch of requests for which rows wait, and how to go on."""
    yield from (f"session {id} {describe_sent_batch(journal, each)}" for each in sent)
    yield f"  `antiphon resume {id}` takes the answers, with `--wait` when they come; `antiphon stop {id}` cancels them"


def _iter_preparing_steps(entry: RunEntry, written: int) -> Generator[str]:
    from antiphon.durable.run_owner import describe_owner, may_owner_be_alive

    rows = format_noun_count(written, "row")
    if entry.owner and may_owner_be_alive(entry.owner):
        yield f"session {entry.id} is being created with {rows} so far, in {describe_owner(entry.owner, entry.id)}"
        return
    yield f"the creation of session {entry.id} was interrupted: it has {rows}, and none has run"
    yield f"  `antiphon resume {entry.id}` creates the others and runs all"


def _describe_error(entry: RunEntry) -> str:
    """Return the error of a failed run, if recorded."""
    error = as_object(as_object(entry.ending).get("error"))
    where = f" (line {error['line']})" if "line" in error else ""
    code = f"{error['code']}: " if "code" in error else ""
    return f": {code}{one_line(str(error['message']))}{where}" if "message" in error else ""


def _iter_questions(entry: RunEntry) -> Generator[str]:
    id = entry.id
    for each in entry.waiting[:_MAX_LISTED]:
        address = f"{id}:{each.path}"
        yield f"session {id} waits at {address}: {truncate_title(one_line(each.text))}"
        said = "yes` or `no" if each.about == "approval" else "TEXT"
        then = f"`antiphon resume {id}`" if find_script(entry) is None else describe_resumption(entry)
        yield f"  `antiphon answer {address} {said}`, then {then}"
    if len(entry.waiting) > _MAX_LISTED:
        yield "  … and at more steps; `antiphon list --state waiting` lists them"
    if not entry.waiting and entry.wake_at is None:
        yield f"session {id} waits for a terminal: run `antiphon resume {id}` in one"
    if entry.wake_at is not None:
        when = format_local_minute(entry.wake_at)
        yield f"session {id} sleeps until {when}; then {describe_resumption(entry)}"


def _iter_failures(journal: Journal, entry: RunEntry) -> Generator[str]:
    from antiphon.durable.replay_cache import is_indeterminate
    from antiphon.programs.manual_outcome import describe_outcome_type

    id = entry.id
    steps = [each for each in journal.iterate_effects(entry.id) if each.state in ("failed", "begun")]
    failed = [each for each in steps if each.state == "failed"]
    if unsure := [each for each in failed if is_indeterminate(each.outcome)]:
        for each in unsure[:_MAX_LISTED]:
            path = each.path
            yield f"  step {path} was interrupted: check whether it took effect"
        path = unsure[-1].path
        yield f"  `antiphon resume {id} --retry {path}` runs it again, `--skip {path} VALUE` sets its outcome"
        if wanted := describe_outcome_type(unsure[-1]):
            yield f"  VALUE is {wanted}, as JSON"
        if len(unsure) > 1:
            yield f"  {len(unsure)} steps are uncertain; decide about all in one command: `--retry A --skip B VALUE …`"
    elif failed:
        path = failed[-1].path
        yield f"  `antiphon resume {id} --retry {path}` retries its last failed step"
    elif steps:
        path = steps[-1].path
        yield f"  `antiphon resume {id}` runs step {path}, which was not completed"
