"""Another way from here: a team that begins with what another had said and done up to a message."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from antiphon.agents.repository import Repository, Workplace, begin
from antiphon.agents.state import TeamState
from antiphon.agents.turns import run_name
from antiphon.effects.written import as_text
from antiphon.errors import NotReadyError

if TYPE_CHECKING:
    from antiphon.agents.channels import Message
    from antiphon.agents.team import Team


def fork(team: Team, other: Team, at: int) -> None:
    """Give another team what this one had at a message: messages, what was read, conversations, branches."""
    messages = [each for each in team.messages() if each.id <= at]
    state = TeamState()
    for each in messages:
        state.apply(each)
    if state.begun is None:
        raise NotReadyError(f"team {team.id} had not begun at message {at}")
    found = replace(Repository.find(state.begun.repository), head=state.begun.base)
    _make_branches(begin(found, other.id, other.place), state)
    messages = _without(state, team.id, messages, _keys(team, at))
    title = state.begun.request.strip().splitlines()[0]
    with team.database.writing() as connection:
        numbers = _copy_messages(connection, team.id, other.id, messages, _keys(team, at), at)
        _copy_read(connection, team.id, other.id, state, numbers, at)
        for number in state.threads.values():
            _copy_run(connection, team.id, other.id, number)
    # From now on it can be found.
    other.journal.begin("team", title, {"repository": found.top}, id=other.id).leave("ready")


def _make_branches(work: Workplace, state: TeamState) -> None:
    with work.lock("main") as held:
        if (now := work.head()) != state.head:
            work.move(held, "main", state.head, now)
    for task in state.tasks.values():
        if task.files and not task.is_over:
            with work.lock(task.branch) as held:
                work.move(held, task.branch, task.files, None)


def _keys(team: Team, at: int) -> dict[int, str]:
    rows = team.database.read(
        "SELECT id, key FROM messages WHERE substr(channel, 1, ?) = ? AND id <= ? AND key IS NOT NULL",
        (len(team.id) + 1, f"{team.id}/", at),
    )
    return dict(rows)


def _without(state: TeamState, name: str, messages: list[Message], keys: dict[int, str]) -> list[Message]:
    """What is left without the turns that had not ended: these are begun anew, and say anew what they say."""
    runs = [run_name(name, number) for number in state.turns]
    starts = tuple(f"{run}{end}" for run in runs for end in "/:")
    gone = {each.id for each in messages if keys.get(each.id, "").startswith(starts)}
    return [
        each
        for each in messages
        if each.id not in gone
        and each.reply_to not in gone
        and not (each.data.get("fact") == "paused" and each.data["number"] in state.turns)
    ]


def _copy_messages(
    connection: Any, old: str, new: str, messages: list[Message], keys: dict[int, str], at: int
) -> dict[int, int]:
    """Copy them under the new name; which number each has now."""
    numbers: dict[int, int] = {}
    for each in messages:
        key = keys.get(each.id)
        data = dict(each.data)
        if data.get("fact") == "begun":
            data["forked"] = f"{old}@{at}"
        if "run" in data:
            data["run"] = f"{new}{str(data['run']).removeprefix(old)}"
        ((number,),) = connection.execute(
            "INSERT INTO messages (channel, at, author, recipient, kind, text, data, reply_to, task, key)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
            (
                f"{new}{each.channel.removeprefix(old)}",
                each.at,
                each.author,
                each.to,
                each.kind,
                each.text,
                as_text(data),
                numbers.get(each.reply_to or 0),
                each.task,
                None if key is None else f"{new}{key.removeprefix(old)}",
            ),
        ).fetchall()
        numbers[each.id] = number
    return numbers


def _copy_read(connection: Any, old: str, new: str, state: TeamState, numbers: dict[int, int], at: int) -> None:
    """What was read in turns that had ended; the others read it again."""
    known = sorted(numbers)
    ended = {number for number in state.history if number not in state.turns}

    def moved(id: int) -> int:
        place = bisect_right(known, min(id, at))
        return numbers[known[place - 1]] if place else 0

    rows = connection.execute(
        "SELECT reader, channel, key, after, upto FROM deliveries WHERE substr(channel, 1, ?) = ?",
        (len(old) + 1, f"{old}/"),
    ).fetchall()
    for reader, channel, key, after, upto in rows:
        turn = key.removeprefix(f"{old}.").partition("/")[0]
        if turn.isdigit() and int(turn) in ended:
            connection.execute(
                "INSERT INTO deliveries VALUES (?, ?, ?, ?, ?)",
                (
                    reader,
                    f"{new}{channel.removeprefix(old)}",
                    f"{new}{key.removeprefix(old)}",
                    moved(after),
                    moved(upto),
                ),
            )


def _copy_run(connection: Any, old: str, new: str, number: int) -> None:
    """The run of a turn, for the conversation that it led to."""
    connection.execute(
        "INSERT INTO runs (id, state, created, updated, epoch, owner, kind, title, begun_as, parent, number, ending,"
        " said) SELECT ?, state, created, updated, 0, '', kind, title, begun_as, ?, number, ending, said FROM runs"
        " WHERE id = ?",
        (f"{new}.{number}", new, f"{old}.{number}"),
    )
