"""The tools of team roles: they reach only the files of a task, and submit the work of a role."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from antiphon.conversation import ToolResult
from antiphon.results import terminal
from antiphon.team.members import make_submission
from antiphon.team.sandboxed_tests import CheckReport
from antiphon.tools import FinishRun, Tool, ToolContext, ToolFailure, as_tool
from antiphon.tools.builtin import file_tools
from antiphon.tools.builtin.text_files import replace_text
from antiphon.tools.dual_result import make_dual_result
from antiphon.tools.file_sandbox import SandboxRoots, quote_path
from antiphon.tools.toolset import renamed

#: Characters of test output shown to a model, taken from its end.
_MAX_TEST_OUTPUT = 12_000


class TaskSpec(BaseModel):
    """A task for one coder."""

    title: str = Field(min_length=1, description="A few words.")
    spec: str = Field(min_length=1, description="What to do, complete in itself.")
    checks: list[str] = Field(default_factory=list[str], description="How one can see that it is done.")
    after: list[int] = Field(default_factory=list[int], description="Numbers of earlier tasks in this list, from 1.")


NonEmptyText = Annotated[str, Field(min_length=1)]


def make_read_tools(tree: str) -> dict[str, Tool]:
    """Return the tools that read files."""
    tools = {tool.name: tool for tool in file_tools([tree])}
    found = {name: tools[name] for name in ("list_files", "read_file")}
    return {**found, "search": renamed(tools["grep_files"], "search")}


def make_write_tools(tree: str, notes: Path) -> dict[str, Tool]:
    """Return the tools that change files.

    They note each edit in the directory `notes` before making it, so that a replay does not repeat it.
    """
    tools = {tool.name: tool for tool in file_tools([tree])}
    # Writing the same text again changes nothing.
    written = replace(tools["write_file"], idempotent=True)
    return {"write_file": written, "edit_file": _make_edit_tool(tree, tools["edit_file"], notes)}


def _make_edit_tool(tree: str, edit: Tool, notes: Path) -> Tool:
    roots = SandboxRoots([tree])

    def edit_file(
        path: str, old: str, new: str, context: ToolContext[Any], replace_all: bool = False
    ) -> ToolResult | str:
        note = notes / hashlib.sha256(context.key.encode()).hexdigest()
        if note.exists() and json.loads(note.read_text("utf-8")) == _hash_file(roots, path):
            return f"Edited {path}"
        with roots.locate(path) as place, place.open() as stream:
            after, _ = replace_text(stream.read(), old.encode(), new.encode(), replace_all, quote_path(path))
        notes.mkdir(parents=True, exist_ok=True)
        temporary = note.with_suffix(".new")
        temporary.write_text(json.dumps(hashlib.sha256(after).hexdigest()), "utf-8")
        os.replace(temporary, note)
        return edit(path, old, new, replace_all)

    edit_file.__doc__ = edit.function.__doc__
    return as_tool(edit_file, concurrent=False, idempotent=True, locate=roots.target)


def _hash_file(roots: SandboxRoots, path: str) -> str:
    try:
        with roots.locate(path) as place, place.open() as stream:
            return hashlib.sha256(stream.read()).hexdigest()
    except ToolFailure:
        return ""


def make_run_tests_tool(run: Callable[[], Awaitable[CheckReport | None]]) -> Tool:
    """Return the tool that runs the tests in the sandbox."""

    async def run_tests() -> ToolResult:
        """Run the tests of the repository on the files as they are, as the machine will."""
        report = await run()
        if report is None:
            raise ToolFailure("there is no command that runs tests here; hand in without them")
        text = f"{report.why} ({report.command}, {report.seconds:.1f} s)\n{report.output[-_MAX_TEST_OUTPUT:]}"
        return make_dual_result(text, terminal(report.command, report.output, exit_code=report.code))

    return as_tool(run_tests, idempotent=True, concurrent=False)


def make_submit_tools() -> dict[str, Tool]:
    """Return the tools that submit the work of a role; each ends the turn."""
    return {each.name: each for each in (as_tool(one, idempotent=True) for one in _SUBMIT_FUNCTIONS)}


def _reject_pending_question(context: ToolContext[Any]) -> None:
    """Raise `ToolFailure` if the same reply asks the human: the answer may change the submission."""
    if any(call.name == "chat_ask_user" for call in context.conversation.open_calls):
        raise ToolFailure("not handed in: you asked the human in the same reply; wait for the answer, then hand in")


def submit_spec(title: NonEmptyText, text: NonEmptyText, context: ToolContext[Any]) -> str:
    """Hand in the specification; the human reads it, and accepts it or says what to change.

    Args:
        title: A few words.
        text: All of it, in Markdown.
    """
    _reject_pending_question(context)
    raise FinishRun(make_submission("submit_spec", title=title, text=text), "handed in")


def create_tasks(
    tasks: Annotated[list[TaskSpec], Field(min_length=1, max_length=30)], context: ToolContext[Any]
) -> str:
    """Hand in the tasks, in the order in which they should be taken.

    Args:
        tasks: As few as the work needs.
    """
    _reject_pending_question(context)
    for number, task in enumerate(tasks, 1):
        if wrong := [each for each in task.after if not 1 <= each < number]:
            raise ToolFailure(f"task {number} can only come after tasks before it, not after {wrong[0]}")
    raise FinishRun(make_submission("create_tasks", tasks=[task.model_dump() for task in tasks]), "handed in")


def review(decision: Literal["approve", "changes"], context: ToolContext[Any], notes: str = "") -> str:
    """Decide about what was handed in.

    Args:
        decision: Whether it can be merged as it is, or needs changes.
        notes: What exactly to change, or why it is good.
    """
    _reject_pending_question(context)
    if decision == "changes" and not notes.strip():
        raise ToolFailure("say in `notes` what has to be changed")
    raise FinishRun(make_submission("review", decision=decision, notes=notes), "handed in")


def submit_work(summary: NonEmptyText, context: ToolContext[Any]) -> str:
    """Hand in what you have done; the machine runs the tests, and then it is reviewed.

    Args:
        summary: What you changed and why, for whoever reviews it. Its first line becomes the message of the commit.
    """
    _reject_pending_question(context)
    raise FinishRun(make_submission("submit_work", summary=summary), "handed in")


_SUBMIT_FUNCTIONS = (submit_spec, create_tasks, review, submit_work)
