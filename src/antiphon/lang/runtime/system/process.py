"""`system/process`: run a program, and return its output and exit code."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.system import SystemFunction
from antiphon.lang.runtime.system.files import decode_text, encode_text
from antiphon.lang.typecheck import types as t

if TYPE_CHECKING:
    from antiphon.lang.runtime.execution import ProgramExecution

FINISHED = t.Object(
    {"stdout": t.ObjectField(t.TEXT), "stderr": t.ObjectField(t.TEXT), "code": t.ObjectField(t.NUMBER)}, "Finished"
)
_OPTIONS = t.Object(
    {
        "input": t.ObjectField(t.TEXT, True),
        "cwd": t.ObjectField(t.TEXT, True),
        "env": t.ObjectField(t.Map(t.TEXT), True),
        "timeout": t.ObjectField(t.NUMBER, True),
        "encoding": t.ObjectField(t.TEXT, True),
    },
    "RunOptions",
)


def _run(
    execution: ProgramExecution, command: str | list[str], options: dict[str, Any] | None = None
) -> dict[str, Any]:
    import subprocess

    given = options or {}
    if execution.host.untrusted:
        raise VibeError("V0923", "--untrusted allows no processes", "run it without --untrusted if you trust it")
    if not command or not (command if isinstance(command, str) else command[0]).strip():
        raise VibeError("V0942", "the command is empty")
    encoding = given.get("encoding") or "utf-8"
    try:
        done = _run_process(command, given, encode_text(given.get("input") or "", encoding))
    except subprocess.TimeoutExpired:
        raise VibeError("V0942", f"{_quote_command(command)} was ended after {given['timeout']:g} seconds") from None
    except FileNotFoundError as error:
        missing = str(error.filename)
        what = "directory" if missing == given.get("cwd") else "program"
        hint = _hint_shell_line(command) if what == "program" else ""
        raise VibeError("V0942", f"there is no {what} `{missing}`", hint) from None
    except (OSError, ValueError, LookupError) as error:
        raise VibeError(
            "V0942", f"{_quote_command(command)} could not be started: {getattr(error, 'strerror', error)}"
        ) from None
    code, *said = done
    hint = 'name its encoding, as in `run(command, { encoding: "latin-1" })`'
    texts = {
        name: decode_text(data, f"{name} of {_quote_command(command)}", encoding, hint)
        for name, data in zip(("stdout", "stderr"), said, strict=True)
    }
    return {**texts, "code": code}


def _run_process(command: str | list[str], given: dict[str, Any], text: bytes) -> tuple[int, bytes, bytes]:
    """Run a process and return its exit code and output; on a timeout its whole process group is killed."""
    import os
    import signal
    from subprocess import PIPE, Popen

    started = Popen(
        command,
        shell=isinstance(command, str),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=given.get("cwd"),
        env={**os.environ, **(given.get("env") or {})},
        start_new_session=True,
    )
    with started:
        try:
            output, errors = started.communicate(text, given.get("timeout"))
        except BaseException:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(started.pid, signal.SIGKILL)
            raise
    return started.returncode, output, errors


def _quote_command(command: str | list[str]) -> str:
    line = command if isinstance(command, str) else " ".join(command)
    return f"`{line if len(line) <= 80 else line[:80] + '…'}`"


def _hint_shell_line(command: str | list[str]) -> str:
    if isinstance(command, list) and " " in command[0].strip():
        return "in an array each argument is an item of its own; a line for the shell is one text"
    return ""


FUNCTIONS = {
    "run": SystemFunction(
        "Run a program: a line for the shell, or an array of its name and arguments. Options: `input`, `cwd`, `env`, "
        "`timeout` in seconds, `encoding`.",
        _run,
        {"command": t.Union((t.TEXT, t.Array(t.TEXT))), "options": _OPTIONS},
        FINISHED,
        1,
        "unsure",
    ),
}
