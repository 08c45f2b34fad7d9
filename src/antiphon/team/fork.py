"""Fork a team: create another team from the history of one up to a message."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from antiphon.effects.codec import dump_ascii_json
from antiphon.errors import NotReadyError
from antiphon.storage.posts import (
    DeliveryRow,
    PostRow,
    copy_posts,
    insert_deliveries,
    list_deliveries,
    map_post_keys,
)
from antiphon.storage.sessions import copy_child
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
    keys = map_post_keys(team.database, team.id, at)
    messages = _drop_unfinished_turns(state, team.id, messages, keys)
    title = state.begun.request.strip().splitlines()[0]
    with team.database.write_transaction() as connection:
        numbers = copy_posts(connection, _rename_posts(team.id, other.id, messages, keys, at))
        _copy_deliveries(connection, team.id, other.id, state, numbers, at)
        for number in state.threads.values():
            # The run of a turn has its conversation.
            copy_child(connection, f"{team.id}.{number}", f"{other.id}.{number}", other.id)
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


def _rename_posts(
    old: str, new: str, messages: list[ChannelMessage], keys: dict[int, str], at: int
) -> Iterator[tuple[int, PostRow]]:
    """Yield posts of the new team for the messages of the old one, each with the id of the message."""
    for each in messages:
        key = keys.get(each.id)
        data = dict(each.data)
        if data.get("fact") == "begun":
            data["forked"] = f"{old}@{at}"
        if "run" in data:
            data["run"] = f"{new}{str(data['run']).removeprefix(old)}"
        yield (
            each.id,
            PostRow(
                f"{new}{each.channel.removeprefix(old)}",
                each.at,
                each.author,
                each.to,
                each.kind,
                each.text,
                dump_ascii_json(data),
                each.reply_to,
                each.task,
                None if key is None else f"{new}{key.removeprefix(old)}",
            ),
        )


def _copy_deliveries(connection: Any, old: str, new: str, state: TeamState, numbers: dict[int, int], at: int) -> None:
    """Copy the deliveries of finished turns; unfinished turns read their messages again."""
    known = sorted(numbers)
    ended = {number for number in state.history if number not in state.turns}

    def map_id(id: int) -> int:
        place = bisect_right(known, min(id, at))
        return numbers[known[place - 1]] if place else 0

    copies = [
        DeliveryRow(
            each.reader,
            f"{new}{each.channel.removeprefix(old)}",
            f"{new}{each.key.removeprefix(old)}",
            map_id(each.after),
            map_id(each.upto),
        )
        for each in list_deliveries(connection, old)
        if (turn := each.key.removeprefix(f"{old}.").partition("/")[0]).isdigit() and int(turn) in ended
    ]
    insert_deliveries(connection, copies)
