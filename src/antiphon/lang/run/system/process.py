"""`system/process`: run a program, and see what it said and how it ended."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from antiphon.lang.check.types import NUMBER, TEXT, Array, Field, Map, Object, Union
from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.system.files import decoded, encoded
from antiphon.lang.run.system.function import Function

if TYPE_CHECKING:
    from antiphon.lang.run.execution import Execution

FINISHED = Object({"stdout": Field(TEXT), "stderr": Field(TEXT), "code": Field(NUMBER)}, "Finished")
_OPTIONS = Object(
    {
        "input": Field(TEXT, True),
        "cwd": Field(TEXT, True),
        "env": Field(Map(TEXT), True),
        "timeout": Field(NUMBER, True),
        "encoding": Field(TEXT, True),
    },
    "RunOptions",
)


def _run(execution: Execution, command: str | list[str], options: dict[str, Any] | None = None) -> dict[str, Any]:
    import subprocess

    given = options or {}
    if execution.host.untrusted:
        raise VibeError("V0923", "--untrusted allows no processes", "run it without --untrusted if you trust it")
    if not command or not (command if isinstance(command, str) else command[0]).strip():
        raise VibeError("V0942", "the command is empty")
    encoding = given.get("encoding") or "utf-8"
    try:
        done = _finished(command, given, encoded(given.get("input") or "", encoding))
    except subprocess.TimeoutExpired:
        raise VibeError("V0942", f"{_named(command)} was ended after {given['timeout']:g} seconds") from None
    except FileNotFoundError as error:
        missing = str(error.filename)
        what = "directory" if missing == given.get("cwd") else "program"
        hint = _line_hint(command) if what == "program" else ""
        raise VibeError("V0942", f"there is no {what} `{missing}`", hint) from None
    except (OSError, ValueError, LookupError) as error:
        raise VibeError(
            "V0942", f"{_named(command)} could not be started: {getattr(error, 'strerror', error)}"
        ) from None
    code, *said = done
    hint = 'name its encoding, as in `run(command, { encoding: "latin-1" })`'
    texts = {
        name: decoded(data, f"{name} of {_named(command)}", encoding, hint)
        for name, data in zip(("stdout", "stderr"), said, strict=True)
    }
    return {**texts, "code": code}


def _finished(command: str | list[str], given: dict[str, Any], text: bytes) -> tuple[int, bytes, bytes]:
    """How a program ended, and what it said. It has a process group of its own: too late, all of that is ended."""
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


def _named(command: str | list[str]) -> str:
    line = command if isinstance(command, str) else " ".join(command)
    return f"`{line if len(line) <= 80 else line[:80] + '…'}`"


def _line_hint(command: str | list[str]) -> str:
    if isinstance(command, list) and " " in command[0].strip():
        return "in an array each argument is an item of its own; a line for the shell is one text"
    return ""


FUNCTIONS = {
    "run": Function(
        "Run a program: a line for the shell, or an array of its name and arguments. Options: `input`, `cwd`, `env`, "
        "`timeout` in seconds, `encoding`.",
        _run,
        {"command": Union((TEXT, Array(TEXT))), "options": _OPTIONS},
        FINISHED,
        1,
        "unsure",
    ),
}
