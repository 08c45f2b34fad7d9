"""What there is to tell of runs: in a line, as JSON, and what can be done about them."""

from __future__ import annotations

from collections.abc import Generator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_object
from antiphon.cli.listing import one_line, shortened
from antiphon.durable.journal_writer import PREPARING
from antiphon.durable.run_entries import LISTED_QUESTIONS
from antiphon.views.cost_format import format_cost

if TYPE_CHECKING:
    from antiphon.durable import EffectEntry, Journal, RunEntry

#: So many open questions are told of.
_MOST = 5


def how_to_go_on(journal: Journal, id: str, *, is_shown: bool = False) -> Generator[str]:
    """What can be done about a run that is not over, or has failed; `is_shown` where all that it did stands above."""
    entry = journal.find(id)
    if entry.kind == "map":
        yield from _rows(journal, entry)
        return
    if entry.kind in ("team", "turn"):
        yield from _team(entry)
        return
    match entry.state:
        case "waiting":
            yield from _waits_for(entry)
        case "ready" | "interrupted":
            option = as_object(entry.ending).get("option")
            yield f"run {id} is {entry.state}: `antiphon runs resume {id}{f' {option}' if option else ''}` goes on"
        case "running":
            yield _runs(journal, entry)
        case "failed":
            yield (
                f"run {id} failed{_why(entry)}"
                if is_shown
                else f"run {id} failed: `antiphon runs show {id}` shows what it did"
            )
            yield from _failures(journal, id)
        case _:
            pass


def entry_json(entry: RunEntry) -> dict[str, Any]:
    """A run as JSON data; times are in UTC."""
    return {
        "id": entry.id,
        "state": entry.state,
        "kind": entry.kind,
        "title": entry.title,
        "created": utc(entry.created),
        "updated": utc(entry.updated),
        "parent": entry.parent,
        "fork_of": entry.fork_of,
        "fork_at": entry.fork_at,
        "number": entry.number,
        "wake_at": None if entry.wake_at is None else utc(entry.wake_at),
        "cost": entry.cost,
        "effects": entry.effects,
        "waiting": [{"path": each.path, "about": each.about, "text": each.text} for each in entry.waiting],
        "ending": entry.ending,
        "damage": entry.damage or None,
    }


def effect_json(entry: EffectEntry) -> dict[str, Any]:
    """What a run did in a step, as JSON data."""
    from antiphon.effects import outcome_to_json

    return {
        "path": entry.path,
        "kind": entry.kind,
        "state": entry.state,
        "asked": entry.asked,
        "outcome": None if entry.outcome is None else outcome_to_json(entry.outcome),
        "began": utc(entry.began),
        "ended": None if entry.ended is None else utc(entry.ended),
        "cost": entry.cost,
        "attempt": entry.attempt,
        "damage": entry.damage or None,
    }


def columns(entry: RunEntry) -> tuple[str, ...]:
    cost = format_cost(entry.cost)
    if entry.kind == "team":
        return (one_line(entry.id), entry.state, local(entry.created), "team", cost)
    steps = "1 step" if entry.effects == 1 else f"{entry.effects} steps"
    return (one_line(entry.id), entry.state, local(entry.created), steps, cost)


def about(entry: RunEntry) -> str:
    """What a run is, and what it waits for."""
    title = one_line(entry.title)
    if entry.damage:
        return f"{title}: {one_line(entry.damage)}"
    if entry.state == "waiting" and entry.waiting:
        first, *others = entry.waiting
        # Of very many, not all are known here.
        more = f" (+{len(others)}{' or more' * (len(others) >= LISTED_QUESTIONS - 1)})" if others else ""
        return f"{title}: {shortened(one_line(first.text))}{more}"
    if entry.state == "waiting" and entry.wake_at is not None:
        return f"{title}: sleeps until {local(entry.wake_at)}"
    return f"{title}{_why(entry)}" if entry.state == "failed" else title


def local(moment: float) -> str:
    from antiphon.durable.run_entries import format_local_time

    return format_local_time(moment)[:16]


def utc(moment: float) -> str | None:
    """A time in UTC; nothing, where it is none of this era."""
    try:
        return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return None


def _runs(journal: Journal, entry: RunEntry) -> str:
    """Who is at a run; where nobody can see whether he still is, since when nothing was heard of him."""
    from antiphon.durable.run_owner import describe_owner, is_owner_alive

    if journal.is_shared and not is_owner_alive(entry.owner):
        return (
            f"run {entry.id} was left by a process that is gone: a worker goes on with it,"
            f" or `antiphon runs resume {entry.id}`"
        )
    heard = f", last heard of {journal.compute_silence(entry):.0f} s ago" if journal.is_shared else ""
    return f"run {entry.id} is being run{heard} by {describe_owner(entry.owner, entry.id)}"


def _rows(journal: Journal, entry: RunEntry) -> Generator[str]:
    counts = journal.count_by_state(entry.id, kind="row")
    if entry.state == PREPARING:
        yield from _prepares(entry, sum(count for _, count in counts))
        return
    told = ", ".join(f"{count} {state}" for state, count in counts) or "none"
    yield f"run {entry.id} is of rows: {told}; `antiphon runs list --of {entry.id}` lists them"
    if [state for state, _ in counts] != ["done"]:
        yield f"  `antiphon runs resume {entry.id}` goes on, and tries again what failed"


def _prepares(entry: RunEntry, written: int) -> Generator[str]:
    from antiphon.durable.run_owner import describe_owner, is_owner_alive

    rows = "1 row is" if written == 1 else f"{written} rows are"
    if entry.owner and is_owner_alive(entry.owner):
        yield f"run {entry.id} is being written, {rows} there so far, by {describe_owner(entry.owner, entry.id)}"
        return
    yield f"run {entry.id} was not written to its end: {rows} there, and none has run"
    yield f"  `antiphon runs resume {entry.id}` writes the others, and runs all"


def _team(entry: RunEntry) -> Generator[str]:
    if entry.kind == "turn":
        yield f"run {entry.id} is a turn of a team: `antiphon team status {entry.parent}` shows how that stands"
        return
    yield f"run {entry.id} is a team: `antiphon team status {entry.id}` shows how it stands"
    yield f"  `antiphon runs list --of {entry.id}` lists the turns of its agents"


def _why(entry: RunEntry) -> str:
    """What it failed with, as far as that is known."""
    error = as_object(as_object(entry.ending).get("error"))
    where = f" (line {error['line']})" if "line" in error else ""
    code = f"{error['code']}: " if "code" in error else ""
    return f": {code}{one_line(str(error['message']))}{where}" if "message" in error else ""


def _waits_for(entry: RunEntry) -> Generator[str]:
    for each in entry.waiting[:_MOST]:
        yield f"run {entry.id} waits at {each.path}: {shortened(one_line(each.text))}"
        if each.about == "approval":
            yield f"  `antiphon runs allow {entry.id} {each.path}`, or `deny`; then `antiphon runs resume {entry.id}`"
        else:
            yield f"  `antiphon runs answer {entry.id} {each.path} TEXT`, then `antiphon runs resume {entry.id}`"
    if len(entry.waiting) > _MOST:
        yield "  … and for more; `antiphon runs list --json` has them"
    if not entry.waiting and entry.wake_at is None:
        yield f"run {entry.id} waits for somebody to ask: `antiphon runs resume {entry.id}` in a terminal"
    if entry.wake_at is not None:
        yield f"run {entry.id} sleeps until {local(entry.wake_at)}; `antiphon runs resume {entry.id}` goes on then"


def _failures(journal: Journal, id: str) -> Generator[str]:
    from antiphon.durable.replay_cache import is_indeterminate
    from antiphon.programs.manual_outcome import describe_outcome_type

    steps = [each for each in journal.iterate_effects(id) if each.state in ("failed", "begun")]
    failed = [each for each in steps if each.state == "failed"]
    if unsure := [each for each in failed if is_indeterminate(each.outcome)]:
        for each in unsure[:_MOST]:
            yield f"  step {each.path} was interrupted: look whether it took effect"
        path = unsure[-1].path
        yield f"  `antiphon runs resume {id} --retry {path}` does it again, `--skip {path} VALUE` says what came of it"
        if wanted := describe_outcome_type(unsure[-1]):
            yield f"  VALUE is {wanted}, as JSON"
        if len(unsure) > 1:
            yield f"  {len(unsure)} steps are not known; one command can decide about all: `--retry A --skip B VALUE …`"
    elif failed:
        yield f"  `antiphon runs resume {id} --retry {failed[-1].path}` tries its last failed step again"
    elif steps:
        yield f"  `antiphon runs resume {id}` tries step {steps[-1].path} again, which was not done"
