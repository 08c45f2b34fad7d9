"""A team that works on a repository; any process can suspend or resume it at any moment."""

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

from antiphon.conversation import Conversation
from antiphon.conversation.attribution import HUMAN_AUTHOR
from antiphon.durable import Journal, RunEntry
from antiphon.effects import HumanAnswer
from antiphon.errors import NotReadyError, NotSavedError, OptionError
from antiphon.session.settings import ModelProtocol
from antiphon.session.sync_bridge import check_no_running_loop, get_event_loop_thread
from antiphon.storage.conversation_entry import count_ticks, format_time_id
from antiphon.storage.posts import list_posts
from antiphon.storage.steps import list_child_usage
from antiphon.team import fork as forking
from antiphon.team import step_handlers
from antiphon.team.budget import AgentCost, TeamBudget, sum_agent_costs
from antiphon.team.channels import Channel, ChannelMessage, message_from_row, reject_secrets
from antiphon.team.events import LimitsRaised, StopRequested, TeamEvent, TeamStarted, event_to_json
from antiphon.team.repository import Repository, open_workspace
from antiphon.team.roles import ROLES, SOLO_ROLE, Role
from antiphon.team.scheduler import TeamStep, next_steps, next_wake_time
from antiphon.team.settings import TeamSettings, settings_from_json, settings_to_json
from antiphon.team.state import ACCEPT_WORDS, ARCHITECT, CHANNEL_NAMES, PM, TEAM_AUTHOR, TeamState, normalize_decision
from antiphon.team.step_handlers import TaskFiles
from antiphon.team.turns import AgentEventCallback, turn_run_id

#: How often a running team checks for messages of other processes, in seconds.
_POLL_SECONDS = 0.3
#: The longest pause of a turn to wait for; for a longer one the team is suspended.
_MAX_PAUSE_SECONDS = 60.0
_ADDRESSED_LINE = re.compile(r"@([A-Za-z0-9_.-]+)[:,]?\s+(.*)", re.DOTALL)
_ANSWER_LINE = re.compile(r"#(\d+)\s+(.*)", re.DOTALL)


class Team:
    """A team, by its id. `create` makes one, `open` loads one, and `run` lets it work until it needs the
    human.

    All state is in the journal: another process may answer, post and inspect meanwhile, and resume the team
    when this one is gone. `models` maps role names to models, for roles without one in the settings.
    """

    def __init__(
        self,
        id: str,
        journal: Journal | None = None,
        *,
        roles: Sequence[Role] = (),
        models: Mapping[str, str | ModelProtocol] | None = None,
    ) -> None:
        self.id = id
        self.journal = journal or Journal()
        if self.journal.is_shared:
            raise OptionError("a team works on one machine: its journal is a file, not a shared database")
        self.database = self.journal.file
        self.state = TeamState()
        self.budget = TeamBudget(id, lambda: self.state.settings)
        self.watch: AgentEventCallback | None = None
        self._roles = {role.name: role for role in roles}
        self._models = dict(models or {})
        self._fence: tuple[str, int] | None = None
        self._lock = threading.Lock()
        self._task_files: TaskFiles | None = None

    # Creation

    @classmethod
    def begin(
        cls,
        request: str,
        repository: str | os.PathLike[str] = ".",
        settings: TeamSettings | None = None,
        *,
        journal: Journal | None = None,
        roles: Sequence[Role] = (),
        models: Mapping[str, str | ModelProtocol] | None = None,
    ) -> Team:
        """Create a team for a request in a repository. It does nothing before `run`."""
        if not request.strip():
            raise OptionError("say what the team should do")
        reject_secrets(request)
        found = Repository.find(repository)
        team = cls(_make_unused_id(journal := journal or Journal()), journal, roles=roles, models=models)
        given = {"repository": found.top, "request": request, "settings": settings_to_json(settings or TeamSettings())}
        journal.begin("team", request.strip().splitlines()[0], given, id=team.id).finish("ready")
        try:
            team._finish_creation(found)
        except Exception:
            journal.remove(team.id)
            raise
        return team

    def _finish_creation(self, found: Repository) -> None:
        """Create what a new team needs; safe to repeat after an interruption."""
        given = self.journal.find(self.id).begun_as
        work = open_workspace(found, self.id, self.place)
        settings = step_handlers.with_test_command(settings_from_json(given["settings"]), work)
        product, request = self.channel("product"), str(given["request"])
        for number, each in enumerate(found.notes):
            product.post(each, TEAM_AUTHOR, to=HUMAN_AUTHOR, key=f"{self.id}:note:{number}")
        if not settings.solo:
            product.post(request, HUMAN_AUTHOR, to=PM, key=f"{self.id}:request")
        base = work.head()
        fact = TeamStarted(request, found.top, base, settings_to_json(settings))
        self.note(fact, f"begun at {base[:12]}", key=f"{self.id}:begun")
        self.refresh()

    @classmethod
    def open(cls, which: str = "last", journal: Journal | None = None, **given: Any) -> Team:
        """Return the team with this id or unique id prefix; `last` is the newest."""
        journal = journal or Journal()
        teams = [entry for entry in journal.list_runs() if entry.kind == "team"]
        found = teams[:1] if which == "last" else [each for each in teams if each.id.startswith(which)]
        if len(found) != 1:
            many = "several teams begin" if found else "no team begins"
            raise NotSavedError("there is no team yet" if which == "last" else f"{many} with {which!r}")
        team = cls(found[0].id, journal, **given)
        if team.refresh().begun is None:
            team._finish_creation(Repository.find(found[0].begun_as["repository"]))
        return team

    @staticmethod
    def all(journal: Journal | None = None) -> list[RunEntry]:
        """Return all teams, newest first."""
        return [entry for entry in (journal or Journal()).list_runs() if entry.kind == "team"]

    @property
    def place(self) -> Path:
        """The directory with the files of all teams."""
        return self.database.path.parent / "teams"

    def channel(self, name: str) -> Channel:
        """Return a channel of the team: `product` or `development`."""
        if name not in (*CHANNEL_NAMES, "log"):
            raise NotReadyError(f"there is no channel {name!r}; there are: {', '.join(CHANNEL_NAMES)}")
        return Channel(f"{self.id}/{name}", self.database)

    # Queries

    def messages(self, after: int = 0) -> list[ChannelMessage]:
        """Return all messages and events, oldest first."""
        names = [f"{self.id}/{each}" for each in (*CHANNEL_NAMES, "log")]
        return [message_from_row(row) for row in list_posts(self.database, names, after)]

    def refresh(self) -> TeamState:
        """Return the current state, including changes made by other processes."""
        with self._lock:
            for message in self.messages(self.state.last):
                self.state.apply(message)
        return self.state

    def is_running(self) -> bool:
        """Return whether a process is running the team."""
        from antiphon.durable.run_owner import may_owner_be_alive

        entry = self.journal.find(self.id)
        return bool(entry.owner) and may_owner_be_alive(entry.owner)

    def costs(self) -> list[AgentCost]:
        """Return the usage of each agent."""
        return sum_agent_costs(list_child_usage(self.database, self.id), self.state.history)

    def conversations(self, agent: str) -> dict[str, Conversation]:
        """Return an agent's conversations by thread, up to its last finished turns."""
        name = agent if agent.startswith("@") else f"@{agent}"
        threads = {turn.thread: number for number, turn in self.state.history.items() if turn.agent == name}
        ended = {thread: self.state.threads.get(thread) for thread in threads}
        return {
            thread: self.journal.load_request(turn_run_id(self.id, number))[0]
            for thread, number in ended.items()
            if number
        }

    def task_files(self) -> TaskFiles:
        """Return the worktrees of the tasks."""
        if self._task_files is None:
            assert self.state.begun is not None
            self._task_files = TaskFiles(
                open_workspace(Repository.find(self.state.begun.repository), self.id, self.place)
            )
        return self._task_files

    # Messages

    def say(self, text: str, to: str = "", channel: str = "product") -> ChannelMessage:
        """Post a message as the human; without `to`, it goes to the main reader of the channel."""
        self.refresh()
        default = PM if channel == "product" else ARCHITECT
        target = to if to.startswith("@") or not to else f"@{to}"
        target = target or (self.state.coders[0] if self.state.settings.solo else default)
        if target not in self.state.members:
            raise NotReadyError(f"there is nobody called {target!r}; there are: {', '.join(self.state.members)}")
        if self.state.ended is not None:
            raise NotReadyError(f"team {self.id} is done, and nobody of it reads this; begin another, or fork it")
        return self._reaching(target, channel).post(text, HUMAN_AUTHOR, to=target)

    def say_line(self, line: str, channel: str | None = None) -> ChannelMessage:
        """Post a line as the human: `@coder-1 text` is for coder-1, and `#12 text` answers question 12."""
        if found := _ANSWER_LINE.fullmatch(line):
            return self.answer(int(found[1]), found[2])
        name, said = found.groups() if (found := _ADDRESSED_LINE.fullmatch(line)) else ("", line)
        return self.say(said, name, channel or "product")

    def _reaching(self, to: str, channel: str) -> Channel:
        """Return the channel if the recipient reads it, or else one that the recipient does read."""
        heard = self.role(to).channels if to in self.state.members and to != HUMAN_AUTHOR else CHANNEL_NAMES
        return self.channel(channel if channel in heard else heard[0])

    def answer(self, question: int, text: str) -> ChannelMessage:
        """Answer a question of the team; raise `NotReadyError` if it already has another answer."""
        state = self.refresh()
        asked = state.questions.get(question)
        if asked is None:
            raise NotReadyError(self._unasked(question))
        reject_secrets(text)
        if "path" in asked.data:
            self._settle(asked, text)
        to = state.recipient(asked, text)
        said = self._reaching(to, asked.channel.rpartition("/")[2]).post(
            text,
            HUMAN_AUTHOR,
            to=to or TEAM_AUTHOR,
            kind="answer",
            reply_to=question,
            task=state.answer_task(asked, to),
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

    def _settle(self, asked: ChannelMessage, text: str) -> None:
        run, path = str(asked.data["run"]), str(asked.data["path"])
        if not any(each.path == path for each in self.journal.list_questions(run)):
            # Another process answered it and stopped before it posted the answer here.
            return
        is_approval = asked.data.get("is") == "approval"
        allowed = normalize_decision(text) in ACCEPT_WORDS
        said = HumanAnswer("" if allowed else text, allowed=allowed) if is_approval else HumanAnswer(text)
        self.journal.answer(run, path, said)

    def stop(self) -> None:
        """Ask the process that runs the team to suspend it."""
        self.note(StopRequested(), "stop", by_human=True)

    def raise_cost(self, cost: float | None) -> None:
        """Set the total cost limit; `None` removes it."""
        told = f"may cost ${cost:g}" if cost is not None else "may cost whatever it takes"
        self.note(LimitsRaised(cost), told, by_human=True)
        self.refresh()

    def raise_requests(self, requests: int) -> None:
        """Set the total limit of model requests."""
        self.note(LimitsRaised(requests=requests), f"may make {requests:,} requests", by_human=True)
        self.refresh()

    def note(
        self, fact: TeamEvent, text: str, task: str = "", key: str | None = None, *, by_human: bool = False
    ) -> ChannelMessage:
        """Log an event; raise `LeaseLost` if another process has taken over the team."""
        fence = None if by_human else self._fence
        return self.channel("log").post(
            text, TEAM_AUTHOR, kind="fact", data=event_to_json(fact), task=task, key=key, fence=fence
        )

    # Running

    def work(self, watch: AgentEventCallback | None = None) -> TeamState:
        """Run the team until it is done or needs the human, and return its state."""
        check_no_running_loop("work")
        return get_event_loop_thread().run(self.arun(watch))

    async def arun(self, watch: AgentEventCallback | None = None) -> TeamState:
        """Run the team, asynchronously; see `run`."""
        self.watch = watch
        running = self.journal.resume(self.id)
        self._fence, state = running.fence, "interrupted"
        try:
            since = self.refresh().last
            await asyncio.to_thread(self._prepare)
            await self._go(since)
            if self.state.ended:
                # The last turn may have created worktrees again.
                await asyncio.to_thread(self.task_files().sweep, self.state)
            state = "done" if self.state.ended else "waiting"
            return self.state
        finally:
            running.finish(state)

    def _prepare(self) -> None:
        used = list_child_usage(self.database, self.id)
        self.budget = TeamBudget(self.id, lambda: self.state.settings, used, self.state.history)
        self.task_files().sweep(self.state)

    async def _go(self, since: int) -> None:
        tasks: dict[TeamStep, asyncio.Task[None]] = {}
        try:
            while True:
                state = self.refresh()
                if state.stopped_at > since:
                    return
                for step in await self._ready_steps():
                    if step not in tasks:
                        tasks[step] = asyncio.create_task(step_handlers.perform_step(self, step))
                if not tasks and not await self._wait_for_paused_turn():
                    return
                if tasks:
                    await asyncio.wait(tasks.values(), timeout=_POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                for step in [step for step, task in tasks.items() if task.done()]:
                    tasks.pop(step).result()
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)

    async def _ready_steps(self) -> list[TeamStep]:
        """Return the steps that take time; steps that only log an event are performed at once."""
        while True:
            state = self.refresh()
            steps = next_steps(state, self._unread_messages(), time.time())
            quick = next((step for step in steps if step_handlers.is_log_only(step)), None)
            if quick is None:
                return steps
            await step_handlers.perform_step(self, quick)

    async def _wait_for_paused_turn(self) -> bool:
        """Wait for a paused turn; return False if none resumes soon."""
        until = next_wake_time(self.state)
        if until is None or until - time.time() > _MAX_PAUSE_SECONDS:
            return False
        await asyncio.sleep(min(_POLL_SECONDS, max(0.0, until - time.time())))
        return True

    def _unread_messages(self) -> dict[str, list[ChannelMessage]]:
        agents = [name for name in self.state.members if name != HUMAN_AUTHOR]
        found: dict[str, list[ChannelMessage]] = {}
        for agent in agents:
            channels = [self.channel(each) for each in self.role(agent).channels]
            lanes = ["", *(job.task for job in self.state.jobs.values() if job.agent == agent and job.task)]
            new = [each for channel in channels for lane in lanes for each in channel.unread(agent, lane)]
            found[agent] = [each for each in new if each.to == agent and each.kind != "notice"]
        return found

    def role(self, agent: str) -> Role:
        """Return the role of an agent, with the team's settings applied."""
        name = agent.removeprefix("@").partition("-")[0]
        settings = self.state.settings
        role = self._roles.get(name) or (SOLO_ROLE if settings.solo else ROLES[name])
        own = settings.roles.get(name)
        model = self._models.get(name) or role.model or (own.model if own else "") or settings.model or None
        instructions = "\n".join(filter(None, [role.instructions, own.instructions if own else ""]))
        return replace(role, model=model, instructions=instructions)

    # Forking

    def fork(self, at: int) -> Team:
        """Create a team with the history of this one up to a message; unfinished turns start again."""
        if not any(each.id <= at for each in self.messages()):
            raise NotReadyError(f"team {self.id} has no message {at} or one before it")
        other = Team(_make_unused_id(self.journal), self.journal, roles=list(self._roles.values()), models=self._models)
        forking.copy_history(self, other, at)
        other.refresh()
        return other


def _make_unused_id(journal: Journal) -> str:
    ticks = count_ticks()
    while journal.has_run(format_time_id(ticks)):
        ticks += 1
    return format_time_id(ticks)
