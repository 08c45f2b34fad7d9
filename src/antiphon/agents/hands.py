"""Hands for what a team does next: each step is done so that it may be repeated, and then written down."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon.agents import changes as changed
from antiphon.agents import facts, toolbox
from antiphon.agents import worktree as trees
from antiphon.agents.checks import CheckReport, run_checks
from antiphon.agents.prompts import LEFT_OUT, prompt, red_base
from antiphon.agents.repository import Workplace
from antiphon.agents.runners import find_command
from antiphon.agents.settings import TeamSettings
from antiphon.agents.spending import Meter
from antiphon.agents.state import ARCHITECT, CHANNELS, MACHINE, PLANNING, TeamState
from antiphon.agents.steps import Ask, Assign, BeginTurn, Check, End, Merge, Step, TakeTurn
from antiphon.agents.turns import Setting, post_for_human, run_name, take_turn
from antiphon.agents.work import Task
from antiphon.conversation.attribution import HUMAN
from antiphon.tools import Tool

if TYPE_CHECKING:
    from antiphon.agents.team import Team

#: The files that are only read: what the team has merged so far.
_READING = "reading"
#: Where is noted what is about to be done to files.
_NOTES = ".notes"
_DIFF = 60_000
#: Reasons to begin for which one is told how the tests are before anybody has changed anything.
_FIRST = ("tasks", "solo")
_REFUSED = (
    "The tests were not run: {} would be imported in place of what runs them. Give it another name, or leave it out."
)


class Workshop:
    """The files of a team's tasks."""

    def __init__(self, work: Workplace) -> None:
        self.work = work

    def tree(self, task: Task | None) -> str:
        """The files of a task that is under way, else what is merged so far, to be read."""
        if task is not None and task.coder and not task.is_over:
            return trees.begin_task(self.work, task.branch).path
        reading = trees.begin_task(self.work, _READING)
        trees.commit(reading, "Left by nobody", "team")
        trees.rebase(reading)
        return reading.path

    def span(self, task: Task) -> tuple[str, str]:
        """The commits between which a task has changed something."""
        if task.commit:
            return task.since, task.commit
        return changed.start(self.work, task.branch), self.work.head(task.branch)

    def diff(self, task: Task) -> str:
        """What a task has changed."""
        return changed.diff_between(self.work, *self.span(task), _DIFF).text

    def snapshot(self, task: Task | None) -> str:
        """A commit that has the files of a task as they are."""
        return trees.snapshot(trees.begin_task(self.work, task.branch)) if task is not None else ""

    def commit(self, task: Task) -> trees.Committed:
        """Commit what is in the files of a task, but for what tests that were broken off have left in them."""
        worktree = trees.begin_task(self.work, task.branch)
        if self._testing(task).exists():
            self._clean(task)
        return trees.commit(worktree, _message(task), task.coder.removeprefix("@"))

    def _testing(self, task: Task) -> Path:
        return Path(self.work.path(_NOTES, f"{task.branch}.tests"))

    def _clean(self, task: Task) -> None:
        """What tests leave behind is nobody's work."""
        trees.restore(trees.begin_task(self.work, task.branch))
        self._testing(task).unlink(missing_ok=True)

    async def check(self, task: Task, state: TeamState) -> facts.Checked:
        """Commit what is in the files, and run the tests."""
        done, is_changed = await asyncio.to_thread(self._commit, task)
        ignored = await asyncio.to_thread(self._ignored, task) if state.settings.sandbox else ()
        left_out = (*done.left_out, *ignored)
        if not is_changed:
            return facts.Checked(task.id, "unchanged", False, done.id, left_out=left_out)
        return await self.tested(task, state, done.id, left_out)

    def _ignored(self, task: Task) -> tuple[str, ...]:
        return trees.ignored(trees.begin_task(self.work, task.branch))

    def _commit(self, task: Task) -> tuple[trees.Committed, bool]:
        done = self.commit(task)
        return done, bool(changed.changes(self.work, task.branch))

    async def tested(
        self, task: Task, state: TeamState, commit: str, left_out: Sequence[str] = (), *, merging: bool = False
    ) -> facts.Checked:
        """What the tests say of the files of a task, which are at this commit."""
        settings = state.settings
        files = await asyncio.to_thread(changed.changes, self.work, task.branch)
        tests = tuple(each.path for each in files if _says_what_is_tested(each, settings.command))
        shadows = [(each.path, changed.shadowed(each.path)) for each in files if each.status == "added"]
        told: dict[str, Any] = {
            "files": tuple(each.path for each in files),
            "tests": tests,
            "left_out": tuple(left_out),
            "merging": merging,
        }
        if settings.command and (stands_in := [path for path, whose in shadows if whose == "runner"]):
            return facts.Checked(
                task.id, "failed", False, commit, settings.command, _REFUSED.format(", ".join(stands_in)), **told
            )
        self._testing(task).parent.mkdir(exist_ok=True)
        self._testing(task).touch()
        report = await self.run_tests(task, settings, state.runner)
        await asyncio.to_thread(self._clean, task)
        if report is None:
            return facts.Checked(task.id, "untested", True, commit, **told)
        meddling = await asyncio.to_thread(changed.meddling, self.work, task.branch)
        library = [path for path, whose in shadows if whose == "library"]
        told |= {
            "marks": tuple(_marks(report, state.count, library, meddling)),
            "runner": report.runner,
            "count": report.count,
        }
        output = report.output[-_DIFF:]
        return facts.Checked(task.id, report.why, report.passed, commit, report.command, output, **told)

    async def run_tests(self, task: Task | None, settings: TeamSettings, runner: str = "") -> CheckReport | None:
        """Run the tests on the files of a task, or on what is merged so far; nothing, where there is no command.

        What git ignores is not among the files: no commit has it. `runner` is the one whose summary must be there.
        """
        if not settings.command:
            return None
        is_own = settings.sandbox and task is not None and task.coder and not task.is_over
        return await run_checks(
            await asyncio.to_thread(self.tree, task),
            settings.command,
            runner=runner,
            without=await asyncio.to_thread(self._ignored, task) if is_own and task is not None else (),
            seconds=settings.seconds,
            memory=settings.memory,
            sandbox=settings.sandbox,
            checkout=self.work.repository.top,
        )

    def sweep(self, state: TeamState) -> None:
        """Remove the files of tasks that are over, whoever left them."""
        alive = [task.branch for task in state.tasks.values() if not task.is_over]
        trees.sweep(self.work, [*alive, *([] if state.ended else [_READING])])


def _says_what_is_tested(change: changed.Change, command: str) -> bool:
    """A new test is welcome; a new file that says which tests are run is not that."""
    is_old_test = change.role == "test" and change.status != "added"
    return is_old_test or change.role == "test setup" or change.path in command.split()


def _marks(report: CheckReport, before: int | None, shadows: Sequence[str], meddling: Sequence[str]) -> Iterator[str]:
    """Say what a reviewer should know of a run that passed."""
    if shadows:
        yield f"named like modules of Python itself: {', '.join(shadows)}"
    if meddling:
        yield f"names what decides how tests end: {', '.join(meddling)}"
    if report.passed and report.count is None:
        yield "no known runner has printed a summary, so how many tests ran is not known"
    if before is not None and report.count is not None and report.count < before:
        yield f"fewer tests ran than before: {report.count}, not {before}"


def with_command(settings: TeamSettings, work: Workplace) -> TeamSettings:
    """The settings with the command that runs the tests, found where it begins: nothing written later changes it."""
    return settings if settings.command else replace(settings, command=find_command(Workshop(work).tree(None)) or "")


def is_quick(step: Step) -> bool:
    """Whether a step is only to be written down."""
    return isinstance(step, Ask) or (isinstance(step, BeginTurn) and step.why not in _FIRST)


async def do(team: Team, step: Step) -> None:
    """Do a step, and write down what came of it."""
    match step:
        case TakeTurn():
            await _take_turn(team, step.number)
        case BeginTurn():
            await _begin_turn(team, step)
        case Ask():
            about = _about(team.state, step.about)
            post_for_human(team.channel("product"), step.text, MACHINE, kind="question", data=about)
        case Assign():
            await asyncio.to_thread(_assign, team, step)
        case Check():
            await _check(team, step.task)
        case Merge():
            await _merge(team, step.task)
        case End():
            await asyncio.to_thread(_end, team)


def _about(state: TeamState, about: str) -> dict[str, Any]:
    job = state.jobs.get(about)
    return {"about": about, "ways": state.ways(about), **({"to": job.agent} if job is not None else {})}


# Turns


async def _begin_turn(team: Team, step: BeginTurn) -> None:
    state = team.state
    before = await team.workshop().run_tests(None, state.settings, state.runner) if step.why in _FIRST else None
    await asyncio.to_thread(_note_turn, team, step, before)


def _note_turn(team: Team, step: BeginTurn, before: CheckReport | None) -> None:
    state = team.state
    task = state.tasks.get(step.task)
    text = prompt(state, step.why, task, step.wants, lambda: team.workshop().diff(task) if task else "")
    if before is not None and not before.passed:
        text += red_base(before, is_planning=step.why == "tasks")
    number = state.turn_count + 1
    after = state.threads.get(step.thread, 0)
    fact = facts.TurnBegun(number, step.agent, step.thread, step.why, text, step.task, after)
    if before is not None:
        fact = replace(fact, runner=before.runner, count=before.count)
    why = f"{step.agent}: {step.why or 'new messages'}"
    team.note(fact, why, step.task, key=f"{team.id}:turn:{number}")


async def _take_turn(team: Team, number: int) -> None:
    turn = team.state.turns[number].begun
    role = team.role(turn.agent)
    tools = await asyncio.to_thread(_tools, team, turn)

    def warn(text: str) -> None:
        channel.post(text, MACHINE, to=turn.agent, kind="notice", key=f"{run_name(team.id, number)}:warned")

    channels = [team.channel(each) for each in role.channels]
    channel = channels[0]
    setting = Setting(
        team.id,
        team.journal,
        role,
        tools,
        channels,
        {HUMAN: CHANNELS, **{each: team.role(each).channels for each in team.state.members if each != HUMAN}},
        Meter(team.spending, lambda: team.state.settings, turn.task, warn),
        team.watch,
    )
    fact = await take_turn(setting, turn)
    if isinstance(fact, facts.TurnEnded) and any(tool.name == "write_file" for tool in tools):
        tree = await asyncio.to_thread(team.workshop().snapshot, team.state.tasks.get(turn.task))
        fact = replace(fact, commit=tree)
    match fact:
        case facts.TurnPaused():
            told = f"{turn.agent} waits: {fact.why}"
        case facts.TurnEnded(outcome="submitted", value=value):
            told = f"{turn.agent} hands in: {value['submitted']}"
        case facts.TurnEnded():
            told = f"{turn.agent} has {_DONE[fact.outcome]}"
    team.note(fact, told, turn.task)


_DONE = {"said": "spoken", "asked": "asked you, and waits", "stuck": "got no further"}


def _tools(team: Team, turn: facts.TurnBegun) -> list[Tool]:
    state, shop, role = team.state, team.workshop(), team.role(turn.agent)
    mine = next((each for each in reversed(state.tasks.values()) if each.coder == turn.agent), None)
    task = state.tasks.get(turn.task) or mine
    tree = shop.tree(task)
    known = {**toolbox.looking(tree), **toolbox.submitting()}
    if turn.why not in ("talk", *PLANNING) and turn.agent != ARCHITECT and task is not None:
        notes = Path(shop.work.path(_NOTES))
        known |= toolbox.writing(tree, notes)
        known["run_tests"] = toolbox.testing(lambda: shop.run_tests(task, state.settings, state.runner))
    # This is another thread: jobs may be added meanwhile.
    jobs = list(state.jobs.values())
    wanted = next((job.wants for job in jobs if job.thread == turn.thread and job.task == turn.task), "")
    kept = [name for name in role.tools if name in known and (name not in _SUBMITTING or _fits(name, wanted, turn.why))]
    return [*(known[name] for name in kept), *role.more_tools]


_SUBMITTING = ("submit_spec", "create_tasks", "review", "submit_work")


def _fits(name: str, wanted: str, why: str) -> bool:
    return name == wanted and why not in ("talk", *PLANNING)


# Tasks


def _assign(team: Team, step: Assign) -> None:
    task = team.state.tasks[step.task]
    trees.begin_task(team.workshop().work, task.branch)
    team.note(facts.Assigned(step.task, step.coder), f"task {step.task} is {step.coder}'s: {task.title}", step.task)


async def _check(team: Team, task: str) -> None:
    fact = await team.workshop().check(team.state.tasks[task], team.state)
    team.note(fact, _checked(fact), task)


def _checked(fact: facts.Checked) -> str:
    marked = [f"it changes tests: {', '.join(fact.tests)}"] if fact.tests else []
    left = [f"not in the commit: {', '.join(fact.left_out)}"] if fact.left_out else []
    return "; ".join([f"task {fact.task}: {fact.why}", *marked, *fact.marks, *left])


async def _merge(team: Team, name: str) -> None:
    task, shop = team.state.tasks[name], team.workshop()
    worktree = await asyncio.to_thread(trees.begin_task, shop.work, task.branch)
    # There is nothing new, unless the human takes it as it is.
    await asyncio.to_thread(shop.commit, task)
    while True:
        brought = await asyncio.to_thread(trees.rebase, worktree, marking=True)
        if isinstance(brought, trees.Conflict):
            files = tuple(each.path for each in brought.files)
            marked = shop.work.head(task.branch)
            team.note(facts.Conflicted(name, files, marked), f"task {name} conflicts in {', '.join(files)}", name)
            return
        if task.check is None or brought.head != task.check.commit:
            fact = await shop.tested(task, team.state, brought.head, merging=True)
            team.note(fact, f"{_checked(fact)}, with what was merged before", name)
            if not fact.passed:
                return
        done = await asyncio.to_thread(trees.merge, shop.work, brought.head)
        match done:
            case trees.Marked(files):
                team.note(
                    facts.Conflicted(name, files, brought.head), f"task {name} still has marks of conflicts", name
                )
                return
            case trees.Merged(head):
                team.note(facts.TaskMerged(name, head, team.state.head), f"task {name} is merged: {task.title}", name)
                await asyncio.to_thread(trees.remove_task, shop.work, task.branch, keep_branch=False)
                return
            case trees.Moved():
                continue


def _end(team: Team) -> None:
    shop, state = team.workshop(), team.state
    told = changed.summary(shop.work)
    by_state = {each: tuple(t.id for t in state.tasks.values() if t.state == each) for each in ("merged", "rejected")}
    post_for_human(team.channel("product"), summary_text(state, told), MACHINE, key=f"{team.id}:summary")
    trees.sweep(shop.work)
    team.note(facts.Ended(told.head, by_state["merged"], by_state["rejected"]), f"done: {told.branch}")


def summary_text(state: TeamState, told: changed.Summary) -> str:
    """What was done, and how to take it."""
    lines = [f"{task.id}. {task.title}: {task.state}" for task in state.tasks.values()]
    found = [task.check for task in state.tasks.values() if task.check]
    if marked := {each for check in found for each in check.tests}:
        lines.append(f"Changed files that say what is tested: {', '.join(sorted(marked))}")
    lines += [f"Task {check.task}: {mark}" for check in found for mark in check.marks]
    if left := {each for check in found for each in check.left_out}:
        lines.append(f"{LEFT_OUT}: {', '.join(sorted(left))}")
    if not state.settings.command:
        lines.append("No tests were run: no command for them was found.")
    if not told.commits:
        return "\n".join([*lines, "Nothing was merged."])
    count = len(told.changes)
    lines.append(f"{count} file{'s' * (count != 1)} changed on the branch `{told.branch}`:")
    lines += [f"  {command}   # {what}" for what, command in told.commands]
    return "\n".join(lines)


def _message(task: Task) -> str:
    first, _, rest = task.summary.strip().partition("\n")
    return f"{first[:100] or task.title}\n\n{rest.strip()}".strip()
