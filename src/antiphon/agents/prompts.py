"""What agents are told when it is their turn."""

from __future__ import annotations

from collections.abc import Callable

from antiphon.agents.checks import CheckReport
from antiphon.agents.facts import Checked
from antiphon.agents.state import TeamState
from antiphon.agents.work import Task

#: So much of what tests print is told; the end says most.
_OUTPUT = 12_000
_BEFORE = 4_000
LEFT_OUT = "Not in the commit, because it is in a submodule, ignored by git, too large or no file"


def prompt(state: TeamState, why: str, task: Task | None, wants: str, diff: Callable[[], str]) -> str:
    """The text for a reason to take a turn; nothing, where what others said is all there is to say."""
    if why in ("", "talk", "planning"):
        return ""
    if why == "tasks":
        assert state.spec is not None
        return f"The human has accepted this specification. Hand in the tasks for it.\n\n{_spec(state)}"
    if why == "nudge":
        return f"Nothing was handed in. Call `{wants}` when you are done, or ask what you need to know."
    assert task is not None
    return _TEXTS[why](state, task, diff)


def red_base(report: CheckReport, *, is_planning: bool) -> str:
    """What is said of tests that fail before anything was changed."""
    order = " What mends that is a task of its own, and all others come `after` it." if is_planning else ""
    return (
        f"\n\nThe tests of the repository do not pass as it is now (`{report.command}`: {report.why}), and nothing is"
        f" merged before they do.{order}\n\n```\n{report.output[-_BEFORE:]}\n```"
    )


def _spec(state: TeamState) -> str:
    return f"# {state.spec['title']}\n\n{state.spec['text']}" if state.spec is not None else ""


def _task(task: Task) -> str:
    checks = "".join(f"\n- {each}" for each in task.checks)
    return f"# Task {task.id}: {task.title}\n\n{task.spec}" + (f"\n\nDone when:{checks}" if checks else "")


def _plan(state: TeamState, task: Task, _: object) -> str:
    whole = f"\n\nIt is part of this:\n\n{_spec(state)}" if state.spec is not None else ""
    return (
        f"{_task(task)}{whole}\n\n"
        "Look at what you need, and answer in words with a short plan: which files you change and how one will see that"
        " it works. Change nothing yet."
    )


def _solo(state: TeamState, task: Task, _: object) -> str:
    del state
    return task.spec


def _work(*_: object) -> str:
    return "Now do it, and hand in with `submit_work`."


def _failed(state: TeamState, task: Task, _: object) -> str:
    del state
    check = task.check
    assert check is not None
    together = " together with what was merged since" if check.merging else ""
    return f"{_tested(check, together)}\n\nMend it, and hand in again with `submit_work`."


def _unchanged(state: TeamState, task: Task, _: object) -> str:
    del state
    left = f" {LEFT_OUT}: {', '.join(task.check.left_out)}." if task.check and task.check.left_out else ""
    return f"Nothing is different from where you began.{left} Do the task, and hand in again with `submit_work`."


def _changes(state: TeamState, task: Task, _: object) -> str:
    del state
    return f"The reviewer wants changes:\n\n{task.notes}\n\nMake them, and hand in again with `submit_work`."


def _conflict(state: TeamState, task: Task, _: object) -> str:
    del state
    files = "".join(f"\n- {each}" for each in task.clashing)
    return (
        "Others have changed the same places, and their work is merged already. Both sides stand between the marks"
        f" `<<<<<<<`, `=======` and `>>>>>>>` in:{files}\n\nBring them together so that both hold, leave no mark, and"
        " hand in again with `submit_work`."
    )


def _review(state: TeamState, task: Task, diff: Callable[[], str]) -> str:
    check = task.check
    assert check is not None
    marked = [f"It changes what is tested: {', '.join(check.tests)}. Look at that with care."] if check.tests else []
    marked += [f"Of the test run: {each}." for each in check.marks]
    left = [f"{LEFT_OUT}: {', '.join(check.left_out)}."]
    whole = f"It is part of this:\n\n{_spec(state)}\n\n" if state.spec is not None else ""
    notes = [f"{task.coder} says of it: {task.summary}", _tested(check, ""), *marked, *(left if check.left_out else [])]
    again = f"You wanted this before:\n\n{task.notes}\n\n" if task.notes else ""
    return (
        f"Review what {task.coder} has handed in for this task, and decide with `review`.\n\n{_task(task)}\n\n{whole}"
        f"{again}{chr(10).join(notes)}\n\n```diff\n{diff()}```"
    )


def _tested(check: Checked, together: str) -> str:
    match check.why:
        case "untested":
            return "No tests were run: the repository has no command for them."
        case "passed":
            return f"The machine ran `{check.command}`{together}: it passed.\n\n```\n{check.output[-_BEFORE:]}\n```"
        case why:
            return f"The machine ran `{check.command}`{together}: {why}.\n\n```\n{check.output[-_OUTPUT:]}\n```"


_TEXTS: dict[str, Callable[[TeamState, Task, Callable[[], str]], str]] = {
    "plan": _plan,
    "solo": _solo,
    "work": _work,
    "failed": _failed,
    "unchanged": _unchanged,
    "changes": _changes,
    "conflict": _conflict,
    "review": _review,
}
