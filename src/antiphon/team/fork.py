"""Fork a team: create another team from the history of one up to a message."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from antiphon.effects.codec import dump_ascii_json
from antiphon.errors import NotReadyError
from antiphon.team.repository import Repository, TeamWorkspace, open_workspace
from antiphon.team.state import TeamState
from antiphon.team.turns import turn_run_id

if TYPE_CHECKING:
    from antiphon.team.channels import ChannelMessage
    from antiphon.team.team import Team


def copy_history(team: Team, other: Team, at: int) -> None:
    """Copy a team's history up to a message into another team: messages, deliveries, conversations and
    branches.
    """
    messages = [each for each in team.messages() if each.id <= at]
    state = TeamState()
    for each in messages:
        state.apply(each)
    if state.begun is None:
        raise NotReadyError(f"team {team.id} had not begun at message {at}")
    found = replace(Repository.find(state.begun.repository), head=state.begun.base)
    _make_branches(open_workspace(found, other.id, other.place), state)
    messages = _drop_unfinished_turns(state, team.id, messages, _message_keys(team, at))
    title = state.begun.request.strip().splitlines()[0]
    with team.database.write_transaction() as connection:
        numbers = _copy_messages(connection, team.id, other.id, messages, _message_keys(team, at), at)
        _copy_deliveries(connection, team.id, other.id, state, numbers, at)
        for number in state.threads.values():
            _copy_turn_run(connection, team.id, other.id, number)
    # From here on, other processes can find the fork.
    other.journal.begin("team", title, {"repository": found.top}, id=other.id).finish("ready")


def _make_branches(work: TeamWorkspace, state: TeamState) -> None:
    with work.lock("main") as held:
        if (now := work.head()) != state.head:
            work.move(held, "main", state.head, now)
    for task in state.tasks.values():
        if task.files and not task.is_over:
            with work.lock(task.branch) as held:
                work.move(held, task.branch, task.files, None)


def _message_keys(team: Team, at: int) -> dict[int, str]:
    rows = team.database.query(
        "SELECT id, key FROM messages WHERE substr(channel, 1, ?) = ? AND id <= ? AND key IS NOT NULL",
        (len(team.id) + 1, f"{team.id}/", at),
    )
    return dict(rows)


def _drop_unfinished_turns(
    state: TeamState, name: str, messages: list[ChannelMessage], keys: dict[int, str]
) -> list[ChannelMessage]:
    """Return the messages without those of unfinished turns, which the fork starts again."""
    runs = [turn_run_id(name, number) for number in state.turns]
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
    connection: Any, old: str, new: str, messages: list[ChannelMessage], keys: dict[int, str], at: int
) -> dict[int, int]:
    """Copy messages under the new team id, and return the new message id for each old one."""
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
                dump_ascii_json(data),
                numbers.get(each.reply_to or 0),
                each.task,
                None if key is None else f"{new}{key.removeprefix(old)}",
            ),
        ).fetchall()
        numbers[each.id] = number
    return numbers


def _copy_deliveries(connection: Any, old: str, new: str, state: TeamState, numbers: dict[int, int], at: int) -> None:
    """Copy the deliveries of finished turns; unfinished turns read their messages again."""
    known = sorted(numbers)
    ended = {number for number in state.history if number not in state.turns}

    def map_id(id: int) -> int:
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
                    map_id(after),
                    map_id(upto),
                ),
            )


def _copy_turn_run(connection: Any, old: str, new: str, number: int) -> None:
    """Copy the journal run of a turn, for its conversation."""
    connection.execute(
        "INSERT INTO runs (id, state, created, updated, epoch, owner, kind, title, begun_as, parent, number, ending,"
        " said) SELECT ?, state, created, updated, 0, '', kind, title, begun_as, ?, number, ending, said FROM runs"
        " WHERE id = ?",
        (f"{new}.{number}", new, f"{old}.{number}"),
    )
