"""A team at work in a repository: whoever runs it can leave at any moment, and anybody can go on."""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from antiphon.agents import forking, hands
from antiphon.agents.channels import Channel, Message, check_secrets, message_of
from antiphon.agents.facts import Begun, Fact, Raised, Stopped, fact_json
from antiphon.agents.hands import Workshop
from antiphon.agents.repository import Repository, begin
from antiphon.agents.roles import ROLES, SOLO, Role
from antiphon.agents.settings import TeamSettings, settings_from_json, settings_json
from antiphon.agents.spending import AgentCost, Spending, costs_of, used_by
from antiphon.agents.state import ACCEPTS, ARCHITECT, CHANNELS, MACHINE, PM, TeamState, word
from antiphon.agents.steps import Step, next_steps, wakes_at
from antiphon.agents.turns import Watch, run_name
from antiphon.conversation import Conversation
from antiphon.conversation.attribution import HUMAN
from antiphon.effects import Said
from antiphon.errors import NotReadyError, NotSavedError, OptionError
from antiphon.journal import Journal, RunEntry
from antiphon.session.portal import check_no_loop, portal
from antiphon.session.settings import Asks
from antiphon.store.database import Database
from antiphon.store.entry import id_at, now_ticks

#: How often somebody who runs a team looks for what others have written, in seconds.
_LOOKS = 0.3
#: For how long it is waited for a turn that is paused; beyond that the team is left.
_WAITS = 60.0
_TO = re.compile(r"@([A-Za-z0-9_.-]+)[:,]?\s+(.*)", re.DOTALL)
_ANSWER = re.compile(r"#(\d+)\s+(.*)", re.DOTALL)


class Team:
    """A team, by its name. `begin` makes one, `open` finds one again; `work` lets it go on as far as it can.

    Nothing of it is in this object alone: another process may answer, talk and look meanwhile, and go on with it when
    this one is gone. `models` are the models of roles, for those that are not named in the settings.
    """

    def __init__(
        self,
        id: str,
        journal: Journal | None = None,
        *,
        roles: Sequence[Role] = (),
        models: Mapping[str, str | Asks] | None = None,
    ) -> None:
        self.id = id
        self.journal = journal or Journal()
        self.database = _database(self.journal)
        self.state = TeamState()
        self.spending = Spending()
        self.watch: Watch | None = None
        self._roles = {role.name: role for role in roles}
        self._models = dict(models or {})
        self._fence: tuple[str, int] | None = None
        self._lock = threading.Lock()
        self._workshop: Workshop | None = None

    # Making and finding

    @classmethod
    def begin(
        cls,
        request: str,
        repository: str | os.PathLike[str] = ".",
        settings: TeamSettings | None = None,
        *,
        journal: Journal | None = None,
        roles: Sequence[Role] = (),
        models: Mapping[str, str | Asks] | None = None,
    ) -> Team:
        """A new team for what somebody wants done in a repository. Nothing is done before `work`."""
        if not request.strip():
            raise OptionError("say what the team should do")
        check_secrets(request)
        found = Repository.find(repository)
        team = cls(_free(journal := journal or Journal()), journal, roles=roles, models=models)
        given = {"repository": found.top, "request": request, "settings": settings_json(settings or TeamSettings())}
        journal.begin("team", request.strip().splitlines()[0], given, id=team.id).leave("ready")
        try:
            team._complete(found)
        except Exception:
            journal.forget(team.id)
            raise
        return team

    def _complete(self, found: Repository) -> None:
        """Make what a new team needs; somebody may have been broken off in the middle of that."""
        given = self.journal.find(self.id).begun_as
        work = begin(found, self.id, self.place)
        settings = hands.with_command(settings_from_json(given["settings"]), work)
        product, request = self.channel("product"), str(given["request"])
        for number, each in enumerate(found.notes):
            product.post(each, MACHINE, to=HUMAN, key=f"{self.id}:note:{number}")
        if not settings.solo:
            product.post(request, HUMAN, to=PM, key=f"{self.id}:request")
        base = work.head()
        fact = Begun(request, found.top, base, settings_json(settings))
        self.note(fact, f"begun at {base[:12]}", key=f"{self.id}:begun")
        self.refresh()

    @classmethod
    def open(cls, which: str = "last", journal: Journal | None = None, **given: Any) -> Team:
        """The team with this name, or whose name begins so; `last` is the newest."""
        journal = journal or Journal()
        teams = [entry for entry in journal.runs() if entry.kind == "team"]
        found = teams[:1] if which == "last" else [each for each in teams if each.id.startswith(which)]
        if len(found) != 1:
            many = "several teams begin" if found else "no team begins"
            raise NotSavedError("there is no team yet" if which == "last" else f"{many} with {which!r}")
        team = cls(found[0].id, journal, **given)
        if team.refresh().begun is None:
            team._complete(Repository.find(found[0].begun_as["repository"]))
        return team

    @staticmethod
    def all(journal: Journal | None = None) -> list[RunEntry]:
        """All teams, the newest first."""
        return [entry for entry in (journal or Journal()).runs() if entry.kind == "team"]

    @property
    def place(self) -> Path:
        """Where the files of teams are."""
        return self.database.path.parent / "teams"

    def channel(self, name: str) -> Channel:
        """A channel of the team: `product` or `development`."""
        if name not in (*CHANNELS, "log"):
            raise NotReadyError(f"there is no channel {name!r}; there are: {', '.join(CHANNELS)}")
        return Channel(f"{self.id}/{name}", self.database)

    # Looking

    def messages(self, after: int = 0) -> list[Message]:
        """All that was said and has happened, the oldest first."""
        names = [f"{self.id}/{each}" for each in (*CHANNELS, "log")]
        rows = self.database.read(
            "SELECT id, channel, at, author, recipient, kind, text, data, reply_to, task FROM messages"
            " WHERE channel IN (?, ?, ?) AND id > ? ORDER BY id",
            (*names, after),
        )
        return [message_of(row) for row in rows]

    def refresh(self) -> TeamState:
        """How it stands, with what others have done meanwhile."""
        with self._lock:
            for message in self.messages(self.state.last):
                self.state.apply(message)
        return self.state

    def is_running(self) -> bool:
        """Whether somebody runs it just now."""
        from antiphon.journal.owner import is_there

        entry = self.journal.find(self.id)
        return bool(entry.owner) and is_there(entry.owner)

    def costs(self) -> list[AgentCost]:
        """What each agent has used."""
        return costs_of(used_by(self.database, self.id), self.state.history)

    def conversations(self, agent: str) -> dict[str, Conversation]:
        """What an agent was told and said, by thread, up to its last finished turns."""
        name = agent if agent.startswith("@") else f"@{agent}"
        threads = {turn.thread: number for number, turn in self.state.history.items() if turn.agent == name}
        ended = {thread: self.state.threads.get(thread) for thread in threads}
        return {thread: self.journal.asked(run_name(self.id, number))[0] for thread, number in ended.items() if number}

    def workshop(self) -> Workshop:
        """The repository and the files of the tasks."""
        if self._workshop is None:
            assert self.state.begun is not None
            self._workshop = Workshop(begin(Repository.find(self.state.begun.repository), self.id, self.place))
        return self._workshop

    # Talking

    def say(self, text: str, to: str = "", channel: str = "product") -> Message:
        """Say something as the human; to whom, if not to whom the channel is mostly for."""
        self.refresh()
        default = PM if channel == "product" else ARCHITECT
        target = to if to.startswith("@") or not to else f"@{to}"
        target = target or (self.state.coders[0] if self.state.settings.solo else default)
        if target not in self.state.members:
            raise NotReadyError(f"there is nobody called {target!r}; there are: {', '.join(self.state.members)}")
        if self.state.ended is not None:
            raise NotReadyError(f"team {self.id} is done, and nobody of it reads this; begin another, or fork it")
        return self._reaching(target, channel).post(text, HUMAN, to=target)

    def say_line(self, line: str, channel: str | None = None) -> Message:
        """Say a line as the human: `@coder-1 text` is for coder-1, and `#12 text` answers question 12."""
        if found := _ANSWER.fullmatch(line):
            return self.answer(int(found[1]), found[2])
        name, said = found.groups() if (found := _TO.fullmatch(line)) else ("", line)
        return self.say(said, name, channel or "product")

    def _reaching(self, to: str, channel: str) -> Channel:
        """The channel, if somebody hears it, else one that he hears."""
        heard = self.role(to).channels if to in self.state.members and to != HUMAN else CHANNELS
        return self.channel(channel if channel in heard else heard[0])

    def answer(self, question: int, text: str) -> Message:
        """Answer a question of the team's, once."""
        state = self.refresh()
        asked = state.questions.get(question)
        if asked is None:
            raise NotReadyError(self._unasked(question))
        check_secrets(text)
        if "path" in asked.data:
            self._settle(asked, text)
        to = state.recipient(asked, text)
        said = self._reaching(to, asked.channel.rpartition("/")[2]).post(
            text,
            HUMAN,
            to=to or MACHINE,
            kind="answer",
            reply_to=question,
            task=state.lane(asked, to),
            data={"asked": asked.text},
            key=f"{self.id}:answer:{question}",
        )
        if said.text != text:
            raise NotReadyError(f"question {question} has its answer already: {said.text}")
        self.refresh()
        return said

    def _unasked(self, question: int) -> str:
        known = [each for each in self.messages() if each.kind == "answer" and each.reply_to == question]
        if known:
            return f"question {question} has its answer already: {known[0].text}"
        open_now = ", ".join(f"{each}" for each in self.state.questions) or "none"
        return f"question {question} is not open; open: {open_now}"

    def _settle(self, asked: Message, text: str) -> None:
        run, path = str(asked.data["run"]), str(asked.data["path"])
        if not any(each.path == path for each in self.journal.questions(run)):
            # It was answered by somebody who did not come to saying so here.
            return
        is_approval = asked.data.get("is") == "approval"
        allowed = word(text) in ACCEPTS
        said = Said("" if allowed else text, allowed=allowed) if is_approval else Said(text)
        self.journal.answer(run, path, said)

    def stop(self) -> None:
        """Have whoever runs the team leave it as it is."""
        self.note(Stopped(), "stop", by_human=True)

    def raise_cost(self, cost: float | None) -> None:
        """Let the team spend so much in all."""
        told = f"may cost ${cost:g}" if cost is not None else "may cost whatever it takes"
        self.note(Raised(cost), told, by_human=True)
        self.refresh()

    def raise_requests(self, requests: int) -> None:
        """Let the team ask models so often in all."""
        self.note(Raised(requests=requests), f"may make {requests:,} requests", by_human=True)
        self.refresh()

    def note(self, fact: Fact, text: str, task: str = "", key: str | None = None, *, by_human: bool = False) -> Message:
        """Write down what has happened; whoever runs it can do so only until somebody else does."""
        fence = None if by_human else self._fence
        return self.channel("log").post(
            text, MACHINE, kind="fact", data=fact_json(fact), task=task, key=key, fence=fence
        )

    # Working

    def work(self, watch: Watch | None = None) -> TeamState:
        """Go on as far as it goes: to the end, or until the human is needed. How it stands then."""
        check_no_loop("work")
        return portal().run(self.awork(watch))

    async def awork(self, watch: Watch | None = None) -> TeamState:
        """`work`, asynchronously."""
        self.watch = watch
        running = self.journal.go_on(self.id)
        self._fence, state = running.fence, "interrupted"
        try:
            since = self.refresh().last
            await asyncio.to_thread(self._prepare)
            await self._go(since)
            if self.state.ended:
                # A turn that was just taken may have needed files again.
                await asyncio.to_thread(self.workshop().sweep, self.state)
            state = "done" if self.state.ended else "waiting"
            return self.state
        finally:
            running.leave(state)

    def _prepare(self) -> None:
        self.spending = Spending(used_by(self.database, self.id), self.state.history)
        self.workshop().sweep(self.state)

    async def _go(self, since: int) -> None:
        tasks: dict[Step, asyncio.Task[None]] = {}
        try:
            while True:
                state = self.refresh()
                if state.stopped_at > since:
                    return
                for step in await self._ready():
                    if step not in tasks:
                        tasks[step] = asyncio.create_task(hands.do(self, step))
                if not tasks and not await self._waited():
                    return
                if tasks:
                    await asyncio.wait(tasks.values(), timeout=_LOOKS, return_when=asyncio.FIRST_COMPLETED)
                for step in [step for step, task in tasks.items() if task.done()]:
                    tasks.pop(step).result()
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)

    async def _ready(self) -> list[Step]:
        """What can be done now and takes its time; what is only to be written down is done at once."""
        while True:
            state = self.refresh()
            steps = next_steps(state, self._unread(), time.time())
            quick = next((step for step in steps if hands.is_quick(step)), None)
            if quick is None:
                return steps
            await hands.do(self, quick)

    async def _waited(self) -> bool:
        """Wait for a turn that is paused, where that is not long."""
        until = wakes_at(self.state)
        if until is None or until - time.time() > _WAITS:
            return False
        await asyncio.sleep(min(_LOOKS, max(0.0, until - time.time())))
        return True

    def _unread(self) -> dict[str, list[Message]]:
        """What is said to each agent, and to nobody else, and not read yet."""
        agents = [name for name in self.state.members if name != HUMAN]
        found: dict[str, list[Message]] = {}
        for agent in agents:
            channels = [self.channel(each) for each in self.role(agent).channels]
            lanes = ["", *(job.task for job in self.state.jobs.values() if job.agent == agent and job.task)]
            new = [each for channel in channels for lane in lanes for each in channel.unread(agent, lane)]
            found[agent] = [each for each in new if each.to == agent and each.kind != "notice"]
        return found

    def role(self, agent: str) -> Role:
        """What an agent is, with what the settings say of it."""
        name = agent.removeprefix("@").partition("-")[0]
        settings = self.state.settings
        role = self._roles.get(name) or (SOLO if settings.solo else ROLES[name])
        own = settings.roles.get(name)
        model = self._models.get(name) or role.model or (own.model if own else "") or settings.model or None
        instructions = "\n".join(filter(None, [role.instructions, own.instructions if own else ""]))
        return replace(role, model=model, instructions=instructions)

    # Another way from here

    def fork(self, at: int) -> Team:
        """A new team that has said and done what this one had up to a message; turns not ended then are begun anew."""
        if not any(each.id <= at for each in self.messages()):
            raise NotReadyError(f"team {self.id} has no message {at} or one before it")
        other = Team(_free(self.journal), self.journal, roles=list(self._roles.values()), models=self._models)
        forking.fork(self, other, at)
        other.refresh()
        return other


def _database(journal: Journal) -> Database:
    if journal.is_shared:
        raise OptionError("a team works on one machine: its journal is a file, not a shared database")
    return journal.file


def _free(journal: Journal) -> str:
    ticks = now_ticks()
    while journal.has(id_at(ticks)):
        ticks += 1
    return id_at(ticks)
