"""Live events of a team: its messages and its status.

The id of an event is the number of its last message, so a client that reconnects with it misses none
and gets none twice.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from antiphon.errors import NotSavedError
from antiphon.storage.steps import StepRow, UsageRow, find_last_step, list_child_usage
from antiphon.team.budget import sum_agent_costs
from antiphon.team.diffs import branch_commands
from antiphon.team.queries import describe_activity, describe_event, team_status_json
from antiphon.team.turns import turn_run_id
from antiphon.views.markdown import markdown_json
from antiphon.web.sse import EventFeed
from antiphon.web.step_events import SseEvent
from antiphon.web.steps import step_line_json
from antiphon.web.stored import session_json
from antiphon.web.teams import describe_unfinished_creation, find_team

if TYPE_CHECKING:
    from antiphon.durable import Journal
    from antiphon.team import ChannelMessage, Task, Team
    from antiphon.team.tasks import ActiveTurn
    from antiphon.web.run_launcher import RunLauncher

#: The most messages in one event, and the most characters of each.
_MAX_MESSAGES, _MAX_TEXT = 500, 20_000
#: Authors of plain text; agents and questions use Markdown.
_PLAIN_TEXT_AUTHORS = ("@human", "@team")


class TeamEventFeed(EventFeed):
    """Tracks what a page has received of a team, and produces what is new."""

    is_batched = True

    def __init__(self, journal: Journal, launcher: RunLauncher, id: str, after: str = "") -> None:
        super().__init__(journal)
        self._id, self._launcher = id, launcher
        self._last = int(after) if after.isascii() and after.isdecimal() else -1
        self._team: Team | None = None
        self._unsent_messages: list[ChannelMessage] = []
        self._turns = TurnTracker(journal)

    def _listed(self) -> Generator[SseEvent]:
        yield from ()

    def _own(self) -> Generator[SseEvent]:
        id = self._id
        try:
            team = self._team = self._team or find_team(self._journal, id)
            yield from self._if_other("session", session_json(self._journal, id))
        except NotSavedError:
            yield from self._if_other("gone", id)
            return
        yield from self._said(team)
        is_begun = team.state.begun is not None
        yield from self._if_other("problem", "" if is_begun else describe_unfinished_creation(id))
        if is_begun:
            yield from self._if_other("team", self._standing(team))

    def _said(self, team: Team) -> Generator[SseEvent]:
        for each in team.messages(team.state.last):
            team.state.apply(each)
            if each.id > self._last:
                self._unsent_messages.append(each)
        batch, self._unsent_messages = self._unsent_messages[:_MAX_MESSAGES], self._unsent_messages[_MAX_MESSAGES:]
        if batch:
            yield str(batch[-1].id), "messages", [_message_json(each) for each in batch]

    def _standing(self, team: Team) -> dict[str, Any]:
        state, settings = team.state, team.state.settings
        assert state.begun is not None
        self._turns.look(team)
        used = list(self._turns.used.values())
        known = team_status_json(team, sum_agent_costs(used, state.history))
        tasks = [
            {**told, **_task_extras_json(each)} for told, each in zip(known["tasks"], state.tasks.values(), strict=True)
        ]
        merged = state.ended is not None and bool(state.ended.merged)
        return {
            **known,
            "tasks": tasks,
            "members": [each for each in state.members if each != "@human"],
            "isSolo": settings.solo,
            "turns": [self._turn(team, turn) for turn in state.turns.values()],
            "limits": {"cost": settings.cost, "taskCost": settings.task_cost, "requests": settings.requests},
            "used": {"cost": sum(each.cost for each in used), "requests": sum(each.requests for each in used)},
            "forked": state.begun.forked,
            "hasChanges": state.head != state.begun.base,
            "commands": branch_commands(known["branch"], state.begun.base) if merged else (),
            "stuck": self._launcher.failure(team.id),
        }

    def _turn(self, team: Team, turn: ActiveTurn) -> dict[str, Any]:
        begun, paused = turn.begun, turn.paused
        told = {"run": turn_run_id(team.id, begun.number), "agent": begun.agent, "task": begun.task}
        told |= {"what": describe_activity(begun.why), "doing": self._turns.current_steps.get(begun.number)}
        if paused is not None:
            told |= {"paused": paused.why, "over": paused.over, "until": paused.until}
        return told


class TurnTracker:
    """The usage of a team's turns, and the current step of active ones; finished turns are not read again."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.used: dict[int, UsageRow] = {}
        self.current_steps: dict[int, dict[str, Any]] = {}
        self._known: set[int] | None = None
        self._last: dict[int, StepRow] = {}

    def look(self, team: Team) -> None:
        """Read what is new."""
        under_way = set(team.state.turns)
        if self._known is None:
            self.used = {each.number: each for each in list_child_usage(team.database, team.id)}
            self._known = set(team.state.history) - under_way
        rows = {number: find_last_step(self._journal.database, turn_run_id(team.id, number)) for number in under_way}
        changed = {number for number, row in rows.items() if row is not None and row != self._last.get(number)}
        over = set(team.state.history) - under_way - self._known
        if wanted := sorted(changed | over):
            self.used |= {each.number: each for each in list_child_usage(team.database, team.id, wanted)}
        for number in changed:
            if (row := rows[number]) is not None:
                self._last[number] = row
                self.current_steps[number] = step_line_json(self._journal, row)
        for number in over:
            self.current_steps.pop(number, None)
            self._last.pop(number, None)
        self._known |= over


def _task_extras_json(task: Task) -> dict[str, Any]:
    check = task.check
    checked = None if check is None else {"why": check.why, "passed": check.passed, "tests": len(check.tests)}
    return {"check": checked, "trouble": task.trouble[:_MAX_TEXT], "after": list(task.after)}


def _message_json(message: ChannelMessage) -> dict[str, Any]:
    said = describe_event(message) if message.kind == "fact" else message.text
    told: dict[str, Any] = {
        "id": message.id,
        "channel": message.channel.rpartition("/")[2],
        "at": message.at,
        "author": message.author,
        "to": message.to,
        "kind": message.kind,
        "text": said[:_MAX_TEXT],
        "task": message.task,
    }
    if message.kind == "question" or (message.kind != "fact" and message.author not in _PLAIN_TEXT_AUTHORS):
        told["blocks"] = markdown_json(told["text"])
    more = len(said) - _MAX_TEXT
    return {**told, "replyTo": message.reply_to, **({"more": more} if more > 0 else {})}
