"""The prompts that start an agent's turn."""

from __future__ import annotations

from collections.abc import Callable

from antiphon.team.events import TaskChecked
from antiphon.team.sandboxed_tests import CheckReport
from antiphon.team.state import TeamState
from antiphon.team.tasks import Task

#: Characters of test output in a prompt, taken from its end.
_MAX_FAILED_OUTPUT = 12_000
_MAX_PASSED_OUTPUT = 4_000
LEFT_OUT_LABEL = "Not in the commit, because it is in a submodule, ignored by git, too large or no file"


def build_turn_prompt(state: TeamState, why: str, task: Task | None, wants: str, diff: Callable[[], str]) -> str:
    """Return the prompt for a turn with this reason; empty if new messages are all there is to say."""
    if why in ("", "talk", "planning"):
        return ""
    if why == "tasks":
        assert state.spec is not None
        return f"The human has accepted this specification. Hand in the tasks for it.\n\n{_format_spec(state)}"
    if why == "nudge":
        return f"Nothing was handed in. Call `{wants}` when you are done, or ask what you need to know."
    assert task is not None
    return _PROMPT_BUILDERS[why](state, task, diff)


def format_failing_base(report: CheckReport, *, is_planning: bool) -> str:
    """Return the note about tests that already fail before any change."""
    order = " What mends that is a task of its own, and all others come `after` it." if is_planning else ""
    return (
        f"\n\nThe tests of the repository do not pass as it is now (`{report.command}`: {report.why}), and nothing is"
        f" merged before they do.{order}\n\n```\n{report.output[-_MAX_PASSED_OUTPUT:]}\n```"
    )


def _format_spec(state: TeamState) -> str:
    return f"# {state.spec['title']}\n\n{state.spec['text']}" if state.spec is not None else ""


def _format_task(task: Task) -> str:
    checks = "".join(f"\n- {each}" for each in task.checks)
    return f"# Task {task.id}: {task.title}\n\n{task.spec}" + (f"\n\nDone when:{checks}" if checks else "")


def _plan_prompt(state: TeamState, task: Task, _: object) -> str:
    whole = f"\n\nIt is part of this:\n\n{_format_spec(state)}" if state.spec is not None else ""
    return (
        f"{_format_task(task)}{whole}\n\n"
        "Look at what you need, and answer in words with a short plan: which files you change and how one will see that"
        " it works. Change nothing yet."
    )


def _failed_prompt(_state: TeamState, task: Task, _diff: object) -> str:
    check = task.check
    assert check is not None
    together = " together with what was merged since" if check.merging else ""
    return f"{_format_check(check, together)}\n\nMend it, and hand in again with `submit_work`."


def _unchanged_prompt(_state: TeamState, task: Task, _diff: object) -> str:
    left = f" {LEFT_OUT_LABEL}: {', '.join(task.check.left_out)}." if task.check and task.check.left_out else ""
    return f"Nothing is different from where you began.{left} Do the task, and hand in again with `submit_work`."


def _conflict_prompt(_state: TeamState, task: Task, _diff: object) -> str:
    files = "".join(f"\n- {each}" for each in task.conflicting_files)
    return (
        "Others have changed the same places, and their work is merged already. Both sides stand between the marks"
        f" `<<<<<<<`, `=======` and `>>>>>>>` in:{files}\n\nBring them together so that both hold, leave no mark, and"
        " hand in again with `submit_work`."
    )


def _review_prompt(state: TeamState, task: Task, diff: Callable[[], str]) -> str:
    check = task.check
    assert check is not None
    marked = [f"It changes what is tested: {', '.join(check.tests)}. Look at that with care."] if check.tests else []
    marked += [f"Of the test run: {each}." for each in check.marks]
    left = [f"{LEFT_OUT_LABEL}: {', '.join(check.left_out)}."]
    whole = f"It is part of this:\n\n{_format_spec(state)}\n\n" if state.spec is not None else ""
    notes = [
        f"{task.coder} says of it: {task.summary}",
        _format_check(check, ""),
        *marked,
        *(left if check.left_out else []),
    ]
    again = f"You wanted this before:\n\n{task.notes}\n\n" if task.notes else ""
    return (
        f"Review what {task.coder} has handed in for this task, and decide with"
        f" `review`.\n\n{_format_task(task)}\n\n{whole}"
        f"{again}{chr(10).join(notes)}\n\n```diff\n{diff()}```"
    )


def _format_check(check: TaskChecked, together: str) -> str:
    match check.why:
        case "untested":
            return "No tests were run: the repository has no command for them."
        case "passed":
            return (
                f"The machine ran `{check.command}`{together}: it"
                f" passed.\n\n```\n{check.output[-_MAX_PASSED_OUTPUT:]}\n```"
            )
        case why:
            return (
                f"The machine ran `{check.command}`{together}: {why}.\n\n```\n{check.output[-_MAX_FAILED_OUTPUT:]}\n```"
            )


_PROMPT_BUILDERS: dict[str, Callable[[TeamState, Task, Callable[[], str]], str]] = {
    "plan": _plan_prompt,
    "solo": lambda _state, task, _diff: task.spec,
    "work": lambda _state, _task, _diff: "Now do it, and hand in with `submit_work`.",
    "failed": _failed_prompt,
    "unchanged": _unchanged_prompt,
    "changes": lambda _state, task, _diff: (
        f"The reviewer wants changes:\n\n{task.notes}\n\nMake them, and hand in again with `submit_work`."
    ),
    "conflict": _conflict_prompt,
    "review": _review_prompt,
}
