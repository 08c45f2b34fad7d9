"""What happens in a team, as it happens: its messages, and how it stands.

The id of an event is the number of the last message in it: whoever comes back with it misses none, and gets none twice.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any

from antiphon.agents.changes import commands
from antiphon.agents.looking import at_work, happened, standing
from antiphon.agents.spending import Used, costs_of, used_by
from antiphon.agents.turns import run_name
from antiphon.errors import NotSavedError
from antiphon.views.markdown import markdown_json
from antiphon.web.steps import line
from antiphon.web.stored import STEP
from antiphon.web.stream import Event, Watch
from antiphon.web.teams import half_begun, listed, named

if TYPE_CHECKING:
    from antiphon.agents import Message, Task, Team
    from antiphon.agents.work import Turn
    from antiphon.journal import Journal
    from antiphon.web.going import Going

#: Messages in one event, and characters of each: agents may talk without end.
_BATCH, _LONGEST = 500, 20_000
#: They say what they say; agents, and who asks, write Markdown.
_PLAIN = ("@human", "@team")


class TeamWatch(Watch):
    """Knows what a page was told of a team, or of all teams where none is named, and what is new for it."""

    def __init__(
        self, journal: Journal, going: Going, team: str | None, after: str = "", parts: Iterable[tuple[str, str]] = ()
    ) -> None:
        super().__init__(journal, going, None, parts=parts)
        self._id, self._going = team, going
        self._last = int(after) if after.isascii() and after.isdecimal() else -1
        self._team: Team | None = None
        self._unsent: list[Message] = []
        self._turns = Turns(journal)

    def _listed(self) -> Generator[Event]:
        yield from ()

    def _own(self) -> Generator[Event]:
        id = self._id
        if id is None:
            yield from self._if_other("teams", listed(self._journal))
            return
        try:
            team = self._team = self._team or named(self._journal, id)
        except NotSavedError:
            yield from self._if_other("gone", id)
            return
        yield from self._said(team)
        is_begun = team.state.begun is not None
        yield from self._if_other("problem", "" if is_begun else half_begun(id))
        if is_begun:
            yield from self._if_other("team", self._standing(team))

    def _said(self, team: Team) -> Generator[Event]:
        for each in team.messages(team.state.last):
            team.state.apply(each)
            if each.id > self._last:
                self._unsent.append(each)
        batch, self._unsent = self._unsent[:_BATCH], self._unsent[_BATCH:]
        if batch:
            yield str(batch[-1].id), "messages", [_message(each) for each in batch]

    def _standing(self, team: Team) -> dict[str, Any]:
        state, settings = team.state, team.state.settings
        assert state.begun is not None
        self._turns.look(team)
        used = list(self._turns.used.values())
        known = standing(team, costs_of(used, state.history))
        tasks = [{**told, **_more(each)} for told, each in zip(known["tasks"], state.tasks.values(), strict=True)]
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
            "commands": commands(known["branch"], state.begun.base) if merged else (),
            "stuck": self._going.failure(team.id),
        }

    def _turn(self, team: Team, turn: Turn) -> dict[str, Any]:
        begun, paused = turn.begun, turn.paused
        told = {"run": run_name(team.id, begun.number), "agent": begun.agent, "task": begun.task}
        told |= {"what": at_work(begun.why), "doing": self._turns.doing.get(begun.number)}
        if paused is not None:
            told |= {"paused": paused.why, "over": paused.over, "until": paused.until}
        return told


class Turns:
    """What turns of a team have used, and what is done in those under way; one that is over is looked at no more."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.used: dict[int, Used] = {}
        self.doing: dict[int, dict[str, Any]] = {}
        self._known: set[int] | None = None
        self._last: dict[int, tuple[Any, ...]] = {}

    def look(self, team: Team) -> None:
        """Look at what is new."""
        under_way = set(team.state.turns)
        if self._known is None:
            self.used = {each.turn: each for each in used_by(team.database, team.id)}
            self._known = set(team.state.history) - under_way
        rows = {number: self._step(run_name(team.id, number)) for number in under_way}
        changed = {number for number, row in rows.items() if row is not None and row != self._last.get(number)}
        over = set(team.state.history) - under_way - self._known
        if wanted := sorted(changed | over):
            self.used |= {each.turn: each for each in used_by(team.database, team.id, wanted)}
        for number in changed:
            self._last[number] = row = rows[number] or ()
            self.doing[number] = line(self._journal, row)
        for number in over:
            self.doing.pop(number, None)
            self._last.pop(number, None)
        self._known |= over

    def _step(self, run: str) -> tuple[Any, ...] | None:
        rows = self._journal.read(f"SELECT {STEP} FROM effects WHERE run = ? ORDER BY seq DESC LIMIT 1", (run,))
        return tuple(rows[0]) if rows else None


def _more(task: Task) -> dict[str, Any]:
    check = task.check
    checked = None if check is None else {"why": check.why, "passed": check.passed, "tests": len(check.tests)}
    return {"check": checked, "trouble": task.trouble[:_LONGEST], "after": list(task.after)}


def _message(message: Message) -> dict[str, Any]:
    said = happened(message) if message.kind == "fact" else message.text
    told: dict[str, Any] = {
        "id": message.id,
        "channel": message.channel.rpartition("/")[2],
        "at": message.at,
        "author": message.author,
        "to": message.to,
        "kind": message.kind,
        "text": said[:_LONGEST],
        "task": message.task,
    }
    if message.kind == "question" or (message.kind != "fact" and message.author not in _PLAIN):
        told["blocks"] = markdown_json(told["text"])
    more = len(said) - _LONGEST
    return {**told, "replyTo": message.reply_to, **({"more": more} if more > 0 else {})}
