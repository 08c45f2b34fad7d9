"""How a team stands, as it follows from its messages: the rules by which tasks go from hand to hand are here.

Models fill the boxes: a specification, tasks, a change, a decision. Which box comes next is decided by nobody but
these rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from antiphon.agents.channels import Message
from antiphon.agents.facts import (
    Assigned,
    Begun,
    Checked,
    Conflicted,
    Ended,
    Fact,
    Raised,
    Stopped,
    TaskMerged,
    TurnBegun,
    TurnEnded,
    TurnPaused,
    fact_from_json,
)
from antiphon.agents.settings import TeamSettings, settings_from_json
from antiphon.agents.work import Job, Task, Turn
from antiphon.conversation.attribution import HUMAN

PM, ARCHITECT = "@pm", "@architect"
#: Who speaks for the team itself.
MACHINE = "@team"
CHANNELS = ("product", "development")
#: How often an agent is reminded to hand in what it was asked for.
_NUDGES = 2
#: How often it may ask the human the same.
_ASKS = 4
#: Reasons for a turn in which nothing is changed yet: a plan is asked for, or goes on after an answer.
PLANNING = ("plan", "planning")
#: Answers that stand for a decision.
ACCEPTS = frozenset(("y", "yes", "ok", "okay", "accept", "accepted", "approve", "approved", "go", "lgtm"))
DROPS = frozenset(("drop", "reject", "cancel", "skip"))


def word(text: str) -> str:
    """An answer as one of the words that stand for a decision, if it is one."""
    return text.strip().rstrip(".!").strip().casefold()


@dataclass(slots=True)
class TeamState:
    """All that is known of a team. `apply` takes its messages, in order."""

    begun: Begun | None = None
    settings: TeamSettings = field(default_factory=TeamSettings)
    spec: Mapping[str, Any] | None = None
    is_accepted: bool = False
    tasks: dict[str, Task] = field(default_factory=dict[str, Task])
    jobs: dict[str, Job] = field(default_factory=dict[str, Job])
    turns: dict[int, Turn] = field(default_factory=dict[int, Turn])
    #: The last turn of each thread, and the thread in which an agent was last.
    threads: dict[str, int] = field(default_factory=dict[str, int])
    last_thread: dict[str, str] = field(default_factory=dict[str, str])
    turn_count: int = 0
    #: Who took which turn, for what.
    history: dict[int, TurnBegun] = field(default_factory=dict[int, TurnBegun])
    questions: dict[int, Message] = field(default_factory=dict[int, Message])
    #: What the human is yet to be asked, by what it is about.
    troubles: dict[str, str] = field(default_factory=dict[str, str])
    ended: Ended | None = None
    #: How many turns an agent took for nothing but what other agents say, since somebody else had news for it.
    chatter: dict[str, int] = field(default_factory=dict[str, int])
    #: Where the team's branch is, and what its tests are: the runner and how many it ran, if that is known.
    head: str = ""
    runner: str = ""
    count: int | None = None
    #: The last message, and the last that says to stop.
    last: int = 0
    stopped_at: int = 0

    @property
    def phase(self) -> str:
        """In a word."""
        if self.ended is not None:
            return "done"
        if self.tasks:
            return "work"
        if self.spec is None:
            return "interview"
        return "plan" if self.is_accepted else "spec"

    @property
    def coders(self) -> tuple[str, ...]:
        """The names of those who write."""
        return ("@coder",) if self.settings.solo else tuple(f"@coder-{n + 1}" for n in range(self.settings.coders))

    @property
    def members(self) -> tuple[str, ...]:
        """Everybody."""
        return (HUMAN, *(() if self.settings.solo else (PM, ARCHITECT)), *self.coders)

    def apply(self, message: Message) -> None:
        """Take the next message."""
        self.last = message.id
        if message.author == HUMAN:
            self.chatter.pop(message.to, None)
        match message.kind:
            case "fact":
                self._take(fact_from_json(message.data))
            case "question":
                # Replaced, so that whoever goes through them may answer meanwhile.
                self.questions = {**self.questions, message.id: message}
                self.troubles.pop(str(message.data.get("about", "")), None)
            case "answer" if message.reply_to in self.questions:
                asked = self.questions[message.reply_to]
                self.questions = {number: each for number, each in self.questions.items() if each is not asked}
                self._answered(asked, message)
            case _:
                pass

    def _take(self, fact: Fact) -> None:
        match fact:
            case Begun():
                self._begin(fact)
            case TurnBegun():
                self.turns[fact.number] = Turn(fact)
                self.history[fact.number] = fact
                self.turn_count = max(self.turn_count, fact.number)
                if (job := self._job_of(fact)) is not None:
                    job.why = job.then = ""
                self._take_count(fact)
                self.chatter[fact.agent] = 0 if fact.text else self.chatter.get(fact.agent, 0) + 1
            case TurnEnded():
                self._turned(self.turns.pop(fact.number).begun, fact)
            case TurnPaused(over="questions") if fact.number not in self._asking():
                # All was answered before it was written down that it waits.
                pass
            case TurnPaused():
                self.turns[fact.number].paused = fact
            case Assigned():
                self._assigned(self.tasks[fact.task], fact.coder)
            case Checked():
                self._checked(self.tasks[fact.task], fact)
            case Conflicted():
                task = self.tasks[fact.task]
                task.conflicts += 1
                task.clashing, task.files = fact.files, fact.commit
                self._back(task, "conflict", task.conflicts > self.settings.rounds, "it conflicts again and again")
            case TaskMerged():
                task = self.tasks[fact.task]
                task.state, task.commit, task.since = "merged", fact.commit, fact.since
                self.head = fact.commit
                if task.check is not None:
                    self._take_count(task.check)
            case Raised():
                changed = self.settings.with_cost(fact.cost)
                self.settings = replace(self.settings, requests=fact.requests) if fact.requests else changed
                self._unpause("cap")
            case Stopped():
                self.stopped_at = self.last
            case Ended():
                self.ended = fact

    def _take_count(self, fact: TurnBegun | Checked) -> None:
        if fact.count is not None:
            self.runner, self.count = fact.runner, fact.count

    def _begin(self, fact: Begun) -> None:
        self.begun, self.settings, self.head = fact, settings_from_json(fact.settings), fact.base
        if self.settings.solo:
            title = fact.request.strip().splitlines()[0][:80]
            self.tasks["1"] = Task("1", title, fact.request)
            self.is_accepted = True
        else:
            self.jobs["interview"] = Job("interview", PM, "pm", "submit_spec")

    # Turns

    def _job_of(self, turn: TurnBegun) -> Job | None:
        found = (job for job in self.jobs.values() if (job.thread, job.task) == (turn.thread, turn.task))
        return next(found, None) if turn.why != "talk" else None

    def _turned(self, turn: TurnBegun, fact: TurnEnded) -> None:
        self.threads[turn.thread] = turn.number
        self.last_thread[turn.agent] = turn.thread
        if turn.task and fact.commit:
            self.tasks[turn.task].files = fact.commit
        job = self._job_of(turn)
        if job is None:
            return
        match fact.outcome:
            case "submitted" if fact.value["submitted"] == job.wants:
                del self.jobs[job.name]
                self._submitted(job, fact.value["given"])
            case "asked" if self._asks_again(job, fact.value):
                self._trouble(job, f"it asks the same for the {_ASKS}th time")
            case "asked":
                job.nudges = 0
                job.then = "planning" if turn.why in PLANNING else ""
            case "stuck":
                self._trouble(job, str(fact.value))
            case _:
                self._said(job, turn, str(fact.value))

    def _asks_again(self, job: Job, value: Any) -> bool:
        question = value["given"]["question"] if value else ""
        job.asked[question] += bool(question)
        return job.asked[question] >= _ASKS

    def _said(self, job: Job, turn: TurnBegun, text: str) -> None:
        if job.name == "interview":
            return
        if turn.why in PLANNING:
            self.tasks[job.task].plan = text
            job.why = "work"
            return
        job.nudges += 1
        if job.nudges > _NUDGES:
            self._trouble(job, f"{job.agent} does not hand in anything with `{job.wants}`; it last said: {text}")
        else:
            job.why = "nudge"

    def _submitted(self, job: Job, given: Mapping[str, Any]) -> None:
        match job.wants:
            case "submit_spec":
                self.spec = given
                self.troubles["spec"] = f"Is this what you want?\n\n{given['title']}\n\n{given['text']}"
            case "create_tasks":
                for number, each in enumerate(given["tasks"], 1):
                    id = str(number)
                    self.tasks[id] = Task(
                        id, each["title"], each["spec"], tuple(each["checks"]), tuple(map(str, each["after"]))
                    )
            case "review":
                self._reviewed(self.tasks[job.task], given)
            case _:
                task = self.tasks[job.task]
                task.state, task.summary = "testing", given["summary"]

    def _reviewed(self, task: Task, given: Mapping[str, Any]) -> None:
        task.notes = given["notes"]
        if given["decision"] == "approve":
            task.state = "merging"
            return
        task.rounds += 1
        why = f"the reviewer has wanted changes {task.rounds} times: {task.notes}"
        self._back(task, "changes", task.rounds > self.settings.rounds, why)

    # Tasks

    def _assigned(self, task: Task, coder: str) -> None:
        task.coder, task.state = coder, "coding"
        self._give(task, "solo" if self.settings.solo else "plan")

    def _give(self, task: Task, why: str) -> None:
        """Let the coder of a task go on with it."""
        task.state, name = "coding", f"code:{task.id}"
        thread = f"{task.coder.removeprefix('@')}/{task.id}"
        self.jobs[name] = Job(name, task.coder, thread, "submit_work", why, task.id)

    def _back(self, task: Task, why: str, is_too_often: bool, trouble: str) -> None:
        self._give(task, why)
        if is_too_often:
            self._trouble(self.jobs[f"code:{task.id}"], trouble)

    def _checked(self, task: Task, fact: Checked) -> None:
        task.check, task.files = fact, fact.commit
        if not fact.passed:
            task.tries += 1
            why = "unchanged" if fact.why == "unchanged" else "failed"
            self._back(task, why, task.tries > self.settings.tries, f"what it handed in has failed {task.tries} times")
        elif not fact.merging:
            task.state = "merging" if self.settings.solo else "review"
            if not self.settings.solo:
                name, thread = f"review:{task.id}", f"architect/{task.coder.removeprefix('@')}"
                self.jobs[name] = Job(name, ARCHITECT, thread, "review", "review", task.id)

    # People

    def _trouble(self, job: Job, why: str) -> None:
        job.why, job.nudges = "", 0
        if not job.task:
            self.troubles[job.name] = f"{job.agent} gets no further: {why}\nWhat should it do?"
            return
        task = self.tasks[job.task]
        task.state, task.trouble = "human", why
        self.jobs.pop(job.name)
        self.troubles[f"task:{task.id}"] = (
            f"Task {task.id} ({task.title}) gets no further: {why}\n"
            f"`drop` gives it up, `approve` takes it as it is if its tests pass; anything else is told to {task.coder}."
        )

    def _answered(self, question: Message, answer: Message) -> None:
        about, _, which = str(question.data.get("about", "")).partition(":")
        match about:
            case "spec" if word(answer.text) in ACCEPTS:
                self.is_accepted = True
                self.jobs["plan"] = Job("plan", ARCHITECT, "architect", "create_tasks", "tasks")
            case "spec":
                self.spec = None
                self.jobs["interview"] = Job("interview", PM, "pm", "submit_spec")
            case "task":
                self._decided(self.tasks[which], answer)
            case "call":
                turn = self.turns.get(int(question.data["turn"]))
                if turn is not None and turn.begun.number not in self._asking():
                    turn.paused = None
            case _:
                pass

    def _decided(self, task: Task, answer: Message) -> None:
        said, task.trouble = word(answer.text), ""
        if said in DROPS:
            self._reject(task)
        elif said in ACCEPTS and _is_green(task):
            task.state = "merging"
        elif not task.coder:
            task.state, task.after = "planned", ()
        else:
            task.rounds = task.tries = task.conflicts = 0
            # What was said is on its way to the coder, and wakes it.
            self._give(task, "")

    def _reject(self, task: Task) -> None:
        task.state = "rejected"
        for later in self.tasks.values():
            if later.state == "planned" and task.id in later.after:
                later.state, later.trouble = "human", f"it comes after task {task.id}, which was given up"
                self.troubles[f"task:{later.id}"] = (
                    f"Task {later.id} ({later.title}): {later.trouble}.\n"
                    "`drop` gives it up too; anything else begins it all the same."
                )

    def ways(self, about: str) -> list[str]:
        """The words that stand for a decision about something; all else is told to somebody."""
        kind, _, which = about.partition(":")
        if kind == "task":
            return ["approve", "drop"] if _is_green(self.tasks[which]) else ["drop"]
        return ["yes"] if kind == "spec" else []

    def recipient(self, question: Message, text: str) -> str:
        """Who is told an answer: who asked, or whom it concerns; nobody, where it is a decision."""
        about, _, which = str(question.data.get("about", "")).partition(":")
        said = word(text)
        match about:
            case "spec":
                return "" if said in ACCEPTS else PM
            case "task":
                task = self.tasks[which]
                return "" if said in DROPS or (said in ACCEPTS and _is_green(task)) else task.coder
            case "call":
                return ""
            case _:
                return str(question.data.get("to", question.author))

    def lane(self, question: Message, to: str) -> str:
        """The task in which an answer is heard, if whom it is for waits for it there."""
        task = str(question.data.get("about", "")).partition(":")[2] or question.task
        asked_by_team = bool(task) and question.task != task
        waits = any((job.agent, job.task) == (to, task) for job in self.jobs.values())
        return task if asked_by_team or waits else ""

    def _asking(self) -> set[int]:
        """The turns that wait for somebody to answer."""
        return {int(each.data["turn"]) for each in self.questions.values() if "turn" in each.data}

    def _unpause(self, over: str) -> None:
        for turn in self.turns.values():
            if turn.paused is not None and turn.paused.over == over:
                turn.paused = None


def _is_green(task: Task) -> bool:
    return task.check is not None and task.check.passed
