"""Descriptions of runs: one line, JSON data, and hints what to do next."""

from __future__ import annotations

from collections.abc import Generator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_object
from antiphon.cli.listing import one_line, truncate_title
from antiphon.cli.style import format_noun_count
from antiphon.durable.run_entries import LISTED_QUESTIONS
from antiphon.storage.leases import PREPARING
from antiphon.views.cost_format import format_cost

if TYPE_CHECKING:
    from antiphon.durable import EffectEntry, Journal, RunEntry

#: Maximum number of open questions and failures that are listed.
_MAX_LISTED = 5


def iter_next_steps(journal: Journal, id: str, *, is_shown: bool = False) -> Generator[str]:
    """Yield hints for a run that has not ended or has failed; `is_shown` if its steps were printed."""
    entry = journal.find(id)
    if entry.kind == "map":
        yield from _iter_batch_steps(journal, entry)
        return
    if entry.kind in ("team", "turn"):
        yield from _iter_team_steps(entry)
        return
    match entry.state:
        case "waiting":
            yield from _iter_questions(entry)
        case "ready" | "interrupted":
            option = as_object(entry.ending).get("option")
            command = f"antiphon runs resume {id}" + (f" {option}" if option else "")
            yield f"run {id} is {entry.state}: resume it with `{command}`"
        case "running":
            yield _describe_owner(journal, entry)
        case "failed":
            yield (
                f"run {id} failed{_describe_error(entry)}"
                if is_shown
                else f"run {id} failed: `antiphon runs show {id}` shows its steps"
            )
            yield from _iter_failures(journal, id)
        case _:
            pass


def make_run_json(entry: RunEntry) -> dict[str, Any]:
    """Return a run as JSON data, with times in UTC."""
    return {
        "id": entry.id,
        "state": entry.state,
        "kind": entry.kind,
        "title": entry.title,
        "created": format_utc_time(entry.created),
        "updated": format_utc_time(entry.updated),
        "parent": entry.parent,
        "fork_of": entry.fork_of,
        "fork_at": entry.fork_at,
        "number": entry.number,
        "wake_at": None if entry.wake_at is None else format_utc_time(entry.wake_at),
        "cost": entry.cost,
        "effects": entry.effects,
        "waiting": [{"path": each.path, "about": each.about, "text": each.text} for each in entry.waiting],
        "ending": entry.ending,
        "damage": entry.damage or None,
    }


def make_effect_json(entry: EffectEntry) -> dict[str, Any]:
    """Return a step of a run as JSON data."""
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


def format_run_columns(entry: RunEntry) -> tuple[str, ...]:
    """Return the columns of a run in a list."""
    cost = format_cost(entry.cost)
    if entry.kind == "team":
        return (one_line(entry.id), entry.state, format_local_minute(entry.created), "team", cost)
    steps = "1 step" if entry.effects == 1 else f"{entry.effects} steps"
    return (one_line(entry.id), entry.state, format_local_minute(entry.created), steps, cost)


def describe_run(entry: RunEntry) -> str:
    """Return the title of a run, with its pending question, wake-up time or error."""
    title = one_line(entry.title)
    if entry.damage:
        return f"{title}: {one_line(entry.damage)}"
    if entry.state == "waiting" and entry.waiting:
        first, *others = entry.waiting
        # The list of questions is limited.
        more = f" (+{len(others)}{' or more' * (len(others) >= LISTED_QUESTIONS - 1)})" if others else ""
        return f"{title}: {truncate_title(one_line(first.text))}{more}"
    if entry.state == "waiting" and entry.wake_at is not None:
        return f"{title}: sleeps until {format_local_minute(entry.wake_at)}"
    return f"{title}{_describe_error(entry)}" if entry.state == "failed" else title


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
    from antiphon.durable.run_owner import describe_owner, is_owner_alive

    if journal.is_shared and not is_owner_alive(entry.owner):
        return (
            f"the process of run {entry.id} has died: a worker will resume it,"
            f" or resume it with `antiphon runs resume {entry.id}`"
        )
    heard = f", last seen {journal.compute_silence(entry):.0f} s ago" if journal.is_shared else ""
    return f"run {entry.id} is being run{heard} by {describe_owner(entry.owner, entry.id)}"


def _iter_batch_steps(journal: Journal, entry: RunEntry) -> Generator[str]:
    counts = journal.count_by_state(entry.id, kind="row")
    if entry.state == PREPARING:
        yield from _iter_preparing_steps(entry, sum(count for _, count in counts))
        return
    told = ", ".join(f"{count} {state}" for state, count in counts) or "none"
    yield f"run {entry.id} has rows: {told}; `antiphon runs list --of {entry.id}` lists them"
    if [state for state, _ in counts] != ["done"]:
        yield f"  `antiphon runs resume {entry.id}` runs unfinished rows and retries failed ones"


def _iter_preparing_steps(entry: RunEntry, written: int) -> Generator[str]:
    from antiphon.durable.run_owner import describe_owner, is_owner_alive

    rows = format_noun_count(written, "row")
    if entry.owner and is_owner_alive(entry.owner):
        yield f"run {entry.id} is being created with {rows} so far, in {describe_owner(entry.owner, entry.id)}"
        return
    yield f"the creation of run {entry.id} was interrupted: it has {rows}, and none has run"
    yield f"  `antiphon runs resume {entry.id}` creates the others and runs all"


def _iter_team_steps(entry: RunEntry) -> Generator[str]:
    if entry.kind == "turn":
        yield f"run {entry.id} is a turn of a team: `antiphon team status {entry.parent}` shows the team"
        return
    yield f"run {entry.id} is a team: `antiphon team status {entry.id}` shows its status"
    yield f"  `antiphon runs list --of {entry.id}` lists the turns of its agents"


def _describe_error(entry: RunEntry) -> str:
    """Return the error of a failed run, if recorded."""
    error = as_object(as_object(entry.ending).get("error"))
    where = f" (line {error['line']})" if "line" in error else ""
    code = f"{error['code']}: " if "code" in error else ""
    return f": {code}{one_line(str(error['message']))}{where}" if "message" in error else ""


def _iter_questions(entry: RunEntry) -> Generator[str]:
    for each in entry.waiting[:_MAX_LISTED]:
        yield f"run {entry.id} waits at {each.path}: {truncate_title(one_line(each.text))}"
        if each.about == "approval":
            yield f"  `antiphon runs allow {entry.id} {each.path}`, or `deny`; then `antiphon runs resume {entry.id}`"
        else:
            yield f"  `antiphon runs answer {entry.id} {each.path} TEXT`, then `antiphon runs resume {entry.id}`"
    if len(entry.waiting) > _MAX_LISTED:
        yield "  … and at more steps; `antiphon runs list --json` lists them"
    if not entry.waiting and entry.wake_at is None:
        yield f"run {entry.id} waits for a terminal: run `antiphon runs resume {entry.id}` in one"
    if entry.wake_at is not None:
        when = format_local_minute(entry.wake_at)
        yield f"run {entry.id} sleeps until {when}; then resume it with `antiphon runs resume {entry.id}`"


def _iter_failures(journal: Journal, id: str) -> Generator[str]:
    from antiphon.durable.replay_cache import is_indeterminate
    from antiphon.programs.manual_outcome import describe_outcome_type

    steps = [each for each in journal.iterate_effects(id) if each.state in ("failed", "begun")]
    failed = [each for each in steps if each.state == "failed"]
    if unsure := [each for each in failed if is_indeterminate(each.outcome)]:
        for each in unsure[:_MAX_LISTED]:
            yield f"  step {each.path} was interrupted: check whether it took effect"
        path = unsure[-1].path
        yield f"  `antiphon runs resume {id} --retry {path}` runs it again, `--skip {path} VALUE` sets its outcome"
        if wanted := describe_outcome_type(unsure[-1]):
            yield f"  VALUE is {wanted}, as JSON"
        if len(unsure) > 1:
            yield f"  {len(unsure)} steps are uncertain; decide about all in one command: `--retry A --skip B VALUE …`"
    elif failed:
        yield f"  `antiphon runs resume {id} --retry {failed[-1].path}` retries its last failed step"
    elif steps:
        yield f"  `antiphon runs resume {id}` runs step {steps[-1].path}, which was not completed"
