"""The tool `run_shell`, which runs shell commands after approval."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from antiphon.conversation import ToolResult
from antiphon.results import terminal
from antiphon.tools.dual_result import format_count, make_dual_result
from antiphon.tools.live_output import get_output_listener
from antiphon.tools.process_runner import ProcessResult, format_exit_status, make_scrubbed_environment, run_process
from antiphon.tools.shell_parsing import check_allowed_commands
from antiphon.tools.tool import Tool, ToolFailure, as_tool

#: Tell programs that there is no terminal and no user.
_NON_INTERACTIVE_VARIABLES = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


def shell_tool(
    cwd: str | os.PathLike[str] = ".", allow: Sequence[str] = (), timeout: float = 60.0, output_limit: int = 30_000
) -> Tool:
    """Return the tool `run_shell`, which runs commands in a directory.

    With `allow`, it runs only lines of which every command matches one of these patterns (`git log *`, `ls`).
    It is no sandbox: commands have all permissions of this process. Variables that look like secrets are not
    passed on.
    """
    directory = os.path.realpath(cwd)
    if isinstance(allow, str):
        raise TypeError("`allow` is a list of patterns, not one text")

    async def run_line(command: str, **kept: Any) -> ProcessResult:
        if not command.strip():
            raise ToolFailure("the command is empty")
        if "\0" in command:
            raise ToolFailure("the command has a NUL character in it")
        if allow:
            check_allowed_commands(command, allow)
        line = ["/bin/sh", "-c", command]
        try:
            return await run_process(
                line,
                cwd=directory,
                environment=make_scrubbed_environment() | _NON_INTERACTIVE_VARIABLES,
                timeout=timeout,
                **kept,
            )
        except (OSError, UnicodeEncodeError) as error:
            raise ToolFailure(f"the command could not be started: {getattr(error, 'strerror', error)}") from None

    async def run_for_program(command: str) -> dict[str, Any]:
        try:
            finished = await run_line(command, whole=True)
        except UnicodeDecodeError as error:
            why = f"what the command said is not UTF-8: byte {error.start}"
            raise ToolFailure(f"{why}; `run` of `system/process` takes an `encoding`") from None
        if finished.timed_out:
            raise ToolFailure(f"the command was ended after {timeout:g} seconds")
        return {"stdout": finished.output, "stderr": finished.errors, "code": finished.code}

    async def run_shell(command: str) -> ToolResult:
        """Run a command in a POSIX shell (`sh`) and see its output and its exit code.

        It starts in the working directory each time; nothing can be typed into it, and what it leaves running in the
        background is ended with it.

        Args:
            command: The command line.
        """
        half = output_limit // 2
        finished = await run_line(command, first=half, last=half, merged=True, hear=get_output_listener())
        output = finished.output.rstrip()
        if finished.timed_out:
            said = f" Until then it said:\n{output}" if output else ""
            raise ToolFailure(f"the command was ended after {timeout:g} seconds.{said}")
        # A program ended by a signal has a negative code, as in `subprocess`.
        ended = f"exit {finished.code}" if finished.code >= 0 else format_exit_status(finished)
        summary = f"{ended}, {format_count(len(output.splitlines()), 'line')}"
        shown = terminal(command, output, exit_code=finished.code, summary=summary, dropped=finished.dropped)
        return make_dual_result(f"{output or '(no output)'}\n[{format_exit_status(finished)}]", shown)

    more: dict[str, Any] = {"output_limit": output_limit + 1_000, "data": run_for_program}
    made = as_tool(run_shell, destructive=True, concurrent=False, is_shell=True, is_cooperative=True, **more)
    if not allow:
        return made
    description = f"{made.spec.description}\n\nOnly these commands are allowed: {', '.join(allow)}"
    return replace(made, spec=replace(made.spec, description=description))
