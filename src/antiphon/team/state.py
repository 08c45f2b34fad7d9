"""The state of a team, derived from its messages, and the rules by which tasks move between members.

Models supply content: a specification, tasks, changes, decisions. These rules alone decide what comes
next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from antiphon.conversation.attribution import HUMAN_AUTHOR
from antiphon.team.channels import ChannelMessage
from antiphon.team.events import (
    LimitsRaised,
    StopRequested,
    TaskAssigned,
    TaskChecked,
    TaskConflicted,
    TaskMerged,
    TeamEvent,
    TeamFinished,
    TeamStarted,
    TurnEnded,
    TurnPaused,
    TurnStarted,
    event_from_json,
)
from antiphon.team.settings import TeamSettings, settings_from_json
from antiphon.team.tasks import ActiveTurn, SubmissionJob, Task

PM, ARCHITECT = "@pm", "@architect"
#: The author of the team's own messages.
TEAM_AUTHOR = "@team"
CHANNEL_NAMES = ("product", "development")
#: How often an agent is reminded to submit its work.
_MAX_REMINDERS = 2
#: How often an agent may ask the human the same question.
_MAX_REPEATED_QUESTIONS = 4
#: Reasons of turns that change no files yet: a plan is requested, or continues after an answer.
PLANNING_REASONS = ("plan", "planning")
#: Answers that are decisions.
ACCEPT_WORDS = frozenset(("y", "yes", "ok", "okay", "accept", "accepted", "approve", "approved", "go", "lgtm"))
DROP_WORDS = frozenset(("drop", "reject", "cancel", "skip"))


def normalize_decision(text: str) -> str:
    """Normalize an answer for comparison with the decision words."""
    return text.strip().rstrip(".!").strip().casefold()


@dataclass(slots=True)
class TeamState:
    """The state of a team. `apply` takes its messages, in order."""

    begun: TeamStarted | None = None
    settings: TeamSettings = field(default_factory=TeamSettings)
    spec: Mapping[str, Any] | None = None
    is_spec_accepted: bool = False
    tasks: dict[str, Task] = field(default_factory=dict[str, Task])
    jobs: dict[str, SubmissionJob] = field(default_factory=dict[str, SubmissionJob])
    turns: dict[int, ActiveTurn] = field(default_factory=dict[int, ActiveTurn])
    #: The last turn of each thread, and the thread in which an agent was last.
    threads: dict[str, int] = field(default_factory=dict[str, int])
    last_thread: dict[str, str] = field(default_factory=dict[str, str])
    turn_count: int = 0
    #: The start event of every turn, by its number.
    history: dict[int, TurnStarted] = field(default_factory=dict[int, TurnStarted])
    questions: dict[int, ChannelMessage] = field(default_factory=dict[int, ChannelMessage])
    #: Questions not yet put to the human, by subject.
    unasked_questions: dict[str, str] = field(default_factory=dict[str, str])
    ended: TeamFinished | None = None
    #: How many turns in a row an agent took only because of messages of other agents.
    chatter_turns: dict[str, int] = field(default_factory=dict[str, int])
    #: The tip of the team's branch, and the runner and number of its tests, if known.
    head: str = ""
    runner: str = ""
    count: int | None = None
    #: The ids of the last message and of the last stop request.
    last: int = 0
    stopped_at: int = 0

    @property
    def phase(self) -> str:
        """The current phase: interview, spec, plan, work or done."""
        if self.ended is not None:
            return "done"
        if self.tasks:
            return "work"
        if self.spec is None:
            return "interview"
        return "plan" if self.is_spec_accepted else "spec"

    @property
    def coders(self) -> tuple[str, ...]:
        """The names of the coders."""
        return ("@coder",) if self.settings.solo else tuple(f"@coder-{n + 1}" for n in range(self.settings.coders))

    @property
    def members(self) -> tuple[str, ...]:
        """The names of all members, including the human."""
        return (HUMAN_AUTHOR, *(() if self.settings.solo else (PM, ARCHITECT)), *self.coders)

    def apply(self, message: ChannelMessage) -> None:
        """Apply the next message to the state."""
        self.last = message.id
        if message.author == HUMAN_AUTHOR:
            self.chatter_turns.pop(message.to, None)
        match message.kind:
            case "fact":
                self._take(event_from_json(message.data))
            case "question":
                # A new dict, so that callers may answer while iterating over the old one.
                self.questions = {**self.questions, message.id: message}
                self.unasked_questions.pop(str(message.data.get("about", "")), None)
            case "answer" if message.reply_to in self.questions:
                asked = self.questions[message.reply_to]
                self.questions = {number: each for number, each in self.questions.items() if each is not asked}
                self._answered(asked, message)
            case _:
                pass

    def _take(self, fact: TeamEvent) -> None:
        match fact:
            case TeamStarted():
                self._begin(fact)
            case TurnStarted():
                self.turns[fact.number] = ActiveTurn(fact)
                self.history[fact.number] = fact
                self.turn_count = max(self.turn_count, fact.number)
                if (job := self._find_job(fact)) is not None:
                    job.why = job.then = ""
                self._record_test_count(fact)
                self.chatter_turns[fact.agent] = 0 if fact.text else self.chatter_turns.get(fact.agent, 0) + 1
            case TurnEnded():
                self._apply_turn_end(self.turns.pop(fact.number).begun, fact)
            case TurnPaused(over="questions") if fact.number not in self._asking():
                # Everything was answered before the pause was logged.
                pass
            case TurnPaused():
                self.turns[fact.number].paused = fact
            case TaskAssigned():
                task = self.tasks[fact.task]
                task.coder = fact.coder
                self._start_coding(task, "solo" if self.settings.solo else "plan")
            case TaskChecked():
                self._checked(self.tasks[fact.task], fact)
            case TaskConflicted():
                task = self.tasks[fact.task]
                task.conflicts += 1
                task.conflicting_files, task.files = fact.files, fact.commit
                self._return_to_coder(
                    task, "conflict", task.conflicts > self.settings.rounds, "it conflicts again and again"
                )
            case TaskMerged():
                task = self.tasks[fact.task]
                task.state, task.commit, task.since = "merged", fact.commit, fact.since
                self.head = fact.commit
                if task.check is not None:
                    self._record_test_count(task.check)
            case LimitsRaised():
                changed = self.settings.with_cost(fact.cost)
                self.settings = replace(self.settings, requests=fact.requests) if fact.requests else changed
                for turn in self.turns.values():
                    if turn.paused is not None and turn.paused.over == "cap":
                        turn.paused = None
            case StopRequested():
                self.stopped_at = self.last
            case TeamFinished():
                self.ended = fact

    def _record_test_count(self, fact: TurnStarted | TaskChecked) -> None:
        if fact.count is not None:
            self.runner, self.count = fact.runner, fact.count

    def _begin(self, fact: TeamStarted) -> None:
        self.begun, self.settings, self.head = fact, settings_from_json(fact.settings), fact.base
        if self.settings.solo:
            title = fact.request.strip().splitlines()[0][:80]
            self.tasks["1"] = Task("1", title, fact.request)
            self.is_spec_accepted = True
        else:
            self.jobs["interview"] = SubmissionJob("interview", PM, "pm", "submit_spec")

    # Turns

    def _find_job(self, turn: TurnStarted) -> SubmissionJob | None:
        found = (job for job in self.jobs.values() if (job.thread, job.task) == (turn.thread, turn.task))
        return next(found, None) if turn.why != "talk" else None

    def _apply_turn_end(self, turn: TurnStarted, fact: TurnEnded) -> None:
        self.threads[turn.thread] = turn.number
        self.last_thread[turn.agent] = turn.thread
        if turn.task and fact.commit:
            self.tasks[turn.task].files = fact.commit
        job = self._find_job(turn)
        if job is None:
            return
        match fact.outcome:
            case "submitted" if fact.value["submitted"] == job.wants:
                del self.jobs[job.name]
                self._apply_submission(job, fact.value["given"])
            case "asked" if self._is_question_repeated(job, fact.value):
                self._escalate(job, f"it asks the same for the {_MAX_REPEATED_QUESTIONS}th time")
            case "asked":
                job.reminder_count = 0
                job.then = "planning" if turn.why in PLANNING_REASONS else ""
            case "stuck":
                self._escalate(job, str(fact.value))
            case _:
                self._said(job, turn, str(fact.value))

    def _is_question_repeated(self, job: SubmissionJob, value: Any) -> bool:
        question = value["given"]["question"] if value else ""
        job.asked[question] += bool(question)
        return job.asked[question] >= _MAX_REPEATED_QUESTIONS

    def _said(self, job: SubmissionJob, turn: TurnStarted, text: str) -> None:
        if job.name == "interview":
            return
        if turn.why in PLANNING_REASONS:
            self.tasks[job.task].plan = text
            job.why = "work"
            return
        job.reminder_count += 1
        if job.reminder_count > _MAX_REMINDERS:
            self._escalate(job, f"{job.agent} does not hand in anything with `{job.wants}`; it last said: {text}")
        else:
            job.why = "nudge"

    def _apply_submission(self, job: SubmissionJob, given: Mapping[str, Any]) -> None:
        match job.wants:
            case "submit_spec":
                self.spec = given
                self.unasked_questions["spec"] = f"Is this what you want?\n\n{given['title']}\n\n{given['text']}"
            case "create_tasks":
                for number, each in enumerate(given["tasks"], 1):
                    id = str(number)
                    self.tasks[id] = Task(
                        id, each["title"], each["spec"], tuple(each["checks"]), tuple(map(str, each["after"]))
                    )
            case "review":
                self._apply_review(self.tasks[job.task], given)
            case _:
                task = self.tasks[job.task]
                task.state, task.summary = "testing", given["summary"]

    def _apply_review(self, task: Task, given: Mapping[str, Any]) -> None:
        task.notes = given["notes"]
        if given["decision"] == "approve":
            task.state = "merging"
            return
        task.rounds += 1
        why = f"the reviewer has wanted changes {task.rounds} times: {task.notes}"
        self._return_to_coder(task, "changes", task.rounds > self.settings.rounds, why)

    # Tasks

    def _start_coding(self, task: Task, why: str) -> None:
        """Give a task to its coder, with the reason for the next turn."""
        task.state, name = "coding", f"code:{task.id}"
        thread = f"{task.coder.removeprefix('@')}/{task.id}"
        self.jobs[name] = SubmissionJob(name, task.coder, thread, "submit_work", why, task.id)

    def _return_to_coder(self, task: Task, why: str, is_too_often: bool, trouble: str) -> None:
        self._start_coding(task, why)
        if is_too_often:
            self._escalate(self.jobs[f"code:{task.id}"], trouble)

    def _checked(self, task: Task, fact: TaskChecked) -> None:
        task.check, task.files = fact, fact.commit
        if not fact.passed:
            task.tries += 1
            why = "unchanged" if fact.why == "unchanged" else "failed"
            self._return_to_coder(
                task, why, task.tries > self.settings.tries, f"what it handed in has failed {task.tries} times"
            )
        elif not fact.merging:
            task.state = "merging" if self.settings.solo else "review"
            if not self.settings.solo:
                name, thread = f"review:{task.id}", f"architect/{task.coder.removeprefix('@')}"
                self.jobs[name] = SubmissionJob(name, ARCHITECT, thread, "review", "review", task.id)

    # People

    def _escalate(self, job: SubmissionJob, why: str) -> None:
        job.why, job.reminder_count = "", 0
        if not job.task:
            self.unasked_questions[job.name] = f"{job.agent} gets no further: {why}\nWhat should it do?"
            return
        task = self.tasks[job.task]
        task.state, task.trouble = "human", why
        self.jobs.pop(job.name)
        self.unasked_questions[f"task:{task.id}"] = (
            f"Task {task.id} ({task.title}) gets no further: {why}\n"
            f"`drop` gives it up, `approve` takes it as it is if its tests pass; anything else is told to {task.coder}."
        )

    def _answered(self, question: ChannelMessage, answer: ChannelMessage) -> None:
        about, _, which = str(question.data.get("about", "")).partition(":")
        match about:
            case "spec" if normalize_decision(answer.text) in ACCEPT_WORDS:
                self.is_spec_accepted = True
                self.jobs["plan"] = SubmissionJob("plan", ARCHITECT, "architect", "create_tasks", "tasks")
            case "spec":
                self.spec = None
                self.jobs["interview"] = SubmissionJob("interview", PM, "pm", "submit_spec")
            case "task":
                self._decided(self.tasks[which], answer)
            case "call":
                turn = self.turns.get(int(question.data["turn"]))
                if turn is not None and turn.begun.number not in self._asking():
                    turn.paused = None
            case _:
                pass

    def _decided(self, task: Task, answer: ChannelMessage) -> None:
        said, task.trouble = normalize_decision(answer.text), ""
        if said in DROP_WORDS:
            self._reject_task(task)
        elif said in ACCEPT_WORDS and _has_passed_check(task):
            task.state = "merging"
        elif not task.coder:
            task.state, task.after = "planned", ()
        else:
            task.rounds = task.tries = task.conflicts = 0
            # The answer itself reaches the coder as a message and starts its next turn.
            self._start_coding(task, "")

    def _reject_task(self, task: Task) -> None:
        task.state = "rejected"
        for later in self.tasks.values():
            if later.state == "planned" and task.id in later.after:
                later.state, later.trouble = "human", f"it comes after task {task.id}, which was given up"
                self.unasked_questions[f"task:{later.id}"] = (
                    f"Task {later.id} ({later.title}): {later.trouble}.\n"
                    "`drop` gives it up too; anything else begins it all the same."
                )

    def list_decision_words(self, about: str) -> list[str]:
        """Return the words that decide a question; any other answer is passed on to a member."""
        kind, _, which = about.partition(":")
        if kind == "task":
            return ["approve", "drop"] if _has_passed_check(self.tasks[which]) else ["drop"]
        return ["yes"] if kind == "spec" else []

    def recipient(self, question: ChannelMessage, text: str) -> str:
        """Return the member who receives an answer; empty if the answer is a decision."""
        about, _, which = str(question.data.get("about", "")).partition(":")
        said = normalize_decision(text)
        match about:
            case "spec":
                return "" if said in ACCEPT_WORDS else PM
            case "task":
                task = self.tasks[which]
                return "" if said in DROP_WORDS or (said in ACCEPT_WORDS and _has_passed_check(task)) else task.coder
            case "call":
                return ""
            case _:
                return str(question.data.get("to", question.author))

    def answer_task(self, question: ChannelMessage, to: str) -> str:
        """Return the task under which an answer is delivered, if its recipient waits for it there."""
        task = str(question.data.get("about", "")).partition(":")[2] or question.task
        asked_by_team = bool(task) and question.task != task
        waits = any((job.agent, job.task) == (to, task) for job in self.jobs.values())
        return task if asked_by_team or waits else ""

    def _asking(self) -> set[int]:
        """Return the turns that wait for an answer."""
        return {int(each.data["turn"]) for each in self.questions.values() if "turn" in each.data}


def _has_passed_check(task: Task) -> bool:
    return task.check is not None and task.check.passed
