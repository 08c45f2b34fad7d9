"""Idempotent handlers for the steps of a team; each logs an event when it is done."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon.conversation.attribution import HUMAN_AUTHOR
from antiphon.team import diffs as changed
from antiphon.team import events as facts
from antiphon.team import tools as toolbox
from antiphon.team import worktree as trees
from antiphon.team.known_test_runners import detect_test_command
from antiphon.team.prompts import LEFT_OUT_LABEL, build_turn_prompt, format_failing_base
from antiphon.team.repository import TeamWorkspace
from antiphon.team.sandboxed_tests import CheckReport, run_sandboxed_tests
from antiphon.team.scheduler import (
    AskQuestion,
    AssignTask,
    CheckTask,
    FinishTeam,
    MergeTask,
    StartTurn,
    TakeTurn,
    TeamStep,
)
from antiphon.team.settings import TeamSettings
from antiphon.team.state import ARCHITECT, CHANNEL_NAMES, PLANNING_REASONS, TEAM_AUTHOR, TeamState
from antiphon.team.tasks import Task
from antiphon.team.turns import TurnContext, post_for_human, run_turn, turn_run_id
from antiphon.tools import Tool

if TYPE_CHECKING:
    from antiphon.team.team import Team

#: A read-only worktree of what the team has merged so far.
_READING_TASK = "reading"
#: The directory of write-ahead notes about file changes.
_NOTES_DIR = ".notes"
_MAX_DIFF_LENGTH = 60_000
#: Turn reasons whose prompt includes the test result before any change.
_FIRST_REASONS = ("tasks", "solo")
_SHADOWED_RUNNER = (
    "The tests were not run: {} would be imported in place of what runs them. Give it another name, or leave it out."
)


class TaskFiles:
    """The worktrees of a team's tasks: read, commit, test and remove them."""

    def __init__(self, work: TeamWorkspace) -> None:
        self.work = work

    def tree(self, task: Task | None) -> str:
        """Return the directory of an active task, or else a read-only one of what is merged so far."""
        if task is not None and task.coder and not task.is_over:
            return trees.open_worktree(self.work, task.branch).path
        reading = trees.open_worktree(self.work, _READING_TASK)
        trees.commit_worktree(reading, "Left by nobody", "team")
        trees.update_from_main(reading)
        return reading.path

    def span(self, task: Task) -> tuple[str, str]:
        """Return the commits before and after the changes of a task."""
        if task.commit:
            return task.since, task.commit
        return changed.find_branch_point(self.work, task.branch), self.work.head(task.branch)

    def diff(self, task: Task) -> str:
        """Return the changes of a task as a unified diff."""
        return changed.diff_between(self.work, *self.span(task), _MAX_DIFF_LENGTH).text

    def snapshot(self, task: Task | None) -> str:
        """Return a commit of the task's current files."""
        return trees.snapshot_worktree(trees.open_worktree(self.work, task.branch)) if task is not None else ""

    def commit(self, task: Task) -> trees.CommitResult:
        """Commit the task's files, without what interrupted tests left in them."""
        worktree = trees.open_worktree(self.work, task.branch)
        if self._testing_marker(task).exists():
            self._restore_after_tests(task)
        first, _, rest = task.summary.strip().partition("\n")
        message = f"{first[:100] or task.title}\n\n{rest.strip()}".strip()
        return trees.commit_worktree(worktree, message, task.coder.removeprefix("@"))

    def _testing_marker(self, task: Task) -> Path:
        return Path(self.work.path(_NOTES_DIR, f"{task.branch}.tests"))

    def _restore_after_tests(self, task: Task) -> None:
        """Restore the files after a test run; whatever tests leave behind is discarded."""
        trees.restore_worktree(trees.open_worktree(self.work, task.branch))
        self._testing_marker(task).unlink(missing_ok=True)

    async def check(self, task: Task, state: TeamState) -> facts.TaskChecked:
        """Commit the task's files and run the tests."""
        done = await asyncio.to_thread(self.commit, task)
        is_changed = bool(await asyncio.to_thread(changed.list_task_changes, self.work, task.branch))
        ignored = await asyncio.to_thread(self._ignored_files, task) if state.settings.sandbox else ()
        left_out = (*done.left_out, *ignored)
        if not is_changed:
            return facts.TaskChecked(task.id, "unchanged", False, done.id, left_out=left_out)
        return await self.tested(task, state, done.id, left_out)

    def _ignored_files(self, task: Task) -> tuple[str, ...]:
        return trees.list_ignored_files(trees.open_worktree(self.work, task.branch))

    async def tested(
        self, task: Task, state: TeamState, commit: str, left_out: Sequence[str] = (), *, merging: bool = False
    ) -> facts.TaskChecked:
        """Run the tests on a task's files at this commit, and return the event to log."""
        settings = state.settings
        files = await asyncio.to_thread(changed.list_task_changes, self.work, task.branch)
        tests = tuple(each.path for each in files if _defines_tests(each, settings.command))
        shadows = [(each.path, changed.find_shadowed_module(each.path)) for each in files if each.status == "added"]
        told: dict[str, Any] = {
            "files": tuple(each.path for each in files),
            "tests": tests,
            "left_out": tuple(left_out),
            "merging": merging,
        }
        if settings.command and (stands_in := [path for path, whose in shadows if whose == "runner"]):
            output = _SHADOWED_RUNNER.format(", ".join(stands_in))
            return facts.TaskChecked(task.id, "failed", False, commit, settings.command, output, **told)
        self._testing_marker(task).parent.mkdir(exist_ok=True)
        self._testing_marker(task).touch()
        report = await self.run_tests(task, settings, state.runner)
        await asyncio.to_thread(self._restore_after_tests, task)
        if report is None:
            return facts.TaskChecked(task.id, "untested", True, commit, **told)
        meddling = await asyncio.to_thread(changed.find_suspicious_changes, self.work, task.branch)
        library = [path for path, whose in shadows if whose == "library"]
        told |= {
            "marks": tuple(_review_notes(report, state.count, library, meddling)),
            "runner": report.runner,
            "count": report.count,
        }
        output = report.output[-_MAX_DIFF_LENGTH:]
        return facts.TaskChecked(task.id, report.why, report.passed, commit, report.command, output, **told)

    async def run_tests(self, task: Task | None, settings: TeamSettings, runner: str = "") -> CheckReport | None:
        """Run the tests on a task's files, or on what is merged so far; return `None` without a test command.

        Files that git ignores are left out, because no commit has them. `runner` names the runner whose summary
        is required.
        """
        if not settings.command:
            return None
        is_own = settings.sandbox and task is not None and task.coder and not task.is_over
        return await run_sandboxed_tests(
            await asyncio.to_thread(self.tree, task),
            settings.command,
            runner=runner,
            without=await asyncio.to_thread(self._ignored_files, task) if is_own and task is not None else (),
            seconds=settings.seconds,
            memory=settings.memory,
            sandbox=settings.sandbox,
            checkout=self.work.repository.top,
        )

    def sweep(self, state: TeamState) -> None:
        """Remove the worktrees of finished tasks."""
        alive = [task.branch for task in state.tasks.values() if not task.is_over]
        trees.remove_stale_worktrees(self.work, [*alive, *([] if state.ended else [_READING_TASK])])


def _defines_tests(change: changed.ChangedFile, command: str) -> bool:
    """Return whether a change affects which tests run; adding a new test does not count."""
    is_old_test = change.role == "test" and change.status != "added"
    return is_old_test or change.role == "test setup" or change.path in command.split()


def _review_notes(
    report: CheckReport, before: int | None, shadows: Sequence[str], meddling: Sequence[str]
) -> Iterator[str]:
    if shadows:
        yield f"named like modules of Python itself: {', '.join(shadows)}"
    if meddling:
        yield f"names what decides how tests end: {', '.join(meddling)}"
    if report.passed and report.count is None:
        yield "no known runner has printed a summary, so how many tests ran is not known"
    if before is not None and report.count is not None and report.count < before:
        yield f"fewer tests ran than before: {report.count}, not {before}"


def with_test_command(settings: TeamSettings, work: TeamWorkspace) -> TeamSettings:
    """Return the settings with the test command, detected at the start so that later changes cannot alter it."""
    return (
        settings
        if settings.command
        else replace(settings, command=detect_test_command(TaskFiles(work).tree(None)) or "")
    )


def is_log_only(step: TeamStep) -> bool:
    """Return whether a step only logs an event."""
    return isinstance(step, AskQuestion) or (isinstance(step, StartTurn) and step.why not in _FIRST_REASONS)


async def perform_step(team: Team, step: TeamStep) -> None:
    """Perform a step and log its result."""
    match step:
        case TakeTurn():
            await _take_turn(team, step.number)
        case StartTurn():
            before = None
            if step.why in _FIRST_REASONS:
                before = await team.task_files().run_tests(None, team.state.settings, team.state.runner)
            await asyncio.to_thread(_log_turn_start, team, step, before)
        case AskQuestion():
            job = team.state.jobs.get(step.about)
            about = {"about": step.about, "ways": team.state.list_decision_words(step.about)}
            about |= {"to": job.agent} if job is not None else {}
            post_for_human(team.channel("product"), step.text, TEAM_AUTHOR, kind="question", data=about)
        case AssignTask():
            task = team.state.tasks[step.task]
            await asyncio.to_thread(trees.open_worktree, team.task_files().work, task.branch)
            told = f"task {step.task} is {step.coder}'s: {task.title}"
            team.note(facts.TaskAssigned(step.task, step.coder), told, step.task)
        case CheckTask():
            fact = await team.task_files().check(team.state.tasks[step.task], team.state)
            team.note(fact, _describe_check(fact), step.task)
        case MergeTask():
            await _merge_task(team, step.task)
        case FinishTeam():
            await asyncio.to_thread(_finish_team, team)


# Turns


def _log_turn_start(team: Team, step: StartTurn, before: CheckReport | None) -> None:
    state = team.state
    task = state.tasks.get(step.task)
    text = build_turn_prompt(state, step.why, task, step.wants, lambda: team.task_files().diff(task) if task else "")
    if before is not None and not before.passed:
        text += format_failing_base(before, is_planning=step.why == "tasks")
    number = state.turn_count + 1
    after = state.threads.get(step.thread, 0)
    fact = facts.TurnStarted(number, step.agent, step.thread, step.why, text, step.task, after)
    if before is not None:
        fact = replace(fact, runner=before.runner, count=before.count)
    why = f"{step.agent}: {step.why or 'new messages'}"
    team.note(fact, why, step.task, key=f"{team.id}:turn:{number}")


async def _take_turn(team: Team, number: int) -> None:
    turn = team.state.turns[number].begun
    role = team.role(turn.agent)
    tools = await asyncio.to_thread(_turn_tools, team, turn)

    def warn(text: str) -> None:
        channel.post(
            f"{text}; come to an end soon.",
            TEAM_AUTHOR,
            to=turn.agent,
            kind="notice",
            key=f"{turn_run_id(team.id, number)}:warned",
        )

    channels = [team.channel(each) for each in role.channels]
    channel = channels[0]
    setting = TurnContext(
        team.id,
        team.journal,
        role,
        tools,
        channels,
        {
            HUMAN_AUTHOR: CHANNEL_NAMES,
            **{each: team.role(each).channels for each in team.state.members if each != HUMAN_AUTHOR},
        },
        team.budget.make_budget(turn.task, warn),
        team.watch,
    )
    fact = await run_turn(setting, turn)
    if isinstance(fact, facts.TurnEnded) and any(tool.name == "write_file" for tool in tools):
        tree = await asyncio.to_thread(team.task_files().snapshot, team.state.tasks.get(turn.task))
        fact = replace(fact, commit=tree)
    match fact:
        case facts.TurnPaused():
            told = f"{turn.agent} waits: {fact.why}"
        case facts.TurnEnded(outcome="submitted", value=value):
            told = f"{turn.agent} hands in: {value['submitted']}"
        case facts.TurnEnded():
            told = f"{turn.agent} has {_OUTCOME_TEXTS[fact.outcome]}"
    team.note(fact, told, turn.task)


_OUTCOME_TEXTS = {"said": "spoken", "asked": "asked you, and waits", "stuck": "got no further"}


def _turn_tools(team: Team, turn: facts.TurnStarted) -> list[Tool]:
    state, shop, role = team.state, team.task_files(), team.role(turn.agent)
    mine = next((each for each in reversed(state.tasks.values()) if each.coder == turn.agent), None)
    task = state.tasks.get(turn.task) or mine
    tree = shop.tree(task)
    known = {**toolbox.make_read_tools(tree), **toolbox.make_submit_tools()}
    if turn.why not in ("talk", *PLANNING_REASONS) and turn.agent != ARCHITECT and task is not None:
        notes = Path(shop.work.path(_NOTES_DIR))
        known |= toolbox.make_write_tools(tree, notes)
        known["run_tests"] = toolbox.make_run_tests_tool(lambda: shop.run_tests(task, state.settings, state.runner))
    # Runs in another thread: jobs may be added meanwhile.
    jobs = list(state.jobs.values())
    wanted = next((job.wants for job in jobs if job.thread == turn.thread and job.task == turn.task), "")
    submits = "" if turn.why in ("talk", *PLANNING_REASONS) else wanted
    kept = [name for name in role.tools if name in known and (name not in _SUBMIT_TOOLS or name == submits)]
    return [*(known[name] for name in kept), *role.more_tools]


_SUBMIT_TOOLS = ("submit_spec", "create_tasks", "review", "submit_work")


# Tasks


def _describe_check(fact: facts.TaskChecked) -> str:
    marked = [f"it changes tests: {', '.join(fact.tests)}"] if fact.tests else []
    left = [f"not in the commit: {', '.join(fact.left_out)}"] if fact.left_out else []
    return "; ".join([f"task {fact.task}: {fact.why}", *marked, *fact.marks, *left])


async def _merge_task(team: Team, name: str) -> None:
    task, shop = team.state.tasks[name], team.task_files()
    worktree = await asyncio.to_thread(trees.open_worktree, shop.work, task.branch)
    # This commits nothing, unless the human approved unfinished work.
    await asyncio.to_thread(shop.commit, task)
    while True:
        brought = await asyncio.to_thread(trees.update_from_main, worktree, marking=True)
        if isinstance(brought, trees.MergeConflict):
            files = tuple(each.path for each in brought.files)
            marked = shop.work.head(task.branch)
            team.note(facts.TaskConflicted(name, files, marked), f"task {name} conflicts in {', '.join(files)}", name)
            return
        if task.check is None or brought.head != task.check.commit:
            fact = await shop.tested(task, team.state, brought.head, merging=True)
            team.note(fact, f"{_describe_check(fact)}, with what was merged before", name)
            if not fact.passed:
                return
        done = await asyncio.to_thread(trees.fast_forward_main, shop.work, brought.head)
        match done:
            case trees.MarkersLeft(files):
                team.note(
                    facts.TaskConflicted(name, files, brought.head), f"task {name} still has marks of conflicts", name
                )
                return
            case trees.BranchMerged(head):
                team.note(facts.TaskMerged(name, head, team.state.head), f"task {name} is merged: {task.title}", name)
                await asyncio.to_thread(trees.remove_worktree, shop.work, task.branch, keep_branch=False)
                return
            case trees.BranchMoved():
                continue


def _finish_team(team: Team) -> None:
    shop, state = team.task_files(), team.state
    told = changed.summarize_branch(shop.work)
    by_state = {each: tuple(t.id for t in state.tasks.values() if t.state == each) for each in ("merged", "rejected")}
    post_for_human(team.channel("product"), format_team_summary(state, told), TEAM_AUTHOR, key=f"{team.id}:summary")
    trees.remove_stale_worktrees(shop.work)
    team.note(facts.TeamFinished(told.head, by_state["merged"], by_state["rejected"]), f"done: {told.branch}")


def format_team_summary(state: TeamState, told: changed.BranchSummary) -> str:
    """Return the closing summary: tasks, test notes, and how to merge the branch."""
    lines = [f"{task.id}. {task.title}: {task.state}" for task in state.tasks.values()]
    found = [task.check for task in state.tasks.values() if task.check]
    if marked := {each for check in found for each in check.tests}:
        lines.append(f"Changed files that say what is tested: {', '.join(sorted(marked))}")
    lines += [f"Task {check.task}: {mark}" for check in found for mark in check.marks]
    if left := {each for check in found for each in check.left_out}:
        lines.append(f"{LEFT_OUT_LABEL}: {', '.join(sorted(left))}")
    if not state.settings.command:
        lines.append("No tests were run: no command for them was found.")
    if not told.commits:
        return "\n".join([*lines, "Nothing was merged."])
    count = len(told.changes)
    lines.append(f"{count} file{'s' * (count != 1)} changed on the branch `{told.branch}`:")
    lines += [f"  {command}   # {what}" for what, command in told.commands]
    return "\n".join(lines)
